/*
 * result_npy - arrays as members of a .npz: a header, then elements that are fetched piece by
 * piece.
 *
 * The stream of a member is cut at PACK_PIECE_BYTES, header included. The header is a multiple of
 * 64 bytes long and a piece is too, so no number is ever cut: elements are fetched straight into
 * the piece. Strings (UCS-4, all as long as the longest) are fetched as an array of code points,
 * and made from UTF-8 when a piece is asked for, so one long name costs no memory.
 *
 * Source: NumPy Enhancement Proposal 1, version 1.0 of the format.
 */
#include "formats/result/result.h"

#include "formats/base/checked.h"
#include "formats/base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_ALIGNMENT = 64, PREFIX_BYTES = 10 };

struct npy {
    char header[NPY_HEAD_BYTES];
    size_t header_bytes;  /* 0: a portion has none */
    size_t element_bytes; /* divides PACK_PIECE_BYTES */
    uint64_t total_bytes; /* of the stream */
    result_fetch_fn *fetch;
    void *context;
    void (*free_context)(void *);
};

static const struct {
    char code[3];
    uint8_t bytes;
} types[] = {
    [NPY_F4] = {"f4", 4}, [NPY_F8] = {"f8", 8}, [NPY_I4] = {"i4", 4},
    [NPY_I8] = {"i8", 8}, [NPY_U1] = {"u1", 1}, [NPY_UNICODE] = {"U", 4},
};

static void npy_free(void *context)
{
    struct npy *a = context;
    result_free_context(a->context, a->free_context);
    free(a);
}

static enum status npy_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct npy *a = context;
    const uint64_t from = index * PACK_PIECE_BYTES;
    const uint64_t left = a->total_bytes - from;
    size_t n = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;
    const uint64_t first = index == 0 ? 0 : (from - a->header_bytes) / a->element_bytes;
    STATUS_TRY(bytes_reserve(out, n));
    if (index == 0) {
        memcpy(out->data + out->len, a->header, a->header_bytes);
        out->len += a->header_bytes;
        n -= a->header_bytes;
    }
    if (n == 0) {
        return STATUS_OK;
    }
    assert(out->len % sizeof(uint64_t) == 0);
    const enum status st = a->fetch(a->context, first, n / a->element_bytes, out->data + out->len);
    out->len += st == STATUS_OK ? n : 0;
    return st;
}

/* Writes magic, version, length and the dictionary, padded with blanks to a multiple of 64 bytes,
 * at least `least`, and ended by a newline; its length. */
