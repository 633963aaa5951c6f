/*
 * parts - see parts.h.
 */
#include "pipeline/inputs/parts.h"

#include "formats/base/file_name.h"
#include "formats/base/log.h"
#include "pipeline/inputs/group.h"
#include "watch/files/xalloc.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part, or a .prj: one that has not come yet has no text. */
struct member {
    struct group_file f;
    struct job_part part; /* of a .prj, its path alone */
    struct job_settings settings;
    char *text;
    TAILQ_ENTRY(member) place;
};

struct parts {
    struct groups groups;
    TAILQ_HEAD(, member) members; /* as they came */
    size_t n_open, n_texts;
};

static struct member *member_of(struct group_file *f)
{
    return f != NULL ? (struct member *)((char *)f - offsetof(struct member, f)) : NULL;
}

struct parts *parts_new(void)
{
    struct parts *const p = xcalloc(1, sizeof(*p));
    TAILQ_INIT(&p->members);
    return p;
}

/* Takes it out; what it holds is the caller's, or freed already. */
static void forget(struct parts *p, struct member *m)
{
    p->n_open -= m->f.kind == INPUT_OF_JOB && m->part.fd >= 0;
    p->n_texts -= m->f.kind == INPUT_PROJECTION;
    group_remove(&p->groups, &m->f);
    TAILQ_REMOVE(&p->members, m, place);
    free(m);
}

static void drop(struct parts *p, struct member *m)
{
    struct job_part part = m->part;
    struct job_settings settings = m->settings;
    free(m->text);
    forget(p, m);
    job_part_free(&part);
    job_settings_free(&settings);
}

void parts_free(struct parts *p)
{
    struct member *m;
    while (p != NULL && (m = TAILQ_FIRST(&p->members)) != NULL) {
        drop(p, m);
    }
    free(p);
}

