/*
 * pearson_numbers - lines come in, in units that are cut by shape alone, so that the results do not
 * depend on how chunks were cut; and what is looked at on the host on the way: names, missing
 * values that are an error or cost all series a sample, and what increments no longer tell of the
 * values themselves, infinities and neighbours whose ratio has no logarithm.
 */
#include "stages/pearson/pearson_job.h"

#include "formats/base/utf8.h"
#include "kernels/pearson/pearson_rule.h"

#include <stdio.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* Empty names become the kind of a series and its number, counted from 1; bytes that are not UTF-8
 * become U+FFFD. */
enum status pearson_name_add(struct pearson_job *job, const char *name)
{
    struct series_names *const names = &job->names;
    bool is_cut = false;
    STATUS_TRY(*name == '\0' ? bytes_printf(&names->text, "%s %zu", pearson_kind(job), names->n + 1)
                             : utf8_append_cut(&names->text, name, SERIES_NAME_BYTES, &is_cut));
    names->n_cut += is_cut ? 1 : 0;
    STATUS_TRY(bytes_append(&names->text, "", 1));
    names->n++;
    return STATUS_OK;
}

/* Names the series that are columns: as the header does, or by their places in the file, where
 * those are not the numbers that they would get. */
static enum status take_header(struct pearson_job *job)
{
    const struct table_info *table = job->args.inputs[0].table;
    const size_t n = table->cells_per_line;
    if (job->layout.by_lines || (table->names == NULL && table_column(table, n - 1) == n - 1)) {
        return STATUS_OK;
    }
    for (size_t c = 0; c < n; c++) {
        const char *name = table->names != NULL ? table->names[c] : "";
        char place[SERIES_PLACE_BYTES + 8];
        if (*name == '\0') {
            snprintf(place, sizeof place, "%s %zu", pearson_kind(job), table_column(table, c) + 1);
            name = place;
        }
        STATUS_TRY(pearson_name_add(job, name));
    }
    return STATUS_OK;
}

static enum status take_labels(struct pearson_job *job, const struct table_chunk *chunk)
{
    const char *label = chunk->labels;
    const bool are_names = job->layout.by_lines && !job->choice.columns;
    for (size_t k = 0; k < chunk->n_labels && are_names; k++) {
        STATUS_TRY(pearson_name_add(job, label));
        label += strlen(label) + 1;
    }
    return STATUS_OK;
}

enum status pearson_names_close(struct pearson_job *job, size_t n_series)
{
    struct series_names *const names = &job->names;
    while (names->n < n_series + job->n_left_out) {
        STATUS_TRY(pearson_name_add(job, ""));
    }
    STATUS_TRY(room_host(job->kept, names->n + 1, sizeof *names->at, &names->at));
    const char *name = (const char *)names->text.data;
    for (size_t i = 0; i < names->n; i++) {
        names->at[i] = name;
        name += strlen(name) + 1;
    }
    names->at += job->n_left_out;
    return STATUS_OK;
}

const char *pearson_name(struct pearson_job *job, size_t series)
{
    return pearson_names_close(job, series + 1) == STATUS_OK ? job->names.at[series] : "?";
}

/* --- values ----------------------------------------------------------------------------------- */

/* Where number k of a chunk belongs. */
struct cell {
    const char *series;
    size_t value; /* from 1 */
};

static struct cell cell_of(struct pearson_job *job, size_t k)
{
    const struct pearson_layout *l = &job->layout;
    const size_t cell = (size_t)job->n_cells + k, line = cell / l->cells, place = cell % l->cells;
    return (struct cell){pearson_name(job, l->by_lines ? line : place),
                         (l->by_lines ? place : line) + 1};
}

/* Names the first missing value of a chunk that is known to hold one. */
static enum status reject_missing(struct pearson_job *job, const struct table_chunk *chunk)
{
    size_t k = 0;
    while (k < chunk->n_cells && !isnan(dtype_real(job->layout.type, chunk->values, k))) {
        k++;
    }
    const struct cell cell = cell_of(job, k);
    return status_fail(STATUS_BAD_INPUT, "%s: series '%s': value %zu is missing; fill it in%s",
                       job->name, cell.series, cell.value,
                       job->choice.lagged ? "" : ", or set missing=pairwise");
}

static enum status reject_infinite(struct pearson_job *job, const struct table_chunk *chunk)
{
    size_t k = 0;
    while (k < chunk->n_cells && !isinf(dtype_real(job->layout.type, chunk->values, k))) {
        k++;
    }
    if (k == chunk->n_cells) {
        return STATUS_OK;
    }
    const struct cell cell = cell_of(job, k);
    return status_fail(
        STATUS_BAD_INPUT,
        "%s: series '%s' has infinite values (value %zu); if they stand for missing numbers, list "
        "inf in missing_value: -s missing_value=inf",
        job->name, cell.series, cell.value);
}

/* Of a sample, while samples are marked: a series lacks it; an increment without a logarithm leads
 * to it. */
enum { LACKS = 1, IS_LED_TO = 2 };

static bool is_lacking(const struct pearson_job *job, size_t sample)
{
    return job->lacking.data[sample] != 0;
}

static void set_missing(void *values, enum dtype type, size_t k)
{
    if (type == DTYPE_F64) {
        ((double *)values)[k] = NAN;
    } else {
        ((float *)values)[k] = NAN;
    }
}

