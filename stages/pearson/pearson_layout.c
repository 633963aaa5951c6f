/*
 * pearson_layout - parameters and shapes of a pearson job, and the memory that follows from them.
 *
 * Panels: a panel of series is what arrives before its part of the matrix is computed. Large ones
 * make better matrix products, small ones leave less to do when the last byte has been read; their
 * cells are bounded, so that a few very long series do not wait for one another. Slabs: enough
 * samples at a time that the update of the n x n co-moments is bound by arithmetic, not by memory.
 *
 * Whether columns have gaps is not known before the end, so that what gaps add to the accumulators
 * is counted unless a missing value is an error. Working space of a kernel's tasks is not counted.
 */
#include "stages/pearson/pearson_layout.h"

#include "formats/base/checked.h"
#include "stages/pearson/pearson_heatmap.h"
#include "stages/pearson/pearson_index.h"
#include "stages/pearson/pearson_order.h"
#include "stages/pearson/pearson_pairs.h"
#include "stages/pearson/series_names.h"

#include <stdio.h>
#include <string.h>

enum {
    TILE = 64, /* panels are whole multiples of it, but for fewer series that are known */
    LONG_SAMPLES =
        1 << 13, /* or as few as LEAST_PANEL, when so long that a tile of them is large */
    LEAST_PANEL = 8,
    SMALL_SERIES = 512,    /* up to so many ... */
    SMALL_CELLS = 1 << 20, /* ... and so many numbers are one panel */
    MIDDLE_SERIES = 4096,  /* beyond it, panels are large */
    PANEL_CELLS = 1 << 24, /* numbers in a panel, where more than TILE series would exceed it */
    SLAB_BYTES = 1 << 22,  /* of a slab: what two cores keep in their caches ... */
    SLAB_SAMPLES = 256,    /* ... but at least so many samples */
};

enum { SERIES, PRECISION, DIFF, MISSING, MIN_SAMPLES, R, TOP, THRESHOLD, ORDER, FIGURE };
enum { SERIES_AUTO, SERIES_ROWS, SERIES_COLUMNS };

const struct param_spec pearson_specs[PEARSON_N_SPECS] = {
    [SERIES] = {.key = "series",
                .kind = PARAM_CHOICE,
                .text = "auto",
                .choices = "auto|rows|columns",
                .help = "where the series lie; auto: in columns where there is a header row"},
    [PRECISION] = {.key = "precision",
                   .kind = PARAM_CHOICE,
                   .text = "exact",
                   .choices = "exact|f32",
                   .help = "error of r: 1e-12 or 1e-6; of the pairs reported 1e-12"},
    [DIFF] = {.key = "diff",
              .kind = PARAM_CHOICE,
              .text = "none",
              .choices = "none|step|log",
              .help = "correlate increments: x[t+1] - x[t], or log(x[t+1] / x[t])"},
    [MISSING] = {.key = "missing",
                 .kind = PARAM_CHOICE,
                 .text = "pairwise",
                 .choices = "pairwise|reject",
                 .help = "missing values: use the samples common to a pair, or fail"},
    [MIN_SAMPLES] = {.key = "min_samples",
                     .kind = PARAM_COUNT,
                     .text = "3",
                     .min = 2,
                     .max = (double)PEARSON_SAMPLES_MAX,
                     .help = "the fewest samples, common to a pair, that a coefficient is of"},
    [R] = {.key = "r",
           .kind = PARAM_CHOICE,
           .text = "upper",
           .choices = "upper|none",
           .help = "whether the matrix (its upper triangle) is written"},
    [TOP] = {.key = "top",
             .kind = PARAM_COUNT,
             .text = "1000",
             .min = 0,
             .max = PEARSON_PAIRS_MAX,
             .help = "how many of the strongest pairs are listed"},
    [THRESHOLD] = {.key = "threshold",
                   .kind = PARAM_REAL,
                   .text = "0",
                   .min = 0,
                   .max = 1,
                   .help = "list every pair with |r| at or above it; 0: off"},
    [ORDER] = {.key = "order",
               .kind = PARAM_CHOICE,
               .text = "file",
               .choices = "file|cluster",
               .help = "order of the series in the heat map"},
    [FIGURE] = STAGE_FIGURE_SPEC,
};

struct pearson_sides pearson_sides(const struct table_info *table)
{
    const size_t lines = table->n_lines > 0 ? table->n_lines : table->n_lines_estimate;
    return table->lines_are_columns ? (struct pearson_sides){table->cells_per_line, lines}
                                    : (struct pearson_sides){lines, table->cells_per_line};
}

