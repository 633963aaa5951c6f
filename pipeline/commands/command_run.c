/*
 * command_run - leat run: every input to a published result; one line a job for people (stderr), or
 * one JSON object a job for programs (stdout).
 */
#include "formats/base/excerpt.h"
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/commands/runner.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

enum {
    JOBS_LISTED = 16,   /* of many jobs the first are listed, the others only when they fail */
    KINDS_TOLD = 100,   /* of warnings */
    FAILURES_NAMED = 10 /* at the end, again */
};

struct told {
    const struct settings *settings;
    size_t n_done, n_failed;
    json_t *warnings; /* kind -> {"of": the first file, "text", "more": further ones} */
    size_t n_untold;  /* warnings of further kinds */
    char *failed[FAILURES_NAMED];
    FILE *log; /* --job-log; NULL: none */
    size_t n_logged;
};

/* What warnings have in common that differ in numbers, files and quoted names: their other words;
 * for free(). */
static char *kind_of(const char *text)
{
    char *const kind = xcalloc(strlen(text) + 1, 1);
    size_t n = 0;
    while (*text != '\0') {
        bool varies = false;
        const char *end = text;
        while (*end != '\0' && *end != ' ') {
            const char *const quoted = *end == '\'' || *end == '"' ? strchr(end + 1, *end) : NULL;
            varies = varies || quoted != NULL || isdigit((unsigned char)*end) ||
                     (*end == '.' && isalnum((unsigned char)end[1]));
            end = quoted != NULL ? quoted + 1 : end + 1;
        }
        if (!varies) {
            memcpy(kind + n, text, (size_t)(end - text));
            n += (size_t)(end - text);
        } else if (n == 0 || kind[n - 1] != '0') {
            kind[n++] = '0';
        }
        text = end + strspn(end, " ");
    }
    return kind;
}

/* Each kind of warning is said once, and counted from then on. */
static void tell_warnings(struct told *told, const struct job_report *r)
{
    size_t i;
    json_t *text;
    json_array_foreach(json_object_get(r->manifest, "warnings"), i, text)
    {
        char *const kind = kind_of(json_string_value(text));
        json_t *const known = json_object_get(told->warnings, kind);
        const bool is_told = known == NULL && json_object_size(told->warnings) < KINDS_TOLD;
        if (is_told || told->settings->verbose) {
            log_warning("%s: %s", r->path, json_string_value(text));
        }
        if (known == NULL && !is_told) {
            told->n_untold++;
        } else if (known == NULL) {
            json_object_set_new(told->warnings, kind,
                                json_pack("{s:o, s:O, s:I}", "of", text_json(r->path), "text", text,
                                          "more", (json_int_t)0));
        } else {
            const json_t *const more = json_object_get(known, "more");
            json_object_set_new(known, "more", json_integer(json_integer_value(more) + 1));
        }
        free(kind);
    }
}

static void tell_warnings_again(const struct told *told)
{
    enum { BEGIN = 60 }; /* of the text that has been said */
    const char *kind;
    json_t *known;
    json_object_foreach(told->warnings, kind, known)
    {
        const long long more = json_integer_value(json_object_get(known, "more"));
        const char *const text = json_string_value(json_object_get(known, "text"));
        const char *const end = strlen(text) > BEGIN ? strchr(text + BEGIN, ' ') : NULL;
        if (more > 0) {
            log_warning("%lld more result%s the warning of %s: %.*s%s", more,
                        more == 1 ? " has" : "s have",
                        json_string_value(json_object_get(known, "of")),
                        end != NULL ? (int)(end - text) : (int)strlen(text), text,
                        end != NULL ? " ..." : "");
        }
    }
    if (told->n_untold > 0) {
        log_warning("%zu more warnings stand in the results (-v: all)", told->n_untold);
    }
}

