/*
 * Recovery: whatever lies in .work, a start succeeds, and every input ends in in/, .work, done/ or
 * failed/. What is left after deaths at every instant is spool_harness's topic; here it is what no
 * crash leaves: torn, foreign and damaged things, locks, limits of the folders.
 */
#include "tests/support/spool_fixture.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <sys/statvfs.h>

#define ID "20200102-030405-000006"

static struct spool_recovery r;

/* The folders are there, and nobody has them open. */
static int set_up_closed(void **state)
{
    memset(&r, 0, sizeof(r));
    int failed = set_up(state);
    spool_close(s);
    s = NULL;
    return failed;
}

static int tear_down_recovery(void **state)
{
    spool_recovery_free(&r);
    return tear_down(state);
}

#define RECOVERY_TEST(name) TEST_BETWEEN(name, set_up_closed, tear_down_recovery)

static void start(void)
{
    spool_recovery_free(&r);
    recover(&r);
}

#define INPUT(name) "{\"name\": \"" name "\", \"inode\": 1, \"bytes\": 1, \"mtime_ns\": 1}"

static void job_record_with(const char *inputs, int schema, const char *more)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\": %d, \"id\": \"" ID "\", \"folder\": \"sub\", \"stem\": \"a\", "
             "\"inputs\": [%s], \"parameters\": {}%s}",
             schema, inputs, more);
    put(".work/" ID "/job", text);
}

static void job_record(const char *inputs)
{
    job_record_with(inputs, 2, "");
}

static void commit_record_of(const char *inputs, const char *final, const char *replace,
                             ino_t inode, const char *owner)
{
    char commit[256];
    snprintf(commit, sizeof(commit),
             ", \"commit\": {\"final\": \"%s\", \"part_inode\": %llu, \"replace\": %s, "
             "\"owner\": \"%s\"}",
             final, (unsigned long long)inode, replace, owner);
    job_record_with(inputs, 2, commit);
}

static void commit_record(const char *inputs, const char *final, const char *replace)
{
    commit_record_of(inputs, final, replace, 1, OWNER);
}

static void claimed_job(void)
{
    job_record(INPUT("a.csv"));
    put(".work/" ID "/in/a.csv", "1");
}

/* Whether the text of failed/ID/reason.json holds these words. */
static void failed_because(const char *words)
{
    const char *text = text_of(root_fd, "failed/" ID "/reason.json");
    assert_non_null(text);
    if (strstr(text, words) == NULL) {
        fail_msg("%s", text);
    }
}

RECOVERY_TEST(empty_spool_has_nothing_to_recover)
{
    start();
    assert_int_equal(r.n_jobs + r.n_finished + r.n_failed + r.n_removed + r.n_aside + r.n_parts, 0);
}

