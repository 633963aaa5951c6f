/*
 * parts - see parts.h. Jobs that wait stand in a search tree, by folder and stem; the texts of .prj
 * files in another, by path.
 */
#include "pipeline/inputs/parts.h"

#include "formats/base/file_name.h"
#include "formats/base/log.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job that is not complete. */
struct waiting {
    char *key; /* FOLDER/STEM, first in both trees' nodes */
    struct job_input input;
};

struct projection {
    char *key; /* FOLDER/NAME */
    char *text;
};

struct parts {
    void *jobs;        /* of struct waiting */
    void *projections; /* of struct projection */
    size_t n_open, n_projections;
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_waiting(void *waiting)
{
    struct waiting *w = waiting;
    job_input_free(&w->input);
    free(w->key);
    free(w);
}

static void free_projection(void *projection)
{
    struct projection *prj = projection;
    free(prj->key);
    free(prj->text);
    free(prj);
}

enum status parts_new(struct parts **out)
{
    *out = calloc(1, sizeof(**out));
    return *out != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for jobs' parts");
}

void parts_free(struct parts *p)
{
    if (p != NULL) {
        tdestroy(p->jobs, free_waiting);
        tdestroy(p->projections, free_projection);
        free(p);
    }
}

/* FOLDER/NAME, the same for "a/x", "./a/x" and "a//x". */
static char *key_of(const char *path, const char *name)
{
    const char *last = file_name_last(path);
    char *key = malloc((size_t)(last - path) + strlen(name) + 1), *to = key;
    for (const char *at = path; key != NULL && at < last; at++) {
        const bool begins = at == path || at[-1] == '/';
        if (begins && at[0] == '.' && at[1] == '/') {
            at++; /* "./" */
        } else if (!(begins && at[0] == '/' && at > path)) {
            *to++ = *at;
        }
    }
    if (key != NULL) {
        strcpy(to, name);
    }
    return key;
}

/* The job of a file at `path` with that stem, made when it is not there; NULL: no memory. */
static struct waiting *find(struct parts *p, const char *path, const char *stem)
{
    struct waiting *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return NULL;
    }
    w->key = key_of(path, stem);
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        w->input.parts[i].fd = -1;
    }
    struct waiting **found = w->key != NULL ? tsearch(w, &p->jobs, compare) : NULL;
    if (found == NULL || *found != w) {
        free_waiting(w);
    }
    return found != NULL ? *found : NULL;
}

static void forget(struct parts *p, struct waiting *w)
{
    tdelete(w, &p->jobs, compare);
    free_waiting(w);
}

static void take_out(struct parts *p, struct waiting *w, struct job_input *out)
{
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        p->n_open -= w->input.parts[i].path != NULL && w->input.parts[i].fd >= 0;
    }
    *out = w->input;
    w->input = (struct job_input){0};
    forget(p, w);
}

/* --- projections ------------------------------------------------------------------------------ */

enum status parts_add_projection(struct parts *p, const char *path, char *text)
{
    if (p->n_projections == PARTS_MAX_OPEN) {
        log_warning("'%s': %d .prj files wait for their grids already, so this one is not carried; "
                    "put the files of a job next to each other",
                    path, PARTS_MAX_OPEN);
        free(text);
        return STATUS_OK;
    }
    struct projection *prj = calloc(1, sizeof(*prj)), **found = NULL;
    if (prj == NULL) {
        free(text);
        return status_fail(STATUS_NO_MEMORY, "no memory for a projection");
    }
    prj->text = text;
    prj->key = key_of(path, file_name_last(path));
    if (prj->key != NULL) {
        found = tsearch(prj, &p->projections, compare);
    }
    if (found == NULL) {
        free_projection(prj);
        return status_fail(STATUS_NO_MEMORY, "no memory for a projection");
    }
    if (*found == prj) {
        p->n_projections++;
    } else { /* an archive has the name twice: the last counts */
        prj->text = (*found)->text;
        (*found)->text = text;
        free_projection(prj);
    }
    return STATUS_OK;
}

static void forget_projection(struct parts *p, struct projection *prj)
{
    tdelete(prj, &p->projections, compare);
    p->n_projections--;
    free_projection(prj);
}

