/*
 * generate_pair - see generate_pair.h.
 */
#include "pipeline/generate/generate_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Takes `ending` off the name of n letters, if it ends so. */
static bool take_off(const char *name, size_t *n, const char *ending)
{
    const size_t len = strlen(ending);
    const bool has = *n >= len && strncasecmp(name + *n - len, ending, len) == 0;
    *n -= has ? len : 0;
    return has;
}

enum status generate_pair_of(const char *output, struct generate_pair *out)
{
    static const char *const endings[] = {".tif", ".asc", ".asc.gz"};
    const char *const slash = strrchr(output, '/'), *const name = slash ? slash + 1 : output;
    size_t n = strlen(name), kind = 0;
    *out = (struct generate_pair){.dem = NULL};
    while (kind < 3 && !take_off(name, &n, endings[kind])) {
        kind++;
    }
    if (!take_off(name, &n, ".dem")) {
        take_off(name, &n, ".source");
    }
    if (n == 0 || (n == 1 && name[0] == '-') || (kind == 3 && memchr(name, '.', n) != NULL)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: dem writes two files, X.dem.tif and X.source.tif: name them X, "
                           "X.tif, X.asc or X.asc.gz",
                           output);
    }
    out->format = kind == 1 || kind == 2 ? RASTER_ASC : RASTER_TIF;
    out->is_gzipped = kind == 2;
    const int stem = (int)(name - output) + (int)n;
    const char *const ending = endings[kind % 3];
    if (asprintf(&out->dem, "%.*s.dem%s", stem, output, ending) < 0) {
        out->dem = NULL;
    }
    if (asprintf(&out->source, "%.*s.source%s", stem, output, ending) < 0) {
        out->source = NULL;
    }
    if (out->dem == NULL || out->source == NULL) {
        generate_pair_free(out);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory", output);
    }
    return STATUS_OK;
}

void generate_pair_free(struct generate_pair *pair)
{
    free(pair->dem);
    free(pair->source);
    *pair = (struct generate_pair){.dem = NULL};
}
