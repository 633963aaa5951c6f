/*
 * page_metrics - see page_metrics.h. Names and units as Prometheus asks for them: base units, and
 * _total behind what only grows since the service's start.
 */
#include "pipeline/page/page_metrics.h"

#include "pipeline/names/text.h"
#include "pipeline/page/page_template.h"
#include "pipeline/status/status_text.h"
#include "watch/files/xalloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct label {
    const char *name, *key; /* of its value; "=a": it is always a */
};

/* Samples of one name stand together; the first of them has the words. */
static const struct metric {
    const char *name, *type, *help;
    const char *lists[2]; /* whose entries have a sample each, the second within the first's */
    const char *key;      /* of the number or truth, in the entry or the document; "a.b": b of a */
    const char *state;    /* 1 if the text at the key is this, or this is "", else 0 */
    struct label labels[2];
} metrics[] = {
    {"leat_build_info", "gauge", "1, with the version as its label.", .key = "leat", .state = "",
     .labels = {{"version", "leat"}}},
    {"leat_uptime_seconds", "gauge", "Seconds since the service started.", .key = "uptime_s"},
    {"leat_jobs_total", "counter", "Jobs that have ended, by pipeline and outcome.",
     .lists = {"pipelines"}, .key = "done",
     .labels = {{"pipeline", "pipeline"}, {"outcome", "=done"}}},
    {"leat_jobs_total", .lists = {"pipelines"}, .key = "failed",
     .labels = {{"pipeline", "pipeline"}, {"outcome", "=failed"}}},
    {"leat_input_bytes_total", "counter", "Bytes of the inputs of jobs that are done.",
     .lists = {"pipelines"}, .key = "input_bytes", .labels = {{"pipeline", "pipeline"}}},
    {"leat_requeued_total", "counter", "Times that a job went back into the queue.",
     .key = "totals.requeued"},
    {"leat_open_jobs", "gauge",
     "Files and jobs now: waiting for something, queued for a worker, or running.",
     .key = "n_waiting", .labels = {{"state", "=waiting"}}},
    {"leat_open_jobs", .key = "n_queued", .labels = {{"state", "=queued"}}},
    {"leat_open_jobs", .key = "n_running", .labels = {{"state", "=running"}}},
    {"leat_queue_age_seconds", "gauge",
     "Seconds since the oldest queued job was dropped; 0 if none is queued.",
     .key = "oldest_queued_s"},
    {"leat_part_wait_seconds", "gauge",
     "Seconds since the oldest file that waits for another part of its job was dropped; 0 if none "
     "waits.",
     .key = "oldest_part_s"},
    {"leat_failed_jobs", "gauge", "Jobs that have failed since the start and are still in failed/.",
     .key = "n_failed"},
    {"leat_troubles", "gauge", "Folders and files that cannot be looked at.", .key = "n_troubles"},
    {"leat_latency_seconds", "histogram",
     "Seconds from the drop of a job's last file to its result.", .key = "latency"},
    {"leat_lane_busy_seconds_total", "counter",
     "Seconds that lanes spent on jobs that are done, added up over jobs.",
     .lists = {"workers", "busy.lanes"}, .key = "busy_s",
     .labels = {{"worker", "name"}, {"lane", "lane"}}},
    {"leat_cpu_seconds_total", "counter", "Seconds of CPU time that jobs that are done have used.",
     .lists = {"workers"}, .key = "busy.cpu_s", .labels = {{"worker", "name"}}},
    {"leat_device_busy_seconds_total", "counter",
     "Seconds that devices spent on jobs that are done.", .lists = {"workers"},
     .key = "busy.device_s", .labels = {{"worker", "name"}, {"use", "=compute"}}},
    {"leat_device_busy_seconds_total", .lists = {"workers"}, .key = "busy.upload_s",
     .labels = {{"worker", "name"}, {"use", "=upload"}}},
    {"leat_device_busy_seconds_total", .lists = {"workers"}, .key = "busy.download_s",
     .labels = {{"worker", "name"}, {"use", "=download"}}},
    {"leat_worker_deaths_total", "counter", "Times that the worker has died.", .lists = {"workers"},
     .key = "deaths", .labels = {{"worker", "name"}}},
    {"leat_worker_up", "gauge", "1 if the worker takes jobs, else 0.", .lists = {"workers"},
     .key = "state", .state = "ready", .labels = {{"worker", "name"}}},
    {"leat_pauses_total", "counter", "Pauses of the service, by what it lacked.",
     .lists = {"pauses"}, .key = "count", .labels = {{"cause", "cause"}}},
    {"leat_paused_seconds_total", "counter", "Seconds that the service has been paused.",
     .key = "paused_s"},
    {"leat_paused", "gauge", "1 if the service is paused, else 0.", .key = "state",
     .state = "paused"},
    {"leat_page_restarts_total", "counter", "Times that the page's process was restarted.",
     .key = "page.restarts"},
};

