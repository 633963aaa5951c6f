/*
 * watcher_look - listing folders, and watching them before they are listed.
 */
#include "watch/arrival/watcher_state.h"

#include "formats/base/file_name.h"
#include "watch/files/beneath.h"
#include "watch/files/fault.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 32,
    EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF |
             IN_ONLYDIR | IN_EXCL_UNLINK,
};

static const char too_deep[] =
    "lies too deep, below 32 others, and is not looked into; move what is in it further up";
_Static_assert(DEPTH_MAX == 32, "too_deep and leat-watch(8) say 32");

/* The place of a watch in the table, or where it would stand. */
static size_t place_of(const struct watcher *w, int wd)
{
    size_t low = 0;
    size_t high = w->n_folders;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->folders[middle].wd < wd) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct watcher *w, size_t i, int wd)
{
    return i < w->n_folders && w->folders[i].wd == wd;
}

const char *watcher_folder_of(const struct watcher *w, int wd)
{
    size_t i = place_of(w, wd);
    return is_at(w, i, wd) ? w->folders[i].path : NULL;
}

static void forget(struct watcher *w, size_t i)
{
    free(w->folders[i].path);
    w->n_folders--;
    memmove(&w->folders[i], &w->folders[i + 1], (w->n_folders - i) * sizeof(*w->folders));
}

void watcher_forget_folder(struct watcher *w, int wd)
{
    size_t i = place_of(w, wd);
    if (is_at(w, i, wd)) {
        forget(w, i);
    }
}

static void unwatch(struct watcher *w, size_t i)
{
    inotify_rm_watch(w->inotify_fd, w->folders[i].wd);
    forget(w, i);
}

void watcher_unwatch(struct watcher *w, const char *path)
{
    const size_t len = strlen(path);
    for (size_t i = w->n_folders; i-- > 0;) {
        const char *other = w->folders[i].path;
        if (strncmp(other, path, len) == 0 && (other[len] == '\0' || other[len] == '/')) {
            unwatch(w, i);
        }
    }
}

/* Ends the watches of folders that a complete look has not met: they were moved away unnoticed. */
static void unwatch_unseen(struct watcher *w)
{
    for (size_t i = w->n_folders; i-- > 0;) {
        if (!w->folders[i].is_seen) {
            unwatch(w, i);
        }
    }
}

/* Remembers which folder a watch stands for; a folder that was renamed keeps its watch. */
static void remember(struct watcher *w, int wd, const char *path)
{
    size_t i = place_of(w, wd);
    if (is_at(w, i, wd)) {
        free(w->folders[i].path);
    } else {
        w->folders = xrealloc(w->folders, w->n_folders + 1, sizeof(*w->folders));
        memmove(&w->folders[i + 1], &w->folders[i], (w->n_folders - i) * sizeof(*w->folders));
        w->n_folders++;
    }
    w->folders[i] = (struct watcher_folder){wd, xstrdup(path), true};
}

static void watch_folder(struct watcher *w, int fd, const char *path)
{
    struct watcher_look *look = &w->look;
    char self[40];
    if (w->inotify_fd < 0) {
        return;
    }
    /* Through the open folder, so that no link can have come in between. */
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    int error = FAULT_ERROR("watcher.add");
    int wd = error == 0 ? inotify_add_watch(w->inotify_fd, self, EVENTS) : -1;
    if (wd >= 0) {
        remember(w, wd, path);
        return;
    }
    error = error != 0 ? error : errno;
    if (look->limit[0] == '\0') {
        snprintf(look->limit, sizeof(look->limit), "%s (%s)",
                 error == ENOSPC ? "the limit fs.inotify.max_user_watches is reached"
                                 : "a folder cannot be watched",
                 strerror(error));
    }
}

static void add_file(struct watcher_look *look, const char *path, const struct stat *st)
{
    struct watcher_findings *found = &look->found;
    if (found->n_files == look->cap) {
        look->cap = look->cap > 0 ? 2 * look->cap : 64;
        found->files = xrealloc(found->files, look->cap, sizeof(*found->files));
    }
    found->files[found->n_files++] =
        (struct watcher_file){.path = xstrdup(path), .seen = ready_seen_of(st)};
}

static void note_trouble(struct watcher_look *look, const char *path, const char *why)
{
    if (look->n_troubles++ == 0) {
        snprintf(look->trouble, sizeof(look->trouble), "the folder '%.100s' %s", path, why);
    }
}

static void note_error(struct watcher_look *look, const char *path, const char *what, int error)
{
    char why[140];
    snprintf(why, sizeof(why), "%s: %s%s", what, strerror(error),
             error == EACCES ? "; the service's user needs the rights to read and to enter it"
                             : "");
    note_trouble(look, path, why);
}

