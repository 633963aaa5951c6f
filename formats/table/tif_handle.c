/*
 * tif_handle - libtiff contained: it reads through our descriptor, allocates within a
 * bound, and says what is wrong to us alone, never to stderr or to a handler of the process.
 */
#include "formats/table/tif.h"

#include "formats/base/io_watch.h"
#include "formats/geo/tiff_tags.h"

#include <errno.h>
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
    (void)tif;
    (void)vsnprintf(text, sizeof text, format, args);
    if (module != NULL && strncmp(module, "JPEG", 4) == 0 && h->first[0] == '\0') {
        memcpy(h->first, text, sizeof text);
    }
    if (tiff_tags_names_one(text) && strstr(text, "ignored") != NULL) {
        memcpy(h->lost, text, sizeof text);
    }
    return 1;
}

static TIFF *open_tiff(struct tif_handle *h, TIFFOpenOptions *options)
{
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, TABLE_BAND_MOST_BYTES);
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
    tiff_tags_know();
    h->tif = open_tiff(h, options);
    TIFFOpenOptionsFree(options);
    if (h->tif != NULL && !tiff_tags_are_known(h->tif)) {
        h->error = ENOMEM;
    }
    if (h->tif == NULL || h->error == ENOMEM) {
        const enum status st = tif_handle_fail(h, "%s: is not a readable TIFF", source_name(s));
        tif_handle_free(h);
        return st;
    }
    tif_handle_forget(h);
    *out = h;
    return STATUS_OK;
}

enum status tif_handle_tag(const struct tif_handle *h, const char *name, uint32_t tag,
                           enum grid_tag_type type, uint32_t *n, const void **values)
{
    const TIFFField *const field = TIFFFindField(h->tif, tag, TIFF_ANY);
    uint16_t count = 0;
    *n = 0;
    if (field == NULL || !(type == GRID_ASCII ? TIFFGetField(h->tif, tag, values)
                                              : TIFFGetField(h->tif, tag, &count, values))) {
        return STATUS_OK;
    }
    *n = type == GRID_ASCII ? (uint32_t)strlen(*values) + 1 : count;
    if (*n <= GRID_MAX_TAG_VALUES && TIFFFieldDataType(field) == (TIFFDataType)type) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: its tag %u holds %u values of type %d, not up to %d of type %d", name,
                       tag, *n, (int)TIFFFieldDataType(field), (int)GRID_MAX_TAG_VALUES, (int)type);
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
