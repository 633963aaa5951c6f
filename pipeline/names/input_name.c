/*
 * input_name - see input_name.h.
 */
#include "pipeline/names/input_name.h"

#include "formats/base/file_name.h"
#include "formats/table/foreign.h"
#include "watch/files/xalloc.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const extensions[] = {".csv", ".tsv", ".txt", ".npy",
                                         ".npz", ".asc", ".tif", ".tiff"};
enum { N_OF_TABLES = 5 };
/* Coordinate systems, world files, styles, masks, statistics, overviews, metadata (also .aux.xml),
 * what belongs to a shapefile. */
static const char *const sidecar_endings[] = {
    ".prj", ".qpj",  ".wld",     ".tfw", ".tfwx", ".tifw", ".tiffw", ".ascw", ".qml",
    ".qmd", ".sld",  ".clr",     ".msk", ".stx",  ".ovr",  ".rrd",   ".aux",  ".xml",
    ".cpg", ".csvt", ".vat.dbf", ".shx", ".dbf",  ".sbn",  ".sbx",   ".qix"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Length of name[0..n) without the ending, in any case; n when it does not end so. */
static size_t without(const char *name, size_t n, const char *ending)
{
    size_t n_ending = strlen(ending);
    return n >= n_ending && strncasecmp(name + n - n_ending, ending, n_ending) == 0 ? n - n_ending
                                                                                    : n;
}

/* Without the extension of a table, or a grid. */
static size_t without_extension(const char *name, size_t n, bool of_grids)
{
    for (size_t i = 0; i < (of_grids ? COUNT(extensions) : N_OF_TABLES); i++) {
        size_t shorter = without(name, n, extensions[i]);
        if (shorter < n) {
            return shorter;
        }
    }
    const bool by_module =
        foreign_is_read(name, false) || (of_grids && foreign_is_read(name, true));
    return by_module ? (size_t)((const char *)memrchr(name, '.', n) - name) : n;
}

static bool has_extension(const char *path, bool of_grids)
{
    const char *name = file_name_last(path);
    size_t n = file_name_unpacked(name, strlen(name));
    size_t stem = without_extension(name, n, of_grids);
    return stem < n && stem > 0 && (foreign_named(name) == NULL || foreign_is_read(name, of_grids));
}

bool input_name_is_table(const char *path)
{
    return has_extension(path, false);
}

bool input_name_is_grid(const char *path)
{
    return has_extension(path, true);
}

/* Whether name[0..n) ends in ".SUFFIX", in any case, with something before it. */
static bool ends_in(const char *name, size_t n, const char *suffix)
{
    size_t n_suffix = strlen(suffix);
    return n > n_suffix + 1 && name[n - n_suffix - 1] == '.' &&
           strncasecmp(name + n - n_suffix, suffix, n_suffix) == 0;
}

size_t input_name_asks_for(const char *path, const char *suffix)
{
    const char *name = file_name_last(path);
    size_t n = 0;
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        if (ends_in(name, (size_t)(dot - name), suffix) && dot[1] != '\0') {
            n = (size_t)(dot - name);
        }
    }
    return n;
}

/* Length of name[0..n) without the ending of a sidecar file; n when it has none. */
static size_t without_sidecar(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT(sidecar_endings); i++) {
        const size_t shorter = without(name, n, sidecar_endings[i]);
        if (shorter < n) {
            return without(name, shorter, ".aux"); /* .aux.xml is one */
        }
    }
    return n;
}

bool input_name_is_sidecar(const char *path)
{
    const char *const name = file_name_last(path);
    return without_sidecar(name, strlen(name)) < strlen(name);
}

size_t input_name_beside(const char *path)
{
    const char *const name = file_name_last(path);
    const size_t n = strlen(name), marked = without(name, n, INPUT_NAME_MARKER);
    return marked < n ? marked : without_sidecar(name, n);
}

size_t input_name_bare(const char *name)
{
    const size_t n = file_name_unpacked(name, strlen(name));
    return without_extension(name, n, true);
}

enum status input_name_stem(const char *path, const char *suffix, char **out)
{
    *out = NULL;
    const char *name = file_name_last(path);
    size_t whole = file_name_unpacked(name, strlen(name));
    size_t n = without_extension(name, whole, true);
    if (n == whole) {
        /* X.clusters.dat: the ending is not ours, but what stands before it is */
        const char *dot = memrchr(name, '.', n);
        if (dot != NULL && ends_in(name, (size_t)(dot - name), suffix)) {
            n = (size_t)(dot - name);
        }
    }
    if (ends_in(name, n, suffix)) {
        n -= strlen(suffix) + 1;
    }
    const char *why = n == 0           ? "no name is left"
                      : name[0] == '.' ? "it would begin with a dot"
                      : n > NAME_MAX   ? "it would be longer than 255 bytes"
                                       : NULL;
    if (why != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: cannot name a result after this input: %s; rename it", path, why);
    }
    *out = xstrndup(name, n);
    return STATUS_OK;
}
