/*
 * numpy - NumPy arrays as tables: an .npy, or a member of an .npz, which is a zip archive of them,
 * stored or deflated.
 *
 * The header is magic, version, length, dict literal, as NumPy writes it: {'descr': '<f8',
 * 'fortran_order': False, 'shape': (3, 4), } with the three keys in any order, each once, either
 * kind of quotes, any blanks. It is read as JSON, once its quotes and brackets are that: no
 * evaluation.
 *
 * Numbers in this machine's layout (f4 and f8 in its byte order) are read straight into the chunk's
 * values; others become doubles (f4 in the other byte order: floats) when they are decoded. A
 * one-dimensional array is one line. NaN is missing; infinities are passed on as they are.
 *
 * Member names are only ever compared and shown, never used as paths. A member is believed to
 * unpack to no more than deflate can make of its bytes. Its CRC-32 is checked when its end has been
 * read.
 *
 * Source: numpy.lib.format, versions 1.0 to 3.0.
 */
#include "formats/base/bytes.h"
#include "formats/base/checked.h"
#include "formats/base/file_name.h"
#include "formats/source/zip_input.h"
#include "formats/table/table_format.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    enum table_kind kind;
    size_t item_bytes; /* 1, 2, 4 or 8; for f 2, 4 or 8 */
    bool swapped;      /* not in this machine's byte order */
    bool fortran;
    size_t n_dims; /* 1 or 2 */
    size_t shape[2];
    size_t n_items;        /* their product, >= 1 */
    uint64_t header_bytes; /* before the first number */
    uint64_t data_bytes;   /* n_items * item_bytes */
};

/* The state of a table, an array. */
struct array {
    struct source *source;
    struct zip_input *zip; /* NULL: the array is the file itself */
    const char *where;     /* names it in messages: the file, or ... */
    char *member;          /* ... "FILE: member NAME", owned */
    struct header header;
    uint64_t done_bytes; /* of its data, read */
};

/* Reads up to `cap` of its bytes; fewer only at its end. */
static enum status read_bytes(struct array *a, void *dst, size_t cap, size_t *n)
{
    return a->zip ? zip_input_read(a->zip, dst, cap, n) : source_read(a->source, dst, cap, n);
}

/* --- header ----------------------------------------------------------------------------------- */

enum {
    PREFIX_BYTES = 8, /* magic and version */
    MAX_HEADER_BYTES = 64 << 10
};

/* The literal while it is read: text[0 .. n), which begins at byte `offset` of the array. */
struct literal {
    const char *where;
    char *text;
    size_t n, offset;
};

static enum status fail_literal(const struct literal *l, const char *trouble)
{
    return status_fail(STATUS_BAD_INPUT, "%s: byte %zu: the npy header %s", l->where, l->offset,
                       trouble);
}

/* Makes JSON of it, in place and of the same length: other quotes and brackets, true and false,
 * blanks for a comma before a bracket that closes and for the L of Python 2's numbers. *has_tuple:
 * there is a comma before a parenthesis that closes. False: a string may end elsewhere. */
static bool make_json(const struct literal *l, bool *has_tuple)
{
    char quote = '\0', *last = l->text; /* of the string that is open; no blank, before this */
    *has_tuple = false;
    for (char *c = l->text; c < l->text + l->n; c++) {
        if (*c == '\\' || (quote == '\'' && *c == '"')) {
            return false;
        }
        if (quote != '\0' && *c == quote) {
            *c = '"';
            quote = '\0';
        } else if (quote == '\0' && (*c == '\'' || *c == '"')) {
            quote = *c;
            *c = '"';
        } else if (quote == '\0' && (*c == ')' || *c == '}')) {
            *has_tuple = *has_tuple || (*c == ')' && *last == ',');
            *last = *last == ',' ? ' ' : *last;
            *c = *c == ')' ? ']' : *c;
        } else if (quote == '\0') {
            *c = *c == '('                                   ? '['
                 : *c == 'T' || *c == 'F'                    ? (char)(*c | 0x20)
                 : *c == 'L' && *last >= '0' && *last <= '9' ? ' '
                                                             : *c;
        }
        last = strchr(" \t\r\n", *c) == NULL ? c : last;
    }
    return true;
}

