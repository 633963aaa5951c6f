/*
 * Jobs that meet trouble on their way through the spool's steps: whose fault it is, where they come
 * to lie, and that it is no neighbour's. Crashes are spool_harness's topic.
 */
#include "tests/support/spool_fixture.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <sys/wait.h>

SPOOL_TEST(what_is_never_an_input_is_put_away_with_its_reason)
{
    put("in/target", "t");
    assert_int_equal(mkfifoat(root_fd, "in/fifo", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", root_fd, "in/link"), 0);
    assert_int_equal(linkat(root_fd, "in/target", root_fd, "elsewhere", 0), 0);
    const char *const names[] = {"fifo", "link", "target"};
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        struct spool_job *job = new_job("", names[i], names[i], NULL);
        spool_claim(s, &job, 1);
        expect(job, SPOOL_BAD_INPUT, SPOOL_FAILING);
        fail_job(job, "unsupported", job->message);
        snprintf(path, sizeof(path), "failed/%s/in/%s", job->id, names[i]);
        assert_true(is_there(root_fd, path));
        snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
        assert_non_null(strstr(text_of(root_fd, path), i == 0   ? "FIFO"
                                                       : i == 1 ? "link"
                                                                : "2 names"));
        spool_job_free(job);
    }
    holds("elsewhere", "t");
    nothing_is_left_over();
}

SPOOL_TEST(failed_job_lies_in_failed_and_is_taken_up_on_retry)
{
    char path[128];
    struct spool_job *job = new_worked_job("x");
    fail_job(job, "bad-input", "why\nnot");
    is_empty("out");
    snprintf(path, sizeof(path), "failed/%s/in/a.csv", job->id);
    holds(path, "1");
    snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
    assert_non_null(strstr(text_of(root_fd, path), "bad-input"));
    assert_int_equal(unlinkat(root_fd, "in/x", AT_REMOVEDIR), 0);
    assert_int_equal(refused_retry("20000101-000000-000000"), STATUS_NOT_FOUND);
    assert_int_equal(refused_retry("../in"), STATUS_NOT_FOUND);
    put("in/x/a.csv", "another drop");
    struct spool_job *again = retry(job->id);
    assert_string_equal(again->id, job->id);
    assert_int_equal(again->n_attempts, 0);
    is_empty("failed");
    spool_verify(s, &again, 1);
    work_on(again);
    holds("out/x/a/data/0", "1");
    holds("in/x/a.csv", "another drop");
    nothing_but_the_lock_is_left();
    spool_job_free(again);
    spool_job_free(job);
}

SPOOL_TEST(inputs_that_have_changed_since_are_not_to_blame)
{
    const struct spool_reason reason = {"bad-input", "why"};
    char path[128];
    struct spool_job *job = new_worked_job("x");
    snprintf(path, sizeof(path), ".work/%s/in/a.csv", job->id);
    put(path, "more than it was");
    job->blames_input = true;
    spool_fail(s, &job, &reason, 1);
    expect(job, SPOOL_WAIT, SPOOL_WORKING);
    is_empty("failed");
    spool_requeue(s, &job, 1, false);
    spool_verify(s, &job, 1);
    attempt(job);
    fail_job(job, "bad-input", "why");
    spool_job_free(job);
    nothing_but_the_lock_is_left();
}

/* Also when that is tried again, and the reason is there, but perhaps not on disk. */
SPOOL_TEST(failed_job_moves_only_once_its_reason_is_on_disk)
{
    const struct spool_reason reason = {"bad-input", "why"};
    struct spool_job *job = new_worked_job("x");
    for (int i = 0; i < 2; i++) {
        strcpy(spool_fault->fail_step, "fail.folder");
        spool_fault->error = EIO;
        spool_fail(s, &job, &reason, 1);
        spool_fault_clear();
        assert_int_equal(job->state, SPOOL_FAILING);
        assert_int_not_equal(job->outcome, SPOOL_OK);
        is_empty("failed");
    }
    fail_job(job, "bad-input", "why");
    spool_job_free(job);
    nothing_but_the_lock_is_left();
}

/* The service's group reads why. */
SPOOL_TEST(what_has_failed_is_open_to_others_by_the_umask)
{
    const mode_t umasks[] = {0027, 0077, 0022};
    const mode_t before = umask(0);
    for (size_t i = 0; i < sizeof(umasks) / sizeof(*umasks); i++) {
        struct stat st;
        char path[128];
        umask(umasks[i]);
        struct spool_job *job = new_worked_job("x");
        fail_job(job, "bad-input", "why not");
        for (size_t k = 0; k < 3; k++) {
            static const char *const names[] = {"", "in", "reason.json"};
            snprintf(path, sizeof(path), "failed/%s/%s", job->id, names[k]);
            assert_int_equal(fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
            assert_int_equal(st.st_mode & 0777, (k < 2 ? 0777U : 0666U) & ~umasks[i]);
        }
        spool_job_free(job);
    }
    umask(before);
}

static struct spool_job *new_failed_pair(void)
{
    put("in/a.dem.asc", "1");
    put("in/a.source.asc", "2");
    struct spool_job *job = new_job("", "a", "a.dem.asc", "a.source.asc");
    spool_claim(s, &job, 1);
    spool_attempt(s, &job, 1);
    fail_job(job, "x", "y");
    return job;
}

/* What lies in in/ by that name is another drop. */
SPOOL_TEST(failed_job_that_lacks_an_input_stays_where_it_is)
{
    char path[128];
    struct spool_job *job = new_failed_pair();
    snprintf(path, sizeof(path), "failed/%s/in/a.source.asc", job->id);
    assert_int_equal(renameat(root_fd, path, root_fd, "in/a.source.asc"), 0);
    assert_int_equal(refused_retry(job->id), STATUS_NOT_FOUND);
    assert_non_null(strstr(status_message(), "its input 'a.source.asc' is not in"));
    holds("in/a.source.asc", "2");
    snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
    assert_true(is_there(root_fd, path));
    spool_job_free(job);
}

SPOOL_TEST(retry_that_is_killed_leaves_a_failure_or_a_job)
{
    int status = W_EXITCODE(SPOOL_FAULT_DIED, 0);
    unsigned long k = 0, n_back = 0;
    while (WEXITSTATUS(status) == SPOOL_FAULT_DIED) {
        struct spool_recovery r;
        char path[64];
        struct spool_job *job = new_failed_pair();
        const pid_t child = fork();
        if (child == 0) {
            spool_fault_clear();
            spool_fault->die_before = ++k;
            spool_job_free(retry(job->id));
            _exit(0);
        }
        k++;
        assert_int_equal(waitpid(child, &status, 0), child);
        recover(&r);
        if (r.n_jobs == 0) {
            snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
            assert_true(is_there(root_fd, path));
            r.jobs = xcalloc(1, sizeof(*r.jobs));
            r.jobs[r.n_jobs++] = retry(job->id);
        } else {
            n_back++;
        }
        is_empty("failed");
        assert_int_equal(r.jobs[0]->n_attempts, 0);
        spool_verify(s, r.jobs, 1);
        work_on(r.jobs[0]);
        nothing_is_left_over();
        spool_recovery_free(&r);
        spool_job_free(job);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(k > 7 && n_back > 1);
}

/* Every change of a retry fails once: what is refused is the failure that it was, with its reason.
 */
SPOOL_TEST(retry_that_fails_leaves_the_failure_as_it_was)
{
    bool is_reached = true;
    unsigned n_failed = 0;
    for (unsigned long k = 1; is_reached; k++) {
        char path[64];
        struct spool_job *job = new_failed_pair(), *again;
        snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
        char *const reason = strdup(text_of(root_fd, path));
        spool_fault_clear();
        spool_fault->fail_at = k;
        spool_fault->error = EIO;
        const enum status code = spool_retry(s, job->id, &again);
        is_reached = spool_fault->n_changes >= k;
        spool_fault_clear();
        if (code != STATUS_OK) {
            n_failed++;
            holds(path, reason);
            nothing_but_the_lock_is_left();
            again = retry(job->id);
        }
        spool_verify(s, &again, 1);
        work_on(again);
        nothing_is_left_over();
        is_empty("failed");
        free(reason);
        spool_job_free(again);
        spool_job_free(job);
    }
    assert_true(n_failed >= 8);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(root_fd, path, &st, 0), 0);
    return st.st_ino;
}

/* The next drop has replaced it, and waits for its own grid. */
SPOOL_TEST(what_has_the_name_of_a_late_file_now_is_left_where_it_is)
{
    put("in/a.dem.asc", "1");
    struct spool_job *job = new_job("", "a", "a.dem.asc", NULL);
    spool_claim(s, &job, 1);
    put("in/a.dem.prj", "late");
    const uint64_t late = inode_of("in/a.dem.prj");
    put("in/.new", "of the next");
    assert_int_equal(renameat(root_fd, "in/.new", root_fd, "in/a.dem.prj"), 0);
    assert_int_equal(spool_put_away(s, "", "a.dem.prj", late), STATUS_NOT_FOUND);
    spool_add_late(job, "a.dem.prj", late);
    spool_verify(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_QUEUED);
    assert_int_equal(job->n_files, 1);
    assert_int_equal(job->n_late, 0);
    holds("in/a.dem.prj", "of the next");
    assert_int_equal(spool_put_away(s, "", "a.dem.prj", inode_of("in/a.dem.prj")), STATUS_OK);
    holds("done/a.dem.prj", "of the next");
    spool_job_free(job);
}

/* A .prj that came late, and was never recorded, since the job was deleted before it was verified.
 */
SPOOL_TEST(what_lies_beside_the_inputs_of_a_failed_job_is_taken_up_with_them)
{
    put("in/a.dem.asc", "1");
    struct spool_job *job = new_job("", "a", "a.dem.asc", NULL);
    spool_claim(s, &job, 1);
    put("in/a.dem.prj", "2");
    const int fd = openat(root_fd, "in/a.dem.prj", O_WRONLY | O_CLOEXEC);
    spool_add_late(job, "a.dem.prj", inode_of("in/a.dem.prj"));
    spool_verify(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    close(fd);
    fail_job(job, "deleted", "deleted by the administrator");
    struct spool_job *again = retry(job->id);
    assert_int_equal(again->n_files, 2);
    assert_string_equal(again->files[1].name, "a.dem.prj");
    spool_verify(s, &again, 1);
    work_on(again);
    holds("done/a.dem.prj", "2");
    nothing_is_left_over();
    spool_job_free(again);
    /* What is no job at all. */
    put("failed/mine/job",
        "{\"schema\": 2, \"id\": \"mine\", \"folder\": \"\", \"stem\": \"a\", \"inputs\": "
        "[{\"name\": "
        "\"a\", \"inode\": 1, \"bytes\": 1, \"mtime_ns\": 1}], \"parameters\": {}}");
    put("failed/mine/in/a", "1");
    assert_int_equal(refused_retry("mine"), STATUS_BAD_INPUT);
    holds("failed/mine/in/a", "1");
    spool_job_free(job);
}

SPOOL_TEST(attempts_are_counted_over_restarts_until_there_are_too_many)
{
    struct spool_recovery r;
    put("in/a.csv", "1");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    spool_attempt(s, &job, 1);
    spool_requeue(s, &job, 1, false); /* nobody's fault */
    assert_int_equal(job->n_attempts, 0);
    spool_verify(s, &job, 1);
    spool_attempt(s, &job, 1);
    spool_requeue(s, &job, 1, true);
    expect(job, SPOOL_OK, SPOOL_UNVERIFIED);
    spool_verify(s, &job, 1);
    spool_attempt(s, &job, 1);
    assert_int_equal(job->n_attempts, 2);
    spool_job_free(job); /* as if killed */
    recover(&r);
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.jobs[0]->n_attempts, 2);
    spool_verify(s, r.jobs, 1);
    spool_attempt(s, r.jobs, 1);
    spool_requeue(s, r.jobs, 1, true);
    expect(r.jobs[0], SPOOL_EXHAUSTED, SPOOL_FAILING);
    spool_recovery_free(&r);
    recover(&r);
    assert_int_equal(r.n_jobs, 0);
    assert_int_equal(r.n_failed, 1);
    assert_int_equal(r.n_ended, 1);
    assert_non_null(strstr(r.ended[0]->reason, "exhausted"));
    spool_recovery_free(&r);
    assert_int_equal(count_entries(root_fd, "failed"), 1);
    nothing_is_left_over();
    is_empty("out");
}

/* The job's state, as a clock says that it was kept. */
static void keep_state(const struct spool_job *job, time_t when)
{
    const struct spool_part file = spool_state_file(OWNER, job->id);
    const struct timespec times[] = {{when, 0}, {when, 0}};
    char path[96];
    snprintf(path, sizeof(path), "out/%s", file.name);
    put(path, "so far");
    assert_int_equal(utimensat(root_fd, path, times, 0), 0);
}

/* Three attempts that each keep a state, as a clock says that it is `when`, and three that do not.
 */
static void begin_again_and_again(time_t when)
{
    struct spool_recovery r;
    put("in/a.csv", "1");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    for (unsigned n = 1; n < 6; n++) {
        attempt(job);
        if (n <= 3) {
            keep_state(job, when + n);
        }
        spool_job_free(job);
        recover(&r);
        assert_int_equal(r.n_jobs, 1);
        job = r.jobs[0];
        assert_int_equal(job->n_attempts, n % 3);
        r.n_jobs = 0;
        spool_recovery_free(&r);
        spool_verify(s, &job, 1);
    }
    attempt(job);
    spool_job_free(job);
    recover(&r);
    assert_int_equal(r.n_failed, 1);
    spool_recovery_free(&r);
    is_empty("out");
}

SPOOL_TEST(attempts_that_keep_a_new_state_are_forgiven_whatever_the_clock_says)
{
    begin_again_and_again(7); /* the host begins each time in 1970, and the record is of later */
    begin_again_and_again(7000000000);
}

/* Every change of a step fails once with `error`; afterwards the step succeeds. */
SPOOL_TEST(our_side_fails_and_the_job_stands_where_it_stood)
{
    const int errors[] = {ENOSPC, EDQUOT,    EIO,     EMLINK,    EFBIG,      ENODEV,
                          ENXIO,  EREMOTEIO, ENODATA, EHOSTDOWN, ECONNRESET, ENOTCONN};
    for (unsigned long k = 1; k < 60; k++) {
        put("in/a.csv", "1");
        struct spool_job *job = new_job("", "a", "a.csv", NULL);
        spool_fault_clear();
        spool_fault->fail_at = k;
        spool_fault->error = errors[k % (sizeof(errors) / sizeof(*errors))];
        unsigned n_failed = 0;
        for (int rounds = 0; job->state != SPOOL_ENDED && rounds < 20; rounds++) {
            switch (job->state) {
            case SPOOL_NEW:
                spool_claim(s, &job, 1);
                break;
            case SPOOL_UNVERIFIED:
                spool_verify(s, &job, 1);
                break;
            case SPOOL_QUEUED:
                spool_attempt(s, &job, 1);
                break;
            case SPOOL_WORKING:
                assert_int_equal(job->n_attempts, 1);
                assert_true(make_result(s, job));
                spool_durable(s, &job, 1);
                if (job->outcome == SPOOL_TRANSIENT) {
                    n_failed++;
                    spool_requeue(s, &job, 1, false);
                }
                break;
            case SPOOL_DURABLE:
                spool_commit(s, &job, 1);
                break;
            case SPOOL_COMMITTED:
                spool_publish(s, &job, 1);
                break;
            default:
                spool_archive(s, &job, 1);
                break;
            }
            if (job->outcome != SPOOL_OK) {
                n_failed++;
                expect(job, SPOOL_TRANSIENT, job->state);
            }
        }
        spool_fault_clear();
        expect(job, SPOOL_OK, SPOOL_ENDED);
        holds("out/a/data/0", "1");
        holds("done/a.csv", "1");
        assert_int_equal(count_entries(root_fd, "out"), 1);
        is_empty("in");
        spool_job_free(job);
        char command[256];
        snprintf(command, sizeof(command), "cd %s; rm -rf out/* done/* .work/2*", root);
        assert_int_equal(system(command), 0);
        if (k == 1) {
            assert_true(n_failed > 0);
        }
    }
}

/* Is told what is done on disk: once the input has begun to be written, its folder is away. */
static ssize_t take_inputs_away(void *cookie, const char *text, size_t len)
{
    const struct spool_job *job = cookie;
    char from[64];
    char to[64];
    snprintf(from, sizeof(from), ".work/%s/in", job->id);
    snprintf(to, sizeof(to), ".work/%s/away", job->id);
    if (memmem(text, len, "/in/a.csv", 9) != NULL) {
        renameat(root_fd, from, root_fd, to);
    }
    return (ssize_t)len;
}

SPOOL_TEST(input_that_cannot_be_put_on_disk_is_not_passed_over)
{
    struct spool_job *job = new_worked_job("");
    spool_fault->trace = fopencookie(job, "w", (cookie_io_functions_t){.write = take_inputs_away});
    assert_non_null(spool_fault->trace);
    spool_durable(s, &job, 1);
    fclose(spool_fault->trace);
    spool_fault_clear();
    expect(job, SPOOL_INTERNAL, SPOOL_WORKING);
    assert_non_null(strstr(job->message, "an input cannot be synced"));
    spool_job_free(job);
}

SPOOL_TEST(input_that_changed_under_the_worker_is_nobodys_fault)
{
    assert_int_equal(spool_outcome_of(STATUS_CHANGED), SPOOL_WAIT);
}

SPOOL_TEST(result_that_is_not_as_announced_is_not_committed)
{
    struct spool_job *job = new_worked_job("");
    job->outputs = json_pack("[{s:s, s:i}]", "name", "data/0", "bytes", 2);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_INTERNAL, SPOOL_WORKING);
    json_decref(job->outputs);
    job->outputs = json_pack("[{s:s, s:i}]", "name", "data/0", "bytes", 1);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    spool_job_free(job);
}

SPOOL_TEST(result_with_a_link_in_it_is_not_committed)
{
    char path[128];
    struct spool_job *job = new_worked_job("");
    snprintf(path, sizeof(path), "out/.%s." OWNER ".part/data/link", job->id);
    assert_int_equal(symlinkat("/etc/passwd", root_fd, path), 0);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_INTERNAL, SPOOL_WORKING);
    fail_job(job, "internal", "why");
    is_empty("out");
    spool_job_free(job);
}

