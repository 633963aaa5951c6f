/*
 * What done/ and failed/ keep: the oldest goes first, nothing but files and failed jobs goes, and
 * whatever instant a sweep dies at, the next one ends the same.
 */
#include "tests/support/spool_fixture.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

static struct spool_sweep sweep(struct spool_keep done, struct spool_keep failed)
{
    struct spool_sweep swept = {.done = done, .failed = failed};
    spool_sweep(s, &swept);
    return swept;
}

static struct spool_keep bytes(uint64_t n)
{
    return (struct spool_keep){.bytes = n};
}

static const struct spool_keep all;

/* FOLDER/0.csv to FOLDER/9.csv of ten bytes each; of one age, names decide. */
static void put_ten(const char *folder)
{
    char path[64];
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof(path), "%s/%d.csv", folder, i);
        put(path, "123456789\n");
    }
}

static const char id_format[] = "failed/20261121-030441-12345%d";

static void fail_ten(void)
{
    char path[96];
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof(path), "failed/20261121-030441-12345%d/in/a.csv", i);
        put(path, "123456789\n");
        snprintf(path, sizeof(path), "failed/20261121-030441-12345%d/reason.json", i);
        put(path, "{}");
        snprintf(path, sizeof(path), id_format, i);
        assert_int_equal(fchmodat(root_fd, path, 0755, 0), 0); /* its age begins */
    }
}

static bool is_left(const char *format, int i)
{
    char path[64];
    snprintf(path, sizeof(path), format, i);
    return is_there(root_fd, path);
}

/* Of ten those from `first` on. */
static void are_left(const char *format, int first)
{
    for (int i = 0; i < 10; i++) {
        if (is_left(format, i) != (i >= first)) {
            fail_msg("%d of %s", i, format);
        }
    }
}

SPOOL_TEST(the_oldest_go_until_the_rest_fits)
{
    put_ten("done");
    put_ten("done/sub/deep");
    struct spool_sweep swept = sweep(bytes(200), all);
    assert_int_equal(swept.n_inputs, 0);
    swept = sweep(bytes(34), all);
    assert_int_equal(swept.n_inputs, 17);
    assert_int_equal(swept.bytes, 170);
    assert_int_equal(swept.n_errors, 0);
    assert_false(swept.more);
    are_left("done/%d.csv", 10);
    are_left("done/sub/deep/%d.csv", 7);
}

static void sleep_until(const char *path, time_t seconds)
{
    struct stat st;
    struct timespec now;
    assert_int_equal(fstatat(root_fd, path, &st, 0), 0);
    do {
        usleep(20000);
        clock_gettime(CLOCK_REALTIME, &now);
    } while (now.tv_sec <= st.st_ctim.tv_sec + seconds);
}

SPOOL_TEST(what_is_older_goes_and_what_is_not_stays)
{
    put_ten("done/sub");
    struct spool_sweep swept = sweep((struct spool_keep){.age_s = 1000000}, all);
    assert_int_equal(swept.n_inputs, 0);
    sleep_until("done/sub/9.csv", 1);
    put("done/young.csv", "1");
    struct stat st, old;
    assert_int_equal(fstatat(root_fd, "done/young.csv", &st, 0), 0);
    assert_int_equal(fstatat(root_fd, "done/sub/9.csv", &old, 0), 0);
    assert_true(st.st_ctim.tv_sec > old.st_ctim.tv_sec);
    swept = sweep((struct spool_keep){.age_s = 1}, all);
    assert_true(swept.n_inputs >= 10);
    are_left("done/sub/%d.csv", 10);
    assert_false(is_there(root_fd, "done/sub"));
}

