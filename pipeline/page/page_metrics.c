/*
 * page_metrics - see page_metrics.h. Names and units as Prometheus asks for them: base units, and
 * _total behind what only grows since the service's start.
 */
#include "pipeline/page/page_metrics.h"

#include "pipeline/names/text.h"
#include "pipeline/status/status_text.h"

#include <stdbool.h>
#include <string.h>

struct writer {
    struct bytes *out;
    enum status code;
};

/* --- samples ---------------------------------------------------------------------------------- */

static void put(struct writer *w, const char *text)
{
    bytes_put(w->out, text, strlen(text), &w->code);
}

static void head(struct writer *w, const char *name, const char *type, const char *help)
{
    put(w, "# HELP ");
    put(w, name);
    put(w, " ");
    put(w, help);
    put(w, "\n# TYPE ");
    put(w, name);
    put(w, " ");
    put(w, type);
    put(w, "\n");
}

static void put_number(struct writer *w, double value)
{
    if (w->code == STATUS_OK) {
        w->code = bytes_printf(w->out, "%.15g", value);
    }
}

/* What ends a label's value, and a line, stands behind a backslash. */
static void put_label_value(struct writer *w, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            put(w, "\\n");
        } else {
            if (*text == '"' || *text == '\\') {
                put(w, "\\");
            }
            bytes_put(w->out, text, 1, &w->code);
        }
    }
}

struct label {
    const char *name, *value;
};

/* Up to two labels; those without a name are left out. */
static void sample(struct writer *w, const char *name, struct label a, struct label b, double value)
{
    const struct label labels[] = {a, b};
    bool any = false;
    put(w, name);
    for (size_t i = 0; i < 2; i++) {
        if (labels[i].name != NULL) {
            put(w, any ? "," : "{");
            put(w, labels[i].name);
            put(w, "=\"");
            put_label_value(w, labels[i].value);
            put(w, "\"");
            any = true;
        }
    }
    put(w, any ? "} " : " ");
    put_number(w, value);
    put(w, "\n");
}

static const struct label no_label = {NULL, NULL};

static double number_at(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* One sample, with its head. */
static void single(struct writer *w, const char *name, const char *type, const char *help,
                   const json_t *value)
{
    if (json_is_number(value) || json_is_boolean(value)) {
        head(w, name, type, help);
        sample(w, name, no_label, no_label,
               json_is_boolean(value) ? json_is_true(value) : json_number_value(value));
    }
}

/* --- what there is ---------------------------------------------------------------------------- */

static void put_jobs(struct writer *w, const json_t *pipelines)
{
    static const char jobs[] = "leat_jobs_total", bytes[] = "leat_input_bytes_total";
    static const char *const outcomes[] = {"done", "failed"};
    size_t i;
    json_t *p;
    if (json_array_size(pipelines) == 0) {
        return;
    }
    head(w, jobs, "counter", "Jobs that have ended, by pipeline and outcome.");
    json_array_foreach(pipelines, i, p)
    {
        for (size_t k = 0; k < 2; k++) {
            sample(w, jobs, (struct label){"pipeline", text_at(p, "pipeline")},
                   (struct label){"outcome", outcomes[k]}, number_at(p, outcomes[k]));
        }
    }
    head(w, bytes, "counter", "Bytes of the inputs of jobs that are done.");
    json_array_foreach(pipelines, i, p)
    {
        sample(w, bytes, (struct label){"pipeline", text_at(p, "pipeline")}, no_label,
               number_at(p, "input_bytes"));
    }
}

static void put_now(struct writer *w, const json_t *d)
{
    static const char name[] = "leat_open_jobs";
    const struct {
        const char *state;
        double n;
    } states[] = {{"waiting", number_at(d, "n_waiting")},
                  {"queued", number_at(d, "n_queued")},
                  {"running", number_at(d, "n_running")}};
    head(w, name, "gauge",
         "Files and jobs now: waiting for something, queued for a worker, or running.");
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        sample(w, name, (struct label){"state", states[i].state}, no_label, states[i].n);
    }
    single(w, "leat_queue_age_seconds", "gauge",
           "Time since the drop of the oldest job that is queued; 0 when none is.",
           json_object_get(d, "oldest_queued_s"));
    single(w, "leat_failed_jobs", "gauge",
           "Jobs that have failed since the start and are still in failed/.",
           json_object_get(d, "n_failed"));
    single(w, "leat_troubles", "gauge", "Folders and files that cannot be looked at.",
           json_object_get(d, "n_troubles"));
}

static void put_latency(struct writer *w, const json_t *latency)
{
    static const char name[] = "leat_latency_seconds";
    size_t i;
    json_t *bucket;
    if (!json_is_object(latency)) {
        return;
    }
    head(w, name, "histogram", "From the drop of a job's last file to its result.");
    json_array_foreach(json_object_get(latency, "buckets"), i, bucket)
    {
        if (w->code == STATUS_OK) {
            w->code = bytes_printf(w->out, "%s_bucket{le=\"%.15g\"} %.15g\n", name,
                                   number_at(bucket, "le_s"), number_at(bucket, "count"));
        }
    }
    const double count = number_at(latency, "count");
    if (w->code == STATUS_OK) {
        w->code =
            bytes_printf(w->out, "%s_bucket{le=\"+Inf\"} %.15g\n%s_sum %.15g\n%s_count %.15g\n",
                         name, count, name, number_at(latency, "sum_s"), name, count);
    }
}

