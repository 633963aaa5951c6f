/*
 * projection - see projection.h.
 */
#include "pipeline/names/projection.h"

#include "formats/base/file_name.h"
#include "pipeline/names/input_name.h"
#include "stages/stage.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool projection_named(const char *path)
{
    return file_name_ends(path, ".prj");
}

enum status projection_read(int fd, const char *path, char **out)
{
    char *text = xmalloc(PROJECTION_MAX_BYTES + 1);
    size_t n = 0;
    ssize_t got = 1;
    *out = NULL;
    while (got > 0 && n <= PROJECTION_MAX_BYTES) {
        got = pread(fd, text + n, PROJECTION_MAX_BYTES + 1 - n, (off_t)n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        int error = errno;
        free(text);
        return status_fail_errno(error, "cannot read '%s'", path);
    }
    if (n > PROJECTION_MAX_BYTES || memchr(text, '\0', n) != NULL) {
        free(text);
        return status_fail(
            STATUS_BAD_INPUT,
            "'%s' is not a valid .prj (text, at most %d bytes); remove or replace it", path,
            PROJECTION_MAX_BYTES);
    }
    text[n] = '\0';
    *out = text;
    return STATUS_OK;
}

/* Length of path[0..n) without the name of a grid's part: the X of X.dem. */
static size_t without_part(const char *path, size_t n)
{
    size_t first = (size_t)(file_name_last(path) - path), dot = n;
    while (dot > first && path[dot - 1] != '.') {
        dot--;
    }
    if (dot <= first + 1) {
        return n;
    }
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        for (size_t i = 0; i < (*stage)->n_parts; i++) {
            const struct stage_part *part = &(*stage)->parts[i];
            if (part->kind == STAGE_GRID && strlen(part->suffix) == n - dot &&
                strncasecmp(path + dot, part->suffix, n - dot) == 0) {
                return dot - 1;
            }
        }
    }
    return n;
}

/* Asks for path[0..n) with one of the endings; there is room for them in `path`. */
static bool search_stem(char *path, size_t n, projection_is_there *is_there, void *context)
{
    static const char *const endings[] = {".prj", ".PRJ", ".Prj"};
    bool found = false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && !found; i++) {
        strcpy(path + n, endings[i]);
        found = is_there(context, path);
    }
    return found;
}

void projection_search(const char *grid, projection_is_there *is_there, void *context)
{
    char *const path = xmalloc(strlen(grid) + sizeof ".prj");
    strcpy(path, grid);
    path[file_name_unpacked(path, strlen(path))] = '\0';
    const size_t stem = input_name_without(path, ".asc");
    if (stem < strlen(path) && !search_stem(path, stem, is_there, context)) {
        const size_t shorter = without_part(path, stem);
        if (shorter < stem) {
            search_stem(path, shorter, is_there, context);
        }
    }
    free(path);
}

/* What a file system has beside a grid. */
struct beside {
    char *text;
    enum status code;
};

/* Reads the file, if there is one of that name. */
static bool read_named(void *context, const char *path)
{
    struct beside *beside = context;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        beside->code =
            errno == ENOENT ? STATUS_OK : status_fail_errno(errno, "cannot open '%s'", path);
    } else {
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
            beside->code = projection_read(fd, path, &beside->text);
        }
        close(fd);
    }
    return beside->text != NULL || beside->code != STATUS_OK;
}

enum status projection_beside(const char *grid, char **out)
{
    struct beside beside = {.code = STATUS_OK};
    projection_search(grid, read_named, &beside);
    *out = beside.text;
    return beside.code;
}
