/*
 * kmeans_job_runner - drives the stage `kmeans` without an engine: numbers are cut into chunks,
 * passes follow one another as the stage asks for them, and what leaves is put together again.
 */
#ifndef LEAT_TESTS_KMEANS_JOB_RUNNER_H
#define LEAT_TESTS_KMEANS_JOB_RUNNER_H

#include "stages/base/pull.h"
#include "tests/support/counted_backend.h"
#include "tests/support/pearson_sheet.h"

#include <stdio.h>

enum { MEMBERS = 16 };

/* A member of kmeans.npz, or a text, all portions together. */
struct member {
    char name[2 * RESULT_NAME_BYTES];
    struct bytes bytes;
};

struct clustering {
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
    struct stage_need need;
    unsigned n_passes;
    struct member members[MEMBERS];
    size_t n_members;
    json_t *summary, *warnings, *parameters;
};

struct points {
    struct table_info info;
    double *cells;       /* line by line */
    const double *later; /* in their place after the first pass; NULL: the same */
    size_t n_lines;
    size_t cut; /* cells in a chunk; 0: pseudo-random sizes */
    const char *const *labels;
    bool counts_missing; /* as a CSV does */
    bool started_over;
    uint64_t memory_limit, host_limit;
    size_t n_threads;
    const char *params[16]; /* "key=value", NULL at the end */
};

/* Clustered with one run, unless a test sets n_init. */
static inline struct points points_new(size_t n, size_t d, enum dtype type)
{
    struct points p = {.n_lines = n,
                       .params = {"n_init=1"},
                       .info = {.format = "npy",
                                .dtype = type,
                                .n_lines = n,
                                .n_lines_estimate = n,
                                .cells_per_line = d}};
    uint64_t seed = 31 * n + d;
    p.cells = malloc((n * d + 1) * sizeof *p.cells);
    assert_non_null(p.cells);
    for (size_t i = 0; i < n; i++) {
        const double centre = (double)(next_uniform(&seed) * 5 < 2 ? i % 3 : i % 7);
        for (size_t c = 0; c < d; c++) {
            const double x = centre * (double)(c % 3 + 1) + next_uniform(&seed);
            p.cells[i * d + c] = type == DTYPE_F32 ? (double)(float)x : x;
        }
    }
    return p;
}

/* A later value of a parameter takes an earlier one's place. */
static inline void points_set(struct points *p, const char *param)
{
    size_t k = 0;
    const size_t key = strcspn(param, "=") + 1;
    while (p->params[k] != NULL && strncmp(p->params[k], param, key) != 0) {
        k++;
    }
    assert_true(k + 1 < sizeof p->params / sizeof *p->params);
    p->params[k] = param;
}

