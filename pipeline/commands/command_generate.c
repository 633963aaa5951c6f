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

/* What was written, and how much of it. */
struct made {
    char what[128];
    const char *backend; /* NULL: not said */
    uint64_t bytes;
};

/* "5 points, 1 column" */
static void say_table(struct made *made, uint64_t n_lines, const char *lines, size_t n_columns,
                      const char *column)
{
    snprintf(made->what, sizeof(made->what), "%llu %s, %zu %s%s", (unsigned long long)n_lines,
             lines, n_columns, column, n_columns == 1 ? "" : "s");
}

static enum status make_clusters(const struct generate_request *r, const struct executor *executor,
                                 struct made *made)
{
    const struct backend_config config = {.executor = *executor};
    struct backend *backend;
    char why[256];
    STATUS_TRY(backend_select(r->backend, &config, why, sizeof(why), &backend));
    if (why[0] != '\0') {
        log_debug("%s", why);
    }
    snprintf(made->what, sizeof(made->what), "%llu series of %llu samples",
             (unsigned long long)r->clusters.n_series, (unsigned long long)r->clusters.n_samples);
    made->backend = backend->ops->name;
    const enum status status = generate_file(&r->clusters, backend, executor, &made->bytes);
    backend->ops->close(backend);
    return status;
}

static enum status make_dem(const struct generate_request *r, const struct executor *executor,
                            struct made *made)
{
    size_t n_slides;
    const enum status status = generate_dem(&r->dem, executor, &made->bytes, &n_slides);
    snprintf(made->what, sizeof(made->what), "%llu x %llu cells, %zu %s",
             (unsigned long long)r->dem.terrain.rows, (unsigned long long)r->dem.terrain.columns,
             n_slides, n_slides == 1 ? "slide" : "slides");
    return status;
}

static enum status make_nodes(const struct generate_request *r, const struct executor *executor,
                              struct made *made)
{
    say_table(made, r->nodes.degree + 1, "nodes", r->nodes.n_functions, "curve");
    return generate_nodes(&r->nodes, executor, &made->bytes);
}

static enum status make_points(const struct generate_request *r, const struct executor *executor,
                               struct made *made)
{
    say_table(made, r->points.n_points, "points", r->points.n_columns, "column");
    return generate_points(&r->points, executor, &made->bytes);
}

static enum status (*const make[GENERATE_KINDS])(const struct generate_request *r,
                                                 const struct executor *executor,
                                                 struct made *made) = {
    [GENERATE_CLUSTERS] = make_clusters,
    [GENERATE_DEM] = make_dem,
    [GENERATE_NODES] = make_nodes,
    [GENERATE_POINTS] = make_points};

static void report(const struct generate_request *r, const struct made *made, uint64_t ns)
{
    char size[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES];
    const bool is_pair = r->kind == GENERATE_DEM;
    log_info("%s%s%s: %s, %s in %s%s%s%s",
             is_pair                     ? r->pair.dem
             : strcmp(r->path, "-") == 0 ? "standard output"
                                         : r->path,
             is_pair ? ", " : "", is_pair ? r->pair.source : "", made->what,
             text_size(size, made->bytes), text_duration(time, (double)ns * 1e-9),
             made->backend != NULL ? " (" : "", made->backend != NULL ? made->backend : "",
             made->backend != NULL ? ")" : "");
}

static void job_work(struct thread_pool_task *task)
{
    struct job *job = (struct job *)task;
    const struct generate_request *const r = job->request;
    struct made made = {0};
    const uint64_t from = thread_pool_now_ns();
    job->status = make[r->kind](r, &job->executor, &made);
    job->begun = made.bytes > 0;
    if (job->status == STATUS_OK) {
        report(r, &made, thread_pool_now_ns() - from);
    }
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
