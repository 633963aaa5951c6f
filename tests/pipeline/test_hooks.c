/*
 * Commands for jobs that have ended: what is killed with them.
 */
#include "pipeline/service/service_state.h"
#include "tests/support/unit.h"
#include "watch/files/xalloc.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    size_t n, n_strange; /* strange: another process may have the number by now */
} kills;

/* In place of the system's. */
int kill(pid_t pid, int signal)
{
    siginfo_t unused;
    const pid_t leader = pid < 0 ? -pid : pid;
    kills.n++;
    kills.n_strange +=
        leader < 2 || waitid(P_PID, (id_t)leader, &unused, WEXITED | WNOWAIT | WNOHANG) != 0;
    return (int)syscall(SYS_kill, pid, signal);
}

/* Runs `command` for a job that is done, to the end. */
static void run_for_a_job(char *command, double timeout_s)
{
    struct settings settings = {.on_done = command,
                                .output = (char *)"out",
                                .spool = (char *)".",
                                .hook_timeout_s = timeout_s};
    struct service s = {.settings = &settings};
    struct spool_job *spool;
    assert_int_equal(spool_job_new("", "x", (const char *const[]){"x.csv"}, 1, NULL, &spool),
                     STATUS_OK);
    struct service_job *job = service_job_new(spool);
    memset(&kills, 0, sizeof(kills));
    assert_int_equal(uv_loop_init(&s.loop), 0);
    hooks_done(&s, job);
    assert_true(hooks_are_left(&s));
    uv_run(&s.loop, UV_RUN_DEFAULT);
    assert_false(hooks_are_left(&s));
    assert_int_equal(uv_loop_close(&s.loop), 0);
    hooks_free(&s);
    service_job_free(job);
}

TEST(a_group_is_killed_while_its_leader_still_has_the_number)
{
    run_for_a_job((char *)"sh -c 'sleep 1000 >/dev/null 2>&1 &'", 0);
    assert_int_equal(kills.n, 1);
    assert_int_equal(kills.n_strange, 0);
    run_for_a_job((char *)"sh -c 'sleep 1000'", 0.01);
    assert_int_equal(kills.n, 2);
    assert_int_equal(kills.n_strange, 0);
}

TEST(nothing_is_killed_where_nothing_could_be_run)
{
    run_for_a_job((char *)"/no/such/program", 0);
    assert_int_equal(kills.n, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