/* Of a job, to be tried one after the other. */
static const char *const settings[][4] = {
    {"k=5", NULL},
    {"k=2-6", "n_init=3", "scale=unit", NULL},
    {"k=7", "init=random", "scale=range", NULL},
    {"k=4", "init=first", "tol=0", NULL},
    {"k=3-4", "init=random", "n_init=2", NULL},
    {"k=1", NULL},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static inline struct points set_points(size_t n, size_t d, enum dtype type, size_t setting)
{
    struct points p = points_new(n, d, type);
    for (size_t i = 0; settings[setting][i] != NULL; i++) {
        points_set(&p, settings[setting][i]);
    }
    return p;
}

static inline struct member *member_of(struct clustering *c, const char *name)
{
    for (size_t i = 0; i < c->n_members; i++) {
        if (strcmp(c->members[i].name, name) == 0) {
            return &c->members[i];
        }
    }
    assert_true(c->n_members < MEMBERS);
    struct member *const m = &c->members[c->n_members++];
    snprintf(m->name, sizeof m->name, "%s", name);
    return m;
}

/* Takes all pieces of a result; a head comes before its portions. */
static inline void collect(struct clustering *c, const struct result *r)
{
    for (size_t f = 0; f < r->n_files; f++) {
        for (size_t m = 0; m < r->files[f].n_members; m++) {
            const struct result_member *const from = &r->files[f].members[m];
            const bool zip = r->files[f].kind == PACK_ZIP;
            struct member *const to = member_of(c, zip ? from->name : r->files[f].name);
            struct bytes old = {0};
            if (from->growth == RESULT_HEAD) {
                old = to->bytes;
                to->bytes = (struct bytes){0};
                assert_int_equal(from->portions_bytes, old.len);
            }
            for (uint64_t p = 0; p < from->n_pieces; p++) {
                struct bytes piece = {0};
                ASSERT_OK(from->piece(from->context, p, &piece));
                ASSERT_OK(bytes_append(&to->bytes, piece.data, piece.len));
                bytes_free(&piece);
            }
            ASSERT_OK(bytes_append(&to->bytes, old.data, old.len));
            bytes_free(&old);
        }
    }
}

static inline void fill(const struct points *p, size_t first, size_t n, bool again,
                        struct table_chunk *chunk)
{
    const size_t d = p->info.cells_per_line;
    chunk->n_cells = n;
    chunk->values = malloc(n * sizeof(double) + 1);
    chunk->labels = p->labels != NULL ? malloc((n / d + 1) * 300) : NULL;
    assert_true(chunk->values != NULL && (chunk->labels != NULL || p->labels == NULL));
    for (size_t k = 0; k < n; k++) {
        const double x = (again && p->later != NULL ? p->later : p->cells)[first + k];
        if (p->info.dtype == DTYPE_F32) {
            ((float *)chunk->values)[k] = (float)x;
        } else {
            ((double *)chunk->values)[k] = x;
        }
        chunk->n_missing += p->counts_missing && isnan(x) && !again ? 1 : 0;
        if (p->labels != NULL && (first + k) % d == 0 && !again) {
            const char *const label = p->labels[(first + k) / d];
            memcpy(chunk->labels + chunk->labels_len, label, strlen(label) + 1);
            chunk->labels_len += strlen(label) + 1;
            chunk->n_labels++;
        }
    }
}

static inline enum status push_pass(const struct points *p, struct pull *stage, unsigned pass,
                                    struct clustering *out)
{
    const size_t all = p->n_lines * p->info.cells_per_line;
    uint64_t seed = 17 + pass;
    for (size_t first = 0; first < all;) {
        size_t n = p->cut != 0 ? p->cut : 1 + (size_t)(next_uniform(&seed) * 3000);
        n = n < all - first ? n : all - first;
        struct table_chunk chunk = {0};
        struct result portion;
        uint64_t ticket = 0;
        fill(p, first, n, pass > 0, &chunk);
        enum status st = pull_push(stage, 0, &chunk, &ticket);
        ASSERT_OK(counted.ops.upload_wait(counted.queue, ticket));
        for (bool more = true; more && st == STATUS_OK;) {
            more = false;
            ASSERT_OK(result_init(&portion));
            st = pull_portion(stage, &portion, &more);
            if (st == STATUS_OK) {
                collect(out, &portion);
            }
            result_free(&portion);
        }
        memset(chunk.values, 0xAA, n * dtype_bytes(p->info.dtype));
        free(chunk.values);
        free(chunk.labels);
        STATUS_TRY(st);
        first += n;
    }
    return STATUS_OK;
}

static inline enum status finish_job(struct pull *stage, struct clustering *out)
{
    bool more = true;
    while (more) {
        struct result r;
        more = false;
        ASSERT_OK(result_init(&r));
        const enum status st = pull_finish(stage, &r, &more);
        if (st == STATUS_OK) {
            collect(out, &r);
            if (!more) {
                out->summary = json_incref(r.summary);
                out->warnings = json_incref(r.warnings);
                out->parameters = json_incref(r.parameters);
            }
        }
        result_free(&r);
        STATUS_TRY(st);
    }
    return STATUS_OK;
}

static inline enum status run_passes(const struct points *p, struct pull *stage,
                                     struct clustering *out)
{
    size_t part = 0;
    while (part == 0) {
        STATUS_TRY(push_pass(p, stage, out->n_passes++, out));
        part = 1;
        STATUS_TRY(pull_end_pass(stage, &part));
    }
    return finish_job(stage, out);
}

/* Runs a job; clustering_free in any case. */
static inline struct clustering cluster(const struct points *p)
{
    struct clustering out = {0};
    struct param_value params[MOST_SPECS];
    struct pull *stage = NULL;
    parse_params(&stage_kmeans, p->params, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&p->info, "points"}},
                                    .block_bytes = 1 << 16,
                                    .n_threads = p->n_threads,
                                    .memory_limit = p->memory_limit,
                                    .host_limit = p->host_limit,
                                    .started_over = p->started_over};
    counted.peak_bytes = 0;
    counted.allocs = 0;
    out.status = stage_kmeans.plan(&args, &out.need);
    if (out.status == STATUS_OK) {
        out.status = pull_open(&stage_kmeans, &args, &stage);
    }
    if (out.status == STATUS_OK) {
        out.status = run_passes(p, stage, &out);
    }
    if (out.status != STATUS_OK) {
        snprintf(out.message, sizeof out.message, "%s", status_message());
    }
    pull_free(stage);
    assert_int_equal(counted.live, 0);
    return out;
}