bool pearson_prefers_columns(const struct stage_args *args)
{
    const struct table_info *const table = args->inputs[0].table;
    const struct pearson_sides sides = pearson_sides(table);
    return args->params[SERIES].index == SERIES_AUTO && !table->has_header &&
           sides.columns < PEARSON_FEW_SAMPLES && sides.rows >= PEARSON_FEW_SAMPLES;
}

void pearson_choose(const struct stage_args *args, struct pearson_choice *out)
{
    static const enum pearson_precision precisions[] = {PEARSON_EXACT, PEARSON_F32};
    static const enum pearson_diff diffs[] = {PEARSON_DIFF_NONE, PEARSON_DIFF_STEP,
                                              PEARSON_DIFF_LOG};
    const struct param_value *p = args->params;
    const size_t series = p[SERIES].index;
    const bool columns = series == SERIES_COLUMNS ||
                         (series == SERIES_AUTO && args->inputs[0].table->has_header) ||
                         pearson_prefers_columns(args);
    const bool by_lines = columns == args->inputs[0].table->lines_are_columns;
    *out =
        (struct pearson_choice){.columns = columns,
                                .used = by_lines ? precisions[p[PRECISION].index] : PEARSON_EXACT,
                                .diff = diffs[p[DIFF].index],
                                .reject = p[MISSING].index == 1,
                                .min_samples = (size_t)p[MIN_SAMPLES].count,
                                .keep_r = p[R].index == 0,
                                .top = (size_t)p[TOP].count,
                                .threshold = p[THRESHOLD].real,
                                .cluster = p[ORDER].index == 1,
                                .figure = (enum figure_format)p[FIGURE].index};
}

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Series in a panel, for n series of n_samples; both at least 1. `known`: n is no guess. */
static size_t panel_rows(size_t n, size_t n_samples, bool known)
{
    if (n <= TILE && known) {
        return n;
    }
    if (n <= TILE && n_samples >= LONG_SAMPLES) {
        return round_up(n, LEAST_PANEL);
    }
    if (n <= SMALL_SERIES && n_samples <= SMALL_CELLS / n) {
        return round_up(n, TILE);
    }
    size_t panel = n <= SMALL_SERIES ? TILE : n <= MIDDLE_SERIES ? 512 : 1024;
    while (panel > TILE && n_samples > PANEL_CELLS / panel) {
        panel /= 2;
    }
    return panel;
}

/* Samples in a slab of n_series columns. */
static size_t slab_samples(size_t n_series, enum dtype type, size_t lines)
{
    const size_t whole = SLAB_BYTES / dtype_bytes(type) / at_most(n_series, SLAB_BYTES);
    const size_t samples = at_least(whole / TILE * TILE, SLAB_SAMPLES);
    return lines < samples ? round_up(lines, TILE) : samples;
}

enum status pearson_check_series(const struct stage_args *args, size_t n_series)
{
    if (n_series > PEARSON_SERIES_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%s: %zu series are more than can be paired (%zu)",
                           args->inputs[0].name, n_series, PEARSON_SERIES_MAX);
    }
    return STATUS_OK;
}

/* More rows than any other table has for its columns: samples in rows, and no line of names above.
 */
enum { UNLIKELY_RATIO = 500 };

bool pearson_guesses_sides(const struct stage_args *args)
{
    const struct table_info *table = args->inputs[0].table;
    return args->params[SERIES].index == SERIES_AUTO && !table->has_header && !table->has_labels &&
           !pearson_prefers_columns(args);
}

enum status pearson_check_sides(const struct stage_args *args)
{
    const struct table_info *table = args->inputs[0].table;
    const struct pearson_sides sides = pearson_sides(table);
    if (!pearson_guesses_sides(args)) {
        return STATUS_OK;
    }
    if (sides.rows / UNLIKELY_RATIO >= sides.columns) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: has no line of names, and %s%zu rows of %zu numbers: say whether "
                           "the columns or the rows are the series (series=columns or series=rows)",
                           args->inputs[0].name, table->n_lines > 0 ? "" : "about ", sides.rows,
                           sides.columns);
    }
    return STATUS_OK;
}

enum status pearson_check_samples(const struct stage_args *args,
                                  const struct pearson_choice *choice,
                                  const struct pearson_layout *layout, size_t lines)
{
    const size_t samples = pearson_layout_samples(layout, lines);
    if (layout->by_lines && samples > PEARSON_SAMPLES_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: series of %zu samples, one after the other, are longer than can be "
                           "taken (%zu): store them the other way round, sample after sample",
                           args->inputs[0].name, samples, PEARSON_SAMPLES_MAX);
    }
    if (samples >= 2) {
        return STATUS_OK;
    }
    const size_t other = layout->by_lines ? lines : layout->cells;
    const char *what = layout->n_dropped != 0 ? "increment" : "sample";
    const char *kind = choice->columns ? "column" : "row";
    if (other >= 2 + layout->n_dropped) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: each series is a %s and has %zu %s%s, correlation needs 2; if the "
                           "series are the %s, set series=%s",
                           args->inputs[0].name, kind, samples, what, samples == 1 ? "" : "s",
                           choice->columns ? "rows" : "columns",
                           choice->columns ? "rows" : "columns");
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: a table of %zu %s and %zu %s has too few numbers: correlation needs 2 "
                       "%ss of each series",
                       args->inputs[0].name, lines,
                       args->inputs[0].table->lines_are_columns ? "column(s)" : "row(s)",
                       layout->cells,
                       args->inputs[0].table->lines_are_columns ? "row(s)" : "column(s)", what);
}

