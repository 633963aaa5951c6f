/*
 * inbox_drops - see service_inbox_state.h: which files of a group came together, told by the order
 * in which they came.
 */
#include "pipeline/service/service_inbox_state.h"

#include "formats/base/file_name.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/input_name.h"

#include <string.h>

enum { LATE_TIMES = 5 }; /* so many times that files of one drop come apart, after a claim */

static bool is_lately(const struct service_inbox *inbox, uint64_t ms)
{
    return ms != 0 && inbox->now_ms <= ms + LATE_TIMES * (uint64_t)inbox->drop_ms;
}

static void forget(struct service_inbox *inbox, struct drops *d)
{
    TAILQ_REMOVE(&inbox->drops, d, place);
    d->group->drops = NULL;
    (void)group_end(&inbox->groups, d->group);
    free(d->names);
    free(d);
}

void inbox_forget_drops(struct service_inbox *inbox)
{
    while (!TAILQ_EMPTY(&inbox->drops)) {
        forget(inbox, TAILQ_FIRST(&inbox->drops));
    }
}

/* The drops of the group; those of groups that have had no file for long are forgotten. */
static struct drops *drops_of(struct service_inbox *inbox, struct group *group)
{
    struct drops *d;
    while ((d = TAILQ_FIRST(&inbox->drops)) != NULL && !is_lately(inbox, d->kept_ms)) {
        d->kept_ms = inbox->now_ms;
        TAILQ_REMOVE(&inbox->drops, d, place);
        TAILQ_INSERT_TAIL(&inbox->drops, d, place);
        if (TAILQ_EMPTY(&d->group->files) && d->group != group) {
            forget(inbox, d);
        }
    }
    d = group->drops;
    if (d == NULL) {
        d = group->drops = xcalloc(1, sizeof(*d));
        d->group = group;
    } else {
        TAILQ_REMOVE(&inbox->drops, d, place);
    }
    TAILQ_INSERT_TAIL(&inbox->drops, d, place);
    d->kept_ms = inbox->now_ms;
    return d;
}

/* The present drop has ended: all that comes is of the next one. */
static void end_drop(const struct service_inbox *inbox, struct drops *d)
{
    const bool is_over = d->claimed_ms != 0 && !is_lately(inbox, d->claimed_ms);
    if (d->claimed_ms == 0 && !is_lately(inbox, d->unsure_ms)) { /* not for ever by many drops */
        d->unsure_ms = inbox->now_ms;
    }
    if (!d->has_projection && !is_over && !d->is_doubted) {
        d->owed_ms = inbox->now_ms;
    }
    free(d->names);
    d->names = NULL;
    d->has_projection = d->is_doubted = false;
    d->ended_ms = is_over ? 0 : inbox->now_ms;
    d->claimed_ms = 0;
    d->number++;
}

/* What the drop's list calls a file of that name: "/X.dem/" is X.dem.asc and X.dem.tif.gz, too. */
static char *name_of(const char *name)
{
    const size_t n = beside_is_projection(name) ? strlen(name) : input_name_bare(name);
    return xasprintf("/%.*s/", (int)n, name);
}

static bool has_come(const struct drops *d, const char *name)
{
    char *const whole = name_of(name);
    const bool has = d->names != NULL && strstr(d->names, whole) != NULL;
    free(whole);
    return has;
}

static void note_name(struct drops *d, const char *name)
{
    char *const whole = name_of(name);
    char *const names = xasprintf("%s%s", d->names != NULL ? d->names : "", whole);
    free(whole);
    free(d->names);
    d->names = names;
    d->has_projection = d->has_projection || beside_is_projection(name);
}

/* Of which drop a grid or a .prj is that has come. */
static int take_in(const struct service_inbox *inbox, struct drops *d, struct file *f)
{
    const char *const name = file_name_last(f->path);
    const bool is_projection = f->g.kind == INPUT_PROJECTION, comes_again = has_come(d, name);
    if (comes_again && is_projection && f->was_here) { /* nobody saw the begin of its drop */
        f->was_here = false;
        return NO_DROP;
    }
    if (comes_again || (d->claimed_ms != 0 && !is_lately(inbox, d->claimed_ms))) {
        end_drop(inbox, d);
    }
    if (is_projection && is_lately(inbox, d->owed_ms)) {
        d->is_doubted = true;
        return NO_DROP;
    }
    note_name(d, name);
    return d->number;
}

/* What came so much earlier than all parts of its job is of another drop; not a marker or a mask.
 */
static void leave_old(const struct service_inbox *inbox, struct group *group)
{
    struct group_file *g;
    TAILQ_FOREACH(g, &group->files, place)
    {
        const struct group_file *const owner = group_owner(g);
        int64_t first_ms = INT64_MAX;
        for (size_t i = 0; owner != NULL && i < owner->job->n_parts; i++) {
            const struct file *const part = inbox_file_of(owner->job->parts[i]);
            first_ms = part != NULL && part->arrived_ms < first_ms ? part->arrived_ms : first_ms;
        }
        if (owner != NULL && (g->kind == INPUT_PROJECTION || g->kind == INPUT_SIDECAR) &&
            inbox_file_of(g)->arrived_ms < first_ms - inbox->drop_ms) {
            g->drop = NO_DROP;
        }
    }
}

void inbox_arrives(struct service_inbox *inbox, struct file *f)
{
    const struct group_job *const job = f->g.job;
    const struct drops *const d = f->g.group->drops;
    if (f->g.kind == INPUT_PROJECTION ||
        (f->g.kind == INPUT_OF_JOB && job != NULL && job->of[f->g.part]->kind == STAGE_GRID)) {
        f->g.drop = take_in(inbox, drops_of(inbox, f->g.group), f);
    } else if (d != NULL) {
        const bool is_doubted = f->g.kind == INPUT_SIDECAR && is_lately(inbox, d->ended_ms);
        f->g.drop = is_doubted ? NO_DROP : d->number;
    }
    leave_old(inbox, f->g.group);
}

void inbox_note_claimed(struct service_inbox *inbox, const struct file *f)
{
    if (f->g.group->drops != NULL) {
        drops_of(inbox, f->g.group)->claimed_ms = inbox->now_ms;
    }
}

void inbox_note_gone(struct service_inbox *inbox, struct group *group, const char *name)
{
    struct drops *const d = drops_of(inbox, group);
    note_name(d, name);
    d->claimed_ms = inbox->now_ms;
}

bool inbox_is_unsure(const struct service_inbox *inbox, const struct group *group)
{
    const struct drops *const d = group->drops;
    return d != NULL && is_lately(inbox, d->unsure_ms);
}

bool inbox_is_doubtful(const struct file *f)
{
    const struct drops *const d = f->g.group->drops;
    return d != NULL && f->g.drop != d->number;
}

bool inbox_is_late(const struct service_inbox *inbox, const struct file *f)
{
    const struct drops *const d = f->g.group->drops;
    return d != NULL && f->g.kind != INPUT_MARKER &&
           (inbox_is_doubtful(f) || is_lately(inbox, d->claimed_ms));
}
