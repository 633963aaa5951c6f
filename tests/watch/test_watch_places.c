/*
 * Inputs that may not be moved from where they lie, in/ itself made anew, and reasons: what people
 * read of it, and that it costs nobody else.
 */
#include "tests/support/spool_fixture.h"

#include <errno.h>

static void drop(const char *path)
{
    put(path, "1,2\n3,4\n");
}

SPOOL_TEST(input_that_may_not_be_moved_waits_and_says_what_to_do)
{
    static const struct {
        int error;
        const char *cure;
    } cases[] = {{EACCES, "right to write"},
                 {EPERM, "immutable"},
                 {EXDEV, "file system"},
                 {EROFS, "mount its file system for writing"},
                 {EBUSY, "unmount it"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        drop("in/sub/x.csv");
        struct spool_job *job = new_job("sub", "x", "x.csv", NULL);
        strcpy(spool_fault->fail_step, "claim.take");
        spool_fault->error = cases[i].error;
        spool_claim(s, &job, 1);
        assert_int_equal(job->outcome, SPOOL_WAIT);
        assert_int_equal(job->state, SPOOL_NEW);
        assert_string_equal(job->id, "");
        assert_non_null(strstr(job->message, "'x.csv' may not be moved"));
        assert_non_null(strstr(job->message, cases[i].cure));
        assert_true(is_there(root_fd, "in/sub/x.csv"));
        assert_int_equal(count_entries(root_fd, ".work"), i + 1); /* and the lock */
        spool_fault_clear();
        spool_claim(s, &job, 1);
        assert_int_equal(job->outcome, SPOOL_OK);
        assert_int_equal(job->state, SPOOL_QUEUED);
        spool_job_free(job);
    }
}

SPOOL_TEST(folder_that_may_not_be_written_costs_no_change_on_disk_and_no_neighbour)
{
    drop("in/locked/a.dem.asc");
    drop("in/locked/a.source.asc");
    drop("in/x.csv");
    struct spool_job *jobs[] = {new_job("locked", "x", "a.dem.asc", "a.source.asc"),
                                new_job("", "x", "x.csv", NULL)};
    const bool is_root = geteuid() == 0;
    assert_int_equal(fchmodat(root_fd, "in/locked", 0555, 0), 0);
    if (is_root) { /* who may write everywhere: the folder alone is another's */
        char command[128];
        snprintf(command, sizeof(command), "chown -R 65534 %s; chown 0 %s/in/locked", root, root);
        assert_int_equal(system(command), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    const unsigned long n_before = spool_fault->n_changes;
    spool_claim(s, jobs, 1);
    const unsigned long n_changes = spool_fault->n_changes - n_before;
    spool_claim(s, jobs, 2);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_int_equal(jobs[0]->outcome, SPOOL_WAIT);
    assert_int_equal(jobs[0]->state, SPOOL_NEW);
    assert_string_equal(jobs[0]->id, "");
    assert_non_null(strstr(jobs[0]->message, "right to write"));
    assert_int_equal(n_changes, 0);
    assert_int_equal(jobs[1]->state, SPOOL_QUEUED);
    spool_job_free(jobs[0]);
    spool_job_free(jobs[1]);
}

SPOOL_TEST(names_of_the_probe_that_are_taken_keep_nobody_from_starting)
{
    static const char *const places[] = {"in", "done", "failed"};
    char path[64];
    put("in/.leat.probe-1/x", "1");
    put("in/.leat.probe-2/x", "1");
    put("done/.leat.probe-3/x", "1");
    for (size_t i = 0; i < 3; i++) { /* of a start that was cut short */
        snprintf(path, sizeof(path), "%s/.leat.probe-4", places[i]);
        put(path, "");
    }
    put(".work/.leat.probe-4", "");
    struct spool_recovery r;
    recover(&r);
    assert_int_equal(r.n_aside, 0);
    assert_int_equal(count_entries(root_fd, "in"), 2);
    assert_int_equal(count_entries(root_fd, "done"), 1);
    is_empty("failed");
    nothing_but_the_lock_is_left();
    holds("in/.leat.probe-2/x", "1");
    spool_recovery_free(&r);
}

/* --- in/ made anew ---------------------------------------------------------------------------- */

static int must_find_in(void)
{
    int fd = -2;
    if (spool_find_in(s, &fd) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    return fd;
}

SPOOL_TEST(folder_that_is_still_the_same_is_not_found_anew)
{
    assert_int_equal(must_find_in(), -1);
}

SPOOL_TEST(inputs_are_taken_from_a_new_in_and_what_was_claimed_goes_on)
{
    char why[256];
    drop("in/old.csv");
    struct spool_job *old = new_job("", "x", "old.csv", NULL);
    spool_claim(s, &old, 1);
    assert_int_equal(old->state, SPOOL_QUEUED);
    assert_int_equal(renameat(root_fd, "in", root_fd, "away"), 0);
    assert_int_equal(must_find_in(), -1); /* there is none */
    assert_false(spool_check_folders(s, why, sizeof(why)));
    assert_non_null(strstr(why, "/in' has been removed or replaced"));
    assert_non_null(strstr(why, "make it again"));
    assert_int_equal(mkdirat(root_fd, "in", 0777), 0);
    const int fd = must_find_in();
    assert_true(fd >= 0);
    spool_adopt_in(s, fd);
    is_empty("in"); /* no probe is left */
    assert_true(spool_check_folders(s, why, sizeof(why)));
    assert_int_equal(must_find_in(), -1);
    drop("in/new.csv");
    struct spool_job *new = new_job("", "x", "new.csv", NULL);
    spool_claim(s, &new, 1);
    assert_int_equal(new->state, SPOOL_QUEUED);
    is_empty("in");
    work_on(old);
    assert_true(is_there(root_fd, "done/old.csv"));
    spool_job_free(old);
    spool_job_free(new);
}

SPOOL_TEST(new_in_that_cannot_be_used_is_refused_in_words)
{
    int fd;
    assert_int_equal(renameat(root_fd, "in", root_fd, "away"), 0);
    put("in", "no folder");
    assert_int_not_equal(spool_find_in(s, &fd), STATUS_OK);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(status_message(), "/in'"));
    assert_int_equal(unlinkat(root_fd, "in", 0), 0);
    assert_int_equal(mkdirat(root_fd, "in", 0777), 0);
    strcpy(spool_fault->fail_step, "open.rename");
    spool_fault->error = EXDEV;
    assert_int_equal(spool_find_in(s, &fd), STATUS_BAD_ARGUMENT);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(status_message(), "different file systems"));
    is_empty("in");
}

/* --- where results may not go, and folders that are none -----------------------------------------
 */

/* With these options the spool cannot be opened; the message has all that is wanted of it. */
static void must_refuse(const char *out, const char *const wanted[3])
{
    struct spool *other;
    options.out = out;
    assert_int_equal(spool_open(&options, &other), STATUS_BAD_ARGUMENT);
    assert_null(other);
    for (size_t i = 0; i < 3; i++) {
        if (strstr(status_message(), wanted[i]) == NULL) {
            fail_msg("no %s in: %s", wanted[i], status_message());
        }
    }
}

SPOOL_TEST(results_go_to_no_folder_of_the_spool_whatever_their_path)
{
    static const struct {
        const char *out, *where;
    } cases[] = {{"in", "which is '%s/in'"},
                 {"in/new", "which lies in '%s/in'"},
                 {"in/new/../deep/x", "which lies in '%s/in'"},
                 {"done", "which is '%s/done'"},
                 {"failed/x", "which lies in '%s/failed'"},
                 {".work", "which is '%s/.work'"},
                 {"link/x", "which lies in '%s/done'"},
                 {"out/../link", "which is '%s/done'"},
                 {"", "the watched folder itself"},
                 {"away", "the watched folder itself"}};
    assert_int_equal(mkdirat(root_fd, "in/deep", 0777), 0);
    assert_int_equal(mkdirat(root_fd, "in/new", 0777), 0);
    assert_int_equal(symlinkat("done", root_fd, "link"), 0);
    assert_int_equal(symlinkat(".", root_fd, "away"), 0);
    spool_close(s);
    s = NULL;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char out[64], where[64];
        snprintf(out, sizeof(out), "%s/%s", root, cases[i].out);
        snprintf(where, sizeof(where), cases[i].where, root);
        must_refuse(out, (const char *const[]){out, where, "--output"});
    }
    assert_false(is_there(root_fd, "in/deep/x")); /* what was made is gone */
    assert_false(is_there(root_fd, "failed/x"));
    static const char *const fine[] = {"out", "results", "in.results"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        char out[64];
        snprintf(out, sizeof(out), "%s/%s", root, fine[i]);
        options.out = out;
        assert_int_equal(spool_open(&options, &s), STATUS_OK);
        spool_close(s);
        s = NULL;
    }
}

SPOOL_TEST(new_in_that_holds_the_results_is_refused)
{
    int fd;
    assert_int_equal(renameat(root_fd, "in", root_fd, "old"), 0);
    assert_int_equal(symlinkat("out", root_fd, "in"), 0);
    assert_int_equal(spool_find_in(s, &fd), STATUS_BAD_ARGUMENT);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(status_message(), "results would be taken for inputs"));
}