static size_t make_header(char header[NPY_HEAD_BYTES], const char *descr, bool first_fastest,
                          size_t n_dims, const size_t *dims, size_t least)
{
    char shape[48] = "";
    if (n_dims == 1) {
        snprintf(shape, sizeof shape, "%zu,", dims[0]);
    } else if (n_dims == 2) {
        snprintf(shape, sizeof shape, "%zu, %zu", dims[0], dims[1]);
    }
    char *const text = header + PREFIX_BYTES;
    const size_t room = NPY_HEAD_BYTES - PREFIX_BYTES;
    const int len = snprintf(text, room, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
                             descr, first_fastest ? "True" : "False", shape);
    assert(len > 0 && (size_t)len + 1 < room);
    size_t whole = PREFIX_BYTES + (size_t)len + 1;
    whole = (whole + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    whole = whole < least ? least : whole;
    assert(whole <= NPY_HEAD_BYTES);
    const size_t dict_bytes = whole - PREFIX_BYTES;
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(dict_bytes & 255);
    header[9] = (char)(dict_bytes >> 8);
    memset(text + len, ' ', dict_bytes - (size_t)len);
    text[dict_bytes - 1] = '\n';
    return whole;
}

/* What a stream of elements is: type as NumPy writes it, shape, and how many to fetch. */
struct stream {
    const char *descr;
    size_t element_bytes, n_dims;
    const size_t *dims;
    size_t n_elements;
    bool first_fastest;
    enum result_growth growth;
    uint64_t portions_bytes;
};

static enum status add_stream(struct result_file *f, const char *name, const struct stream *s,
                              result_fetch_fn *fetch, void *context, void (*free_context)(void *))
{
    char member[RESULT_NAME_BYTES];
    size_t bytes, total;
    assert(f->kind == PACK_ZIP);
    result_set_name(member, name, ".npy");
    struct npy *a = malloc(sizeof *a);
    if (a == NULL) {
        result_free_context(context, free_context);
        return status_fail(STATUS_NO_MEMORY, "no memory for array %s", name);
    }
    *a = (struct npy){.element_bytes = s->element_bytes,
                      .fetch = fetch,
                      .context = context,
                      .free_context = free_context};
    if (s->growth != RESULT_PORTION) {
        a->header_bytes = make_header(a->header, s->descr, s->first_fastest, s->n_dims, s->dims, 0);
    }
    if (!checked_mul(s->n_elements, s->element_bytes, &bytes) ||
        !checked_add(bytes, a->header_bytes, &total)) {
        npy_free(a);
        return status_fail(STATUS_TOO_LARGE, "array %s of %zu elements cannot be written", name,
                           s->n_elements);
    }
    a->total_bytes = total;
    const uint64_t n_pieces = (total - 1) / PACK_PIECE_BYTES + 1;
    STATUS_TRY(result_add_member(f, member, n_pieces, npy_piece, a, npy_free));
    f->members[f->n_members - 1].growth = s->growth;
    f->members[f->n_members - 1].portions_bytes = s->portions_bytes;
    return STATUS_OK;
}

static const char byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

static void make_descr(char descr[8], enum npy_type type)
{
    snprintf(descr, 8, "%c%s", types[type].bytes > 1 ? byte_order : '|', types[type].code);
}

size_t result_npy_head(char head[NPY_HEAD_BYTES], enum npy_type type, size_t n_dims,
                       const size_t *dims, size_t least)
{
    char descr[8];
    make_descr(descr, type);
    return make_header(head, descr, false, n_dims, dims, least);
}

enum status result_add_array(struct result_file *f, const char *name, enum npy_type type,
                             size_t n_dims, const size_t *dims, result_fetch_fn *fetch,
                             void *context, void (*free_context)(void *))
{
    char descr[8];
    assert(type != NPY_UNICODE && n_dims <= 2);
    make_descr(descr, type);
    struct stream s = {.descr = descr,
                       .element_bytes = types[type].bytes,
                       .n_dims = n_dims,
                       .dims = dims,
                       .n_elements = 1};
    for (size_t i = 0; i < n_dims; i++) {
        if (!checked_mul(s.n_elements, dims[i], &s.n_elements)) {
            result_free_context(context, free_context);
            return status_fail(STATUS_TOO_LARGE, "array %s has too many elements", name);
        }
    }
    return add_stream(f, name, &s, fetch, context, free_context);
}

enum status result_add_portion(struct result_file *f, const char *name, enum npy_type type,
                               uint64_t n, result_fetch_fn *fetch, void *context,
                               void (*free_context)(void *))
{
    assert(type != NPY_UNICODE);
    if (n == 0) {
        result_free_context(context, free_context);
        return status_fail(STATUS_INTERNAL, "a portion of array %s is empty", name);
    }
    const struct stream s = {
        .element_bytes = types[type].bytes, .n_elements = n, .growth = RESULT_PORTION};
    return add_stream(f, name, &s, fetch, context, free_context);
}

static enum status add_head(struct result_file *f, const char *name, enum npy_type type,
                            size_t n_dims, const size_t *dims, bool first_fastest,
                            enum result_growth growth)
{
    char descr[8];
    assert(type != NPY_UNICODE && n_dims <= 2);
    make_descr(descr, type);
    uint64_t bytes = types[type].bytes; /* no overflow once so many have been written */
    for (size_t i = 0; i < n_dims; i++) {
        bytes *= dims[i];
    }
    const struct stream s = {.descr = descr,
                             .portions_bytes = bytes,
                             .element_bytes = types[type].bytes,
                             .n_dims = n_dims,
                             .dims = dims,
                             .first_fastest = first_fastest,
                             .growth = growth};
    return add_stream(f, name, &s, NULL, NULL, NULL);
}

enum status result_begin_portions(struct result_file *f, const char *name, enum npy_type type,
                                  size_t n_dims, const size_t *dims, bool first_fastest)
{
    return add_head(f, name, type, n_dims, dims, first_fastest, RESULT_BEGIN);
}

enum status result_end_portions(struct result_file *f, const char *name, enum npy_type type,
                                size_t n_dims, const size_t *dims, bool first_fastest)
{
    return add_head(f, name, type, n_dims, dims, first_fastest, RESULT_HEAD);
}

struct copy {
    size_t element_bytes;
    unsigned char data[];
};

static enum status copy_fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct copy *c = context;
    memcpy(dst, c->data + first * c->element_bytes, n * c->element_bytes);
    return STATUS_OK;
}

