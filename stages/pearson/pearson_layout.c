/*
 * pearson_layout - parameters and shapes of a pearson job: which way its series lie, in what
 * portions they are taken: panels (correlate_panel), or slabs of enough samples that the update of
 * the n x n co-moments is bound by arithmetic, not by memory.
 */
#include "formats/base/sizes.h"
#include "stages/pearson/pearson_job.h"

enum {
    TILE = 64,            /* slabs are whole multiples of it */
    SLAB_BYTES = 1 << 22, /* of a slab: what two cores keep in their caches ... */
    SLAB_SAMPLES = 256,   /* ... but at least so many samples */
};

enum {
    SERIES,
    METHOD,
    PRECISION,
    DIFF,
    MISSING,
    MIN_SAMPLES,
    R,
    TOP,
    TOP_EACH,
    THRESHOLD,
    GROUPS,
    GROUPS_OF,
    TARGETS,
    TARGETS_COLUMNS,
    WITHIN,
    GROUP_BY,
    LAGS,
    ORDER,
    FIGURE
};
enum { SERIES_AUTO, SERIES_ROWS, SERIES_COLUMNS };

const struct param_spec pearson_specs[PEARSON_N_SPECS] = {
    [SERIES] = STAGE_CHOICE("series", "auto|rows|columns", "auto",
                            "where the series lie; auto: in columns where there is a header row"),
    [METHOD] = STAGE_CHOICE("method", "pearson|spearman", "pearson",
                            "the correlation of the values, or that of their ranks"),
    [PRECISION] = STAGE_CHOICE("precision", "exact|f32", "exact",
                               "error of r: 1e-12 or 1e-6; of the pairs reported 1e-12"),
    [DIFF] = STAGE_CHOICE("diff", "none|step|log", "none",
                          "correlate increments: x[t+1] - x[t], or log(x[t+1] / x[t])"),
    [MISSING] =
        STAGE_CHOICE("missing", "pairwise|drop|reject", "pairwise",
                     "missing values: use the samples common to a pair, or to all, or fail"),
    [MIN_SAMPLES] = STAGE_NUMBER(PARAM_COUNT, "min_samples", 2, (double)PEARSON_SAMPLES_MAX, "3",
                                 "a pair with fewer samples in common has no coefficient"),
    [R] = STAGE_CHOICE("r", "upper|none|csv", "upper",
                       "the matrix: in pearson.npz, not at all, or as CSV"),
    [TOP] = STAGE_NUMBER(PARAM_COUNT, "top", 0, PEARSON_PAIRS_MAX, "1000",
                         "how many of the strongest pairs are listed"),
    [TOP_EACH] = STAGE_NUMBER(PARAM_COUNT, "top_each", 0, 100000, "0",
                              "how many of each series' strongest partners to list"),
    [THRESHOLD] = STAGE_NUMBER(PARAM_REAL, "threshold", 0, 1, "0",
                               "list every pair with |r| at or above it; 0: off"),
    [GROUPS] = STAGE_NUMBER(PARAM_REAL, "groups", 0, 1, "0",
                            "groups whose pairs all have r at or above it; 0: off"),
    [GROUPS_OF] = STAGE_CHOICE("groups_of", "r|abs", "r", "groups are of high r, or of high |r|"),
    [TARGETS] = STAGE_CHOICE("targets", "none|file", "none",
                             "file: correlate with the series of X.targets.* alone"),
    [TARGETS_COLUMNS] =
        STAGE_TEXT("targets_columns", 4096, "columns of X.targets.* to read; empty: all numbers"),
    [WITHIN] = STAGE_CHOICE("within", "none|file", "none",
                            "file: correlate inside the groups of X.groups.* alone"),
    [GROUP_BY] = STAGE_TEXT("group_by", 64, "the same; the name up to this text is the group"),
    [LAGS] = STAGE_NUMBER(PARAM_SPAN, "lags", 0, 1 << 20, "0",
                          "take each pair at its best lag, of -N to N or A to B"),
    [ORDER] = STAGE_CHOICE("order", "auto|file|cluster|groups", "auto",
                           "order of the series in the heat map"),
    [FIGURE] = STAGE_FIGURE_SPECS(COLOURS_DIVERGINGS),
};

struct pearson_sides pearson_sides(const struct table_info *table)
{
    const size_t lines = table->n_lines_estimate;
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
    *out = (struct pearson_choice){.columns = columns,
                                   .ranks = p[METHOD].index == 1,
                                   .asked = precisions[p[PRECISION].index],
                                   .diff = diffs[p[DIFF].index],
                                   .pairwise = p[MISSING].index == 0,
                                   .drop = p[MISSING].index == 1,
                                   .reject = p[MISSING].index == 2,
                                   .min_samples = (size_t)p[MIN_SAMPLES].count,
                                   .keep_r = p[R].index == 0,
                                   .text_r = p[R].index == 2,
                                   .top = (size_t)p[TOP].count,
                                   .top_each = (size_t)p[TOP_EACH].count,
                                   .targets = p[TARGETS].index == 1,
                                   .within = p[WITHIN].index == 1 || p[GROUP_BY].text[0] != '\0',
                                   .group_by = p[GROUP_BY].text,
                                   .threshold = p[THRESHOLD].real,
                                   .groups = p[GROUPS].real,
                                   .groups_abs = p[GROUPS_OF].index == 1,
                                   .lagged = p[LAGS].from != 0 || p[LAGS].to != 0,
                                   .lag_first = (int)p[LAGS].from,
                                   .lag_last = (int)p[LAGS].to,
                                   .auto_order = p[ORDER].index == 0,
                                   .cluster = p[ORDER].index == 2,
                                   .by_groups = p[ORDER].index == 3,
                                   .figure = stage_figure(&p[FIGURE])};
}