SPOOL_TEST(folder_that_is_none_or_a_link_instead_of_work_is_refused)
{
    spool_close(s);
    s = NULL;
    assert_int_equal(renameat(root_fd, ".work", root_fd, "elsewhere"), 0);
    assert_int_equal(symlinkat("elsewhere", root_fd, ".work"), 0);
    must_refuse(NULL, (const char *const[]){root, "/.work' is a link", "remove the link"});
    assert_int_equal(unlinkat(root_fd, ".work", 0), 0);
    static const char *const names[] = {"in", "done", "failed", "out", ".work"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char shown[64];
        unlinkat(root_fd, names[i], AT_REMOVEDIR);
        put(names[i], "no folder");
        snprintf(shown, sizeof(shown), "'%s/%s' must be a folder", root, names[i]);
        must_refuse(NULL, (const char *const[]){shown, "is none", "move it away"});
        assert_int_equal(unlinkat(root_fd, names[i], 0), 0);
    }
}

SPOOL_TEST(out_that_may_not_be_written_is_said_by_its_path)
{
    char why[512], command[128], shown[64];
    const bool is_root = geteuid() == 0;
    struct spool *other = NULL;
    snprintf(shown, sizeof(shown), "'%s/out'", root);
    bool is_short;
    assert_true(spool_has_room(s, &is_short, NULL, 0));
    is_short = true;
    assert_int_equal(fchmodat(root_fd, "out", 0555, 0), 0);
    if (is_root) { /* who may write everywhere */
        snprintf(command, sizeof(command), "chown -R 65534 %s; chown 0 %s/out", root, root);
        assert_int_equal(system(command), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    const bool has_room = spool_has_room(s, &is_short, why, sizeof(why));
    spool_close(s);
    s = NULL;
    const enum status code = spool_open(&options, &other);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    spool_close(other);
    assert_false(has_room || is_short);
    assert_non_null(strstr(why, shown));
    assert_non_null(strstr(why, "Permission denied"));
    assert_int_equal(code, STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), shown));
    assert_non_null(strstr(status_message(), "right to write"));
    assert_int_equal(fchmodat(root_fd, "out", 0755, 0), 0);
}