static void note_failure(struct told *told, const char *path)
{
    if (told->n_failed < FAILURES_NAMED) {
        told->failed[told->n_failed] = xstrdup(path);
    }
    told->n_failed++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names once more, since much may have been said meanwhile. Other ranks' are counted. */
static void tell_failures(struct told *told, size_t n_failed)
{
    const size_t n = told->n_failed < FAILURES_NAMED ? told->n_failed : FAILURES_NAMED;
    char *names = xstrdup(""), more[48] = "";
    qsort(told->failed, n, sizeof(*told->failed), by_name);
    for (size_t i = 0; i < n; i++) {
        char *const longer = xasprintf("%s%s%s", names, i > 0 ? ", " : "", told->failed[i]);
        free(names);
        names = longer;
    }
    if (n_failed > n) {
        snprintf(more, sizeof(more), " and %zu more", n_failed - n);
    }
    log_error("failed, for the reasons above: %s%s", names, more);
    free(names);
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
    tell_warnings(told, r);
    if (s->verbose || told->n_done <= JOBS_LISTED) {
        tell_done(s, r);
    } else if (told->n_done == JOBS_LISTED + 1) {
        log_info("further successful jobs are not listed (-v: all)");
    }
}

/* --- the job log ------------------------------------------------------------------------------ */

/* Opens it, to be continued, maybe by several processes at a time. The columns are those of GNU
 * parallel's --joblog. */
static enum status open_log(const char *path, FILE **out)
{
    static const char head[] =
        "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
    *out = path != NULL ? fopen(path, "ae") : NULL;
    const bool is_locked =
        *out != NULL && flock(fileno(*out), LOCK_EX) == 0; /* one writes `head` */
    if (path != NULL && (*out == NULL || fseek(*out, 0, SEEK_END) != 0 ||
                         (ftell(*out) == 0 && (fputs(head, *out) < 0 || fflush(*out) != 0)))) {
        return status_fail_errno(errno, "--job-log: '%s' cannot be written", path);
    }
    if (is_locked) {
        (void)flock(fileno(*out), LOCK_UN);
    }
    return STATUS_OK;
}

static void log_job(struct told *told, const struct job_report *r)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double ran_s =
        r->started_ns > 0 ? (double)(thread_pool_now_ns() - r->started_ns) * 1e-9 : 0;
    const bool is_good = r->code == STATUS_OK || r->code == STATUS_SKIPPED;
    char *const path = xcalloc(4 * strlen(r->path) + 1, 1);
    excerpt_escape(path, r->path);
    fprintf(told->log, "%zu\t:\t%.3f\t%.3f\t0\t%llu\t%d\t0\t%s\n", ++told->n_logged,
            (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - ran_s, ran_s,
            (unsigned long long)r->input_bytes, is_good ? 0 : 1, path);
    fflush(told->log);
    free(path);
}

/* --- ends of jobs ----------------------------------------------------------------------------- */

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
        note_failure(told, r->path);
    }
    if (told->settings->json) {
        runner_print(r, told->settings->output);
    }
    if (told->log != NULL) {
        log_job(told, r);
    }
}

static void print_totals(const struct runner_totals *t)
{
    json_t *const o =
        json_pack("{s:{s:I, s:I, s:I, s:I, s:f}}", "totals", "done", (json_int_t)t->n_done,
                  "failed", (json_int_t)t->n_failed, "skipped", (json_int_t)t->n_skipped, "bytes",
                  (json_int_t)t->input_bytes, "wall_s", t->wall_s);
    runner_print_json(o);
    json_decref(o);
}

/* Of one job there is nothing to add up, unless it is skipped, of which nobody has spoken. */
static void tell_totals(void *user, const struct runner_totals *t)
{
    struct told *told = user;
    const size_t n = t->n_done + t->n_failed + t->n_skipped;
    char skipped[48] = "", by[256] = "";
    char size[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES], time[TEXT_NUMBER_BYTES],
        jobs[TEXT_NUMBER_BYTES];
    if (told->settings->json && n > 1) {
        print_totals(t);
    }
    if (told->settings->quiet || n == 0 ||
        (n == 1 && t->n_skipped == 0 && !told->settings->verbose)) {
        return;
    }
    if (!told->settings->verbose) {
        tell_warnings_again(told);
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
    if (told->n_failed > 0) {
        tell_failures(told, t->n_failed);
    }
}

enum status command_run(const struct settings *s, int *exit_status)
{
    struct told told = {.settings = s, .warnings = json_object()};
    const struct runner_listener listener = {
        .ended = on_ended, .all_ended = tell_totals, .user = &told};
    enum status code = open_log(s->job_log, &told.log);
    if (code == STATUS_OK) {
        code = runner_run(s, false, &listener, exit_status);
    }
    if (told.log != NULL && (ferror(told.log) | fclose(told.log)) != 0 && code == STATUS_OK) {
        code = status_fail(STATUS_IO, "--job-log: '%s' is not whole", s->job_log);
    }
    json_decref(told.warnings);
    for (size_t i = 0; i < FAILURES_NAMED; i++) {
        free(told.failed[i]);
    }
    return code;
}
