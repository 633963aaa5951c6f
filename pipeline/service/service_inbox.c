/*
 * service_inbox - see service_inbox.h. Every file stands in a search tree by its path, and in one
 * of four lists. Jobs stand in a search tree by a key that begins with what kind it is of, since
 * names may hold any byte:
 *
 *   1/PATH                   a file that is a whole job by itself
 *   2/FOLDER/STEM\nPIPELINE  a job of several files
 *   0/PATH                   what is not a file, set aside
 */
#include "pipeline/service/service_inbox.h"

#include "formats/base/file_name.h"
#include "formats/source/archive_input.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "watch/files/xalloc.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    NOT_MOVABLE_MS = 10000,         /* before a file that may not be moved is tried again */
    FILES_MAX = 3 * STAGE_MAX_PARTS /* of a job: parts, each with its .prj and its .done */
};

enum list {
    LIST_LOOK,  /* to be looked at, at look_ms */
    LIST_HELD,  /* waits for something else */
    LIST_READY, /* of a job that is ready */
    LIST_TAKEN, /* being claimed */
    LISTS
};

struct group;

struct file {
    char *path;
    struct stat st;
    enum list list;
    TAILQ_ENTRY(file) place, duplicate_place;
    struct group *group; /* NULL: not a part of a job */
    size_t part;
    enum input_kind kind;
    bool is_complete, is_duplicate, again; /* again: found again while it was claimed */
    char *reason;                          /* NULL: by the list */
    struct ready_memory memory;
    uint64_t since_ms, look_ms, never_since_ms;
    double came_s;       /* since 1970 */
    unsigned long found; /* the number of the complete look that found it */
};
TAILQ_HEAD(files, file);

/* A job in the making. */
struct group {
    char *key;
    const struct stage_ops *stage;
    struct file *parts[STAGE_MAX_PARTS];
    const struct stage_part *of[STAGE_MAX_PARTS]; /* what they are */
    size_t n_parts;                               /* that the job needs */
    bool is_ready, is_unfit;                      /* is_unfit: it can only fail */
    TAILQ_ENTRY(group) place;
};
TAILQ_HEAD(groups, group);

