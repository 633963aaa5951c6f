/*
 * tif_handle - libtiff contained: it reads through our descriptor, allocates within a
 * bound, and says what is wrong to us alone, never to stderr or to a handler of the process.
 */
#include "formats/table/tif.h"

#include "formats/base/io_watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A failure leaves h->error, and not -1: libtiff adds up what it gets, and would write in front of
 * its buffer. */
static tmsize_t read_file(thandle_t handle, void *dst, tmsize_t n)
{
    struct tif_handle *const h = handle;
    int error;
    const size_t done = io_watch_pread_all(h->fd, dst, (size_t)n, h->at, &error);
    h->error = error != 0 ? error : h->error;
    h->at += done;
    return (tmsize_t)done;
}

static tmsize_t refuse_write(thandle_t handle, void *src, tmsize_t n)
{
    (void)handle;
    (void)src;
    (void)n;
    return -1;
}

static toff_t seek_file(thandle_t handle, toff_t offset, int whence)
{
    struct tif_handle *const h = handle;
    const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? h->at : h->file_bytes;
    h->at = base + offset;
    if (h->at > INT64_MAX) {
        h->at = 0;
        return (toff_t)-1;
    }
    return h->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle)
{
    const struct tif_handle *const h = handle;
    return h->file_bytes;
}

static int note_error(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    struct tif_handle *const h = user;
    (void)tif;
    (void)module;
    if (h->first[0] == '\0') {
        (void)vsnprintf(h->first, sizeof h->first, format, args);
    }
    return 1; /* handled */
}

/* Warnings are of no interest, but for those of a tag of ours that was left out (a place or a
 * NODATA must not be lost in silence) and those of JPEG, which are of damage: cells that the stream
 * does not have are left as they were. */
static int note_warning(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    struct tif_handle *const h = user;
    char text[sizeof h->lost];
    unsigned tag = 0;
    (void)tif;
    (void)vsnprintf(text, sizeof text, format, args);
    if (module != NULL && strncmp(module, "JPEG", 4) == 0 && h->first[0] == '\0') {
        memcpy(h->first, text, sizeof text);
    }
    const char *const name = strstr(text, "\"Tag ");
    if (name != NULL && sscanf(name, "\"Tag %u\"", &tag) == 1 && strstr(name, "ignored") != NULL &&
        (tag == GRID_PIXEL_SCALE || tag == GRID_TIEPOINT || tag == GRID_TRANSFORMATION ||
         tag == GRID_GEO_KEYS || tag == GRID_GEO_DOUBLES || tag == GRID_GEO_ASCII ||
         tag == TIF_GDAL_NODATA)) {
        memcpy(h->lost, text, sizeof text);
    }
    return 1;
}

static TIFF *open_tiff(struct tif_handle *h, TIFFOpenOptions *options)
{
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, TIF_BAND_MAX_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, h);
    TIFFOpenOptionsSetWarningHandlerExtR(options, note_warning, h);
    /* m: no mapping */
    return TIFFClientOpenExt("tif", "rm", h, read_file, refuse_write, seek_file, close_nothing,
                             file_size, NULL, NULL, options);
}

enum status tif_handle_open(const struct source *s, struct tif_handle **out)
{
    *out = NULL;
    struct tif_handle *const h = calloc(1, sizeof *h);
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (h == NULL || options == NULL) {
        free(h);
        TIFFOpenOptionsFree(options);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
    }
    h->fd = source_fd(s);
    h->file_bytes = source_file_bytes(s);
    h->tif = open_tiff(h, options);
    TIFFOpenOptionsFree(options);
    if (h->tif == NULL) {
        const enum status st = tif_handle_fail(h, "%s: is not a readable TIFF", source_name(s));
        tif_handle_free(h);
        return st;
    }
    tif_handle_forget(h);
    *out = h;
    return STATUS_OK;
}

/* Of numbers as they lie in memory. */
static bool is_numeric(TIFFDataType type, enum table_kind *kind)
{
    switch (type) {
    case TIFF_BYTE:
    case TIFF_SHORT:
    case TIFF_LONG:
    case TIFF_LONG8:
        *kind = TABLE_UINT;
        return true;
    case TIFF_SBYTE:
    case TIFF_SSHORT:
    case TIFF_SLONG:
    case TIFF_SLONG8:
        *kind = TABLE_INT;
        return true;
    case TIFF_FLOAT:
    case TIFF_DOUBLE:
        *kind = TABLE_FLOAT;
        return true;
    default:
        return false;
    }
}

/* In their place. */
static bool to_shorts(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] >= 0 && values[i] <= UINT16_MAX && values[i] == floor(values[i]))) {
            return false;
        }
        const uint16_t narrow = (uint16_t)values[i];
        memcpy((unsigned char *)values + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return true;
}

/* n values of `type` as those wanted; out[] has room for n + 1 doubles. */
static bool convert(TIFFDataType type, const void *values, size_t n, enum grid_tag_type wanted,
                    double *out)
{
    enum table_kind kind;
    const size_t bytes = (size_t)TIFFDataWidth(type);
    if (wanted == GRID_ASCII) {
        memcpy(out, values, bytes == 1 ? n : 0);
        return bytes == 1;
    }
    if (!is_numeric(type, &kind)) {
        return false;
    }
    table_widen(kind, bytes, values, n, out);
    return wanted == GRID_DOUBLE || to_shorts(out, n);
}

enum status tif_handle_tag(const struct tif_handle *h, const char *name, uint32_t tag,
                           enum grid_tag_type type, size_t *n, void **values)
{
    uint32_t count = 0;
    const void *found = NULL;
    *n = 0;
    *values = NULL;
    /* libtiff knows none of these tags: it gives them in the type that the file has */
    const TIFFField *const field = TIFFFindField(h->tif, tag, TIFF_ANY);
    if (field == NULL) {
        return STATUS_OK;
    }
    const bool is_there = TIFFGetField(h->tif, tag, &count, &found) && found != NULL;
    if (is_there && count <= GRID_MAX_TAG_VALUES) {
        *values = calloc(count + (size_t)1, sizeof(double));
        if (*values == NULL) {
            return status_fail(STATUS_NO_MEMORY, "%s: no memory for a tag", name);
        }
        if (convert(TIFFFieldDataType(field), found, count, type, *values)) {
            const bool is_open = type == GRID_ASCII && count > 0 && ((char *)*values)[count - 1];
            *n = count + (size_t)is_open;
            return STATUS_OK;
        }
        free(*values);
        *values = NULL;
    }
    return status_fail(
        STATUS_BAD_INPUT, "%s: its tag %u holds %u values of type %d, not up to %d of type %d",
        name, tag, count, (int)TIFFFieldDataType(field), (int)GRID_MAX_TAG_VALUES, (int)type);
}

void tif_handle_free(struct tif_handle *h)
{
    if (h != NULL) {
        if (h->tif != NULL) {
            TIFFClose(h->tif);
        }
        free(h->tile);
        free(h);
    }
}

enum status tif_handle_fail(const struct tif_handle *h, const char *format, ...)
{
    char what[STATUS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (h->error != 0) {
        return status_fail_errno(h->error, "%s", what);
    }
    if (h->first[0] == '\0') {
        return status_fail(STATUS_BAD_INPUT, "%s", what);
    }
    return status_fail(STATUS_BAD_INPUT, "%s: libtiff says: %s", what,
                       excerpt_of(h->first, strlen(h->first)).text);
}

void tif_handle_forget(struct tif_handle *h)
{
    h->error = 0;
    h->first[0] = '\0';
}
