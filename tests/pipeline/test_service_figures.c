/*
 * What the service counts: by pipeline, by how long, by minute, by cause.
 */
#include "pipeline/service/service_figures.h"
#include "pipeline/worker/worker_protocol.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static json_t *document_of(const struct service_figures *f, uint64_t minute)
{
    json_t *d = json_object();
    service_figures_put(f, 60.0 * (double)minute, d);
    return d;
}

/* The entry of a list whose `key` says `what`. */
static const json_t *entry_of(const json_t *d, const char *list, const char *key, const char *what)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(d, list), i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, key)), what) == 0) {
            return entry;
        }
    }
    return NULL;
}

static json_int_t number(const json_t *entry, const char *key)
{
    assert_true(json_is_integer(json_object_get(entry, key)));
    return json_integer_value(json_object_get(entry, key));
}

TEST(jobs_are_counted_by_pipeline)
{
    struct service_figures f = {0};
    service_figures_done(&f, "kmeans", 5, 0.1, 0);
    service_figures_done(&f, "kmeans", 7, 0.1, 0);
    service_figures_failed(&f, "kmeans", 0);
    service_figures_done(&f, NULL, 11, -1, 0);
    service_figures_failed(&f, "of a later version", 0);
    json_t *d = document_of(&f, 0);
    const json_t *kmeans = entry_of(d, "pipelines", "pipeline", "kmeans");
    assert_int_equal(number(kmeans, "done"), 2);
    assert_int_equal(number(kmeans, "failed"), 1);
    assert_int_equal(number(kmeans, "input_bytes"), 12);
    assert_int_equal(number(entry_of(d, "pipelines", "pipeline", "archive"), "done"), 1);
    assert_int_equal(number(entry_of(d, "pipelines", "pipeline", "other"), "failed"), 1);
    assert_int_equal(number(entry_of(d, "pipelines", "pipeline", "pearson"), "done"), 0);
    json_decref(d);
}

TEST(buckets_count_up_to_their_bound)
{
    struct service_figures f = {0};
    const double seconds[] = {0, 0.05, 0.051, 1, 1800, 1801, -1 /* not known */};
    for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
        service_figures_done(&f, "pearson", 0, seconds[i], 0);
    }
    json_t *d = document_of(&f, 0);
    const json_t *latency = json_object_get(d, "latency");
    const json_t *buckets = json_object_get(latency, "buckets");
    assert_int_equal(json_array_size(buckets), FIGURES_BUCKETS);
    assert_int_equal(number(json_array_get(buckets, 0), "count"), 2);
    assert_int_equal(number(json_array_get(buckets, 1), "count"), 3);
    assert_int_equal(number(json_array_get(buckets, 4), "count"), 4);
    assert_int_equal(number(json_array_get(buckets, FIGURES_BUCKETS - 1), "count"), 5);
    assert_int_equal(number(latency, "count"), 6);
    assert_true(json_real_value(json_object_get(latency, "sum_s")) > 3602);
    json_decref(d);
}

TEST(minutes_are_of_the_last_hour_alone)
{
    struct service_figures f = {0};
    service_figures_done(&f, "pearson", 3, 0, 0);
    service_figures_failed(&f, "pearson", 60);
    service_figures_done(&f, "pearson", 4, 0, 3600); /* in the place of the first */
    json_t *d = document_of(&f, 60);
    const json_t *minutes = json_object_get(d, "minutes");
    assert_int_equal(json_array_size(minutes), FIGURES_MINUTES);
    assert_int_equal(number(json_array_get(minutes, 0), "failed"), 1);
    assert_int_equal(number(json_array_get(minutes, FIGURES_MINUTES - 1), "done"), 1);
    assert_int_equal(number(json_array_get(minutes, FIGURES_MINUTES - 1), "input_bytes"), 4);
    json_decref(d);
    d = document_of(&f, 200); /* nothing since */
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(d, "minutes"), i, m)
    {
        assert_int_equal(number(m, "done") + number(m, "failed"), 0);
    }
    json_decref(d);
    struct service_figures none = {0};
    d = document_of(&none, 0);
    assert_int_equal(json_array_size(json_object_get(d, "minutes")), 1);
    json_decref(d);
}

static double rate(const struct service_figures *f, double age_s, const char *key)
{
    json_t *d = json_object();
    service_figures_put(f, age_s, d);
    const double value = json_real_value(json_object_get(json_object_get(d, "rates"), key));
    json_decref(d);
    return value;
}