SPOOL_TEST(only_files_go_and_nothing_elsewhere)
{
    char target[64];
    put("out/kept/result.json", "{}");
    put("done/.hidden", "1");
    put("done/a.csv", "1");
    snprintf(target, sizeof(target), "%s/out", root);
    assert_int_equal(symlinkat(target, root_fd, "done/link"), 0);
    assert_int_equal(symlinkat("../out/kept/result.json", root_fd, "done/file"), 0);
    assert_int_equal(mkfifoat(root_fd, "done/fifo", 0600), 0);
    put("done/sub/.hidden", "1");
    put("done/sub/b.csv", "1");
    const struct spool_sweep swept = sweep((struct spool_keep){.bytes = 1}, all);
    assert_int_equal(swept.n_inputs, 1);
    assert_false(is_there(root_fd, "done/a.csv"));
    assert_int_equal(sweep((struct spool_keep){.bytes = 1}, all).n_inputs, 0);
    assert_true(is_there(root_fd, "done/.hidden") && is_there(root_fd, "done/link"));
    assert_true(is_there(root_fd, "done/file") && is_there(root_fd, "done/fifo"));
    assert_true(is_there(root_fd, "done/sub/.hidden") && is_there(root_fd, "done/sub/b.csv"));
    assert_true(is_there(root_fd, "out/kept/result.json"));
}

/* Where file systems may be mounted. */
SPOOL_TEST(other_file_systems_stay_and_so_do_jobs_that_hold_one)
{
    char done[64], failed[64];
    fail_ten();
    put("done/old.csv", "12");
    put("done/m/below", "");
    snprintf(done, sizeof(done), "%s/done/m", root);
    snprintf(failed, sizeof(failed), "%s/failed/20261121-030441-123450/in", root);
    if (mount("leat", done, "tmpfs", 0, "size=64k") != 0) {
        print_message("no file system can be mounted here: not tested\n");
        skip();
    }
    struct spool_sweep swept = {0};
    bool are_there = false;
    const bool both = mount("leat", failed, "tmpfs", 0, "size=64k") == 0;
    if (both) {
        put("done/m/a.csv", "1");
        put("failed/20261121-030441-123450/in/b.csv", "1");
        swept = sweep(bytes(1), bytes(1));
        are_there = is_there(root_fd, "done/m/a.csv") &&
                    is_there(root_fd, "failed/20261121-030441-123450/in/b.csv");
        umount2(failed, MNT_DETACH);
    }
    umount2(done, MNT_DETACH);
    assert_true(both && are_there);
    assert_int_equal(swept.n_inputs, 1);
    assert_int_equal(swept.n_jobs, 9);
    assert_int_equal(swept.n_errors, 1);
    assert_non_null(strstr(swept.why, "123450"));
}

SPOOL_TEST(empty_folders_of_the_service_go_with_the_last_file)
{
    put("done/a/b/c/1.csv", "1");
    put("done/empty/2.csv", "1");
    put("done/theirs/3.csv", "1");
    put("done/young.csv", "12");
    assert_int_equal(unlinkat(root_fd, "done/empty/2.csv", 0), 0);
    const bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(fchownat(root_fd, "done/theirs", 65534, 65534, 0), 0);
    }
    const struct spool_sweep swept = sweep(bytes(2), all);
    assert_int_equal(swept.n_inputs, 2);
    assert_false(is_there(root_fd, "done/a"));
    assert_false(is_there(root_fd, "done/empty"));
    assert_int_equal(is_there(root_fd, "done/theirs"), is_root);
    sweep(bytes(1), all);
    assert_true(is_there(root_fd, "done"));
}

SPOOL_TEST(what_cannot_be_removed_is_told_and_nothing_goes_in_its_place)
{
    put_ten("done");
    strcpy(spool_fault->fail_step, "keep.input");
    spool_fault->fail_steps = 2;
    spool_fault->error = EPERM;
    const struct spool_sweep swept = sweep(bytes(70), all);
    assert_int_equal(swept.n_errors, 2);
    assert_non_null(strstr(swept.why, "done/0.csv"));
    assert_int_equal(swept.n_inputs, 1);
    assert_true(is_there(root_fd, "done/0.csv") && is_there(root_fd, "done/1.csv"));
    assert_false(is_there(root_fd, "done/2.csv"));
    assert_true(is_there(root_fd, "done/3.csv"));
}

enum { MANY = 8192 + 10 }; /* more than one sweep removes */

static void put_many(const char *folder)
{
    char path[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "%s/%05d.csv", folder, i);
        put(path, "1");
    }
}

