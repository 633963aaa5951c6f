/*
 * service_inbox_jobs - which files make up a job, and what lies beside them. Jobs stand in a search
 * tree by a key that begins with what kind it is of, since names may hold any byte:
 *
 *   1/PATH                   a file that is a whole job by itself
 *   2/FOLDER/STEM\nPIPELINE  a job of several files
 *   0/PATH                   what is no file, set aside
 */
#include "pipeline/service/service_inbox_state.h"

#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"
#include "pipeline/worker/worker_protocol.h"

#include <assert.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->key, ((const struct group *)b)->key);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* What the names that a .prj may have are compared with, and what is found. */
struct search {
    const struct spool_job *job;
    const struct service_inbox *inbox;
    const char *name;
    struct file *part, *file;
};

static bool is_in_job(void *context, const char *path)
{
    struct search *s = context;
    for (size_t i = 0; i < s->job->n_files && s->name == NULL; i++) {
        s->name = strcmp(s->job->files[i].name, path) == 0 ? s->job->files[i].name : NULL;
    }
    return s->name != NULL;
}

const char *service_inbox_prj(const struct spool_job *job, const char *part)
{
    struct search s = {.job = job};
    return projection_search(part, is_in_job, &s) == STATUS_OK ? s.name : NULL;
}

static bool is_in_inbox(void *context, const char *path)
{
    struct search *s = context;
    s->file = service_inbox_find(s->inbox, path);
    return s->file != NULL;
}

static bool is_called(void *context, const char *path)
{
    struct search *s = context;
    s->file = strcmp(s->name, path) == 0 ? s->part : NULL;
    return s->file != NULL;
}

static char *marker_of(const char *path)
{
    char *marker;
    return asprintf(&marker, "%s.done", path) >= 0 ? marker : NULL;
}

/* What goes with the part of a job: a grid's .prj, if there, and its marker. False: it must wait
 * for one; or there was no memory to find that out, and the file is not complete any more. */
static bool find_beside(const struct service_inbox *inbox, struct file *f, struct file *beside[2])
{
    struct search s = {.inbox = inbox};
    const bool is_grid = f->group->stage->parts[f->part].kind == STAGE_GRID;
    char *marker = inbox->settings->done_file ? marker_of(f->path) : NULL;
    if ((is_grid && projection_search(f->path, is_in_inbox, &s) != STATUS_OK) ||
        (inbox->settings->done_file && marker == NULL)) {
        service_inbox_reason(f, "no memory to look at what goes with it");
        f->is_complete = false;
        free(marker);
        return false;
    }
    beside[0] = s.file;
    beside[1] = service_inbox_find(inbox, marker);
    const char *missing = marker != NULL && (beside[1] == NULL || !beside[1]->is_complete) ? marker
                          : s.file != NULL && !s.file->is_complete ? s.file->path
                                                                   : NULL;
    bool waits = missing != NULL;
    if (waits) {
        service_inbox_reason(f, "waits for %s", input_name_last(missing));
    }
    free(marker);
    return !waits;
}

/* What the complete file f waits for among its job's other parts; false: for none. */
static bool waits_for_part(const struct group *g, struct file *f)
{
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct file *other = g->parts[i];
        if (other == NULL) {
            const char *stem = input_name_last(g->key);
            service_inbox_reason(f, "waits for %.*s.%s.*", (int)(strrchr(stem, '\n') - stem), stem,
                                 g->stage->parts[i].suffix);
            return true;
        }
        if (!other->is_complete) {
            service_inbox_reason(f, "waits for %s", input_name_last(other->path));
            return true;
        }
    }
    return false;
}

/* A part that has all that belongs to it waits for what another part does. */
static void share_reason(struct group *g)
{
    const char *reason = NULL;
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct file *f = g->parts[i];
        reason = f != NULL && f->is_complete && f->reason != NULL ? f->reason : reason;
    }
    for (size_t i = 0; i < g->n_parts && reason != NULL; i++) {
        if (g->parts[i] != NULL && g->parts[i]->is_complete && g->parts[i]->reason == NULL) {
            service_inbox_reason(g->parts[i], "%s", reason);
        }
    }
}

/* Decides whether the job is ready, and what its complete parts wait for. */
static void judge(struct service_inbox *inbox, struct group *g)
{
    bool ready = true;
    for (size_t i = 0; i < g->n_parts; i++) {
        struct file *f = g->parts[i], *beside[2];
        const bool was_complete = f != NULL && f->is_complete;
        if (f == NULL || !f->is_complete ||
            (!g->is_unfit && (waits_for_part(g, f) || !find_beside(inbox, f, beside)))) {
            ready = false;
        } else {
            free(f->reason);
            f->reason = NULL;
        }
        if (was_complete && !f->is_complete) {
            service_inbox_look_at(inbox, f, 0);
        }
    }
    if (!ready) {
        share_reason(g);
    }
    for (size_t i = 0; i < g->n_parts; i++) {
        if (g->parts[i] != NULL && g->parts[i]->is_complete) {
            service_inbox_move(inbox, g->parts[i], ready ? LIST_READY : LIST_HELD);
        }
    }
    if (ready && !g->is_ready) {
        TAILQ_INSERT_TAIL(&inbox->ready, g, place);
    } else if (!ready && g->is_ready) {
        TAILQ_REMOVE(&inbox->ready, g, place);
    }
    g->is_ready = ready;
}

