/*
 * command_generate - leat generate: input data of any size, the same on every machine for the same
 * options.
 */
#include "formats/log.h"
#include "pipeline/commands.h"
#include "pipeline/crew.h"
#include "pipeline/generate.h"
#include "pipeline/machine.h"
#include "pipeline/options.h"
#include "pipeline/text.h"

#include <float.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NOTHING_DONE = 2 };

enum option_key {
    KEY_SERIES = 0x100,
    KEY_SAMPLES,
    KEY_EPSILON,
    KEY_START,
    KEY_SEED,
    KEY_TYPE,
    KEY_LAYOUT,
    KEY_GAPS,
    KEY_THREADS,
    KEY_FORCE
};

static const struct argp_option options[] = {
    {"series", KEY_SERIES, "M", 0, "Number of series (default 64)", 0},
    {"samples", KEY_SAMPLES, "N", 0, "Samples of each (default 256)", 0},
    {"epsilon", KEY_EPSILON, "E", 0,
     "A sample varies the one before by a uniform fraction in [-E, E] (default 0.01)", 0},
    {"start", KEY_START, "V", 0, "First sample of every series (default 100)", 0},
    {"seed", KEY_SEED, "N", 0, "Seed of the random numbers (default 0)", 0},
    {"type", KEY_TYPE, "f32|f64", 0, "Precision of the samples (default f64)", 0},
    {"layout", KEY_LAYOUT, "rows|columns", 0,
     "A series a row, or a series a column under a header of names (default rows)", 0},
    {"gaps", KEY_GAPS, "FRACTION", 0, "Share of samples that are missing (default 0)", 0},
    {"output", 'o', "FILE", 0, "File to write, .csv or .npy; - is CSV on standard output (default)",
     0},
    {"backend", 'b', "auto|cpu|cuda", 0,
     "Where to compute (default cpu; writing takes longer). The bits are the same", 0},
    {"threads", KEY_THREADS, "N", 0, "Computing threads (default 0: the CPUs that leat may use)",
     0},
    {"force", KEY_FORCE, NULL, 0, "Replace a file that is already there", 0},
    {"quiet", 'q', NULL, 0, "Only say what went wrong", 0},
    {"verbose", 'v', NULL, 0, "Say more", 0},
    {0},
};

static const char doc[] =
    "Makes input data. KIND is clusters: series that each begin at V and wander."
    "\vThe same options give the same bytes on every machine and backend. "
    "Exit status: 0 written, 1 writing failed, 2 nothing could be done.";

struct request {
    const char *kind, *backend;
    struct generate_order order;
    uint64_t threads;
};

static enum status take_count(const char *name, const char *text, uint64_t least, uint64_t most,
                              uint64_t *out)
{
    uint64_t count;
    if (!text_parse_count(text, &count) || count < least || count > most) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--%s: '%s' is not a whole number from %llu to %llu", name, text,
                           (unsigned long long)least, (unsigned long long)most);
    }
    *out = count;
    return STATUS_OK;
}

/* least <= value, and value < limit. */
static enum status take_real(const char *name, const char *text, double least, double limit,
                             double *out)
{
    double real;
    if (!text_parse_real(text, &real) || !(real >= least) || !(real < limit)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--%s: '%s' is not a number of at least %g and less than %g", name, text,
                           least, limit);
    }
    *out = real;
    return STATUS_OK;
}

/* *is_second: the text is `second`, not `first`. */
static enum status take_either(const char *name, const char *text, const char *first,
                               const char *second, bool *is_second)
{
    *is_second = strcmp(text, second) == 0;
    return *is_second || strcmp(text, first) == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "--%s: '%s' is neither %s nor %s", name, text,
                             first, second);
}

static enum status take_backend(struct request *r, const char *text)
{
    r->backend = text;
    return strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "--backend: '%s' is none of auto|cpu|cuda", text);
}