struct service_inbox {
    const struct settings *settings;
    void *by_path, *by_key; /* trees of struct file, struct group */
    struct files lists[LISTS];
    struct files duplicates; /* whose place in a job is taken */
    struct groups ready;
    size_t n_files;
    unsigned long n_found;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static struct file *find_file(const struct service_inbox *inbox, const char *path)
{
    struct file key = {.path = (char *)path};
    struct file **found = path != NULL ? tfind(&key, &inbox->by_path, by_path) : NULL;
    return found != NULL ? *found : NULL;
}

static void move_to(struct service_inbox *inbox, struct file *f, enum list list)
{
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    f->list = list;
    TAILQ_INSERT_TAIL(&inbox->lists[list], f, place);
}

static void look_at(struct service_inbox *inbox, struct file *f, uint64_t when_ms)
{
    f->look_ms = when_ms;
    move_to(inbox, f, LIST_LOOK);
}

/* Takes the text over; NULL: none. */
static void set_reason(struct file *f, char *reason)
{
    free(f->reason);
    f->reason = reason;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->key, ((const struct group *)b)->key);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The names that a .prj may have are looked for. */
struct search {
    const struct service_inbox *inbox;
    struct file *only, *found;
};

static bool is_there(void *context, const char *path)
{
    struct search *s = context;
    s->found = s->only == NULL                    ? find_file(s->inbox, path)
               : strcmp(s->only->path, path) == 0 ? s->only
                                                  : NULL;
    return s->found != NULL;
}

/* The .prj of a grid. only: that file, if it may be one; NULL: of all files the best. */
static struct file *find_prj(const struct service_inbox *inbox, const char *grid, struct file *only)
{
    struct search s = {.inbox = inbox, .only = only};
    return xalloc_status(projection_search(grid, is_there, &s)) == STATUS_OK ? s.found : NULL;
}

/* What goes with the part of a job: a grid's .prj, if there, or the mask of what is not read, and
 * its marker. Returns what it waits for, in words; NULL: for none of them. A grid beside its mask
 * waits until that is gone. */
static char *find_beside(const struct service_inbox *inbox, const struct file *f,
                         struct file *beside[2])
{
    const bool is_grid = f->group->of[f->part]->kind == STAGE_GRID;
    char *marker = inbox->settings->done_file ? xasprintf("%s.done", f->path) : NULL;
    char *const mask_path = xasprintf("%s%s", f->path, INPUT_NAME_MASK);
    struct file *const mask = find_file(inbox, mask_path);
    free(mask_path);
    beside[0] = f->kind == INPUT_FOREIGN ? mask : is_grid ? find_prj(inbox, f->path, NULL) : NULL;
    beside[1] = find_file(inbox, marker);
    if (is_grid && mask != NULL) {
        free(marker);
        return xasprintf("%s is not read: write it into the grid as NODATA (leat check says how), "
                         "or remove it",
                         file_name_last(mask->path));
    }
    const char *missing = marker != NULL && (beside[1] == NULL || !beside[1]->is_complete) ? marker
                          : beside[0] != NULL && !beside[0]->is_complete ? beside[0]->path
                                                                         : NULL;
    char *const reason =
        missing != NULL ? xasprintf("waits for %s", file_name_last(missing)) : NULL;
    free(marker);
    return reason;
}

/* What the complete file f waits for among its job's other parts; NULL: for none. */
static char *find_missing(const struct group *g, const struct file *f)
{
    size_t i = 0;
    while (i < g->n_parts && g->parts[i] != NULL && g->parts[i]->is_complete) {
        i++;
    }
    if (i == g->n_parts) {
        return NULL;
    }
    if (g->parts[i] != NULL) {
        return xasprintf("waits for %s", file_name_last(g->parts[i]->path));
    }
    const char *stem = file_name_last(g->key);
    const struct stage_part *part = g->of[i], *mine = g->of[f->part];
    const int n = (int)(strrchr(stem, '\n') - stem);
    char parameter[STAGE_INSTEAD_BYTES];
    if (*stage_instead(g->stage, mine, parameter) != '\0') { /* a route may set it for the others */
        return xasprintf("waits for %.*s.%s.* without the parameter %s, which takes the place of "
                         "%.*s.%s.*",
                         n, stem, part->suffix, parameter, n, stem, mine->suffix);
    }
    stage_instead(g->stage, part, parameter);
    return xasprintf("waits for %.*s.%s.*%s%s", n, stem, part->suffix,
                     *parameter != '\0' ? " or the parameter " : "", parameter);
}

/* Whether the job is something that is not a file, beside which nothing belongs. */
static bool goes_alone(const struct group *g)
{
    return g->is_unfit && g->parts[0]->kind != INPUT_FOREIGN;
}

/* Decides whether the job is ready, and what its complete parts wait for. One that has all that
 * belongs to it waits for what another one does. */
static void judge(struct service_inbox *inbox, struct group *g)
{
    struct file *beside[2];
    const char *reason = NULL;
    bool ready = true;
    for (size_t i = 0; i < g->n_parts; i++) {
        struct file *f = g->parts[i];
        if (f == NULL || !f->is_complete) {
            ready = false;
            continue;
        }
        char *const missing = goes_alone(g) ? NULL : find_missing(g, f);
        set_reason(f, missing != NULL || goes_alone(g) ? missing : find_beside(inbox, f, beside));
        reason = f->reason != NULL ? f->reason : reason;
        ready = ready && reason == NULL;
    }
    for (size_t i = 0; i < g->n_parts; i++) {
        struct file *f = g->parts[i];
        if (f != NULL && f->is_complete) {
            if (reason != NULL && f->reason == NULL) {
                set_reason(f, xstrdup(reason));
            }
            move_to(inbox, f, ready ? LIST_READY : LIST_HELD);
        }
    }
    if (ready && !g->is_ready) {
        TAILQ_INSERT_TAIL(&inbox->ready, g, place);
    } else if (!ready && g->is_ready) {
        TAILQ_REMOVE(&inbox->ready, g, place);
    }
    g->is_ready = ready;
}

static void free_group(void *group)
{
    struct group *g = group;
    free(g->key);
    free(g);
}

/* The job of that key, made when it is not there. The key is taken over. */
static struct group *get_group(struct service_inbox *inbox, char *key,
                               const struct job_settings *job)
{
    struct group *g = xcalloc(1, sizeof(*g));
    *g = (struct group){.key = key, .stage = job->stage, .n_parts = job->n_parts};
    memcpy(g->of, job->parts, sizeof(g->of));
    struct group **found = xalloc_checked(tsearch(g, &inbox->by_key, by_key));
    if (*found != g) {
        free_group(g);
    }
    return *found;
}

static void leave(struct service_inbox *inbox, struct file *f)
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
    free_group(g);
}

