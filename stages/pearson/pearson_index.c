/*
 * pearson_index - a first column that only counts is an index, not a series, and so is one that
 * only goes up or down and has a name for a time: it is left out, and a warning names it. Other
 * series that count, a first one that only goes up, and ones that are very short, are warned of.
 *
 * Whether a column counts is known at its end. Columns that are turned begin with the second one
 * then. Of slabs all coefficients have been taken: its row and its column of the matrix are taken
 * out, which changes no bit of the others.
 */

#include "stages/pearson/pearson_job.h"

#include <string.h>
#include <strings.h>

enum {
    BATCH_BYTES = 1 << 20, /* rows of the matrix that are moved together, or one row */
    MANY = 4,              /* times as many samples: lines the other way */
    NAMED = 5
};

/* A text of three columns or more, of which nobody has chosen any. */
bool pearson_index_possible(const struct stage_args *args, const struct pearson_choice *choice)
{
    const struct table_info *const table = args->inputs[0].table;
    return choice->columns && !table->lines_are_columns && table->cells_per_line >= 3 &&
           strcmp(table->format, "csv") == 0 && !table->used[TABLE_COLUMNS];
}

/* Whether the letters that a name begins with are a word for a time or an index. */
static bool is_named_time(const char *name)
{
    static const char *const words[] = {
        "t",     "time",  "date", "datetime", "timestamp", "datum", "zeit", "unix", "unixtime",
        "epoch", "index", "id",   "record",   "year",      "jahr",  "day",  "doy",  "jday"};
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == n && strncasecmp(name, words[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* What counts is left out; so is what only goes up or down and is named like a time. */
static bool is_left_out(const struct stage_args *args, const struct pearson_choice *choice)
{
    struct table_watch *const seen = args->inputs[0].seen;
    const char *const *const names = args->inputs[0].table->names;
    struct table_count first;
    if (!pearson_index_possible(args, choice)) {
        return false;
    }
    return (table_watch_count(seen, 0, &first) && first.series == 0) ||
           (table_watch_rises(seen, &first) && names != NULL && is_named_time(names[0]));
}

size_t pearson_index_bytes(size_t n_series)
{
    const size_t row = n_series * sizeof(double);
    return row > BATCH_BYTES ? row : BATCH_BYTES;
}

/* --- taken out -------------------------------------------------------------------------------- */

static struct span row_at(const struct pearson_job *job, size_t row, size_t n_series)
{
    const size_t panel = job->layout.panel, p = row / panel;
    const size_t width = matrix_panel_width(p, panel, n_series);
    return span_from(job->c.panels[p], (row - p * panel) * width * sizeof(double));
}

/* Rows `row` and on of the smaller matrix, n of them, all within its panel and, one further down,
 * within that of the larger one. */
static enum status move_rows(struct pearson_job *job, size_t row, size_t n, double *room)
{
    const size_t panel = job->layout.panel, n_series = job->n_series;
    const size_t from = matrix_panel_width((row + 1) / panel, panel, n_series);
    const size_t to = matrix_panel_width(row / panel, panel, n_series - 1);
    uint64_t ticket;
    STATUS_TRY(job->ops->download(job->queue, room, row_at(job, row + 1, n_series),
                                  n * from * sizeof *room));
    for (size_t k = 0; k < n; k++) {
        memmove(room + k * to, room + k * from + 1, (from - 1 < to ? from - 1 : to) * sizeof *room);
    }
    STATUS_TRY(job->ops->upload(job->queue, row_at(job, row, n_series - 1), room,
                                n * to * sizeof *room, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

static enum status move_matrix(struct pearson_job *job, double *room)
{
    const size_t panel = job->layout.panel, n = job->n_series - 1;
    for (size_t row = 0, batch; row < n; row += batch) {
        const size_t widest = matrix_panel_width((row + 1) / panel, panel, job->n_series);
        const size_t in_panel = panel - 1 - row % panel; /* the last one comes from the next */
        const size_t fit = pearson_index_bytes(job->n_series) / (widest * sizeof *room);
        batch = fit < in_panel ? fit : in_panel;
        batch = batch < n - row ? batch : n - row;
        batch = batch > 0 ? batch : 1;
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(move_rows(job, row, batch, room));
    }
    return STATUS_OK;
}

static enum status shorten_matrix(struct pearson_job *job)
{
    const size_t n = job->n_series - 1;
    double *room, *const stats = job->stats.at.at;
    STATUS_TRY(room_host(&job->work, 1, pearson_index_bytes(job->n_series), &room));
    STATUS_TRY(move_matrix(job, room));
    for (size_t f = 0; f < MOMENTS_FIELDS; f++) {
        memmove(stats + f * n, stats + f * (n + 1) + 1, n * sizeof *stats);
    }
    job->stats.capacity = n;
    job->names.at++;
    return STATUS_OK;
}

enum status pearson_index_leave_out(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    if (job->n_left_out > 0 || !is_left_out(&job->args, &job->choice)) {
        return STATUS_OK;
    }
    if (l->turned) {
        job->levels = span_from(job->levels, l->level_bytes);
    } else {
        STATUS_TRY(shorten_matrix(job));
    }
    job->n_series--;
    job->n_left_out = 1;
    return STATUS_OK;
}

/* --- warned of -------------------------------------------------------------------------------- */

/* The first series, which only goes up or down; `left_out`: it is named like a time. */
static enum status notice_rising(const struct table_count *c, bool left_out, const char *choose,
                                 struct result *out)
{
    const char *const way = c->last > c->first ? "up" : "down";
    return left_out
               ? result_warn(out,
                             "%s only goes %s (from %.15g to %.15g), and by its name is a time or "
                             "an index: it is left out; to correlate it, too, name the columns "
                             "(columns=)",
                             c->name.text, way, c->first, c->last)
               : result_warn(out,
                             "%s only goes %s (from %.15g to %.15g), and so correlates with all "
                             "that rises or falls: leave it out if it is a time or an index%s",
                             c->name.text, way, c->first, c->last, choose);
}

static enum status notice_left_out(const struct table_count *c, struct result *out)
{
    return result_warn(out,
                       "%s goes up or down in equal steps%s (of %.15g, from %.15g on), so it is "
                       "taken for an index and left out; to correlate it, too, name the columns "
                       "(columns=)",
                       c->name.text, c->has_gaps ? " but for gaps" : "", c->step, c->first);
}

static enum status notice_counts(const struct stage_args *args, const struct pearson_choice *choice,
                                 struct result *out)
{
    struct table_watch *const seen = args->inputs[0].seen;
    const bool left_out = is_left_out(args, choice),
               text = strcmp(args->inputs[0].table->format, "csv") == 0;
    const char *const choose = text && choice->columns ? " (columns=)" : "";
    const size_t n = table_watch_n_counts(seen);
    struct table_count c;
    struct bytes names = {0};
    enum status st = STATUS_OK;
    size_t first = 0;
    if (table_watch_rises(seen, &c)) {
        STATUS_TRY(notice_rising(&c, left_out, choose, out));
    } else if (left_out && table_watch_count(seen, 0, &c)) {
        STATUS_TRY(notice_left_out(&c, out));
        first = 1;
    }
    for (size_t k = first; k < first + NAMED && st == STATUS_OK && table_watch_count(seen, k, &c);
         k++) {
        st = bytes_printf(&names, "%s%s", k > first ? ", " : "", c.name.text);
    }
    if (st == STATUS_OK && n > first + NAMED) {
        st = bytes_printf(&names, " and %zu more", n - first - NAMED);
    }
    if (st == STATUS_OK && n > first) {
        st = result_warn(out,
                         "%.*s %s in equal steps, and so correlate%s with all that rises or falls: "
                         "leave out what is an index%s",
                         (int)names.len, (const char *)names.data,
                         n - first == 1 ? "goes up or down" : "go up or down",
                         n - first == 1 ? "s" : "", choose);
    }
    bytes_free(&names);
    return st;
}

enum status pearson_notice(const struct stage_args *args, struct result *out)
{
    const struct table_info *const table = args->inputs[0].table;
    struct pearson_choice choice;
    pearson_choose(args, &choice);
    const bool is_guessed = pearson_guesses_sides(args) && strcmp(table->format, "csv") == 0;
    if (is_guessed) {
        STATUS_TRY(result_warn(
            out,
            "line 1 holds no names, so the rows are taken as the series, of %zu samples each; "
            "series=columns takes the columns, series=rows says that this is right",
            table->lines_are_columns ? table->n_lines : table->cells_per_line));
    }
    if (pearson_prefers_columns(args)) {
        STATUS_TRY(result_warn(
            out,
            "nothing names the columns, and rows would be series of %zu samples, so the columns "
            "are taken as the series; series=rows takes the rows, series=columns says that this "
            "is right",
            pearson_sides(table).columns));
    }
    STATUS_TRY(notice_counts(args, &choice, out));
    const bool by_lines = pearson_by_lines(args);
    const size_t n_series = by_lines ? table->n_lines : table->cells_per_line;
    const size_t n_samples = by_lines ? table->cells_per_line : table->n_lines;
    if (n_samples >= PEARSON_FEW_SAMPLES || n_series < PEARSON_FEW_SAMPLES ||
        n_series < MANY * n_samples || is_guessed) {
        return STATUS_OK; /* of a guess it has been told how many samples there are */
    }
    return result_warn(out,
                       "each of the %zu series is a %s of %zu samples, by which coefficients are "
                       "high by chance; if the series are the %s, set series=%s",
                       n_series, choice.columns ? "column" : "row", n_samples,
                       choice.columns ? "rows" : "columns", choice.columns ? "rows" : "columns");
}
