/*
 * service_inbox - see service_inbox.h. Every file stands in a search tree by its path, in one of
 * five lists, and in its group.
 */
#include "pipeline/service/service_inbox_state.h"

#include "formats/base/file_name.h"
#include "formats/source/archive_input.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"

#include <search.h>
#include <string.h>

enum {
    NOT_MOVABLE_MS = 10000, /* before a file that may not be moved is tried again */
    NOT_FOUND_MS = 1000,    /* for another file in the place of one to be found, at most */
    DROP_MS = 1000          /* that files of one drop come apart, at least */
};

static void adopt(struct service_inbox *inbox, const struct settings *settings)
{
    inbox->settings = settings;
    inbox->drop_ms = inbox_settle_ms(inbox) > DROP_MS ? (int64_t)inbox_settle_ms(inbox) : DROP_MS;
}

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
    for (enum inbox_list l = 0; l < LISTS; l++) {
        TAILQ_FOREACH(f, &inbox->lists[l], place)
        {
            files[n++] = f;
        }
    }
    return files;
}

/* Takes it out of all lists; another one may take its place in a job. */
static void forget(struct service_inbox *inbox, struct file *f)
{
    inbox_leave(inbox, f);
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    tdelete(f, &inbox->by_path, by_path);
    inbox->n_files--;
    struct group *const group = group_remove(&inbox->groups, &f->g);
    free_file(f);
    if (group == NULL) {
        return;
    }
    struct group_file *g;
    TAILQ_FOREACH(g, &group->files, place)
    {
        if (inbox_file_of(g)->is_duplicate) {
            inbox_route(inbox, inbox_file_of(g));
        }
    }
    inbox_judge(inbox, group);
}

/* What the disk has at the file's place: another drop, or the same one as it has become. An earlier
 * mtime is that of the original, which programs set last. */
static void see(struct service_inbox *inbox, struct file *f, const struct ready_seen *now)
{
    const bool is_other =
        now->inode != f->seen.inode ||
        (f->is_whole && (now->size != f->seen.size || now->mtime_ns > f->seen.mtime_ns));
    if (is_other || (group_is_beside(f->g.kind) && !ready_is_same(now, &f->seen))) {
        f->since_ms = inbox->now_ms;
        f->arrived_ms = now->ctime_ns / 1000000;
    }
    f->seen = *now;
    if (is_other) {
        f->is_whole = f->g.is_complete = false;
        inbox_arrives(inbox, f);
    }
}

static struct file *add(struct service_inbox *inbox, struct watcher_file *found, bool was_here)
{
    struct file *f = xcalloc(1, sizeof(*f));
    *f = (struct file){.path = found->path,
                       .g = {.path = found->path},
                       .seen = found->seen,
                       .was_here = was_here,
                       .since_ms = inbox->now_ms};
    found->path = NULL;
    /* A folder that is moved in holds files of any age, which arrive together. */
    const int64_t own_ns = found->seen.ctime_ns, folder_ns = found->folder_came_ns;
    f->arrived_ms = (own_ns > folder_ns ? own_ns : folder_ns) / 1000000;
    xalloc_checked(tsearch(f, &inbox->by_path, by_path));
    group_add(&inbox->groups, &f->g);
    inbox->n_files++;
    TAILQ_INSERT_TAIL(&inbox->lists[LIST_LOOK], f, place);
    inbox_route(inbox, f);
    inbox_arrives(inbox, f);
    inbox_judge(inbox, f->g.group);
    return f;
}

/* It may have changed: it is not complete before it has been looked at again. */
static void look_again(struct service_inbox *inbox, struct file *f, uint64_t when_ms)
{
    f->g.is_complete = false;
    inbox_look_at(inbox, f, when_ms);
    inbox_judge(inbox, f->g.group);
}

