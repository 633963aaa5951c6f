/*
 * Whether a file is complete, and what is never one: the kinds of files that turn up in a watched
 * folder, looked at as they are.
 */
#include "formats/base/file_name.h"
#include "tests/support/spool_fault.h"
#include "tests/support/unit.h"
#include "watch/arrival/ready.h"
#include "watch/files/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/leat-ready-XXXXXX";
static int folder_fd;
enum { SETTLE_MS = 2000 };

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL && (folder_fd = open(folder, O_RDONLY | O_DIRECTORY)) >= 0 ? 0
                                                                                              : 1;
}

static int remove_all(void **state)
{
    (void)state;
    char command[64];
    close(folder_fd);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static int clear(void **state)
{
    (void)state;
    spool_fault_clear();
    return 0;
}

/* Leaves it open for writing. */
static int put(const char *name, const char *text)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static struct ready_answer look(const char *name)
{
    struct ready_memory memory = {0};
    return ready_look(folder_fd, name, 1000, SETTLE_MS, 0, &memory);
}

TEST(names_of_files_being_written_are_known)
{
    static const char *const passing[] = {".x.csv", "x.csv.part", "x.tmp",     "a/b.filepart",
                                          "x.csv~", "sub/.x",     "X.CSV.TMP", "x.Part"};
    static const char *const whole[] = {"x.csv", "part", "a.part/x.csv", "x~.csv", "x.tmp.csv"};
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++) {
        assert_true(file_name_is_temporary(passing[i]));
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        assert_false(file_name_is_temporary(whole[i]));
    }
}

TEST(names_of_unfinished_and_kept_copies_are_known)
{
    static const char *const copies[] = {
        "x.csv.partial",    "x.csv.download",   "x.csv.opdownload",
        "x.csv.aria2",      "x.csv.crdownload", "a/x.clusters.csv.BAK",
        "x.dem.tif.orig",   "x.csv.swp",        "x.csv.save",
        "x.csv.old",        "x.csv.1",          "x.csv.12",
        "x.csv.1.gz",       "x.csv.bak.zst",    "#x.clusters.csv#",
        "~$x.clusters.csv", "a/~$x.zip",        "x.clusters.csv:Zone.Identifier"};
    static const char *const whole[] = {
        "x.csv",      "x.old/y.csv",     "#1/x.csv",  "#x.csv",
        "x#",         "~x.csv",          "x.bak.csv", "old",
        "x.123",      "x.2019",          "x.csv",     "x.csv.gz",
        "x.1.csv.gz", "x.clusters.data", "x1",        "Zone.Identifier"};
    for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
        if (!file_name_is_copy(copies[i])) {
            fail_msg("'%s' is an input", copies[i]);
        }
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        if (file_name_is_copy(whole[i])) {
            fail_msg("'%s' is no input", whole[i]);
        }
    }
}

TEST(file_that_is_open_for_writing_is_not_ready_and_is_once_closed)
{
    int fd = put("w", "1");
    struct ready_answer a = look("w");
    assert_int_equal(a.state, READY_LATER);
    assert_non_null(strstr(a.reason, "open for writing"));
    assert_true(a.again_ms > 0);
    close(fd);
    assert_int_equal(look("w").state, READY_YES);
}

TEST(file_with_old_times_is_ready_only_when_closed)
{
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    int fd = put("old", "1");
    assert_int_equal(futimens(fd, old), 0);
    assert_int_equal(look("old").state, READY_LATER);
    close(fd);
    assert_int_equal(look("old").state, READY_YES);
}

TEST(file_renamed_into_place_is_ready_at_once)
{
    close(put("x.part", "1"));
    assert_int_equal(renameat(folder_fd, "x.part", folder_fd, "x"), 0);
    assert_int_equal(look("x").state, READY_YES);
}

