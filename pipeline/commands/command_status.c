/*
 * command_status - leat status: what a running service is doing, for people or (--json) as the
 * service says it; --failed: what lies in failed/, whether a service runs or not.
 */
#include "pipeline/commands/commands.h"
#include "pipeline/status/failed_jobs.h"
#include "pipeline/status/status_file.h"
#include "pipeline/status/status_text.h"

#include <stdint.h>
#include <stdio.h>

static void print_json(const json_t *document)
{
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
}

static enum status print_failed(const struct settings *s)
{
    json_t *list;
    size_t n;
    STATUS_TRY(failed_jobs_list(s->spool, SIZE_MAX, &list, &n));
    if (s->json) {
        print_json(list);
    } else if (n == 0) {
        puts("no failed jobs");
    } else {
        status_text_print_failed(stdout, list, SIZE_MAX, 0, s->spool);
    }
    json_decref(list);
    return STATUS_OK;
}

enum status command_status(const struct settings *s, int *exit_status)
{
    json_t *document;
    *exit_status = 0;
    if (s->failed) {
        return print_failed(s);
    }
    STATUS_TRY(status_file_read(s->spool, &document));
    *exit_status = status_text_is_ready(document) ? 0 : 1;
    if (s->json) {
        print_json(document);
    } else {
        status_text_print(stdout, document);
    }
    json_decref(document);
    return STATUS_OK;
}