/* Numbers that are read; a bool is one byte, 0 or 1. */
static bool is_item(char kind, char bytes)
{
    static const struct {
        char kind;
        const char *bytes;
    } items[] = {{'f', "248"}, {'i', "1248"}, {'u', "1248"}, {'b', "1"}};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        if (items[i].kind == kind && memchr(items[i].bytes, bytes, strlen(items[i].bytes))) {
            return true;
        }
    }
    return false;
}

static enum status take_descr(const struct literal *l, const char *descr, struct header *h)
{
    const char order = *descr != '\0' && strchr("<>=|", *descr) != NULL ? *descr : '=';
    const char *const text = descr + (order == *descr);
    if (strlen(text) == 2 && is_item(text[0], text[1]) && (order != '|' || text[1] == '1')) {
        const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        h->kind = text[0] == 'f' ? TABLE_FLOAT : text[0] == 'i' ? TABLE_INT : TABLE_UINT;
        h->item_bytes = (size_t)(text[1] - '0');
        h->swapped =
            h->item_bytes > 1 && (order == '<' || order == '>') && (order == '<') != little;
        return STATUS_OK;
    }
    return status_fail(
        STATUS_UNSUPPORTED,
        "%s: byte %zu: %s \"%s\"; leat reads f2, f4, f8, i1 to i8, u1 to u8 and bool", l->where,
        l->offset, *text == 'O' ? "Python objects, dtype" : "numbers of dtype",
        excerpt_of(descr, strlen(descr)).text);
}

/* A tuple of one count has a comma. */
static enum status take_shape(const struct literal *l, const json_t *shape, bool has_tuple,
                              struct header *h)
{
    size_t i;
    const json_t *count;
    h->n_dims = json_array_size(shape);
    bool are_counts = json_is_array(shape) && (h->n_dims != 1 || has_tuple);
    json_array_foreach(shape, i, count)
    {
        are_counts = are_counts && json_is_integer(count) && json_integer_value(count) >= 0;
        h->shape[i < 2 ? i : 1] = (size_t)json_integer_value(count);
    }
    return are_counts ? STATUS_OK : fail_literal(l, "has no tuple of counts for shape");
}

static enum status take_dict(const struct literal *l, const json_t *dict, bool has_tuple,
                             struct header *h)
{
    const json_t *const descr = json_object_get(dict, "descr");
    const json_t *const order = json_object_get(dict, "fortran_order");
    if (json_object_size(dict) != 3 || !(json_is_string(descr) || json_is_array(descr)) ||
        !json_is_boolean(order)) {
        return fail_literal(l, "is no dict of descr, fortran_order (True, False) and shape");
    }
    if (json_is_array(descr)) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: byte %zu: a structured array (records); leat reads arrays of one "
                           "number type",
                           l->where, l->offset);
    }
    h->fortran = json_is_true(order);
    STATUS_TRY(take_descr(l, json_string_value(descr), h));
    return take_shape(l, json_object_get(dict, "shape"), has_tuple, h);
}

static enum status check_shape(const char *where, struct header *h)
{
    if (h->n_dims < 1 || h->n_dims > 2) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: has %zu dimensions; leat reads arrays of 1 or 2", where, h->n_dims);
    }
    const size_t columns = h->n_dims == 2 ? h->shape[1] : 1;
    size_t bytes;
    if (!checked_mul(h->shape[0], columns, &h->n_items) ||
        !checked_mul(h->n_items, h->item_bytes, &bytes)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: claims %zu x %zu numbers, more than any file can hold", where,
                           h->shape[0], columns);
    }
    if (h->n_items == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: holds no numbers (%zu x %zu)", where, h->shape[0],
                           columns);
    }
    h->data_bytes = bytes;
    return STATUS_OK;
}

static enum status parse_literal(const struct literal *l, struct header *out)
{
    json_error_t error;
    bool has_tuple;
    *out = (struct header){.header_bytes = l->offset + l->n};
    if (!make_json(l, &has_tuple)) {
        return fail_literal(l, "has a backslash, or a quote within quotes");
    }
    json_t *const dict = json_loadb(l->text, l->n, JSON_REJECT_DUPLICATES, &error);
    const enum status status =
        dict != NULL
            ? take_dict(l, dict, has_tuple, out)
            : status_fail(STATUS_BAD_INPUT, "%s: byte %zu: the npy header is no dict literal: %s",
                          l->where, l->offset + (size_t)error.position,
                          excerpt_of(error.text, strlen(error.text)).text);
    json_decref(dict);
    return status != STATUS_OK ? status : check_shape(l->where, out);
}

