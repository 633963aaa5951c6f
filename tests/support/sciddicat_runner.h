/*
 * sciddicat_runner - drives the stage `sciddicat` without an engine: two grids are cut into chunks,
 * and the files of all its results are put together. Backend memory is counted on the way.
 */
#ifndef LEAT_TESTS_SCIDDICAT_RUNNER_H
#define LEAT_TESTS_SCIDDICAT_RUNNER_H

#include "kernels/sciddicat/sciddicat.h"
#include "stages/base/pull.h"
#include "tests/support/counted_backend.h"
#include "tests/support/sciddicat_reference.h"
#include "tests/support/table_support.h"

enum { DEM, SOURCE, MOST_PARAMS = 12, SLIDE_HELPERS = 3 };

/* --- one job ------------------------------------------------------------------------------------
 */

/* Two grids and how they come. */
struct slide {
    size_t rows, columns;
    double *cells[2];                    /* DEM and SOURCE, row by row */
    struct grid *grids[2];               /* NULL: tables of another format */
    bool by_columns[2], f32[2];          /* how the tables lie */
    size_t n_lines_known;                /* 1 unless a test says otherwise */
    bool has_missing_value;              /* that option was given */
    size_t cut;                          /* cells a chunk; 0: all at once; 1: as chance has it */
    const char *params[MOST_PARAMS + 1]; /* "steps=7", ...; NULL at the end */
    size_t most_helpers;                 /* that the stage is told of */
    size_t n_helpers;     /* that come after the first finish() that goes on, wanted or not */
    size_t most_finishes; /* ends after so many; 0: does not */
    const struct stage_state *state;
};

struct made_file {
    char name[48];
    enum pack_kind kind;
    struct bytes bytes;
};

struct outcome {
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
    struct stage_need need;
    struct table_info tables[2];
    size_t n_finishes, n_wanted; /* n_wanted: helpers, after the first of them */
    struct made_file *files;
    size_t n_files;
    struct result last; /* its pieces are gone; shape, parameters, summary and warnings are there */
};

static inline struct slide slide_new(size_t rows, size_t columns)
{
    struct slide s = {.rows = rows, .columns = columns, .n_lines_known = 1};
    for (int part = 0; part < 2; part++) {
        s.cells[part] = calloc(rows * columns + 1, sizeof(double));
        assert_non_null(s.cells[part]);
        assert_int_equal(grid_new(rows, columns, &s.grids[part]), STATUS_OK);
        struct grid *const g = s.grids[part];
        g->has_origin = true;
        g->x = 1000;
        g->y = 2000;
        g->cell_x = g->cell_y = 10;
        g->has_nodata = true;
        g->nodata = -9999;
    }
    return s;
}

/* Terrain that falls to the south, 5 m a row of 10 m, and 2 m of debris on one cell of it. */
static inline struct slide slope(size_t rows, size_t columns, size_t row, size_t column)
{
    struct slide s = slide_new(rows, columns);
    for (size_t k = 0; k < rows * columns; k++) {
        s.cells[DEM][k] = 1000 - 5 * (double)(k / columns);
    }
    s.cells[SOURCE][row * columns + column] = 2;
    return s;
}

static inline void slide_free(struct slide *s)
{
    for (int part = 0; part < 2; part++) {
        free(s->cells[part]);
        grid_free(s->grids[part]);
    }
}

static inline size_t slide_cells(const struct slide *s)
{
    return s->rows * s->columns;
}

/* The k-th number of a part, as its table lies. */
static inline double slide_number(const struct slide *s, int part, size_t k)
{
    return s->cells[part][s->by_columns[part] ? k % s->rows * s->columns + k / s->rows : k];
}

static inline enum status push_part(const struct slide *s, int part, struct pull *stage)
{
    const size_t all = slide_cells(s);
    uint64_t chance = 88172645463325252;
    enum status st = STATUS_OK;
    for (size_t first = 0; first < all && st == STATUS_OK;) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        size_t n = s->cut == 0 ? all : s->cut == 1 ? 1 + (chance >> 33) % (3 * s->columns) : s->cut;
        n = n < all - first ? n : all - first;
        double *const values = malloc(n * sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < n; k++) {
            const double x = slide_number(s, part, first + k);
            if (s->f32[part]) {
                ((float *)values)[k] = (float)x;
            } else {
                values[k] = x;
            }
        }
        const struct table_chunk chunk = {.values = values, .n_cells = n};
        uint64_t ticket = 0;
        st = pull_push(stage, (size_t)part, &chunk, &ticket);
        const enum status waited = counted.ops.upload_wait(under_test_queue, ticket);
        st = st == STATUS_OK ? waited : st;
        free(values);
        first += n;
    }
    return st;
}