TEST(lease_leaves_the_file_to_writers_and_the_process_alive)
{
    close(put("l", "1"));
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(look("l").state, READY_YES);
        int fd = openat(folder_fd, "l", O_WRONLY | O_NONBLOCK);
        assert_true(fd >= 0);
        close(fd);
    }
    const int asked = openat(folder_fd, "l", O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(ready_writer(asked), READY_WRITER_OPEN);
    const int writer = openat(folder_fd, "l", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(writer >= 0); /* EWOULDBLOCK: the lease is still there */
    close(writer);
    close(asked);
}

TEST(empty_file_must_stand_still_first)
{
    struct ready_memory memory = {0};
    close(put("empty", ""));
    struct ready_answer a = ready_look(folder_fd, "empty", 5000, SETTLE_MS, 0, &memory);
    assert_int_equal(a.state, READY_LATER);
    assert_int_equal(a.again_ms, 2000);
    a = ready_look(folder_fd, "empty", 6500, SETTLE_MS, 0, &memory);
    assert_int_equal(a.state, READY_LATER);
    assert_int_equal(a.again_ms, 500);
    a = ready_look(folder_fd, "empty", 6999, SETTLE_MS, 0, &memory);
    assert_int_equal(a.state, READY_LATER);
    assert_int_equal(a.again_ms, 1);
    assert_int_equal(ready_look(folder_fd, "empty", 7000, SETTLE_MS, 0, &memory).state, READY_YES);
}

TEST(file_that_is_opened_again_and_again_is_ready_when_it_stands_still)
{
    enum { ALWAYS_MS = 3000 };
    struct ready_memory memory = {0};
    close(put("again", "1,2\n"));
    struct ready_answer a = ready_look(folder_fd, "again", 5000, 0, ALWAYS_MS, &memory);
    assert_int_equal(a.state, READY_LATER);
    assert_int_equal(a.again_ms, ALWAYS_MS);
    assert_string_equal(a.reason, "has changed; must stand still for 3 s");
    close(put("again", "1,2\n3,4\n"));
    assert_int_equal(ready_look(folder_fd, "again", 8000, 0, ALWAYS_MS, &memory).state,
                     READY_LATER);
    assert_int_equal(ready_look(folder_fd, "again", 11000, 0, ALWAYS_MS, &memory).state, READY_YES);
}

TEST_BETWEEN(without_leases_a_text_that_ends_within_a_line_must_stand_still_for_longer, NULL, clear)
{
    static const struct {
        const char *name, *text;
        bool is_torn;
    } cases[] = {{"a.csv", "1\n2", true},    {"A.TSV", "1\n2", true}, {"b.csv", "1\n2\n", false},
                 {"c.csv", "1\r2\r", false}, {"d.npy", "12", false},  {"e.csv.gz", "12", false}};
    snprintf(spool_fault->fail_step, sizeof(spool_fault->fail_step), "ready.lease");
    spool_fault->error = EINVAL;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ready_memory m = {0};
        close(put(cases[i].name, cases[i].text));
        assert_int_equal(ready_look(folder_fd, cases[i].name, 1000, SETTLE_MS, 0, &m).state,
                         READY_LATER);
        struct ready_answer a = ready_look(folder_fd, cases[i].name, 3000, SETTLE_MS, 0, &m);
        assert_int_equal(a.state, cases[i].is_torn ? READY_LATER : READY_YES);
        if (cases[i].is_torn) {
            assert_int_equal(a.again_ms, SETTLE_MS);
            assert_non_null(strstr(a.reason, "last line has no end; must stand still for 4 s"));
        }
        assert_int_equal(ready_look(folder_fd, cases[i].name, 5000, SETTLE_MS, 0, &m).state,
                         READY_YES);
    }
}

TEST_BETWEEN(without_leases_a_file_is_ready_when_nothing_has_changed_for_long_enough, NULL, clear)
{
    struct ready_memory memory = {0};
    snprintf(spool_fault->fail_step, sizeof(spool_fault->fail_step), "ready.lease");
    spool_fault->error = EINVAL;
    int fd = put("s", "1");
    assert_int_equal(ready_look(folder_fd, "s", 1000, SETTLE_MS, 0, &memory).state, READY_LATER);
    assert_int_equal(ready_look(folder_fd, "s", 2900, SETTLE_MS, 0, &memory).state, READY_LATER);
    assert_int_equal(write(fd, "2", 1), 1);
    struct ready_answer a = ready_look(folder_fd, "s", 3100, SETTLE_MS, 0, &memory);
    assert_int_equal(a.state, READY_LATER);
    assert_int_equal(a.again_ms, 2000);
    close(fd);
    /* A change that keeps size and mtime shows in ctime. */
    const struct timespec same[2] = {{0, UTIME_OMIT},
                                     {a.seen.mtime_ns / 1000000000, a.seen.mtime_ns % 1000000000}};
    usleep(20000);
    assert_int_equal(utimensat(folder_fd, "s", same, 0), 0);
    assert_int_equal(ready_look(folder_fd, "s", 5100, SETTLE_MS, 0, &memory).state, READY_LATER);
    assert_int_equal(ready_look(folder_fd, "s", 7100, SETTLE_MS, 0, &memory).state, READY_YES);
}

TEST(file_that_has_gone_is_gone)
{
    assert_int_equal(look("nothing").state, READY_GONE);
    assert_int_equal(look("nothing/x").state, READY_GONE);
}

static void never(const char *name, const char *why)
{
    struct ready_answer a = look(name);
    assert_int_equal(a.state, READY_NEVER);
    if (strstr(a.reason, why) == NULL) {
        fail_msg("%s: %s", name, a.reason);
    }
}