void service_inbox_free_group(void *group)
{
    struct group *g = group;
    free(g->key);
    free(g);
}

/* The job of that key, made when it is not there; NULL: no memory. The key is taken over. */
static struct group *get_group(struct service_inbox *inbox, char *key,
                               const struct stage_ops *stage, size_t n_parts)
{
    struct group *g = key != NULL ? calloc(1, sizeof(*g)) : NULL;
    if (g == NULL) {
        free(key);
        return NULL;
    }
    g->key = key;
    g->stage = stage;
    g->n_parts = n_parts;
    struct group **found = tsearch(g, &inbox->by_key, by_key);
    if (found == NULL || *found != g) {
        service_inbox_free_group(g);
    }
    return found != NULL ? *found : NULL;
}

void service_inbox_leave(struct service_inbox *inbox, struct file *f)
{
    struct group *g = f->group;
    bool empty = true;
    f->group = NULL;
    if (g == NULL) {
        return;
    }
    g->parts[f->part] = NULL;
    for (size_t i = 0; i < g->n_parts; i++) {
        empty = empty && g->parts[i] == NULL;
    }
    if (!empty) {
        judge(inbox, g);
        return;
    }
    if (g->is_ready) {
        TAILQ_REMOVE(&inbox->ready, g, place);
    }
    tdelete(g, &inbox->by_key, by_key);
    service_inbox_free_group(g);
}

/* The group of files that a .prj lies beside; NULL: none of them is there. */
static struct group *find_group(const struct service_inbox *inbox, const char *prj)
{
    struct group **found = NULL;
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL && found == NULL;
         stage++) {
        struct group key;
        if (asprintf(&key.key, "2/%.*s\n%s", (int)projection_stem(prj), prj, (*stage)->name) >= 0) {
            found = tfind(&key, &inbox->by_key, by_key);
            free(key.key);
        }
    }
    return found != NULL ? *found : NULL;
}

struct file *service_inbox_owner(const struct service_inbox *inbox, const struct file *f)
{
    struct search s = {.name = f->path};
    const size_t n = input_name_without(f->path, ".done");
    if (n < strlen(f->path)) {
        char *path = strndup(f->path, n);
        s.file = service_inbox_find(inbox, path);
        free(path);
        return s.file;
    }
    const struct group *g = find_group(inbox, f->path);
    for (size_t i = 0; g != NULL && i < g->n_parts && s.file == NULL; i++) {
        s.part = g->parts[i];
        if (s.part != NULL && projection_search(s.part->path, is_called, &s) != STATUS_OK) {
            break;
        }
    }
    return s.file;
}

void service_inbox_judge(struct service_inbox *inbox, struct file *f)
{
    struct file *owner = f->is_beside ? service_inbox_owner(inbox, f) : NULL;
    struct group *g = owner != NULL ? owner->group : f->group;
    if (g != NULL && g->parts[0] != NULL && g->parts[0]->list == LIST_TAKEN) {
        return;
    }
    if (g != NULL) {
        judge(inbox, g);
    }
    if (f->is_beside && f->is_complete) {
        if (owner == NULL) {
            service_inbox_reason(f, "the file that it belongs to is not there");
        } else {
            service_inbox_reason(f, "waits for %s", input_name_last(owner->path));
        }
        service_inbox_move(inbox, f, LIST_HELD);
    }
}

void service_inbox_join(struct service_inbox *inbox, struct file *f, const struct job_settings *job,
                        uint64_t now_ms)
{
    char *key;
    const int n_folder = (int)(input_name_last(f->path) - f->path);
    const int n = job->stage->n_parts == 1 ? asprintf(&key, "1/%s", f->path)
                                           : asprintf(&key, "2/%.*s%s\n%s", n_folder, f->path,
                                                      job->stem, job->stage->name);
    struct group *g = get_group(inbox, n >= 0 ? key : NULL, job->stage, job->stage->n_parts);
    if (g == NULL) {
        service_inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS); /* no memory: later */
        return;
    }
    if (g->parts[job->part] != NULL) {
        f->is_duplicate = true;
        TAILQ_INSERT_TAIL(&inbox->duplicates, f, duplicate_place);
        service_inbox_reason(f, "%s is the %s of its job already; remove one of them",
                             input_name_last(g->parts[job->part]->path),
                             job->stage->parts[job->part].suffix);
        service_inbox_move(inbox, f, LIST_HELD);
        return;
    }
    f->group = g;
    f->part = job->part;
    g->parts[f->part] = f;
    service_inbox_look_at(inbox, f, now_ms);
}