/* Counts increments without a logarithm; marks samples that some series lacks, of which such
 * increments lead to some, or, when all are marked, makes them missing in every series. */
static void visit(struct pearson_job *job, const struct table_chunk *chunk)
{
    const struct pearson_layout *const l = &job->layout;
    size_t place = (size_t)(job->n_cells % l->cells), line = (size_t)(job->n_cells / l->cells);
    for (size_t k = 0; k < chunk->n_cells; k++) {
        const size_t sample = l->by_lines ? place : line;
        const double b = dtype_real(l->type, chunk->values, k);
        bool lacks = isnan(b);
        if (job->before != NULL && !job->is_marked) {
            double *const before = job->before + (l->by_lines ? 0 : place);
            const double a = *before, ratio = b / a;
            const bool present = !isnan(a) && !lacks, follows = sample > 0;
            const bool has_no_log = follows && present && !(ratio > 0 && ratio <= DBL_MAX);
            job->n_no_log += has_no_log ? 1 : 0;
            lacks |= has_no_log;
            *before = b;
        }
        if (job->is_marked && is_lacking(job, sample)) {
            set_missing(chunk->values, l->type, k);
        } else if (job->choice.drop && !job->is_marked && lacks) {
            job->lacking.data[sample] |= isnan(b) ? LACKS : IS_LED_TO;
        }
        if (++place == l->cells) {
            place = 0;
            line++;
        }
    }
}

static enum status look_at(void *context, const struct table_chunk *chunk)
{
    struct pearson_job *const job = context;
    const struct pearson_layout *const l = &job->layout;
    if (l->lines_known && chunk->n_cells > l->lines * l->cells - job->n_cells) {
        return status_fail(STATUS_INTERNAL, "%s: more lines than the %zu announced", job->name,
                           l->lines);
    }
    STATUS_TRY(take_labels(job, chunk));
    if (job->choice.reject && chunk->n_missing > 0) {
        return reject_missing(job, chunk);
    }
    STATUS_TRY(l->n_dropped != 0 ? reject_infinite(job, chunk) : STATUS_OK);
    if (job->before != NULL || job->choice.drop) {
        visit(job, chunk);
    }
    job->n_cells += chunk->n_cells;
    return STATUS_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A chunk of the first pass, which alone has labels. */
static enum status mark(struct pearson_job *job, const struct table_chunk *chunk)
{
    const struct pearson_layout *const l = &job->layout;
    const uint64_t end = job->n_cells + chunk->n_cells;
    const size_t n = l->by_lines ? l->cells : (size_t)(end / l->cells) + 1;
    STATUS_TRY(take_labels(job, chunk));
    while (job->lacking.len < n) {
        STATUS_TRY(bytes_append(&job->lacking, "", 1));
    }
    visit(job, chunk);
    job->n_cells = end;
    return STATUS_OK;
}

/* Where an increment has no logarithm its later sample is left out, unless the one before is: then
 * the increment is missing already, and those that go on from the later one need not be. */
static void settle(struct pearson_job *job)
{
    unsigned char *const marks = job->lacking.data;
    for (size_t s = 0; s < job->lacking.len; s++) {
        marks[s] = (marks[s] & LACKS) != 0 || (marks[s] != 0 && marks[s - 1] == 0);
    }
}

static enum status mark_all(struct pearson_job *job)
{
    const struct table_chunk *chunk;
    STATUS_TRY(io_chunk(job->io, 0, &chunk));
    while (chunk != NULL) {
        STATUS_TRY(mark(job, chunk));
        STATUS_TRY(io_chunk(job->io, 0, &chunk));
    }
    STATUS_TRY(pearson_within_read(job)); /* all parts end before one comes again */
    job->n_cells = 0;
    settle(job);
    job->is_marked = true;
    return io_again(job->io, 0);
}

enum status pearson_numbers_open(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    job->rows = (struct rows){.width = l->cells, .type = l->type, .chunk = look_at, .context = job};
    STATUS_TRY(
        job->choice.diff == PEARSON_DIFF_LOG
            ? room_host(&job->work, l->by_lines ? 1 : l->cells, sizeof *job->before, &job->before)
            : STATUS_OK);
    STATUS_TRY(job->choice.drop ? mark_all(job) : STATUS_OK);
    return take_header(job);
}

/* Whether what came is a table that can be correlated. */
static enum status check_lines(const struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    if (l->lines_known && job->lines != l->lines) {
        return status_fail(STATUS_INTERNAL, "%s: %zu lines came, %zu were announced", job->name,
                           job->lines, l->lines);
    }
    if (job->lines == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->name);
    }
    return pearson_check_samples(job, job->lines);
}

enum status pearson_more(struct pearson_job *job, bool *are)
{
    STATUS_TRY(rows_cells(&job->rows, job->io, are));
    return *are ? STATUS_OK : check_lines(job);
}

enum status pearson_read(struct pearson_job *job, struct span to, size_t *n)
{
    const struct pearson_layout *const l = &job->layout;
    const bool is_last = l->lines_known && l->lines - job->lines < l->unit_lines;
    *n = is_last ? l->lines - job->lines : l->unit_lines;
    STATUS_TRY(rows_fill(&job->rows, job->io, to, n));
    return queue_check(job->queue);
}