void service_inbox_found(struct service_inbox *inbox, struct watcher_findings *findings,
                         uint64_t now_ms)
{
    inbox->now_ms = now_ms;
    inbox->n_found += findings->complete;
    for (size_t i = 0; i < findings->n_files; i++) {
        struct watcher_file *found = &findings->files[i];
        struct file *f = find_file(inbox, found->path);
        if (f == NULL) {
            f = add(inbox, found, findings->complete && inbox->n_found == 1);
        } else if (f->list == LIST_TAKEN) {
            f->again = true;
            see(inbox, f, &found->seen);
        } else if (!findings->complete || !ready_is_same(&f->seen, &found->seen)) {
            see(inbox, f, &found->seen);
            if (f->g.job != NULL || group_is_beside(f->g.kind)) {
                look_again(inbox, f, now_ms);
            }
        }
        f->found = inbox->n_found;
    }
    if (findings->complete) {
        struct file **const all = gather(inbox);
        for (size_t i = 0, n = inbox->n_files; i < n; i++) {
            if (all[i]->found != inbox->n_found && all[i]->list != LIST_TAKEN) {
                forget(inbox, all[i]);
            }
        }
        free(all);
    }
}

void service_inbox_gone(struct service_inbox *inbox, const char *path, uint64_t now_ms)
{
    struct file *const f = find_file(inbox, path);
    inbox->now_ms = now_ms;
    if (f != NULL && f->list != LIST_TAKEN) {
        look_again(inbox, f, now_ms);
    }
}