SPOOL_TEST(file_in_the_way_of_a_folder_of_done_does_not_stop_a_job)
{
    put("done/x", "a file");
    put("in/x/a.csv", "1");
    run_job("x", "a", "a.csv");
    holds("done/a.csv", "1");
    is_empty("in/x");
}

SPOOL_TEST(link_in_done_sends_its_own_inputs_to_done_and_leaves_no_neighbour_behind)
{
    static const char *const folders[] = {"", "sub", "other", "sub/below"};
    enum { N = sizeof(folders) / sizeof(*folders) };
    struct spool_job *jobs[N];
    char path[64];
    assert_int_equal(symlinkat("/", root_fd, "done/sub"), 0);
    for (int i = 0; i < N; i++) {
        const char stem[] = {(char)('a' + i), '\0'};
        char file[] = "?.csv";
        file[0] = stem[0];
        snprintf(path, sizeof(path), "in/%s/%s", folders[i], file);
        put(path, "1");
        jobs[i] = new_job(folders[i], stem, file, NULL);
    }
    spool_claim(s, jobs, N);
    spool_attempt(s, jobs, N);
    for (int i = 0; i < N; i++) {
        assert_true(make_result(s, jobs[i]));
    }
    spool_finish(s, jobs, N);
    for (int i = 0; i < N; i++) {
        expect(jobs[i], SPOOL_OK, SPOOL_ENDED);
        spool_job_free(jobs[i]);
    }
    holds("done/a.csv", "1");
    holds("done/b.csv", "1");
    holds("done/other/c.csv", "1");
    holds("done/d.csv", "1");
    nothing_but_the_lock_is_left();
}

