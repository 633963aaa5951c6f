/*
 * The watcher's folders: made, renamed, removed and moved away, each is watched as long as it is
 * there, and not longer.
 * ctest: tsan=yes wrap=fstatat64
 */
#include "tests/support/watcher_fixture.h"

WATCHER_TEST(new_folders_are_looked_into_and_watched)
{
    watch(60000, false);
    run_until(NULL);
    put(".stage/p/a.csv");
    assert_int_equal(renameat(root_fd, ".stage", root_fd, "moved"), 0);
    run_until("moved/p/a.csv");
    put("moved/p/b.csv");
    run_until("moved/p/b.csv");
    put("made/q/r/c.csv"); /* files may be there before the folder is watched */
    run_until("made/q/r/c.csv");
    put("made/q/r/d.csv");
    run_until("made/q/r/d.csv");
}

WATCHER_TEST(renamed_folder_is_known_by_its_new_name)
{
    put("old/p/a.csv");
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(renameat(root_fd, "old", root_fd, "new"), 0);
    run_until("new/p/a.csv");
    put("new/p/b.csv");
    run_until("new/p/b.csv");
    assert_int_equal(n_watches(), 3);
    put("old/p/c.csv"); /* another of its name is not taken for it */
    run_until("old/p/c.csv");
    put("new/p/d.csv");
    run_until("new/p/d.csv");
    assert_int_equal(n_watches(), 5);
    assert_int_equal(seen.n_complete, 1);
}

WATCHER_TEST(folder_that_is_moved_away_is_not_watched_any_more)
{
    char path[64];
    put("x/y/a.csv");
    put("x1/b.csv");
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(n_watches(), 4);
    move_out("x");
    put("c.csv"); /* its event comes after those of the folder */
    run_until("c.csv");
    assert_int_equal(n_watches(), 2);
    put("x1/d.csv");
    run_until("x1/d.csv");
    snprintf(path, sizeof(path), "%s/away", outside);
    assert_int_equal(renameat(AT_FDCWD, path, root_fd, "x"), 0);
    run_until("x/y/a.csv");
    put("x/y/e.csv");
    run_until("x/y/e.csv");
    assert_int_equal(seen.n_complete, 1);
}

/* Also when it goes and comes back before anybody is told. */
WATCHER_TEST(folder_that_was_away_for_a_moment_is_watched)
{
    char path[64];
    put("x/y/a.csv");
    watch(60000, false);
    run_until(NULL);
    move_out("x");
    snprintf(path, sizeof(path), "%s/away", outside);
    assert_int_equal(renameat(AT_FDCWD, path, root_fd, "z"), 0);
    run_until("z/y/a.csv");
    put("z/y/b.csv");
    run_until("z/y/b.csv");
    assert_int_equal(n_watches(), 3);
    assert_int_equal(seen.n_complete, 1);
}

/* Into a folder that is not watched yet, whose look meets it before its own event is read. */
WATCHER_TEST(folder_that_a_look_meets_before_its_event_is_watched)
{
    put("x/a.csv");
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(mkdirat(root_fd, "made", 0755), 0);
    uv_run(&loop, UV_RUN_NOWAIT); /* a look is wanted */
    assert_int_equal(renameat(root_fd, "x", root_fd, "made/x"), 0);
    uv_sleep(10); /* and due, so it begins before events are read */
    run_until("made/x/a.csv");
    put("made/x/b.csv");
    run_until("made/x/b.csv");
}

WATCHER_TEST(removed_folder_that_comes_again_is_watched_again)
{
    put("f/a.csv");
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(unlinkat(root_fd, "f/a.csv", 0), 0);
    assert_int_equal(unlinkat(root_fd, "f", AT_REMOVEDIR), 0);
    run_until(NULL); /* a lost watch: everything is looked at */
    put("f/b.csv");
    run_until("f/b.csv");
    put("f/c.csv");
    run_until("f/c.csv");
}

static const char *vanishing; /* goes once its folder has been listed, before it is looked at */

int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __real_fstatat64(int fd, const char *name, struct stat *st, int flags);

int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags)
{
    if (vanishing != NULL && strcmp(name, vanishing) == 0) {
        (void)unlinkat(fd, name, 0);
    }
    return __real_fstatat64(fd, name, st, flags);
}

WATCHER_TEST(file_that_goes_while_its_folder_is_listed_is_no_trouble)
{
    put("f/a.csv");
    put("f/b.csv");
    vanishing = "a.csv";
    watch(60000, false);
    run_until(NULL);
    vanishing = NULL;
    assert_string_equal(seen.paths, "f/b.csv|");
    assert_string_equal(seen.trouble, "");
}

WATCHER_TEST(links_to_folders_are_not_followed)
{
    assert_int_equal(symlinkat("/etc", root_fd, "etc"), 0);
    watch(60000, false);
    run_until(NULL);
    assert_int_equal(seen.n_last, 1);
    assert_string_equal(seen.paths, "etc|");
}

int main(void)
{
    return unit_run(NULL, NULL);
}
