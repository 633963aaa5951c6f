/*
 * sciddicat_probes - cells whose thickness is told from step to step: by coordinates, from the
 * parameter `probe` and from the rows of X.probes.*, in this order.
 *
 * Where the map has no place, a coordinate is the number of a column or row, from 1.
 */
#include "formats/base/decimal.h"
#include "formats/base/utf8.h"
#include "formats/result/plot_axes.h"
#include "formats/result/summary_entry.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LISTED = 100 /* in the summary */, ROWS_PER_PIECE = 8192 };

/* --- where they are --------------------------------------------------------------------------- */

static enum status refuse_text(const char *text)
{
    return status_fail(STATUS_BAD_ARGUMENT,
                       "probe: '%.64s' is not x,y or x,y;x,y and so on, with points in decimals",
                       text);
}

/* The next number of the text, before `end` or the text's own end. */
static bool take_number(const char **at, char end, double *out)
{
    *at += strspn(*at, " ");
    const size_t n = strspn(*at, "+-.0123456789eE");
    const bool good = decimal_parse(*at, n, '.', out);
    *at += n;
    *at += strspn(*at, " ");
    return good && (**at == end || (**at == '\0' && end == ';'));
}

/* out NULL: they are only counted. */
static enum status parse(const char *text, struct sciddicat_probe *out, size_t *n)
{
    const char *at = text;
    *n = 0;
    while (*at != '\0') {
        struct sciddicat_probe p = {.x = 0};
        if (*n == SCIDDICAT_MOST_PROBES || !take_number(&at, ',', &p.x)) {
            return refuse_text(text);
        }
        at++;
        if (!take_number(&at, ';', &p.y)) {
            return refuse_text(text);
        }
        at += *at == ';';
        if (out != NULL) {
            out[*n] = p;
        }
        (*n)++;
    }
    return STATUS_OK;
}

enum status sciddicat_probes_count(struct sciddicat_job *job)
{
    const struct stage_input *const in = &job->args.inputs[SCIDDICAT_PROBES];
    const struct table_info *const t = in->table;
    size_t *const out = &job->slide.n_probes;
    STATUS_TRY(parse(job->choice.probe, NULL, out));
    if (t == NULL) {
        return STATUS_OK;
    }
    const size_t lines = t->n_lines > 0 ? t->n_lines : SCIDDICAT_MOST_PROBES;
    const size_t columns = t->lines_are_columns ? lines : t->cells_per_line;
    if (columns != 2 || t->is_flat) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has %zu column%s of numbers; probes are two, x and y, after their "
                           "names if they have some%s",
                           in->name, columns, columns == 1 ? "" : "s",
                           columns > 2 ? ": choose them with probe_columns, by name or number: -s "
                                         "probe_columns=2,3"
                                       : "");
    }
    *out += t->lines_are_columns ? t->cells_per_line : lines;
    *out = *out < SCIDDICAT_MOST_PROBES + 1 ? *out : SCIDDICAT_MOST_PROBES + 1;
    return t->n_lines == 0 || *out <= SCIDDICAT_MOST_PROBES
               ? STATUS_OK
               : status_fail(STATUS_TOO_LARGE, "%s: more than %d probes", in->name,
                             SCIDDICAT_MOST_PROBES);
}

