/*
 * page_files - see page_files.h.
 */
#include "pipeline/page/page_files.h"

#include "pipeline/page/page_html.h"
#include "watch/files/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED = 1000 }; /* of a folder; it is said how many more there are */

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

enum status page_files_open(const char *spool, const char *output, struct page_files *out)
{
    char *path;
    *out = (struct page_files){-1, -1};
    if (asprintf(&path, "%s/failed", spool) < 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    enum status code = open_folder(path, &out->failed_fd);
    free(path);
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
    *files = (struct page_files){-1, -1};
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

static int is_listed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum status add_entry(int folder, const char *name, struct bytes *out)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISDIR(st.st_mode) && beneath_unfit(&st) != NULL)) {
        return STATUS_OK;
    }
    const bool is_folder = S_ISDIR(st.st_mode);
    return page_html_entry(name, is_folder, (uint64_t)st.st_size, out);
}

enum status page_files_list(const struct page_files *files, const char *path, struct bytes *out)
{
    const char *rest;
    char *way = NULL;
    struct dirent **entries = NULL;
    int folder = folder_of(files, path, &rest);
    if (folder >= 0 && (way = strdup(rest)) == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    if (way != NULL && *way != '\0' && way[strlen(way) - 1] == '/') {
        way[strlen(way) - 1] = '\0';
    }
    folder = folder >= 0 ? beneath_open(folder, way, O_RDONLY | O_DIRECTORY) : -1;
    free(way);
    const int n = folder >= 0 ? scandirat(folder, ".", &entries, is_listed, alphasort) : -1;
    if (n < 0) {
        beneath_close(folder);
        return not_found();
    }
    enum status code = page_html_begin_list(path, out);
    for (int i = 0; i < n; i++) {
        if (i < LISTED && code == STATUS_OK) {
            code = add_entry(folder, entries[i]->d_name, out);
        }
        free(entries[i]);
    }
    free(entries);
    close(folder);
    return code == STATUS_OK ? page_html_end_list(n > LISTED ? (size_t)n - LISTED : 0, out) : code;
}
