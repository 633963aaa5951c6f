/*
 * Results that are committed, and not yet known to be published: they wait for the folder that they
 * lie in, and a part that is missing is taken for published only when it was.
 */
#include "tests/support/spool_fixture.h"

#include <errno.h>

static struct spool_recovery r;

static void start(void)
{
    spool_recovery_free(&r);
    recover(&r);
}

static int tear_down_recovery(void **state)
{
    spool_recovery_free(&r);
    return tear_down(state);
}

#define PUBLISH_TEST(name) TEST_BETWEEN(name, set_up, tear_down_recovery)

/* A job of in/a.csv, committed. */
static struct spool_job *new_committed_job(const char *text)
{
    put("in/a.csv", text);
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    attempt(job);
    spool_durable(s, &job, 1);
    spool_commit(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_COMMITTED);
    return job;
}

static void the_one_job_has_ended(const char *result)
{
    assert_int_equal(r.n_finished, 1);
    assert_int_equal(r.n_parts, 0);
    holds("out/a/data/0", result);
    holds("done/a.csv", result);
    nothing_but_the_lock_is_left();
}

PUBLISH_TEST(committed_result_is_kept_while_another_folder_is_mounted_in_place_of_out)
{
    char path[64];
    struct spool_job *job = new_committed_job("1");
    snprintf(path, sizeof(path), ".work/%s/in/a.csv", job->id);
    spool_job_free(job);
    assert_int_equal(renameat(root_fd, "out", root_fd, "out.away"), 0);
    for (int i = 0; i < 2; i++) {
        start();
        assert_int_equal(r.n_finished, 0);
        assert_int_equal(r.n_jobs, 1);
        assert_int_equal(r.jobs[0]->outcome, SPOOL_TRANSIENT);
        assert_int_equal(r.jobs[0]->state, SPOOL_COMMITTED);
        assert_non_null(strstr(r.jobs[0]->message, "/out': is another folder mounted there?"));
        holds(path, "1");
    }
    assert_int_equal(unlinkat(root_fd, "out", AT_REMOVEDIR), 0);
    assert_int_equal(renameat(root_fd, "out.away", root_fd, "out"), 0);
    start();
    the_one_job_has_ended("1");
}

/* The commit of a job has its name, and cannot be synced. */
static struct spool_job *new_half_committed_job(void)
{
    char path[64];
    struct spool_job *job = new_worked_job("");
    spool_durable(s, &job, 1);
    strcpy(spool_fault->fail_step, "commit.folder");
    spool_fault->error = EIO;
    spool_commit(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_DURABLE);
    spool_fault_clear();
    snprintf(path, sizeof(path), ".work/%s/job", job->id);
    assert_non_null(strstr(text_of(root_fd, path), "\"commit\""));
    return job;
}

PUBLISH_TEST(commit_that_failed_is_not_found_after_the_job_went_back)
{
    struct spool_job *job = new_half_committed_job();
    spool_requeue(s, &job, 1, false);
    expect(job, SPOOL_OK, SPOOL_UNVERIFIED);
    spool_job_free(job);
    start();
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_UNVERIFIED);
    assert_int_equal(r.jobs[0]->n_attempts, 0);
    spool_verify(s, r.jobs, 1);
    work_on(r.jobs[0]);
    holds("out/a/data/0", "1");
}

PUBLISH_TEST(job_whose_commit_failed_and_cannot_be_taken_back_stays)
{
    static const char *const steps[] = {"uncommit.record", "uncommit.folder"};
    struct spool_job *job = new_half_committed_job();
    for (size_t i = 0; i < 2; i++) {
        strcpy(spool_fault->fail_step, steps[i]);
        spool_fault->error = EIO;
        spool_requeue(s, &job, 1, true);
        expect(job, SPOOL_TRANSIENT, SPOOL_DURABLE);
        assert_int_equal(count_entries(root_fd, "out"), 1); /* its part */
    }
    spool_fault_clear();
    fail_job(job, "internal", "given up");
    spool_job_free(job);
    start();
    assert_int_equal(r.n_jobs + r.n_finished, 0);
    is_empty("out");
}