void service_inbox_set_aside(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    const struct stage_ops *stage = f->group->stage;
    char *key;
    service_inbox_leave(inbox, f);
    const int n = asprintf(&key, "0/%s", f->path);
    struct group *g = get_group(inbox, n >= 0 ? key : NULL, stage, 1);
    if (g == NULL) {
        service_inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS); /* no memory: later */
        return;
    }
    assert(g->parts[0] == NULL);
    g->is_unfit = true;
    g->parts[0] = f;
    f->group = g;
    f->part = 0;
    f->is_complete = true;
    judge(inbox, g);
}

/* --- to the spool and back -------------------------------------------------------------------- */

static bool is_among(struct file *const files[], size_t n, const struct file *f)
{
    size_t i = 0;
    while (i < n && files[i] != f) {
        i++;
    }
    return i < n;
}

/* The job's files, part after part, then what lies beside them; *n of them. On failure the parts
 * are there. */
static enum status list_files(const struct service_inbox *inbox, const struct group *g,
                              struct file *files[FILES_MAX], size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < g->n_parts; i++) {
        files[(*n)++] = g->parts[i];
    }
    for (size_t i = 0; i < g->n_parts && !g->is_unfit; i++) {
        struct file *beside[2];
        if (!find_beside(inbox, g->parts[i], beside)) {
            return status_fail(STATUS_NO_MEMORY, "no memory to look at what goes with it");
        }
        for (size_t k = 0; k < 2; k++) {
            if (beside[k] != NULL && !is_among(files, *n, beside[k])) {
                files[(*n)++] = beside[k];
            }
        }
    }
    return STATUS_OK;
}

static enum status make_job(const struct service_inbox *inbox, const struct group *g,
                            struct file *const files[], size_t n, struct spool_job **out)
{
    const char *path = g->parts[0]->path, *names[FILES_MAX];
    struct job_settings settings = {0};
    char *whole = NULL, *folder = NULL;
    json_t *parameters = NULL;
    size_t n_folder = (size_t)(input_name_last(path) - path);
    enum status code = STATUS_NO_MEMORY;
    *out = NULL;
    if (asprintf(&whole, "in/%s", path) < 0 ||
        (folder = strndup(path, n_folder > 0 ? n_folder - 1 : 0)) == NULL) {
        status_fail(code, "no memory for a job");
        goto end;
    }
    code = settings_resolve(inbox->settings, whole, &settings);
    if (code != STATUS_OK) {
        goto end;
    }
    parameters = worker_pack_settings(&settings);
    if (parameters == NULL) {
        code = status_fail(STATUS_BAD_ARGUMENT, "its parameters are no UTF-8");
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = input_name_last(files[i]->path);
    }
    code = spool_job_new(folder, settings.stem, names, n, parameters, out);
end:
    json_decref(parameters);
    job_settings_free(&settings);
    free(folder);
    free(whole);
    return code;
}

struct spool_job *service_inbox_take(struct service_inbox *inbox, uint64_t now_ms)
{
    struct group *g;
    struct spool_job *job = NULL;
    while (job == NULL && (g = TAILQ_FIRST(&inbox->ready)) != NULL) {
        struct file *files[FILES_MAX];
        size_t n;
        enum status code = list_files(inbox, g, files, &n);
        if (code == STATUS_OK) {
            code = make_job(inbox, g, files, n, &job);
        }
        TAILQ_REMOVE(&inbox->ready, g, place);
        g->is_ready = false;
        for (size_t i = 0; i < n; i++) {
            if (code == STATUS_OK) {
                service_inbox_move(inbox, files[i], LIST_TAKEN);
            } else {
                files[i]->is_complete = false;
                service_inbox_reason(files[i], "%s", status_message());
                service_inbox_look_at(inbox, files[i], now_ms + NOT_MOVABLE_MS);
            }
        }
    }
    return job;
}

void service_inbox_settle(struct service_inbox *inbox, const struct spool_job *job, uint64_t now_ms)
{
    const bool later = job->outcome == SPOOL_WAIT;
    for (size_t i = 0; i < job->n_files; i++) {
        char path[PATH_MAX]; /* a longer one cannot have been looked at */
        snprintf(path, sizeof(path), "%s%s%s", job->folder, *job->folder != '\0' ? "/" : "",
                 job->files[i].name);
        struct file *f = service_inbox_find(inbox, path);
        if (f == NULL) {
            continue;
        }
        if (job->id[0] != '\0' && !f->again) {
            service_inbox_forget(inbox, f, now_ms);
            continue;
        }
        f->memory = (struct ready_memory){0};
        f->since_ms = job->id[0] != '\0' ? now_ms : f->since_ms;
        f->again = false;
        service_inbox_route(inbox, f, now_ms);
        if (f->list == LIST_LOOK && later) {
            service_inbox_reason(f, "%s", job->message != NULL ? job->message : "");
            service_inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        }
    }
}