struct wanted {
    const struct parts *parts;
    struct projection *found;
    enum status code;
};

static bool find_projection(void *context, const char *path)
{
    struct wanted *wanted = context;
    struct projection key = {.key = key_of(path, file_name_last(path))}, **found = NULL;
    if (key.key == NULL) {
        wanted->code = status_fail(STATUS_NO_MEMORY, "no memory for a path");
        return true;
    }
    found = tfind(&key, &wanted->parts->projections, compare);
    wanted->found = found != NULL ? *found : NULL;
    free(key.key);
    return wanted->found != NULL;
}

/* Gives the parts of a job that are there the texts of their .prj files; several may share one. */
static enum status take_projections(struct parts *p, struct job_input *job)
{
    struct projection *taken[STAGE_MAX_PARTS] = {NULL};
    enum status code = STATUS_OK;
    for (size_t i = 0; i < STAGE_MAX_PARTS && code == STATUS_OK; i++) {
        if (job->parts[i].path == NULL) {
            continue;
        }
        struct wanted wanted = {.parts = p, .code = STATUS_OK};
        code = projection_search(job->parts[i].path, find_projection, &wanted);
        code = code != STATUS_OK ? code : wanted.code;
        taken[i] = wanted.found;
        if (wanted.found != NULL) {
            job->parts[i].prj = strdup(wanted.found->text);
            code = job->parts[i].prj != NULL
                       ? code
                       : status_fail(STATUS_NO_MEMORY, "no memory for '%s'", wanted.found->key);
        }
    }
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        for (size_t k = i + 1; k < STAGE_MAX_PARTS; k++) {
            taken[k] = taken[k] == taken[i] ? NULL : taken[k];
        }
        if (taken[i] != NULL) {
            forget_projection(p, taken[i]);
        }
    }
    return code;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Puts the part into its place. */
static enum status place(struct parts *p, struct waiting *w, struct job_part *part,
                         struct job_settings *settings)
{
    const struct stage_ops *stage = settings->stage;
    struct job_part *to = &w->input.parts[settings->part];
    if (to->path != NULL) {
        return status_fail(STATUS_BAD_INPUT, "'%s': its job has '%s' as %s already; remove one",
                           part->path, to->path, settings->parts[settings->part]->suffix);
    }
    if (w->input.n_parts > 0 && w->input.settings.stage != stage) {
        return status_fail(STATUS_BAD_INPUT, "'%s': its name belongs to a job of %s already",
                           part->path, w->input.settings.stage->name);
    }
    if (w->input.n_parts > 0 &&
        memcmp(w->input.settings.parts, settings->parts, sizeof settings->parts) != 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "'%s': its parameters ask for other files of its job than those of the "
                           "others; set them alike",
                           part->path);
    }
    const bool waits = w->input.n_parts + 1 < settings->n_parts;
    if (waits && part->fd >= 0 && p->n_open >= PARTS_MAX_OPEN) {
        return status_fail(STATUS_BAD_INPUT,
                           "'%s': %d files of archives wait for the other parts of their jobs; put "
                           "the parts of a job next to each other",
                           part->path, PARTS_MAX_OPEN);
    }
    p->n_open += part->fd >= 0;
    *to = *part;
    *part = (struct job_part){.fd = -1};
    w->input.n_parts++;
    if (settings->part == 0 || w->input.settings.stage == NULL) {
        job_settings_free(&w->input.settings);
        w->input.settings = *settings;
        *settings = (struct job_settings){0};
    }
    return STATUS_OK;
}

enum status parts_add(struct parts *p, struct job_part *part, struct job_settings *settings,
                      struct job_input *out, bool *complete)
{
    struct waiting *w = find(p, part->path, settings->stem);
    *complete = false;
    enum status code = w != NULL ? place(p, w, part, settings)
                                 : status_fail(STATUS_NO_MEMORY, "no memory for a job's parts");
    job_settings_free(settings);
    if (code != STATUS_OK) {
        out->parts[0] = *part;
        if (w != NULL && w->input.n_parts == 0) {
            forget(p, w);
        }
    } else if (w->input.n_parts == w->input.settings.n_parts) {
        take_out(p, w, out);
        code = take_projections(p, out);
        *complete = code == STATUS_OK;
    }
    return code;
}