PUBLISH_TEST(part_of_a_job_that_cannot_be_looked_at_is_not_swept)
{
    const bool is_root = geteuid() == 0;
    char path[64];
    char command[64];
    struct spool_job *job = new_committed_job("1");
    snprintf(path, sizeof(path), ".work/%s", job->id);
    spool_job_free(job);
    if (is_root) {
        snprintf(command, sizeof(command), "chown -R 65534 %s", root);
        assert_int_equal(system(command), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    assert_int_equal(fchmodat(root_fd, path, 0, 0), 0);
    start();
    const size_t n_parts = r.n_parts;
    const size_t n_finished = r.n_finished;
    assert_int_equal(fchmodat(root_fd, path, 0700, 0), 0);
    start();
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_int_equal(n_parts + n_finished, 0);
    the_one_job_has_ended("1");
}

PUBLISH_TEST(result_that_was_taken_away_before_its_inputs_were_archived_is_published)
{
    struct spool_job *job = new_committed_job("1");
    spool_publish(s, &job, 1);
    spool_job_free(job);
    assert_int_equal(renameat(root_fd, "out/a", root_fd, "taken"), 0);
    start();
    assert_int_equal(r.n_finished, 1);
    holds("done/a.csv", "1");
    nothing_but_the_lock_is_left();
}

PUBLISH_TEST(result_that_was_replaced_before_its_inputs_were_archived_is_published)
{
    spool_configure(s, false, true, 3, 0);
    struct spool_job *jobs[] = {new_committed_job("1"), new_committed_job("2")};
    spool_publish(s, jobs, 2);
    expect(jobs[1], SPOOL_OK, SPOOL_PUBLISHED);
    spool_job_free(jobs[0]);
    spool_job_free(jobs[1]);
    start();
    assert_int_equal(r.n_finished, 2);
    assert_int_equal(count_entries(root_fd, "out"), 1);
    holds("out/a/data/0", "2");
    assert_int_equal(count_entries(root_fd, "done"), 2);
    nothing_but_the_lock_is_left();
}

/* Jobs that end in the other order than they came in; at whatever instant the older one is cut off.
 */
/* By another service, say, which knows nothing of the job; and no mark of it is left. */
PUBLISH_TEST(result_of_a_younger_job_in_place_of_one_that_was_not_marked_is_enough)
{
    char text[128];
    spool_configure(s, false, true, 3, 0);
    struct spool_job *job = new_committed_job("1");
    put("in/b.csv", "2");
    struct spool_job *younger = new_job("", "b", "b.csv", NULL);
    spool_claim(s, &younger, 1);
    strcpy(spool_fault->fail_step, "publish.mark");
    spool_fault->error = EIO;
    spool_publish(s, &job, 1);
    spool_fault_clear();
    expect(job, SPOOL_OK, SPOOL_PUBLISHED);
    assert_int_equal(renameat(root_fd, "out/a", root_fd, "taken"), 0);
    snprintf(text, sizeof(text), "{\"schema\": 1, \"leat\": \"1.2.3\", \"job\": \"%s\"}",
             younger->id);
    put("out/a/result.json", text);
    spool_job_free(job);
    spool_job_free(younger);
    start();
    assert_int_equal(r.n_finished, 1);
    holds("out/a/result.json", text);
    holds("done/a.csv", "1");
}

PUBLISH_TEST(older_result_does_not_replace_that_of_a_younger_job)
{
    static const char *const faults[] = {"", "publish.name", "publish.mark", "publish.marks",
                                         "drop.part"};
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        spool_configure(s, true, true, 3, 0);
        struct spool_job *jobs[] = {new_committed_job("1"), new_committed_job("2")};
        spool_finish(s, &jobs[1], 1);
        expect(jobs[1], SPOOL_OK, SPOOL_ENDED);
        strcpy(spool_fault->fail_step, faults[i]);
        spool_fault->error = EIO;
        spool_finish(s, &jobs[0], 1);
        spool_fault_clear();
        spool_job_free(jobs[0]);
        spool_job_free(jobs[1]);
        start();
        holds("out/a/data/0", "2");
        assert_int_equal(count_entries(root_fd, "out"), 1);
        assert_int_equal(r.n_jobs, 0);
        nothing_is_left_over();
    }
}

/* What is left of it is never taken for a result, though its name has become free. */
PUBLISH_TEST(older_result_that_is_half_removed_is_not_published)
{
    char path[80];
    spool_configure(s, true, true, 3, 0);
    struct spool_job *jobs[] = {new_committed_job("1"), new_committed_job("2")};
    spool_finish(s, &jobs[1], 1);
    strcpy(spool_fault->fail_step, "drop.part");
    spool_fault->error = EIO;
    spool_publish(s, &jobs[0], 1);
    spool_fault_clear();
    expect(jobs[0], SPOOL_OK, SPOOL_PUBLISHED);
    snprintf(path, sizeof(path), "out/.%s." OWNER ".part/data/0", jobs[0]->id);
    assert_int_equal(unlinkat(root_fd, path, 0), 0);
    assert_int_equal(renameat(root_fd, "out/a", root_fd, "taken"), 0);
    spool_job_free(jobs[0]);
    spool_job_free(jobs[1]);
    start();
    is_empty("out");
    assert_int_equal(r.n_finished, 1);
    nothing_is_left_over();
}

/* Whatever its input is now, and also after a restart. */
PUBLISH_TEST(retried_job_is_as_old_as_it_was)
{
    for (int way = 0; way < 4; way++) {
        char path[64];
        spool_configure(s, true, true, 3, 0);
        put("in/a.csv", "1");
        struct spool_job *old = new_job("", "a", "a.csv", NULL);
        spool_claim(s, &old, 1);
        struct spool_job *young = new_committed_job("2");
        fail_job(old, "bad-input", "why");
        if (way % 2 == 1) {
            snprintf(path, sizeof(path), "failed/%s/in/a.csv", old->id);
            put(path, "corrected");
        }
        struct spool_job *again = retry(old->id);
        spool_job_free(old);
        if (way / 2 == 1) { /* the younger's result is there */
            spool_finish(s, &young, 1);
        }
        spool_verify(s, &again, 1);
        work_on(again);
        spool_job_free(again);
        if (way / 2 == 0) { /* its result, which came first, gives way to the younger's */
            holds("out/a/data/0", way % 2 == 1 ? "corrected" : "1");
            spool_finish(s, &young, 1);
        }
        spool_job_free(young);
        holds("out/a/data/0", "2");
        assert_int_equal(count_entries(root_fd, "out"), 1);
        nothing_is_left_over();
    }
}

PUBLISH_TEST(result_of_a_job_that_is_none_of_this_spool_is_replaced)
{
    static const char *const others[] = {
        "{\"schema\": 1, \"leat\": \"1\", \"job\": \"99981231-235959-999999\"}",
        "{\"schema\": 1, \"leat\": \"1\", \"job\": \"2\"}",
        "{\"schema\": 1, \"leat\": \"1\", \"pipeline\": \"pearson\"}", "", "{"};
    spool_configure(s, true, true, 3, 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        put("out/a/result.json", others[i]);
        struct spool_job *job = new_committed_job("mine");
        spool_finish(s, &job, 1);
        expect(job, SPOOL_OK, SPOOL_ENDED);
        holds("out/a/data/0", "mine");
        spool_job_free(job);
    }
}

PUBLISH_TEST(result_is_not_replaced_while_it_may_not_be_on_disk)
{
    spool_configure(s, false, true, 3, 0);
    put("in/a.csv", "1");
    run_job("", "a", "a.csv");
    struct spool_job *job = new_committed_job("2");
    strcpy(spool_fault->fail_step, "publish.marks");
    spool_fault->error = EIO;
    spool_publish(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_COMMITTED);
    holds("out/a/data/0", "1");
    spool_fault_clear();
    spool_finish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    holds("out/a/data/0", "2");
    spool_job_free(job);
}

/* What lies under the part's name then is the earlier result. */
PUBLISH_TEST(replaced_result_does_not_come_back_when_the_new_one_is_taken_away)
{
    spool_configure(s, false, true, 3, 0);
    put("in/a.csv", "1");
    run_job("", "a", "a.csv");
    struct spool_job *job = new_committed_job("2");
    strcpy(spool_fault->fail_step, "publish.out");
    spool_fault->error = EIO;
    spool_publish(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_COMMITTED);
    holds("out/a/data/0", "2");
    assert_int_equal(renameat(root_fd, "out/a", root_fd, "taken"), 0);
    spool_fault_clear();
    spool_finish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    is_empty("out");
    spool_job_free(job);
    nothing_is_left_over();
}

/* A power cut may leave both names of a file that was being moved. */
PUBLISH_TEST(input_that_lies_in_its_archive_already_is_not_archived_twice)
{
    char path[80];
    struct spool_job *job = new_committed_job("1");
    spool_publish(s, &job, 1);
    snprintf(path, sizeof(path), ".work/%s/published/a.csv", job->id);
    spool_job_free(job);
    assert_int_equal(linkat(root_fd, path, root_fd, "done/a.csv", 0), 0);
    start();
    the_one_job_has_ended("1");
    assert_int_equal(count_entries(root_fd, "done"), 1);
}

/* Of somebody else, and with the name only since the commit. */
PUBLISH_TEST(folder_that_is_no_result_is_not_replaced)
{
    char path[64];
    spool_configure(s, false, true, 3, 0);
    struct spool_job *job = new_committed_job("1");
    assert_string_equal(job->published, "a");
    put("out/a/notes", "mine");
    spool_publish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_PUBLISHED);
    holds("out/a/notes", "mine");
    snprintf(path, sizeof(path), "out/a~%s/data/0", job->id);
    holds(path, "1");
    spool_archive(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    spool_job_free(job);
    nothing_is_left_over();
}

/* --- folders ---------------------------------------------------------------------------------- */

/* A job of in/FOLDER/a.csv, which holds "1", committed. */
static struct spool_job *new_committed_job_in(const char *folder)
{
    struct spool_job *job = new_worked_job(folder);
    spool_durable(s, &job, 1);
    spool_commit(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_COMMITTED);
    return job;
}

static void publish_as(struct spool_job *job, const char *name)
{
    char path[128];
    spool_publish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_PUBLISHED);
    assert_string_equal(job->published, name);
    spool_archive(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    snprintf(path, sizeof(path), "out/%s/data/0", name);
    holds(path, "1");
    spool_job_free(job);
    nothing_but_the_lock_is_left();
}

PUBLISH_TEST(results_of_one_name_lie_in_the_folders_of_their_inputs)
{
    static const char *const folders[] = {"site A", "site B", "site A/2026", ""};
    spool_configure(s, false, true, 3, 0);
    for (size_t i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%sa", folders[i], *folders[i] != '\0' ? "/" : "");
        publish_as(new_committed_job_in(folders[i]), name);
    }
    assert_int_equal(count_entries(root_fd, "out"), 3);
}

/* Before the commit and after it, and when the other name is taken, too. */
PUBLISH_TEST(a_name_that_is_taken_becomes_another_in_the_same_folder)
{
    static const char *const folders[] = {"", "x/y/"};
    for (size_t i = 0; i < 2; i++) {
        for (unsigned taken = 0; taken < 4; taken++) {
            char folder[8], first[32], other[64], path[80], name[64];
            snprintf(folder, sizeof(folder), "%.*s", i == 0 ? 0 : 3, folders[i]);
            snprintf(first, sizeof(first), "out/%sa/mine", folders[i]);
            if ((taken & 1) == 0) {
                put(first, "first");
            }
            struct spool_job *job = new_committed_job_in(folder);
            put(first, "first");
            snprintf(other, sizeof(other), "%sa~%s", folders[i], job->id);
            snprintf(path, sizeof(path), "out/%s", other);
            if ((taken & 2) != 0) {
                put(path, "second");
            }
            snprintf(name, sizeof(name), "%s%s", other, (taken & 2) != 0 ? "-2" : "");
            publish_as(job, name);
            holds(first, "first");
            snprintf(path, sizeof(path), "rm -rf %s/out/%sa", root, folders[i]);
            assert_int_equal(system(path), 0);
        }
    }
}

/* Puts something in the way of FOLDER; `late`: after the commit. */
static void folder_that_cannot_hold_results(const char *folder, void (*block)(void), bool late)
{
    char name[64];
    if (!late) {
        block();
    }
    struct spool_job *job = new_committed_job_in(folder);
    snprintf(name, sizeof(name), "a~%s", job->id);
    if (late) {
        block();
    }
    publish_as(job, name);
    holds("out/x/result.json", "{}");
    assert_int_equal(count_entries(root_fd, "out/x"), 1);
}

static void put_result(void)
{
    put("out/x/result.json", "{}");
}

PUBLISH_TEST(a_result_lies_in_no_other)
{
    spool_configure(s, false, true, 3, 0);
    folder_that_cannot_hold_results("x", put_result, false);
    folder_that_cannot_hold_results("x/y/z", put_result, true);
}

static void put_link(void)
{
    put("elsewhere/x", "");
    put_result();
    assert_int_equal(symlinkat("../elsewhere", root_fd, "out/l"), 0);
}

PUBLISH_TEST(no_result_leaves_the_output_folder_over_a_link)
{
    folder_that_cannot_hold_results("l", put_link, true);
    assert_int_equal(unlinkat(root_fd, "out/l", 0), 0);
    folder_that_cannot_hold_results("l/deep", put_link, false);
    assert_int_equal(count_entries(root_fd, "elsewhere"), 1);
}

static void put_file_in_the_way(void)
{
    put("out/f", "mine");
    put_result();
}

PUBLISH_TEST(a_file_in_the_place_of_a_folder_stays)
{
    folder_that_cannot_hold_results("f/g", put_file_in_the_way, false);
    folder_that_cannot_hold_results("f", put_file_in_the_way, true);
    holds("out/f", "mine");
}

static unsigned long syncs_of(const char *step)
{
    unsigned long n = 0;
    for (unsigned i = 0; i < spool_fault->n_points; i++) {
        if (strcmp(spool_fault->points[i].name, step) == 0) {
            n = spool_fault->points[i].n_seen;
        }
    }
    return n;
}

/* Whoever made it may have died before that was on disk. */
PUBLISH_TEST(folder_that_is_there_is_put_on_disk_too)
{
    struct spool_job *job = new_committed_job_in("x/y");
    put("out/x/y/mine", "");
    const unsigned long before = syncs_of("publish.folder/fsync");
    publish_as(job, "x/y/a");
    assert_int_equal(syncs_of("publish.folder/fsync") - before, 2);
}

PUBLISH_TEST(folder_that_cannot_be_made_now_is_made_later)
{
    static const char *const steps[] = {"publish.folder", "publish.out"};
    struct spool_job *job = new_committed_job_in("x/y");
    for (size_t i = 0; i < 2; i++) {
        strcpy(spool_fault->fail_step, steps[i]);
        spool_fault->error = ENOSPC;
        spool_publish(s, &job, 1);
        expect(job, SPOOL_TRANSIENT, SPOOL_COMMITTED);
        spool_fault_clear();
    }
    spool_job_free(job);
    start();
    assert_int_equal(r.n_finished, 1);
    holds("out/x/y/a/data/0", "1");
    nothing_but_the_lock_is_left();
}

int main(void)
{
    return unit_run(NULL, NULL);
}