enum status pearson_check_choice(const struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    const bool of_file = job->args.inputs[PEARSON_GROUPS].table != NULL;
    const char *const what =
        c->groups > 0 && c->targets
            ? "with targets=file no pair of series has a coefficient, so there are no groups: set "
              "groups=0 or targets=none"
        : c->by_groups && c->within
            ? "order=groups is of groups that are found, not given: set order=auto"
        : c->by_groups && !(c->groups > 0)
            ? "order=groups needs groups: set the least r within one, as groups=0.9, or "
              "order=cluster"
        : c->targets && c->drop   ? "with targets=file no samples are dropped: set missing=pairwise"
        : c->targets && c->text_r ? "with targets=file the matrix is no square: set r=upper"
        : c->targets && c->within
            ? "series are correlated with targets or within groups: set targets=none"
        : c->within && c->groups > 0 ? "groups are given or found: set groups=0"
        : c->within && c->text_r     ? "within groups the matrix is no square: set r=upper"
        : of_file && c->group_by[0] != '\0'
            ? "groups are those of a file or of names: leave group_by out"
        : !c->lagged ? NULL
        : c->ranks   ? "lags are not sought of ranks: set method=pearson, or lags=0"
        : c->targets ? "lags are not sought with targets=file: set targets=none, or lags=0"
        : c->within
            ? "lags are not sought within groups: take within and group_by away, or set lags=0"
        : c->drop ? "lags are counted in samples, of which missing=drop takes some out: fill in "
                    "what is missing and set missing=reject, or set lags=0"
                  : NULL;
    return what == NULL ? STATUS_OK : status_fail(STATUS_BAD_ARGUMENT, "%s: %s", job->name, what);
}

/* Samples in a slab of n_series columns. */
static size_t slab_samples(size_t n_series, enum dtype type, size_t lines)
{
    const size_t whole = SLAB_BYTES / dtype_bytes(type) / lesser(n_series, SLAB_BYTES);
    const size_t samples = greater(whole / TILE * TILE, SLAB_SAMPLES);
    return lines < samples ? round_up(lines, TILE) : samples;
}

enum status pearson_check_series(const struct pearson_job *job, size_t n_series, bool is_known)
{
    if (n_series > PEARSON_SERIES_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%s: %zu series are more than can be paired (%zu)",
                           job->name, n_series, PEARSON_SERIES_MAX);
    }
    if (job->choice.text_r && is_known && n_series > PEARSON_TEXT_MOST) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %zu series are more than r=csv writes (%d): r=upper writes any "
                           "number as an array",
                           job->name, n_series, PEARSON_TEXT_MOST);
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

enum status pearson_check_samples(const struct pearson_job *job, size_t lines)
{
    const struct pearson_layout *const l = &job->layout;
    const size_t samples = pearson_samples(l, lines);
    if (l->by_lines && samples > PEARSON_SAMPLES_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: series of %zu samples, one after the other, are longer than can be "
                           "taken (%zu): store them the other way round, sample after sample",
                           job->name, samples, PEARSON_SAMPLES_MAX);
    }
    if (samples >= 2) {
        return pearson_lags_check_samples(job, samples);
    }
    const bool columns = job->choice.columns,
               lines_are_columns = job->args.inputs[0].table->lines_are_columns;
    const char *const what = l->n_dropped != 0 ? "increment" : "sample";
    if ((l->by_lines ? lines : l->cells) >= 2 + l->n_dropped) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: each series is a %s and has %zu %s%s, correlation needs 2; if the "
                           "series are the %s, set series=%s",
                           job->name, pearson_kind(job), samples, what, samples == 1 ? "" : "s",
                           columns ? "rows" : "columns", columns ? "rows" : "columns");
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: a table of %zu %s and %zu %s has too few numbers: correlation needs 2 "
                       "%ss of each series",
                       job->name, lines, lines_are_columns ? "column(s)" : "row(s)", l->cells,
                       lines_are_columns ? "row(s)" : "column(s)", what);
}