SPOOL_TEST(folder_of_done_that_cannot_be_synced_is_the_trouble_of_its_jobs_alone)
{
    struct spool_job *jobs[2];
    put("in/a.csv", "1");
    put("in/x/b.csv", "1");
    jobs[0] = new_job("", "a", "a.csv", NULL);
    jobs[1] = new_job("x", "b", "b.csv", NULL);
    spool_claim(s, jobs, 2);
    spool_attempt(s, jobs, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(make_result(s, jobs[i]));
    }
    spool_durable(s, jobs, 2);
    spool_commit(s, jobs, 2);
    spool_publish(s, jobs, 2);
    spool_fault_clear();
    spool_fault->error = EIO;
    assert_int_equal(mkdirat(root_fd, "done/x", 0777), 0);
    spool_fault->fail_at = 3; /* after two renames: the fsync of done/ */
    spool_archive(s, jobs, 2);
    spool_fault_clear();
    expect(jobs[0], SPOOL_TRANSIENT, SPOOL_PUBLISHED);
    expect(jobs[1], SPOOL_OK, SPOOL_ENDED);
    spool_archive(s, jobs, 1);
    expect(jobs[0], SPOOL_OK, SPOOL_ENDED);
    spool_job_free(jobs[0]);
    spool_job_free(jobs[1]);
    nothing_but_the_lock_is_left();
}