TEST(what_is_no_file_with_one_name_is_never_ready)
{
    close(put("target", "1"));
    assert_int_equal(mkfifoat(folder_fd, "fifo", 0600), 0);
    assert_int_equal(symlinkat("target", folder_fd, "link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", folder_fd, "far"), 0);
    assert_int_equal(mkdirat(folder_fd, "folder", 0700), 0);
    assert_int_equal(symlinkat("folder", folder_fd, "way"), 0);
    close(put("folder/inside", "1"));
    close(put("first", "1"));
    assert_int_equal(linkat(folder_fd, "first", folder_fd, "second", 0), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    never("fifo", "FIFO");
    never("link", "is a link");
    never("far", "is a link");
    never("folder", "folder");
    never("way/inside", "link");
    never("first", "2 names");
    never("second", "2 names");
    never("socket", "socket");
    assert_int_equal(unlinkat(folder_fd, "second", 0), 0);
    assert_int_equal(look("first").state, READY_YES);
}

TEST(file_that_may_not_be_read_waits_and_says_why)
{
    if (geteuid() == 0) {
        skip(); /* root reads everything */
    }
    close(put("closed", "1"));
    assert_int_equal(fchmodat(folder_fd, "closed", 0, 0), 0);
    struct ready_answer a = look("closed");
    assert_int_equal(a.state, READY_LATER);
    assert_non_null(strstr(a.reason, "ermission"));
}

TEST(names_of_any_bytes_are_taken)
{
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    const char *const names[] = {"new\nline", "caf\xC3\xA9.csv", "\xFF\xFE", "%41 $(x)", longest};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        close(put(names[i], "1"));
        assert_int_equal(look(names[i]).state, READY_YES);
    }
}

/* How openat2 fails from now on: not at all, as in an old kernel, or by a filter of a container. */
static const int ways[] = {0, ENOSYS, EPERM};
enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

static void walk(size_t way)
{
    strcpy(spool_fault->fail_step, ways[way] != 0 ? "beneath.openat2" : "");
    spool_fault->error = ways[way];
}

static void both(const char *path, int flags, bool opens)
{
    for (size_t i = 0; i < N_WAYS; i++) {
        walk(i);
        int fd = beneath_open(folder_fd, path, flags);
        if ((fd >= 0) != opens) {
            fail_msg("%s way %zu: %s", path, i, fd >= 0 ? "opened" : strerror(errno));
        }
        if (fd >= 0) {
            assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
            close(fd);
        }
    }
}

TEST(nothing_is_opened_outside_nor_over_a_link)
{
    assert_int_equal(mkdirat(folder_fd, "d", 0700), 0);
    assert_int_equal(mkdirat(folder_fd, "d/e", 0700), 0);
    close(put("d/e/f", "1"));
    assert_int_equal(symlinkat("/", folder_fd, "d/root"), 0);
    assert_int_equal(symlinkat("e", folder_fd, "d/near"), 0);
    assert_int_equal(mkfifoat(folder_fd, "d/fifo", 0600), 0);
    both("", O_RDONLY | O_DIRECTORY, true);
    both("d/e/f", O_RDONLY, true);
    both("d/e", O_RDONLY | O_DIRECTORY, true);
    both("d/e", O_PATH, true);
    both("d/fifo", O_RDONLY, true); /* without waiting for a writer */
    both("d/near/f", O_RDONLY, false);
    both("d/near", O_RDONLY | O_DIRECTORY, false);
    both("d/root/etc/passwd", O_RDONLY, false);
    both("d/../d/e/f", O_RDONLY, false);
    both("..", O_RDONLY | O_DIRECTORY, false);
    both("/etc/passwd", O_RDONLY, false);
    both("d//e", O_RDONLY, false);
    both("d/e/", O_RDONLY, false);
    both("./d", O_RDONLY, false);
    both("d/e/f/g", O_RDONLY, false);
    for (size_t way = N_WAYS; way-- > 0;) {
        walk(way);
        assert_int_equal(beneath_open(folder_fd, "d/near/f", O_RDONLY), -1);
        assert_int_equal(errno, ELOOP);
    }
}

TEST(names_and_paths_are_told_apart)
{
    char name[258];
    memset(name, 'n', sizeof(name));
    name[256] = '\0';
    assert_false(beneath_is_name(name));
    assert_false(beneath_is_path(name));
    name[255] = '\0';
    assert_true(beneath_is_name(name));
    assert_true(beneath_is_path(name));
    assert_false(beneath_is_name(""));
    assert_false(beneath_is_name("."));
    assert_false(beneath_is_name(".."));
    assert_false(beneath_is_name("a/b"));
    assert_true(beneath_is_name("..."));
    assert_true(beneath_is_path(""));
    assert_true(beneath_is_path("a/b"));
    assert_false(beneath_is_path("a/../b"));
}

int main(void)
{
    return unit_run(make_folder, remove_all);
}
