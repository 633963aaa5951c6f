/*
 * service_figures - see service_figures.h.
 */
#include "pipeline/service/service_figures.h"

#include "stages/stage.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Upper bounds of the latency's buckets, in seconds: from a small table to a long simulation. */
static const double bounds_s[FIGURES_BUCKETS] = {0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                                 5,    10,  30,   60,  300, 1800};

static const char *const causes[FIGURES_CAUSES] = {"space", "memory", "mount", "other"};

/* --- jobs ------------------------------------------------------------------------------------- */

static size_t n_stages(void)
{
    size_t n = 0;
    while (stage_registry[n] != NULL) {
        n++;
    }
    return n < FIGURES_PIPELINES - 2 ? n : FIGURES_PIPELINES - 2;
}

/* Its place: as in the registry; then archives, then what this version does not know. */
static size_t place_of(const char *pipeline)
{
    const size_t n = n_stages();
    for (size_t i = 0; i < n && pipeline != NULL; i++) {
        if (strcmp(stage_registry[i]->name, pipeline) == 0) {
            return i;
        }
    }
    return pipeline == NULL ? n : n + 1;
}

static const char *name_at(size_t place)
{
    const size_t n = n_stages();
    return place < n ? stage_registry[place]->name : place == n ? "archive" : "other";
}

static struct figures_count *count_at(struct figures_count *ring, uint64_t at)
{
    struct figures_count *const c = &ring[at % FIGURES_MINUTES];
    if (c->at != at) {
        *c = (struct figures_count){.at = at};
    }
    return c;
}

/* Of the last n minutes, or seconds, of a ring, the present one included. */
static struct figures_count sum_of(const struct figures_count *ring, uint64_t now, uint64_t n)
{
    struct figures_count sum = {.at = now};
    for (size_t i = 0; i < FIGURES_MINUTES; i++) {
        if (ring[i].at <= now && now - ring[i].at < n) {
            sum.done += ring[i].done;
            sum.failed += ring[i].failed;
            sum.input_bytes += ring[i].input_bytes;
        }
    }
    return sum;
}

static void add_done(struct figures_count *c, uint64_t input_bytes)
{
    c->done++;
    c->input_bytes += input_bytes;
}

void service_figures_done(struct service_figures *f, const char *pipeline, uint64_t input_bytes,
                          double latency_s, uint64_t second)
{
    const size_t place = place_of(pipeline);
    f->n_done++;
    f->input_bytes += input_bytes;
    f->pipelines[place].done++;
    f->pipelines[place].input_bytes += input_bytes;
    add_done(count_at(f->minutes, second / 60), input_bytes);
    add_done(count_at(f->seconds, second), input_bytes);
    if (latency_s >= 0) {
        size_t i = 0;
        while (i < FIGURES_BUCKETS && latency_s > bounds_s[i]) {
            i++;
        }
        f->latency[i]++;
        f->latency_s += latency_s;
    }
}

void service_figures_failed(struct service_figures *f, const char *pipeline, uint64_t second)
{
    f->n_failed++;
    f->pipelines[place_of(pipeline)].failed++;
    count_at(f->minutes, second / 60)->failed++;
}

/* --- pauses ----------------------------------------------------------------------------------- */

enum figures_cause service_figures_cause(const char *why)
{
    if (strstr(why, strerror(ENOSPC)) != NULL || strstr(why, strerror(EDQUOT)) != NULL ||
        strstr(why, "MiB required") != NULL || strstr(why, "no space") != NULL) {
        return FIGURES_SPACE;
    }
    if (strstr(why, "require_mount") != NULL) {
        return FIGURES_MOUNT;
    }
    return strstr(why, strerror(ENOMEM)) != NULL || strstr(why, "no memory") != NULL
               ? FIGURES_MEMORY
               : FIGURES_OTHER;
}

void service_figures_pause(struct service_figures *f, const char *why)
{
    f->pauses[service_figures_cause(why)]++;
}

void service_figures_tick(struct service_figures *f, bool is_paused, uint64_t now_ms)
{
    if (f->is_paused) {
        f->paused_ms += now_ms - f->looked_ms;
    }
    f->is_paused = is_paused;
    f->looked_ms = now_ms;
}

/* --- busy time -------------------------------------------------------------------------------- */