static enum status take_kind(struct request *r, const char *text)
{
    if (r->kind != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "'%s': one KIND is enough (-o names the file)",
                           text);
    }
    r->kind = text;
    return strcmp(text, "clusters") == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "unknown kind '%s'; there is: clusters", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;
    struct generate_order *o = &r->order;
    enum status status = STATUS_OK;
    bool second;
    switch (key) {
    case KEY_SERIES:
        return options_error(take_count("series", arg, 1, UINT64_C(1) << 48, &o->n_series));
    case KEY_SAMPLES:
        return options_error(take_count("samples", arg, 1, UINT64_C(1) << 48, &o->n_samples));
    case KEY_EPSILON:
        return options_error(take_real("epsilon", arg, 0, 1, &o->walk.epsilon));
    case KEY_START:
        return options_error(take_real("start", arg, -FLT_MAX, FLT_MAX, &o->walk.start));
    case KEY_SEED:
        return options_error(take_count("seed", arg, 0, UINT64_MAX, &o->walk.seed));
    case KEY_TYPE:
        status = take_either("type", arg, "f64", "f32", &second);
        o->type = second ? DTYPE_F32 : DTYPE_F64;
        return options_error(status);
    case KEY_LAYOUT:
        return options_error(take_either("layout", arg, "rows", "columns", &o->columns));
    case KEY_GAPS:
        return options_error(take_real("gaps", arg, 0, nextafter(1, 2), &o->gaps));
    case KEY_THREADS:
        return options_error(take_count("threads", arg, 0, 4096, &r->threads));
    case KEY_FORCE:
        o->force = true;
        return 0;
    case 'o':
        o->path = arg;
        return 0;
    case 'b':
        return options_error(take_backend(r, arg));
    case 'q':
        log_set_level(LOG_LEVEL_WARNING);
        return 0;
    case 'v':
        log_set_level(LOG_LEVEL_DEBUG);
        return 0;
    case ARGP_KEY_ARG:
        return options_error(take_kind(r, arg));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* .csv or .npy; standard output and devices get CSV. */
static enum status choose_format(struct generate_order *o)
{
    const char *dot = strrchr(o->path, '.');
    o->csv = strcmp(o->path, "-") == 0 || strncmp(o->path, "/dev/", 5) == 0 ||
             (dot != NULL && strcasecmp(dot, ".csv") == 0);
    return o->csv || (dot != NULL && strcasecmp(dot, ".npy") == 0)
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "%s: the name must end in .csv or .npy", o->path);
}

static enum status check(struct request *r)
{
    if (r->kind == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "no kind given: leat generate clusters (see leat generate --help)");
    }
    return choose_format(&r->order);
}

static void report(const struct generate_order *o, const struct backend *backend, uint64_t bytes,
                   double seconds)
{
    char size[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES];
    log_info("%s: %llu series of %llu samples, %s in %s (%s)",
             strcmp(o->path, "-") == 0 ? "standard output" : o->path,
             (unsigned long long)o->n_series, (unsigned long long)o->n_samples,
             text_size(size, bytes), text_duration(time, seconds), backend->ops->name);
}

/* The work is done on a thread of the crew, which then lends it the others. */
struct job {
    struct crew_task task;
    const struct request *request;
    struct executor executor;
    enum status status;
    bool begun; /* bytes have been written */
    char message[STATUS_MESSAGE_BYTES];
    sem_t finished;
};

static enum status generate(const struct request *r, const struct executor *executor, bool *begun)
{
    const struct backend_config config = {.executor = *executor};
    struct backend *backend;
    char why[256];
    enum status status = backend_select(r->backend, &config, why, sizeof(why), &backend);
    if (status != STATUS_OK) {
        return status;
    }
    if (why[0] != '\0') {
        log_debug("%s", why);
    }
    uint64_t bytes = 0, from = crew_now_ns();
    status = generate_file(&r->order, backend, executor, &bytes);
    *begun = bytes > 0;
    if (status == STATUS_OK) {
        report(&r->order, backend, bytes, (double)(crew_now_ns() - from) * 1e-9);
    }
    backend->ops->close(backend);
    return status;
}

static void job_work(struct crew_task *task)
{
    struct job *job = (struct job *)task;
    job->status = generate(job->request, &job->executor, &job->begun);
    snprintf(job->message, sizeof(job->message), "%s", status_message());
}

static void job_done(struct crew_task *task)
{
    sem_post(&((struct job *)task)->finished);
}

static enum status generate_on_crew(const struct request *r, bool *begun)
{
    struct crew *crew;
    struct job job = {.task = {.work = job_work, .done = job_done}, .request = r};
    enum status status = crew_new(r->threads > 0 ? (size_t)r->threads : machine_cpus(), &crew);
    if (status != STATUS_OK) {
        return status;
    }
    sem_init(&job.finished, 0, 0);
    job.executor = crew_executor(crew);
    crew_submit(crew, 0, &job.task);
    while (sem_wait(&job.finished) != 0) {
    }
    crew_free(crew);
    sem_destroy(&job.finished);
    *begun = job.begun;
    return job.status == STATUS_OK ? STATUS_OK : status_set(job.status, job.message);
}

int command_generate(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "KIND", .doc = doc};
    struct request r = {.backend = "cpu",
                        .order = {.walk = {.seed = 0, .start = 100, .epsilon = 0.01},
                                  .n_series = 64,
                                  .n_samples = 256,
                                  .type = DTYPE_F64,
                                  .path = "-"}};
    bool done = false, begun = false;
    enum status status = options_parse("leat generate", &argp, argc, argv, &r, &done);
    if (status == STATUS_OK && done) {
        return 0;
    }
    if (status == STATUS_OK) {
        status = check(&r);
    }
    if (status == STATUS_OK) {
        status = generate_on_crew(&r, &begun);
    }
    if (status == STATUS_OK) {
        return 0;
    }
    if (status == STATUS_CANCELLED && strcmp(r.order.path, "-") == 0) {
        return 1; /* whoever closed the pipe knows */
    }
    log_error("%s", status_message());
    return begun ? 1 : NOTHING_DONE;
}
