/*
 * inbox_judge - see service_inbox_state.h: which job each file in in/ is for, and what it waits
 * for.
 */
#include "pipeline/service/service_inbox_state.h"

#include "formats/base/file_name.h"
#include "pipeline/names/input_name.h"

#include <string.h>

/* --- what lies beside ------------------------------------------------------------------------- */

/* Another file of its group that is not taken and lies beside none. */
static const struct file *find_other(const struct file *f)
{
    struct group_file *g;
    TAILQ_FOREACH(g, &f->g.group->files, place)
    {
        if (!group_is_beside(g->kind) && inbox_file_of(g)->list != LIST_TAKEN) {
            return inbox_file_of(g);
        }
    }
    return NULL;
}

/* What a file that lies beside others, and is complete, waits for. */
static void judge_beside(struct service_inbox *inbox, struct file *f)
{
    const struct file *const owner = inbox_file_of(group_owner(&f->g));
    const bool late = owner == NULL && inbox_is_late(inbox, f);
    const struct file *const other = owner != NULL || late ? owner : find_other(f);
    if (other != NULL) {
        inbox_set_reason(f, owner != NULL ? xasprintf("waits for %s", file_name_last(owner->path))
                                          : xasprintf("stays as long as %s, and is not read",
                                                      file_name_last(other->path)));
        inbox_move_to(inbox, f, LIST_HELD);
    } else if (!late && (f->g.kind == INPUT_MARKER || f->g.kind == INPUT_MASK)) {
        inbox_set_reason(f, xstrdup(INBOX_OWNERLESS));
        inbox_move_to(inbox, f, LIST_HELD);
    } else if (f->list != LIST_LATE) {
        f->look_ms = f->complete_ms + (uint64_t)inbox->drop_ms;
        inbox_set_reason(f, xstrdup(INBOX_OWNERLESS));
        inbox_move_to(inbox, f, LIST_LATE);
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* What a complete part waits for, but for time; NULL: nothing. */
static char *find_missing(const struct service_inbox *inbox, const struct file *f)
{
    char why[GROUP_WHY_BYTES];
    const struct group_job *const job = f->g.job;
    if (job->is_alone) {
        return NULL;
    }
    if (group_lacks(&f->g, why)) {
        return xasprintf("waits for %s", why);
    }
    const struct group_file *mask = group_beside(&f->g, INPUT_MASK);
    if (mask != NULL && job->of[f->g.part]->kind == STAGE_GRID && f->g.kind == INPUT_OF_JOB) {
        return xasprintf("%s is not read: write it into the grid as NODATA (leat check says how), "
                         "or remove it",
                         file_name_last(mask->path));
    }
    if (inbox->settings->done_file && group_beside(&f->g, INPUT_MARKER) == NULL) {
        return xasprintf("waits for %s%s", file_name_last(f->path), INPUT_NAME_MARKER);
    }
    const struct group_file *const beside = group_awaits(job);
    return beside != NULL ? xasprintf("waits for %s", file_name_last(beside->path)) : NULL;
}

/* The file of a complete job that waits for time; NULL: none does. The first part, which says where
 * the result lies, waits for its .prj: also when there is one that came before it, or was here at
 * the start, since that may be of a grid whose place it took before anybody looked. Where one drop
 * came over another, the last part waits for the rest. */
static struct file *find_waiting(const struct service_inbox *inbox, const struct group_job *job,
                                 const char **what)
{
    struct file *const first = inbox_file_of(job->parts[0]), *last = first;
    if (job->is_alone || first->g.kind != INPUT_OF_JOB) {
        return NULL;
    }
    const struct file *const prj = inbox_file_of(group_beside(&first->g, INPUT_PROJECTION));
    const bool lacks_prj = group_wants_projection(&first->g) &&
                           (prj == NULL || prj->was_here || prj->arrived_ms < first->arrived_ms);
    bool is_mixed = inbox_is_unsure(inbox, first->g.group);
    for (size_t i = 1; i < job->n_parts; i++) {
        is_mixed = is_mixed || inbox_file_of(job->parts[i])->g.drop != first->g.drop;
    }
    for (size_t i = 1; is_mixed && i < job->n_parts; i++) {
        struct file *const f = inbox_file_of(job->parts[i]);
        last = f->complete_ms > last->complete_ms ? f : last;
    }
    *what = is_mixed ? "the other files of its drop" : "a .prj";
    return (is_mixed || lacks_prj) && inbox->now_ms < last->complete_ms + inbox_settle_ms(inbox)
               ? last
               : NULL;
}

void inbox_set_ready(struct service_inbox *inbox, struct group_job *job, bool ready)
{
    if (ready && !job->is_ready) {
        TAILQ_INSERT_TAIL(&inbox->ready, job, ready);
    } else if (!ready && job->is_ready) {
        TAILQ_REMOVE(&inbox->ready, job, ready);
    }
    job->is_ready = ready;
}

/* Decides whether the job is ready, and what its complete parts wait for. One that has all that
 * belongs to it waits for what another one does. */
static void judge_job(struct service_inbox *inbox, struct group_job *job)
{
    const char *reason = NULL;
    bool ready = true;
    for (size_t i = 0; i < job->n_parts; i++) {
        struct file *const f = inbox_file_of(job->parts[i]);
        if (f != NULL && f->list == LIST_TAKEN) {
            return;
        }
        if (f == NULL || !f->g.is_complete) {
            ready = false;
            continue;
        }
        inbox_set_reason(f, find_missing(inbox, f));
        reason = f->reason != NULL ? f->reason : reason;
        ready = ready && reason == NULL;
    }
    const char *what;
    struct file *const waiting = ready ? find_waiting(inbox, job, &what) : NULL;
    char *const shared = waiting != NULL
                             ? xasprintf("waits %g s for %s beside %s", inbox->settings->settle_s,
                                         what, file_name_last(waiting->path))
                         : reason != NULL ? xstrdup(reason)
                                          : NULL;
    ready = ready && waiting == NULL;
    for (size_t i = 0; i < job->n_parts; i++) {
        struct file *const f = inbox_file_of(job->parts[i]);
        if (f != NULL && f->g.is_complete) {
            if (shared != NULL && f->reason == NULL) {
                inbox_set_reason(f, xstrdup(shared));
            }
            inbox_move_to(inbox, f, ready ? LIST_READY : LIST_HELD);
        }
    }
    free(shared);
    if (waiting != NULL) {
        inbox_look_at(inbox, waiting, waiting->complete_ms + inbox_settle_ms(inbox));
    }
    inbox_set_ready(inbox, job, ready);
}

void inbox_judge(struct service_inbox *inbox, struct group *group)
{
    struct group_job *job;
    struct group_file *g;
    TAILQ_FOREACH(job, &group->jobs, place)
    {
        judge_job(inbox, job);
    }
    TAILQ_FOREACH(g, &group->files, place)
    {
        if (group_is_beside(g->kind) && g->is_complete && inbox_file_of(g)->list != LIST_TAKEN) {
            judge_beside(inbox, inbox_file_of(g));
        }
    }
}

void inbox_leave(struct service_inbox *inbox, struct file *f)
{
    if (f->g.job != NULL) {
        inbox_set_ready(inbox, f->g.job, false);
        group_leave(&f->g);
    }
}

/* Makes the file a part of its job, or says why it is none. */
static void join(struct service_inbox *inbox, struct file *f, const struct job_settings *job)
{
    if (group_join(&f->g, job) == STATUS_OK) {
        inbox_look_at(inbox, f, inbox->now_ms);
        return;
    }
    f->is_duplicate = true;
    inbox_set_reason(f, xstrdup(status_message()));
    inbox_move_to(inbox, f, LIST_HELD);
}

void inbox_set_apart(struct service_inbox *inbox, struct file *f, const struct stage_ops *stage)
{
    inbox_leave(inbox, f);
    group_set_apart(&f->g, stage, f->g.kind != INPUT_FOREIGN);
}

/* Decides by the name what the file is for. An archive is one job, whose own jobs its worker
 * finds. */
void inbox_route(struct service_inbox *inbox, struct file *f)
{
    struct job_settings job = {.stage = stage_registry[0],
                               .n_parts = 1,
                               .parts = {stage_registry[0]->parts},
                               .stem = (char *)""};
    char *path = xasprintf("in/%s", f->path), *reason = NULL;
    inbox_leave(inbox, f);
    f->is_duplicate = f->g.is_complete = false;
    f->g.kind = settings_input_kind(inbox->settings, path);
    f->never_since_ms = 0;
    inbox_set_reason(f, NULL);
    if (group_is_beside(f->g.kind)) {
        inbox_look_at(inbox, f, inbox->now_ms);
    } else if (f->g.kind == INPUT_ARCHIVE) {
        join(inbox, f, &job);
    } else if (f->g.kind == INPUT_FOREIGN && settings_fails_by_name(inbox->settings, path)) {
        inbox_set_apart(inbox, f, job.stage);
        inbox_look_at(inbox, f, inbox->now_ms);
    } else if (f->g.kind != INPUT_OF_JOB) {
        reason = settings_refusal(inbox->settings, path);
    } else if (xalloc_status(settings_resolve(inbox->settings, path, &job)) != STATUS_OK) {
        reason = xstrdup(status_message());
    } else {
        join(inbox, f, &job);
        job_settings_free(&job);
    }
    if (reason != NULL) {
        inbox_set_reason(f, reason);
        inbox_move_to(inbox, f, LIST_HELD);
    }
    free(path);
    inbox_judge(inbox, f->g.group);
}
