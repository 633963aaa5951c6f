/*
 * page_files - see page_files.h.
 */
#include "pipeline/page/page_files.h"

#include "pipeline/page/page_html.h"
#include "pipeline/status/status_file.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED = 1000 }; /* of a folder, the newest; it is said how many more there are */

static const char results[] = "results/", failed[] = "failed/";

static const struct {
    const char *end, *type;
    bool is_shown;
} types[] = {
    {".html", "text/html; charset=utf-8", true},
    {".json", "application/json", true},
    {".png", "image/png", true},
    {".svg", "image/svg+xml", true},
    {".pdf", "application/pdf", true},
    {".txt", "text/plain; charset=utf-8", true},
    {".csv", "text/csv; charset=utf-8", false},
    {".gz", "application/gzip", false},
    {".tif", "image/tiff", false},
    {"", "application/octet-stream", false}, /* any other */
};

/* --- opening ---------------------------------------------------------------------------------- */

static enum status open_folder(const char *path, int *out)
{
    *out = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *out >= 0 || errno == ENOENT || errno == ENOTDIR
               ? STATUS_OK
               : status_fail_errno(errno, "cannot open '%s'", path);
}

static enum status open_in(const char *spool, const char *name, int *out)
{
    char *const path = xasprintf("%s/%s", spool, name);
    const enum status code = open_folder(path, out);
    free(path);
    return code;
}

enum status page_files_open(const char *spool, const char *output, struct page_files *out)
{
    *out = (struct page_files){-1, -1, -1};
    enum status code = open_in(spool, "failed", &out->failed_fd);
    if (code == STATUS_OK) {
        code = open_in(spool, STATUS_FOLDER, &out->status_fd);
    }
    if (code == STATUS_OK) {
        code = open_folder(output, &out->results_fd);
    }
    if (code != STATUS_OK) {
        page_files_close(out);
    }
    return code;
}

void page_files_close(struct page_files *files)
{
    beneath_close(files->results_fd);
    beneath_close(files->failed_fd);
    beneath_close(files->status_fd);
    *files = (struct page_files){-1, -1, -1};
}

/* --- one file --------------------------------------------------------------------------------- */

static enum status not_found(void)
{
    return status_fail(STATUS_NOT_FOUND, "there is no such file");
}

/* What is hidden is not finished, or not meant for others. */
static bool is_hidden(const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (*at == '.') {
            return true;
        }
    }
    return false;
}

/* Beneath which folder the path leads, and on which way; -1: nowhere. */
static int folder_of(const struct page_files *files, const char *path, const char **rest)
{
    static const char reason[] = "/reason.json";
    if (strncmp(path, results, sizeof(results) - 1) == 0) {
        *rest = path + sizeof(results) - 1;
        return is_hidden(*rest) ? -1 : files->results_fd;
    }
    if (strncmp(path, failed, sizeof(failed) - 1) == 0) {
        *rest = path + sizeof(failed) - 1;
        const char *slash = strchr(*rest, '/');
        return slash != NULL && strcmp(slash, reason) == 0 && !is_hidden(*rest) ? files->failed_fd
                                                                                : -1;
    }
    return -1;
}

static void set_type(const char *path, struct page_file *out)
{
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        const size_t n_end = strlen(types[i].end);
        if (n >= n_end && strcmp(path + n - n_end, types[i].end) == 0) {
            out->type = types[i].type;
            out->is_shown = types[i].is_shown;
            return;
        }
    }
}

enum status page_files_find(const struct page_files *files, const char *path, struct page_file *out)
{
    struct stat st;
    const char *rest;
    const int folder = folder_of(files, path, &rest);
    *out = (struct page_file){.fd = -1};
    const int fd = folder >= 0 ? beneath_open(folder, rest, O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        beneath_close(fd);
        return not_found();
    }
    if (S_ISDIR(st.st_mode) || beneath_unfit(&st) != NULL) {
        close(fd);
        return S_ISDIR(st.st_mode) ? status_fail(STATUS_EXISTS, "it is a folder") : not_found();
    }
    out->fd = fd;
    out->bytes = (uint64_t)st.st_size;
    set_type(path, out);
    return STATUS_OK;
}

/* --- a folder --------------------------------------------------------------------------------- */

struct entry {
    struct timespec changed;
    uint64_t bytes;
    bool is_folder;
    char name[NAME_MAX + 1];
};

/* What is listed of a folder: the newest. */
struct list {
    struct entry *entries; /* 2 * LISTED */
    size_t n, n_more;      /* more: that are left out */
};

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->changed.tv_sec != y->changed.tv_sec ? (x->changed.tv_sec < y->changed.tv_sec ? 1 : -1)
           : x->changed.tv_nsec != y->changed.tv_nsec
               ? (x->changed.tv_nsec < y->changed.tv_nsec ? 1 : -1)
               : strcmp(x->name, y->name);
}

static void leave_oldest_out(struct list *l)
{
    if (l->n > LISTED) {
        qsort(l->entries, l->n, sizeof(*l->entries), by_age);
        l->n_more += l->n - LISTED;
        l->n = LISTED;
    }
}

static bool find_entry(int folder, const char *name, struct entry *out)
{
    struct stat st;
    if (name[0] == '.' || strlen(name) >= sizeof(out->name) ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISDIR(st.st_mode) && beneath_unfit(&st) != NULL)) {
        return false;
    }
    *out = (struct entry){
        .changed = st.st_mtim, .bytes = (uint64_t)st.st_size, .is_folder = S_ISDIR(st.st_mode)};
    memcpy(out->name, name, strlen(name) + 1);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* The entries whose names hold the text. Takes the folder's descriptor over. */
static enum status read_folder(int folder, const char *search, struct list *l)
{
    DIR *dir = fdopendir(folder);
    const struct dirent *d;
    struct entry e;
    if (dir == NULL) {
        close(folder);
        return not_found();
    }
    while ((d = readdir(dir)) != NULL) {
        if (strcasestr(d->d_name, search) != NULL && find_entry(folder, d->d_name, &e)) {
            l->entries[l->n++] = e;
        }
        if (l->n == (size_t)2 * LISTED) {
            leave_oldest_out(l);
        }
    }
    closedir(dir);
    leave_oldest_out(l);
    qsort(l->entries, l->n, sizeof(*l->entries), by_name);
    return STATUS_OK;
}

enum status page_files_list(const struct page_files *files, const char *path, const char *search,
                            struct bytes *out)
{
    const char *rest;
    char *way = NULL;
    int folder = folder_of(files, path, &rest);
    if (folder >= 0) {
        way = xstrdup(rest);
    }
    if (way != NULL && *way != '\0' && way[strlen(way) - 1] == '/') {
        way[strlen(way) - 1] = '\0';
    }
    folder = folder >= 0 ? beneath_open(folder, way, O_RDONLY | O_DIRECTORY) : -1;
    free(way);
    if (folder < 0) {
        return not_found();
    }
    struct list l = {.entries = xcalloc((size_t)2 * LISTED, sizeof(*l.entries))};
    enum status code = read_folder(folder, search, &l);
    if (code == STATUS_OK) {
        json_t *entries = json_array();
        for (size_t i = 0; i < l.n; i++) {
            const struct entry *e = &l.entries[i];
            json_array_append_new(
                entries, page_html_entry(e->name, e->is_folder, e->bytes, e->changed.tv_sec));
        }
        page_html_folder(path, search, entries, l.n_more, out);
    }
    free(l.entries);
    return code;
}
