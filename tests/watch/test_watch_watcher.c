/*
 * The watcher: what arrives is found, whatever way it came and whether or not there are events.
 * ctest: tsan=yes
 */
#include "tests/support/watcher_fixture.h"

#include <errno.h>
#include <sys/resource.h>

WATCHER_TEST(what_is_there_at_the_start_is_found_also_in_sub_folders)
{
    put("a.csv");
    put("x/y/b.csv");
    put(".hidden");
    put("c.part");
    put("d.tmp/inside.csv");
    watch(5000, false);
    run_until(NULL);
    assert_string_equal(watcher_mode(w), "inotify");
    assert_int_equal(seen.n_last, 2);
    assert_non_null(strstr(seen.paths, "a.csv|"));
    assert_non_null(strstr(seen.paths, "x/y/b.csv|"));
}

/* Puts a file whose time of arrival is later than that of the one put before. */
static void put_later(const char *name, struct timespec *before)
{
    struct stat st;
    do {
        put(name);
        assert_int_equal(fstatat(root_fd, name, &st, 0), 0);
    } while (st.st_ctim.tv_sec == before->tv_sec && st.st_ctim.tv_nsec == before->tv_nsec);
    *before = st.st_ctim;
}

WATCHER_TEST(what_a_look_finds_comes_in_the_order_of_its_arrival)
{
    static const char *const first[] = {"z.csv", "x/y/q.csv", "k.csv", "x/a.csv", "m.csv", "b.csv"};
    static const char *const later[] = {"y.csv", "c.csv", "x/n.csv", "d.csv"};
    struct timespec before = {0};
    for (size_t i = 0; i < 6; i++) {
        put_later(first[i], &before);
    }
    watch(60000, false);
    run_until(NULL);
    assert_string_equal(seen.paths, "z.csv|x/y/q.csv|k.csv|x/a.csv|m.csv|b.csv|");
    seen.paths[0] = '\0';
    for (size_t i = 0; i < 4; i++) { /* hinted at, and looked at together */
        put_later(later[i], &before);
    }
    run_until("d.csv");
    assert_string_equal(seen.paths, "y.csv|c.csv|x/n.csv|d.csv|");
}

WATCHER_TEST(files_that_are_closed_come_in_the_order_of_that)
{
    struct timespec before = {0};
    watch(60000, false);
    run_until(NULL);
    put_later("a.csv", &before);
    const int fd = openat(root_fd, "b.csv", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "1", 1), 1);
    put_later("c.csv", &before);
    put_later("a.csv", &before);
    assert_int_equal(close(fd), 0);
    run_until("b.csv");
    assert_string_equal(seen.paths, "c.csv|a.csv|b.csv|");
}

WATCHER_TEST(what_arrives_is_found_without_a_complete_look)
{
    assert_int_equal(mkdirat(root_fd, "sub", 0700), 0);
    watch(60000, false);
    run_until(NULL);
    put("written.csv");
    run_until("written.csv");
    put(".x");
    assert_int_equal(renameat(root_fd, ".x", root_fd, "renamed.csv"), 0);
    run_until("renamed.csv");
    put("sub/deep.csv");
    run_until("sub/deep.csv");
    assert_int_equal(linkat(root_fd, "renamed.csv", root_fd, "linked.csv", 0), 0);
    run_until("linked.csv");
    assert_int_equal(symlinkat("/etc/passwd", root_fd, "link.csv"), 0);
    run_until("link.csv");
    assert_int_equal(mkfifoat(root_fd, "fifo", 0600), 0);
    run_until("fifo");
    put("new\nline.csv");
    run_until("new\nline.csv");
    assert_int_equal(seen.n_complete, 1);
    assert_null(strstr(seen.paths, ".x"));
}

WATCHER_TEST(same_name_is_found_every_time_it_arrives)
{
    watch(60000, false);
    run_until(NULL);
    for (int i = 0; i < 3; i++) {
        put("a.csv");
        run_until("a.csv");
        assert_int_equal(unlinkat(root_fd, "a.csv", 0), 0);
    }
}

