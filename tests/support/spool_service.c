/* spool_service - see spool_service.h. */
#include "tests/support/spool_service.h"

#include "formats/base/file_name.h"
#include "tests/support/spool_support.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/fault.h"

#include <errno.h>

enum { JOBS_MAX = 4096, ROUNDS_WITHOUT_PROGRESS = 200 };

struct service {
    const struct spool_service_options *options;
    struct spool *spool;
    struct spool_job *jobs[JOBS_MAX];
    size_t n;
    bool has_requeued;      /* a job named "again" */
    unsigned n_uncommitted; /* jobs that could not be committed */
};

static bool is_known(const struct service *v, const char *folder, const char *name)
{
    for (size_t i = 0; i < v->n; i++) {
        for (size_t k = 0; k < v->jobs[i]->n_files; k++) {
            if (strcmp(v->jobs[i]->folder, folder) == 0 &&
                strcmp(v->jobs[i]->files[k].name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int find(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    struct service *v = user;
    char folder[256] = "";
    char stem[256];
    char other[256];
    const char *const names[] = {name, other};
    const char *slash = strrchr(path, '/');
    const char *dem = strstr(name, ".dem.");
    if (is_folder || v->n == v->options->batch || file_name_is_temporary(name) ||
        strstr(name, ".source.") != NULL) {
        return 0;
    }
    if (slash != NULL) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    }
    snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(name, "."), name);
    if (dem != NULL) {
        snprintf(other, sizeof(other), "%.*s.source.%s", (int)(dem - name), name, dem + 5);
        if (!is_there(at_fd, other)) {
            return 0;
        }
    }
    if (!is_known(v, folder, name) && spool_job_new(folder, stem, names, dem != NULL ? 2 : 1, NULL,
                                                    &v->jobs[v->n]) == STATUS_OK) {
        v->n++;
    }
    return 0;
}

/* Writes a file as a worker would: not through disk.c, but seen by who looks on. */
static bool write_seen(int at_fd, const char *name, const char *text)
{
    int fd = openat(at_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const struct fault_operation create = {"work", "create", -1, at_fd, NULL, name};
    const struct fault_operation fill = {"work", "write", -1, fd, NULL, NULL};
    if (fd < 0 || fault_before(&create) != 0) {
        return false;
    }
    fault_after(&create);
    bool good = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fault_before(&fill) == 0;
    if (good) {
        fault_after(&fill);
    }
    close(fd);
    return good;
}

/* A job of two files keeps its state in between, and once more half of the next. */
static bool keep_state(struct spool *s, const struct spool_job *job)
{
    const struct spool_part file = spool_state_file(s->owner, job->id);
    const char *const name = file.name;
    return disk_write_temp("state", s->out_fd, name, "so far", 6) == 0 &&
           disk_fsync_temp("state", s->out_fd, name) == 0 &&
           disk_rename_temp("state", s->out_fd, name) == 0 && disk_sync("state", s->out_fd) == 0 &&
           disk_write_temp("state", s->out_fd, name, "half", 4) == 0;
}

static bool work(struct spool *s, const struct spool_job *job)
{
    char name[24];
    char text[8192];
    const struct spool_part part = spool_part(s->owner, job->id);
    int out = openat(s->out_fd, part.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = out >= 0 && disk_make_folder("work", out, "data", 0777) == 0;
    int data = good ? openat(out, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (size_t i = 0; good && i < job->n_files; i++) {
        int fd = open_input(s, job, i);
        good = fd >= 0;
        ssize_t n = good ? read(fd, text, sizeof(text) - 1) : -1;
        beneath_close(fd);
        text[n > 0 ? n : 0] = '\0';
        snprintf(name, sizeof(name), "%zu", i);
        good = good && write_seen(data, name, text);
    }
    good = good && (job->n_files < 2 || keep_state(s, job)) && write_seen(out, "result.json", "{}");
    if (data >= 0) {
        close(data);
    }
    if (out >= 0) {
        close(out);
    }
    return good;
}

/* Jobs whose input is bad fail together. */
static void fail_all(struct service *v)
{
    static struct spool_job *jobs[JOBS_MAX];
    static struct spool_reason reasons[JOBS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->jobs[i]->state == SPOOL_WORKING && strcmp(v->jobs[i]->stem, "bad") == 0) {
            reasons[n] = (struct spool_reason){"bad-input", "it is named so"};
            jobs[n++] = v->jobs[i];
        }
    }
    spool_fail(v->spool, jobs, reasons, n);
}

static void work_on_all(struct service *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct spool_job *job = v->jobs[i];
        if (job->state != SPOOL_WORKING || strcmp(job->stem, "bad") == 0) {
            continue;
        }
        if (!work(v->spool, job) || (strcmp(job->stem, "again") == 0 && !v->has_requeued)) {
            v->has_requeued = true;
            spool_requeue(v->spool, &job, 1, false);
        }
    }
    fail_all(v);
}

typedef void spool_step(struct spool *s, struct spool_job *const jobs[], size_t n);

/* All jobs take a step, so many together. */
static void in_groups(struct service *v, spool_step *take, size_t most)
{
    for (size_t i = 0; i < v->n; i += most) {
        take(v->spool, v->jobs + i, v->n - i < most ? v->n - i : most);
    }
}

static void step(struct service *v)
{
    const struct spool_service_options *o = v->options;
    in_groups(v, spool_claim, o->claims);
    in_groups(v, spool_verify, o->claims);
    in_groups(v, spool_attempt, o->attempts);
    work_on_all(v);
    in_groups(v, spool_durable, o->durable);
    in_groups(v, spool_finish, o->ends);
    for (size_t i = 0; i < v->n; i++) {
        struct spool_job *job = v->jobs[i];
        const struct spool_reason reason = {"bad-input", job->message};
        /* A commit that failed is tried again, or, as when the service ends, given up. */
        const bool is_given_up = job->state == SPOOL_DURABLE && v->n_uncommitted++ % 2 == 0;
        if (job->state == SPOOL_WORKING || is_given_up) {
            spool_requeue(v->spool, &job, 1, false);
        } else if (job->state == SPOOL_FAILING) {
            spool_fail(v->spool, &job, &reason, 1);
        }
    }
}

/* Whether a job has ended. */
static bool drop_ended(struct service *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->jobs[i]->state == SPOOL_ENDED || v->jobs[i]->outcome == SPOOL_GONE) {
            spool_job_free(v->jobs[i]);
        } else {
            v->jobs[n++] = v->jobs[i];
        }
    }
    bool any = n < v->n;
    v->n = n;
    return any;
}

bool spool_service_run(const struct spool_service_options *options)
{
    static struct service v;
    struct spool_recovery recovered;
    v = (struct service){.options = options};
    if (spool_open(&options->spool, &v.spool) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        return false;
    }
    if (spool_recover(v.spool, &recovered) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        spool_close(v.spool);
        return false;
    }
    for (size_t i = 0; i < recovered.n_jobs; i++) {
        v.jobs[v.n++] = recovered.jobs[i];
    }
    recovered.n_jobs = 0;
    spool_recovery_free(&recovered);
    for (unsigned idle = 0; idle < ROUNDS_WITHOUT_PROGRESS; idle++) {
        disk_walk(spool_in_fd(v.spool), 8, find, &v);
        if (v.n == 0 && !options->keeps_going) {
            break;
        }
        step(&v);
        if (drop_ended(&v) || options->keeps_going) {
            idle = 0;
        }
    }
    bool good = v.n == 0;
    for (size_t i = 0; i < v.n; i++) {
        fprintf(stderr, "job %s stays at %d: %s\n", v.jobs[i]->id, (int)v.jobs[i]->state,
                v.jobs[i]->message != NULL ? v.jobs[i]->message : "");
        spool_job_free(v.jobs[i]);
    }
    spool_close(v.spool);
    return good;
}
