/*
 * table_tif_handle - libtiff kept on a lead: it reads through our descriptor, allocates within a
 * bound, and says what is wrong to us alone, never to stderr or to a handler of the process.
 */
#include "formats/table_tif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The tags that libtiff itself does not know. The -3 says: any number of values, told in 32 bits.
 */
static const TIFFFieldInfo geo_fields[] = {
    {GRID_PIXEL_SCALE, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelPixelScale"},
    {GRID_TIEPOINT, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTiepoint"},
    {GRID_TRANSFORMATION, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTransformation"},
    {GRID_GEO_KEYS, -3, -3, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)"GeoKeyDirectory"},
    {GRID_GEO_DOUBLES, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"GeoDoubleParams"},
    {GRID_GEO_ASCII, -3, -3, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"GeoAsciiParams"},
    {TIF_GDAL_METADATA, -3, -3, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"GDALMetadata"},
    {TIF_GDAL_NODATA, -3, -3, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"GDALNoData"},
};

static tmsize_t read_file(thandle_t handle, void *dst, tmsize_t n)
{
    struct tif_handle *const h = handle;
    tmsize_t done = 0;
    while (done < n) {
        const ssize_t got =
            pread(h->fd, (char *)dst + done, (size_t)(n - done), (off_t)(h->at + (uint64_t)done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            h->error = errno;
            return -1;
        }
        if (got == 0) {
            break;
        }
        done += got;
    }
    h->at += (uint64_t)done;
    return done;
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
    return 1; /* dealt with */
}

static int drop_warning(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    (void)tif;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static TIFF *open_tiff(struct tif_handle *h, TIFFOpenOptions *options)
{
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, TIF_BAND_MAX_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, h);
    TIFFOpenOptionsSetWarningHandlerExtR(options, drop_warning, h);
    /* m: no mapping; h: the header alone, so that our tags are known when the directory is read */
    TIFF *const tif = TIFFClientOpenExt("tif", "rmh", h, read_file, refuse_write, seek_file,
                                        close_nothing, file_size, NULL, NULL, options);
    if (tif == NULL) {
        return NULL;
    }
    const uint32_t n_fields = sizeof geo_fields / sizeof geo_fields[0];
    if (TIFFMergeFieldInfo(tif, geo_fields, n_fields) != 0 || !TIFFReadDirectory(tif)) {
        TIFFClose(tif);
        return NULL;
    }
    return tif;
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
        const enum status st =
            tif_handle_fail(h, "%s: is no TIFF that can be read", source_name(s));
        tif_handle_free(h);
        return st;
    }
    tif_handle_forget(h);
    *out = h;
    return STATUS_OK;
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
