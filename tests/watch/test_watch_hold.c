/*
 * A hold outlives the process, whatever instant that dies at, and leaves nothing behind.
 */
#include "tests/support/spool_fixture.h"

#include <errno.h>
#include <sys/wait.h>

static struct spool_job *new_claimed_job(void)
{
    put("in/a.csv", "1");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_QUEUED);
    return job;
}

/* The only job that is found at a start. */
static struct spool_job *found_job(void)
{
    struct spool_recovery r;
    recover(&r);
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.n_failed + r.n_finished + r.n_aside, 0);
    struct spool_job *const job = r.jobs[0];
    r.n_jobs = 0;
    spool_recovery_free(&r);
    return job;
}

SPOOL_TEST(a_hold_is_found_at_the_next_start_and_so_is_its_end)
{
    struct spool_job *job = new_claimed_job();
    assert_int_equal(spool_hold(s, job, false), STATUS_OK);
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    spool_job_free(job);
    job = found_job();
    assert_true(job->held);
    assert_int_equal(spool_hold(s, job, false), STATUS_OK);
    spool_job_free(job);
    job = found_job();
    assert_false(job->held);
    spool_job_free(job);
}

SPOOL_TEST(a_held_job_that_ends_leaves_nothing)
{
    struct spool_job *job = new_claimed_job();
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    work_on(job);
    spool_job_free(job);
    nothing_is_left_over();
    job = new_claimed_job();
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    fail_job(job, "deleted", "deleted by the administrator");
    struct spool_job *again = retry(job->id);
    spool_job_free(job);
    spool_job_free(again); /* as if killed */
    again = found_job();
    assert_false(again->held);
    spool_verify(s, &again, 1);
    work_on(again);
    spool_job_free(again);
    nothing_is_left_over();
}

SPOOL_TEST(what_cannot_be_put_on_disk_is_said)
{
    struct spool_job *job = new_claimed_job();
    static const char *const steps[] = {"hold.record", "hold.folder"};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        strcpy(spool_fault->fail_step, steps[i]);
        spool_fault->error = ENOSPC;
        assert_int_equal(spool_hold(s, job, true), STATUS_NO_SPACE);
        spool_fault_clear();
    }
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    spool_job_free(job);
    job = found_job();
    assert_true(job->held);
    spool_job_free(job);
}

SPOOL_TEST(a_hold_that_is_said_to_have_failed_holds_at_no_later_start)
{
    struct spool_job *job = new_claimed_job();
    unsigned n_failed = 0;
    bool is_reached = true;
    for (unsigned long k = 1; is_reached; k++) {
        spool_fault_clear();
        spool_fault->fail_at = k;
        spool_fault->error = EIO;
        const enum status code = spool_hold(s, job, true);
        is_reached = spool_fault->n_changes >= k;
        assert_int_equal(job->held, code == STATUS_OK);
        n_failed += code != STATUS_OK;
        spool_fault_clear();
        spool_job_free(job);
        job = found_job();
        assert_int_equal(job->held, code == STATUS_OK);
        assert_int_equal(spool_hold(s, job, false), STATUS_OK);
    }
    assert_true(n_failed >= 5); /* the record made, written, on disk, in place, and that on disk */
    spool_job_free(job);
}

/* A child that holds the job, or releases it, dies before or after its k-th change; false: it makes
 * no k-th. */
static bool dies_at(struct spool_job *job, bool hold, unsigned long k, bool before)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        *(before ? &spool_fault->die_before : &spool_fault->die_after) = spool_fault->n_changes + k;
        _exit(spool_hold(s, job, hold) == STATUS_OK ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_true(WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == SPOOL_FAULT_DIED);
    return WEXITSTATUS(how) == SPOOL_FAULT_DIED;
}

SPOOL_TEST(whatever_instant_it_dies_at_the_job_is_held_or_not)
{
    struct spool_job *job = new_claimed_job();
    unsigned n = 0;
    for (int hold = 0; hold <= 1; hold++) {
        bool died = true;
        for (unsigned long k = 1; died; k++) {
            for (int before = 0; before <= 1; before++) {
                assert_int_equal(spool_hold(s, job, hold == 0), STATUS_OK);
                died = dies_at(job, hold == 1, k, before == 1);
                n += died;
                spool_job_free(job);
                job = found_job();
                assert_true(died || job->held == (hold == 1));
            }
        }
    }
    assert_true(n >= 2 * 2 * 5);
    assert_int_equal(spool_hold(s, job, false), STATUS_OK);
    spool_verify(s, &job, 1);
    work_on(job);
    spool_job_free(job);
    nothing_is_left_over();
}

/* Whatever rewrites the record of a job that cannot be published now. */
SPOOL_TEST(a_record_keeps_its_commit)
{
    struct spool_job *job = new_claimed_job();
    attempt(job);
    strcpy(spool_fault->fail_step, "publish.out");
    spool_fault->error = EIO;
    spool_finish(s, &job, 1);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_COMMITTED);
    spool_fault_clear();
    assert_int_equal(spool_hold(s, job, true), STATUS_OK);
    spool_job_free(job);
    struct spool_recovery r;
    recover(&r);
    assert_int_equal(r.n_finished, 1);
    spool_recovery_free(&r);
    nothing_is_left_over();
}

int main(void)
{
    return unit_run(NULL, NULL);
}