SPOOL_TEST(result_that_went_with_its_folder_is_made_again_and_fails_nothing)
{
    char command[128];
    struct spool_job *job = new_worked_job("");
    snprintf(command, sizeof(command), "rm -rf %s/out; mkdir %s/out", root, root);
    assert_int_equal(system(command), 0);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_WORKING);
    assert_non_null(strstr(job->message, "/out' has been removed"));
    spool_requeue(s, &job, 1, false);
    expect(job, SPOOL_OK, SPOOL_UNVERIFIED);
    assert_int_equal(job->n_attempts, 0);
    spool_job_free(job);
}

SPOOL_TEST(input_stays_in_work_when_done_has_been_removed_until_the_next_start)
{
    static const char *const folders[] = {"", "sub"};
    for (int i = 0; i < 2; i++) {
        char path[64];
        struct spool_recovery r;
        struct spool_job *job = new_worked_job(folders[i]);
        assert_int_equal(unlinkat(root_fd, "done", AT_REMOVEDIR), 0);
        assert_int_equal(mkdirat(root_fd, "done", 0777), 0);
        spool_finish(s, &job, 1);
        expect(job, SPOOL_TRANSIENT, SPOOL_PUBLISHED);
        assert_non_null(strstr(job->message, "done"));
        snprintf(path, sizeof(path), ".work/%s/published/a.csv", job->id);
        holds(path, "1");
        recover(&r);
        assert_int_equal(r.n_finished, 1);
        spool_recovery_free(&r);
        spool_job_free(job);
        snprintf(path, sizeof(path), "done/%s/a.csv", folders[i]);
        holds(path, "1");
        char command[128];
        snprintf(command, sizeof(command), "rm -rf %s/out/* %s/done/*", root, root);
        assert_int_equal(system(command), 0);
    }
}

/* A name that is not on disk would go with the power, and all beneath it. */
SPOOL_TEST(folder_whose_name_cannot_be_synced_is_not_left_for_the_next_try)
{
    spool_fault->fail_at = spool_fault->n_changes + 4; /* made, synced; the next one made, synced */
    spool_fault->error = EIO;
    assert_int_equal(disk_make_folders("archive.folder", root_fd, "done/a/b/c", 0777, true), -1);
    assert_int_equal(errno, EIO);
    assert_true(is_there(root_fd, "done/a") && !is_there(root_fd, "done/a/b"));
    const int fd = disk_make_folders("archive.folder", root_fd, "done/a/b/c", 0777, true);
    assert_true(fd >= 0 && is_there(root_fd, "done/a/b/c"));
    close(fd);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