struct writer {
    struct bytes *out;
    const char *said; /* the metric whose words were written last; NULL: none */
};

/* --- samples ---------------------------------------------------------------------------------- */

static void put(struct writer *w, const char *text)
{
    page_put(w->out, text, strlen(text));
}

/* "NAMEend", after the metric's words if it is the first sample. */
static void put_name(struct writer *w, const struct metric *m, const char *end)
{
    if (w->said == NULL || strcmp(w->said, m->name) != 0) {
        (void)!xalloc_status(bytes_printf(w->out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help,
                                          m->name, m->type));
        w->said = m->name;
    }
    put(w, m->name);
    put(w, end);
}

static void put_number(struct writer *w, double value)
{
    (void)!xalloc_status(bytes_printf(w->out, " %.15g\n", value));
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
            page_put(w->out, text, 1);
        }
    }
}

static const json_t *value_at(const json_t *o, const char *key)
{
    const char *dot = strchr(key, '.');
    char outer[16];
    if (dot == NULL) {
        return json_object_get(o, key);
    }
    snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
    return json_object_get(json_object_get(o, outer), dot + 1);
}

/* Of an entry, which may be one of an entry of the first list. */
static void put_labels(struct writer *w, const struct metric *m, const json_t *outer,
                       const json_t *entry)
{
    for (size_t i = 0; i < 2 && m->labels[i].name != NULL; i++) {
        const char *key = m->labels[i].key;
        put(w, i == 0 ? "{" : ",");
        put(w, m->labels[i].name);
        put(w, "=\"");
        put_label_value(w, *key == '=' ? key + 1 : text_at(i == 0 ? outer : entry, key));
        put(w, "\"");
    }
    put(w, m->labels[0].name != NULL ? "}" : "");
}

static void put_sample(struct writer *w, const struct metric *m, const json_t *outer,
                       const json_t *entry)
{
    const json_t *value = value_at(entry, m->key);
    const bool is_state = m->state != NULL && json_is_string(value);
    if (is_state || json_is_number(value) || json_is_boolean(value)) {
        put_name(w, m, "");
        put_labels(w, m, outer, entry);
        put_number(w, is_state
                          ? *m->state == '\0' || strcmp(json_string_value(value), m->state) == 0
                      : json_is_number(value) ? json_number_value(value)
                                              : json_is_true(value));
    }
}

static void put_histogram(struct writer *w, const struct metric *m, const json_t *d)
{
    const json_t *at = json_object_get(d, m->key);
    const double count = json_number_value(json_object_get(at, "count"));
    size_t i;
    json_t *bucket;
    json_array_foreach(json_object_get(at, "buckets"), i, bucket)
    {
        put_name(w, m, "_bucket");
        (void)!xalloc_status(bytes_printf(w->out, "{le=\"%.15g\"}",
                                          json_number_value(json_object_get(bucket, "le_s"))));
        put_number(w, json_number_value(json_object_get(bucket, "count")));
    }
    if (json_is_object(at)) {
        put_name(w, m, "_bucket{le=\"+Inf\"}");
        put_number(w, count);
        put_name(w, m, "_sum");
        put_number(w, json_number_value(json_object_get(at, "sum_s")));
        put_name(w, m, "_count");
        put_number(w, count);
    }
}

/* A sample for each entry of the metric's list number `depth`, or of the one within it. */
static void put_metric(struct writer *w, const struct metric *m, size_t depth, const json_t *outer,
                       const json_t *at)
{
    size_t i;
    json_t *entry;
    if (depth == 2 || m->lists[depth] == NULL) {
        put_sample(w, m, outer, at);
        return;
    }
    json_array_foreach(value_at(at, m->lists[depth]), i, entry)
    {
        put_metric(w, m, depth + 1, depth == 0 ? entry : outer, entry);
    }
}

void page_metrics(const json_t *d, struct bytes *out)
{
    static const struct metric ready = {.name = "leat_ready",
                                        .type = "gauge",
                                        .help = "1 if the service is running and ready, else 0."};
    struct writer w = {.out = out};
    put_name(&w, &ready, "");
    put_number(&w, status_text_is_ready(d));
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
        if (strcmp(metrics[i].type != NULL ? metrics[i].type : "", "histogram") == 0) {
            put_histogram(&w, &metrics[i], d);
        } else {
            put_metric(&w, &metrics[i], 0, d, d);
        }
    }
}