/* The cell of a probe: known when all altitudes are. */
static enum status locate(const struct sciddicat_job *job, const char *file, size_t number,
                          struct sciddicat_probe *p)
{
    const struct grid *const g = job->dem;
    size_t row, column;
    if (isnan(p->x) || isnan(p->y)) {
        return status_fail(STATUS_BAD_INPUT, "%s: probe %zu has no %s", file, number,
                           isnan(p->x) ? "x" : "y");
    }
    char who[STATUS_MESSAGE_BYTES / 2];
    (void)snprintf(who, sizeof who, "%s%sprobe %zu at x %.10g, y %.10g", file,
                   *file != '\0' ? ": " : "", number, p->x, p->y);
    if (!grid_scale_cell(g, p->x, p->y, &row, &column)) {
        const struct grid_extent e = grid_extent_of(g);
        return g->has_origin
                   ? status_fail(STATUS_BAD_INPUT,
                                 "%s lies outside of the map, which goes from x %.10g to %.10g and "
                                 "from y %.10g to %.10g",
                                 who, e.west, e.east, fmin(e.south, e.north),
                                 fmax(e.south, e.north))
                   : status_fail(STATUS_BAD_INPUT,
                                 "%s lies outside of the map of %zu columns and %zu rows%s", who,
                                 g->columns, g->rows,
                                 g->is_rotated ? ""
                                               : ", whose place is not known: x and y are numbers "
                                                 "of these, from 1");
    }
    p->cell = row * g->columns + column;
    if (landslide_masks(&job->slide, p->cell)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s lies in row %zu, column %zu, where the DEM has NODATA", who, row + 1,
                           column + 1);
    }
    return STATUS_OK;
}

/* Whether the first entry of a list of columns is kept column c. */
static bool begins_with(const char *list, const struct table_info *t, size_t c)
{
    const char *const name = t->names != NULL ? t->names[c] : "";
    list += strspn(list, " ");
    const size_t n = strcspn(list, " ,");
    return n > 0 &&
           ((strlen(name) == n && strncmp(list, name, n) == 0) ||
            (strspn(list, "0123456789") == n && strtoul(list, NULL, 10) == table_column(t, c) + 1));
}

/* Whether a file has y before x: as probe_columns says, or else the names of the columns. */
static bool is_y_first(const struct sciddicat_job *job)
{
    const struct table_info *const t = job->args.inputs[SCIDDICAT_PROBES].table;
    const char *const list = job->choice.probe_columns, *const *const names = t->names;
    if (names == NULL || begins_with(list, t, 0) || begins_with(list, t, 1)) {
        return begins_with(list, t, 1);
    }
    return (strcasecmp(names[0], "y") == 0 && strcasecmp(names[1], "x") == 0) ||
           (strcasecmp(names[0], "row") == 0 && strcasecmp(names[1], "column") == 0);
}

/* --- taking them ------------------------------------------------------------------------------ */

static enum status add_name(struct sciddicat_job *job, size_t probe, const char *name)
{
    struct bytes text = {.len = 0};
    bool is_cut;
    enum status st = utf8_append_cut(&text, name, SCIDDICAT_PROBE_BYTES - 1, &is_cut);
    if (st == STATUS_OK && probe < job->slide.n_probes) {
        memcpy(job->probes[probe].name, text.data, text.len);
        job->probes[probe].name[text.len] = '\0';
    }
    bytes_free(&text);
    return st;
}

/* Numbers of a chunk, the part's from the n-th on. False: there are more than there is room for. */
static bool add_numbers(struct sciddicat_job *job, const struct table_chunk *chunk, size_t first,
                        size_t n)
{
    const struct table_info *const t = job->args.inputs[SCIDDICAT_PROBES].table;
    const bool is_swapped = is_y_first(job);
    for (size_t i = 0; i < chunk->n_cells; i++) {
        const size_t k = n + i, across = t->cells_per_line;
        const size_t probe = first + (t->lines_are_columns ? k % across : k / 2);
        const bool is_y = t->lines_are_columns ? k / across == 1 : k % 2 == 1;
        if (probe >= job->slide.n_probes) {
            return false;
        }
        *(is_y != is_swapped ? &job->probes[probe].y : &job->probes[probe].x) =
            dtype_real(t->dtype, chunk->values, i);
    }
    return true;
}

