/*
 * pearson_runner - drives the stage `pearson` without an engine: a sheet is cut into chunks, and
 * the result's pieces are put together again. Backend memory is counted on the way.
 */
#ifndef LEAT_TESTS_PEARSON_RUNNER_H
#define LEAT_TESTS_PEARSON_RUNNER_H

#include "stages/base/pull.h"
#include "tests/support/counted_backend.h"
#include "tests/support/pearson_sheet.h"

#include <stdio.h>

/* --- one job ------------------------------------------------------------------------------------
 */

enum { SHEET_HELPERS = 6 };

struct outcome {
    enum status status;
    struct queue *helpers[SHEET_HELPERS];
    size_t n_helpers; /* that help */
    char message[STATUS_MESSAGE_BYTES];
    struct stage_need need;
    struct pull *stage;
    struct result result;
    size_t n_passes; /* how often the lines came */
};

/* Fills a chunk with the n cells from `first` on, in the table's type, with the labels of the lines
 * that begin there. */
static inline void fill_chunk(const struct sheet *sheet, size_t first, size_t n,
                              struct table_chunk *chunk)
{
    const size_t width = sheet->info.cells_per_line;
    size_t labels_bytes = 0;
    chunk->n_cells = n;
    chunk->n_missing = 0;
    chunk->n_labels = 0;
    chunk->values = malloc(n * sizeof(double) + 1);
    chunk->labels = malloc((n / width + 1) * 32);
    assert_true(chunk->values != NULL && chunk->labels != NULL);
    for (size_t k = 0; k < n; k++) {
        const double x = sheet->cells[first + k];
        if (sheet->info.dtype == DTYPE_F32) {
            ((float *)chunk->values)[k] = (float)x;
        } else {
            ((double *)chunk->values)[k] = x;
        }
        chunk->n_missing += sheet->counts_missing && isnan(x) ? 1 : 0;
        if (sheet->labels != NULL && (first + k) % width == 0) {
            const char *label = sheet->labels[(first + k) / width];
            memcpy(chunk->labels + labels_bytes, label, strlen(label) + 1);
            labels_bytes += strlen(label) + 1;
            chunk->n_labels++;
        }
    }
    chunk->labels_len = labels_bytes;
}

static inline enum status bring_help(const struct sheet *sheet, struct outcome *o)
{
    struct queue *queues[SHEET_HELPERS];
    assert_true(sheet->n_helpers <= SHEET_HELPERS);
    for (size_t k = 0; k < sheet->n_helpers; k++) {
        queues[k] = o->helpers[k] = under_test_queue_new(k + 1);
    }
    o->n_helpers = sheet->n_helpers;
    return pull_help(o->stage, queues, &o->n_helpers);
}

static inline enum status push_all(const struct sheet *sheet, struct outcome *o)
{
    struct pull *stage = o->stage;
    size_t n_pushed = 0;
    const size_t again = sheet->n_lines_again > 0 ? sheet->n_lines_again : sheet->n_lines;
    const size_t all = (o->n_passes > 0 ? again : sheet->n_lines) * sheet->info.cells_per_line;
    uint64_t seed = 17;
    enum status st = STATUS_OK;
    for (size_t first = 0; first < all && st == STATUS_OK;) {
        size_t n =
            sheet->cut == 0 ? all
            : sheet->cut == 1
                ? 1 + (size_t)(next_uniform(&seed) * 2.5 * (double)sheet->info.cells_per_line)
                : sheet->cut;
        n = n < all - first ? n : all - first;
        struct table_chunk chunk = {0};
        uint64_t ticket = 0;
        if (sheet->n_helpers > 0 && o->n_passes == 0 && n_pushed++ == sheet->help_at) {
            assert_int_equal(bring_help(sheet, o), STATUS_OK);
        }
        fill_chunk(sheet, first, n, &chunk);
        st = pull_push(stage, 0, &chunk, &ticket);
        const enum status waited = counted.ops.upload_wait(counted.queue, ticket);
        st = st == STATUS_OK ? waited : st;
        memset(chunk.values, 0xAA, n * dtype_bytes(sheet->info.dtype));
        free(chunk.values);
        free(chunk.labels);
        first += n;
    }
    return st;
}

static inline bool takes_slabs(const struct sheet *sheet)
{
    return sheet->memory_limit == 1 ||
           (sheet->memory_limit == 0 && getenv("LEAT_TEST_SLABS") != NULL);
}

