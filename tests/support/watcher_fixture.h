/*
 * watcher_fixture - a watcher of a folder that goes away, for a test: put files into it, and run
 * the loop until they are found.
 */
#ifndef LEAT_TESTS_WATCHER_FIXTURE_H
#define LEAT_TESTS_WATCHER_FIXTURE_H

#include "tests/support/patience.h"
#include "tests/support/spool_fault.h"
#include "tests/support/spool_support.h"
#include "tests/support/unit.h"
#include "watch/arrival/watcher_state.h"

#include <stddef.h>
#include <stdint.h>

static char root[32], outside[32];
static int root_fd;
static uv_loop_t loop;
static uv_timer_t guard;
static struct watcher *w;

/* What has been found so far, and what is waited for. */
static struct {
    char paths[4096];
    const char *until; /* this path; NULL: any complete look */
    size_t n_files, n_complete, n_last;
    char trouble[256];
    size_t n_troubles; /* as told last */
    bool timed_out;
} seen;

static inline void on_found(void *user, struct watcher_findings *f)
{
    (void)user;
    seen.n_files += f->n_files;
    if (f->complete) {
        seen.n_complete++;
        seen.n_last = f->n_files;
    }
    for (size_t i = 0; i < f->n_files; i++) {
        if (strlen(seen.paths) + strlen(f->files[i].path) + 3 < sizeof(seen.paths)) {
            strcat(strcat(seen.paths, f->files[i].path), "|");
        }
        if (seen.until != NULL && strcmp(f->files[i].path, seen.until) == 0) {
            uv_stop(&loop);
        }
    }
    if (seen.until == NULL && f->complete) {
        uv_stop(&loop);
    }
}

static inline void on_trouble(void *user, const char *why, size_t n)
{
    (void)user;
    seen.n_troubles = n;
    snprintf(seen.trouble, sizeof(seen.trouble), "%s", why);
    if (seen.until != NULL && strcmp(seen.until, "trouble") == 0) {
        uv_stop(&loop);
    }
}

static inline void on_guard(uv_timer_t *timer)
{
    (void)timer;
    seen.timed_out = true;
    uv_stop(&loop);
}

/* Runs the loop until `path` was found; NULL: until a complete look. */
static inline void run_until(const char *path)
{
    seen.until = path;
    seen.timed_out = false;
    uv_timer_start(&guard, on_guard, UINT64_C(1000) * WAIT_S, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_timer_stop(&guard);
    if (seen.timed_out) {
        fail_msg("not found: %s; found: %s", path != NULL ? path : "(complete)", seen.paths);
    }
}

/* poll: inotify is not to be had. */
static inline void watch(unsigned poll_ms, bool poll)
{
    if (poll) {
        strcpy(spool_fault->fail_step, "watcher.init");
        spool_fault->error = ENOSYS;
    }
    const struct watcher_options options = {.path = root,
                                            .folder_fd = root_fd,
                                            .poll_ms = poll_ms,
                                            .gather_ms = 5,
                                            .found = on_found,
                                            .trouble = on_trouble};
    assert_int_equal(watcher_open(&loop, &options, &w), STATUS_OK);
    if (poll) {
        spool_fault_clear();
    }
}

static inline int set_up(void **state)
{
    (void)state;
    /* In memory where that can be: some tests make tens of thousands of files. */
    const char *const in = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(root, sizeof(root), "%s/leat-watcher-XXXXXX", in);
    snprintf(outside, sizeof(outside), "%s/leat-outside-XXXXXX", in);
    memset(&seen, 0, sizeof(seen));
    spool_fault_clear();
    w = NULL;
    return mkdtemp(root) != NULL && mkdtemp(outside) != NULL &&
                   (root_fd = open(root, O_RDONLY | O_DIRECTORY)) >= 0 &&
                   uv_loop_init(&loop) == 0 && uv_timer_init(&loop, &guard) == 0
               ? 0
               : 1;
}

static inline int tear_down(void **state)
{
    (void)state;
    char command[96];
    spool_fault_clear();
    watcher_close(w, NULL, NULL);
    uv_close((uv_handle_t *)&guard, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    close(root_fd);
    snprintf(command, sizeof(command), "rm -rf %s %s", root, outside);
    return uv_loop_close(&loop) == 0 ? system(command) : 1;
}

static inline void put(const char *path)
{
    assert_true(put_file(root_fd, path, "1"));
}

/* How many folders inotify watches for this process (proc(5), fdinfo). */
static inline size_t n_watches(void)
{
    size_t n = 0;
    char line[256];
    DIR *folder = opendir("/proc/self/fdinfo");
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        int fd = openat(dirfd(folder), e->d_name, O_RDONLY | O_CLOEXEC);
        FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
        while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
            n += strncmp(line, "inotify wd:", 11) == 0;
        }
        if (f != NULL) {
            fclose(f);
        }
    }
    closedir(folder);
    return n;
}

/* Out of the watched folder. */
static inline void move_out(const char *path)
{
    char to[64];
    snprintf(to, sizeof(to), "%s/away", outside);
    assert_int_equal(renameat(root_fd, path, AT_FDCWD, to), 0);
}

#define WATCHER_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

#endif