bool parts_would_complete(const struct parts *p, const char *path,
                          const struct job_settings *settings)
{
    const struct waiting key = {.key = key_of(path, settings->stem)};
    struct waiting **found = key.key != NULL ? tfind(&key, &p->jobs, compare) : NULL;
    free(key.key);
    return settings->n_parts == (found != NULL ? (*found)->input.n_parts : 0) + 1;
}

/* --- what is missing -------------------------------------------------------------------------- */

/* "X.source.*", the first part that is not there. */
static enum status lacks(const struct waiting *w)
{
    const struct stage_ops *stage = w->input.settings.stage;
    size_t missing = 0, there = 0;
    while (w->input.parts[missing].path != NULL) {
        missing++;
    }
    while (w->input.parts[there].path == NULL) {
        there++;
    }
    const struct stage_part *const part = w->input.settings.parts[missing];
    const struct stage_part *const came = w->input.settings.parts[there];
    const char *const stem = w->input.settings.stem;
    char parameter[STAGE_INSTEAD_BYTES], instead[256] = "";
    if (*stage_instead(stage, part, parameter) != '\0') {
        snprintf(instead, sizeof instead, ", or the parameter %s", parameter);
    } else if (*stage_instead(stage, came, parameter) != '\0') { /* a route may have set it */
        snprintf(instead, sizeof instead,
                 " and without the parameter %s, which takes the place of %.64s.%s.*", parameter,
                 stem, came->suffix);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "'%s': the other part of the job is missing: %s needs %s.%s.* too, in the "
                       "same folder%s",
                       w->input.parts[there].path, stage->name, stem, part->suffix, instead);
}

struct search {
    const char *folder; /* as in keys: "" or "FOLDER/" */
    bool anywhere;
    void *found;
};

static bool is_beneath(const char *key, const struct search *s)
{
    if (s->folder[0] == '\0') { /* "." */
        return s->anywhere || (key[0] != '/' && strncmp(key, "../", 3) != 0);
    }
    return strncmp(key, s->folder, strlen(s->folder)) == 0;
}

static void look(const void *node, VISIT visit, void *closure)
{
    struct search *s = closure;
    void *found = *(void *const *)node;
    if ((visit == postorder || visit == leaf) && s->found == NULL &&
        is_beneath(*(char *const *)found, s)) {
        s->found = found;
    }
}

/* One of the tree; NULL: none. */
static void *find_beneath(const void *tree, const char *folder, enum status *code)
{
    struct search s = {.anywhere = folder[0] == '\0'};
    char *path, *spelt = NULL;
    if (asprintf(&path, "%s%s", folder, s.anywhere ? "" : "/") >= 0) {
        spelt = key_of(path, "");
        free(path);
    }
    *code = spelt != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a path");
    if (spelt != NULL) {
        s.folder = spelt;
        twalk_r(tree, look, &s);
    }
    free(spelt);
    return s.found;
}

/* What no grid has taken. */
static enum status give_up_projections(struct parts *p, const char *folder)
{
    enum status code;
    struct projection *prj;
    while ((prj = find_beneath(p->projections, folder, &code)) != NULL) {
        log_warning("'%s': no grid came after it in its archive, so its coordinate system is not "
                    "carried; put it in front of the grid",
                    prj->key);
        forget_projection(p, prj);
    }
    return code;
}

enum status parts_give_up(struct parts *p, const char *folder, struct job_input *out)
{
    enum status code;
    struct waiting *w = find_beneath(p->jobs, folder, &code);
    if (code != STATUS_OK || w == NULL) {
        return code != STATUS_OK ? code : give_up_projections(p, folder);
    }
    code = take_projections(p, &w->input); /* they are not reported as left over */
    if (code == STATUS_OK) {
        code = lacks(w);
    }
    take_out(p, w, out);
    for (size_t i = 1; out->parts[0].path == NULL; i++) { /* the first part names the input */
        out->parts[0] = out->parts[i];
        out->parts[i] = (struct job_part){.fd = -1};
    }
    return code;
}