static inline enum status finish(const struct sheet *sheet, struct outcome *o)
{
    bool more = true;
    enum status st = STATUS_OK;
    if (sheet->n_helpers > 0 && sheet->help_at == SIZE_MAX) {
        assert_int_equal(bring_help(sheet, o), STATUS_OK);
    }
    while (more && st == STATUS_OK) {
        st = pull_finish(o->stage, &o->result, &more);
    }
    return st;
}

/* Runs a job; outcome_free in any case. */
static inline struct outcome run_sheet(const struct sheet *sheet)
{
    struct outcome o = {0};
    struct param_value params[MOST_SPECS];
    parse_params(&stage_pearson, sheet->params, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&sheet->info, "sheet"}},
                                    .block_bytes = 1 << 20,
                                    .started_over = sheet->started_over,
                                    .memory_limit = takes_slabs(sheet) ? 1 : sheet->memory_limit,
                                    .comes_once = sheet->comes_once,
                                    .most_helpers = sheet->most_helpers};
    counted.allocs = 0;
    counted.peak_bytes = 0;
    assert_int_equal(result_init(&o.result), STATUS_OK);
    o.status = stage_pearson.plan(&args, &o.need);
    if (o.status == STATUS_OK) {
        o.status = pull_open(&stage_pearson, &args, &o.stage);
    }
    for (size_t part = 0; part == 0 && o.status == STATUS_OK;) {
        o.status = push_all(sheet, &o);
        part = 1; /* or once more: */
        o.status = o.status == STATUS_OK ? pull_end_pass(o.stage, &part) : o.status;
        o.n_passes++;
    }
    if (o.status == STATUS_OK) {
        o.status = finish(sheet, &o);
    }
    if (o.status != STATUS_OK) {
        snprintf(o.message, sizeof o.message, "%s", status_message());
    }
    return o;
}

static inline struct outcome run_well(const struct sheet *sheet)
{
    struct outcome o = run_sheet(sheet);
    if (o.status != STATUS_OK) {
        print_error("%s\n", o.message);
    }
    assert_int_equal(o.status, STATUS_OK);
    return o;
}

/* Frees a job; all its backend memory must be gone then. */
static inline void outcome_free(struct outcome *o)
{
    result_free(&o->result);
    pull_free(o->stage);
    assert_int_equal(counted.live, 0);
    for (size_t k = 0; k < SHEET_HELPERS; k++) {
        if (o->helpers[k] != NULL) {
            counted.ops.queue_free(o->helpers[k]);
        }
    }
}

static inline void sheet_free(struct sheet *sheet)
{
    free(sheet->cells);
    sheet->cells = NULL;
}

/* --- what came out ------------------------------------------------------------------------------
 */

static inline const struct result_file *find_file(const struct outcome *o, const char *name)
{
    for (size_t f = 0; f < o->result.n_files; f++) {
        if (strcmp(o->result.files[f].name, name) == 0) {
            return &o->result.files[f];
        }
    }
    return NULL;
}

/* A member's bytes, its pieces taken from the last to the first. */
static inline void member_bytes(const struct result_member *member, struct bytes *out)
{
    const size_t n = (size_t)member->n_pieces;
    struct bytes *pieces = calloc(n, sizeof *pieces);
    assert_non_null(pieces);
    for (size_t p = n; p-- > 0;) {
        assert_int_equal(member->piece(member->context, p, &pieces[p]), STATUS_OK);
    }
    for (size_t p = 0; p < n; p++) {
        assert_int_equal(bytes_append(out, pieces[p].data, pieces[p].len), STATUS_OK);
        bytes_free(&pieces[p]);
    }
    free(pieces);
}

static inline const struct result_member *find_array(const struct outcome *o, const char *name)
{
    const struct result_file *file = find_file(o, "pearson.npz");
    assert_non_null(file);
    for (size_t m = 0; m < file->n_members; m++) {
        const char *dot = strstr(file->members[m].name, ".npy");
        if (dot != NULL && strlen(name) == (size_t)(dot - file->members[m].name) &&
            strncmp(name, file->members[m].name, strlen(name)) == 0) {
            return &file->members[m];
        }
    }
    return NULL;
}

