/*
 * npz - a member of an .npz: a zip archive of .npy arrays, stored or deflated.
 *
 * Member names are only ever compared and shown, never used as paths. A member is believed to
 * unpack to no more than deflate can make of its bytes. Its CRC-32 is checked when its end has been
 * read.
 */
#include "formats/table/npy.h"

#include "formats/base/bytes.h"
#include "formats/source/zip_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_MEMBERS = 10000, /* looked at */
    MAX_LISTED = 12
};

struct npz {
    struct source *source;
    struct zip_input *zip;
    char *where; /* "FILE: member NAME" */
    struct npy_array array;
};

/* --- members */

static bool is_named_npy(const struct zip_input_member *m)
{
    const char *const dot = strrchr(m->name, '.');
    return dot && strcmp(dot, ".npy") == 0;
}

static enum status name_member(struct npz *z, const struct zip_input_member *m)
{
    free(z->where);
    z->where = NULL;
    if (asprintf(&z->where, "%s: member \"%s\"", source_name(z->source),
                 excerpt_of(m->name, strlen(m->name)).text) < 0) {
        z->where = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(z->source));
    }
    return STATUS_OK;
}

static enum status read_member(void *from, void *dst, size_t cap, size_t *n)
{
    struct npz *const z = from;
    return zip_input_read(z->zip, dst, cap, n);
}

/* Opens a member as an array. */
static enum status open_member(struct npz *z, const struct zip_input_member *m)
{
    enum status status = name_member(z, m);
    if (status) {
        return status;
    }
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
    status = zip_input_begin(z->zip, m, z->where);
    if (status) {
        return status;
    }
    z->array = (struct npy_array){.reader = {read_member, z, z->where}};
    status = npy_read_header(&z->array.reader, &z->array.header);
    if (status) {
        return status;
    }
    const uint64_t header = z->array.header.header_bytes;
    return npy_check_size(&z->array, m->bytes > header ? m->bytes - header : 0, false);
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
static enum status consider(struct npz *z, const struct zip_input_member *m, struct choice *v)
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
    const bool two = z->array.header.n_dims == 2;
    *(two ? &v->n_two : &v->n_one) += 1;
    *(two ? &v->two : &v->one) = *m;
    return STATUS_OK;
}

/* Looks at one member after the other, until the wanted one is found. */
static enum status look_at_members(struct npz *z, struct choice *v)
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
        status = list_member(&m, v);
        if (status) {
            return status;
        }
        status = consider(z, &m, v);
        if (status) {
            return status;
        }
    }
    return STATUS_OK;
}

static enum status fail_choice(const struct npz *z, const struct choice *v)
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
        const char *const why = v->n_members == 1 && z->where ? status_message() : "";
        return status_fail(STATUS_BAD_INPUT,
                           "%s: no member is a readable array of numbers in one or two dimensions "
                           "(%.*s)%s%s",
                           file, n, names, *why ? ": " : "", why);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %zu members could be meant (%.*s); say which one with `member`", file,
                       v->n_two > 0 ? v->n_two : v->n_one, n, names);
}

/* Finds the member that is meant. */
static enum status choose_member(struct npz *z, const char *wanted, struct zip_input_member *m)
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

/* --- the format */

static bool npz_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static void npz_close(void *state)
{
    struct npz *const z = state;
    if (!z) {
        return;
    }
    zip_input_free(z->zip);
    free(z->where);
    free(z);
}

static enum status npz_open(struct table *t)
{
    if (source_is_packed(t->source)) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is a gzipped zip archive; unpack it first",
                           source_name(t->source));
    }
    struct npz *const z = calloc(1, sizeof *z);
    if (!z) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    t->state = z;
    z->source = t->source;
    struct zip_input_member m;
    enum status status = zip_input_open(t->source, &z->zip);
    if (status) {
        return status;
    }
    status = choose_member(z, t->options.member, &m);
    if (status) {
        return status;
    }
    status = open_member(z, &m);
    if (status) {
        return status;
    }
    npy_describe(&z->array.header, &t->info);
    return STATUS_OK;
}

static enum status npz_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct npz *const z = t->state;
    const enum status status = npy_array_next(&z->array, c, end);
    return status || !*end ? status : zip_input_end(z->zip);
}

static enum status npz_decode(const struct table *t, struct table_chunk *c)
{
    const struct npz *const z = t->state;
    return npy_array_decode(t, &z->array, c);
}

const struct table_format npz_format = {
    .name = "npz",
    .takes_member = true,
    .suits = npz_suits,
    .open = npz_open,
    .next = npz_next,
    .decode = npz_decode,
    .close = npz_close,
};
