/*
 * status_text - see status_text.h.
 */
#include "pipeline/status/status_text.h"

#include "pipeline/names/text.h"

#include <string.h>

/* Of each list that many lines; the document (--json) has more. */
enum { SHOWN = 8 };

static double number_at(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* "  label      ": what follows stands in the second column. */
static void label(FILE *out, const char *text)
{
    fprintf(out, "  %-10s ", text);
}

static void put_pair(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    text_put(out, text);
    fputs(after, out);
}

/* Of `total` things, of which a list holds the first n_listed; `most` of them have been shown. */
static size_t not_shown(size_t n_listed, size_t most, size_t total)
{
    const size_t n = n_listed > total ? n_listed : total;
    return n - (n_listed < most ? n_listed : most);
}

static void print_state(FILE *out, const json_t *d)
{
    char duration[TEXT_NUMBER_BYTES];
    const char *why = text_at(d, "why");
    put_pair(out, "leat ", text_at(d, "leat"), "");
    fprintf(out, ", pid %lld: ", (long long)text_count_at(d, "pid"));
    text_put(out, text_at(d, "state"));
    fputs(json_is_true(json_object_get(d, "ready")) ? ", ready" : ", not ready", out);
    fprintf(out, ", up for %s\n", text_age(duration, number_at(d, "uptime_s")));
    if (*why != '\0') {
        label(out, "");
        put_pair(out, "", why, "\n");
    }
    label(out, "folder");
    put_pair(out, "", text_at(d, "spool"), "");
    if (*text_at(d, "watching") != '\0') { /* it is not, yet */
        put_pair(out, " (", text_at(d, "watching"), ")");
    }
    putc('\n', out);
    if (*text_at(d, "leases") != '\0') {
        label(out, "");
        put_pair(out, "", text_at(d, "leases"), "\n");
    }
    label(out, "results");
    put_pair(out, "", text_at(d, "output"), "\n");
    if (json_is_object(json_object_get(d, "page"))) {
        const json_t *page = json_object_get(d, "page");
        label(out, "page");
        put_pair(out, "", text_at(page, "address"), *text_at(page, "why") != '\0' ? ": " : "");
        put_pair(out, "", text_at(page, "why"), "\n");
    }
}

static void print_worker(FILE *out, const json_t *w)
{
    char duration[TEXT_NUMBER_BYTES];
    put_pair(out, "", text_at(w, "name"), "");
    if (*text_at(w, "device") != '\0') {
        put_pair(out, " (", text_at(w, "device"), ")");
    }
    put_pair(out, ": ", text_at(w, "state"), "");
    if (text_count_at(w, "pid") > 0) {
        fprintf(out, ", pid %lld", (long long)text_count_at(w, "pid"));
    }
    if (number_at(w, "again_in_s") > 0) {
        fprintf(out, ", again in %s", text_age(duration, number_at(w, "again_in_s")));
    }
    if (text_count_at(w, "deaths") > 0) {
        fprintf(out, ", %lld death%s", (long long)text_count_at(w, "deaths"),
                text_count_at(w, "deaths") == 1 ? "" : "s");
    }
    if (*text_at(w, "why") != '\0') {
        put_pair(out, ": ", text_at(w, "why"), "");
    }
    putc('\n', out);
}

static void print_steps(FILE *out, const json_t *j, double total)
{
    char left[TEXT_NUMBER_BYTES];
    const double done = number_at(j, "steps");
    fprintf(out, ", step %.0f of %.0f", done, total);
    if (done > 0 && done < total) {
        fprintf(out, ", %.0f %%, %s left", 100 * done / total,
                text_time_left(left, number_at(j, "for_s") / done * (total - done)));
    }
}

static void print_job(FILE *out, const json_t *j)
{
    char size[TEXT_NUMBER_BYTES], duration[TEXT_NUMBER_BYTES];
    const double n_steps = number_at(j, "total_steps");
    const char *const pipeline = text_at(j, "pipeline");
    double bytes = number_at(j, "bytes"), total = number_at(j, "total_bytes");
    put_pair(out, "", text_at(j, "name"), "");
    put_pair(out, " (", pipeline, *pipeline != '\0' ? " " : ""); /* none of what is refused */
    put_pair(out, "on ", text_at(j, "worker"), ")");
    if (*text_at(j, "waits_for") != '\0') {
        put_pair(out, ", waits for ", text_at(j, "waits_for"), "");
    } else if (n_steps > 0) {
        print_steps(out, j, n_steps);
    } else if (total > 0 && total < 0x1p63) {
        double share = bytes > 0 ? bytes / total : 0;
        fprintf(out, ", %.0f %% of %s read", share < 1 ? 100 * share : 100,
                text_size(size, (uint64_t)total));
    }
    fprintf(out, ", %s", text_age(duration, number_at(j, "for_s")));
    if (text_count_at(j, "attempt") > 1) {
        fprintf(out, ", attempt %lld", (long long)text_count_at(j, "attempt"));
    }
    putc('\n', out);
}

static void print_waiting(FILE *out, const json_t *w)
{
    char duration[TEXT_NUMBER_BYTES];
    put_pair(out, "", text_at(w, "path"), "");
    put_pair(out, ": ", text_at(w, "reason"), "");
    fprintf(out, " (%s)\n", text_age(duration, number_at(w, "since_s")));
}

/* A list under a label: the first ones, a line each, and how many of all there are not. */
static void print_list(FILE *out, const char *name, const json_t *list, size_t total,
                       void (*print)(FILE *out, const json_t *entry))
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        label(out, i == 0 ? name : "");
        print(out, json_array_get(list, i));
    }
    if (n > 0 && not_shown(n, SHOWN, total) > 0) {
        label(out, "");
        fprintf(out, "and %zu more\n", not_shown(n, SHOWN, total));
    }
}