WATCHER_TEST(overflow_is_followed_by_a_complete_look)
{
    char name[32];
    unsigned limit = 16384;
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (f != NULL) {
        if (fscanf(f, "%u", &limit) != 1) {
            limit = 16384;
        }
        fclose(f);
    }
    if (limit > 20000) {
        skip(); /* that many files take too long */
    }
    put("sub/deep/a.csv");
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(n_watches(), 3);
    for (unsigned i = 0; i < limit; i++) { /* two events each, and nobody reads them */
        snprintf(name, sizeof(name), "%u", i);
        int fd = openat(root_fd, name, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    move_out("sub"); /* which is not told any more */
    run_until(NULL);
    assert_int_equal(seen.n_last, limit);
    assert_int_equal(n_watches(), 1);
    assert_true(w->n_overflows > 0);
}

WATCHER_TEST(without_events_everything_is_found_by_polling)
{
    watch(20, true);
    run_until(NULL);
    put("x/a.csv");
    run_until("x/a.csv");
    assert_non_null(strstr(watcher_mode(w), "polling every 0.02 s"));
}

static void limit_of(const char *step, int error, const char *named)
{
    strcpy(spool_fault->fail_step, step);
    spool_fault->error = error;
    watch(20, false);
    run_until(NULL);
    if (strstr(watcher_mode(w), "polling") == NULL || strstr(watcher_mode(w), named) == NULL) {
        fail_msg("mode: %s", watcher_mode(w));
    }
    put("a.csv");
    run_until("a.csv");
}

WATCHER_TEST(limit_of_instances_is_named_and_polled)
{
    limit_of("watcher.init", EMFILE, "fs.inotify.max_user_instances");
}

WATCHER_TEST(limit_of_watches_is_named_polled_and_left_again)
{
    limit_of("watcher.add", ENOSPC, "fs.inotify.max_user_watches");
    spool_fault_clear();
    for (int i = 0; i < 3 && strcmp(watcher_mode(w), "inotify") != 0; i++) {
        run_until(NULL);
    }
    assert_string_equal(watcher_mode(w), "inotify");
}

WATCHER_TEST(limit_of_watches_that_is_reached_later_is_named_and_polled)
{
    watch(20, false);
    run_until(NULL);
    assert_string_equal(watcher_mode(w), "inotify");
    strcpy(spool_fault->fail_step, "watcher.add");
    spool_fault->error = ENOSPC;
    put("sub/a.csv"); /* in a folder that gets no watch any more */
    run_until("sub/a.csv");
    assert_non_null(strstr(watcher_mode(w), "fs.inotify.max_user_watches"));
    put("sub/b.csv");
    run_until("sub/b.csv");
}

WATCHER_TEST(asked_for_a_look_it_looks)
{
    watch(60000, false);
    run_until(NULL);
    put("a.csv");
    run_until("a.csv");
    watcher_rescan(w);
    run_until(NULL);
    assert_int_equal(seen.n_last, 1);
    watcher_hint(w, "../etc/passwd");
    watcher_hint(w, "a.csv");
    seen.n_files = 0;
    run_until("a.csv");
    assert_int_equal(seen.n_files, 1);
}

WATCHER_TEST(removed_folder_is_trouble_in_words)
{
    watch(20, true);
    run_until(NULL);
    assert_int_equal(rmdir(root), 0);
    run_until("trouble");
    assert_non_null(strstr(seen.trouble, "removed"));
    assert_non_null(strstr(seen.trouble, root));
}

WATCHER_TEST(folder_that_may_not_be_entered_is_trouble_in_words_when_it_arrives)
{
    if (geteuid() == 0) {
        skip(); /* who may enter everything */
    }
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(mkdirat(root_fd, "closed", 0), 0);
    run_until("trouble");
    assert_non_null(strstr(seen.trouble, "'closed' cannot be opened: Permission denied"));
    assert_int_equal(w->n_scans, 1);
}

/* Makes so many folders in one another, the first at `path`, which becomes that of the last. */
static void make_deep(char *path, int depth)
{
    assert_int_equal(mkdirat(root_fd, path, 0777), 0);
    for (int made = 1; made < depth; made++) {
        strcat(path, "/d");
        assert_int_equal(mkdirat(root_fd, path, 0777), 0);
    }
}

WATCHER_TEST(folder_that_lies_too_deep_is_trouble_in_words_when_it_is_named)
{
    char path[128] = "d";
    watch(60000, false);
    run_until(NULL);
    make_deep(path, 33);
    seen.trouble[0] = '\0';
    watcher_hint(w, path);
    run_until("trouble");
    assert_non_null(strstr(seen.trouble, "too deep"));
}

/* By a look at all, and by its name. */
WATCHER_TEST(folder_below_32_others_is_looked_into_and_no_deeper)
{
    char path[128] = "d", in[192], below[256];
    make_deep(path, 32);
    snprintf(in, sizeof(in), "%s/in.csv", path);
    snprintf(below, sizeof(below), "%s/d/below.csv", path);
    assert_true(put_file(root_fd, in, "1") && put_file(root_fd, below, "1"));
    watch(60000, false);
    run_until(NULL);
    snprintf(below, sizeof(below), "%s|", in);
    assert_string_equal(seen.paths, below);
    assert_int_equal(seen.n_troubles, 1);
    seen.paths[0] = '\0';
    watcher_hint(w, path);
    run_until(in);
    assert_string_equal(seen.paths, below);
}

WATCHER_TEST(places_that_cannot_be_looked_at_are_counted)
{
    char path[128] = "a";
    for (char top = 'a'; top <= 'c'; top++) {
        snprintf(path, sizeof(path), "%c", top);
        make_deep(path, 34);
    }
    watch(60000, false);
    run_until("trouble");
    assert_int_equal(seen.n_troubles, 3);
    assert_non_null(strstr(seen.trouble, "too deep"));
}

WATCHER_TEST(trouble_that_was_named_is_counted_soon_and_holds_no_file_up)
{
    char path[128] = "d";
    watch(400, false);
    run_until(NULL);
    make_deep(path, 34);
    path[strlen(path) - 2] = '\0';
    watcher_hint(w, path);
    run_until("trouble");
    assert_int_equal(seen.n_troubles, 0);
    assert_true(put_file(root_fd, "a.csv", "1"));
    const unsigned long n_scans = w->n_scans;
    run_until("a.csv");
    assert_int_equal(w->n_scans, n_scans); /* found by its event */
    run_until(NULL);
    assert_int_equal(seen.n_troubles, 1);
}

WATCHER_TEST(look_that_failed_is_tried_again_soon)
{
    struct rlimit before;
    watch(20, false);
    run_until(NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    watcher_rescan(w);
    run_until("trouble");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    run_until(NULL);
}

WATCHER_TEST(closing_at_any_moment_gives_everything_back)
{
    put("a.csv");
    for (int i = 0; i < 12; i++) {
        watch(10, i % 2 == 0);
        for (int k = 0; k < i / 2; k++) {
            uv_run(&loop, UV_RUN_NOWAIT);
            usleep(100U * (unsigned)i);
        }
        watcher_close(w, NULL, NULL);
        w = NULL;
        uv_run(&loop, UV_RUN_DEFAULT);
    }
}

static uint64_t cpu_ns(void) /* of this thread: what others of the machine do is not counted */
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

WATCHER_TEST(fifty_thousand_files_do_not_hold_the_loop)
{
    char name[32];
    enum { N = 50000 };
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "f%05u.csv", i);
        assert_int_equal(mknodat(root_fd, name, S_IFREG | 0600, 0), 0);
    }
    watch(60000, false);
    uint64_t longest_ns = 0;
    uint64_t begin = uv_hrtime();
    seen.until = NULL;
    while (seen.n_complete == 0 && uv_hrtime() - begin < WAIT_S * UINT64_C(1000000000)) {
        uint64_t turn = cpu_ns();
        uv_run(&loop, UV_RUN_NOWAIT);
        turn = cpu_ns() - turn;
        longest_ns = turn > longest_ns ? turn : longest_ns;
        usleep(1000);
    }
    assert_int_equal(seen.n_last, N);
    assert_true(longest_ns < 1000000000U * patience());
    print_message("%d files found in %.0f ms, the loop was held for %.1f ms at most\n", N,
                  (double)(uv_hrtime() - begin) / 1e6, (double)longest_ns / 1e6);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