static enum status read_head(struct array *a, void *dst, size_t n)
{
    size_t got;
    STATUS_TRY(read_bytes(a, dst, n, &got));
    return got == n ? STATUS_OK
                    : status_fail(STATUS_BAD_INPUT, "%s: ends within its npy header", a->where);
}

/* Reads up to the first number. */
static enum status read_header(struct array *a)
{
    unsigned char prefix[PREFIX_BYTES], length[4] = {0};
    STATUS_TRY(read_head(a, prefix, sizeof prefix));
    if (memcmp(prefix, "\x93NUMPY", 6) != 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: is not an npy array", a->where);
    }
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is npy version %d.%d; leat reads 1.0 to 3.0",
                           a->where, prefix[6], prefix[7]);
    }
    const size_t length_bytes = prefix[6] == 1 ? 2 : 4;
    STATUS_TRY(read_head(a, length, length_bytes));
    const size_t n = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
                     (size_t)length[3] << 24;
    if (n > MAX_HEADER_BYTES) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: claims an npy header of %zu bytes; at most %d are believed",
                           a->where, n, MAX_HEADER_BYTES);
    }
    char *const text = malloc(n + 1);
    if (!text) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory for its header", a->where);
    }
    enum status status = read_head(a, text, n);
    if (!status) {
        const struct literal literal = {a->where, text, n, PREFIX_BYTES + length_bytes};
        status = parse_literal(&literal, &a->header);
    }
    free(text);
    return status;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool is_direct(const struct header *h)
{
    return h->kind == TABLE_FLOAT && h->item_bytes >= sizeof(float) && !h->swapped;
}

static enum dtype npy_dtype(const struct header *h)
{
    return h->kind == TABLE_FLOAT && h->item_bytes == 4 ? DTYPE_F32 : DTYPE_F64;
}

/* Tells t->info about the array. */
static void describe(const struct header *h, struct table_info *info)
{
    const bool columns = h->n_dims == 2 && h->fortran;
    const size_t lines = h->n_dims == 2 ? h->shape[0] : 1;
    const size_t cells = h->n_dims == 2 ? h->shape[1] : h->shape[0];
    info->dtype = npy_dtype(h);
    info->n_lines = columns ? cells : lines;
    info->n_lines_estimate = info->n_lines;
    info->cells_per_line = columns ? lines : cells;
    info->lines_are_columns = columns;
    info->is_flat = h->n_dims == 1;
}

/* Checks that what is left for the numbers, `available` bytes, is what the header claims; with
 * at_most, that it is not less. */
static enum status check_size(const struct array *a, uint64_t available, bool at_most)
{
    const struct header *const h = &a->header;
    if (available < h->data_bytes) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": its header claims %zu numbers of %zu bytes, but "
                           "%s %" PRIu64 " bytes follow; it was cut short or its header is wrong",
                           a->where, h->header_bytes, h->n_items, h->item_bytes,
                           at_most ? "at most" : "only", available);
    }
    if (!at_most && available > h->data_bytes) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": %" PRIu64 " bytes more than its header claims",
                           a->where, h->header_bytes + h->data_bytes, available - h->data_bytes);
    }
    return STATUS_OK;
}

/* Everything has been read: there must be no more. Reading on also has a packed stream checked. */
static enum status check_end(struct array *a)
{
    unsigned char more;
    size_t n;
    STATUS_TRY(read_bytes(a, &more, 1, &n));
    if (n > 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": more follows than its header claims", a->where,
                           a->header.header_bytes + a->header.data_bytes);
    }
    return a->zip ? zip_input_end(a->zip) : STATUS_OK;
}

static enum status array_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct array *const a = t->state;
    const struct header *const h = &a->header;
    const uint64_t left = h->data_bytes - a->done_bytes;
    if (left == 0) {
        *end = true;
        return check_end(a);
    }
    size_t room = c->values_cap / dtype_bytes(npy_dtype(h));
    if (!is_direct(h) && c->raw_cap / h->item_bytes < room) {
        room = c->raw_cap / h->item_bytes;
    }
    if (room == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", a->where);
    }
    const uint64_t n_left = left / h->item_bytes;
    const size_t n = n_left < room ? (size_t)n_left : room;
    const size_t bytes = n * h->item_bytes;
    size_t got;
    STATUS_TRY(read_bytes(a, is_direct(h) ? c->values : c->raw, bytes, &got));
    if (got < bytes) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": ends here, %" PRIu64
                           " bytes before what its header claims",
                           a->where, h->header_bytes + a->done_bytes + got, left - got);
    }
    c->file_offset = h->header_bytes + a->done_bytes;
    c->raw_len = is_direct(h) ? 0 : bytes;
    c->n_cells = n;
    a->done_bytes += bytes;
    return STATUS_OK;
}