static void print_rates(FILE *out, const json_t *d)
{
    const json_t *totals = json_object_get(d, "totals"), *rates = json_object_get(d, "rates");
    char size[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES];
    char minute[TEXT_NUMBER_BYTES], quarter[TEXT_NUMBER_BYTES];
    double bytes = number_at(rates, "bytes_per_s_1min");
    label(out, "so far");
    fprintf(out, "%lld done, %lld failed, %lld requeued; %s read\n",
            (long long)text_count_at(totals, "done"), (long long)text_count_at(totals, "failed"),
            (long long)text_count_at(totals, "requeued"),
            text_size(size, (uint64_t)text_count_at(totals, "input_bytes")));
    label(out, "rates");
    fprintf(out, "%s and %s/s in the last minute, %s in the last 15\n",
            text_rate(minute, number_at(rates, "jobs_per_s_1min")),
            text_size(rate, bytes > 0 && bytes < 0x1p63 ? (uint64_t)bytes : 0),
            text_rate(quarter, number_at(rates, "jobs_per_s_15min")));
}

/* What is kept no longer. */
static void print_removed(FILE *out, const json_t *removed)
{
    char size[TEXT_NUMBER_BYTES];
    const json_int_t n_inputs = text_count_at(removed, "inputs"),
                     n_jobs = text_count_at(removed, "jobs");
    if (n_inputs + n_jobs > 0) {
        label(out, "removed");
        fprintf(out, "%lld inputs from done/, %lld jobs from failed/; %s\n", (long long)n_inputs,
                (long long)n_jobs, text_size(size, (uint64_t)text_count_at(removed, "bytes")));
    }
    if (*text_at(removed, "why") != '\0') {
        label(out, n_inputs + n_jobs > 0 ? "" : "removed");
        put_pair(out, "not all that keep_done and keep_failed ask for: ", text_at(removed, "why"),
                 "\n");
    }
}

/* What lies beside grids and came too late for them. */
static void print_late(FILE *out, const json_t *late)
{
    if (text_count_at(late, "files") > 0) {
        label(out, "too late");
        fprintf(out, "%lld file%s for grids taken before, now in done/; the last: ",
                (long long)text_count_at(late, "files"),
                text_count_at(late, "files") == 1 ? "" : "s");
        put_pair(out, "", text_at(late, "path"), "\n");
    }
}

