/*
 * gdal_whole - what is looked at before GDAL reads: whether a file was cut, since GDAL takes what
 * is missing for zeros, and whether a mosaic names a pipe, for which GDAL would wait without end.
 */
#include "formats/table/gdal_whole.h"
#include "formats/base/checked.h"
#include "formats/base/excerpt.h"
#include "formats/base/io_watch.h"
#include "formats/base/sizes.h"
#include "formats/table/foreign.h"
#include "formats/table/gdal_calls.h"
#include "formats/table/gdal_pcidsk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PCRASTER_HEAD = 256,
    MOST_DEPTH = 8,       /* of mosaics of mosaics, ... */
    MOST_FILES = 1 << 14, /* ... which are of so many files in all */
    MOST_TEXT = 1 << 26   /* ... and of so many bytes, as text */
};

/* --- classic NetCDF ---------------------------------------------------------------------------
 *
 * The NetCDF library takes what a file that was cut does not have for zeros. What a variable takes
 * follows from its dimensions: the header's vsize is not used.
 *
 * Source: NetCDF Classic Format Specification; CDF-5 of PnetCDF.
 */

enum { DIMENSION = 10, VARIABLE = 11, ATTRIBUTE = 12, MOST_DIMENSIONS = 1 << 16 };

struct header {
    struct source *source;
    size_t count_bytes, offset_bytes; /* of its numbers */
    uint64_t at, first;               /* what is read next; where the buffer begins */
    size_t n;
    unsigned char buffer[1 << 14];
    bool is_wrong; /* beyond the file's end, or claims what cannot be */
    size_t n_dimensions, *lengths;
    size_t n_records, record_bytes;
    size_t n_of_records, only_bytes; /* variables; of the last one, without padding */
    size_t least, record_end;        /* where fixed variables end, and those of the first record */
};

static size_t times(size_t a, size_t b)
{
    return checked_mul(a, b, &a) ? a : SIZE_MAX;
}

static size_t plus(size_t a, size_t b)
{
    return checked_add(a, b, &a) ? a : SIZE_MAX;
}

static size_t pad(size_t n)
{
    return n > SIZE_MAX - 3 ? SIZE_MAX : (n + 3) / 4 * 4;
}

/* The next number; 0 once something is wrong. */
static enum status get(struct header *h, size_t bytes, size_t *out)
{
    *out = 0;
    if (h->at < h->first || h->at + bytes > h->first + h->n) {
        h->first = h->at;
        STATUS_TRY(source_read_at(h->source, h->at, h->buffer, sizeof h->buffer, &h->n));
    }
    h->is_wrong = h->is_wrong || h->n < bytes;
    for (size_t i = 0; i < bytes && !h->is_wrong; i++) {
        *out = *out << 8 | h->buffer[h->at - h->first + i];
    }
    h->at += h->is_wrong ? 0 : bytes;
    return STATUS_OK;
}

/* So many values of `bytes` each, padded. */
static void skip(struct header *h, size_t n, size_t bytes)
{
    const size_t to = plus(h->at, pad(times(n, bytes)));
    h->is_wrong = h->is_wrong || to > source_file_bytes(h->source);
    h->at = h->is_wrong ? h->at : to;
}

static enum status skip_name(struct header *h)
{
    size_t n;
    STATUS_TRY(get(h, h->count_bytes, &n));
    skip(h, n, 1);
    return STATUS_OK;
}

static enum status get_type(struct header *h, size_t *bytes)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    size_t type;
    STATUS_TRY(get(h, 4, &type));
    h->is_wrong = h->is_wrong || type == 0 || type >= sizeof sizes;
    *bytes = h->is_wrong ? 1 : sizes[type];
    return STATUS_OK;
}

/* How a list begins: so many of that tag, or nothing. */
static enum status get_list(struct header *h, size_t tag, size_t *n)
{
    size_t has;
    STATUS_TRY(get(h, 4, &has));
    STATUS_TRY(get(h, h->count_bytes, n));
    h->is_wrong = h->is_wrong || (has != tag && (has != 0 || *n != 0));
    return STATUS_OK;
}

static enum status skip_attributes(struct header *h)
{
    size_t n, bytes, n_values;
    STATUS_TRY(get_list(h, ATTRIBUTE, &n));
    for (; n > 0 && !h->is_wrong; n--) {
        STATUS_TRY(skip_name(h));
        STATUS_TRY(get_type(h, &bytes));
        STATUS_TRY(get(h, h->count_bytes, &n_values));
        skip(h, n_values, bytes);
    }
    return STATUS_OK;
}

