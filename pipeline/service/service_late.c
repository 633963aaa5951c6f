/*
 * service_late - what lies beside a grid or a table (X.dem.prj) and comes when that is not in in/
 * any more: it is taken to the job as long as no worker has begun it, and else put away in done/,
 * which the log and the status say.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/file_name.h"
#include "formats/base/log.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { PUT_AWAY = 64 }; /* files at a time */

struct late_batch {
    struct service *service;
    size_t n;
    struct late_file {
        uint64_t inode;
        char *path, *why; /* why: it could not be moved; NULL: it was, or has gone */
        bool is_gone;
    } files[PUT_AWAY];
};

/* Whether the file at the path lies beside a part of the job, which has no file of that name. */
static bool is_beside(const struct spool_job *job, const char *path)
{
    const char *const name = file_name_last(path);
    const size_t n_folder = name > path ? (size_t)(name - path) - 1 : 0;
    bool fits = false;
    if (strlen(job->folder) != n_folder || strncmp(job->folder, path, n_folder) != 0) {
        return false;
    }
    for (size_t i = 0; i < job->n_files; i++) {
        if (strcmp(job->files[i].name, name) == 0) {
            return false;
        }
        fits = fits || beside_fits(name, job->files[i].name) > 0;
    }
    return fits;
}

/* The job, claimed and not begun, that the file may be taken to: it came after the job's. NULL:
 * there is none, or it may be of any of several drops of that name. */
static struct service_job *find_job(const struct service *s, const struct service_late *late)
{
    struct service_job *job, *found = NULL;
    size_t n = late->is_doubtful;
    for (enum service_list list = WAIT_CLAIM; list <= WAIT_REQUEUE; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            if (list != WAIT_FINISH && !job->begun && job->spool->id[0] != '\0' &&
                job->found_ms < late->found_ms && is_beside(job->spool, late->path)) {
                found = job;
                n++;
            }
        }
    }
    return n == 1 ? found : NULL;
}

/* Has the job take it, as soon as it stands where it can. */
static void take_to(struct service *s, struct service_job *job, const struct service_late *late)
{
    const char *const path = late->path;
    if (job->list == WAIT_VERIFY || job->list == WAIT_ATTEMPT) {
        log_info("in/%s came late and goes with %s (job %s)", path, job->name, job->spool->id);
        spool_add_late(job->spool, file_name_last(path), late->inode);
        service_inbox_take_late(s->inbox, path, job);
        if (job->list == WAIT_ATTEMPT) {
            service_job_next(s, job, SPOOL_WAIT);
        }
        s->is_changed = true;
    } else if (job->list == WAIT_WORKER) {
        service_job_next(s, job, SPOOL_WAIT);
        s->is_changed = true;
    } else if (job->list == WAIT_RESULT) {
        service_job_call_back(job);
    }
}

struct late_batch *late_begin(struct service *s)
{
    struct service_late late[PUT_AWAY];
    const size_t n = service_inbox_late(s->inbox, service_now(s), late, PUT_AWAY);
    struct late_batch *batch = NULL;
    for (size_t i = 0; i < n; i++) {
        struct service_job *const job = find_job(s, &late[i]);
        if (job != NULL) {
            take_to(s, job, &late[i]);
        } else {
            batch = batch != NULL ? batch : xcalloc(1, sizeof(*batch));
            batch->service = s;
            batch->files[batch->n++] =
                (struct late_file){.inode = late[i].inode, .path = xstrdup(late[i].path)};
            service_inbox_take_late(s->inbox, late[i].path, batch);
        }
    }
    return batch;
}

void late_run(struct late_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct late_file *const f = &batch->files[i];
        const char *const name = file_name_last(f->path);
        char *const folder = xstrndup(f->path, name > f->path ? (size_t)(name - f->path) - 1 : 0);
        const enum status code = spool_put_away(batch->service->spool, folder, name, f->inode);
        f->is_gone = code == STATUS_NOT_FOUND;
        f->why = code != STATUS_OK && !f->is_gone ? xstrdup(status_message()) : NULL;
        free(folder);
    }
}

void late_end(struct service *s, struct late_batch *batch)
{
    bool is_moved = true;
    for (size_t i = 0; i < batch->n; i++) {
        is_moved = is_moved && batch->files[i].why == NULL;
    }
    service_inbox_settle_late(s->inbox, batch, is_moved, service_now(s));
    for (size_t i = 0; i < batch->n; i++) {
        struct late_file *const f = &batch->files[i];
        if (f->why != NULL) {
            log_warning("in/%s: %s", f->path, f->why);
        } else if (!f->is_gone) {
            log_warning("in/%s lies beside no file here, or came when the job of that had begun, "
                        "or another drop of its name had come: "
                        "it is in done/ now; drop it again together with that file",
                        f->path);
            free(s->late.path);
            s->late.path = f->path;
            f->path = NULL;
            s->late.n++;
        }
        free(f->path);
        free(f->why);
    }
    free(batch);
}

void late_settle(struct service *s, const struct service_job *job)
{
    service_inbox_settle_late(s->inbox, job, job->spool->n_late == 0, service_now(s));
    spool_forget_late(job->spool);
}

json_t *late_status(const struct service *s)
{
    char *const path = s->late.path != NULL ? xasprintf("in/%s", s->late.path) : xstrdup("");
    json_t *const status =
        json_pack("{s:I, s:o}", "files", (json_int_t)s->late.n, "path", text_json(path));
    free(path);
    return status;
}