void service_figures_busy(struct figures_busy *busy, const json_t *list)
{
    for (size_t i = 0; i < sizeof(busy->ns) / sizeof(*busy->ns); i++) {
        const json_int_t ns = json_integer_value(json_array_get(list, i));
        busy->ns[i] += ns > 0 ? (uint64_t)ns : 0;
    }
}

static double seconds(const struct figures_busy *busy, size_t i)
{
    return (double)busy->ns[i] * 1e-9;
}

json_t *service_figures_pack_busy(const struct figures_busy *busy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        json_array_append_new(list, json_pack("{s:s, s:f}", "lane", engine_lane_names[i], "busy_s",
                                              seconds(busy, i)));
    }
    return json_pack("{s:o, s:f, s:f, s:f, s:f}", "lanes", list, "cpu_s",
                     seconds(busy, ENGINE_LANES), "device_s", seconds(busy, ENGINE_LANES + 1),
                     "upload_s", seconds(busy, ENGINE_LANES + 2), "download_s",
                     seconds(busy, ENGINE_LANES + 3));
}

/* --- the document ----------------------------------------------------------------------------- */

static json_t *pack_pipelines(const struct service_figures *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n_stages() + 2; i++) {
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "pipeline", name_at(i),
                                              "done", (json_int_t)f->pipelines[i].done, "failed",
                                              (json_int_t)f->pipelines[i].failed, "input_bytes",
                                              (json_int_t)f->pipelines[i].input_bytes));
    }
    return list;
}

/* Counts up to each bound, as Prometheus has them. */
static json_t *pack_latency(const struct service_figures *f)
{
    json_t *list = json_array();
    uint64_t n = 0;
    for (size_t i = 0; i < FIGURES_BUCKETS; i++) {
        n += f->latency[i];
        json_array_append_new(list,
                              json_pack("{s:f, s:I}", "le_s", bounds_s[i], "count", (json_int_t)n));
    }
    n += f->latency[FIGURES_BUCKETS];
    return json_pack("{s:o, s:I, s:f}", "buckets", list, "count", (json_int_t)n, "sum_s",
                     f->latency_s);
}

static json_t *pack_minutes(const struct service_figures *f, uint64_t minute)
{
    json_t *list = json_array();
    const uint64_t n = minute + 1 < FIGURES_MINUTES ? minute + 1 : FIGURES_MINUTES;
    for (uint64_t m = minute + 1 - n; m <= minute; m++) {
        const struct figures_count c = sum_of(f->minutes, m, 1);
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "done", (json_int_t)c.done,
                                              "failed", (json_int_t)c.failed, "input_bytes",
                                              (json_int_t)c.input_bytes));
    }
    return list;
}

static json_t *pack_pauses(const struct service_figures *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < FIGURES_CAUSES; i++) {
        json_array_append_new(
            list, json_pack("{s:s, s:I}", "cause", causes[i], "count", (json_int_t)f->pauses[i]));
    }
    return list;
}

void service_figures_put(const struct service_figures *f, double age_s, json_t *document)
{
    enum { MINUTE = 60, QUARTER = 15 };
    const uint64_t second = (uint64_t)age_s, minute = second / 60;
    /* Of what there has been of the last minute, and of the last quarter of an hour. */
    const struct figures_count last = sum_of(f->seconds, second, MINUTE);
    const struct figures_count quarter = sum_of(f->minutes, minute, QUARTER);
    const double last_s = fmin(fmax(age_s, 1), MINUTE);
    const double quarter_s = fmin(fmax(age_s, 1), 60 * QUARTER);
    json_t *figures = json_pack(
        "{s:{s:I, s:I, s:I, s:I}, s:{s:f, s:f, s:f}, s:o, s:o, s:o, s:o, s:f}", "totals", "done",
        (json_int_t)f->n_done, "failed", (json_int_t)f->n_failed, "requeued",
        (json_int_t)f->n_requeued, "input_bytes", (json_int_t)f->input_bytes, "rates",
        "jobs_per_s_1min", (double)last.done / last_s, "jobs_per_s_15min",
        (double)quarter.done / quarter_s, "bytes_per_s_1min", (double)last.input_bytes / last_s,
        "pipelines", pack_pipelines(f), "latency", pack_latency(f), "minutes",
        pack_minutes(f, minute), "pauses", pack_pauses(f), "paused_s", (double)f->paused_ms * 1e-3);
    json_object_update_new(document, figures);
}
