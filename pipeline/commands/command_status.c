/*
 * command_status - leat status: what a running service is doing, for people or (--json) as the
 * service says it, but for failures that have been retried; --failed: what lies in failed/, whether
 * a service runs or not.
 */
#include "pipeline/commands/commands.h"
#include "pipeline/names/text.h"
#include "pipeline/status/failed_jobs.h"
#include "pipeline/status/status_ask.h"
#include "pipeline/status/status_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void print_json(const json_t *document)
{
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
}

static enum status print_failed(const struct settings *s)
{
    char *spool;
    json_t *list = NULL;
    enum status code = status_ask_spool(s, &spool);
    if (code == STATUS_OK) {
        code = failed_jobs_list(spool, &list);
    }
    if (code == STATUS_OK && s->json) {
        print_json(list);
    } else if (code == STATUS_OK && json_array_size(list) == 0) {
        puts("no failed jobs");
    } else if (code == STATUS_OK) {
        status_text_print_failed(stdout, list, SIZE_MAX, 0, spool);
    }
    json_decref(list);
    free(spool);
    return code;
}

enum status command_status(const struct settings *s, int *exit_status)
{
    json_t *document;
    *exit_status = 0;
    if (s->failed) {
        return print_failed(s);
    }
    STATUS_TRY(status_ask(s, &document));
    failed_jobs_drop_gone(text_at(document, "spool"), json_object_get(document, "failed"));
    *exit_status = status_text_is_ready(document) ? 0 : 1;
    if (s->json) {
        print_json(document);
    } else {
        status_text_print(stdout, document);
    }
    json_decref(document);
    return STATUS_OK;
}
