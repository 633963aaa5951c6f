/*
 * The spool's steps, one after the other and undisturbed: where files come to lie, what takes what
 * name, and what is done about those who still write. Crashes are spool_harness's topic.
 */
#include "tests/support/spool_fixture.h"

#include <errno.h>
#include <sys/wait.h>

SPOOL_TEST(file_goes_its_way_from_in_to_done_and_its_result_to_out)
{
    put("in/a.csv", "1");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_QUEUED);
    is_empty("in");
    spool_attempt(s, &job, 1);
    assert_int_equal(job->n_attempts, 1);
    assert_true(make_result(s, job));
    spool_durable(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_DURABLE);
    assert_false(is_there(root_fd, "out/a"));
    spool_commit(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_COMMITTED);
    assert_false(is_there(root_fd, "out/a"));
    spool_publish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_PUBLISHED);
    holds("out/a/data/0", "1");
    is_empty("done");
    spool_archive(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    assert_string_equal(job->published, "a");
    holds("done/a.csv", "1");
    assert_int_equal(count_entries(root_fd, "out"), 1);
    nothing_is_left_over();
    spool_job_free(job);
}

SPOOL_TEST(several_parts_and_their_sub_folder_stay_together)
{
    put("in/x/y/s.dem.asc", "dem");
    put("in/x/y/s.source.asc", "source");
    struct spool_job *job = new_job("x/y", "s", "s.dem.asc", "s.source.asc");
    spool_claim(s, &job, 1);
    work_on(job);
    assert_string_equal(job->published, "x/y/s");
    holds("out/x/y/s/data/0", "dem");
    holds("out/x/y/s/data/1", "source");
    holds("done/x/y/s.dem.asc", "dem");
    holds("done/x/y/s.source.asc", "source");
    spool_job_free(job);
}

SPOOL_TEST(same_name_twice_is_two_jobs_with_two_results)
{
    put("in/a.b.csv", "first");
    run_job("", "a", "a.b.csv");
    put("in/a.b.csv", "second");
    struct spool_job *job = new_job("", "a", "a.b.csv", NULL);
    spool_claim(s, &job, 1);
    put("in/a.b.csv", "third"); /* while the second is worked on */
    char path[128];
    work_on(job);
    holds("out/a/data/0", "first");
    snprintf(path, sizeof(path), "a~%s", job->id);
    assert_string_equal(job->published, path);
    snprintf(path, sizeof(path), "out/a~%s/data/0", job->id);
    holds(path, "second");
    holds("done/a.b.csv", "first");
    snprintf(path, sizeof(path), "done/a~%s.b.csv", job->id);
    holds(path, "second");
    holds("in/a.b.csv", "third");
    spool_job_free(job);
    run_job("", "a", "a.b.csv");
    assert_int_equal(count_entries(root_fd, "out"), 3);
    assert_int_equal(count_entries(root_fd, "done"), 3);
    nothing_is_left_over();
}

SPOOL_TEST(earlier_result_is_replaced_when_asked_and_what_is_none_never)
{
    spool_configure(s, true, true, 3, 0);
    put("in/a.csv", "first");
    run_job("", "a", "a.csv");
    put("in/a.csv", "second");
    run_job("", "a", "a.csv");
    holds("out/a/data/0", "second");
    assert_int_equal(count_entries(root_fd, "out"), 1);
    is_empty("done"); /* inputs are deleted */
    put("out/mine/precious", "p");
    put("in/mine.csv", "x");
    run_job("", "mine", "mine.csv");
    holds("out/mine/precious", "p");
    assert_int_equal(count_entries(root_fd, "out"), 3);
    nothing_is_left_over();
}

SPOOL_TEST(where_names_cannot_be_exchanged_the_earlier_result_steps_aside)
{
    spool_configure(s, false, true, 3, 0);
    put("in/a.csv", "first");
    run_job("", "a", "a.csv");
    strcpy(spool_fault->fail_step, "publish.exchange");
    spool_fault->error = EINVAL;
    put("in/a.csv", "second");
    run_job("", "a", "a.csv");
    holds("out/a/data/0", "second");
    assert_int_equal(count_entries(root_fd, "out"), 1);
}