static inline struct clustering cluster_well(const struct points *p)
{
    struct clustering out = cluster(p);
    if (out.status != STATUS_OK) {
        print_error("%s\n", out.message);
    }
    assert_int_equal(out.status, STATUS_OK);
    return out;
}

static inline void clustering_free(struct clustering *c)
{
    for (size_t i = 0; i < c->n_members; i++) {
        bytes_free(&c->members[i].bytes);
    }
    json_decref(c->summary);
    json_decref(c->warnings);
    json_decref(c->parameters);
    *c = (struct clustering){0};
}

/* The data of an array of n elements. */
static inline const void *data_of(struct clustering *c, const char *name, size_t n, size_t size)
{
    const struct bytes *const b = &member_of(c, name)->bytes;
    assert_true(b->len > 10 && memcmp(b->data, "\x93NUMPY", 6) == 0);
    const size_t head = 10 + b->data[8] + ((size_t)b->data[9] << 8);
    assert_int_equal(b->len - head, n * size);
    return b->data + head;
}

static inline const int32_t *labels_of(struct clustering *c, size_t n)
{
    return data_of(c, "labels.npy", n, sizeof(int32_t));
}

static inline const double *centroids_of(struct clustering *c, size_t n)
{
    return data_of(c, "centroids.npy", n, sizeof(double));
}

static inline double number_of(const struct clustering *c, const char *key)
{
    const json_t *const value = json_object_get(c->summary, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static inline bool warns(const struct clustering *c, const char *text)
{
    for (size_t k = 0; k < json_array_size(c->warnings); k++) {
        if (strstr(json_string_value(json_array_get(c->warnings, k)), text) != NULL) {
            return true;
        }
    }
    return false;
}

/* A text, NUL-terminated. */
static inline const char *text_of(struct clustering *c, const char *name)
{
    struct bytes *const b = &member_of(c, name)->bytes;
    ASSERT_OK(bytes_append(b, "", 1));
    b->len--;
    return (const char *)b->data;
}

/* Everything that was written is the same. */
static inline void assert_same(struct clustering *a, struct clustering *b)
{
    assert_int_equal(a->n_members, b->n_members);
    for (size_t i = 0; i < a->n_members; i++) {
        const struct bytes *const x = &a->members[i].bytes;
        const struct bytes *const y = &member_of(b, a->members[i].name)->bytes;
        if (x->len != y->len || memcmp(x->data, y->data, x->len) != 0) {
            fail_msg("%s is not the same", a->members[i].name);
        }
    }
    assert_true(json_equal(a->summary, b->summary));
}

#endif