SPOOL_TEST(folder_that_cannot_be_made_or_opened_is_named_in_full)
{
    char command[128], shown[128];
    const bool is_root = geteuid() == 0;
    struct spool *other = NULL;
    spool_close(s);
    s = NULL;
    for (int made = 0; made <= 1; made++) {
        snprintf(command, sizeof(command), made ? "mkdir -m 0 %s/in" : "chmod 555 %s; rmdir %s/in",
                 root, root);
        assert_int_equal(system(command), 0);
        if (is_root) {
            assert_int_equal(seteuid(65534), 0);
        }
        const enum status code = spool_open(&options, &other);
        assert_int_equal(is_root ? seteuid(0) : 0, 0);
        assert_int_not_equal(code, STATUS_OK);
        snprintf(shown, sizeof(shown), "'%s/in' cannot be %s: Permission denied", root,
                 made ? "opened" : "made");
        if (strstr(status_message(), shown) == NULL) {
            fail_msg("no %s in: %s", shown, status_message());
        }
    }
}

/* --- what people read ------------------------------------------------------------------------- */

SPOOL_TEST(reason_is_plain_text_but_for_bytes_that_are_none)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"100 % of 'grü\xc3\x9f€𝄞.csv': 5%41", "100 % of 'grü\xc3\x9f€𝄞.csv': 5%41"},
        {"'gr\xfc\xdf.csv' is 50 % ü", "'gr%FC%DF.csv' is 50 % ü"},
        {"\xe2\x82", "%E2%82"},
        {"\"a\nb\"", "\\\"a\\nb\\\""},
        {"\xed\xa0\x80 and \xf8", "%ED%A0%80 and %F8"},
    };
    char path[128], wanted[128];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        drop("in/x.csv");
        struct spool_job *job = new_job("", "x", "x.csv", NULL);
        spool_claim(s, &job, 1);
        fail_job(job, "bad-input", cases[i].text);
        snprintf(path, sizeof(path), "failed/%s/reason.json", job->id);
        snprintf(wanted, sizeof(wanted), "\"reason\": \"%s\"", cases[i].written);
        if (strstr(text_of(root_fd, path), wanted) == NULL) {
            fail_msg("%s: %s", wanted, text_of(root_fd, path));
        }
        spool_job_free(job);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