/* The pieces of a result's files, the last first. */
static inline void take_files(const struct result *r, struct outcome *o)
{
    for (size_t f = 0; f < r->n_files; f++) {
        o->files = realloc(o->files, (o->n_files + 1) * sizeof *o->files);
        assert_non_null(o->files);
        struct made_file *const made = &o->files[o->n_files++];
        *made = (struct made_file){.kind = r->files[f].kind};
        memcpy(made->name, r->files[f].name, sizeof made->name);
        assert_int_equal(r->files[f].n_members, 1);
        const struct result_member *const m = &r->files[f].members[0];
        struct bytes *const pieces = calloc(m->n_pieces, sizeof *pieces);
        assert_non_null(pieces);
        for (uint64_t p = m->n_pieces; p-- > 0;) {
            ASSERT_OK(m->piece(m->context, p, &pieces[p]));
        }
        for (uint64_t p = 0; p < m->n_pieces; p++) {
            assert_int_equal(bytes_append(&made->bytes, pieces[p].data, pieces[p].len), STATUS_OK);
            bytes_free(&pieces[p]);
        }
        if (m->header != NULL) {
            memcpy(made->bytes.data, m->header(m->context), PACK_HEADER_BYTES);
        }
        free(pieces);
    }
}

/* As the engine does it: while one result is written, the next one is made. */
static inline enum status finish_all(const struct slide *s, struct queue **helpers,
                                     struct pull *stage, struct outcome *o)
{
    struct result before;
    enum status st;
    size_t n = s->n_helpers;
    assert_int_equal(result_init(&before), STATUS_OK);
    for (bool more = true; more;) {
        struct result r;
        more = false;
        assert_int_equal(result_init(&r), STATUS_OK);
        st = pull_finish(stage, &r, &more);
        if (o->n_finishes++ == 0) {
            o->n_wanted = pull_helpers(stage);
            st = st == STATUS_OK && more && n > 0 ? pull_help(stage, helpers, &n) : st;
        }
        more = more && o->n_finishes != s->most_finishes;
        take_files(&before, o);
        result_free(&before);
        before = r;
        if (st != STATUS_OK) {
            break;
        }
    }
    if (st == STATUS_OK) {
        take_files(&before, o);
    }
    o->last = before;
    return st;
}

/* Runs a job; outcome_free in any case. */
static inline struct outcome run_slide(const struct slide *s)
{
    static const char *const names[] = {"dem.x", "source.x"};
    struct outcome o = {0};
    struct param_value params[MOST_SPECS];
    parse_params(&stage_sciddicat, s->params, params);
    struct stage_args args = {.queue = under_test_queue,
                              .params = params,
                              .block_bytes = 1 << 20,
                              .state = s->state,
                              .most_helpers = s->most_helpers};
    struct queue *helpers[SLIDE_HELPERS];
    for (size_t k = 0; k < s->n_helpers; k++) {
        helpers[k] = under_test_queue_new(k + 1);
    }
    for (int part = 0; part < 2; part++) {
        const bool turned = s->by_columns[part];
        o.tables[part] =
            (struct table_info){.grid = s->grids[part],
                                .dtype = s->f32[part] ? DTYPE_F32 : DTYPE_F64,
                                .n_lines = s->n_lines_known == 0 ? 0
                                           : s->grids[part]      ? s->grids[part]->rows
                                           : turned              ? s->columns
                                                                 : s->rows,
                                .cells_per_line = s->grids[part] ? s->grids[part]->columns
                                                  : turned       ? s->rows
                                                                 : s->columns,
                                .lines_are_columns = turned,
                                .has_missing_value = s->has_missing_value};
        args.inputs[part] = (struct stage_input){.table = &o.tables[part], .name = names[part]};
    }
    struct pull *stage = NULL;
    counted.allocs = 0;
    counted.peak_bytes = 0;
    o.status = stage_sciddicat.plan(&args, &o.need);
    if (o.status == STATUS_OK) {
        o.status = pull_open(&stage_sciddicat, &args, &stage);
    }
    for (int part = 0; part < 2 && o.status == STATUS_OK; part++) {
        o.status = push_part(s, part, stage);
    }
    if (o.status == STATUS_OK) {
        o.status = finish_all(s, helpers, stage, &o);
    }
    if (o.status != STATUS_OK) {
        snprintf(o.message, sizeof o.message, "%s", status_message());
    }
    pull_free(stage);
    for (size_t k = 0; k < s->n_helpers; k++) {
        counted.ops.queue_free(helpers[k]);
    }
    assert_int_equal(counted.live, 0);
    return o;
}

