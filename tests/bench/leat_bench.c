/*
 * leat_bench - runs cases and prints, for each, the median of warm runs with its spread, the rate,
 * the floor that the machine's ceilings set, the mark, and the peer's time in the same run.
 *
 *   leat-bench [--backend cpu|cuda] [--threads N] [--json] [--smoke] [NAME...]
 *
 * A NAME is a pattern, as in "pearson*". TMPDIR holds the files of the program's cases: /dev/shm,
 * unless a disk is measured too, on which program_small takes up to four times as long and varies
 * by half. baselines/ beside this file holds what --json printed, with LEAT_COMMIT set to the
 * commit it was built from. Exit status: 0, or 1 when an answer was wrong or a case could not run.
 */
#include "tests/bench/bench.h"

#include <argp.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MIN_RUNS = 3, MAX_RUNS = 60, MAX_PEER_RUNS = 3 };
static const double enough_s = 2.0; /* of timed runs */

static const struct bench_case *const case_lists[] = {
    bench_means_cases,   bench_pearson_cases,   bench_csv_cases,      bench_deflate_cases,
    bench_program_cases, bench_sciddicat_cases, bench_ensemble_cases, bench_interpolate_cases,
    bench_kmeans_cases,  bench_bands_cases,     bench_panels_cases,   bench_sweep_cases,
    bench_lags_cases,    bench_search_cases};

struct options {
    const char *backend;
    size_t n_threads;
    bool json, smoke, list;
    char **names;
    size_t n_names;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'b':
        o->backend = argument;
        return 0;
    case 't':
        o->n_threads = strtoul(argument, NULL, 10);
        if (o->n_threads == 0 || o->n_threads > 1024) {
            argp_error(state, "--threads wants 1 to 1024");
        }
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 's':
        o->smoke = true;
        return 0;
    case 'l':
        o->list = true;
        return 0;
    case ARGP_KEY_ARGS:
        o->names = state->argv + state->next;
        o->n_names = (size_t)(state->argc - state->next);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_chosen(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->n_names; i++) {
        if (fnmatch(o->names[i], name, 0) == 0) {
            return true;
        }
    }
    return o->n_names == 0;
}

/* What was measured of one case. */
struct measure {
    struct bench_work work;
    size_t n_runs;
    double median_s, low_s, high_s; /* quartiles */
    double peer_s;                  /* median; NaN without a peer */
    bool peer_failed;               /* it is there, and did not agree, say */
    char peer_missing[160];
};

static enum status time_once(struct bench *b, const struct bench_case *c, void *state, double *out)
{
    const struct backend_ops *ops = b->backend->ops;
    struct queue_busy busy = {0};
    enum status code = c->prepare != NULL ? c->prepare(b, state) : STATUS_OK;
    if (code == STATUS_OK) {
        code = ops->finish(b->queue);
    }
    if (code != STATUS_OK) {
        return code;
    }
    ops->busy(b->queue, &busy, true);
    double start = bench_now_s();
    code = c->run(b, state);
    if (code == STATUS_OK) {
        code = ops->finish(b->queue);
    }
    *out = bench_now_s() - start;
    ops->busy(b->queue, &busy, true);
    if (c->by_device && busy.device_s > 0) {
        *out = busy.device_s;
    }
    return code;
}

static enum status measure_runs(struct bench *b, const struct bench_case *c, void *state,
                                struct measure *m)
{
    double times[MAX_RUNS], peers[MAX_RUNS], spent = 0, once;
    size_t n_peers = 0, n_warm = b->smoke ? 0 : 2;
    bool with_peer = c->peer != NULL && !b->smoke;
    enum status code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < n_warm; i++) {
        code = time_once(b, c, state, &once);
    }
    while (code == STATUS_OK && m->n_runs < (b->smoke ? 1 : MAX_RUNS) &&
           (m->n_runs < MIN_RUNS || spent < enough_s)) {
        code = time_once(b, c, state, &times[m->n_runs]);
        spent += code == STATUS_OK ? times[m->n_runs++] : 0;
        if (code == STATUS_OK && with_peer && n_peers < MAX_PEER_RUNS) {
            enum status said = c->peer(b, state, &peers[n_peers]);
            if (said == STATUS_OK) {
                n_peers++;
            } else { /* ours are worth as much; its earlier ones are none of a peer that fails */
                n_peers = 0;
                snprintf(m->peer_missing, sizeof m->peer_missing, "%s", status_message());
                m->peer_failed = said != STATUS_NOT_FOUND;
                with_peer = false;
            }
        }
    }
    m->low_s = bench_quantile(times, m->n_runs, 0.25);
    m->median_s = bench_quantile(times, m->n_runs, 0.5);
    m->high_s = bench_quantile(times, m->n_runs, 0.75);
    m->peer_s = bench_quantile(peers, n_peers, 0.5);
    return code;
}