static void put_lanes(struct writer *w, const json_t *workers)
{
    static const char name[] = "leat_lane_busy_seconds_total";
    size_t i, k;
    json_t *worker, *lane;
    head(w, name, "counter", "Seconds that lanes were busy with jobs that are done, job by job.");
    json_array_foreach(workers, i, worker)
    {
        const json_t *busy = json_object_get(worker, "busy");
        json_array_foreach(json_object_get(busy, "lanes"), k, lane)
        {
            sample(w, name, (struct label){"worker", text_at(worker, "name")},
                   (struct label){"lane", text_at(lane, "lane")}, number_at(lane, "busy_s"));
        }
    }
}

/* One sample a worker. */
static void put_of_workers(struct writer *w, const char *name, const char *type, const char *help,
                           const json_t *workers, double (*value)(const json_t *worker))
{
    size_t i;
    json_t *worker;
    head(w, name, type, help);
    json_array_foreach(workers, i, worker)
    {
        sample(w, name, (struct label){"worker", text_at(worker, "name")}, no_label, value(worker));
    }
}

static double cpu_of(const json_t *worker)
{
    return number_at(json_object_get(worker, "busy"), "cpu_s");
}

static double deaths_of(const json_t *worker)
{
    return number_at(worker, "deaths");
}

static double is_up(const json_t *worker)
{
    return strcmp(text_at(worker, "state"), "ready") == 0;
}

static void put_workers(struct writer *w, const json_t *workers)
{
    static const char device[] = "leat_device_busy_seconds_total";
    static const char *const uses[][2] = {
        {"compute", "device_s"}, {"upload", "upload_s"}, {"download", "download_s"}};
    size_t i;
    json_t *worker;
    if (json_array_size(workers) == 0) {
        return;
    }
    put_lanes(w, workers);
    put_of_workers(w, "leat_cpu_seconds_total", "counter",
                   "CPU time that jobs which are done have used.", workers, cpu_of);
    head(w, device, "counter", "Seconds that devices were busy with jobs that are done.");
    json_array_foreach(workers, i, worker)
    {
        for (size_t k = 0; k < sizeof(uses) / sizeof(*uses); k++) {
            sample(w, device, (struct label){"worker", text_at(worker, "name")},
                   (struct label){"use", uses[k][0]},
                   number_at(json_object_get(worker, "busy"), uses[k][1]));
        }
    }
    put_of_workers(w, "leat_worker_deaths_total", "counter",
                   "How often the worker has ended by itself.", workers, deaths_of);
    put_of_workers(w, "leat_worker_up", "gauge", "Whether the worker takes jobs.", workers, is_up);
}

static void put_pauses(struct writer *w, const json_t *d)
{
    static const char name[] = "leat_pauses_total";
    const json_t *pauses = json_object_get(d, "pauses");
    size_t i;
    json_t *p;
    if (json_array_size(pauses) > 0) {
        head(w, name, "counter", "Pauses of the service, by what was missing.");
    }
    json_array_foreach(pauses, i, p)
    {
        sample(w, name, (struct label){"cause", text_at(p, "cause")}, no_label,
               number_at(p, "count"));
    }
    single(w, "leat_paused_seconds_total", "counter", "How long the service has been paused.",
           json_object_get(d, "paused_s"));
    head(w, "leat_paused", "gauge", "Whether the service is paused.");
    sample(w, "leat_paused", no_label, no_label, strcmp(text_at(d, "state"), "paused") == 0);
}

enum status page_metrics(const json_t *d, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    head(&w, "leat_ready", "gauge", "Whether the service runs, and does what was asked for.");
    sample(&w, "leat_ready", no_label, no_label, status_text_is_ready(d));
    single(&w, "leat_uptime_seconds", "gauge", "How long the service has been running.",
           json_object_get(d, "uptime_s"));
    head(&w, "leat_build_info", "gauge", "1, with the version as its label.");
    sample(&w, "leat_build_info", (struct label){"version", text_at(d, "leat")}, no_label, 1);
    put_jobs(&w, json_object_get(d, "pipelines"));
    single(&w, "leat_requeued_total", "counter", "How often jobs were put back into the queue.",
           json_object_get(json_object_get(d, "totals"), "requeued"));
    put_now(&w, d);
    put_latency(&w, json_object_get(d, "latency"));
    put_workers(&w, json_object_get(d, "workers"));
    put_pauses(&w, d);
    single(&w, "leat_page_restarts_total", "counter",
           "How often the page's process was started again.",
           json_object_get(json_object_get(d, "page"), "restarts"));
    return w.code;
}
