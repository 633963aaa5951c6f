/*
 * result_support - what tests of results compare.
 */
#ifndef LEAT_TESTS_RESULT_SUPPORT_H
#define LEAT_TESTS_RESULT_SUPPORT_H

#include "formats/result/result.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = PACK_PIECE_BYTES };

static inline struct result new_result(void)
{
    struct result r;
    assert_int_equal(result_init(&r), STATUS_OK);
    return r;
}

static inline struct result_file *add_file(struct result *r, const char *name, enum pack_kind kind)
{
    struct result_file *f;
    assert_int_equal(result_add_file(r, name, kind, &f), STATUS_OK);
    return f;
}

/* The member's pieces, asked for from the last to the first, joined in order. Every piece but the
 * last of an array has PIECE bytes. */
static inline struct bytes join(const struct result_member *m)
{
    struct bytes *pieces = calloc(m->n_pieces, sizeof *pieces), all = {.len = 0};
    assert_non_null(pieces);
    for (uint64_t k = m->n_pieces; k-- > 0;) {
        assert_int_equal(m->piece(m->context, k, &pieces[k]), STATUS_OK);
    }
    for (uint64_t k = 0; k < m->n_pieces; k++) {
        assert_true(pieces[k].len <= PIECE);
        assert_int_equal(bytes_append(&all, pieces[k].data, pieces[k].len), STATUS_OK);
        bytes_free(&pieces[k]);
    }
    free(pieces);
    return all;
}

/* Fails unless the stream begins with an npy header of this dictionary; gives where data begin. */
static inline size_t assert_header(const struct bytes *stream, const char *dictionary)
{
    assert_true(stream->len >= 64);
    assert_memory_equal(stream->data, "\x93NUMPY\x01\x00", 8);
    const size_t end = 10u + stream->data[8] + 256u * stream->data[9];
    assert_int_equal(end % 64, 0);
    assert_true(stream->len >= end);
    assert_memory_equal(stream->data + 10, dictionary, strlen(dictionary));
    for (size_t i = 10 + strlen(dictionary); i + 1 < end; i++) {
        assert_int_equal(stream->data[i], ' ');
    }
    assert_int_equal(stream->data[end - 1], '\n');
    return end;
}

#endif