/* Watches and lists a folder that is open; closes it. `path` is a buffer of PATH_MAX. */
static void list_folder(struct watcher *w, int fd, char *path, int depth)
{
    struct watcher_look *look = &w->look;
    size_t len = strlen(path);
    int unseen = 0; /* the error of one in it */
    watch_folder(w, fd, path);
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        note_error(look, len > 0 ? path : w->path, "cannot be listed", errno);
        close(fd);
        return;
    }
    for (struct dirent *e; (errno = 0, e = readdir(folder)) != NULL;) {
        struct stat st;
        if (file_name_is_temporary(e->d_name)) { /* "." and ".." as well */
            continue;
        }
        int n = snprintf(path + len, PATH_MAX - len, "%s%s", len > 0 ? "/" : "", e->d_name);
        if (n <= 0 || (size_t)n >= PATH_MAX - len) {
            unseen = ENAMETOOLONG;
        } else if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            unseen = errno != ENOENT ? errno : unseen;
        } else {
            if (!S_ISDIR(st.st_mode)) {
                add_file(look, path, &st);
            } else if (depth == DEPTH_MAX) {
                note_trouble(look, path, too_deep);
            } else {
                int below = beneath_open(fd, e->d_name, O_RDONLY | O_DIRECTORY);
                if (below >= 0) {
                    list_folder(w, below, path, depth + 1);
                } else if (errno != ENOENT) {
                    note_error(look, path, "cannot be opened", errno);
                }
            }
        }
        path[len] = '\0';
    }
    if (errno != 0) {
        look->is_partial = true;
        note_error(look, len > 0 ? path : w->path, "cannot be listed", errno);
    }
    if (unseen != 0) {
        note_error(look, len > 0 ? path : w->path, "holds what cannot be looked at", unseen);
    }
    closedir(folder);
}

static void look_at_all(struct watcher *w)
{
    char path[PATH_MAX] = "";
    struct stat st;
    int fd = beneath_open(w->options.folder_fd, "", O_RDONLY | O_DIRECTORY);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_nlink == 0) {
        note_trouble(&w->look, w->path,
                     fd >= 0 || errno == ENOENT ? "has been removed; make it again"
                                                : strerror(errno));
        beneath_close(fd);
        return;
    }
    for (size_t i = 0; i < w->n_folders; i++) {
        w->folders[i].is_seen = false;
    }
    list_folder(w, fd, path, 0);
    w->look.found.complete = !w->look.is_partial;
    if (w->look.found.complete && w->look.n_troubles == 0) { /* else some may be there, unseen */
        unwatch_unseen(w);
    }
}

/* Whether a component of the path is a name that is still being written. */
static bool passes(const char *path)
{
    char name[NAME_MAX + 1];
    while (*path != '\0' && beneath_next(&path, name)) {
        if (file_name_is_temporary(name)) {
            return true;
        }
    }
    return false;
}

/* A hinted path cannot be entered. That it has gone again, or leads over a link, is not reported.
 */
static void note_closed(struct watcher_look *look, const char *path, int error)
{
    if (error != ENOENT && error != ENOTDIR && error != ELOOP && error != EXDEV) {
        note_error(look, path, "cannot be opened", error);
    }
}

static void look_at_hint(struct watcher *w, const char *hint)
{
    char path[PATH_MAX];
    struct stat st;
    if (!beneath_is_path(hint) || *hint == '\0' || passes(hint)) {
        return;
    }
    snprintf(path, sizeof(path), "%s", hint);
    int fd = beneath_open(w->options.folder_fd, path, O_PATH);
    int error = fd >= 0 && fstat(fd, &st) == 0 ? 0 : errno;
    beneath_close(fd);
    if (error != 0) {
        note_closed(&w->look, path, error);
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        add_file(&w->look, path, &st);
    } else if ((fd = beneath_open(w->options.folder_fd, path, O_RDONLY | O_DIRECTORY)) >= 0) {
        int depth = 1;
        for (const char *c = path; *c != '\0'; c++) {
            depth += *c == '/';
        }
        if (depth <= DEPTH_MAX) {
            struct watcher_findings *const found = &w->look.found;
            const size_t before = found->n_files;
            list_folder(w, fd, path, depth);
            for (size_t i = before; i < found->n_files; i++) {
                found->files[i].folder_came_ns = ready_seen_of(&st).ctime_ns;
            }
        } else {
            note_trouble(&w->look, path, too_deep);
            close(fd);
        }
    } else {
        note_closed(&w->look, path, errno);
    }
}

/* A rename into the folder changes ctime, too. */
static int by_arrival(const void *a, const void *b)
{
    const struct watcher_file *const x = a, *const y = b;
    const int64_t s = x->seen.ctime_ns, t = y->seen.ctime_ns;
    return s != t ? (s < t ? -1 : 1) : strcmp(x->path, y->path);
}

/* Those that were found since there were n. */
static void sort_from(struct watcher_findings *found, size_t n)
{
    if (found->n_files > n + 1) {
        qsort(found->files + n, found->n_files - n, sizeof(*found->files), by_arrival);
    }
}

/* Hints by their places: by bytes, the same ones in their order. */
static int by_bytes(const void *a, const void *b)
{
    char **const x = *(char **const *)a, **const y = *(char **const *)b;
    const int order = strcmp(*x, *y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Leaves the last of hints that are the same. */
static void drop_repeated(const struct watcher_look *look)
{
    char ***const sorted = xcalloc(look->n_hints, sizeof(*sorted));
    for (size_t i = 0; i < look->n_hints; i++) {
        sorted[i] = &look->hints[i];
    }
    qsort(sorted, look->n_hints, sizeof(*sorted), by_bytes);
    for (size_t i = 1; i < look->n_hints; i++) {
        if (strcmp(*sorted[i - 1], *sorted[i]) == 0) {
            *sorted[i - 1][0] = '\0'; /* hints at nothing */
        }
    }
    free(sorted);
}

/* In the order of events: a file may be closed long after its last write. */
static void look_at_hints(struct watcher *w)
{
    drop_repeated(&w->look);
    for (size_t i = 0; i < w->look.n_hints; i++) {
        const size_t before = w->look.found.n_files;
        look_at_hint(w, w->look.hints[i]);
        sort_from(&w->look.found, before);
    }
}

void watcher_look(struct watcher *w)
{
    if (w->look.all) {
        look_at_all(w);
        sort_from(&w->look.found, 0);
    } else {
        look_at_hints(w);
    }
}
