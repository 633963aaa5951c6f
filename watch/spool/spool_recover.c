/*
 * spool_recover - what is found in .work at start, and what is done with it.
 *
 *   commit, whole                      publish, archive
 *   reason.json                        it has failed: the rest of the way to failed/
 *   inputs, record, some still in in/  the claim is finished
 *   inputs, record                     verify again; too many attempts: fail
 *   inputs, no whole record or commit  fail, with that as the reason
 *   no inputs, no commit               remove
 *   anything that is not a job's folder to failed/, with that as the reason
 *
 * Then parts in OUT that belong to nobody. Before, what a killed retry has left in failed/.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool append(struct spool_job ***list, size_t *n, struct spool_job *job)
{
    struct spool_job **jobs = realloc(*list, (*n + 1) * sizeof(struct spool_job *));
    if (jobs == NULL) {
        spool_job_free(job);
        return false;
    }
    *list = jobs;
    jobs[(*n)++] = job;
    return true;
}

static bool keep(struct spool_recovery *r, struct spool_job *job)
{
    return append(&r->jobs, &r->n_jobs, job);
}

/* Fails one job now; counts it in *count. One that cannot fail now, because of insufficient room,
 * is kept. */
static bool fail_now(struct spool *s, struct spool_recovery *r, struct spool_job *job,
                     const char *kind, const char *text, size_t *count)
{
    const struct spool_reason reason = {kind, text};
    if (text != NULL) {
        spool_fail(s, &job, &reason, 1);
    } else {
        spool_fail_move(s, &job, 1);
    }
    if (job->state != SPOOL_ENDED) {
        return keep(r, job);
    }
    if (text != NULL) {
        log_warning("job %s: moved to '%s/failed': %s", job->id, s->root, text);
    }
    (*count)++;
    return append(&r->ended, &r->n_ended, job);
}

/* A job made of what lies in `in/`, for a folder whose record cannot be used. */
static enum status job_of_names(const char *id, const struct spool_names *inside,
                                struct spool_job **out)
{
    static const char *const none[] = {"-"};
    STATUS_TRY(inside->n > 0
                   ? spool_job_new("", id, (const char *const *)inside->names, inside->n, NULL, out)
                   : spool_job_new("", id, none, 1, NULL, out));
    snprintf((*out)->id, sizeof((*out)->id), "%s", id);
    if (inside->n == 0) {
        free((*out)->files[0].name);
        (*out)->files[0].name = NULL;
        (*out)->n_files = 0;
    }
    return STATUS_OK;
}

/* Moves something that is not a job's folder, or holds what no job holds, to failed/. */
static bool set_aside(struct spool *s, struct spool_recovery *r, const char *name)
{
    static const struct spool_names nothing;
    char id[SPOOL_ID_BYTES];
    struct spool_job *job;
    int in_fd = -1;
    if (spool_make_work(s, id) != 0 || (in_fd = spool_open_work(s->work_fd, id, "in")) < 0 ||
        disk_rename("aside.take", s->work_fd, name, in_fd, name) != 0) {
        log_warning("'%s/.work/%s' cannot be set aside: %s", s->root, name, strerror(errno));
        if (in_fd >= 0) {
            close(in_fd);
            spool_forget(s, id, false);
        }
        return true;
    }
    close(in_fd);
    if (job_of_names(id, &nothing, &job) != STATUS_OK) {
        return false;
    }
    job->state = SPOOL_FAILING;
    return fail_now(s, r, job, "foreign", "this was found in .work, where only leat puts things",
                    &r->n_aside);
}

/* Whether a record was read, or is known to be none. */
static bool is_known(enum status code)
{
    return code == STATUS_OK || code == STATUS_NOT_FOUND || code == STATUS_BAD_INPUT;
}

/* What a job's folder holds. */
struct found {
    struct spool_names inside;
    bool has_reason;
    enum status record, commit;
    size_t n_outside; /* inputs of the record that are not inside */
};

