/*
 * beside - see beside.h.
 */
#include "pipeline/names/beside.h"

#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "pipeline/names/input_name.h"
#include "stages/stage.h"
#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

bool beside_is_projection(const char *path)
{
    return file_name_ends(path, ".prj");
}

size_t beside_without_part(const char *name, size_t n)
{
    const char *const dot = memrchr(name, '.', n);
    const size_t n_suffix = dot != NULL ? n - (size_t)(dot + 1 - name) : 0;
    for (const struct stage_ops *const *stage = stage_registry;
         *stage != NULL && dot != NULL && dot > name; stage++) {
        for (size_t i = 0; i < (*stage)->n_parts; i++) {
            const char *const suffix = (*stage)->parts[i].suffix;
            if (strlen(suffix) == n_suffix && strncasecmp(dot + 1, suffix, n_suffix) == 0) {
                return (size_t)(dot - name);
            }
        }
    }
    return n;
}

size_t beside_fits(const char *beside, const char *part)
{
    const char *const name = file_name_last(part), *const other = file_name_last(beside);
    const size_t n = input_name_beside(beside), whole = strlen(name);
    const bool is_whole = file_name_ends(beside, INPUT_NAME_MARKER) || /* of that name alone */
                          file_name_ends(beside, INPUT_NAME_MASK);
    const size_t bare = input_name_bare(name);
    if (n == strlen(other) || n > whole || strncmp(other, name, n) != 0) {
        return 0;
    }
    return n == whole || (!is_whole && (n == file_name_unpacked(name, whole) || n == bare ||
                                        n == beside_without_part(name, bare)))
               ? n
               : 0;
}

bool beside_wants_projection(const char *name)
{
    return file_name_is(name, ".asc");
}

/* The first that is there of path[0..n) with one of the endings; NULL: none is. For free(). */
static char *search_projection(const char *path, size_t n, beside_is_there *is_there,
                               const void *context)
{
    static const char *const endings[] = {".prj", ".PRJ", ".Prj"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *const name = xasprintf("%.*s%s", (int)n, path, endings[i]);
        if (is_there(context, name)) {
            return name;
        }
        free(name);
    }
    return NULL;
}

struct beside beside_search(const char *grid, beside_is_there *is_there, const void *context)
{
    const size_t n_folder = (size_t)(file_name_last(grid) - grid);
    const size_t n = n_folder + input_name_bare(grid + n_folder);
    const size_t shorter = n_folder + beside_without_part(grid + n_folder, n - n_folder);
    char *const mask = xasprintf("%s%s", grid, INPUT_NAME_MASK);
    struct beside found = {.has_mask = is_there(context, mask)};
    free(mask);
    if (beside_wants_projection(grid)) {
        found.projection = search_projection(grid, n, is_there, context);
        if (found.projection == NULL && shorter < n) {
            found.projection = search_projection(grid, shorter, is_there, context);
        }
    }
    return found;
}

bool beside_is_file(const void *context, const char *path)
{
    struct stat st;
    (void)context;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

enum status beside_read_projection(int fd, const char *path, char **out)
{
    char *text = xmalloc(BESIDE_PROJECTION_BYTES + 1);
    int error;
    const size_t n = io_watch_pread_all(fd, text, BESIDE_PROJECTION_BYTES + 1, 0, &error);
    *out = NULL;
    if (error != 0) {
        free(text);
        return status_fail_errno(error, "cannot read '%s'", path);
    }
    if (n > BESIDE_PROJECTION_BYTES || memchr(text, '\0', n) != NULL) {
        free(text);
        return status_fail(
            STATUS_BAD_INPUT,
            "'%s' is not a valid .prj (text, at most %d bytes); remove or replace it", path,
            BESIDE_PROJECTION_BYTES);
    }
    text[n] = '\0';
    *out = text;
    return STATUS_OK;
}