static void print_measure(const struct bench_case *c, const struct measure *m)
{
    const struct bench_work *w = &m->work;
    printf("%-22s %10.3f ms  %+5.1f%% %+5.1f%%", c->name, m->median_s * 1e3,
           100 * (m->low_s / m->median_s - 1), 100 * (m->high_s / m->median_s - 1));
    if (w->items > 0) {
        printf("  %9.1f %s/s", w->items / m->median_s, w->item_name);
    }
    if (w->flops > 0) {
        printf("  %8.1f GFLOP/s", w->flops / m->median_s * 1e-9);
    } else if (w->bytes > 0) {
        printf("  %8.2f GB/s", w->bytes / m->median_s * 1e-9);
    }
    if (w->floor_s > 0) {
        printf("  floor %.3f ms (%s): x%.2f", w->floor_s * 1e3, w->floor_of,
               m->median_s / w->floor_s);
    }
    if (w->mark_s > 0) {
        printf("  mark %.3f ms: %s", w->mark_s * 1e3, m->median_s <= w->mark_s ? "met" : "missed");
    }
    if (!isnan(m->peer_s)) {
        double ratio = m->peer_s / m->median_s;
        printf("  %s %.3f ms: %.2f times as fast", c->peer_name, m->peer_s * 1e3, ratio);
        if (w->mark_ratio > 0) {
            printf(" (mark %g: %s)", w->mark_ratio, ratio >= w->mark_ratio ? "met" : "missed");
        }
    } else if (m->peer_missing[0] != '\0') {
        printf("  no %s: %s", c->peer_name, m->peer_missing);
    }
    if (w->note[0] != '\0') {
        printf("  %s", w->note);
    }
    printf("\n");
    fflush(stdout);
}

static json_t *positive(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *measure_json(const struct bench_case *c, const struct measure *m)
{
    const struct bench_work *w = &m->work;
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:s?, s:o, s:o, s:s}", "name",
        c->name, "runs", (json_int_t)m->n_runs, "median_s", positive(m->median_s), "quartile_low_s",
        positive(m->low_s), "quartile_high_s", positive(m->high_s), "bytes", positive(w->bytes),
        "flops", positive(w->flops), "items", positive(w->items), "floor_s", positive(w->floor_s),
        "floor_of", w->floor_of, "mark_s", positive(w->mark_s), "peer", c->peer_name, "peer_s",
        positive(m->peer_s), "mark_ratio", positive(w->mark_ratio), "note", w->note);
}

static void print_ceilings(const struct bench *b, const struct backend_info *info)
{
    const struct bench_ceilings *k = &b->ceilings;
    printf("%s: %s (%s%s), %zu threads\n", info->name, info->device, info->detail, info->products,
           b->n_threads);
    printf("ceilings: copy %.1f GB/s", k->copy_bytes_s * 1e-9);
    if (b->cuda) {
        printf(", upload %.1f, download %.1f GB/s", k->upload_bytes_s * 1e-9,
               k->download_bytes_s * 1e-9);
    }
    printf("; products FP64 %.1f, FP32 %.1f", k->f64_flop_s * 1e-9, k->f32_flop_s * 1e-9);
    if (b->cuda) {
        printf(", TF32 %.1f", k->tf32_flop_s * 1e-9);
    }
    printf(" GFLOP/s\n");
    fflush(stdout);
}

