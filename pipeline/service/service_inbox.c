/*
 * service_inbox - see service_inbox.h. Every file stands in a search tree by its path, and in one
 * of four lists; the jobs they make up are in service_inbox_jobs.c.
 */
#include "pipeline/service/service_inbox_state.h"

#include "formats/source/archive_input.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"
#include "pipeline/names/text.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

struct file *service_inbox_find(const struct service_inbox *inbox, const char *path)
{
    struct file key = {.path = (char *)path};
    struct file **found = path != NULL ? tfind(&key, &inbox->by_path, by_path) : NULL;
    return found != NULL ? *found : NULL;
}

void service_inbox_move(struct service_inbox *inbox, struct file *f, enum list list)
{
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    f->list = list;
    TAILQ_INSERT_TAIL(&inbox->lists[list], f, place);
}

void service_inbox_look_at(struct service_inbox *inbox, struct file *f, uint64_t when_ms)
{
    f->look_ms = when_ms;
    service_inbox_move(inbox, f, LIST_LOOK);
}

void service_inbox_reason(struct file *f, const char *format, ...)
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

/* --- routing ---------------------------------------------------------------------------------- */

static void hold(struct service_inbox *inbox, struct file *f)
{
    service_inbox_move(inbox, f, LIST_HELD);
}

static void refuse(struct service_inbox *inbox, struct file *f)
{
    char names[SETTINGS_NAMES_BYTES];
    if (input_name_is_sidecar(f->path)) {
        service_inbox_reason(f, "is a sidecar file of a grid or a table, ignored");
    } else if (archive_input_named(f->path)) {
        service_inbox_reason(
            f, "archives are not unpacked here: unpack it into the folder, or give it to "
               "leat run");
    } else {
        service_inbox_reason(
            f, "no pipeline takes it: put it into a folder named %s, or give it a name like %s",
            stage_registry[0]->name, settings_names(names));
    }
    hold(inbox, f);
}

static void leave_duplicates(struct service_inbox *inbox, struct file *f)
{
    if (f->is_duplicate) {
        TAILQ_REMOVE(&inbox->duplicates, f, duplicate_place);
        f->is_duplicate = false;
    }
}

/* Finds the file's job. */
void service_inbox_route(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    char *path;
    struct job_settings job;
    enum status code;
    const struct settings *s = inbox->settings;
    bool is_marker = s->done_file && input_name_without(f->path, ".done") < strlen(f->path);
    service_inbox_leave(inbox, f);
    leave_duplicates(inbox, f);
    f->is_complete = f->is_beside = false;
    f->never_since_ms = 0;
    free(f->reason);
    f->reason = NULL;
    if (asprintf(&path, "in/%s", f->path) < 0) {
        service_inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        return;
    }
    bool routes = settings_routes(s, path);
    if (is_marker || (!routes && projection_named(path))) {
        f->is_beside = true;
        service_inbox_look_at(inbox, f, now_ms);
    } else if (!routes) {
        refuse(inbox, f);
    } else if ((code = settings_resolve(s, path, &job)) != STATUS_OK) {
        service_inbox_reason(f, "%s", status_message());
        if (code == STATUS_NO_MEMORY) {
            service_inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
        } else {
            hold(inbox, f);
        }
    } else {
        service_inbox_join(inbox, f, &job, now_ms);
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
        service_inbox_route(inbox, f, now_ms);
    }
}

void service_inbox_forget(struct service_inbox *inbox, struct file *f, uint64_t now_ms)
{
    const bool is_part = f->group != NULL && f->group->stage->n_parts > 1;
    service_inbox_leave(inbox, f);
    leave_duplicates(inbox, f);
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    tdelete(f, &inbox->by_path, by_path);
    inbox->n_files--;
    if (f->is_beside) {
        f->is_complete = false;
        struct file *owner = service_inbox_owner(inbox, f);
        if (owner != NULL) {
            service_inbox_judge(inbox, owner);
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
    service_inbox_route(inbox, f, now_ms);
    return f;
}

void service_inbox_found(struct service_inbox *inbox, struct watcher_findings *findings,
                         uint64_t now_ms)
{
    inbox->n_found += findings->complete;
    for (size_t i = 0; i < findings->n_files; i++) {
        struct watcher_file *found = &findings->files[i];
        struct file *f = service_inbox_find(inbox, found->path);
        if (f == NULL) {
            f = add(inbox, found, now_ms);
        } else if (f->list == LIST_TAKEN) {
            f->again = true;
        } else if (!findings->complete || !is_same(&f->st, &found->st)) {
            f->st = found->st;
            if (f->group != NULL || f->is_beside) {
                f->is_complete = false;
                service_inbox_look_at(inbox, f, now_ms);
                service_inbox_judge(inbox, f);
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
                service_inbox_forget(inbox, all.files[i], now_ms);
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
            service_inbox_route(inbox, all.files[i], now_ms);
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
    service_inbox_reason(f, "%s", reason);
    if (f->never_since_ms == 0) {
        f->never_since_ms = now_ms;
    }
    if (now_ms - f->never_since_ms < settle_ms) {
        service_inbox_look_at(inbox, f, now_ms + settle_ms);
    } else if (f->group != NULL) {
        service_inbox_set_aside(inbox, f, now_ms);
    } else {
        hold(inbox, f);
    }
}

static void take_answer(struct service_inbox *inbox, struct file *f,
                        const struct ready_answer *answer, uint64_t now_ms)
{
    if (answer->state == READY_GONE) {
        service_inbox_forget(inbox, f, now_ms);
        return;
    }
    f->st = answer->st;
    if (answer->state == READY_YES) {
        f->is_complete = true;
        f->never_since_ms = 0;
        hold(inbox, f);
        service_inbox_judge(inbox, f);
    } else if (answer->state == READY_NEVER) {
        look_never(inbox, f, answer->reason, now_ms);
    } else {
        f->never_since_ms = 0;
        service_inbox_reason(f, "%s", answer->reason);
        service_inbox_look_at(inbox, f, now_ms + answer->again_ms);
    }
}

void service_inbox_looked(struct service_inbox *inbox, struct service_look *looks, size_t n,
                          uint64_t now_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct file *f = service_inbox_find(inbox, looks[i].path);
        /* One that was found again meanwhile is going to be looked at again. */
        if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX && f->group == NULL &&
            !f->is_beside) {
            service_inbox_route(inbox, f, now_ms); /* for which there was no memory */
        } else if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX) {
            f->memory = looks[i].memory;
            take_answer(inbox, f, &looks[i].answer, now_ms);
        }
        free(looks[i].path);
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
        tdestroy(inbox->by_key, service_inbox_free_group);
        tdestroy(inbox->by_path, free_file);
        free(inbox);
    }
}
