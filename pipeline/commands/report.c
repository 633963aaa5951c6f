/*
 * report - see report.h.
 */
#include "pipeline/commands/report.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/names/text.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *failure(const struct job_report *r)
{
    return json_pack("{s:o, s:s, s:o, s:s}", "input", text_json(r->path), "status",
                     status_name(r->code), "error", text_json(r->message), "meaning",
                     status_text(r->code));
}

/* OUTPUT/RESULT, or NULL where there is no memory. */
static json_t *place(const char *output, const char *result)
{
    char *path;
    if (asprintf(&path, "%s/%s", output, result) < 0) {
        return NULL;
    }
    json_t *o = text_json(path);
    free(path);
    return o;
}

static json_t *success(const struct job_report *r, const char *output)
{
    json_t *o =
        json_pack("{s:o, s:s}", "input", text_json(r->path), "status", status_name(r->code));
    bool whole = o != NULL && (output == NULL ||
                               json_object_set_new(o, "output", place(output, r->result)) == 0);
    if (!whole || json_object_update(o, (json_t *)r->manifest) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static json_t *skipped(const struct job_report *r, const char *output)
{
    return json_pack("{s:o, s:s, s:o, s:o}", "input", text_json(r->path), "status",
                     status_name(r->code), "output", place(output, r->result), "reason",
                     text_json(r->message));
}

void report_print(const struct job_report *r, const char *output)
{
    json_t *o = r->code == STATUS_OK        ? success(r, output)
                : r->code == STATUS_SKIPPED ? skipped(r, output)
                                            : failure(r);
    if (o == NULL) {
        log_error("%s: no memory to report on it", r->path);
        return;
    }
    char *text = json_write(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(o);
    if (text == NULL) {
        log_error("%s: no memory to report on it", r->path);
        return;
    }
    puts(text);
    fflush(stdout);
    free(text);
}
