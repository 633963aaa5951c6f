/*
 * interpolate_sheet - jobs of the stage `interpolate` without an engine: nodes and queries in, cut
 * as one likes, and what leaves, portion after portion.
 */
#ifndef LEAT_TESTS_SUPPORT_INTERPOLATE_SHEET_H
#define LEAT_TESTS_SUPPORT_INTERPOLATE_SHEET_H

#include "kernels/interpolate/interpolate.h"
#include "stages/base/pull.h"
#include "tests/support/counted_backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 23, CURVES = 2, QUERIES = 3000, BLOCK = 4096, MOST_WAITING = 64 };

/* A job: nodes in rows, queries, and how they are cut. */
struct sheet {
    struct table_info nodes, queries;
    double cells[NODES * (1 + CURVES)];
    const double *many; /* [NODES][101] in their place; or NULL */
    double query[QUERIES];
    const double *queries_of; /* n_many in their place; or NULL */
    size_t n_many;
    const char *params[4];
    size_t cut_nodes, cut_queries; /* cells of a chunk */
    bool with_comments;            /* a chunk without numbers comes before each of them */
    size_t n_threads;
    uint64_t memory_limit;
};

/* Portions that have been handed out and not been read, oldest first. */
struct waiting {
    struct result at[MOST_WAITING];
    size_t n, most; /* most: before the oldest is read; it is at least 1 */
};

/* What came out, portion after portion. */
struct outcome {
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
    struct stage_need need;
    struct bytes x, y;
    size_t n_portions;
    size_t n_begun; /* arrays whose shape came before their first portion */
    struct result last;
    struct pull *stage;
};

static inline struct sheet sheet_of(const char *query)
{
    struct sheet s = {.nodes = {.format = "npy",
                                .dtype = DTYPE_F64,
                                .n_lines = NODES,
                                .n_lines_estimate = NODES,
                                .cells_per_line = 1 + CURVES},
                      .queries = {.format = "csv",
                                  .dtype = DTYPE_F64,
                                  .n_lines_estimate = QUERIES / 2,
                                  .cells_per_line = 1},
                      .params = {query},
                      .cut_nodes = NODES * (1 + CURVES),
                      .cut_queries = BLOCK / sizeof(double)};
    for (size_t i = 0; i < NODES; i++) {
        const double x = cos((2 * (double)i + 1) * 3.14159265358979 / (2 * NODES));
        s.cells[3 * i] = x;
        s.cells[3 * i + 1] = x * x * x;
        s.cells[3 * i + 2] = 7;
    }
    for (size_t i = 0; i < QUERIES; i++) {
        s.query[i] = sin((double)i * 0.7);
    }
    return s;
}

/* The raw bytes of a growing array in a portion; whole pieces, but in the last one. */
static inline void take_member(const struct result_member *m, bool last, struct bytes *out)
{
    for (uint64_t p = 0; p < m->n_pieces; p++) {
        struct bytes piece = {0};
        assert_int_equal(m->piece(m->context, p, &piece), STATUS_OK);
        assert_true(last || piece.len == PACK_PIECE_BYTES);
        assert_int_equal(bytes_append(out, piece.data, piece.len), STATUS_OK);
        bytes_free(&piece);
    }
}

/* The numbers of an array that leaves whole, in the end. */
static inline void take_array(const struct result_member *m, struct bytes *out)
{
    struct bytes whole = {0};
    take_member(m, true, &whole);
    const size_t head = 10 + (whole.data[8] | (size_t)whole.data[9] << 8);
    assert_int_equal(bytes_append(out, whole.data + head, whole.len - head), STATUS_OK);
    bytes_free(&whole);
}

static inline void take_members(const struct result *portion, bool last, struct outcome *o)
{
    const struct result_file *const f = &portion->files[0];
    assert_int_equal(f->more, !last);
    for (size_t k = 0; k < f->n_members; k++) {
        if (f->members[k].growth == RESULT_PORTION) {
            const bool is_x = strcmp(f->members[k].name, "x.npy") == 0;
            assert_true(is_x || strcmp(f->members[k].name, "y.npy") == 0);
            take_member(&f->members[k], last, is_x ? &o->x : &o->y);
        } else if (f->members[k].growth == RESULT_BEGIN) {
            assert_true(o->y.len == 0 && k + 1 < f->n_members &&
                        f->members[k + 1].growth == RESULT_PORTION);
            o->n_begun++;
        } else if (strcmp(f->members[k].name, "x.npy") == 0 &&
                   f->members[k].growth == RESULT_WHOLE) {
            take_array(&f->members[k], &o->x);
        }
    }
}

static inline void read_oldest(struct outcome *o, struct waiting *w)
{
    take_members(&w->at[0], false, o);
    result_free(&w->at[0]);
    w->n--;
    memmove(&w->at[0], &w->at[1], w->n * sizeof w->at[0]);
}

/* Reads the pieces of a portion as late as they may be: when the stage has made all that may be on
 * their way. */
static inline void take_portion(struct outcome *o, struct waiting *w, struct result *next)
{
    assert_in_range(w->most, 1, MOST_WAITING - 1);
    o->n_portions++;
    w->at[w->n++] = *next;
    *next = (struct result){0};
    if (w->n > w->most) {
        read_oldest(o, w);
    }
}