void service_inbox_reroute(struct service_inbox *inbox, const struct settings *settings,
                           uint64_t now_ms)
{
    inbox->now_ms = now_ms;
    adopt(inbox, settings);
    struct file **const all = gather(inbox);
    for (size_t i = 0; i < inbox->n_files; i++) {
        if (all[i]->list != LIST_TAKEN) {
            inbox_route(inbox, all[i]);
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

/* When the next of the list is due, not before. */
static uint64_t next_of(const struct service_inbox *inbox, enum inbox_list list,
                        uint64_t not_before)
{
    uint64_t first = UINT64_MAX;
    const struct file *f;
    TAILQ_FOREACH(f, &inbox->lists[list], place)
    {
        first = f->look_ms >= not_before && f->look_ms < first ? f->look_ms : first;
    }
    return first;
}

uint64_t service_inbox_next_due(const struct service_inbox *inbox)
{
    return next_of(inbox, LIST_LOOK, 0);
}

uint64_t service_inbox_next_late(const struct service_inbox *inbox, uint64_t now_ms)
{
    return next_of(inbox, LIST_LATE, now_ms + 1);
}

/* Something that is not a regular file: for a moment, or for good? */
static void look_never(struct service_inbox *inbox, struct file *f, const char *reason)
{
    inbox_set_reason(f, xstrdup(reason));
    if (f->never_since_ms == 0) {
        f->never_since_ms = inbox->now_ms;
    }
    if (inbox->now_ms - f->never_since_ms < inbox_settle_ms(inbox)) {
        inbox_look_at(inbox, f, inbox->now_ms + inbox_settle_ms(inbox));
    } else if (f->g.job != NULL) {
        struct group *const group = f->g.group;
        inbox_set_apart(inbox, f, f->g.job->stage);
        f->g.is_complete = true;
        inbox_judge(inbox, group);
    } else {
        inbox_move_to(inbox, f, LIST_HELD);
    }
}

static void take_answer(struct service_inbox *inbox, struct file *f,
                        const struct ready_answer *answer)
{
    if (answer->state == READY_GONE) {
        forget(inbox, f);
        return;
    }
    const uint64_t inode = answer->seen.inode;
    if (inode != 0 && inode != f->seen.inode) { /* what came before it may not be found yet */
        inbox_look_at(inbox, f, inbox->now_ms + NOT_FOUND_MS);
        return;
    }
    if (inode != 0) {
        see(inbox, f, &answer->seen);
    }
    if (answer->state == READY_YES && f->g.job == NULL && !group_is_beside(f->g.kind)) {
        inbox_route(inbox, f); /* it had gone for a moment */
    } else if (answer->state == READY_YES) {
        f->complete_ms = f->g.is_complete ? f->complete_ms : inbox->now_ms;
        f->g.is_complete = f->is_whole = true;
        f->never_since_ms = 0;
        inbox_move_to(inbox, f, LIST_HELD);
        inbox_judge(inbox, f->g.group);
    } else if (answer->state == READY_NEVER) {
        look_never(inbox, f, answer->reason);
    } else {
        f->never_since_ms = 0;
        inbox_set_reason(f, xstrdup(answer->reason));
        look_again(inbox, f, inbox->now_ms + answer->again_ms);
    }
}

void service_inbox_looked(struct service_inbox *inbox, struct service_look *looks, size_t n,
                          uint64_t now_ms)
{
    inbox->now_ms = now_ms;
    for (size_t i = 0; i < n; i++) {
        struct file *f = find_file(inbox, looks[i].path);
        /* One that was found again meanwhile is going to be looked at again. */
        if (f != NULL && f->list == LIST_LOOK && f->look_ms == UINT64_MAX) {
            f->memory = looks[i].memory;
            take_answer(inbox, f, &looks[i].answer);
        }
        free(looks[i].path);
    }
}

/* --- to the spool and back -------------------------------------------------------------------- */

/* The job's files, part after part, then what lies beside them; n of them, for free(). */
static struct file **list_files(const struct group_job *job, size_t *n)
{
    struct file **files = xcalloc(job->n_parts, sizeof(*files));
    struct group_file *g = NULL;
    for (*n = 0; *n < job->n_parts; ++*n) {
        files[*n] = inbox_file_of(job->parts[*n]);
    }
    while ((g = group_next_beside(job, g)) != NULL) {
        files = xrealloc(files, *n + 1, sizeof(*files));
        files[(*n)++] = inbox_file_of(g);
    }
    return files;
}

/* Why a file can never be read, for the worker. */
static json_t *pack_refusal(const struct service_inbox *inbox, const char *path)
{
    char *const why = settings_refusal(inbox->settings, path);
    char *const text = xasprintf("%s: %s", path, why);
    json_t *const packed = worker_pack_refusal(text);
    free(text);
    free(why);
    return packed;
}

/* The parameters of a job whose first file is at the path, and what its result is called, for
 * free(). NULL, with a status that says why: they cannot be recorded. */
static json_t *make_parameters(const struct service_inbox *inbox, const char *path,
                               enum input_kind kind, char **stem)
{
    struct job_settings settings = {0};
    json_t *parameters = NULL;
    *stem = NULL;
    if (xalloc_status(kind == INPUT_OF_JOB
                          ? settings_resolve(inbox->settings, path, &settings)
                          : archive_input_stem(file_name_last(path), stem)) == STATUS_OK) {
        parameters = kind == INPUT_OF_JOB    ? worker_pack_settings(&settings)
                     : kind == INPUT_ARCHIVE ? worker_pack_routes(inbox->settings)
                                             : pack_refusal(inbox, path);
        *stem = *stem != NULL ? *stem : xstrdup(settings.stem);
        if (parameters == NULL) {
            status_set(STATUS_BAD_ARGUMENT, "its parameters are no UTF-8");
        }
    }
    job_settings_free(&settings);
    return parameters;
}

json_t *service_inbox_parameters(const struct service_inbox *inbox, const struct spool_job *job)
{
    char *const path = service_inbox_path(job, 0), *const whole = xasprintf("in/%s", path), *stem;
    json_t *parameters =
        make_parameters(inbox, whole, settings_input_kind(inbox->settings, whole), &stem);
    parameters = parameters != NULL ? parameters : worker_pack_refusal(status_message());
    free(stem);
    free(whole);
    free(path);
    return parameters;
}

/* The job; NULL, with a status that says why. */
static struct spool_job *make_job(const struct service_inbox *inbox, struct file *const files[],
                                  size_t n)
{
    const char *path = files[0]->path, *name = file_name_last(path);
    const char **const names = xcalloc(n, sizeof(*names));
    char *stem, *const whole = xasprintf("in/%s", path);
    char *const folder = xstrndup(path, name > path ? (size_t)(name - path) - 1 : 0);
    json_t *const parameters = make_parameters(inbox, whole, files[0]->g.kind, &stem);
    struct spool_job *job = NULL;
    for (size_t i = 0; i < n; i++) {
        names[i] = file_name_last(files[i]->path);
    }
    if (parameters != NULL &&
        xalloc_status(spool_job_new(folder, stem, names, n, parameters, &job)) != STATUS_OK) {
        job = NULL;
    }
    for (size_t i = 0; job != NULL && i < n; i++) { /* what has been looked at, and nothing else */
        const struct ready_seen *const seen = &files[i]->seen;
        job->files[i].inode = seen->inode;
        job->files[i].size = (uint64_t)seen->size;
        job->files[i].mtime_ns = seen->mtime_ns;
    }
    json_decref(parameters);
    free(stem);
    free(names);
    free(folder);
    free(whole);
    return job;
}

static void take(struct service_inbox *inbox, struct file *f, const void *taker)
{
    f->taker = taker;
    f->g.is_taken = true;
    inbox_move_to(inbox, f, LIST_TAKEN);
}

struct spool_job *service_inbox_take(struct service_inbox *inbox, uint64_t now_ms,
                                     uint64_t *found_ms)
{
    struct group_job *g;
    struct spool_job *job = NULL;
    *found_ms = 0;
    inbox->now_ms = now_ms;
    while (job == NULL && (g = TAILQ_FIRST(&inbox->ready)) != NULL) {
        size_t n;
        struct file **const files = list_files(g, &n);
        job = make_job(inbox, files, n);
        inbox_set_ready(inbox, g, false);
        for (size_t i = 0; i < n; i++) {
            struct file *f = files[i];
            if (job != NULL) {
                *found_ms = f->since_ms > *found_ms ? f->since_ms : *found_ms;
                take(inbox, f, NULL);
            } else {
                f->g.is_complete = false;
                inbox_set_reason(f, xstrdup(status_message()));
                inbox_look_at(inbox, f, now_ms + NOT_MOVABLE_MS);
            }
        }
        free(files);
    }
    return job;
}

char *service_inbox_path(const struct spool_job *job, size_t i)
{
    return xasprintf("%s%s%s", job->folder, *job->folder != '\0' ? "/" : "",
                     i < job->n_files ? job->files[i].name : job->stem);
}

void service_inbox_was_claimed(struct service_inbox *inbox, const struct spool_job *job,
                               uint64_t now_ms)
{
    inbox->now_ms = now_ms;
    for (size_t i = 0; i < job->n_files; i++) {
        const char *const name = job->files[i].name;
        if (input_name_is_grid(name) || beside_is_projection(name)) {
            char *const path = service_inbox_path(job, i);
            inbox_note_gone(inbox, group_of(&inbox->groups, path), name);
            free(path);
        }
    }
}

/* A file that was to be taken is still there. */
static void bring_back(struct service_inbox *inbox, struct file *f, const char *why)
{
    f->memory = (struct ready_memory){0};
    f->again = f->g.is_taken = false;
    inbox_move_to(inbox, f, LIST_HELD);
    inbox_route(inbox, f);
    if (f->list == LIST_LOOK && why != NULL) {
        inbox_set_reason(f, xstrdup(why));
        inbox_look_at(inbox, f, inbox->now_ms + NOT_MOVABLE_MS);
    }
}

void service_inbox_settle(struct service_inbox *inbox, const struct spool_job *job, uint64_t now_ms)
{
    const bool later = job->outcome == SPOOL_WAIT || job->outcome == SPOOL_TRANSIENT;
    const bool is_claimed = job->id[0] != '\0';
    inbox->now_ms = now_ms;
    for (size_t i = 0; i < job->n_files; i++) {
        char *path = service_inbox_path(job, i);
        struct file *f = find_file(inbox, path);
        free(path);
        if (f == NULL) {
            continue;
        }
        if (is_claimed) {
            inbox_note_claimed(inbox, f);
        }
        if (is_claimed && !f->again) {
            forget(inbox, f);
            continue;
        }
        bring_back(inbox, f, later ? (job->message != NULL ? job->message : "") : NULL);
    }
}

size_t service_inbox_late(struct service_inbox *inbox, uint64_t now_ms, struct service_late *late,
                          size_t cap)
{
    size_t n = 0;
    struct file *f;
    TAILQ_FOREACH(f, &inbox->lists[LIST_LATE], place)
    {
        if (n < cap && f->look_ms <= now_ms) {
            late[n++] = (struct service_late){.path = f->path,
                                              .inode = f->seen.inode,
                                              .is_doubtful = inbox_is_doubtful(f),
                                              .found_ms = f->since_ms};
        }
    }
    return n;
}

void service_inbox_take_late(struct service_inbox *inbox, const char *path, const void *taker)
{
    struct file *const f = find_file(inbox, path);
    take(inbox, f, taker);
}

void service_inbox_settle_late(struct service_inbox *inbox, const void *taker, bool is_moved,
                               uint64_t now_ms)
{
    struct file *f, *next;
    inbox->now_ms = now_ms;
    for (f = TAILQ_FIRST(&inbox->lists[LIST_TAKEN]); f != NULL; f = next) {
        next = TAILQ_NEXT(f, place);
        if (f->taker == taker && is_moved && !f->again) {
            forget(inbox, f);
        } else if (f->taker == taker) {
            bring_back(inbox, f, is_moved ? NULL : "was not moved");
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
                                               "is being taken", INBOX_OWNERLESS};
    for (enum inbox_list l = 0; l < LISTS; l++) {
        const struct file *f;
        TAILQ_FOREACH(f, &inbox->lists[l], place)
        {
            if (json_array_size(list) >= most) {
                return;
            }
            const double came_s = (double)f->arrived_ms * 1e-3;
            char *path = xasprintf("in/%s", f->path);
            json_array_append_new(list,
                                  json_pack("{s:o, s:o, s:f}", "path", text_json(path), "reason",
                                            text_json(f->reason != NULL ? f->reason : by_list[l]),
                                            "since_s", now_s > came_s ? now_s - came_s : 0.0));
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
        const double came_s = (double)f->arrived_ms * 1e-3;
        first_s = f->g.job != NULL && came_s < first_s ? came_s : first_s;
    }
    return now_s - first_s;
}

struct service_inbox *service_inbox_new(const struct settings *settings)
{
    struct service_inbox *inbox = xcalloc(1, sizeof(*inbox));
    adopt(inbox, settings);
    for (size_t i = 0; i < LISTS; i++) {
        TAILQ_INIT(&inbox->lists[i]);
    }
    TAILQ_INIT(&inbox->drops);
    TAILQ_INIT(&inbox->ready);
    return inbox;
}

void service_inbox_free(struct service_inbox *inbox)
{
    struct file *f;
    if (inbox == NULL) {
        return;
    }
    for (enum inbox_list l = 0; l < LISTS; l++) {
        while ((f = TAILQ_FIRST(&inbox->lists[l])) != NULL) {
            TAILQ_REMOVE(&inbox->lists[l], f, place);
            tdelete(f, &inbox->by_path, by_path);
            (void)group_remove(&inbox->groups, &f->g);
            free_file(f);
        }
    }
    inbox_forget_drops(inbox);
    free(inbox);
}