/* The NVIDIA driver's version, or NULL. */
static json_t *driver_json(const struct bench *b)
{
    char text[64];
    FILE *file = b->cuda ? fopen("/sys/module/nvidia/version", "re") : NULL;
    json_t *version = json_null();
    if (file != NULL && fscanf(file, "%63s", text) == 1) {
        version = json_string(text);
    }
    if (file != NULL) {
        fclose(file);
    }
    return version;
}

static json_t *header_json(const struct bench *b, const struct backend_info *info)
{
    const struct bench_ceilings *k = &b->ceilings;
    char date[32];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%F", gmtime_r(&now, &utc));
    json_t *ceilings =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "copy_bytes_s", positive(k->copy_bytes_s),
                  "upload_bytes_s", positive(k->upload_bytes_s), "download_bytes_s",
                  positive(k->download_bytes_s), "f64_flop_s", positive(k->f64_flop_s),
                  "f32_flop_s", positive(k->f32_flop_s), "tf32_flop_s", positive(k->tf32_flop_s));
    return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:[]}", "leat", LEAT_VERSION,
                     "commit", getenv("LEAT_COMMIT"), "date", date, "backend", info->name, "device",
                     info->device, "detail", info->detail, "driver", driver_json(b), "threads",
                     (json_int_t)b->n_threads, "ceilings", ceilings, "cases");
}

/* Opens, checks, times and reports one case; false when something is wrong. */
static bool run_case(struct bench *b, const struct bench_case *c, json_t *report)
{
    struct measure m = {.peer_s = NAN};
    void *state = NULL;
    enum status code = c->open(b, c, &m.work, &state);
    if (code == STATUS_OK) {
        code = measure_runs(b, c, state, &m);
        if (code == STATUS_OK && c->note != NULL) {
            c->note(b, state, &m.work);
        }
        c->close(b, state);
    }
    if (code == STATUS_NOT_FOUND) {
        fprintf(stderr, "%s: left out: %s\n", c->name, status_message());
        return true;
    }
    if (code != STATUS_OK) {
        fprintf(stderr, "%s: %s: %s\n", c->name, status_text(code), status_message());
        return false;
    }
    if (report != NULL) {
        json_array_append_new(json_object_get(report, "cases"), measure_json(c, &m));
    } else {
        print_measure(c, &m);
    }
    if (m.peer_failed) {
        fprintf(stderr, "%s: %s: %s\n", c->name, c->peer_name, m.peer_missing);
    }
    return !m.peer_failed;
}