SPOOL_TEST(names_of_any_bytes_survive_a_restart)
{
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    const char *const names[] = {"new\nline", "caf\xC3\xA9.csv", "\xFF\xFE", "%41 $(x)\"", longest};
    enum { N = sizeof(names) / sizeof(*names) };
    struct spool_recovery r;
    for (size_t i = 0; i < N; i++) {
        char path[300];
        snprintf(path, sizeof(path), "in/sub/%s", names[i]);
        put(path, names[i]);
        struct spool_job *job = new_job("sub", names[i], names[i], NULL);
        spool_claim(s, &job, 1);
        expect(job, SPOOL_OK, SPOOL_QUEUED);
        spool_job_free(job);
    }
    recover(&r);
    assert_int_equal(r.n_jobs, N);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(r.jobs[i]->files[0].name, names[i]);
        assert_string_equal(r.jobs[i]->stem, names[i]);
    }
    spool_verify(s, r.jobs, r.n_jobs);
    spool_attempt(s, r.jobs, r.n_jobs);
    for (size_t i = 0; i < N; i++) {
        assert_true(make_result(s, r.jobs[i]));
    }
    spool_finish(s, r.jobs, r.n_jobs);
    for (size_t i = 0; i < N; i++) {
        char path[300];
        expect(r.jobs[i], SPOOL_OK, SPOOL_ENDED);
        snprintf(path, sizeof(path), "done/sub/%s", names[i]);
        holds(path, names[i]);
    }
    spool_recovery_free(&r);
}

SPOOL_TEST(name_of_255_bytes_that_is_taken_is_shortened_at_a_character)
{
    char name[256] = "";
    for (size_t i = 0; i + 6 < 255; i += 2) {
        strcat(name, "\xC3\xA9");
    }
    strcat(name, ".csv");
    for (int i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof(path), "in/%s", name);
        put(path, "x");
        run_job("", name, name);
    }
    assert_int_equal(count_entries(root_fd, "out"), 2);
    assert_int_equal(count_entries(root_fd, "done"), 2);
    nothing_is_left_over();
}

SPOOL_TEST(file_removed_before_the_claim_leaves_nothing_claimed)
{
    put("in/b.dem.asc", "x");
    struct spool_job *jobs[] = {new_job("", "a", "a.csv", NULL),
                                new_job("", "b", "b.dem.asc", "b.source.asc"),
                                new_job("no/such", "c", "c.csv", NULL)};
    spool_claim(s, jobs, 3);
    for (size_t i = 0; i < 3; i++) {
        expect(jobs[i], SPOOL_GONE, SPOOL_NEW);
        spool_job_free(jobs[i]);
    }
    holds("in/b.dem.asc", "x");
    nothing_but_the_lock_is_left();
}

/* The next drop has begun: its file and those of the one before are two jobs. */
SPOOL_TEST(files_of_two_drops_are_not_claimed_together)
{
    put("in/b.dem.asc", "x");
    put("in/b.dem.prj", "y");
    struct stat st;
    assert_int_equal(fstatat(root_fd, "in/b.dem.asc", &st, 0), 0);
    struct spool_job *job = new_job("", "b", "b.dem.asc", "b.dem.prj");
    job->files[0].inode = st.st_ino;
    job->files[0].size = 1;
    job->files[0].mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    put("in/b.new", "z");
    assert_int_equal(renameat(root_fd, "in/b.new", root_fd, "in/b.dem.asc"), 0);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_GONE, SPOOL_NEW);
    spool_job_free(job);
    holds("in/b.dem.asc", "z");
    nothing_but_the_lock_is_left();
}