static enum status take_file(struct sciddicat_job *job, size_t first, size_t *n_probes)
{
    const char *const file = sciddicat_name(job, SCIDDICAT_PROBES);
    const struct table_chunk *chunk;
    size_t n = 0, named = first;
    STATUS_TRY(io_chunk(job->io, SCIDDICAT_PROBES, &chunk));
    while (chunk != NULL) {
        const char *label = chunk->labels;
        if (!add_numbers(job, chunk, first, n)) {
            return status_fail(STATUS_TOO_LARGE, "%s: more than %d probes", file,
                               SCIDDICAT_MOST_PROBES);
        }
        for (size_t i = 0; i < chunk->n_labels; i++, label += strlen(label) + 1) {
            STATUS_TRY(add_name(job, named++, label));
        }
        n += chunk->n_cells;
        STATUS_TRY(io_chunk(job->io, SCIDDICAT_PROBES, &chunk));
    }
    *n_probes = first + n / 2;
    return STATUS_OK;
}

enum status sciddicat_probes_take(struct sciddicat_job *job)
{
    struct landslide *const l = &job->slide;
    size_t given, n;
    if (l->n_probes == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(parse(job->choice.probe, job->probes, &given));
    n = given;
    if (job->args.inputs[SCIDDICAT_PROBES].table != NULL) {
        STATUS_TRY(take_file(job, given, &n));
    }
    for (size_t k = 0; k < n; k++) {
        struct sciddicat_probe *const p = &job->probes[k];
        const bool is_of_file = k >= given;
        STATUS_TRY(locate(job, is_of_file ? sciddicat_name(job, SCIDDICAT_PROBES) : "",
                          k + 1 - (is_of_file ? given : 0), p));
        if (p->name[0] == '\0') {
            (void)snprintf(p->name, sizeof p->name, "probe %zu", k + 1);
        }
        l->probes[k] = p->cell;
    }
    l->n_probes = n;
    return STATUS_OK;
}

/* --- the table, and what the summary says ----------------------------------------------------- */

static double thickness(const struct sciddicat_job *job, size_t record, size_t probe)
{
    return job->slide.records[record * job->slide.n_probes + probe];
}

static void probe_row(const void *context, uint64_t row, struct result_row *to)
{
    const struct sciddicat_job *const job = context;
    const struct landslide *const l = &job->slide;
    const size_t record = (size_t)row / l->n_probes, probe = (size_t)row % l->n_probes;
    const double h = thickness(job, record, probe);
    result_row_count(to, "step", l->record_steps[record]);
    result_row_text(to, "probe", job->probes[probe].name);
    result_row_real(to, "thickness_m", h);
    result_row_real(to, "surface_m", l->ground[probe] + h);
}

enum status sciddicat_probes_summarise(const struct sciddicat_job *job, json_t *summary)
{
    const struct landslide *const l = &job->slide;
    json_t *const list = json_array();
    enum status st = STATUS_OK;
    for (size_t k = 0; k < l->n_probes && k < LISTED && list != NULL && st == STATUS_OK; k++) {
        const struct sciddicat_probe *const p = &job->probes[k];
        const int32_t arrival = l->arrival[p->cell];
        json_t *const one = json_object();
        const struct summary_entry entries[] = {
            {"name", json_string(p->name)},
            {"x", summary_real(p->x)},
            {"y", summary_real(p->y)},
            {"row", summary_integer(p->cell / job->dem->columns + 1)},
            {"column", summary_integer(p->cell % job->dem->columns + 1)},
            {"thickness_m", summary_real(l->h[p->cell])},
            {"max_thickness_m", summary_real(l->max_h[p->cell])},
            {"arrival", arrival < 0 ? json_null() : summary_integer((uint64_t)arrival)},
        };
        st = summary_entry_put(one, entries, sizeof entries / sizeof *entries);
        if (json_array_append_new(list, one) != 0) {
            st = STATUS_NO_MEMORY;
        }
    }
    const struct summary_entry all = {"probes", list};
    const enum status put = summary_entry_put(summary, &all, 1);
    return st == STATUS_OK ? put : st;
}

/* --- the chart -------------------------------------------------------------------------------- */

enum {
    CAPITAL = 12,
    TITLE = 15,
    GAP = 18,
    WIDTH = 1060,
    HEIGHT = 460,
    SAMPLE = 40, /* length of a line in the legend */
    NAME = 220,  /* width of a name, at most */
    ENTRY = CAPITAL + 16,
    TOP = TITLE + CAPITAL + 3 * GAP,
    BELOW = 3 * CAPITAL + GAP,
    SHOWN = COLOURS_SET
};

static void draw_curves(const struct sciddicat_job *job, struct plot_axes *axes, size_t n_shown,
                        double *x, double *y)
{
    const struct landslide *const l = &job->slide;
    const long left = axes->left + axes->width + GAP, beside = left + SAMPLE + GAP / 2;
    for (size_t p = n_shown; p-- > 0;) {
        const long at = axes->top + (long)p * ENTRY;
        const struct plot_named named = {job->probes[p].name, "probe", p + 1};
        char name[PLOT_NAME];
        for (size_t r = 0; r < l->n_records; r++) {
            x[r] = (double)l->record_steps[r];
            y[r] = thickness(job, r, p);
        }
        plot_line(axes, x, y, l->n_records, 2.5, colours_of(0, p));
        plot_named(&named, CAPITAL, NAME, name);
        figure_fill(axes->figure, (double)left, (double)at + CAPITAL / 2.0 - 1, SAMPLE, 3,
                    colours_of(0, p));
        figure_text(axes->figure, (double)beside, (double)at, CAPITAL, COLOURS_INK, name);
    }
}

static void draw_chart(const struct sciddicat_job *job, struct plot_axes *axes, double *room)
{
    const struct landslide *const l = &job->slide;
    const size_t n_shown = l->n_probes < SHOWN ? l->n_probes : SHOWN;
    struct plot_ticks x, y;
    char rest[96];
    double most = 0;
    for (size_t r = 0; r < l->n_records; r++) {
        for (size_t p = 0; p < n_shown; p++) {
            most = fmax(most, thickness(job, r, p));
        }
    }
    axes->x = plot_range_of(0, (double)l->record_steps[l->n_records - 1], 0);
    axes->y = (struct plot_range){0, most > 0 ? 1.05 * most : 1};
    plot_ticks_of(axes->x, 10, &x);
    plot_ticks_of(axes->y, 8, &y);
    axes->left = GAP + plot_ticks_width(&y, CAPITAL);
    axes->width = WIDTH - axes->left;
    plot_axes_draw(axes, &x, &y, "step", "thickness, m");
    draw_curves(job, axes, n_shown, room, room + l->n_records);
    (void)snprintf(rest, sizeof rest, ": debris at %zu probe%s%s", l->n_probes,
                   l->n_probes == 1 ? "" : "s", n_shown < l->n_probes ? ", the first of them" : "");
    plot_title(axes->figure, GAP, TITLE, sciddicat_name(job, SCIDDICAT_DEM), rest);
}

static enum status chart_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct sciddicat_job *const job = context;
    struct plot_axes axes = {.top = TOP, .height = HEIGHT, .capital = CAPITAL};
    double *const room = malloc(2 * job->slide.n_records * sizeof *room);
    (void)index; /* there is one */
    if (room == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a chart");
    }
    enum status st = figure_new(&job->choice.figure, FIGURE_LINES, WIDTH + 3 * GAP + SAMPLE + NAME,
                                TOP + HEIGHT + BELOW, &axes.figure);
    if (st == STATUS_OK) {
        draw_chart(job, &axes, room);
        st = figure_write(axes.figure, out);
        figure_free(axes.figure);
    }
    free(room);
    return st;
}

enum status sciddicat_probes_files(struct sciddicat_job *job)
{
    const struct result_table table = {"probes", probe_row, job,
                                       job->slide.n_records * job->slide.n_probes};
    STATUS_TRY(result_table_csv(job->io->out, &table, ROWS_PER_PIECE));
    return io_picture(job->io, &job->choice.figure, "probes", chart_piece, job);
}