SPOOL_TEST_IN_MEMORY(another_sweep_is_asked_for_where_one_has_removed_something)
{
    put_many("done");
    strcpy(spool_fault->fail_step, "keep.input");
    spool_fault->error = EPERM;
    struct spool_sweep swept = sweep(bytes(1), all);
    assert_int_equal(swept.n_inputs, 0);
    assert_true(swept.n_errors > 0);
    assert_false(swept.more);
    spool_fault_clear();
    swept = sweep(bytes(1), all);
    assert_int_equal(swept.n_inputs, 8192);
    assert_true(swept.more);
    swept = sweep(bytes(1), all);
    assert_int_equal(swept.n_inputs, 9);
    assert_false(swept.more);
}

/* As a user whom rights bind. */
SPOOL_TEST_IN_MEMORY(what_lies_in_folders_that_cannot_be_written_keeps_nothing_else)
{
    const uid_t self = geteuid(), user = self == 0 ? 65534 : self;
    put_many("done/theirs");
    put_ten("done/ours");
    assert_int_equal(fchownat(root_fd, "done/theirs", user, (gid_t)-1, 0), 0);
    assert_int_equal(fchownat(root_fd, "done/ours", user, (gid_t)-1, 0), 0);
    assert_int_equal(fchmodat(root_fd, "done/theirs", 0555, 0), 0);
    assert_int_equal(seteuid(user), 0);
    const struct spool_sweep swept = sweep(bytes(34), all);
    assert_int_equal(seteuid(self), 0);
    assert_int_equal(swept.n_inputs, 7);
    are_left("done/ours/%d.csv", 7);
    assert_int_equal(swept.n_errors, MANY);
    assert_non_null(strstr(swept.why, "done/theirs/"));
    assert_false(swept.more);
}

/* A change on disk is recorded: sees whether an input could be archived meanwhile. */
static ssize_t look_at_lock(void *n_locked, const char *text, size_t n)
{
    const bool is_free = pthread_mutex_trylock(&s->archiving) == 0;
    if (is_free) {
        pthread_mutex_unlock(&s->archiving);
    }
    *(unsigned *)n_locked += !is_free && strncmp(text, "rmdir", 5) != 0;
    return (ssize_t)n;
}

SPOOL_TEST(inputs_are_archived_while_jobs_and_files_are_removed)
{
    unsigned n_locked = 0;
    put_ten("done/sub");
    fail_ten();
    FILE *const trace = fopencookie(&n_locked, "w", (cookie_io_functions_t){.write = look_at_lock});
    assert_non_null(trace);
    spool_fault->trace = trace;
    struct spool_sweep swept = sweep(all, bytes(1));
    assert_int_equal(swept.n_jobs, 10);
    const unsigned long n_before = spool_fault->n_changes;
    assert_true(n_before >= 50);
    swept = sweep(bytes(1), all);
    spool_fault_clear();
    fclose(trace);
    assert_int_equal(swept.n_inputs, 10);
    assert_int_equal(n_locked, 0);
}

SPOOL_TEST(a_stop_ends_it)
{
    atomic_bool stop = true;
    put_ten("done");
    struct spool_sweep swept = {.done = {.bytes = 1}, .stop = &stop};
    spool_sweep(s, &swept);
    assert_int_equal(swept.n_inputs, 0);
    are_left("done/%d.csv", 0);
}

/* --- failed/ */

SPOOL_TEST(whole_jobs_go_and_nothing_that_is_none)
{
    put("failed/20261121-030441-123450~2/in/a.csv", "123456789\n");
    fail_ten();
    put("failed/looked-at/in/a.csv", "123456789\n");
    put("failed/note", "123456789\n");
    const struct spool_sweep swept = sweep(all, bytes(60));
    assert_int_equal(swept.n_jobs, 6);
    assert_int_equal(swept.bytes, 70);
    assert_int_equal(swept.n_errors, 0);
    assert_false(is_there(root_fd, "failed/20261121-030441-123450~2"));
    are_left(id_format, 5);
    assert_int_equal(count_entries(root_fd, "failed"), 5 + 2);
    holds("failed/20261121-030441-123459/in/a.csv", "123456789\n");
}