/* The group of files that a .prj lies beside; NULL: none of them is there. */
static struct group *find_group(const struct service_inbox *inbox, const char *prj)
{
    struct group **found = NULL;
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL && found == NULL;
         stage++) {
        const struct group key = {
            .key = xasprintf("2/%.*s\n%s", (int)projection_stem(prj), prj, (*stage)->name)};
        found = tfind(&key, &inbox->by_key, by_key);
        free(key.key);
    }
    return found != NULL ? *found : NULL;
}

/* The part that a .prj, a mask or a marker belongs to; NULL: it is not there. */
static struct file *owner_of(const struct service_inbox *inbox, struct file *f)
{
    size_t n = input_name_without(f->path, ".done");
    n = n < strlen(f->path) ? n : input_name_without(f->path, INPUT_NAME_MASK);
    if (n < strlen(f->path)) {
        char *path = xstrndup(f->path, n);
        struct file *owner = find_file(inbox, path);
        free(path);
        return owner;
    }
    const struct group *g = find_group(inbox, f->path);
    for (size_t i = 0; g != NULL && i < g->n_parts; i++) {
        if (g->parts[i] != NULL && find_prj(inbox, g->parts[i]->path, f) != NULL) {
            return g->parts[i];
        }
    }
    return NULL;
}

static bool is_beside(const struct file *f)
{
    return f->kind == INPUT_MARKER || f->kind == INPUT_PROJECTION || f->kind == INPUT_MASK;
}

static void judge_file(struct service_inbox *inbox, struct file *f)
{
    struct file *owner = is_beside(f) ? owner_of(inbox, f) : NULL;
    struct group *g = owner != NULL ? owner->group : f->group;
    if (g != NULL && g->parts[0] != NULL && g->parts[0]->list == LIST_TAKEN) {
        return;
    }
    if (g != NULL) {
        judge(inbox, g);
    }
    if (is_beside(f) && f->is_complete) {
        set_reason(f, owner == NULL ? xstrdup("the file that it belongs to is not there")
                                    : xasprintf("waits for %s", file_name_last(owner->path)));
        move_to(inbox, f, LIST_HELD);
    }
}

static void join(struct service_inbox *inbox, struct file *f, const struct job_settings *job,
                 uint64_t now_ms)
{
    const int n_folder = (int)(file_name_last(f->path) - f->path);
    char *key = job->n_parts == 1
                    ? xasprintf("1/%s", f->path)
                    : xasprintf("2/%.*s%s\n%s", n_folder, f->path, job->stem, job->stage->name);
    struct group *g = get_group(inbox, key, job);
    const bool is_alike = memcmp(g->of, job->parts, sizeof(g->of)) == 0;
    if (!is_alike || g->parts[job->part] != NULL) {
        f->is_duplicate = true;
        TAILQ_INSERT_TAIL(&inbox->duplicates, f, duplicate_place);
        set_reason(f, is_alike ? xasprintf("%s is the %s of its job already; remove one of them",
                                           file_name_last(g->parts[job->part]->path),
                                           job->parts[job->part]->suffix)
                               : xstrdup("its parameters ask for other files of its job than those "
                                         "of the others; set them alike"));
        move_to(inbox, f, LIST_HELD);
        return;
    }
    f->group = g;
    f->part = job->part;
    g->parts[f->part] = f;
    look_at(inbox, f, now_ms);
}

