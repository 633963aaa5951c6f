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

#include <assert.h>
#include <limits.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
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
    bool is_complete, is_beside, is_duplicate, again; /* again: found again while it was claimed */
    char *reason;                                     /* NULL: by the list */
    struct ready_memory memory;
    uint64_t since_ms, look_ms, never_since_ms;
    unsigned long found; /* the number of the complete look that found it */
};
TAILQ_HEAD(files, file);

/* A job in the making. */
struct group {
    char *key;
    const struct stage_ops *stage;
    struct file *parts[STAGE_MAX_PARTS];
    size_t n_parts; /* that the job needs */
    bool is_ready, is_unfit;
    bool is_archive; /* whose jobs its worker finds; `stage` means nothing then */
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

__attribute__((format(printf, 2, 3))) static void set_reason(struct file *f, const char *format,
                                                             ...)
{
    va_list arguments;
    free(f->reason);
    f->reason = NULL;
    va_start(arguments, format);
    if (vasprintf(&f->reason, format, arguments) < 0) {
        f->reason = NULL;
    }
    va_end(arguments);
}

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
    s->file = find_file(s->inbox, path);
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
        set_reason(f, "no memory to look at what goes with it");
        f->is_complete = false;
        free(marker);
        return false;
    }
    beside[0] = s.file;
    beside[1] = find_file(inbox, marker);
    const char *missing = marker != NULL && (beside[1] == NULL || !beside[1]->is_complete) ? marker
                          : s.file != NULL && !s.file->is_complete ? s.file->path
                                                                   : NULL;
    bool waits = missing != NULL;
    if (waits) {
        set_reason(f, "waits for %s", input_name_last(missing));
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
            const struct stage_part *part = &g->stage->parts[i], *mine = &g->stage->parts[f->part];
            const int n = (int)(strrchr(stem, '\n') - stem);
            if (mine->unless != NULL) { /* a route may set it for the others */
                set_reason(f,
                           "waits for %.*s.%s.* without the parameter %s, which takes the place of "
                           "%.*s.%s.*",
                           n, stem, part->suffix, mine->unless, n, stem, mine->suffix);
            } else {
                set_reason(f, "waits for %.*s.%s.*%s%s", n, stem, part->suffix,
                           part->unless != NULL ? " or the parameter " : "",
                           part->unless != NULL ? part->unless : "");
            }
            return true;
        }
        if (!other->is_complete) {
            set_reason(f, "waits for %s", input_name_last(other->path));
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
            set_reason(g->parts[i], "%s", reason);
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
            look_at(inbox, f, 0);
        }
    }
    if (!ready) {
        share_reason(g);
    }
    for (size_t i = 0; i < g->n_parts; i++) {
        if (g->parts[i] != NULL && g->parts[i]->is_complete) {
            move_to(inbox, g->parts[i], ready ? LIST_READY : LIST_HELD);
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
        free_group(g);
    }
    return found != NULL ? *found : NULL;
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
        struct group key;
        if (asprintf(&key.key, "2/%.*s\n%s", (int)projection_stem(prj), prj, (*stage)->name) >= 0) {
            found = tfind(&key, &inbox->by_key, by_key);
            free(key.key);
        }
    }
    return found != NULL ? *found : NULL;
}