TEST(rates_are_of_the_last_minute_and_quarter_of_an_hour)
{
    struct service_figures f = {0};
    for (uint64_t second = 0; second < 2000; second++) { /* one a second, of ten bytes */
        service_figures_done(&f, "pearson", 10, 0, second);
    }
    assert_true(rate(&f, 1999.9, "jobs_per_s_1min") == 1);
    assert_true(rate(&f, 1999.9, "bytes_per_s_1min") == 10);
    assert_true(rate(&f, 2028.0, "jobs_per_s_1min") == 31.0 / 60); /* 1969 to 1999 */
    assert_true(rate(&f, 2059.0, "jobs_per_s_1min") == 0);
    /* 33 minutes and a part: the quarter is of the present minute and 14 before */
    assert_true(rate(&f, 2039.0, "jobs_per_s_15min") == (2000 - 19 * 60) / 900.0);
    assert_true(rate(&f, 2000 + 900.0, "jobs_per_s_15min") == 0);
    struct service_figures young = {0};
    service_figures_done(&young, "pearson", 10, 0, 0);
    assert_true(rate(&young, 0.5, "jobs_per_s_1min") == 1);
    assert_true(rate(&young, 4.0, "jobs_per_s_15min") == 0.25);
    service_figures_failed(&young, "pearson", 4);
    json_t *d = document_of(&young, 1);
    const json_t *totals = json_object_get(d, "totals");
    assert_true(number(totals, "done") == 1 && number(totals, "failed") == 1);
    assert_true(number(totals, "input_bytes") == 10 && number(totals, "requeued") == 0);
    json_decref(d);
}

TEST(the_words_of_a_pause_say_its_cause)
{
    char text[256];
    static const struct {
        int error; /* 0: none is behind the words */
        const char *words;
        enum figures_cause cause;
    } cases[] = {{EDQUOT, "cannot write x: ", FIGURES_SPACE},
                 {0, "'/a/.work' has 3 MiB free, 256 MiB required", FIGURES_SPACE},
                 {0, "x: there is no space for it", FIGURES_SPACE},
                 {0, "'/o' has no 'f' (x), which require_mount asks for", FIGURES_MOUNT},
                 {ENOENT, "'/o' has no 'f', which require_mount asks for: ", FIGURES_MOUNT},
                 {0, "no memory for a table", FIGURES_MEMORY},
                 {ENOMEM, "cannot read x: ", FIGURES_MEMORY},
                 {0, "'/a/in' is gone", FIGURES_OTHER},
                 {EIO, "cannot read x: ", FIGURES_OTHER},
                 {ENOSPC, "cannot write x: ", FIGURES_SPACE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(text, sizeof(text), "%s%s", cases[i].words,
                 cases[i].error != 0 ? strerror(cases[i].error) : "");
        assert_int_equal(service_figures_cause(text), cases[i].cause);
    }
    struct service_figures f = {0};
    service_figures_pause(&f, text);
    service_figures_tick(&f, true, 1000);
    service_figures_tick(&f, true, 2500);
    service_figures_tick(&f, false, 3000);
    service_figures_tick(&f, false, 9000);
    json_t *d = document_of(&f, 0);
    assert_int_equal(number(entry_of(d, "pauses", "cause", "space"), "count"), 1);
    assert_int_equal(number(entry_of(d, "pauses", "cause", "memory"), "count"), 0);
    assert_true(json_real_value(json_object_get(d, "paused_s")) == 2);
    json_decref(d);
}

TEST(what_a_job_used_is_added_and_nonsense_is_not)
{
    struct figures_busy busy = {0};
    json_t *timing = json_pack("{s:{s:{s:f}, s:{s:s}}, s:{s:f}, s:i}", "lanes", "read", "busy_s",
                               0.5, "write", "busy_s", "x", "device", "device_s", 2.0, "cpu_s", -3);
    json_t *said = worker_pack_busy(timing), *nonsense = json_pack("[s, i, f]", "x", -1, 1e9);
    service_figures_busy(&busy, said);
    service_figures_busy(&busy, said);
    service_figures_busy(&busy, nonsense);
    service_figures_busy(&busy, NULL);
    json_decref(timing);
    json_decref(said);
    json_decref(nonsense);
    for (size_t i = 0; i < ENGINE_LANES + 4; i++) {
        assert_int_equal(busy.ns[i], i == LANE_READ          ? 1000000000
                                     : i == ENGINE_LANES + 1 ? 4000000000
                                                             : 0);
    }
    json_t *packed = service_figures_pack_busy(&busy);
    assert_int_equal(json_array_size(json_object_get(packed, "lanes")), ENGINE_LANES);
    json_decref(packed);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