SPOOL_TEST(writer_that_holds_the_file_through_the_claim_is_waited_for)
{
    put("in/a.csv", "1");
    int fd = openat(root_fd, "in/a.csv", O_WRONLY | O_APPEND);
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    spool_verify(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    assert_int_equal(write(fd, "2", 1), 1);
    close(fd);
    spool_verify(s, &job, 1);
    work_on(job);
    holds("out/a/data/0", "12");
    spool_job_free(job);
}

SPOOL_TEST(file_replaced_between_look_and_claim_is_taken_as_it_is)
{
    put("in/a.csv", "old");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    put("in/.b", "new and longer");
    assert_int_equal(renameat(root_fd, "in/.b", root_fd, "in/a.csv"), 0);
    spool_claim(s, &job, 1);
    work_on(job);
    holds("out/a/data/0", "new and longer");
    spool_job_free(job);
}

SPOOL_TEST(input_that_changes_during_the_work_is_worked_on_again)
{
    put("in/a.csv", "1");
    int fd = openat(root_fd, "in/a.csv", O_WRONLY | O_APPEND);
    int reader = openat(root_fd, "in/a.csv", O_RDONLY);
    char path[64];
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    close(fd);
    spool_claim(s, &job, 1);
    spool_attempt(s, &job, 1);
    assert_true(make_result(s, job));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", reader);
    fd = open(path, O_WRONLY | O_APPEND); /* somebody who found the file before it was claimed */
    assert_int_equal(write(fd, "2", 1), 1);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_WORKING);
    spool_requeue(s, &job, 1, false);
    expect(job, SPOOL_OK, SPOOL_UNVERIFIED);
    assert_int_equal(job->n_attempts, 0);
    is_empty("out");
    spool_verify(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    close(fd);
    close(reader);
    spool_verify(s, &job, 1);
    work_on(job);
    holds("out/a/data/0", "12");
    spool_job_free(job);
}

/* Puts another file of the same content, size and time in the place of a claimed a.csv. */
static ino_t put_another(const struct spool_job *job)
{
    struct stat st;
    char path[64];
    snprintf(path, sizeof(path), ".work/%s/in/a.csv", job->id);
    assert_int_equal(fstatat(root_fd, path, &st, 0), 0);
    const ino_t before = st.st_ino;
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    put("another", "1");
    assert_int_equal(utimensat(root_fd, "another", times, 0), 0);
    assert_int_equal(renameat(root_fd, "another", root_fd, path), 0);
    assert_int_equal(fstatat(root_fd, path, &st, 0), 0);
    assert_int_not_equal(st.st_ino, before);
    return st.st_ino;
}

SPOOL_TEST(another_file_of_the_same_size_and_time_is_another_input)
{
    struct spool_recovery r;
    put("in/a.csv", "1");
    int writer = openat(root_fd, "in/a.csv", O_WRONLY);
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    close(writer);
    const ino_t inode = put_another(job);
    spool_verify(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_QUEUED);
    spool_job_free(job);
    recover(&r); /* what is on record is the file that is going to be worked on */
    assert_int_equal(r.n_jobs, 1);
    assert_true(r.jobs[0]->files[0].inode == inode);
    spool_recovery_free(&r);
}

SPOOL_TEST(another_file_of_the_same_size_and_time_is_waited_for_without_leases)
{
    put("in/a.csv", "1");
    struct spool_job *job = new_job("", "a", "a.csv", NULL);
    int writer = openat(root_fd, "in/a.csv", O_WRONLY);
    spool_claim(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    close(writer);
    put_another(job);
    strcpy(spool_fault->fail_step, "ready.lease");
    spool_fault->error = EINVAL;
    spool_verify(s, &job, 1); /* who has put it there may be writing to it */
    expect(job, SPOOL_WAIT, SPOOL_UNVERIFIED);
    spool_verify(s, &job, 1);
    work_on(job);
    spool_job_free(job);
}

SPOOL_TEST(input_that_is_replaced_during_the_work_is_seen_at_the_end)
{
    struct spool_job *job = new_worked_job("");
    put_another(job);
    spool_durable(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_WORKING);
    spool_requeue(s, &job, 1, false);
    spool_verify(s, &job, 1);
    work_on(job);
    spool_job_free(job);
}

/* Writes into the job's a.csv, and puts its time back: its size and its mtime are as they were. */
static void change_unseen(const struct spool_job *job)
{
    struct stat before, now;
    char path[64];
    snprintf(path, sizeof(path), ".work/%s/%s/a.csv", job->id,
             job->state == SPOOL_PUBLISHED ? "published" : "in");
    assert_int_equal(fstatat(root_fd, path, &before, 0), 0);
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    const int fd = openat(root_fd, path, O_WRONLY);
    do { /* the system's clock for files moves once in some milliseconds */
        assert_int_equal(pwrite(fd, "9", 1, 0), 1);
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(fstat(fd, &now), 0);
    } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    assert_int_equal(now.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    close(fd);
}

SPOOL_TEST(input_whose_time_was_put_back_during_the_work_is_seen_at_the_end)
{
    struct spool_job *job = new_worked_job("");
    change_unseen(job);
    spool_durable(s, &job, 1);
    expect(job, SPOOL_WAIT, SPOOL_WORKING);
    spool_requeue(s, &job, 1, false);
    spool_verify(s, &job, 1);
    work_on(job);
    holds("out/a/data/0", "9");
    spool_job_free(job);
}

SPOOL_TEST(input_that_changed_when_its_result_was_published_is_kept)
{
    spool_configure(s, true, false, 3, 0);
    struct spool_job *job = new_worked_job("sub");
    spool_durable(s, &job, 1);
    spool_commit(s, &job, 1);
    spool_publish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_PUBLISHED);
    change_unseen(job);
    strcpy(spool_fault->fail_step, "archive.folder");
    spool_fault->error = EIO;
    spool_archive(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_PUBLISHED);
    spool_fault_clear();
    spool_archive(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    holds("out/sub/a/data/0", "1");
    holds("done/sub/a.csv", "9"); /* though what was processed is deleted */
    spool_job_free(job);
}

SPOOL_TEST(links_and_fifos_are_texts_in_failed)
{
    char path[64];
    struct stat st;
    put("secret", "mine");
    assert_int_equal(symlinkat("../../../secret", root_fd, "in/a.csv"), 0);
    assert_int_equal(mkfifoat(root_fd, "in/b.csv", 0600), 0);
    struct spool_job *job = new_job("", "a", "a.csv", "b.csv");
    spool_claim(s, &job, 1);
    expect(job, SPOOL_BAD_INPUT, SPOOL_FAILING);
    fail_job(job, "bad input", job->message);
    for (const char *name = "a"; name != NULL; name = *name == 'a' ? "b" : NULL) {
        snprintf(path, sizeof(path), "failed/%s/in/%s.csv", job->failed, name);
        assert_int_equal(fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_non_null(strstr(text_of(root_fd, path),
                               *name == 'a' ? "is a link to ../../../secret" : "is a FIFO"));
    }
    holds("secret", "mine");
    spool_job_free(job);
}

/* Killed at any change on its way to failed/, it comes there as it would have. */
SPOOL_TEST(link_whose_failing_is_killed_keeps_its_name_and_reason)
{
    int status = W_EXITCODE(SPOOL_FAULT_DIED, 0);
    for (unsigned long k = 1; WEXITSTATUS(status) == SPOOL_FAULT_DIED; k++) {
        struct spool_recovery r;
        char path[64], command[128];
        assert_int_equal(symlinkat("../secret", root_fd, "in/a.csv"), 0);
        struct spool_job *job = new_job("", "a", "a.csv", NULL);
        spool_claim(s, &job, 1);
        const pid_t child = fork();
        if (child == 0) {
            spool_fault_clear();
            spool_fault->die_before = k;
            fail_job(job, "bad-input", job->message);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        recover(&r);
        for (size_t i = 0; i < r.n_jobs; i++) { /* its reason was not there yet */
            spool_verify(s, &r.jobs[i], 1);
            expect(r.jobs[i], SPOOL_BAD_INPUT, SPOOL_FAILING);
            fail_job(r.jobs[i], "bad-input", r.jobs[i]->message);
        }
        spool_recovery_free(&r);
        snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
        assert_true(is_there(root_fd, path));
        assert_non_null(strstr(text_of(root_fd, path), "is a link"));
        snprintf(path, sizeof(path), "failed/%s/in/a.csv", job->id);
        assert_non_null(strstr(text_of(root_fd, path), "is a link to ../secret"));
        nothing_is_left_over();
        snprintf(command, sizeof(command), "rm -rf %s/failed/*", root);
        assert_int_equal(system(command), 0);
        spool_job_free(job);
        assert_true(k < 100);
    }
    assert_int_equal(status, 0);
}

static unsigned long n_seen(const char *point)
{
    unsigned long n = 0;
    for (unsigned i = 0; i < spool_fault->n_points; i++) {
        n += strcmp(spool_fault->points[i].name, point) == 0 ? spool_fault->points[i].n_seen : 0;
    }
    return n;
}

/* Of one job, an archive's: no fsync for each. */
SPOOL_TEST(many_files_of_a_result_are_synced_together)
{
    char path[128];
    struct spool_job *job = new_worked_job("");
    const struct spool_part part = spool_part(s->owner, job->id);
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "out/%s/m%d/result.json", part.name, i);
        put(path, "{}");
    }
    const unsigned long each = n_seen("durable.file/fsync"), all = n_seen("durable.file/syncfs");
    spool_durable(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_DURABLE);
    assert_int_equal(n_seen("durable.file/fsync"), each);
    assert_int_equal(n_seen("durable.file/syncfs"), all + 1);
    spool_commit(s, &job, 1);
    spool_publish(s, &job, 1);
    spool_archive(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
    assert_true(is_there(root_fd, "out/a/m199/result.json"));
    spool_job_free(job);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
