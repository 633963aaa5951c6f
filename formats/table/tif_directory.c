/*
 * tif_directory - looks at a TIFF's directories before libtiff does, which keeps the values of
 * every tag: each as large as it says it is, and several may say that they lie in the same bytes.
 *
 * Source: TIFF 6.0, section 2; BigTIFF (Aware Systems).
 */
#include "formats/table/tif.h"

#include "formats/base/checked.h"
#include "formats/base/io_watch.h"
#include "formats/geo/tiff_tags.h"
#include "formats/table/foreign.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    HEADER_BYTES = 16,
    ENTRY_BYTES = 20, /* at most */
    MOST_DIRECTORIES = 65,
    MOST_ENTRIES = 4096,        /* libtiff refuses more */
    MOST_VALUE_BYTES = 32 << 20 /* places of four million strips or tiles */
};

struct walk {
    const struct source *source;
    bool is_little, is_big;
    uint64_t at; /* the directory; 0: there is none */
};

static uint64_t number(const struct walk *w, const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | p[w->is_little ? n - 1 - i : i];
    }
    return value;
}

/* False: the file has not so many, or they cannot be read; libtiff says so. */
static bool read_at(const struct walk *w, uint64_t at, unsigned char *to, size_t n)
{
    int error;
    return at <= INT64_MAX && io_watch_pread_all(source_fd(w->source), to, n, at, &error) == n &&
           error == 0;
}

static bool begin(const struct source *s, struct walk *w)
{
    unsigned char header[HEADER_BYTES] = {0};
    *w = (struct walk){.source = s};
    if (!read_at(w, 0, header, 8)) {
        return false;
    }
    w->is_little = header[0] == 'I';
    w->is_big = number(w, header + 2, 2) == 43;
    if (w->is_big && !read_at(w, 0, header, HEADER_BYTES)) {
        return false;
    }
    w->at = w->is_big ? number(w, header + 8, 8) : number(w, header + 4, 4);
    return true;
}

/* Bytes of a directory's values; SIZE_MAX: more than a number can say. Goes to the next one; false:
 * it cannot be read to its end. */
static bool look(struct walk *w, size_t *bytes)
{
    const size_t count_bytes = w->is_big ? 8 : 2, entry_bytes = w->is_big ? 20 : 12;
    const size_t place_bytes = w->is_big ? 8 : 4;
    unsigned char text[ENTRY_BYTES];
    *bytes = 0;
    if (!read_at(w, w->at, text, count_bytes)) {
        return false;
    }
    const uint64_t n = number(w, text, count_bytes);
    uint64_t at = w->at + count_bytes;
    for (uint64_t i = 0; i < n; i++, at += entry_bytes) {
        if (i >= MOST_ENTRIES || !read_at(w, at, text, entry_bytes)) {
            return false;
        }
        const int width = tiff_tags_is_number((unsigned)number(w, text, 2))
                              ? 8
                              : TIFFDataWidth((TIFFDataType)number(w, text + 2, 2)); /* or 0 */
        size_t value;
        if (!checked_mul((size_t)number(w, text + 4, place_bytes), (size_t)width, &value) ||
            !checked_add(*bytes, value, bytes)) {
            *bytes = SIZE_MAX;
        }
    }
    if (!read_at(w, at, text, place_bytes)) {
        return false;
    }
    w->at = number(w, text, place_bytes);
    return true;
}

enum status tif_check_directories(const struct source *s, size_t *bytes)
{
    struct walk w;
    *bytes = 0;
    if (!begin(s, &w)) {
        return STATUS_OK;
    }
    for (int i = 0; i < MOST_DIRECTORIES && w.at != 0; i++) {
        const uint64_t at = w.at;
        size_t n;
        const bool whole = look(&w, &n);
        *bytes = i == 0 ? n : *bytes;
        if (n > MOST_VALUE_BYTES) {
            char what[160];
            snprintf(what, sizeof what,
                     "byte %" PRIu64 ": the tags of this directory claim %zu bytes, %d are read at "
                     "most; write the grid again",
                     at, n, MOST_VALUE_BYTES);
            return foreign_fail_with(STATUS_TOO_LARGE, source_name(s), what,
                                     "gdal_translate IN OUT.tif");
        }
        if (!whole) {
            break;
        }
    }
    return STATUS_OK;
}