enum status pearson_lay_out(struct pearson_job *job, bool turned)
{
    const struct table_info *const table = job->args.inputs[0].table;
    struct pearson_choice *const choice = &job->choice;
    struct pearson_layout *const l = &job->layout;
    l->by_lines = choice->columns == table->lines_are_columns;
    l->turned = turned && !l->by_lines;
    l->n_dropped = choice->diff != PEARSON_DIFF_NONE ? 1 : 0;
    l->derived = choice->diff != PEARSON_DIFF_NONE || choice->ranks;
    if ((choice->ranks || choice->drop || choice->lagged || !pearson_has_matrix(choice)) &&
        !pearson_has_rows(l)) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %s takes whole series, and these do not fit into memory: raise "
                           "--memory (a device has its own: --backend cpu), or set %s",
                           job->name,
                           choice->lagged    ? "lags"
                           : choice->targets ? "targets=file"
                           : choice->within  ? "correlation within groups"
                           : choice->drop    ? "missing=drop"
                                             : "method=spearman",
                           choice->lagged    ? "lags=0"
                           : choice->targets ? "targets=none"
                           : choice->within  ? "within=none and group_by="
                           : choice->drop    ? "missing=pairwise"
                                             : "method=pearson");
    }
    /* What pairs are listed is computed again from ranks of all samples: not with gaps. */
    choice->used = pearson_has_rows(l) && (!choice->ranks || !choice->pairwise) &&
                           pearson_has_matrix(choice) && !choice->lagged
                       ? choice->asked
                       : PEARSON_EXACT;
    l->x_type = l->derived ? DTYPE_F64 : l->type;
    l->r_type = pearson_dtype(choice->used);
    /* What is turned of a pipe stays where samples may be missing: a pipe cannot start over. */
    const bool given = l->turned && !l->derived,
               stays = l->turned && job->args.comes_once && choice->pairwise && !choice->ranks,
               in_place = given && !stays && !choice->lagged && !job->args.started_over &&
                          correlate_in_place(job->queue, choice->used, l->x_type);
    /* Turned ones are there until all are in standard form, and stay without a second copy. */
    l->keep_x = (given && !in_place) || stays ||
                (pearson_has_rows(l) &&
                 (choice->used != PEARSON_EXACT || choice->lagged || job->args.started_over));
    if (l->by_lines || l->lines_known) {
        STATUS_TRY(pearson_check_samples(job, l->lines));
    }
    const size_t n = l->by_lines ? l->lines : l->cells;
    STATUS_TRY(pearson_check_series(job, n, !l->by_lines || l->lines_known));
    l->panel = l->turned
                   ? correlate_panel_of_given(n, l->lines)
                   : correlate_panel(n, l->by_lines && !l->lines_known, l->by_lines ? l->cells : 1);
    l->swept = !choice->keep_r && !choice->text_r && !choice->lagged &&
               pearson_has_matrix(choice) && pearson_has_rows(l) &&
               (n > PEARSON_HELD_MOST || !l->lines_known);
    l->panel = l->swept ? correlate_panel_of_sweep(job->queue, l->panel, n) : l->panel;
    l->unit_lines = l->by_lines ? l->panel : slab_samples(n, l->type, l->lines);
    if (l->lines_known) {
        l->unit_lines = lesser(l->unit_lines, l->lines);
    }
    job->n_series = n;
    job->n_samples = pearson_samples(l, l->lines);
    job->c.request = (struct correlate_request){.precision = choice->used,
                                                .type = l->x_type,
                                                .n_series = n,
                                                .is_guessed = l->by_lines && !l->lines_known,
                                                .n_samples = job->n_samples,
                                                .panel = l->panel,
                                                .keep = l->keep_x,
                                                .given = given,
                                                .in_place = in_place,
                                                .ranks = choice->ranks,
                                                .alone = !pearson_has_matrix(choice) || l->swept,
                                                .gaps = choice->pairwise};
    l->level_bytes =
        in_place ? correlate_x_bytes(&job->c) : pearson_levels(l) * dtype_bytes(l->type);
    return STATUS_OK;
}

/* Samples from which on few series are slabs: no room for them all is filled, nor cleared. */
enum { MANY_SAMPLES = 1 << 16 };

bool pearson_prefers_slabs(const struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    const struct pearson_layout *const l = &job->layout;
    return !l->by_lines && pearson_has_few(job) && l->lines >= MANY_SAMPLES &&
           c->asked == PEARSON_EXACT && !c->ranks && !c->drop && pearson_has_matrix(c) &&
           !c->lagged;
}

bool pearson_by_lines(const struct stage_args *args)
{
    struct pearson_choice choice;
    pearson_choose(args, &choice);
    return choice.columns == args->inputs[0].table->lines_are_columns;
}

/* The products of all pairs of series, at each lag. */
double pearson_work(const struct stage_args *args)
{
    struct pearson_choice choice;
    pearson_choose(args, &choice);
    const double n_lags = choice.lag_last - choice.lag_first + 1;
    const struct table_info *table = args->inputs[0].table;
    const double lines = (double)table->n_lines_estimate, cells = (double)table->cells_per_line;
    return n_lags *
           (pearson_by_lines(args) ? lines * lines / 2 * cells : cells * cells / 2 * lines);
}