/* Makes the file a job of its own, which can only fail. */
static void set_aside(struct service_inbox *inbox, struct file *f, const struct stage_ops *stage)
{
    const struct job_settings job = {.stage = stage, .n_parts = 1, .parts = {stage->parts}};
    leave(inbox, f);
    struct group *g = get_group(inbox, xasprintf("0/%s", f->path), &job);
    assert(g->parts[0] == NULL);
    g->is_unfit = true;
    g->parts[0] = f;
    f->group = g;
    f->part = 0;
}

/* --- routing ---------------------------------------------------------------------------------- */

static void leave_duplicates(struct service_inbox *inbox, struct file *f)
{
    if (f->is_duplicate) {
        TAILQ_REMOVE(&inbox->duplicates, f, duplicate_place);
        f->is_duplicate = false;
    }
}

/* Finds the file's job. An archive is one, whose own jobs its worker finds. */
static void route(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    struct job_settings job = {
        .stage = stage_registry[0], .n_parts = 1, .parts = {stage_registry[0]->parts}};
    char *path = xasprintf("in/%s", f->path), *reason = NULL;
    leave(inbox, f);
    leave_duplicates(inbox, f);
    f->kind = settings_input_kind(inbox->settings, path);
    f->is_complete = false;
    f->never_since_ms = 0;
    set_reason(f, NULL);
    if (is_beside(f)) {
        look_at(inbox, f, now_ms);
        judge_file(inbox, f); /* a job that was ready without it waits for it */
    } else if (f->kind == INPUT_ARCHIVE) {
        join(inbox, f, &job, now_ms);
    } else if (f->kind == INPUT_FOREIGN && settings_fails_by_name(inbox->settings, path)) {
        set_aside(inbox, f, job.stage);
        look_at(inbox, f, now_ms);
    } else if (f->kind != INPUT_OF_JOB) {
        reason = xalloc_checked(settings_refusal(inbox->settings, path));
    } else if (xalloc_status(settings_resolve(inbox->settings, path, &job)) != STATUS_OK) {
        reason = xstrdup(status_message());
    } else {
        join(inbox, f, &job, now_ms);
        job_settings_free(&job);
    }
    if (reason != NULL) {
        set_reason(f, reason);
        move_to(inbox, f, LIST_HELD);
    }
    free(path);
}

/* --- files ------------------------------------------------------------------------------------ */

static void free_file(void *file)
{
    struct file *f = file;
    free(f->path);
    free(f->reason);
    free(f);
}

/* All files, so that they can be removed meanwhile; n_files of them, for free(). */
static struct file **gather(const struct service_inbox *inbox)
{
    struct file **files = xcalloc(inbox->n_files, sizeof(struct file *)), *f;
    size_t n = 0;
    for (enum list l = 0; l < LISTS; l++) {
        TAILQ_FOREACH(f, &inbox->lists[l], place)
        {
            files[n++] = f;
        }
    }
    return files;
}

/* A file has left its place in a job: another one may take it. */
static void route_duplicates(struct service_inbox *inbox, uint64_t now_ms)
{
    struct file *f, *next;
    struct file *const last =
        TAILQ_LAST(&inbox->duplicates, files); /* what still is one goes there */
    for (f = TAILQ_FIRST(&inbox->duplicates); f != NULL; f = f != last ? next : NULL) {
        next = TAILQ_NEXT(f, duplicate_place);
        route(inbox, f, now_ms);
    }
}