enum status pearson_lay_out(const struct stage_args *args, const struct pearson_choice *choice,
                            struct pearson_layout *out)
{
    const struct table_info *table = args->inputs[0].table;
    struct pearson_layout l = {.by_lines = choice->columns == table->lines_are_columns,
                               .cells = table->cells_per_line,
                               .lines_known = table->n_lines > 0,
                               .n_dropped = choice->diff != PEARSON_DIFF_NONE ? 1 : 0,
                               .type = table->dtype};
    if (table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a grid, and pearson takes tables: CSV, TSV, .npy or .npz",
                           args->inputs[0].name);
    }
    l.lines = at_least(l.lines_known ? table->n_lines : table->n_lines_estimate, 1);
    l.x_type = l.n_dropped != 0 ? DTYPE_F64 : l.type;
    l.r_type = pearson_dtype(choice->used);
    l.keep_x = l.by_lines && (choice->used != PEARSON_EXACT || args->started_over);
    if (l.by_lines || l.lines_known) {
        STATUS_TRY(pearson_check_samples(args, choice, &l, l.lines));
    }
    const size_t n = pearson_layout_series(&l, l.lines);
    STATUS_TRY(pearson_check_series(args, n));
    l.panel = panel_rows(n, l.by_lines ? l.cells : 1, l.lines_known || !l.by_lines);
    l.unit_lines = l.by_lines ? l.panel : slab_samples(n, l.type, l.lines);
    if (l.lines_known) {
        l.unit_lines = at_most(l.unit_lines, l.lines);
    }
    *out = l;
    return STATUS_OK;
}

/* A sum of products that remembers whether it ever wrapped. */
struct tally {
    size_t bytes;
    bool wrapped;
};

static void tally(struct tally *t, size_t n, size_t each, size_t size)
{
    size_t product = 0;
    if (!checked_mul(n, each, &product) || !checked_mul(product, size, &product) ||
        !checked_add(t->bytes, product, &t->bytes)) {
        t->wrapped = true;
    }
}

/* The matrix: full panels of growing width, then the rest. */
static void tally_matrix(struct tally *t, const struct pearson_layout *l, size_t n)
{
    const size_t full = n / l->panel, last = n % l->panel, size = dtype_bytes(l->r_type);
    tally(t, l->panel * l->panel, full * (full + 1) / 2, size);
    tally(t, last, n, size);
}

/* Lines in the one or two buffers of a unit each. */
static size_t units(const struct pearson_layout *l)
{
    return l->lines > l->unit_lines ? 2 * l->unit_lines : l->unit_lines;
}

struct panels_config pearson_layout_panels(const struct stage_args *args,
                                           const struct pearson_choice *choice,
                                           const struct pearson_layout *layout)
{
    return (struct panels_config){.home = args->queue,
                                  .precision = choice->used,
                                  .n_series = layout->lines,
                                  .n_samples = pearson_layout_samples(layout, layout->lines),
                                  .panel = layout->panel};
}

static void tally_rows(struct tally *t, const struct stage_args *args,
                       const struct pearson_choice *choice, const struct pearson_layout *l)
{
    const struct pearson_kernels *k = args->queue->backend->ops->pearson;
    const size_t rows = l->lines_known ? l->lines : round_up(l->lines, l->panel);
    const size_t samples = pearson_layout_samples(l, rows);
    tally(t, rows, k->z_bytes(args->queue, choice->used, samples), 1);
    if (l->keep_x) {
        tally(t, rows, samples, dtype_bytes(l->x_type));
    }
    if (!l->keep_x || l->n_dropped != 0) {
        tally(t, units(l), l->cells, dtype_bytes(l->type));
    }
    if (!l->keep_x && l->n_dropped != 0) {
        tally(t, l->unit_lines, samples, sizeof(double));
    }
    if (choice->used != PEARSON_EXACT &&
        !choice->reject) { /* panels in the exact form, and their moments, for gaps */
        tally(t, units(l), k->z_bytes(args->queue, PEARSON_EXACT, samples), 1);
        tally(t, 1, moments_bytes(rows), 1);
    }
    tally(t, 1, moments_bytes(rows), 1);
}