static enum status read_dimensions(struct header *h)
{
    STATUS_TRY(get_list(h, DIMENSION, &h->n_dimensions));
    h->is_wrong = h->is_wrong || h->n_dimensions > MOST_DIMENSIONS;
    h->lengths = h->is_wrong ? NULL : calloc(h->n_dimensions + 1, sizeof *h->lengths);
    if (h->lengths == NULL && !h->is_wrong) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(h->source));
    }
    for (size_t i = 0; i < h->n_dimensions && !h->is_wrong; i++) {
        STATUS_TRY(skip_name(h));
        STATUS_TRY(get(h, h->count_bytes, &h->lengths[i]));
    }
    return STATUS_OK;
}

/* A length of 0, which only the first dimension may have, is that of records. */
static enum status read_variable(struct header *h)
{
    size_t n, id, type_bytes, vsize, begin, cells = 1;
    bool has_records = false;
    STATUS_TRY(skip_name(h));
    STATUS_TRY(get(h, h->count_bytes, &n));
    for (size_t i = 0; i < n && !h->is_wrong; i++) {
        STATUS_TRY(get(h, h->count_bytes, &id));
        h->is_wrong = h->is_wrong || id >= h->n_dimensions || (h->lengths[id] == 0 && i > 0);
        has_records = has_records || (!h->is_wrong && h->lengths[id] == 0);
        cells = h->is_wrong || h->lengths[id] == 0 ? cells : times(cells, h->lengths[id]);
    }
    STATUS_TRY(skip_attributes(h));
    STATUS_TRY(get_type(h, &type_bytes));
    STATUS_TRY(get(h, h->count_bytes, &vsize));
    STATUS_TRY(get(h, h->offset_bytes, &begin));
    const size_t bytes = times(cells, type_bytes), to = plus(begin, bytes);
    if (has_records) {
        h->n_of_records++;
        h->only_bytes = bytes;
        h->record_bytes = plus(h->record_bytes, pad(bytes));
        h->record_end = greater(h->record_end, to);
    } else {
        h->least = greater(h->least, to);
    }
    return STATUS_OK;
}

static enum status read_header(struct header *h)
{
    size_t n;
    STATUS_TRY(get(h, h->count_bytes, &h->n_records));
    if (h->n_records == (h->count_bytes == 4 ? UINT32_MAX : SIZE_MAX)) {
        h->n_records = 0; /* was streamed: as many as there are */
    }
    STATUS_TRY(read_dimensions(h));
    STATUS_TRY(skip_attributes(h));
    STATUS_TRY(get_list(h, VARIABLE, &n));
    for (; n > 0 && !h->is_wrong; n--) {
        STATUS_TRY(read_variable(h));
    }
    if (h->n_records > 0 && h->n_of_records > 0) { /* those of one variable have no padding */
        const size_t record = h->n_of_records == 1 ? h->only_bytes : h->record_bytes;
        h->least = greater(h->least, plus(h->record_end, times(h->n_records - 1, record)));
    }
    return STATUS_OK;
}

enum status gdal_whole_netcdf(struct source *s)
{
    struct header h = {.source = s, .at = 4};
    size_t n;
    unsigned char magic[4];
    STATUS_TRY(source_read_at(s, 0, magic, sizeof magic, &n));
    if (n < sizeof magic || memcmp(magic, "CDF", 3) != 0 ||
        (magic[3] != 1 && magic[3] != 2 && magic[3] != 5)) {
        return STATUS_OK;
    }
    h.count_bytes = magic[3] == 5 ? 8 : 4;
    h.offset_bytes = magic[3] == 1 ? 4 : 8;
    const enum status st = read_header(&h);
    free(h.lengths);
    STATUS_TRY(st);
    const uint64_t has = source_file_bytes(s);
    return h.is_wrong
               ? status_fail(STATUS_BAD_INPUT,
                             "%s: byte %" PRIu64 ": its header cannot be read: it was cut or "
                             "damaged",
                             source_name(s), h.at)
           : has < h.least
               ? status_fail(STATUS_BAD_INPUT,
                             "%s: has %" PRIu64 " bytes where its header claims %zu: it "
                             "was cut",
                             source_name(s), has, h.least)
               : STATUS_OK;
}
/* --- mosaics ---------------------------------------------------------------------------------- */

/* Where a check of a mosaic is. */
struct whole {
    int depth;
    size_t n_files, n_bytes;
};