static void forget(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    const bool is_part = f->group != NULL && f->group->stage->n_parts > 1;
    leave(inbox, f);
    leave_duplicates(inbox, f);
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    tdelete(f, &inbox->by_path, by_path);
    inbox->n_files--;
    if (is_beside(f)) {
        f->is_complete = false;
        struct file *owner = owner_of(inbox, f);
        if (owner != NULL) {
            judge_file(inbox, owner);
        }
    }
    free_file(f);
    if (is_part) { /* a file that is a whole job has no duplicates */
        route_duplicates(inbox, now_ms);
    }
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static double changed_s(const struct stat *st)
{
    return (double)st->st_ctim.tv_sec + (double)st->st_ctim.tv_nsec * 1e-9;
}

static struct file *add(struct service_inbox *inbox, struct watcher_file *found, uint64_t now_ms)
{
    struct file *f = xcalloc(1, sizeof(*f));
    *f = (struct file){
        .path = found->path, .st = found->st, .since_ms = now_ms, .came_s = changed_s(&found->st)};
    found->path = NULL;
    xalloc_checked(tsearch(f, &inbox->by_path, by_path));
    inbox->n_files++;
    TAILQ_INSERT_TAIL(&inbox->lists[LIST_LOOK], f, place);
    route(inbox, f, now_ms);
    return f;
}

void service_inbox_found(struct service_inbox *inbox, struct watcher_findings *findings,
                         uint64_t now_ms)
{
    inbox->n_found += findings->complete;
    for (size_t i = 0; i < findings->n_files; i++) {
        struct watcher_file *found = &findings->files[i];
        struct file *f = find_file(inbox, found->path);
        if (f == NULL) {
            f = add(inbox, found, now_ms);
        } else if (f->list == LIST_TAKEN) {
            f->again = true;
        } else if (!findings->complete || !is_same(&f->st, &found->st)) {
            f->st = found->st;
            if (f->group != NULL || is_beside(f)) {
                f->is_complete = false;
                look_at(inbox, f, now_ms);
                judge_file(inbox, f);
            }
        }
        f->found = inbox->n_found;
    }
    if (findings->complete) {
        struct file **const all = gather(inbox);
        for (size_t i = 0, n = inbox->n_files; i < n; i++) {
            if (all[i]->found != inbox->n_found && all[i]->list != LIST_TAKEN) {
                forget(inbox, all[i], now_ms);
            }
        }
        free(all);
    }
}

void service_inbox_gone(struct service_inbox *inbox, const char *path, uint64_t now_ms)
{
    struct file *f = find_file(inbox, path);
    if (f != NULL && f->list != LIST_TAKEN) {
        f->is_complete = false;
        look_at(inbox, f, now_ms);
        judge_file(inbox, f);
    }
}

void service_inbox_reroute(struct service_inbox *inbox, const struct settings *settings,
                           uint64_t now_ms)
{
    inbox->settings = settings;
    struct file **const all = gather(inbox);
    for (size_t i = 0; i < inbox->n_files; i++) {
        if (all[i]->list != LIST_TAKEN) {
            route(inbox, all[i], now_ms);
        }
    }
    free(all);
}

/* --- looking ---------------------------------------------------------------------------------- */

size_t service_inbox_due(struct service_inbox *inbox, uint64_t now_ms, struct service_look *looks,
                         size_t cap)
{
    size_t n = 0;
    struct file *f;
    TAILQ_FOREACH(f, &inbox->lists[LIST_LOOK], place)
    {
        if (n == cap) {
            break;
        }
        if (f->look_ms <= now_ms) {
            looks[n++] = (struct service_look){.path = xstrdup(f->path), .memory = f->memory};
            f->look_ms = UINT64_MAX; /* until there is an answer, or a new reason to look */
        }
    }
    return n;
}

uint64_t service_inbox_next_due(const struct service_inbox *inbox)
{
    uint64_t first = UINT64_MAX;
    const struct file *f;
    TAILQ_FOREACH(f, &inbox->lists[LIST_LOOK], place)
    {
        first = f->look_ms < first ? f->look_ms : first;
    }
    return first;
}

/* Something that is not a regular file: for a moment, or for good? */
static void look_never(struct service_inbox *inbox, struct file *f, const char *reason,
                       uint64_t now_ms)
{
    const uint64_t settle_ms = (uint64_t)(inbox->settings->settle_s * 1000);
    set_reason(f, xstrdup(reason));
    if (f->never_since_ms == 0) {
        f->never_since_ms = now_ms;
    }
    if (now_ms - f->never_since_ms < settle_ms) {
        look_at(inbox, f, now_ms + settle_ms);
    } else if (f->group != NULL) {
        set_aside(inbox, f, f->group->stage);
        f->is_complete = true;
        judge(inbox, f->group);
    } else {
        move_to(inbox, f, LIST_HELD);
    }
}

static void take_answer(struct service_inbox *inbox, struct file *f,
                        const struct ready_answer *answer, uint64_t now_ms)
{
    if (answer->state == READY_GONE) {
        forget(inbox, f, now_ms);
        return;
    }
    f->st = answer->st;
    if (answer->state == READY_YES && f->group == NULL && !is_beside(f)) {
        route(inbox, f, now_ms); /* it had gone for a moment */
    } else if (answer->state == READY_YES) {
        f->is_complete = true;
        f->never_since_ms = 0;
        move_to(inbox, f, LIST_HELD);
        judge_file(inbox, f);
    } else if (answer->state == READY_NEVER) {
        look_never(inbox, f, answer->reason, now_ms);
    } else {
        f->never_since_ms = 0;
        set_reason(f, xstrdup(answer->reason));
        look_at(inbox, f, now_ms + answer->again_ms);
    }
}

void service_inbox_looked(struct service_inbox *inbox, struct service_look *looks, size_t n,
                          uint64_t now_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct file *f = find_file(inbox, looks[i].path);
        /* One that was found again meanwhile is going to be looked at again. */
        if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX) {
            f->memory = looks[i].memory;
            take_answer(inbox, f, &looks[i].answer, now_ms);
        }
        free(looks[i].path);
    }
}

