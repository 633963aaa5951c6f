/*
 * Signals that cannot be watched for: the service and the run end before they begin, say why, and
 * leave nothing open.
 * ctest: wrap=uv_signal_init,uv_loop_close
 */
#include "pipeline/commands/runner.h"
#include "pipeline/service/service.h"
#include "tests/support/settings_given.h"

#include <uv.h>

int __real_uv_signal_init(uv_loop_t *loop, uv_signal_t *signal);
int __wrap_uv_signal_init(uv_loop_t *loop, uv_signal_t *signal);
int __real_uv_loop_close(uv_loop_t *loop);
int __wrap_uv_loop_close(uv_loop_t *loop);

static int signals_until_failure;
static int loop_closed; /* what the last uv_loop_close has said */

int __wrap_uv_signal_init(uv_loop_t *loop, uv_signal_t *signal)
{
    if (--signals_until_failure == 0) {
        memset(signal, 0xA5, sizeof(*signal)); /* nobody may rely on what is in it */
        return UV_EMFILE;
    }
    return __real_uv_signal_init(loop, signal);
}

int __wrap_uv_loop_close(uv_loop_t *loop)
{
    loop_closed = __real_uv_loop_close(loop);
    return loop_closed;
}

static char folder[] = "/tmp/leat-signals-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return chdir("/") == 0 ? system(command) : -1;
}

TEST(service_without_a_signal_ends_with_nothing_open)
{
    static char leat[] = "leat", watch[] = "watch";
    char *argv[] = {leat, watch, NULL};
    for (int k = 1; k <= 3; k++) {
        struct settings settings = must_parse("watch --spool spool");
        signals_until_failure = k;
        loop_closed = 1;
        assert_int_equal(service_run(2, argv, &settings), 2);
        assert_int_equal(loop_closed, 0);
        assert_int_equal(access("s.sock", F_OK), -1);
    }
    assert_int_equal(access("spool/in", F_OK), 0);
}

TEST(run_without_a_signal_ends_with_nothing_open)
{
    for (int k = 1; k <= 2; k++) {
        const struct runner_listener nobody = {0};
        int exit_status;
        struct settings settings = must_parse("run -b cpu -j 1 --threads 1 x.clusters.csv");
        signals_until_failure = k;
        loop_closed = 1;
        assert_int_equal(runner_run(&settings, true, &nobody, &exit_status), STATUS_IO);
        assert_non_null(strstr(status_message(), "signals: too many open files"));
        assert_int_equal(loop_closed, 0);
        settings_free(&settings);
    }
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
