/*
 * command_watch - leat watch: the service, in the foreground. What it says goes to stderr, as
 * systemd and people expect it.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/service/service.h"

int command_watch(int argc, char **argv)
{
    struct settings settings;
    bool done = false;
    service_await_signals();
    const enum status code = settings_parse(argc, argv, &settings, &done);
    if (code != STATUS_OK) {
        log_error("%s", status_message());
        return 2;
    }
    if (done) {
        settings_free(&settings);
        return 0;
    }
    settings_set_log_level(&settings);
    return service_run(argc, argv, &settings);
}