static void tally_columns(struct tally *t, const struct stage_args *args,
                          const struct pearson_choice *choice, const struct pearson_layout *l)
{
    const struct pearson_kernels *k = args->queue->backend->ops->pearson;
    tally(t, k->columns_bytes(l->cells, l->unit_lines, !choice->reject), 1, 1);
    tally(t, units(l), l->cells, dtype_bytes(l->type));
    tally(t, 1, moments_bytes(l->cells), 1);
}

/* Names are held twice, by the job and by its result, each time with a pointer. Those of a header
 * are known; labels may be as long as names can be. */
static void tally_names(struct tally *t, const struct stage_args *args,
                        const struct pearson_choice *choice, const struct pearson_layout *l,
                        size_t n)
{
    const struct table_info *const table = args->inputs[0].table;
    tally(t, n, sizeof(char *), 2);
    if (l->by_lines || table->names == NULL) {
        const bool labelled = l->by_lines && !choice->columns && table->has_labels;
        tally(t, n, labelled ? SERIES_NAME_BYTES + 1 : SERIES_PLACE_BYTES, 2);
        return;
    }
    for (size_t c = 0; c < n; c++) {
        const size_t bytes = at_most(strlen(table->names[c]), SERIES_NAME_BYTES) + 1;
        tally(t, at_least(bytes, SERIES_PLACE_BYTES), 1, 2);
    }
}

enum status pearson_layout_need(const struct stage_args *args, const struct pearson_choice *choice,
                                const struct pearson_layout *layout, struct stage_need *out)
{
    const size_t n = pearson_layout_series(layout, layout->lines);
    struct tally on_backend = {0}, on_host = {0};
    if (layout->by_lines) {
        tally_rows(&on_backend, args, choice, layout);
    } else {
        tally_columns(&on_backend, args, choice, layout);
    }
    const size_t kept = moments_bytes(n + layout->panel);
    const size_t released = on_backend.bytes > kept ? on_backend.bytes - kept : 0;
    tally_matrix(&on_backend, layout, n);
    const struct panels_config shared = pearson_layout_panels(args, choice, layout);
    const bool shares = pearson_layout_shares(args, layout);
    tally(&on_backend, shares ? args->most_helpers : 0, panels_home_bytes(&shared), 1);
    tally_names(&on_host, args, choice, layout, n);
    tally(&on_host, n, ((size_t)MOMENTS_FIELDS + 3) * sizeof(double) + sizeof(bool), 1);
    const size_t wanted = choice->threshold > 0 ? PEARSON_PAIRS_MAX : choice->top;
    /* Twice while they are sorted; how many samples they have is counted later. */
    tally(&on_host, pearson_pairs_held(wanted, matrix_n_pairs(n)), 2, sizeof(struct matrix_pair));
    if (layout->by_lines && !choice->reject) { /* their gaps, one series itself */
        tally(&on_host, n, pearson_rows_common_bytes(layout->cells) + sizeof(uint64_t *), 1);
        tally(&on_host, layout->cells, sizeof(double), 1);
    }
    if (pearson_index_possible(args, choice)) {
        tally(&on_host, pearson_index_bytes(n), 1, 1);
    }
    /* Drawn when what only the coefficients took has been released; where the host's memory is the
     * backend's, it takes its place. */
    struct tally drawn = {0};
    tally(&drawn, heatmap_bytes(n, choice->figure), 1, 1);
    tally(&drawn, choice->cluster ? pearson_order_bytes(n) : 0, 1, 1);
    const size_t place = args->host_limit == 0 ? released : 0;
    tally(&on_host, drawn.bytes > place ? drawn.bytes - place : 0, 1, 1);
    on_host.wrapped = on_host.wrapped || drawn.wrapped;
    if (on_backend.wrapped || on_host.wrapped) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: the correlation of %zu series needs more than "
                           "2^64 bytes",
                           args->inputs[0].name, n);
    }
    *out = (struct stage_need){.memory_bytes = on_backend.bytes,
                               .host_bytes = on_host.bytes,
                               .helper_bytes = shares ? panels_helper_bytes(&shared) : 0,
                               .estimated = !layout->lines_known};
    return STATUS_OK;
}

/* The products of all pairs of series. */
double pearson_work(const struct stage_args *args)
{
    const struct table_info *table = args->inputs[0].table;
    struct pearson_choice choice;
    pearson_choose(args, &choice);
    const double lines = (double)(table->n_lines > 0 ? table->n_lines : table->n_lines_estimate),
                 cells = (double)table->cells_per_line;
    const bool by_lines = choice.columns == table->lines_are_columns;
    return by_lines ? lines * lines / 2 * cells : cells * cells / 2 * lines;
}