static struct member *add(struct parts *p, enum input_kind kind, struct job_part part,
                          struct job_settings settings)
{
    struct member *const m = xcalloc(1, sizeof(*m));
    *m =
        (struct member){.f = {.path = part.path, .kind = kind}, .part = part, .settings = settings};
    group_add(&p->groups, &m->f);
    p->n_open += kind == INPUT_OF_JOB && part.fd >= 0;
    p->n_texts += kind == INPUT_PROJECTION;
    TAILQ_INSERT_TAIL(&p->members, m, place);
    return m;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static bool is_whole(const struct group_job *job)
{
    for (size_t i = 0; i < job->n_parts; i++) {
        if (job->parts[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Moves what there is of the job to *out; what lies beside it goes. */
static void take_out(struct parts *p, struct group_job *job, struct job_input *out)
{
    struct member *parts[STAGE_MAX_PARTS] = {NULL};
    *out = (struct job_input){0};
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        parts[i] = member_of(job->parts[i]);
        out->parts[i].fd = -1;
        if (parts[i] == NULL) {
            continue;
        }
        const struct member *const prj =
            group_wants_projection(&parts[i]->f)
                ? member_of(group_beside(&parts[i]->f, INPUT_PROJECTION))
                : NULL;
        out->parts[i] = parts[i]->part;
        if (prj != NULL && prj->text != NULL) {
            out->parts[i].prj = xstrdup(prj->text);
        }
        out->n_parts++;
    }
    for (struct group_file *f; (f = group_next_beside(job, NULL)) != NULL;) {
        drop(p, member_of(f));
    }
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        if (parts[i] != NULL && out->settings.stage == NULL) { /* the first one's */
            out->settings = parts[i]->settings;
            parts[i]->settings = (struct job_settings){0};
        }
        if (parts[i] != NULL) {
            job_settings_free(&parts[i]->settings);
            forget(p, parts[i]);
        }
    }
}

/* Whether the job is complete: then it is taken out. */
static bool take_out_complete(struct parts *p, struct group_job *job, struct job_input *out)
{
    const bool is = is_whole(job) && group_awaits(job) == NULL;
    if (is) {
        take_out(p, job, out);
    }
    return is;
}

enum status parts_add(struct parts *p, struct job_part *part, struct job_settings *settings,
                      struct job_input *out, bool *complete)
{
    struct member *const m = add(p, INPUT_OF_JOB, *part, *settings);
    *complete = false;
    m->f.is_complete = true;
    enum status code = group_join(&m->f, settings);
    if (code == STATUS_OK && part->fd >= 0 && p->n_open > PARTS_MAX_OPEN && !is_whole(m->f.job)) {
        code = status_fail(STATUS_BAD_INPUT,
                           "'%s': %d files of archives wait for the other parts of their jobs; put "
                           "the parts of a job next to each other",
                           part->path, PARTS_MAX_OPEN);
    }
    if (code != STATUS_OK) {
        forget(p, m);
        job_settings_free(settings);
        out->parts[0] = *part;
        return code;
    }
    *complete = take_out_complete(p, m->f.job, out);
    return STATUS_OK;
}

bool parts_would_complete(const struct parts *p, const char *path,
                          const struct job_settings *settings)
{
    const struct member *m;
    struct group_file f = {.path = path, .kind = INPUT_OF_JOB};
    struct groups groups = p->groups; /* as it is now: the file leaves it again */
    size_t n = 1;
    group_add(&groups, &f);
    TAILQ_FOREACH(m, &p->members, place)
    {
        const bool is_here = m->f.group == f.group;
        n += is_here && m->f.job != NULL && m->f.job->stage == settings->stage &&
             strcmp(m->f.job->stem, settings->stem) == 0;
        n += is_here && m->f.kind == INPUT_PROJECTION && m->text == NULL ? STAGE_MAX_PARTS : 0;
    }
    group_remove(&groups, &f);
    return n == settings->n_parts;
}

/* --- projections ------------------------------------------------------------------------------ */

static struct member *add_projection(struct parts *p, const char *path)
{
    struct member *const m =
        add(p, INPUT_PROJECTION, (struct job_part){.fd = -1, .path = xstrdup(path)},
            (struct job_settings){0});
    /* An archive has the name twice, or it was expected: the last text counts. */
    struct group_file *f, *const mine = &m->f;
    TAILQ_FOREACH(f, &mine->group->files, place)
    {
        if (f != mine && f->kind == INPUT_PROJECTION &&
            strcmp(file_name_last(f->path), file_name_last(path)) == 0) {
            drop(p, m);
            return member_of(f);
        }
    }
    return m;
}

void parts_expect(struct parts *p, const char *path)
{
    if (p->n_texts < PARTS_MAX_OPEN) {
        (void)add_projection(p, path);
    }
}

bool parts_add_projection(struct parts *p, const char *path, char *text, struct job_input *out)
{
    struct member *const m = add_projection(p, path);
    free(m->text);
    m->text = text;
    m->f.is_complete = true;
    if (p->n_texts > PARTS_MAX_OPEN) {
        log_warning("'%s': %d .prj files wait for their grids already, so this one is not carried; "
                    "put the files of a job next to each other",
                    path, PARTS_MAX_OPEN);
        drop(p, m);
        return false;
    }
    const struct group_file *const owner = group_owner(&m->f);
    return owner != NULL && take_out_complete(p, owner->job, out);
}

/* --- what is missing -------------------------------------------------------------------------- */

/* FOLDER as in keys: "" or "FOLDER/". */
static bool is_beneath(const char *key, const char *folder, bool anywhere)
{
    if (folder[0] == '\0') { /* "." */
        return anywhere || (key[0] != '/' && strncmp(key, "../", 3) != 0);
    }
    return strncmp(key, folder, strlen(folder)) == 0;
}

/* The first member beneath; of a job, or a .prj. NULL: none. */
static struct member *find_beneath(const struct parts *p, const char *folder, bool anywhere,
                                   bool of_job)
{
    struct member *m;
    TAILQ_FOREACH(m, &p->members, place)
    {
        if ((m->f.job != NULL) == of_job && is_beneath(m->f.group->key, folder, anywhere)) {
            return m;
        }
    }
    return NULL;
}

/* What no grid has taken. */
static void give_up_projections(struct parts *p, const char *folder, bool anywhere)
{
    struct member *m;
    while ((m = find_beneath(p, folder, anywhere, false)) != NULL) {
        if (m->text != NULL) {
            log_warning("'%s': no grid came after it in its archive, so its coordinate system is "
                        "not carried; put it in front of the grid",
                        m->f.path);
        }
        drop(p, m);
    }
}

static enum status give_up_job(struct parts *p, struct member *m, struct job_input *out,
                               bool *complete)
{
    char why[GROUP_WHY_BYTES];
    enum status code = STATUS_OK;
    if (group_lacks(&m->f, why)) {
        code = status_fail(STATUS_BAD_INPUT,
                           "'%s': %s also needs %s; give all files of a job, from one folder",
                           m->f.path, m->f.job->stage->name, why);
    }
    take_out(p, m->f.job, out);
    *complete = code == STATUS_OK;
    for (size_t i = 1; out->parts[0].path == NULL; i++) { /* the first part names the input */
        out->parts[0] = out->parts[i];
        out->parts[i] = (struct job_part){.fd = -1};
    }
    return code;
}

enum status parts_give_up(struct parts *p, const char *folder, struct job_input *out,
                          bool *complete)
{
    const bool anywhere = folder[0] == '\0';
    char *const path = xasprintf("%s%s", folder, anywhere ? "" : "/");
    char *const spelt = group_key(path);
    free(path);
    *complete = false;
    enum status code = STATUS_OK;
    struct member *const m = find_beneath(p, spelt, anywhere, true);
    if (m != NULL) {
        code = give_up_job(p, m, out, complete);
    } else {
        give_up_projections(p, spelt, anywhere);
    }
    free(spelt);
    return code;
}