/* --- to the spool and back -------------------------------------------------------------------- */

/* The job's files, part after part, then what lies beside them; how many there are. */
static size_t list_files(const struct service_inbox *inbox, const struct group *g,
                         struct file *files[FILES_MAX])
{
    size_t n = g->n_parts;
    memcpy(files, g->parts, n * sizeof(*files));
    for (size_t i = 0; i < g->n_parts && !goes_alone(g); i++) {
        struct file *beside[2];
        free(find_beside(inbox, g->parts[i], beside)); /* it waits for none */
        for (size_t k = 0; k < 2; k++) {
            size_t at = 0;
            while (at < n && files[at] != beside[k]) { /* it may lie beside two */
                at++;
            }
            if (beside[k] != NULL && at == n) {
                files[n++] = beside[k];
            }
        }
    }
    return n;
}

/* Why a file can never be read, for the worker. */
static json_t *pack_refusal(const struct service_inbox *inbox, const char *path)
{
    char *const why = xalloc_checked(settings_refusal(inbox->settings, path));
    char *const text = xasprintf("%s: %s", path, why);
    json_t *const packed = worker_pack_refusal(text);
    free(text);
    free(why);
    return packed;
}

/* The group's job; NULL, with a status that says why: its parameters cannot be recorded. */
static struct spool_job *make_job(const struct service_inbox *inbox, const struct group *g,
                                  struct file *const files[], size_t n)
{
    const char *path = g->parts[0]->path, *name = file_name_last(path), *names[FILES_MAX];
    const enum input_kind kind = g->parts[0]->kind;
    char *whole = xasprintf("in/%s", path);
    char *folder = xstrndup(path, name > path ? (size_t)(name - path) - 1 : 0);
    struct job_settings settings = {0};
    json_t *parameters = NULL;
    struct spool_job *job = NULL;
    for (size_t i = 0; i < n; i++) {
        names[i] = file_name_last(files[i]->path);
    }
    if (xalloc_status(kind == INPUT_OF_JOB
                          ? settings_resolve(inbox->settings, whole, &settings)
                          : archive_input_stem(name, &settings.stem)) == STATUS_OK) {
        parameters = kind == INPUT_OF_JOB    ? worker_pack_settings(&settings)
                     : kind == INPUT_ARCHIVE ? worker_pack_routes(inbox->settings)
                                             : pack_refusal(inbox, whole);
        if (parameters == NULL) {
            status_set(STATUS_BAD_ARGUMENT, "its parameters are no UTF-8");
        } else if (xalloc_status(spool_job_new(folder, settings.stem, names, n, parameters,
                                               &job)) != STATUS_OK) {
            job = NULL;
        }
    }
    json_decref(parameters);
    job_settings_free(&settings);
    free(folder);
    free(whole);
    return job;
}

