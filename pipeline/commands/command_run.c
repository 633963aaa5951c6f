/*
 * command_run - leat run: every input to a published result; one line a job for people (stderr), or
 * one JSON object a job for programs (stdout).
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/commands/report.h"
#include "pipeline/commands/runner.h"
#include "pipeline/names/text.h"

#include <stdio.h>

/* Of many jobs the first are listed, the others only when they fail (-v: all). */
enum { JOBS_LISTED = 16 };

struct told {
    const struct settings *settings;
    size_t n_done;
    size_t n_warned; /* of those that are not listed */
};

static void tell_warnings(const struct job_report *r)
{
    size_t i;
    json_t *text;
    json_array_foreach(json_object_get(r->manifest, "warnings"), i, text)
    {
        log_warning("%s: %s", r->path, json_string_value(text));
    }
}

static void tell_done(const struct settings *s, const struct job_report *r)
{
    const json_t *timing = json_object_get(r->manifest, "timing");
    const json_t *zip = json_array_get(json_object_get(r->manifest, "outputs"), 0);
    char time[TEXT_NUMBER_BYTES];
    log_info("%s -> %s/%s%s%s in %s", r->path, s->output, r->result, s->bundle ? "/" : "",
             s->bundle ? json_string_value(json_object_get(zip, "name")) : "",
             text_duration(time, json_number_value(json_object_get(timing, "wall_s"))));
}

static void tell_success(struct told *told, const struct job_report *r)
{
    const struct settings *s = told->settings;
    if (s->quiet) {
        return;
    }
    if (s->verbose || told->n_done <= JOBS_LISTED) {
        tell_warnings(r);
        tell_done(s, r);
        return;
    }
    if (told->n_done == JOBS_LISTED + 1) {
        log_info("further successful jobs are not listed (-v: all)");
    }
    told->n_warned += json_array_size(json_object_get(r->manifest, "warnings")) > 0 ? 1 : 0;
}

static void on_ended(void *user, const struct job_report *r)
{
    struct told *told = user;
    if (r->code == STATUS_OK) {
        told->n_done++;
        tell_success(told, r);
    } else if (r->code == STATUS_SKIPPED) {
        log_debug("%s: skipped, %s", r->path, r->message);
    } else {
        runner_tell_failure(r);
    }
    if (told->settings->json) {
        report_print(r, told->settings->output);
    }
}

/* Of one job there is nothing to add up, unless it is skipped, of which nobody has spoken. */
static void tell_totals(void *user, const struct runner_totals *t)
{
    const struct told *told = user;
    const size_t n = t->n_done + t->n_failed + t->n_skipped;
    char skipped[48] = "", by[256] = "";
    char size[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES],
        jobs[TEXT_NUMBER_BYTES];
    if (told->settings->quiet || n == 0 ||
        (n == 1 && t->n_skipped == 0 && !told->settings->verbose)) {
        return;
    }
    if (told->n_warned > 0) {
        log_warning("%zu further result%s warnings, which their result.json has (-v: all of them)",
                    told->n_warned, told->n_warned == 1 ? " has" : "s have");
    }
    if (t->n_skipped > 0) {
        snprintf(skipped, sizeof(skipped), ", %zu skipped", t->n_skipped);
    }
    if (t->n_ranks > 1) {
        snprintf(by, sizeof(by), ", by %zu ranks", t->n_ranks);
    } else if (told->settings->verbose) {
        snprintf(by, sizeof(by), ", %s, on %s; pipeline efficiency %.2f, bound by %s",
                 text_rate(jobs, (double)t->n_done / t->wall_s), t->backend, t->efficiency.value,
                 t->efficiency.bound_by);
    }
    log_info("%zu job%s done%s, %zu failed: %s in %s (%s/s)%s", t->n_done,
             t->n_done == 1 ? "" : "s", skipped, t->n_failed, text_size(size, t->input_bytes),
             text_duration(time, t->wall_s),
             text_size(rate, (uint64_t)((double)t->input_bytes / t->wall_s)), by);
}

enum status command_run(const struct settings *s, int *exit_status)
{
    struct told told = {.settings = s};
    const struct runner_listener listener = {
        .ended = on_ended, .all_ended = tell_totals, .user = &told};
    return runner_run(s, false, &listener, exit_status);
}
