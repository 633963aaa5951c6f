/*
 * spool_recover - what is found in .work at start, and what is done with it.
 *
 *   a record with a commit             publish, archive
 *   reason.json                        it has failed: the rest of the way to failed/
 *   inputs, record, some still in in/  the claim is finished
 *   inputs, record                     verify again; too many attempts: fail
 *   an input that is not in the record taken late: the job's
 *   inputs, no whole record            fail, with that as the reason
 *   no inputs, no commit               remove
 *   anything that is not a job's folder to failed/, with that as the reason
 *
 * Then parts in OUT that belong to nobody.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/publish.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(struct spool_job ***list, size_t *n, struct spool_job *job)
{
    *list = xrealloc(*list, *n + 1, sizeof(struct spool_job *));
    (*list)[(*n)++] = job;
}

static void keep(struct spool_recovery *r, struct spool_job *job, enum spool_state state)
{
    job->state = state;
    append(&r->jobs, &r->n_jobs, job);
}

/* Fails one job now, for the reason that it has already where `text` is NULL; counts it in *count.
 * One that cannot fail now, because of insufficient room, is kept. */
static void fail_now(struct spool *s, struct spool_recovery *r, struct spool_job *job,
                     const char *kind, const char *text, size_t *count)
{
    const struct spool_reason reason = {kind, text};
    job->state = SPOOL_FAILING;
    if (text != NULL) {
        spool_fail(s, &job, &reason, 1);
    } else {
        spool_fail_move(s, &job, 1);
    }
    if (job->state != SPOOL_ENDED) {
        keep(r, job, SPOOL_FAILING);
        return;
    }
    if (text != NULL) {
        log_warning("job %s: moved to '%s/failed': %s", job->id, s->root, text);
    }
    (*count)++;
    append(&r->ended, &r->n_ended, job);
}

/* Moves something that is not a job's folder, or holds what no job holds, to failed/. */
static void set_aside(struct spool *s, struct spool_recovery *r, const char *name)
{
    char id[SPOOL_ID_BYTES];
    const bool made = spool_make_work(s, id) == 0;
    const int in_fd = made ? spool_open_inputs(s, id) : -1;
    const bool taken = in_fd >= 0 && disk_rename("aside.take", s->work_fd, name, in_fd, name) == 0;
    beneath_close(in_fd);
    if (taken) {
        fail_now(s, r, spool_job_make(id, "", id, NULL, 0, NULL), "foreign",
                 "this was found in .work, where only leat puts things", &r->n_aside);
        return;
    }
    log_warning("'%s/.work/%s' cannot be set aside: %s", s->root, name, strerror(errno));
    if (made) {
        spool_forget(s->work_fd, id, false);
    }
}

/* What a job's folder holds. */
struct found {
    struct spool_job *job; /* by its record; where that cannot be used, by what lies in `in/` */
    struct spool_names inside;
    bool has_reason, has_folder; /* of inputs, in/ or published/ */
    enum status record;
    size_t n_outside; /* inputs of the record that are not inside */
};

static enum status look_at(struct spool *s, int job_fd, const char *id, struct found *f)
{
    struct stat st;
    int in_fd = spool_open_inputs(s, id);
    if (in_fd < 0 && !spool_is_absent(errno)) {
        return status_fail_errno(errno, "its inputs cannot be listed");
    }
    const enum status code =
        in_fd >= 0 ? spool_list(in_fd, "a job's folder", &f->inside) : STATUS_OK;
    f->has_folder = in_fd >= 0;
    if (code == STATUS_OK) {
        f->record = spool_read_job(job_fd, id, &f->job);
    }
    if (code == STATUS_OK && f->record == STATUS_OK && !f->job->is_committed) {
        spool_adopt_late(f->job, in_fd, &f->inside);
    }
    beneath_close(in_fd);
    STATUS_TRY(code);
    f->has_reason =
        fstatat(job_fd, "reason.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    if (f->record == STATUS_NOT_FOUND || f->record == STATUS_BAD_INPUT) {
        f->job =
            spool_job_make(id, "", id, (const char *const *)f->inside.names, f->inside.n, NULL);
    } else if (f->record != STATUS_OK) {
        return f->record;
    }
    for (size_t i = 0; i < f->job->n_files; i++) {
        char *name = f->job->files[i].name;
        f->n_outside += f->inside.n == 0 || bsearch(&name, f->inside.names, f->inside.n,
                                                    sizeof(char *), spool_by_name) == NULL;
    }
    f->job->reason = f->has_reason ? spool_read_reason(s->work_fd, id) : NULL;
    return STATUS_OK;
}

