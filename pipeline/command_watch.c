/*
 * command_watch - leat watch: the service, in the foreground. What it says goes to stderr, as
 * systemd and people expect it.
 */
#include "formats/log.h"
#include "pipeline/commands.h"
#include "pipeline/report.h"
#include "pipeline/service.h"

int command_watch(int argc, char **argv)
{
    struct settings settings;
    bool done = false;
    if (settings_parse(argc, argv, &settings, &done) != STATUS_OK) {
        log_error("%s", status_message());
        return 2;
    }
    if (done) {
        settings_free(&settings);
        return 0;
    }
    report_set_level(&settings);
    return service_run(argc, argv, &settings);
}