/* The data of an array of n elements of `descr` ("<f8"), which the caller frees. */
static inline void *read_array(const struct outcome *o, const char *name, const char *descr,
                               size_t n, size_t element_bytes)
{
    struct bytes raw = {0};
    const struct result_member *member = find_array(o, name);
    assert_non_null(member);
    member_bytes(member, &raw);
    assert_true(raw.len >= 10 && memcmp(raw.data, "\x93NUMPY\x01", 7) == 0);
    const size_t header = 10 + raw.data[8] + ((size_t)raw.data[9] << 8);
    char shape[48];
    snprintf(shape, sizeof shape, "'shape': (%zu,)", n);
    assert_true(header <= raw.len);
    assert_non_null(memmem(raw.data, header, descr, strlen(descr)));
    assert_non_null(memmem(raw.data, header, shape, strlen(shape)));
    assert_int_equal(raw.len - header, n * element_bytes);
    void *data = malloc(n * element_bytes + 1);
    assert_non_null(data);
    memcpy(data, raw.data + header, n * element_bytes);
    bytes_free(&raw);
    return data;
}

static inline double *read_f64(const struct outcome *o, const char *name, size_t n)
{
    return read_array(o, name, "<f8", n, sizeof(double));
}

/* The matrix's condensed triangle, as doubles whatever its type. */
static inline double *read_r(const struct outcome *o, size_t n_series, bool single)
{
    const size_t n = n_series * (n_series - 1) / 2;
    if (!single) {
        return read_f64(o, "r", n);
    }
    float *r = read_array(o, "r", "<f4", n, sizeof(float));
    double *wide = malloc(n * sizeof *wide + 1);
    assert_non_null(wide);
    for (size_t k = 0; k < n; k++) {
        wide[k] = (double)r[k];
    }
    free(r);
    return wide;
}

/* A file of one member as text, NUL-terminated; bytes_free. */
static inline struct bytes read_text(const struct outcome *o, const char *name)
{
    struct bytes text = {0};
    const struct result_file *file = find_file(o, name);
    assert_non_null(file);
    assert_int_equal(file->n_members, 1);
    member_bytes(&file->members[0], &text);
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    return text;
}

struct listed {
    size_t i, j;
    double r;
    size_t n;
    double low, high, p, q, n_effective, p_effective;
};

/* The pairs of pairs.csv.gz, whose names must hold no comma; free. */
static inline struct listed *read_pairs(const struct outcome *o, size_t *n)
{
    struct bytes text = read_text(o, "pairs.csv.gz");
    char *line = (char *)text.data, *rest = NULL;
    size_t room = 16;
    struct listed *pairs = malloc(room * sizeof *pairs);
    *n = 0;
    line = strtok_r(line, "\n", &rest);
    assert_string_equal(line, "i,j,name_i,name_j,r,n,r_low,r_high,p,q,n_effective,p_effective");
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
        if (*n == room) {
            room *= 2;
            pairs = realloc(pairs, room * sizeof *pairs);
        }
        assert_non_null(pairs);
        struct listed *p = &pairs[(*n)++];
        assert_int_equal(sscanf(line, "%zu,%zu,%*[^,],%*[^,],%lf,%zu,%lf,%lf,%lf,%lf,%lf,%lf",
                                &p->i, &p->j, &p->r, &p->n, &p->low, &p->high, &p->p, &p->q,
                                &p->n_effective, &p->p_effective),
                         10);
    }
    bytes_free(&text);
    return pairs;
}

/* Everything that is written, one after the other; bytes_free. */
static inline struct bytes read_everything(const struct outcome *o)
{
    struct bytes all = {0};
    const json_t *const parts[] = {o->result.shape, o->result.parameters, o->result.summary,
                                   o->result.warnings};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        char *text = json_dumps(parts[k], JSON_SORT_KEYS);
        assert_non_null(text);
        assert_int_equal(bytes_append(&all, text, strlen(text)), STATUS_OK);
        free(text);
    }
    for (size_t f = 0; f < o->result.n_files; f++) {
        for (size_t m = 0; m < o->result.files[f].n_members; m++) {
            member_bytes(&o->result.files[f].members[m], &all);
        }
    }
    return all;
}

/* True when some warning holds the text. */
static inline bool is_warned(const struct outcome *o, const char *text)
{
    for (size_t k = 0; k < json_array_size(o->result.warnings); k++) {
        if (strstr(json_string_value(json_array_get(o->result.warnings, k)), text) != NULL) {
            return true;
        }
    }
    return false;
}

static inline double summary_number(const struct outcome *o, const char *key)
{
    const json_t *value = json_object_get(o->result.summary, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static inline size_t summary_count(const struct outcome *o, const char *key)
{
    const json_t *value = json_object_get(json_object_get(o->result.summary, key), "count");
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

static inline struct sheet shape_of(size_t series, size_t samples, bool by_lines, enum dtype type)
{
    return by_lines ? sheet_new(series, samples, true, type)
                    : sheet_new(samples, series, false, type);
}

#endif