static enum status look_at(int job_fd, const char *id, struct found *f, struct spool_job **job)
{
    struct stat st;
    *f = (struct found){0};
    *job = NULL;
    int in_fd = beneath_open(job_fd, "in", O_RDONLY | O_DIRECTORY);
    if (in_fd < 0 && !spool_is_absent(errno)) {
        return status_fail_errno(errno, "its inputs cannot be listed");
    }
    if (in_fd >= 0) {
        enum status code = spool_list(in_fd, "a job's folder", &f->inside);
        close(in_fd);
        if (code != STATUS_OK) {
            return code;
        }
    }
    f->has_reason =
        fstatat(job_fd, "reason.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    f->record = spool_read_job(job_fd, id, job);
    if (!is_known(f->record)) {
        return f->record;
    }
    if (f->record != STATUS_OK) {
        STATUS_TRY(job_of_names(id, &f->inside, job));
    }
    f->commit = spool_read_commit(job_fd, *job);
    if (!is_known(f->commit)) {
        return f->commit;
    }
    for (size_t i = 0; i < (*job)->n_files; i++) {
        char *name = (*job)->files[i].name;
        f->n_outside += f->inside.n == 0 || bsearch(&name, f->inside.names, f->inside.n,
                                                    sizeof(char *), spool_by_name) == NULL;
    }
    (*job)->n_attempts = spool_read_attempts(job_fd);
    (*job)->held = spool_is_held(job_fd);
    (*job)->reason = f->has_reason ? spool_read_reason(job_fd) : NULL;
    return STATUS_OK;
}

/* Whether a folder cannot be removed for what it holds; anything else is the disk's. */
static bool is_foreign(int error)
{
    return error == ENOTEMPTY || error == EEXIST || error == ENOTDIR || error == EISDIR;
}

/* Removes a folder without inputs. */
static bool remove_empty(struct spool *s, struct spool_recovery *r, const char *id)
{
    spool_drop_part(s, id);
    if (spool_forget(s, id, false)) {
        r->n_removed++;
        return true;
    }
    if (is_foreign(errno)) {
        return set_aside(s, r, id);
    }
    log_warning("job %s, which has ended, stays until the next start: %s", id, strerror(errno));
    return true;
}

/* A job that is neither committed nor failed, and has inputs. */
static bool go_on(struct spool *s, struct spool_recovery *r, struct spool_job *job,
                  const struct found *f)
{
    char text[120];
    spool_drop_part(s, job->id);
    if (f->n_outside > 0) {
        job->state = SPOOL_NEW;
        spool_claim_take(s, &job, 1);
        if (job->state == SPOOL_FAILING) {
            snprintf(text, sizeof(text), "%s",
                     job->message != NULL ? job->message : "its inputs cannot be used");
            return fail_now(s, r, job, "bad-input", text, &r->n_failed);
        }
    }
    if (job->state != SPOOL_NEW) {
        job->state = SPOOL_UNVERIFIED;
    }
    if (job->n_attempts >= s->max_attempts) {
        snprintf(text, sizeof(text), "%u attempts have ended without a result", job->n_attempts);
        job->state = SPOOL_FAILING;
        return fail_now(s, r, job, "exhausted", text, &r->n_failed);
    }
    return keep(r, job);
}

/* false: no memory. */
static bool recover_one(struct spool *s, struct spool_recovery *r, const char *id)
{
    struct found f = {0};
    struct spool_job *job = NULL;
    int fd = spool_open_work(s->work_fd, id, "");
    if (fd < 0 && spool_is_absent(errno)) {
        return set_aside(s, r, id);
    }
    enum status code = STATUS_IO;
    if (fd < 0) {
        status_fail_errno(errno, "its folder cannot be opened");
    } else {
        code = look_at(fd, id, &f, &job);
        close(fd);
    }
    const bool any = f.inside.n > 0;
    spool_names_free(&f.inside);
    if (code != STATUS_OK) {
        spool_job_free(job);
        if (code != STATUS_NO_MEMORY) {
            log_warning("job %s stays until the next start: %s", id, status_message());
        }
        return code != STATUS_NO_MEMORY;
    }
    if (f.commit == STATUS_OK) {
        job->state = SPOOL_COMMITTED;
        return keep(r, job);
    }
    if (!any) {
        spool_job_free(job);
        return remove_empty(s, r, id);
    }
    job->state = SPOOL_FAILING;
    if (f.has_reason) {
        spool_drop_part(s, id);
        return fail_now(s, r, job, NULL, NULL, &r->n_failed);
    }
    if (f.commit == STATUS_BAD_INPUT) {
        return fail_now(s, r, job, "internal",
                        "its commit record is damaged; it may have been published", &r->n_failed);
    }
    if (f.record != STATUS_OK) {
        return fail_now(s, r, job, "internal", "its record is damaged", &r->n_failed);
    }
    return go_on(s, r, job, &f);
}

/* Publishes and archives what was committed; what is left to do stays in the list. false: no
 * memory. */
static bool roll_forward(struct spool *s, struct spool_recovery *r)
{
    size_t n = 0;
    bool good = true;
    spool_publish(s, r->jobs, r->n_jobs);
    spool_archive(s, r->jobs, r->n_jobs);
    for (size_t i = 0; i < r->n_jobs; i++) {
        if (r->jobs[i]->state == SPOOL_ENDED) {
            r->n_finished++;
            good = append(&r->ended, &r->n_ended, r->jobs[i]) && good;
        } else {
            r->jobs[n++] = r->jobs[i];
        }
    }
    r->n_jobs = n;
    return good;
}

/* Removes .ID.part and .ID.old of jobs that are known not to be committed. */
static enum status sweep_parts(struct spool *s, struct spool_recovery *r)
{
    struct spool_names list;
    enum status code = spool_list(s->out_fd, "the output folder", &list);
    for (size_t i = 0; code == STATUS_OK && i < list.n; i++) {
        char path[SPOOL_ID_BYTES + 8];
        char id[SPOOL_ID_BYTES];
        struct stat st;
        const char *name = list.names[i];
        snprintf(id, sizeof(id), "%s", name[0] == '.' ? name + 1 : "");
        if (spool_id_time(id) < 0 || (strcmp(name + SPOOL_ID_BYTES, ".part") != 0 &&
                                      strcmp(name + SPOOL_ID_BYTES, ".old") != 0)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/commit", id);
        if (fstatat(s->work_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 || !spool_is_absent(errno)) {
            continue;
        }
        if (spool_drop_part(s, id)) {
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
        int64_t us = spool_id_time(id);
        spool_learn_id(s, us);
    }
}

enum status spool_recover(struct spool *s, struct spool_recovery *out)
{
    struct spool_names list;
    *out = (struct spool_recovery){0};
    STATUS_TRY(spool_list(s->failed_fd, "'failed'", &list));
    learn_ids(s, &list);
    spool_end_retries(s, &list);
    spool_names_free(&list);
    STATUS_TRY(spool_list(s->work_fd, "'.work'", &list));
    learn_ids(s, &list);
    enum status code = STATUS_OK;
    for (size_t i = 0; i < list.n && code == STATUS_OK; i++) {
        const char *name = list.names[i];
        if (strcmp(name, "lock") == 0) {
            continue;
        }
        if (!(spool_id_time(name) >= 0 ? recover_one(s, out, name) : set_aside(s, out, name))) {
            code = status_fail(STATUS_NO_MEMORY, "no memory for the jobs in '.work'");
        }
    }
    spool_names_free(&list);
    if (code == STATUS_OK && !roll_forward(s, out)) {
        code = status_fail(STATUS_NO_MEMORY, "no memory for the jobs that have ended");
    }
    if (code == STATUS_OK) {
        code = sweep_parts(s, out);
    }
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