/* How many bytes a whole file has at least, of the formats whose missing bytes GDAL takes for
 * zeros; NetCDF is one more. */
static enum status find_least(struct source *s, GDALDatasetH dataset, size_t *least)
{
    const char *const driver = gdal.GDALGetDriverShortName(gdal.GetDatasetDriver(dataset));
    *least = 0;
    if (strcmp(driver, "PCIDSK") == 0) {
        STATUS_TRY(gdal_pcidsk_least(s, least));
    } else if (strcmp(driver, "PCRaster") == 0 || strcmp(driver, "ENVI") == 0) {
        const size_t cells = /* of two ints */
            (size_t)gdal.GetRasterXSize(dataset) * (size_t)gdal.GetRasterYSize(dataset);
        GDALDataType type = gdal.GetRasterDataType(gdal.GetRasterBand(dataset, 1));
        if (!checked_mul((size_t)gdal.GetDataTypeSizeBytes(type), cells, least) ||
            !checked_mul(*least, (size_t)gdal.GetRasterCount(dataset), least)) {
            *least = SIZE_MAX;
        }
        *least += strcmp(driver, "PCRaster") == 0 && *least < SIZE_MAX ? PCRASTER_HEAD : 0;
    }
    return STATUS_OK;
}

static enum status check_sources(const char *vrt, GDALDatasetH dataset, struct whole *at);

/* Refuses what was cut. */
static enum status check_whole(struct source *s, GDALDatasetH dataset, struct whole *at)
{
    size_t least;
    STATUS_TRY(find_least(s, dataset, &least));
    return source_file_bytes(s) >= least
               ? check_sources(source_name(s), dataset, at)
               : status_fail(STATUS_BAD_INPUT, "%s: is shorter than its %d x %d cells: it was cut",
                             source_name(s), gdal.GetRasterYSize(dataset),
                             gdal.GetRasterXSize(dataset));
}

static bool is_beside(const char *tag)
{
    static const char beside[] = "relativeToVRT=\"1\"";
    const char *const end = strchr(tag, '>');
    return end != NULL && memmem(tag, (size_t)(end - tag), beside, strlen(beside)) != NULL;
}

/* The file of a source, NETCDF:"x.nc":z, too: `tag` is where the XML of that VRT names it, `beside`
 * it or not. */
static char *source_path(const char *vrt, const char *tag, bool beside)
{
    const char *const end = strchr(tag, '>'), *const slash = strrchr(vrt, '/');
    char *const raw = end != NULL ? strndup(end + 1, strcspn(end + 1, "<")) : NULL;
    char *const text = raw != NULL ? gdal.UnescapeString(raw, NULL, CPLES_XML) : NULL, *path = NULL;
    free(raw);
    if (text != NULL) {
        const bool is_part = strncmp(text, "NETCDF:", 7) == 0;
        char *const name = text + (is_part ? 7 : 0), *const colon = strrchr(name, ':');
        const size_t n = is_part && colon != NULL ? (size_t)(colon - name) : strlen(name);
        const size_t quote = n > 1 && name[0] == '"' ? 1 : 0;
        if (asprintf(&path, "%.*s%.*s", beside && slash != NULL ? (int)(slash + 1 - vrt) : 0, vrt,
                     (int)(n - 2 * quote), name + quote) < 0) {
            path = NULL;
        }
    }
    gdal.Free(text);
    return path;
}

/* The same of the files that a mosaic is of; what GDAL does not find it says itself. */
static enum status check_sources(const char *vrt, GDALDatasetH dataset, struct whole *at)
{
    static const char *const checked[] = {"PCIDSK", "PCRaster", "ENVI", "VRT", NULL};
    char **const xml = gdal.GetMetadata(dataset, "xml:VRT");
    const char *tag = xml != NULL && at->depth < MOST_DEPTH ? xml[0] : NULL;
    enum status st = STATUS_OK;
    at->depth++;
    while (tag != NULL && st == STATUS_OK && (tag = strstr(tag, "<SourceFilename")) != NULL) {
        if (at->depth > 1 && at->n_files++ == MOST_FILES) {
            st = status_fail(STATUS_TOO_LARGE,
                             "its mosaics are of more than %d files, or of themselves; make it one "
                             "file: gdal_translate",
                             MOST_FILES);
            break;
        }
        char *const path = source_path(vrt, tag, is_beside(tag));
        const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        tag++;
        struct source *s = NULL;
        if (fd >= 0 && source_open(fd, path, &s) == STATUS_OK) {
            GDALDatasetH of = gdal.OpenEx(path, GDAL_OF_RASTER, checked, NULL, NULL);
            st = gdal_whole_netcdf(s);
            st = st == STATUS_OK && of != NULL ? check_whole(s, of, at) : st;
            (void)(of != NULL ? gdal.Close(of) : CE_None);
        }
        source_free(s);
        free(path);
    }
    at->depth--;
    if (st != STATUS_OK && at->depth == 0) {
        char said[STATUS_MESSAGE_BYTES];
        (void)snprintf(said, sizeof said, "%s", status_message());
        return status_fail(st, "%s: %s", vrt, said);
    }
    return st;
}
/* --- pipes ------------------------------------------------------------------------------------ */