struct spool_job *service_inbox_take(struct service_inbox *inbox, uint64_t now_ms,
                                     uint64_t *found_ms)
{
    struct group *g;
    struct spool_job *job = NULL;
    *found_ms = 0;
    while (job == NULL && (g = TAILQ_FIRST(&inbox->ready)) != NULL) {
        struct file *files[FILES_MAX];
        const size_t n = list_files(inbox, g, files);
        job = make_job(inbox, g, files, n);
        TAILQ_REMOVE(&inbox->ready, g, place);
        g->is_ready = false;
        for (size_t i = 0; i < n; i++) {
            struct file *f = files[i];
            if (job != NULL) {
                *found_ms = f->since_ms > *found_ms ? f->since_ms : *found_ms;
                move_to(inbox, f, LIST_TAKEN);
            } else {
                f->is_complete = false;
                set_reason(f, xstrdup(status_message()));
                look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
            }
        }
    }
    return job;
}

char *service_inbox_path(const struct spool_job *job, size_t i)
{
    return xasprintf("%s%s%s", job->folder, *job->folder != '\0' ? "/" : "",
                     i < job->n_files ? job->files[i].name : job->stem);
}

void service_inbox_settle(struct service_inbox *inbox, const struct spool_job *job, uint64_t now_ms)
{
    const bool later = job->outcome == SPOOL_WAIT || job->outcome == SPOOL_TRANSIENT;
    for (size_t i = 0; i < job->n_files; i++) {
        char *path = service_inbox_path(job, i);
        struct file *f = find_file(inbox, path);
        free(path);
        if (f == NULL) {
            continue;
        }
        if (job->id[0] != '\0' && !f->again) {
            forget(inbox, f, now_ms);
            continue;
        }
        f->memory = (struct ready_memory){0};
        f->since_ms = job->id[0] != '\0' ? now_ms : f->since_ms;
        f->came_s = job->id[0] != '\0' ? changed_s(&f->st) : f->came_s;
        f->again = false;
        route(inbox, f, now_ms);
        if (f->list == LIST_LOOK && later) {
            set_reason(f, xstrdup(job->message != NULL ? job->message : ""));
            look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        }
    }
}

/* --- what there is ---------------------------------------------------------------------------- */

size_t service_inbox_count(const struct service_inbox *inbox)
{
    return inbox->n_files;
}

void service_inbox_list(const struct service_inbox *inbox, double now_s, size_t most, json_t *list)
{
    static const char *const by_list[LISTS] = {"is being looked at", "is complete",
                                               "is complete and waits for its turn",
                                               "is being taken"};
    for (enum list l = 0; l < LISTS; l++) {
        const struct file *f;
        TAILQ_FOREACH(f, &inbox->lists[l], place)
        {
            if (json_array_size(list) >= most) {
                return;
            }
            char *path = xasprintf("in/%s", f->path);
            json_array_append_new(
                list, json_pack("{s:o, s:o, s:f}", "path", text_json(path), "reason",
                                text_json(f->reason != NULL ? f->reason : by_list[l]), "since_s",
                                now_s > f->came_s ? now_s - f->came_s : 0.0));
            free(path);
        }
    }
}

double service_inbox_oldest_part_s(const struct service_inbox *inbox, double now_s)
{
    double first_s = now_s;
    const struct file *f;
    TAILQ_FOREACH(f, &inbox->lists[LIST_HELD], place)
    {
        first_s = f->group != NULL && f->came_s < first_s ? f->came_s : first_s;
    }
    return now_s - first_s;
}

struct service_inbox *service_inbox_new(const struct settings *settings)
{
    struct service_inbox *inbox = xcalloc(1, sizeof(*inbox));
    inbox->settings = settings;
    for (size_t i = 0; i < LISTS; i++) {
        TAILQ_INIT(&inbox->lists[i]);
    }
    TAILQ_INIT(&inbox->duplicates);
    TAILQ_INIT(&inbox->ready);
    return inbox;
}

void service_inbox_free(struct service_inbox *inbox)
{
    if (inbox != NULL) {
        tdestroy(inbox->by_key, free_group);
        tdestroy(inbox->by_path, free_file);
        free(inbox);
    }
}
