/*
 * gdal_netcdf - see gdal_netcdf.h.
 *
 * Source: NetCDF Classic Format Specification; CDF-5 of PnetCDF. What a variable takes follows from
 * its dimensions: the header's vsize is not used.
 */
#include "formats/table/gdal_netcdf.h"

#include "formats/base/checked.h"
#include "formats/base/sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

enum status gdal_netcdf_check(struct source *s)
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
