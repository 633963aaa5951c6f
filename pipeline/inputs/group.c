/*
 * group - see group.h. Groups stand in a search tree by FOLDER/STEM. The stem is what every file of
 * a job begins with, whatever stands behind it: two jobs may be of one group (x.dem.dem.asc is of
 * x.dem, x.dem.asc of x), so that a job has a stem of its own.
 */
#include "pipeline/inputs/group.h"

#include "formats/base/file_name.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/input_name.h"
#include "watch/files/xalloc.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

bool group_is_beside(enum input_kind kind)
{
    return kind == INPUT_MARKER || kind == INPUT_PROJECTION || kind == INPUT_MASK ||
           kind == INPUT_SIDECAR;
}

/* Length of what the name's group is called: without its ending, whatever that is, and then without
 * all endings that say more of a job's file. */
static size_t stem_of(const char *name)
{
    char rest[256];
    snprintf(rest, sizeof rest, "%s", name);
    size_t n = input_name_beside(rest);
    rest[n] = '\0';
    n = file_name_unpacked(rest, n);
    const char *const dot = memrchr(rest, '.', n);
    n = dot != NULL && dot > rest && beside_without_part(rest, n) == n ? (size_t)(dot - rest) : n;
    for (size_t before = n + 1; n < before;) {
        before = n;
        rest[n] = '\0';
        n = input_name_bare(rest);
        n = beside_without_part(rest, n);
    }
    return n;
}

char *group_key(const char *path)
{
    const char *const last = file_name_last(path);
    char *const key = xcalloc(strlen(path) + 1, 1), *to = key;
    for (const char *at = path; at < last; at++) {
        const bool begins = at == path || at[-1] == '/';
        if (begins && at[0] == '.' && at[1] == '/') {
            at++; /* "./" */
        } else if (!(begins && at[0] == '/' && at > path)) {
            *to++ = *at;
        }
    }
    memcpy(to, last, stem_of(last));
    return key;
}

/* --- files ------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->key, ((const struct group *)b)->key);
}

struct group *group_of(struct groups *groups, const char *path)
{
    struct group *const g = xcalloc(1, sizeof(*g));
    g->key = group_key(path);
    struct group **const found = xalloc_checked(tsearch(g, &groups->tree, by_key));
    if (*found != g) {
        free(g->key);
        free(g);
    } else {
        TAILQ_INIT(&g->files);
        TAILQ_INIT(&g->jobs);
    }
    return *found;
}

void group_add(struct groups *groups, struct group_file *f)
{
    f->group = group_of(groups, f->path);
    f->job = NULL;
    TAILQ_INSERT_TAIL(&f->group->files, f, place);
}

struct group *group_remove(struct groups *groups, struct group_file *f)
{
    struct group *const g = f->group;
    group_leave(f);
    TAILQ_REMOVE(&g->files, f, place);
    f->group = NULL;
    return group_end(groups, g);
}

struct group *group_end(struct groups *groups, struct group *g)
{
    if (!TAILQ_EMPTY(&g->files) || g->drops != NULL) {
        return g;
    }
    tdelete(g, &groups->tree, by_key);
    free(g->key);
    free(g);
    return NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

static struct group_job *make_job(struct group_file *f, const struct job_settings *from)
{
    struct group_job *const job = xcalloc(1, sizeof(*job));
    job->stem = xstrdup(from->stem);
    job->stage = from->stage;
    job->n_parts = from->n_parts;
    memcpy(job->of, from->parts, sizeof job->of);
    TAILQ_INSERT_TAIL(&f->group->jobs, job, place);
    return job;
}

static void put_in(struct group_file *f, struct group_job *job, size_t part)
{
    job->parts[part] = f;
    f->job = job;
    f->part = part;
}

/* A file that is a whole job shares it with no other of its stem. */
static struct group_job *find_job(const struct group_file *f, const struct job_settings *of)
{
    struct group_job *job;
    TAILQ_FOREACH(job, &f->group->jobs, place)
    {
        if (job->stage == of->stage && job->n_parts > 1 && of->n_parts > 1 &&
            strcmp(job->stem, of->stem) == 0) {
            return job;
        }
    }
    return NULL;
}

static enum status refuse(const struct group_file *f, const struct group_job *job,
                          const struct job_settings *of)
{
    if (of->part < job->n_parts && job->of[of->part] == of->parts[of->part] &&
        job->parts[of->part] != NULL) {
        return status_fail(STATUS_BAD_INPUT, "'%s': its job has '%s' as %s already; remove one",
                           f->path, job->parts[of->part]->path, of->parts[of->part]->suffix);
    }
    return memcmp(job->of, of->parts, sizeof job->of) == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "'%s': its parameters ask for other files of its job than those of "
                             "the others; set them alike",
                             f->path);
}