/* Whether a folder cannot be removed for what it holds; anything else is the disk's. */
static bool is_foreign(int error)
{
    return error == ENOTEMPTY || error == EEXIST || error == ENOTDIR || error == EISDIR;
}

/* The part of a job that is not committed, or as leat 0.1.0 calls it. */
static void drop_parts(const struct spool *s, const char *id)
{
    (void)spool_drop_part(s, s->owner, id);
    (void)spool_drop_part(s, "", id);
}

/* Removes a folder without inputs. */
static void remove_empty(struct spool *s, struct spool_recovery *r, const char *id)
{
    drop_parts(s, id);
    (void)spool_drop_state(s, id);
    if (spool_forget(s->work_fd, id, false)) {
        r->n_removed++;
    } else if (is_foreign(errno)) {
        set_aside(s, r, id);
    } else {
        log_warning("job %s, which has ended, stays until the next start: %s", id, strerror(errno));
    }
}

/* A job that is neither committed nor failed, and has inputs. */
static void go_on(struct spool *s, struct spool_recovery *r, struct spool_job *job,
                  const struct found *f)
{
    drop_parts(s, job->id);
    if (f->n_outside > 0) {
        job->state = SPOOL_NEW;
        spool_claim_take(s, &job, 1);
        if (job->state == SPOOL_FAILING) {
            char *const why = job->message;
            job->message = NULL;
            fail_now(s, r, job, "bad-input", why, &r->n_failed);
            free(why);
            return;
        }
    }
    const int64_t state_ns = spool_state_ns(s, job->id);
    if (job->n_attempts >= s->max_attempts && state_ns != 0 && state_ns != job->state_ns) {
        job->n_attempts = 0; /* a host that starts again and again is not the job's fault */
    }
    if (job->n_attempts >= s->max_attempts) {
        char text[80];
        snprintf(text, sizeof(text), "%u attempts have ended without a result", job->n_attempts);
        fail_now(s, r, job, "exhausted", text, &r->n_failed);
        return;
    }
    keep(r, job, f->n_outside > 0 && job->state == SPOOL_NEW ? SPOOL_NEW : SPOOL_UNVERIFIED);
}

static void recover_one(struct spool *s, struct spool_recovery *r, const char *id)
{
    struct found f = {0};
    int fd = beneath_open(s->work_fd, id, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && spool_is_absent(errno)) {
        set_aside(s, r, id);
        return;
    }
    const enum status code =
        fd >= 0 ? look_at(s, fd, id, &f) : status_fail_errno(errno, "its folder cannot be opened");
    beneath_close(fd);
    const bool any = f.inside.n > 0;
    spool_names_free(&f.inside);
    if (code != STATUS_OK) {
        log_warning("job %s stays until the next start: %s", id, status_message());
        spool_job_free(f.job);
    } else if (f.job->is_committed && !f.has_folder && !spool_drop_part(s, f.job->owner, id)) {
        /* Archived, and half forgotten: what is called as its part is what its result replaced. */
        log_warning("job %s, which has ended, stays until the next start: %s", id, strerror(errno));
        spool_job_free(f.job);
    } else if (f.job->is_committed) {
        keep(r, f.job, SPOOL_COMMITTED);
    } else if (!any) {
        spool_job_free(f.job);
        remove_empty(s, r, id);
    } else if (f.has_reason) {
        drop_parts(s, id);
        fail_now(s, r, f.job, NULL, NULL, &r->n_failed);
    } else if (f.record != STATUS_OK) {
        fail_now(s, r, f.job, "internal",
                 "its record is damaged; its result may have been published", &r->n_failed);
    } else {
        go_on(s, r, f.job, &f);
    }
}

