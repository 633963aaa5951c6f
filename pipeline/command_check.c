/*
 * command_check - leat check: reads and validates every input as run would, and says what would be
 * done with it and how much memory that takes. Writes nothing.
 */
#include "formats/log.h"
#include "pipeline/commands.h"
#include "pipeline/runner.h"

#include <stdio.h>

static double megabytes(const json_t *memory, const char *key)
{
    return (double)json_integer_value(json_object_get(memory, key)) * 1e-6;
}

static void print_text(const struct job_report *r)
{
    const json_t *m = r->manifest, *shape = json_object_get(m, "shape");
    const json_t *memory = json_object_get(m, "memory");
    const json_t *input = json_array_get(json_object_get(m, "inputs"), 0);
    printf(
        "%s: %s, %lld lines of %lld numbers; pipeline %s, result '%s', needs %.1f MB + %.1f MB\n",
        r->path, json_string_value(json_object_get(input, "format")),
        json_integer_value(json_object_get(shape, "lines")),
        json_integer_value(json_object_get(shape, "cells_per_line")),
        json_string_value(json_object_get(m, "pipeline")), r->stem,
        megabytes(memory, "backend_bytes"), megabytes(memory, "host_bytes"));
    size_t i;
    json_t *text;
    json_array_foreach(json_object_get(m, "warnings"), i, text)
    {
        printf("  note: %s\n", json_string_value(text));
    }
}

static void print_json(const struct job_report *r)
{
    json_t *o = r->code == STATUS_OK ? json_pack("{s:s, s:s}", "input", r->path, "status", "ok")
                                     : json_pack("{s:s, s:s, s:s}", "input", r->path, "status",
                                                 status_name(r->code), "error", r->message);
    if (o != NULL && r->manifest != NULL) {
        json_object_update(o, (json_t *)r->manifest);
    }
    if (o != NULL) {
        json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
        putchar('\n');
        json_decref(o);
    }
}

static void on_ended(void *user, const struct job_report *r)
{
    const struct settings *s = user;
    if (r->code != STATUS_OK) {
        runner_tell_failure(r);
    }
    if (s->json) {
        print_json(r);
    } else if (r->code == STATUS_OK) {
        print_text(r);
    }
}

int command_check(int argc, char **argv)
{
    struct settings settings;
    bool done = false;
    enum status code = settings_parse(argc, argv, &settings, &done);
    int exit_status = 2;
    if (code == STATUS_OK && done) {
        exit_status = 0;
    } else if (code == STATUS_OK && settings.n_inputs == 0) {
        log_error("check: no input; name files, folders or archives (leat check --help)");
    } else if (code == STATUS_OK) {
        struct runner_totals totals;
        code = runner_run(&settings, true, on_ended, &settings, &totals);
        if (code == STATUS_OK) {
            exit_status = totals.n_failed == 0 && totals.n_done > 0                ? 0
                          : totals.n_done > 0 || totals.n_failed > totals.n_absent ? 1
                                                                                   : 2;
        }
    }
    if (code != STATUS_OK) {
        log_error("%s", status_message());
    }
    settings_free(&settings);
    return exit_status;
}