enum status group_join(struct group_file *f, const struct job_settings *of)
{
    struct group_job *const job = find_job(f, of);
    STATUS_TRY(job != NULL ? refuse(f, job, of) : STATUS_OK);
    put_in(f, job != NULL ? job : make_job(f, of), of->part);
    return STATUS_OK;
}

void group_set_apart(struct group_file *f, const struct stage_ops *stage, bool is_alone)
{
    const struct job_settings of = {
        .stage = stage, .n_parts = 1, .parts = {stage->parts}, .stem = (char *)""};
    struct group_job *const job = make_job(f, &of);
    job->is_alone = is_alone;
    put_in(f, job, 0);
}

void group_leave(struct group_file *f)
{
    struct group_job *const job = f->job;
    if (job == NULL) {
        return;
    }
    f->job = NULL;
    job->parts[f->part] = NULL;
    for (size_t i = 0; i < job->n_parts; i++) {
        if (job->parts[i] != NULL) {
            return;
        }
    }
    TAILQ_REMOVE(&f->group->jobs, job, place);
    free(job->stem);
    free(job);
}

bool group_lacks(const struct group_file *f, char why[GROUP_WHY_BYTES])
{
    const struct group_job *const job = f->job;
    char parameter[STAGE_INSTEAD_BYTES];
    size_t i = 0;
    while (i < job->n_parts && job->parts[i] != NULL && job->parts[i]->is_complete) {
        i++;
    }
    if (i == job->n_parts) {
        return false;
    }
    if (job->parts[i] != NULL) {
        snprintf(why, GROUP_WHY_BYTES, "%s", file_name_last(job->parts[i]->path));
        return true;
    }
    const struct stage_part *const part = job->of[i], *const mine = job->of[f->part];
    if (*stage_asks(job->stage, mine, parameter) != '\0') { /* a route may set it for others */
        snprintf(why, GROUP_WHY_BYTES, "%s.%s.* with the parameter %s", job->stem, part->suffix,
                 parameter);
        return true;
    }
    if (*stage_instead(job->stage, mine, parameter) != '\0') {
        snprintf(why, GROUP_WHY_BYTES, "%s.%s.* (and no parameter %s)", job->stem, part->suffix,
                 parameter);
        return true;
    }
    stage_instead(job->stage, part, parameter);
    snprintf(why, GROUP_WHY_BYTES, "%s.%s.*%s%s", job->stem, part->suffix,
             *parameter != '\0' ? " or the parameter " : "", parameter);
    return true;
}

/* --- what lies beside ------------------------------------------------------------------------- */

/* Whether it goes with the part. */
static size_t fits(const struct group_file *beside, const struct group_file *part)
{
    /* Of the others the job would wait for one for ever, or be done as if there were none. */
    const bool is_of_any_drop = beside->kind == INPUT_MARKER || beside->kind == INPUT_MASK;
    return group_is_beside(beside->kind) && !beside->is_taken && part->job != NULL &&
                   !part->job->is_alone && (is_of_any_drop || beside->drop == part->drop)
               ? beside_fits(beside->path, part->path)
               : 0;
}

struct group_file *group_owner(const struct group_file *beside)
{
    struct group_file *f, *best = NULL;
    size_t most = 0;
    TAILQ_FOREACH(f, &beside->group->files, place)
    {
        const size_t n = fits(beside, f);
        best = n > most ? f : best;
        most = n > most ? n : most;
    }
    return best;
}

struct group_file *group_beside(const struct group_file *part, enum input_kind kind)
{
    struct group_file *f, *best = NULL;
    size_t most = 0;
    TAILQ_FOREACH(f, &part->group->files, place)
    {
        const size_t n = f->kind == kind ? fits(f, part) : 0;
        if (n > most || (n > 0 && n == most && strcmp(f->path, best->path) > 0)) { /* .prj, .PRJ */
            best = f;
            most = n;
        }
    }
    return best;
}

struct group_file *group_next_beside(const struct group_job *job, const struct group_file *f)
{
    size_t first = 0;
    while (first < job->n_parts && job->parts[first] == NULL) {
        first++;
    }
    struct group_file *next = f != NULL ? TAILQ_NEXT(f, place)
                              : first == job->n_parts
                                  ? NULL
                                  : TAILQ_FIRST(&job->parts[first]->group->files);
    for (; next != NULL; next = TAILQ_NEXT(next, place)) {
        for (size_t i = first; i < job->n_parts; i++) {
            if (job->parts[i] != NULL && fits(next, job->parts[i]) > 0) {
                return next;
            }
        }
    }
    return NULL;
}

const struct group_file *group_awaits(const struct group_job *job)
{
    const struct group_file *f = group_next_beside(job, NULL);
    while (f != NULL && f->is_complete) {
        f = group_next_beside(job, f);
    }
    return f;
}

bool group_wants_projection(const struct group_file *part)
{
    return part->job->of[part->part]->kind == STAGE_GRID && beside_wants_projection(part->path);
}
