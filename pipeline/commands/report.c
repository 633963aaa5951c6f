/*
 * report - see report.h.
 */
#include "pipeline/commands/report.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static json_t *describe(const struct job_report *r, const char *output)
{
    json_t *const o =
        json_pack("{s:o, s:s}", "input", text_json(r->path), "status", status_name(r->code));
    const bool is_skipped = r->code == STATUS_SKIPPED;
    if (output != NULL && (r->code == STATUS_OK || is_skipped)) {
        char *const path = xasprintf("%s/%s", output, r->result);
        json_object_set_new(o, "output", text_json(path));
        free(path);
    }
    if (r->code == STATUS_OK) {
        json_object_update(o, (json_t *)r->manifest);
    } else {
        json_object_set_new(o, is_skipped ? "reason" : "error", text_json(r->message));
    }
    if (r->code != STATUS_OK && !is_skipped) {
        json_object_set_new(o, "meaning", json_string(status_text(r->code)));
    }
    return o;
}

void report_print(const struct job_report *r, const char *output)
{
    json_t *const o = describe(r, output);
    report_print_json(o);
    json_decref(o);
    fflush(stdout);
}

void report_print_json(const json_t *value)
{
    char *const text = xalloc_checked(json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    if (isatty(STDOUT_FILENO)) {
        log_progress(NULL); /* which stands in the line */
    }
    puts(text);
    free(text);
}