static enum status array_decode(const struct table *t, struct table_chunk *c)
{
    const struct array *const a = t->state;
    const struct header *const h = &a->header;
    if (h->swapped) {
        table_swap(c->raw, c->n_cells, h->item_bytes);
    }
    if (!is_direct(h) && npy_dtype(h) == DTYPE_F32) {
        memcpy(c->values, c->raw, c->n_cells * sizeof(float));
    } else if (!is_direct(h)) {
        table_widen(h->kind, h->item_bytes, c->raw, c->n_cells, c->values);
    }
    const struct table_missing *const missing = &t->choice.missing;
    if (npy_dtype(h) == DTYPE_F64) {
        (void)table_mark_missing(c->values, c->n_cells, missing);
        return STATUS_OK;
    }
    table_mark_floats(c->values, c->n_cells, missing);
    return STATUS_OK;
}

static bool npy_suits(const unsigned char *head, size_t n)
{
    return n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0;
}

static enum status npy_open(struct table *t)
{
    struct array *const a = t->state;
    a->source = t->source;
    a->where = source_name(t->source);
    STATUS_TRY(read_header(a));
    describe(&a->header, &t->info);
    t->info.is_plain = is_direct(&a->header);
    const uint64_t bytes = source_most_bytes(t->source), header = a->header.header_bytes;
    return check_size(a, bytes > header ? bytes - header : 0, source_hindrance(t->source) != NULL);
}

const struct table_format npy_format = {
    .name = "npy",
    .state_bytes = sizeof(struct array),
    .takes = {[TABLE_MISSING_VALUE] = true},
    .suits = npy_suits,
    .open = npy_open,
    .next = array_next,
    .decode = array_decode,
};

/* --- members of .npz -------------------------------------------------------------------------- */

enum {
    MAX_MEMBERS = 10000, /* looked at */
    MAX_LISTED = 12
};

static bool is_named_npy(const struct zip_input_member *m)
{
    return file_name_ends(m->name, ".npy");
}

static enum status name_member(struct array *z, const struct zip_input_member *m)
{
    free(z->member);
    z->member = NULL;
    if (asprintf(&z->member, "%s: member \"%s\"", source_name(z->source),
                 excerpt_of(m->name, strlen(m->name)).text) < 0) {
        z->member = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(z->source));
    }
    z->where = z->member;
    return STATUS_OK;
}

/* Opens a member as an array. */
static enum status open_member(struct array *z, const struct zip_input_member *m)
{
    STATUS_TRY(name_member(z, m));
    if (m->encrypted) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is encrypted", z->where);
    }
    if (m->packed_bytes > source_file_bytes(z->source) ||
        m->bytes / DEFLATE_MAX_RATIO > m->packed_bytes ||
        (m->method == ZIP_INPUT_STORED && m->bytes != m->packed_bytes)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: claims %" PRIu64 " bytes packed into %" PRIu64 ", which cannot be",
                           z->where, m->bytes, m->packed_bytes);
    }
    STATUS_TRY(zip_input_begin(z->zip, m, z->where));
    STATUS_TRY(read_header(z));
    const uint64_t header = z->header.header_bytes;
    return check_size(z, m->bytes > header ? m->bytes - header : 0, false);
}

/* What the members seen so far say about which one is meant. */
struct choice {
    const char *wanted;               /* a member's name, or NULL */
    size_t n_two, n_one;              /* suitable members, by dimensions */
    struct zip_input_member two, one; /* the last of them */
    size_t n_members;
    struct bytes names;
};

static enum status list_member(const struct zip_input_member *m, struct choice *v)
{
    if (v->n_members >= MAX_LISTED) {
        return v->n_members == MAX_LISTED ? bytes_printf(&v->names, ", ...") : STATUS_OK;
    }
    return bytes_printf(&v->names, "%s\"%s\"", v->n_members ? ", " : "",
                        excerpt_of(m->name, strlen(m->name)).text);
}