RECOVERY_TEST(claimed_job_is_queued_again_with_its_parameters)
{
    claimed_job();
    job_record_with(INPUT("a.csv"), 2, ", \"attempts\": 1");
    put(".work/" ID "/job.new", "{ half a rec"); /* of the second */
    put("out/." ID "." OWNER ".part/half", "x");
    start();
    assert_int_equal(r.n_jobs, 1);
    assert_string_equal(r.jobs[0]->id, ID);
    assert_string_equal(r.jobs[0]->folder, "sub");
    assert_int_equal(r.jobs[0]->n_attempts, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_UNVERIFIED);
    is_empty("out");
    spool_verify(s, r.jobs, 1);
    spool_verify(s, r.jobs, 1);
    spool_attempt(s, r.jobs, 1);
    assert_int_equal(r.jobs[0]->n_attempts, 2);
    assert_true(make_result(s, r.jobs[0]));
    spool_finish(s, r.jobs, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_ENDED);
    holds("done/sub/a.csv", "1");
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(half_made_claim_is_finished)
{
    job_record(INPUT("a.dem.asc") ", " INPUT("a.source.asc"));
    put(".work/" ID "/in/a.source.asc", "1");
    put("in/sub/a.dem.asc", "2");
    start();
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(count_entries(root_fd, ".work/" ID "/in"), 2);
    is_empty("in/sub");
}

RECOVERY_TEST(half_made_claim_whose_other_half_is_gone_fails_with_that_reason)
{
    job_record(INPUT("a.dem.asc") ", " INPUT("a.source.asc"));
    put(".work/" ID "/in/a.source.asc", "1");
    start();
    assert_int_equal(r.n_failed, 1);
    failed_because("'a.dem.asc' was removed");
    holds("failed/" ID "/in/a.source.asc", "1");
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(torn_or_lying_record_with_inputs_fails_and_without_is_removed)
{
    static const char *const records[] = {
        "",
        "{\"schema\": 1, \"id\": \"" ID "\", \"fol",
        "[]",
        "{\"schema\": 2}",
        "{\"schema\": 3}",
        "{\"schema\": 1, \"id\": \"20200102-030405-000007\", \"folder\": \"\", \"stem\": \"a\", "
        "\"inputs\": [" INPUT("a.csv") "], \"parameters\": {}}",
        "{\"schema\": 1, \"id\": \"" ID "\", \"folder\": \"../..\", \"stem\": \"a\", "
        "\"inputs\": [" INPUT("a.csv") "], \"parameters\": {}}",
        "{\"schema\": 1, \"id\": \"" ID "\", \"folder\": \"\", \"stem\": \"a\", "
        "\"inputs\": [" INPUT("../a.csv") "], \"parameters\": {}}",
        "{\"schema\": 1, \"id\": \"" ID "\", \"folder\": \"\", \"stem\": \"a%2Fb\", "
        "\"inputs\": [" INPUT("a.csv") "], \"parameters\": {}}",
    };
    for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
        put(".work/" ID "/job", records[i]);
        put(".work/" ID "/in/a.csv", "1");
        start();
        assert_int_equal(r.n_failed, 1);
        failed_because("record is damaged");
        assert_int_equal(refused_retry(ID), STATUS_BAD_INPUT);
        holds("failed/" ID "/in/a.csv", "1");
        assert_int_equal(disk_remove_tree("", root_fd, "failed/" ID), 0);
        put(".work/" ID "/job", records[i]);
        start();
        assert_int_equal(r.n_removed, 1);
        nothing_but_the_lock_is_left();
    }
}

RECOVERY_TEST(damaged_commit_fails_the_job_and_publishes_nothing)
{
    static const char *const names[] = {"../a", "sub/../../a", "/a", "sub//a", "sub/", ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        claimed_job();
        commit_record(INPUT("a.csv"), names[i], "false");
        put("out/." ID "." OWNER ".part/result.json", "{}");
        start();
        assert_int_equal(r.n_failed, 1);
        failed_because("its result may have been published");
        is_empty("out");
        assert_int_equal(disk_remove_tree("", root_fd, "failed/" ID), 0);
    }
}

RECOVERY_TEST(committed_job_is_published_and_archived)
{
    claimed_job();
    commit_record(INPUT("a.csv"), "a", "true");
    put("out/." ID "." OWNER ".part/result.json", "{\"new\": 1}");
    put("out/a/result.json", "{}"); /* an inode that is not known replaces nothing */
    start();
    assert_int_equal(r.n_finished, 1);
    assert_int_equal(r.n_jobs, 0);
    holds("out/a/result.json", "{}");
    holds("out/a~" ID "/result.json", "{\"new\": 1}");
    holds("done/sub/a.csv", "1");
    nothing_but_the_lock_is_left();
}

/* The lock was cut by a full disk or a restored backup, or the spool was copied. */
RECOVERY_TEST(committed_job_is_published_though_the_spool_has_another_number_now)
{
    struct stat st;
    claimed_job();
    put("out/." ID ".89abcdef.part/result.json", "{\"new\": 1}");
    assert_int_equal(fstatat(root_fd, "out/." ID ".89abcdef.part", &st, 0), 0);
    commit_record_of(INPUT("a.csv"), "a", "true", st.st_ino, "89abcdef");
    put("out/a/result.json", "{}");
    start();
    assert_int_equal(r.n_finished, 1);
    holds("out/a/result.json", "{\"new\": 1}");
    assert_int_equal(count_entries(root_fd, "out"), 1); /* the earlier one has gone */
    holds("done/sub/a.csv", "1");
    nothing_but_the_lock_is_left();
}

/* Its attempts, and commits, are files of their own. */
RECOVERY_TEST(jobs_of_leat_0_1_0_are_published_where_committed_and_else_begun_again)
{
    claimed_job();
    job_record_with(INPUT("a.csv"), 1, "");
    put(".work/" ID "/attempts", "2026-11-21T03:04:41Z\n");
    put("out/." ID ".part/result.json", "{\"half\": 1}");
    start();
    assert_int_equal(r.n_jobs, 1);
    is_empty("out");
    put("out/." ID ".part/result.json", "{\"new\": 1}");
    put(".work/" ID "/commit",
        "{\"schema\": 1, \"id\": \"" ID "\", \"final\": \"a\", \"part_inode\": 1}");
    start();
    assert_int_equal(r.n_finished, 1);
    holds("out/a/result.json", "{\"new\": 1}");
    assert_int_equal(count_entries(root_fd, "out"), 1);
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(job_that_was_half_forgotten_ends_though_its_folder_in_done_is_a_link_now)
{
    commit_record(INPUT("a.csv"), "a", "false");
    put(".work/" ID "/published", "\n"); /* a file, of leat 0.1.0 */
    assert_int_equal(symlinkat("/", root_fd, "done/sub"), 0);
    start();
    assert_int_equal(r.n_finished, 1);
    nothing_but_the_lock_is_left();
}

/* A power cut has kept the record, and half of the removal of the result that was replaced. */
RECOVERY_TEST(what_a_half_forgotten_job_has_replaced_is_not_published)
{
    put("out/a/result.json", "{\"job\": \"20990102-030405-000006\"}");
    put("out/." ID "." OWNER ".part/data/half", "x");
    commit_record(INPUT("a.csv"), "a", "true");
    start();
    assert_int_equal(r.n_finished, 1);
    assert_int_equal(count_entries(root_fd, "out"), 1);
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(committed_job_that_cannot_be_published_now_is_kept)
{
    struct stat st;
    claimed_job();
    put("out/." ID "." OWNER ".part/result.json", "{}");
    assert_int_equal(fstatat(root_fd, "out/." ID "." OWNER ".part", &st, 0), 0);
    commit_record_of(INPUT("a.csv"), "a", "false", st.st_ino, OWNER);
    strcpy(spool_fault->fail_step, "publish.out");
    spool_fault->error = EIO;
    start();
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.jobs[0]->outcome, SPOOL_TRANSIENT);
    assert_int_equal(r.jobs[0]->state, SPOOL_COMMITTED);
    spool_fault_clear();
    spool_publish(s, r.jobs, 1);
    spool_archive(s, r.jobs, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_ENDED);
    holds("out/a/result.json", "{}");
}

RECOVERY_TEST(job_whose_archive_had_begun_is_published)
{
    commit_record(INPUT("a.dem.asc") ", " INPUT("a.source.asc"), "a", "false");
    put(".work/" ID "/in/a.source.asc", "1");
    start();
    assert_int_equal(r.n_finished, 1);
    holds("done/sub/a.source.asc", "1");
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(foreign_things_in_work_are_set_aside)
{
    put(".work/notes.txt", "n");
    put(".work/folder/inside", "i");
    put(".work/20200102-030405-000007", "a file with a job's name");
    assert_int_equal(symlinkat("/etc", root_fd, ".work/20200102-030405-000008"), 0);
    assert_int_equal(mkfifoat(root_fd, ".work/" ID, 0600), 0);
    put(".work/20200102-030405-000009/strange", "s");
    start();
    assert_int_equal(r.n_aside, 6);
    assert_int_equal(count_entries(root_fd, "failed"), 6);
    nothing_but_the_lock_is_left();
    assert_true(access("/etc/passwd", R_OK) == 0);
}

RECOVERY_TEST(folder_with_a_reason_has_failed)
{
    claimed_job();
    put(".work/" ID "/reason.json", "{\"reason\": \"because\"}");
    put("failed/" ID, "in the way");
    start();
    assert_int_equal(r.n_failed, 1);
    holds("failed/" ID "~2/in/a.csv", "1");
    assert_int_equal(r.n_ended, 1);
    assert_string_equal(r.ended[0]->failed, ID "~2");
    spool_job_free(retry(ID "~2"));
    holds(".work/" ID "/in/a.csv", "1");
}

/* What the service does with a job that could not fail at start: it knows no reason. */
static void fail_again(void)
{
    const struct spool_reason unknown = {"internal", "unknown"};
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_FAILING);
    assert_int_equal(r.jobs[0]->outcome, SPOOL_TRANSIENT);
    spool_fault_clear();
    spool_fail(s, r.jobs, &unknown, 1);
    assert_int_equal(r.jobs[0]->state, SPOOL_ENDED);
}

static void no_room_at_start(const char *step)
{
    snprintf(spool_fault->fail_step, sizeof(spool_fault->fail_step), "%s", step);
    spool_fault->error = ENOSPC;
    start();
}

RECOVERY_TEST(reason_is_kept_when_there_is_no_room_to_write_it_at_start)
{
    claimed_job();
    job_record_with(INPUT("a.csv"), 2, ", \"attempts\": 3");
    no_room_at_start("fail.reason");
    fail_again();
    failed_because("3 attempts");
    failed_because("exhausted");
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(foreign_thing_that_cannot_be_set_aside_now_is_a_job_without_inputs)
{
    put(".work/notes.txt", "n");
    no_room_at_start("fail.move");
    assert_int_equal(r.n_jobs, 1);
    assert_int_equal(r.jobs[0]->n_files, 0);
    assert_null(r.jobs[0]->files[0].name);
    fail_again();
    assert_int_equal(count_entries(root_fd, "failed"), 1);
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(reason_that_is_whole_is_never_replaced)
{
    claimed_job();
    put(".work/" ID "/reason.json", "{\"schema\": 1, \"reason\": \"because\"}");
    no_room_at_start("fail.move");
    fail_again();
    failed_because("because");
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(parts_of_nobody_are_swept_and_nothing_else)
{
    put("out/." ID "." OWNER ".part/x/y", "1");
    put("out/.20200102-030405-000007." OWNER ".old/z", "1");
    put("out/.leat.0123456789abcdef.part/x", "another program's");
    put("out/." ID ".0123abce.part/x", "another spool's");
    put("out/." ID ".part/x", "nobody's");
    put("out/." ID "." OWNER ".partner/x", "1");
    put("out/a/result.json", "{}");
    start();
    assert_int_equal(r.n_parts, 2);
    assert_int_equal(count_entries(root_fd, "out"), 5);
}

RECOVERY_TEST(ids_follow_those_that_are_known_whatever_the_clock_says)
{
    static const char *const names[] = {"a.csv"};
    struct spool_job *job;
    put("failed/20991231-235959-999999/reason.json", "{}");
    put("failed/99991231-235959-999999/reason.json", "{}"); /* after which no id could follow */
    put("in/a.csv", "1");
    start();
    assert_int_equal(spool_job_new("", "a", names, 1, NULL, &job), STATUS_OK);
    spool_claim(s, &job, 1);
    assert_string_equal(job->id, "21000101-000000-000000");
    spool_job_free(job);
}

/* The clock has been put back by a start, and no job is there to tell. */
RECOVERY_TEST(ids_follow_those_that_were_given_before_the_clock_was_put_back)
{
    static const char *const names[] = {"a.csv"};
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = 4102444800, .tv_nsec = 5000}};
    struct spool_job *job;
    start();
    assert_int_equal(utimensat(root_fd, ".work/lock", times, 0), 0);
    for (unsigned k = 6; k < 8; k++) {
        char id[SPOOL_ID_BYTES];
        put("in/a.csv", "1");
        start();
        snprintf(id, sizeof(id), "21000101-000000-00000%u", k);
        assert_int_equal(spool_job_new("", "a", names, 1, NULL, &job), STATUS_OK);
        spool_claim(s, &job, 1);
        assert_string_equal(job->id, id);
        attempt(job);
        spool_finish(s, &job, 1);
        expect(job, SPOOL_OK, SPOOL_ENDED);
        spool_job_free(job);
    }
}

RECOVERY_TEST(second_service_is_refused_and_told_who_has_the_folder)
{
    char pid[24];
    struct spool *second;
    start();
    assert_int_equal(spool_open(&options, &second), STATUS_EXISTS);
    assert_null(second);
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(status_message(), pid));
    spool_close(s);
    s = NULL;
    start();
}

/* Also where one number is given to jobs of both. */
RECOVERY_TEST(two_spools_share_an_output_folder_and_leave_each_other_alone)
{
    char other[64], out[64];
    struct spool *second;
    struct spool_recovery found;
    start();
    snprintf(other, sizeof(other), "%s/other", root);
    snprintf(out, sizeof(out), "%s/out", root);
    const struct spool_options shared = {.root = other, .out = out, .max_attempts = 3};
    assert_int_equal(spool_open(&shared, &second), STATUS_OK);
    const struct spool_part mine = spool_part(s->owner, ID), theirs = spool_part(second->owner, ID);
    assert_string_not_equal(mine.name, theirs.name);
    assert_int_equal(mkdirat(s->out_fd, mine.name, 0700), 0);
    assert_int_equal(mkdirat(s->out_fd, theirs.name, 0700), 0);
    assert_int_equal(spool_recover(second, &found), STATUS_OK);
    spool_recovery_free(&found);
    assert_true(is_there(s->out_fd, mine.name));
    assert_false(is_there(s->out_fd, theirs.name));
    spool_close(second);
    assert_int_equal(spool_open(&shared, &second), STATUS_OK);
    assert_string_equal(spool_part(second->owner, ID).name, theirs.name); /* it keeps its name */
    spool_close(second);
}

/* As by cp -a: from then on each has parts of its own, also where both have one output folder. */
RECOVERY_TEST(copy_of_a_spool_has_another_number_and_the_spool_keeps_its)
{
    start();
    assert_string_equal(s->owner, OWNER);
    start();
    assert_string_equal(s->owner, OWNER);
    spool_close(s);
    s = NULL;
    char lock[64];
    snprintf(lock, sizeof(lock), "%s", text_of(root_fd, ".work/lock"));
    put(".work/copy", lock);
    assert_int_equal(renameat(root_fd, ".work/copy", root_fd, ".work/lock"), 0);
    start();
    assert_string_not_equal(s->owner, OWNER);
}

RECOVERY_TEST(lock_that_is_empty_or_cut_says_a_new_number)
{
    static const char *const texts[] = {"", "0123", OWNER, "0123abcX\n", "4711\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char owner[SPOOL_OWNER_BYTES];
        put(".work/lock", texts[i]);
        start();
        assert_string_not_equal(s->owner, OWNER);
        memcpy(owner, s->owner, sizeof(owner));
        start();
        assert_string_equal(s->owner, owner);
        nothing_but_the_lock_is_left();
        spool_close(s);
        s = NULL;
    }
}

RECOVERY_TEST(lock_that_cannot_be_opened_is_named_with_its_cure)
{
    assert_int_equal(unlinkat(root_fd, ".work/lock", 0), 0);
    assert_int_equal(mkdirat(root_fd, ".work/lock", 0700), 0);
    assert_int_not_equal(spool_open(&options, &s), STATUS_OK);
    assert_non_null(strstr(status_message(), "/.work/lock' cannot be opened (remove it while no"));
    assert_int_equal(unlinkat(root_fd, ".work/lock", AT_REMOVEDIR), 0);
    start();
}

RECOVERY_TEST(folders_on_two_file_systems_are_refused_by_name)
{
    strcpy(spool_fault->fail_step, "open.rename");
    spool_fault->error = EXDEV;
    assert_int_equal(spool_open(&options, &s), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "/in'"));
    assert_non_null(strstr(status_message(), "/.work'"));
    assert_null(s);
    is_empty("in");
}

RECOVERY_TEST(really_another_file_system_is_refused_by_name)
{
    char other[] = "/dev/shm/leat-spool-XXXXXX";
    struct stat here;
    struct stat there;
    if (mkdtemp(other) == NULL) {
        skip();
    }
    const bool differs =
        stat(other, &there) == 0 && stat(root, &here) == 0 && here.st_dev != there.st_dev;
    assert_int_equal(unlinkat(root_fd, "done", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat(other, root_fd, "done"), 0);
    enum status code = spool_open(&options, &s);
    rmdir(other);
    if (differs) {
        assert_int_equal(code, STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "/done'"));
    }
}

RECOVERY_TEST(work_is_closed_to_others)
{
    struct stat st;
    static const mode_t modes[] = {0755, 0740, 0720, 0710, 0704, 0702, 0701, 0777, 0700};
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        assert_int_equal(fchmodat(root_fd, ".work", modes[i], 0), 0);
        start();
        assert_int_equal(fstatat(root_fd, ".work", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
}

RECOVERY_TEST(room_is_missed_below_the_reserve_and_found_above_twice_of_it)
{
    char why[300] = "", wanted[64];
    struct statvfs v;
    start();
    assert_int_equal(statvfs(root, &v), 0);
    const uint64_t quarter = (uint64_t)v.f_bavail * v.f_frsize / 4;
    static const struct {
        double quarters;
        bool has_room, of_twice;
    } steps[] = {{0, true, false}, {3, true, false}, {1000, false, false}, {3, false, true},
                 {1, true, false}, {3, true, false}, {1000, false, false}, {0, true, false}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        const uint64_t reserve = (uint64_t)(steps[i].quarters * (double)quarter);
        spool_configure(s, false, false, 3, reserve);
        bool is_short;
        assert_int_equal(spool_has_room(s, &is_short, why, sizeof(why)), steps[i].has_room);
        assert_int_equal(is_short, !steps[i].has_room);
        if (!steps[i].has_room) {
            snprintf(wanted, sizeof(wanted), "%s/.work' has ", root);
            assert_non_null(strstr(why, wanted));
            snprintf(wanted, sizeof(wanted), " MiB free, %llu MiB required",
                     (unsigned long long)(steps[i].of_twice ? 2 * reserve : reserve) >> 20);
            assert_non_null(strstr(why, wanted));
        }
    }
}

RECOVERY_TEST(folder_removed_or_replaced_under_the_service_is_named)
{
    static const char *const folders[] = {"in", "done", "failed", ".work", "out"};
    char why[300], moved[64];
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        bool is_short;
        start();
        assert_true(spool_has_room(s, &is_short, NULL, 0));
        snprintf(moved, sizeof(moved), "%s.moved", folders[i]);
        assert_int_equal(renameat(root_fd, folders[i], root_fd, moved), 0);
        assert_false(spool_has_room(s, &is_short, NULL, 0));
        assert_int_equal(mkdirat(root_fd, folders[i], 0700), 0);
        assert_false(spool_has_room(s, &is_short, why, sizeof(why)));
        snprintf(moved, sizeof(moved), "/%s' has been removed", folders[i]);
        assert_non_null(strstr(why, moved));
        start();
        assert_true(spool_check_folders(s, why, sizeof(why)));
    }
    assert_int_equal(unlinkat(root_fd, "done", AT_REMOVEDIR), 0);
    assert_false(spool_check_folders(s, why, sizeof(why)));
}

/* --- the state of a long job --------------------------------------------------------------------
 */

#define STATE "out/." ID "." OWNER ".state"

/* Of a job that was attempted once. */
static void kept_state(void)
{
    claimed_job();
    job_record_with(INPUT("a.csv"), 2, ", \"attempts\": 1");
    put("out/." ID "." OWNER ".part/half", "x");
    put(STATE, "so far");
}

RECOVERY_TEST(a_state_stays_from_one_attempt_to_the_next)
{
    kept_state();
    start();
    assert_int_equal(r.n_jobs, 1);
    holds(STATE, "so far");
    assert_int_equal(count_entries(root_fd, "out"), 1);
    spool_verify(s, r.jobs, 1);
    spool_verify(s, r.jobs, 1);
    attempt(r.jobs[0]);
    assert_int_equal(r.jobs[0]->n_attempts, 2);
    holds(STATE, "so far");
    spool_requeue(s, r.jobs, 1, true);
    holds(STATE, "so far");
    spool_verify(s, r.jobs, 1);
    put("out/." ID "." OWNER ".state.new", "half");
    work_on(r.jobs[0]);
    assert_int_equal(count_entries(root_fd, "out"), 1); /* the result */
    nothing_but_the_lock_is_left();
}

RECOVERY_TEST(a_state_goes_when_its_job_fails)
{
    kept_state();
    start();
    fail_job(r.jobs[0], "bad-input", "for a test");
    is_empty("out");
}

RECOVERY_TEST(states_of_nobody_are_removed)
{
    put(STATE, "so far");
    put("out/.20200102-030405-000007." OWNER ".state.new", "half");
    put("out/." ID ".89abcdef.state", "of another spool");
    put("out/." ID "." OWNER ".states", "of a user");
    start();
    assert_int_equal(r.n_parts, 2);
    assert_int_equal(count_entries(root_fd, "out"), 2);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