static struct file *owner_of(const struct service_inbox *inbox, const struct file *f)
{
    struct search s = {.name = f->path};
    const size_t n = input_name_without(f->path, ".done");
    if (n < strlen(f->path)) {
        char *path = strndup(f->path, n);
        s.file = find_file(inbox, path);
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

static void judge_file(struct service_inbox *inbox, struct file *f)
{
    struct file *owner = f->is_beside ? owner_of(inbox, f) : NULL;
    struct group *g = owner != NULL ? owner->group : f->group;
    if (g != NULL && g->parts[0] != NULL && g->parts[0]->list == LIST_TAKEN) {
        return;
    }
    if (g != NULL) {
        judge(inbox, g);
    }
    if (f->is_beside && f->is_complete) {
        if (owner == NULL) {
            set_reason(f, "the file that it belongs to is not there");
        } else {
            set_reason(f, "waits for %s", input_name_last(owner->path));
        }
        move_to(inbox, f, LIST_HELD);
    }
}

static void join(struct service_inbox *inbox, struct file *f, const struct job_settings *job,
                 uint64_t now_ms)
{
    char *key;
    const int n_folder = (int)(input_name_last(f->path) - f->path);
    const int n = job->n_parts == 1 ? asprintf(&key, "1/%s", f->path)
                                    : asprintf(&key, "2/%.*s%s\n%s", n_folder, f->path, job->stem,
                                               job->stage->name);
    struct group *g = get_group(inbox, n >= 0 ? key : NULL, job->stage, job->n_parts);
    if (g == NULL) {
        look_at(inbox, f, now_ms + NOT_MOVABLE_MS); /* no memory: later */
        return;
    }
    if (g->parts[job->part] != NULL) {
        f->is_duplicate = true;
        TAILQ_INSERT_TAIL(&inbox->duplicates, f, duplicate_place);
        set_reason(f, "%s is the %s of its job already; remove one of them",
                   input_name_last(g->parts[job->part]->path), job->stage->parts[job->part].suffix);
        move_to(inbox, f, LIST_HELD);
        return;
    }
    f->group = g;
    f->part = job->part;
    g->parts[f->part] = f;
    look_at(inbox, f, now_ms);
}

static void set_aside(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    const struct stage_ops *stage = f->group->stage;
    char *key;
    leave(inbox, f);
    const int n = asprintf(&key, "0/%s", f->path);
    struct group *g = get_group(inbox, n >= 0 ? key : NULL, stage, 1);
    if (g == NULL) {
        look_at(inbox, f, now_ms + NOT_MOVABLE_MS); /* no memory: later */
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

/* --- routing ---------------------------------------------------------------------------------- */

static void refuse(struct service_inbox *inbox, struct file *f)
{
    char names[SETTINGS_NAMES_BYTES];
    if (input_name_is_sidecar(f->path)) {
        set_reason(f, "is a sidecar file of a grid or a table, ignored");
    } else {
        set_reason(f,
                   "no pipeline takes it: put it into a folder named %s, or give it a name like %s",
                   stage_registry[0]->name, settings_names(names));
    }
    move_to(inbox, f, LIST_HELD);
}

static void leave_duplicates(struct service_inbox *inbox, struct file *f)
{
    if (f->is_duplicate) {
        TAILQ_REMOVE(&inbox->duplicates, f, duplicate_place);
        f->is_duplicate = false;
    }
}

/* Finds the file's job. */
static void route(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    char *path;
    struct job_settings job;
    enum status code;
    const struct settings *s = inbox->settings;
    bool is_marker = s->done_file && file_name_ends(f->path, ".done");
    leave(inbox, f);
    leave_duplicates(inbox, f);
    f->is_complete = f->is_beside = false;
    f->never_since_ms = 0;
    free(f->reason);
    f->reason = NULL;
    if (asprintf(&path, "in/%s", f->path) < 0) {
        look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        return;
    }
    bool routes = settings_routes(s, path);
    const struct job_settings archive = {.stage = stage_registry[0], .n_parts = 1};
    if (is_marker || (!routes && projection_named(path))) {
        f->is_beside = true;
        look_at(inbox, f, now_ms);
    } else if (!routes && archive_input_named(f->path)) {
        join(inbox, f, &archive, now_ms);
        if (f->group != NULL) {
            f->group->is_archive = true;
        }
    } else if (!routes) {
        refuse(inbox, f);
    } else if ((code = settings_resolve(s, path, &job)) != STATUS_OK) {
        set_reason(f, "%s", status_message());
        if (code == STATUS_NO_MEMORY) {
            look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        } else {
            move_to(inbox, f, LIST_HELD);
        }
    } else {
        join(inbox, f, &job, now_ms);
        job_settings_free(&job);
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

struct gathered {
    struct file **files;
    size_t n;
};

static void gather_one(const void *node, VISIT visit, void *closure)
{
    struct gathered *g = closure;
    if (visit == postorder || visit == leaf) {
        g->files[g->n++] = *(struct file *const *)node;
    }
}

/* All files, so that they can be removed meanwhile; for free(). */
static struct gathered gather(const struct service_inbox *inbox)
{
    struct gathered g = {.files = calloc(inbox->n_files + 1, sizeof(struct file *))};
    if (g.files != NULL) {
        twalk_r(inbox->by_path, gather_one, &g);
    }
    return g;
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
    if (f->is_beside) {
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

static struct file *add(struct service_inbox *inbox, struct watcher_file *found, uint64_t now_ms)
{
    struct file *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return NULL; /* the next complete look finds it again */
    }
    f->path = found->path;
    f->st = found->st;
    f->since_ms = now_ms;
    if (tsearch(f, &inbox->by_path, by_path) == NULL) {
        free(f);
        return NULL;
    }
    found->path = NULL;
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
            if (f->group != NULL || f->is_beside) {
                f->is_complete = false;
                look_at(inbox, f, now_ms);
                judge_file(inbox, f);
            }
        }
        if (f != NULL) {
            f->found = inbox->n_found;
        }
    }
    if (findings->complete) {
        struct gathered all = gather(inbox);
        for (size_t i = 0; i < all.n; i++) {
            if (all.files[i]->found != inbox->n_found && all.files[i]->list != LIST_TAKEN) {
                forget(inbox, all.files[i], now_ms);
            }
        }
        free(all.files);
    }
}

void service_inbox_reroute(struct service_inbox *inbox, const struct settings *settings,
                           uint64_t now_ms)
{
    inbox->settings = settings;
    struct gathered all = gather(inbox);
    for (size_t i = 0; i < all.n; i++) {
        if (all.files[i]->list != LIST_TAKEN) {
            route(inbox, all.files[i], now_ms);
        }
    }
    free(all.files);
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
        char *path = f->look_ms <= now_ms ? strdup(f->path) : NULL;
        if (path != NULL) {
            looks[n++] = (struct service_look){.path = path, .memory = f->memory};
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
    set_reason(f, "%s", reason);
    if (f->never_since_ms == 0) {
        f->never_since_ms = now_ms;
    }
    if (now_ms - f->never_since_ms < settle_ms) {
        look_at(inbox, f, now_ms + settle_ms);
    } else if (f->group != NULL) {
        set_aside(inbox, f, now_ms);
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
    if (answer->state == READY_YES) {
        f->is_complete = true;
        f->never_since_ms = 0;
        move_to(inbox, f, LIST_HELD);
        judge_file(inbox, f);
    } else if (answer->state == READY_NEVER) {
        look_never(inbox, f, answer->reason, now_ms);
    } else {
        f->never_since_ms = 0;
        set_reason(f, "%s", answer->reason);
        look_at(inbox, f, now_ms + answer->again_ms);
    }
}

void service_inbox_looked(struct service_inbox *inbox, struct service_look *looks, size_t n,
                          uint64_t now_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct file *f = find_file(inbox, looks[i].path);
        /* One that was found again meanwhile is going to be looked at again. */
        if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX && f->group == NULL &&
            !f->is_beside) {
            route(inbox, f, now_ms); /* for which there was no memory */
        } else if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX) {
            f->memory = looks[i].memory;
            take_answer(inbox, f, &looks[i].answer, now_ms);
        }
        free(looks[i].path);
    }
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
    if (g->is_archive) {
        code = archive_input_stem(input_name_last(path), &settings.stem);
    } else {
        code = settings_resolve(inbox->settings, whole, &settings);
    }
    if (code != STATUS_OK) {
        goto end;
    }
    parameters =
        g->is_archive ? worker_pack_routes(inbox->settings) : worker_pack_settings(&settings);
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
                move_to(inbox, files[i], LIST_TAKEN);
            } else {
                files[i]->is_complete = false;
                set_reason(files[i], "%s", status_message());
                look_at(inbox, files[i], now_ms + NOT_MOVABLE_MS);
            }
        }
    }
    return job;
}

static struct file *file_of_job(const struct service_inbox *inbox, const struct spool_job *job,
                                size_t i)
{
    char path[PATH_MAX]; /* a longer one cannot have been looked at */
    snprintf(path, sizeof(path), "%s%s%s", job->folder, *job->folder != '\0' ? "/" : "",
             job->files[i].name);
    return find_file(inbox, path);
}

uint64_t service_inbox_found_ms(const struct service_inbox *inbox, const struct spool_job *job)
{
    uint64_t last = 0;
    for (size_t i = 0; i < job->n_files; i++) {
        const struct file *f = file_of_job(inbox, job, i);
        last = f != NULL && f->since_ms > last ? f->since_ms : last;
    }
    return last;
}

void service_inbox_settle(struct service_inbox *inbox, const struct spool_job *job, uint64_t now_ms)
{
    const bool later = job->outcome == SPOOL_WAIT || job->outcome == SPOOL_TRANSIENT;
    for (size_t i = 0; i < job->n_files; i++) {
        struct file *f = file_of_job(inbox, job, i);
        if (f == NULL) {
            continue;
        }
        if (job->id[0] != '\0' && !f->again) {
            forget(inbox, f, now_ms);
            continue;
        }
        f->memory = (struct ready_memory){0};
        f->since_ms = job->id[0] != '\0' ? now_ms : f->since_ms;
        f->again = false;
        route(inbox, f, now_ms);
        if (f->list == LIST_LOOK && later) {
            set_reason(f, "%s", job->message != NULL ? job->message : "");
            look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        }
    }
}

/* --- what there is ---------------------------------------------------------------------------- */

size_t service_inbox_count(const struct service_inbox *inbox)
{
    return inbox->n_files;
}

void service_inbox_list(const struct service_inbox *inbox, uint64_t now_ms, size_t most,
                        json_t *list)
{
    static const char *const by_list[LISTS] = {"is being looked at", "is complete",
                                               "is complete and waits for its turn",
                                               "is being taken"};
    for (enum list l = 0; l < LISTS; l++) {
        const struct file *f;
        TAILQ_FOREACH(f, &inbox->lists[l], place)
        {
            char *path;
            if (json_array_size(list) >= most || asprintf(&path, "in/%s", f->path) < 0) {
                return;
            }
            json_array_append_new(list,
                                  json_pack("{s:o, s:o, s:f}", "path", text_json(path), "reason",
                                            text_json(f->reason != NULL ? f->reason : by_list[l]),
                                            "since_s", (double)(now_ms - f->since_ms) * 1e-3));
            free(path);
        }
    }
}

enum status service_inbox_new(const struct settings *settings, struct service_inbox **out)
{
    struct service_inbox *inbox = calloc(1, sizeof(*inbox));
    *out = inbox;
    if (inbox == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of files");
    }
    inbox->settings = settings;
    for (size_t i = 0; i < LISTS; i++) {
        TAILQ_INIT(&inbox->lists[i]);
    }
    TAILQ_INIT(&inbox->duplicates);
    TAILQ_INIT(&inbox->ready);
    return STATUS_OK;
}

void service_inbox_free(struct service_inbox *inbox)
{
    if (inbox != NULL) {
        tdestroy(inbox->by_key, free_group);
        tdestroy(inbox->by_path, free_file);
        free(inbox);
    }
}