/* Whether the member has the name that is wanted, perhaps without its .npy. */
static bool is_wanted(const struct zip_input_member *m, const char *wanted)
{
    const size_t n = strlen(wanted);
    return strcmp(m->name, wanted) == 0 ||
           (is_named_npy(m) && strlen(m->name) == n + 4 && memcmp(m->name, wanted, n) == 0);
}

/* Notes whether a member is an array that could be meant. */
static enum status consider(struct array *z, const struct zip_input_member *m, struct choice *v)
{
    if (v->wanted) {
        if (is_wanted(m, v->wanted)) {
            v->n_two = 1;
            v->two = *m;
        }
        return STATUS_OK;
    }
    if (!is_named_npy(m)) {
        return STATUS_OK;
    }
    const enum status status = open_member(z, m);
    if (status) {
        return status == STATUS_NO_MEMORY || status == STATUS_IO ? status : STATUS_OK;
    }
    const bool two = z->header.n_dims == 2;
    *(two ? &v->n_two : &v->n_one) += 1;
    *(two ? &v->two : &v->one) = *m;
    return STATUS_OK;
}

/* Looks at one member after the other, until the wanted one is found. */
static enum status look_at_members(struct array *z, struct choice *v)
{
    for (v->n_members = 0; !v->wanted || v->n_two == 0; v->n_members++) {
        struct zip_input_member m;
        bool end;
        enum status status = zip_input_next(z->zip, &m, &end);
        if (status || end) {
            return status;
        }
        if (v->n_members == MAX_MEMBERS) {
            return status_fail(STATUS_UNSUPPORTED, "%s: has more than %d members",
                               source_name(z->source), MAX_MEMBERS);
        }
        STATUS_TRY(list_member(&m, v));
        STATUS_TRY(consider(z, &m, v));
    }
    return STATUS_OK;
}

static enum status fail_choice(const struct array *z, const struct choice *v)
{
    const char *const file = source_name(z->source);
    const int n = (int)v->names.len;
    const char *const names = (const char *)v->names.data;
    if (v->n_members == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: is a zip archive without members", file);
    }
    if (v->wanted) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: has no member \"%s\"; its members are %.*s",
                           file, excerpt_of(v->wanted, strlen(v->wanted)).text, n, names);
    }
    if (v->n_two + v->n_one == 0) {
        const char *const why = v->n_members == 1 && z->member ? status_message() : "";
        return status_fail(STATUS_BAD_INPUT,
                           "%s: no member is a readable array of numbers in one or two dimensions "
                           "(%.*s)%s%s%s",
                           file, n, names, *why ? ": " : "", why,
                           file_name_ends(file, ".npz") ? "" : "; name an archive of tables X.zip");
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %zu members could be meant (%.*s); say which one: -s member=NAME", file,
                       v->n_two > 0 ? v->n_two : v->n_one, n, names);
}

/* Finds the member that is meant. */
static enum status choose_member(struct array *z, const char *wanted, struct zip_input_member *m)
{
    struct choice v = {.wanted = wanted};
    enum status status = look_at_members(z, &v);
    if (!status && (v.n_two > 1 || (v.n_two == 0 && (wanted || v.n_one != 1)))) {
        status = fail_choice(z, &v);
    }
    *m = v.n_two == 1 ? v.two : v.one;
    bytes_free(&v.names);
    return status;
}

static bool npz_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static void npz_close(void *state)
{
    struct array *const z = state;
    zip_input_free(z->zip);
    free(z->member);
}

static enum status npz_open(struct table *t)
{
    STATUS_TRY(table_need_seek(t, "a zip archive", "X.npz or X.zip"));
    struct array *const z = t->state;
    z->source = t->source;
    struct zip_input_member m;
    STATUS_TRY(zip_input_open(t->source, &z->zip));
    STATUS_TRY(choose_member(z, t->options.member, &m));
    STATUS_TRY(open_member(z, &m));
    describe(&z->header, &t->info);
    return STATUS_OK;
}

const struct table_format npz_format = {
    .name = "npz",
    .state_bytes = sizeof(struct array),
    .takes = {[TABLE_MISSING_VALUE] = true, [TABLE_MEMBER] = true},
    .suits = npz_suits,
    .open = npz_open,
    .next = array_next,
    .decode = array_decode,
    .close = npz_close,
};