static inline struct outcome run_well(const struct slide *s)
{
    struct outcome o = run_slide(s);
    if (o.status != STATUS_OK) {
        print_error("%s\n", o.message);
    }
    assert_int_equal(o.status, STATUS_OK);
    return o;
}

static inline void outcome_free(struct outcome *o)
{
    for (size_t f = 0; f < o->n_files; f++) {
        bytes_free(&o->files[f].bytes);
    }
    free(o->files);
    result_free(&o->last);
}

/* --- what came out ------------------------------------------------------------------------------
 */

static inline const struct made_file *find_file(const struct outcome *o, const char *name)
{
    for (size_t f = 0; f < o->n_files; f++) {
        if (strcmp(o->files[f].name, name) == 0) {
            return &o->files[f];
        }
    }
    return NULL;
}

/* The numbers of a raster, read back, and what its grid says; free. */
static inline double *read_raster(const struct outcome *o, const char *name, size_t n,
                                  struct grid **grid)
{
    const struct made_file *const f = find_file(o, name);
    if (f == NULL) {
        fail_msg("there is no %s", name);
        return NULL;
    }
    struct reading r = read_bytes(f->bytes.data, f->bytes.len, NULL, 1 << 16);
    if (r.status != STATUS_OK) {
        fail_msg("%s: %s", name, status_message());
    }
    assert_int_equal(r.n_numbers, n);
    assert_int_equal(r.info->dtype, DTYPE_F64);
    double *const numbers = malloc((n + 1) * sizeof *numbers);
    assert_non_null(numbers);
    memcpy(numbers, r.numbers.data, n * sizeof *numbers);
    if (grid != NULL) {
        assert_int_equal(grid_copy(r.info->grid, grid), STATUS_OK);
    }
    reading_free(&r);
    return numbers;
}

static inline bool is_warned(const struct outcome *o, const char *text)
{
    for (size_t k = 0; k < json_array_size(o->last.warnings); k++) {
        if (strstr(json_string_value(json_array_get(o->last.warnings, k)), text) != NULL) {
            return true;
        }
    }
    return false;
}

static inline double summary_number(const struct outcome *o, const char *key)
{
    const json_t *const value = json_object_get(o->last.summary, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* A number in an object of the summary. */
static inline double summary_in(const struct outcome *o, const char *key, const char *inner)
{
    const json_t *const value = json_object_get(json_object_get(o->last.summary, key), inner);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Everything that is written, one after the other; bytes_free. */
static inline struct bytes read_everything(const struct outcome *o)
{
    struct bytes all = {0};
    const json_t *const parts[] = {o->last.shape, o->last.parameters, o->last.summary,
                                   o->last.warnings};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        char *const text = json_dumps(parts[k], JSON_SORT_KEYS);
        assert_non_null(text);
        assert_int_equal(bytes_append(&all, text, strlen(text)), STATUS_OK);
        free(text);
    }
    for (size_t f = 0; f < o->n_files; f++) {
        assert_int_equal(bytes_append(&all, o->files[f].bytes.data, o->files[f].bytes.len),
                         STATUS_OK);
    }
    return all;
}

static inline void check_refused(const struct slide *s, enum status status,
                                 const char *const *texts)
{
    struct outcome o = run_slide(s);
    if (o.status != status) {
        fail_msg("%s instead of %s: %s", status_name(o.status), status_name(status), o.message);
    }
    for (; *texts != NULL; texts++) {
        if (strstr(o.message, *texts) == NULL) {
            fail_msg("no \"%s\" in: %s", *texts, o.message);
        }
    }
    outcome_free(&o);
}

#define CHECK_REFUSED(slide, status, ...)                                                          \
    check_refused(slide, status, (const char *const[]){__VA_ARGS__, NULL})

#endif
