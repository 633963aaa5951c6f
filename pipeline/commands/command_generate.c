/*
 * command_generate - leat generate: input data of any size, the same on every machine for the same
 * options.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/generate/generate_request.h"
#include "pipeline/names/interrupt.h"
#include "pipeline/names/machine.h"
#include "pipeline/names/text.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { NOTHING_DONE = 2 };

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

static void report_clusters(const struct generate_order *o, const struct backend *backend,
                            uint64_t bytes, double seconds)
{
    char size[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES];
    log_info("%s: %llu series of %llu samples, %s in %s (%s)", name_of(o->path),
             (unsigned long long)o->n_series, (unsigned long long)o->n_samples,
             text_size(size, bytes), text_duration(time, seconds), backend->ops->name);
}

static void report_dem(const struct generate_dem_order *o, size_t n_slides, uint64_t bytes,
                       double seconds)
{
    char size[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES];
    log_info("%s, %s: %llu x %llu cells, %zu %s, %s in %s", o->pair->dem, o->pair->source,
             (unsigned long long)o->terrain.rows, (unsigned long long)o->terrain.columns, n_slides,
             n_slides == 1 ? "slide" : "slides", text_size(size, bytes),
             text_duration(time, seconds));
}

/* Lines of a table, and what else there is to say of them. */
static void report_table(const char *path, uint64_t n_lines, const char *lines, size_t n_columns,
                         const char *columns, uint64_t bytes, double seconds)
{
    char size[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES];
    log_info("%s: %llu %s, %zu %s%s, %s in %s", name_of(path), (unsigned long long)n_lines, lines,
             n_columns, columns, n_columns == 1 ? "" : "s", text_size(size, bytes),
             text_duration(time, seconds));
}

/* The work is done on a thread of the pool, which then lends it the others. */
struct job {
    struct thread_pool_task task;
    const struct generate_request *request;
    struct executor executor;
    enum status status;
    bool begun; /* bytes have been written */
    char message[STATUS_MESSAGE_BYTES];
    sem_t finished;
};

static enum status make_clusters(const struct generate_request *r, const struct executor *executor,
                                 bool *begun)
{
    const struct backend_config config = {.executor = *executor};
    struct backend *backend;
    char why[256];
    STATUS_TRY(backend_select(r->backend, &config, why, sizeof(why), &backend));
    if (why[0] != '\0') {
        log_debug("%s", why);
    }
    uint64_t bytes = 0, from = thread_pool_now_ns();
    const enum status status = generate_file(&r->clusters, backend, executor, &bytes);
    *begun = bytes > 0;
    if (status == STATUS_OK) {
        report_clusters(&r->clusters, backend, bytes, (double)(thread_pool_now_ns() - from) * 1e-9);
    }
    backend->ops->close(backend);
    return status;
}

static enum status make_dem(const struct generate_request *r, const struct executor *executor,
                            bool *begun)
{
    uint64_t bytes = 0, from = thread_pool_now_ns();
    size_t n_slides = 0;
    const enum status status = generate_dem(&r->dem, executor, &bytes, &n_slides);
    *begun = bytes > 0 || status == STATUS_CANCELLED;
    if (status == STATUS_OK) {
        report_dem(&r->dem, n_slides, bytes, (double)(thread_pool_now_ns() - from) * 1e-9);
    }
    return status;
}

static enum status make_nodes(const struct generate_request *r, const struct executor *executor,
                              bool *begun)
{
    uint64_t bytes = 0, from = thread_pool_now_ns();
    const enum status status = generate_nodes(&r->nodes, executor, &bytes);
    *begun = bytes > 0;
    if (status == STATUS_OK) {
        report_table(r->path, r->nodes.degree + 1, "nodes", r->nodes.n_functions, "curve", bytes,
                     (double)(thread_pool_now_ns() - from) * 1e-9);
    }
    return status;
}

static enum status make_points(const struct generate_request *r, const struct executor *executor,
                               bool *begun)
{
    uint64_t bytes = 0, from = thread_pool_now_ns();
    const enum status status = generate_points(&r->points, executor, &bytes);
    *begun = bytes > 0;
    if (status == STATUS_OK) {
        report_table(r->path, r->points.n_points, "points", r->points.n_columns, "column", bytes,
                     (double)(thread_pool_now_ns() - from) * 1e-9);
    }
    return status;
}

static enum status (*const make[GENERATE_KINDS])(const struct generate_request *r,
                                                 const struct executor *executor, bool *begun) = {
    [GENERATE_CLUSTERS] = make_clusters,
    [GENERATE_DEM] = make_dem,
    [GENERATE_NODES] = make_nodes,
    [GENERATE_POINTS] = make_points};

static void job_work(struct thread_pool_task *task)
{
    struct job *job = (struct job *)task;
    const struct generate_request *const r = job->request;
    job->status = make[r->kind](r, &job->executor, &job->begun);
    snprintf(job->message, sizeof(job->message), "%s", status_message());
}

static void job_done(struct thread_pool_task *task)
{
    sem_post(&((struct job *)task)->finished);
}

static enum status generate_on_pool(const struct generate_request *r, bool *begun)
{
    struct thread_pool *pool;
    struct job job = {.task = {.work = job_work, .done = job_done}, .request = r};
    STATUS_TRY(thread_pool_new(r->threads > 0 ? (size_t)r->threads : machine_cpus(), &pool));
    sem_init(&job.finished, 0, 0);
    job.executor = thread_pool_executor(pool);
    thread_pool_submit(pool, 0, &job.task);
    while (sem_wait(&job.finished) != 0) {
    }
    thread_pool_free(pool);
    sem_destroy(&job.finished);
    *begun = job.begun;
    return job.status == STATUS_OK ? STATUS_OK : status_set(job.status, job.message);
}

int command_generate(int argc, char **argv)
{
    struct generate_request r;
    bool done = false, begun = false;
    enum status status = generate_request_parse(argc, argv, &r, &done);
    if (status == STATUS_OK && !done) {
        status = generate_on_pool(&r, &begun);
    }
    const bool is_stdout = status == STATUS_CANCELLED && r.path != NULL && strcmp(r.path, "-") == 0;
    generate_request_free(&r);
    if (status == STATUS_OK) {
        return 0;
    }
    if (is_stdout && interrupt_number() == 0) {
        return 1; /* the reader has closed the pipe */
    }
    log_error("%s", status_message());
    return interrupt_number() != 0 ? COMMANDS_SIGNALLED + interrupt_number()
           : begun                 ? 1
                                   : NOTHING_DONE;
}
