/*
 * command_status - leat status: what a running service is doing, for people or (--json) as the
 * service says it; --failed: what lies in failed/, whether a service runs or not.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/settings/settings.h"
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

/* *ready: the exit status is 0. */
static enum status print_status(const struct settings *s, bool *ready)
{
    json_t *document;
    enum status code = status_ask(s, &document);
    if (code != STATUS_OK) {
        return code;
    }
    *ready = status_text_is_ready(document);
    if (s->json) {
        print_json(document);
    } else {
        status_text_print(stdout, document);
    }
    json_decref(document);
    return STATUS_OK;
}

int command_status(int argc, char **argv)
{
    struct settings settings;
    bool done = false, ready = true;
    enum status code = settings_parse(argc, argv, &settings, &done);
    if (code == STATUS_OK && !done) {
        settings_set_log_level(&settings);
        code = settings.failed ? print_failed(&settings) : print_status(&settings, &ready);
    }
    if (code != STATUS_OK) {
        log_error("%s", status_message());
    }
    settings_free(&settings);
    return code != STATUS_OK ? 2 : ready ? 0 : 1;
}