/* The text of a mosaic as GDAL understands it: names in any case, in quotes of either kind, in
 * CDATA; NULL for what is none. For gdal.Free(). */
static char *understand(char *text)
{
    struct gdal_words unheard; /* GDAL says so again when it opens the file */
    gdal_begin(&unheard);
    CPLXMLNode *const tree = gdal.ParseXMLString(text);
    char *const understood = tree != NULL ? gdal.SerializeXMLTree(tree) : NULL;
    gdal.DestroyXMLNode(tree);
    gdal_end();
    return understood;
}

/* What a file holds if it is a mosaic; else NULL, as for what cannot be read. For gdal.Free(). */
static enum status read_mosaic(const char *path, struct whole *at, char **out)
{
    static const char first[] = "<VRTDataset";
    char head[FOREIGN_HEAD_BYTES];
    struct stat is;
    int error = 0;
    enum status st = STATUS_OK;
    const int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has no writer to wait for */
    *out = NULL;
    if (fd < 0 || fstat(fd, &is) != 0) {
        /* GDAL says so */
    } else if (!S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode) && !S_ISBLK(is.st_mode)) {
        st = status_fail(STATUS_BAD_INPUT, "names '%s' as a file, which is a pipe or a device",
                         excerpt_of(path, strlen(path)).text);
    } else if (memmem(head, io_watch_pread_all(fd, head, sizeof head, 0, &error), first,
                      sizeof first - 1) != NULL) {
        const size_t n = (size_t)is.st_size;
        at->n_bytes = n <= MOST_TEXT ? at->n_bytes + n : SIZE_MAX;
        char *const text = at->n_bytes <= MOST_TEXT ? calloc(n + 1, 1) : NULL;
        st = at->n_bytes <= MOST_TEXT
                 ? STATUS_OK
                 : status_fail(STATUS_TOO_LARGE,
                               "its mosaics have more than %d MiB of text, or are of themselves; "
                               "make it one file: gdal_translate",
                               MOST_TEXT >> 20);
        if (text != NULL) {
            (void)io_watch_pread_all(fd, text, n, 0, &error);
            *out = understand(text);
        }
        free(text);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return st;
}

/* GDAL would wait without end for a pipe that a mosaic, or a mosaic in it, names as a file. */
static enum status refuse_pipes(const char *vrt, struct whole *at)
{
    char *text;
    enum status st = read_mosaic(vrt, at, &text);
    const char *tag = at->depth < MOST_DEPTH ? text : NULL;
    at->depth++;
    while (tag != NULL && st == STATUS_OK && (tag = strcasestr(tag, "<Source")) != NULL) {
        tag += strlen("<Source");
        const bool names =
            strncasecmp(tag, "Filename", 8) == 0 || strncasecmp(tag, "Dataset", 7) == 0;
        for (int beside = 0; beside < 2 && names && at->n_files++ < (size_t)2 * MOST_FILES;
             beside++) {
            char *const path = source_path(vrt, tag, beside > 0);
            st = path != NULL && st == STATUS_OK ? refuse_pipes(path, at) : st;
            free(path);
        }
    }
    at->depth--;
    gdal.Free(text);
    return st;
}
enum status gdal_whole_names(const char *name, const char *path)
{
    const enum status st = refuse_pipes(path, &(struct whole){0});
    if (st != STATUS_OK) {
        char why[STATUS_MESSAGE_BYTES];
        (void)snprintf(why, sizeof why, "%s", status_message());
        return status_fail(st, "%s: %s", name, why);
    }
    return STATUS_OK;
}

enum status gdal_whole_check(struct source *s, GDALDatasetH dataset)
{
    return check_whole(s, dataset, &(struct whole){0});
}