/* Publishes and archives what was committed; what is left to do stays in the list. */
static void roll_forward(struct spool *s, struct spool_recovery *r)
{
    size_t n = 0;
    spool_publish(s, r->jobs, r->n_jobs);
    spool_archive(s, r->jobs, r->n_jobs);
    for (size_t i = 0; i < r->n_jobs; i++) {
        if (r->jobs[i]->state == SPOOL_ENDED) {
            r->n_finished++;
            append(&r->ended, &r->n_ended, r->jobs[i]);
        } else {
            r->jobs[n++] = r->jobs[i];
        }
    }
    r->n_jobs = n;
}

/* Whether it is called as a part of this spool's job, or its state. */
static bool is_part(const struct spool *s, const char *id, const char *name)
{
    const struct spool_part part = spool_part(s->owner, id), state = spool_state_file(s->owner, id);
    const size_t n = strlen(state.name);
    char old[sizeof(part)];
    publish_old_name(part.name, old, sizeof(old));
    return strcmp(name, part.name) == 0 || strcmp(name, old) == 0 ||
           (strncmp(name, state.name, n) == 0 &&
            (name[n] == '\0' || strcmp(name + n, ".new") == 0));
}

/* Removes parts and states of this spool whose jobs are known not to be committed. */
static enum status sweep_parts(struct spool *s, struct spool_recovery *r)
{
    struct spool_names list;
    enum status code = spool_list(s->out_fd, "the output folder", &list);
    for (size_t i = 0; code == STATUS_OK && i < list.n; i++) {
        char id[SPOOL_ID_BYTES];
        struct stat st;
        const char *name = list.names[i];
        snprintf(id, sizeof(id), "%s", name[0] == '.' ? name + 1 : "");
        if (spool_id_time(id) < 0 || !is_part(s, id, name)) {
            continue;
        }
        if (fstatat(s->work_fd, id, &st, AT_SYMLINK_NOFOLLOW) == 0 || !spool_is_absent(errno)) {
            continue;
        }
        if (spool_drop_part(s, s->owner, id) && spool_drop_state(s, id)) {
            r->n_parts++;
        } else {
            log_warning("'%s/%s' cannot be removed: %s", s->out, name, strerror(errno));
        }
    }
    spool_names_free(&list);
    return code;
}

/* Ids of this run come after all that are known. */
static void learn_ids(struct spool *s, const struct spool_names *list)
{
    for (size_t i = 0; i < list->n; i++) {
        char id[SPOOL_ID_BYTES];
        snprintf(id, sizeof(id), "%s", list->names[i]);
        spool_learn_id(s, spool_id_time(id));
    }
}

enum status spool_recover(struct spool *s, struct spool_recovery *out)
{
    struct spool_names list;
    *out = (struct spool_recovery){0};
    STATUS_TRY(spool_list(s->failed_fd, "'failed'", &list));
    learn_ids(s, &list);
    spool_names_free(&list);
    STATUS_TRY(spool_list(s->work_fd, "'.work'", &list));
    learn_ids(s, &list);
    for (size_t i = 0; i < list.n; i++) {
        const char *name = list.names[i];
        if (spool_id_time(name) >= 0) {
            recover_one(s, out, name);
        } else if (strcmp(name, "lock") != 0 && strcmp(name, "requests") != 0) {
            set_aside(s, out, name);
        }
    }
    spool_names_free(&list);
    roll_forward(s, out);
    const enum status code = sweep_parts(s, out);
    if (code != STATUS_OK) {
        spool_recovery_free(out);
    }
    return code;
}

void spool_recovery_free(struct spool_recovery *r)
{
    for (size_t i = 0; i < r->n_jobs; i++) {
        spool_job_free(r->jobs[i]);
    }
    for (size_t i = 0; i < r->n_ended; i++) {
        spool_job_free(r->ended[i]);
    }
    free(r->jobs);
    free(r->ended);
    *r = (struct spool_recovery){0};
}