static bool run_cases(struct bench *b, const struct options *o)
{
    struct backend_info info;
    b->backend->ops->describe(b->backend, &info);
    if (bench_measure_ceilings(b) != STATUS_OK) {
        fprintf(stderr, "ceilings: %s\n", status_message());
    }
    json_t *report = o->json ? header_json(b, &info) : NULL;
    if (report == NULL) {
        print_ceilings(b, &info);
    }
    bool good = true;
    for (size_t i = 0; i < sizeof case_lists / sizeof case_lists[0]; i++) {
        for (const struct bench_case *c = case_lists[i]; c->name != NULL; c++) {
            if (is_chosen(o, c->name) && (c->backends & (b->cuda ? BENCH_CUDA : BENCH_CPU)) != 0) {
                good = run_case(b, c, report) && good;
            }
        }
    }
    if (report != NULL) {
        json_dumpf(report, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        printf("\n");
        json_decref(report);
    }
    return good;
}

static void list_cases(void)
{
    for (size_t i = 0; i < sizeof case_lists / sizeof case_lists[0]; i++) {
        for (const struct bench_case *c = case_lists[i]; c->name != NULL; c++) {
            printf("%-22s %s\n", c->name, c->what);
        }
    }
}

static size_t cpus_allowed(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

/* Paths of leat, which lies beside this program, and of the peers' scripts (in the source tree, or
 * beside it as well); a folder for files. */
static bool find_places(struct bench *b)
{
    static char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - sizeof "leat");
    char *slash = len > 0 ? strrchr(program, '/') : NULL;
    if (slash == NULL) {
        perror("/proc/self/exe");
        return false;
    }
    static char folder[PATH_MAX];
    memcpy(folder, program, (size_t)(slash - program));
    const char *scripts = getenv("LEAT_BENCH_SCRIPTS");
    b->scripts = access(LEAT_BENCH_SCRIPTS, R_OK) == 0 ? LEAT_BENCH_SCRIPTS : folder;
    b->scripts = scripts != NULL ? scripts : b->scripts;
    memcpy(slash + 1, "leat", sizeof "leat");
    b->program = program;
    const char *temporary = getenv("TMPDIR");
    snprintf(b->scratch, sizeof b->scratch, "%s/leat-bench-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(b->scratch) == NULL) {
        perror(b->scratch);
        return false;
    }
    return true;
}

/* Opens the backend and runs; 0, 1, or 77 (skipped) without such a backend. */
static int run_on_backend(struct bench *b, const struct options *o)
{
    char why[256] = "";
    int exit_status = 1;
    const struct backend_config config = {.executor = b->executor};
    enum status code = backend_select(o->backend, &config, why, sizeof why, &b->backend);
    if (code == STATUS_OK) {
        code = backend_load_products(0);
    }
    if (code == STATUS_OK) {
        code = b->backend->ops->queue_new(b->backend, &b->queue);
    }
    if (code == STATUS_OK) {
        b->cuda = strcmp(b->backend->ops->name, "cuda") == 0;
        exit_status = run_cases(b, o) ? 0 : 1;
        b->backend->ops->queue_free(b->queue);
    } else {
        fprintf(stderr, "leat-bench: %s\n", status_message());
    }
    if (b->backend != NULL) {
        b->backend->ops->close(b->backend);
    }
    return code == STATUS_NO_BACKEND ? 77 : exit_status;
}

/* All of it runs as a task of the pool, so that the threads of the pool are all the threads there
 * are.
 */
struct whole {
    struct thread_pool_task task;
    struct bench *bench;
    const struct options *options;
    int exit_status;
    sem_t finished;
};

static void run_whole(struct thread_pool_task *task)
{
    struct whole *w = (struct whole *)task;
    w->exit_status = run_on_backend(w->bench, w->options);
}

static void whole_done(struct thread_pool_task *task)
{
    sem_post(&((struct whole *)task)->finished);
}

static int parallel_for(struct bench *b, const struct options *o)
{
    struct whole whole = {.task = {.work = run_whole, .done = whole_done},
                          .bench = b,
                          .options = o,
                          .exit_status = 1};
    struct thread_pool *pool = NULL;
    if (thread_pool_new(b->n_threads, &pool) != STATUS_OK) {
        fprintf(stderr, "leat-bench: %s\n", status_message());
        return 1;
    }
    b->executor = thread_pool_executor(pool);
    sem_init(&whole.finished, 0, 0);
    thread_pool_submit(pool, 0, &whole.task);
    while (sem_wait(&whole.finished) != 0) {
    }
    thread_pool_free(pool);
    return whole.exit_status;
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"backend", 'b', "NAME", 0, "cpu (default) or cuda", 0},
        {"threads", 't', "N", 0, "CPU threads (default: all)", 0},
        {"json", 'j', NULL, 0, "one JSON object on stdout", 0},
        {"smoke", 's', NULL, 0, "small inputs, one run: only check the answers", 0},
        {"list", 'l', NULL, 0, "say which cases there are", 0},
        {0},
    };
    static const struct argp parser = {
        known,       parse_option,
        "[NAME...]", "Times leat's parts beside the machine's ceilings and other programs.",
        NULL,        NULL,
        NULL};
    backend_prepare();
    struct options o = {.backend = "cpu", .n_threads = cpus_allowed()};
    argp_parse(&parser, argc, argv, 0, NULL, &o);
    if (o.list) {
        list_cases();
        return 0;
    }
    struct bench b = {.n_threads = o.n_threads, .smoke = o.smoke};
    if (!find_places(&b)) {
        return 1;
    }
    int exit_status = parallel_for(&b, &o);
    const char *const remove[] = {"rm", "-rf", b.scratch, NULL};
    return bench_spawn(remove, NULL, 0) == STATUS_OK ? exit_status : 1;
}