static inline void drop_waiting(struct waiting *w)
{
    while (w->n > 0) {
        result_free(&w->at[--w->n]);
    }
}

static inline enum status portions(struct outcome *o, struct waiting *waiting)
{
    for (bool more = true; more;) {
        struct result next = {0};
        more = false;
        const enum status st = pull_portion(o->stage, &next, &more);
        if (st != STATUS_OK) {
            result_free(&next);
            return st;
        }
        if (next.n_files > 0) {
            take_portion(o, waiting, &next);
        }
    }
    return STATUS_OK;
}

/* A chunk of a text's lines that hold no numbers. */
static inline enum status push_comment(struct outcome *o, size_t part, struct waiting *waiting)
{
    const struct table_chunk chunk = {.n_cells = 0};
    uint64_t ticket;
    STATUS_TRY(pull_push(o->stage, part, &chunk, &ticket));
    STATUS_TRY(counted.ops.upload_wait(counted.queue, ticket));
    return portions(o, waiting);
}

static inline enum status push(const struct sheet *s, struct outcome *o, size_t part,
                               struct waiting *waiting)
{
    const double *nodes = s->many != NULL ? s->many : s->cells;
    const double *queries = s->queries_of != NULL ? s->queries_of : s->query;
    const double *cells = part == 0 ? nodes : queries;
    const size_t n_nodes = s->many != NULL ? NODES * 101 : NODES * (1 + CURVES),
                 n_queries = s->queries_of != NULL ? s->n_many : QUERIES,
                 n = part == 0 ? n_nodes : n_queries;
    const size_t cut = part == 0 ? s->cut_nodes : s->cut_queries;
    for (size_t first = 0; first < n; first += cut) {
        const size_t more = n - first < cut ? n - first : cut;
        struct table_chunk chunk = {.n_cells = more, .values = malloc(more * sizeof(double))};
        uint64_t ticket;
        assert_non_null(chunk.values);
        assert_true(!s->with_comments || push_comment(o, part, waiting) == STATUS_OK);
        memcpy(chunk.values, cells + first, more * sizeof(double));
        enum status st = pull_push(o->stage, part, &chunk, &ticket);
        const bool pushed = st == STATUS_OK;
        st = pushed ? counted.ops.upload_wait(counted.queue, ticket) : st;
        st = st == STATUS_OK ? portions(o, waiting) : st;
        memset(chunk.values, 0xaa, more * sizeof(double)); /* the engine takes it back */
        free(chunk.values);
        if (st != STATUS_OK) {
            return st;
        }
    }
    return STATUS_OK;
}

static inline enum status finish(struct outcome *o, struct waiting *waiting)
{
    for (bool more = true; more;) {
        struct result next;
        assert_int_equal(result_init(&next), STATUS_OK);
        more = false;
        const enum status st = pull_finish(o->stage, &next, &more);
        if (st != STATUS_OK) {
            result_free(&next);
            return st;
        }
        if (more) {
            take_portion(o, waiting, &next);
        } else {
            o->last = next;
        }
    }
    while (waiting->n > 0) {
        read_oldest(o, waiting);
    }
    take_members(&o->last, true, o);
    return STATUS_OK;
}

static size_t n_jobs; /* that have not been freed */

/* Runs a job; outcome_free in any case. */
static inline struct outcome run_sheet(const struct sheet *s)
{
    n_jobs++;
    struct outcome o = {0};
    struct param_value params[MOST_SPECS];
    parse_params(&stage_interpolate, s->params, params);
    const struct stage_part *parts[STAGE_MAX_PARTS];
    const bool has_line = stage_parts(&stage_interpolate, params, parts) == 1;
    const struct stage_args args = {
        .queue = counted.queue,
        .params = params,
        .inputs = {{&s->nodes, "x.nodes.npy"}, {has_line ? NULL : &s->queries, "x.query.csv"}},
        .block_bytes = BLOCK,
        .n_threads = s->n_threads,
        .memory_limit = s->memory_limit};
    struct waiting waiting = {.n = 0};
    counted.allocs = 0;
    counted.peak_bytes = 0;
    o.status = stage_interpolate.plan(&args, &o.need);
    waiting.most = o.need.n_results - 1;
    if (o.status == STATUS_OK) {
        o.status = pull_open(&stage_interpolate, &args, &o.stage);
    }
    if (o.status == STATUS_OK) {
        o.status = push(s, &o, 0, &waiting);
    }
    if (o.status == STATUS_OK && !has_line) {
        o.status = push(s, &o, 1, &waiting);
    }
    if (o.status == STATUS_OK) {
        o.status = finish(&o, &waiting);
    }
    if (o.status != STATUS_OK) {
        snprintf(o.message, sizeof o.message, "%s", status_message());
    }
    drop_waiting(&waiting);
    return o;
}

static inline struct outcome run_well(const struct sheet *s)
{
    struct outcome o = run_sheet(s);
    if (o.status != STATUS_OK) {
        fail_msg("%s", o.message);
    }
    return o;
}

static inline void outcome_free(struct outcome *o)
{
    bytes_free(&o->x);
    bytes_free(&o->y);
    result_free(&o->last);
    pull_free(o->stage);
    *o = (struct outcome){0};
    assert_true(--n_jobs > 0 || counted.live == 0);
}

static inline void assert_same(const struct bytes *a, const struct bytes *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

#endif