SPOOL_TEST(what_a_sweep_has_left_goes_also_where_all_is_kept)
{
    fail_ten();
    put("failed/.20261121-030441-123450.gone/in/a.csv", "1");
    put("failed/.20261121-030441-123450~2.gone/reason.json", "{}");
    put("failed/.mine.gone/in/a.csv", "1");
    strcpy(spool_fault->fail_step, "keep.left");
    spool_fault->error = EIO;
    struct spool_sweep swept = sweep(all, all);
    assert_int_equal(swept.n_errors, 2);
    assert_non_null(strstr(swept.why, ".gone"));
    spool_fault_clear();
    swept = sweep(all, all);
    assert_int_equal(swept.n_errors + swept.n_jobs, 0);
    are_left(id_format, 0);
    assert_int_equal(count_entries(root_fd, "failed"), 10 + 1);
}

SPOOL_TEST(a_job_that_is_being_put_back_stays)
{
    fail_ten();
    put("failed/20261121-030441-123450/job",
        "{\"schema\": 2, \"id\": \"20261121-030441-123450\", \"folder\": \"\", \"stem\": \"a\", "
        "\"inputs\": [{\"name\": \"a.csv\", \"inode\": 1, \"bytes\": 1, \"mtime_ns\": 1}], "
        "\"parameters\": {}}");
    const int fd =
        openat(root_fd, "failed/20261121-030441-123450", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(sweep(all, bytes(1)).n_jobs, 9);
    are_left("failed/20261121-030441-12344%d", 10);
    assert_true(is_there(root_fd, "failed/20261121-030441-123450/in/a.csv"));
    assert_int_equal(refused_retry("20261121-030441-123450"), STATUS_EXISTS);
    close(fd);
    spool_job_free(retry("20261121-030441-123450"));
    assert_true(is_there(root_fd, ".work/20261121-030441-123450/in/a.csv"));
}

/* --- death */

/* A child that sweeps dies before the k-th change, or after it; false: it makes no k-th. */
static bool dies_at(unsigned long k, bool before)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        *(before ? &spool_fault->die_before : &spool_fault->die_after) = spool_fault->n_changes + k;
        sweep(bytes(30), bytes(36));
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_true(WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == SPOOL_FAULT_DIED);
    return WEXITSTATUS(how) == SPOOL_FAULT_DIED;
}

SPOOL_TEST(whatever_it_dies_at_the_next_sweep_ends_the_same)
{
    bool died = true;
    unsigned n = 0;
    for (unsigned long k = 1; died; k++) {
        for (int before = 0; before <= 1; before++) {
            put_ten("done/sub");
            put_ten("done/tub");
            fail_ten();
            died = dies_at(k, before == 1);
            n += died;
            for (int i = 7; i < 10; i++) {
                assert_true(is_left("done/tub/%d.csv", i));
                assert_true(is_left("failed/20261121-030441-12345%d/in/a.csv", i));
            }
            struct spool_recovery r;
            recover(&r); /* it sees nothing of this */
            assert_int_equal(r.n_ended, 0);
            spool_recovery_free(&r);
            sweep(bytes(30), bytes(36));
            assert_false(is_there(root_fd, "done/sub"));
            are_left("done/tub/%d.csv", 7);
            are_left(id_format, 7);
            assert_int_equal(count_entries(root_fd, "failed"), 3);
        }
    }
    assert_true(n >= 2 * (17 + 1 + 7 * 5));
}

/* Its input has been moved to done/, and that is not on disk yet: were it removed then, and all
 * died, the job would still end as it must. */
SPOOL_TEST(a_job_whose_input_goes_while_it_is_archived_ends_all_the_same)
{
    struct spool_job *job = new_worked_job("sub");
    strcpy(spool_fault->fail_step, "archive.done");
    spool_fault->error = EIO;
    spool_finish(s, &job, 1);
    expect(job, SPOOL_TRANSIENT, SPOOL_PUBLISHED);
    holds("done/sub/a.csv", "1");
    put("done/z.csv", "1");
    spool_fault_clear();
    sweep(bytes(1), all);
    assert_false(is_there(root_fd, "done/sub"));
    struct spool_recovery r;
    recover(&r);
    assert_int_equal(r.n_finished, 1);
    assert_int_equal(r.n_failed + r.n_aside + r.n_jobs, 0);
    spool_recovery_free(&r);
    spool_job_free(job);
    nothing_but_the_lock_is_left();
    assert_true(is_there(root_fd, "out/sub/a"));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