/* on_done and on_failed. */
static void print_hooks(FILE *out, const json_t *hooks)
{
    const json_int_t n_run = text_count_at(hooks, "run"),
                     n_waiting = text_count_at(hooks, "waiting"),
                     n_dropped = text_count_at(hooks, "dropped");
    if (n_run + n_waiting + n_dropped == 0) {
        return;
    }
    label(out, "commands");
    fprintf(out, "%lld run, %lld of them failed; %lld at work, %lld waiting, %lld left out\n",
            (long long)n_run, (long long)text_count_at(hooks, "failed"),
            (long long)text_count_at(hooks, "running"), (long long)n_waiting, (long long)n_dropped);
}

void status_text_print_failed(FILE *out, const json_t *failed, size_t most, size_t total,
                              const char *spool)
{
    const size_t n = json_array_size(failed);
    for (size_t i = 0; i < n && i < most; i++) {
        const json_t *f = json_array_get(failed, i);
        put_pair(out, "  ", text_at(f, "id"), "  ");
        put_pair(out, "", text_at(f, "name"), "");
        put_pair(out, ": ", text_at(f, "kind"), "\n");
        put_pair(out, "      ", text_at(f, "text"), "\n");
    }
    if (not_shown(n, most, total) > 0) {
        fprintf(out, "  and %zu more\n", not_shown(n, most, total));
    }
    if (n > 0) {
        fputs("After fixing the cause:  leat retry ", out);
        text_put_word(out, text_at(json_array_get(failed, 0), "id"));
        if (*spool != '\0') {
            fputs(" --spool ", out);
            text_put_word(out, spool);
        }
        putc('\n', out);
    }
}

/* Of the last jobs that are done those with warnings, the last one first, a line a sentence. */
static void print_warnings(FILE *out, const json_t *done)
{
    size_t i, k, n_shown = 0, n_left = 0;
    json_t *job, *text;
    json_array_foreach(done, i, job)
    {
        json_array_foreach(json_object_get(job, "warnings"), k, text)
        {
            if (n_shown == SHOWN) {
                n_left++;
                continue;
            }
            fputs(n_shown++ == 0 ? "Last warnings\n" : "", out);
            put_pair(out, "  ", text_at(job, "name"), ": ");
            put_pair(out, "", json_string_value(text) != NULL ? json_string_value(text) : "", "\n");
        }
    }
    if (n_left > 0) {
        fprintf(out, "  and %zu more\n", n_left);
    }
}

void status_text_print(FILE *out, const json_t *document)
{
    size_t n_waiting = (size_t)text_count_at(document, "n_waiting");
    const json_t *failed = json_object_get(document, "failed");
    const json_int_t n_failed = text_count_at(document, "n_failed");
    print_state(out, document);
    print_list(out, "workers", json_object_get(document, "workers"), 0, print_worker);
    print_list(out, "at work", json_object_get(document, "in_flight"), 0, print_job);
    label(out, "queued");
    fprintf(out, "%lld\n", (long long)text_count_at(document, "n_queued"));
    label(out, "waiting");
    fprintf(out, "%zu\n", n_waiting);
    /* Places that cannot be looked at are one entry, which is no file. */
    print_list(out, "", json_object_get(document, "waiting"),
               n_waiting + (text_count_at(document, "n_troubles") > 0), print_waiting);
    print_rates(out, document);
    print_hooks(out, json_object_get(document, "hooks"));
    print_removed(out, json_object_get(document, "removed"));
    print_late(out, json_object_get(document, "late"));
    print_warnings(out, json_object_get(document, "done"));
    if (json_array_size(failed) > 0) {
        fputs("Last failures\n", out);
        status_text_print_failed(out, failed, SHOWN, (size_t)n_failed, text_at(document, "spool"));
    }
}

bool status_text_is_ready(const json_t *document)
{
    return json_is_true(json_object_get(document, "ready")) &&
           strcmp(text_at(document, "state"), "running") == 0;
}