enum status result_add_copy(struct result_file *f, const char *name, enum npy_type type,
                            size_t n_dims, const size_t *dims, const void *data)
{
    const size_t element_bytes = types[type].bytes;
    size_t bytes = element_bytes, total;
    bool fits = true;
    for (size_t i = 0; i < n_dims; i++) {
        fits = fits && checked_mul(bytes, dims[i], &bytes);
    }
    struct copy *c = fits && checked_add(bytes, sizeof *c, &total) ? malloc(total) : NULL;
    if (c == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for array %s", name);
    }
    c->element_bytes = element_bytes;
    if (bytes > 0) {
        memcpy(c->data, data, bytes);
    }
    return result_add_array(f, name, type, n_dims, dims, copy_fetch, c, free);
}

/* UTF-8 strings, one after the other with their NULs. */
struct strings {
    size_t width;        /* code points of the longest, at least 1 */
    const char **starts; /* in text */
    struct bytes text;
};

static void strings_free(void *context)
{
    struct strings *s = context;
    if (s != NULL) {
        free(s->starts);
        bytes_free(&s->text);
        free(s);
    }
}

static enum status strings_fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct strings *s = context;
    uint32_t *points = dst;
    size_t row = (size_t)(first / s->width), column = (size_t)(first % s->width);
    for (size_t done = 0; done < n; row++, column = 0) {
        const char *text = s->starts[row];
        for (size_t i = 0; i < column; i++) {
            utf8_next(&text);
        }
        for (; column < s->width && done < n; column++) {
            points[done++] = utf8_next(&text);
        }
    }
    return STATUS_OK;
}

enum status result_add_strings(struct result_file *f, const char *name, size_t n,
                               const char *const *strings)
{
    char descr[24];
    size_t longest = 0, n_points;
    struct strings *s = calloc(1, sizeof *s);
    if (s == NULL) {
        goto no_memory;
    }
    for (size_t i = 0; i < n; i++) {
        if (bytes_append(&s->text, strings[i], strlen(strings[i]) + 1) != STATUS_OK) {
            goto no_memory;
        }
    }
    s->starts = calloc(n + 1, sizeof s->starts[0]);
    if (s->starts == NULL) {
        goto no_memory;
    }
    const char *text = (const char *)s->text.data;
    for (size_t i = 0; i < n; i++) {
        size_t width = 0;
        s->starts[i] = text;
        while (utf8_next(&text) != 0) {
            width++;
        }
        text++;
        longest = width > longest ? width : longest;
    }
    s->width = longest > 0 ? longest : 1;
    if (!checked_mul(n, s->width, &n_points)) {
        strings_free(s);
        return status_fail(STATUS_TOO_LARGE, "the strings of %s cannot be written", name);
    }
    snprintf(descr, sizeof descr, "%cU%zu", byte_order, s->width);
    const struct stream stream = {.descr = descr,
                                  .element_bytes = types[NPY_UNICODE].bytes,
                                  .n_dims = 1,
                                  .dims = &n,
                                  .n_elements = n_points};
    return add_stream(f, name, &stream, strings_fetch, s, strings_free);
no_memory:
    strings_free(s);
    return status_fail(STATUS_NO_MEMORY, "no memory for the strings of %s", name);
}
