/*
 * asc - ESRI ASCII grids as tables.
 *
 * The header is lines of a key and a number, ':' or '=' between them perhaps, keys in any case and
 * order: ncols, nrows, xllcorner and yllcorner or xllcenter and yllcenter, cellsize or dx and dy,
 * and perhaps nodata_value; and of comments, which begin with # ! ; % or /. Then follow nrows x
 * ncols values, row by row from the north, split over lines at any blank.
 *
 * A chunk is filled from the source in one go and cut back to a blank; the start of a value behind
 * the cut is given back. While the text is in the cache its values and lines are
 * counted: so every chunk knows where it begins, and a wrong number of values is found here. Nearly
 * all files have a line for each row: such lines are decoded by decimal_run_cells() whole, the rest
 * (lines of another length, the other decimal sign, nan) value by value.
 *
 * Sources: the format as ArcGIS documents it (ASCII to Raster), and what GDAL's driver AAIGrid
 * writes beside it: dx and dy, NODATA that is nan.
 */
#include "formats/base/decimal.h"
#include "formats/table/foreign.h"
#include "formats/table/table_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The state of an ESRI ASCII table. */
struct asc {
    struct grid *grid;
    size_t n_cells;  /* rows * columns */
    char point;      /* tried first; the other one is accepted too */
    size_t n_taken;  /* values in chunks so far */
    uint64_t line;   /* where the next chunk begins: line from 1 ... */
    size_t column;   /* ... values before it in that line ... */
    uint64_t offset; /* ... byte of the unpacked stream */
};

/* --- values in text --------------------------------------------------------------------------- */

static bool is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where a value lies: text[0 .. n). n = 0: there is none before the end. */
struct value {
    const unsigned char *text;
    size_t n;
};

/* The first value of p .. end. Moves *line and *column (of the text at p: from 1, and values before
 * it in its line) to it. */
static struct value find_value(const unsigned char *p, const unsigned char *end, uint64_t *line,
                               size_t *column)
{
    while (p < end && is_blank(*p)) {
        if (*p == '\n') {
            (*line)++;
            *column = 0;
        }
        p++;
    }
    const unsigned char *q = p;
    while (q < end && !is_blank(*q)) {
        q++;
    }
    return (struct value){.text = p, .n = (size_t)(q - p)};
}

static bool says_missing(const struct value *v)
{
    return table_says_missing((const char *)v->text, v->n);
}

/* --- the header ------------------------------------------------------------------------------- */

enum { HEAD_BYTES = 64 << 10, MAX_SIDE = INT32_MAX };

enum key {
    NCOLS,
    NROWS,
    XLLCORNER,
    YLLCORNER,
    XLLCENTER,
    YLLCENTER,
    CELLSIZE,
    DX,
    DY,
    NODATA_VALUE,
    N_KEYS
};
static const char *const key_names[N_KEYS] = {"ncols",     "nrows",       "xllcorner", "yllcorner",
                                              "xllcenter", "yllcenter",   "cellsize",  "dx",
                                              "dy",        "nodata_value"};

/* The header while it is being read. */
struct header {
    const char *file;
    uint64_t line[N_KEYS]; /* where the key stands; 0: nowhere */
    double value[N_KEYS];
};

static enum key find_key(const unsigned char *text, size_t n)
{
    if (n == strlen("nodata") && strncasecmp((const char *)text, "nodata", n) == 0) {
        return NODATA_VALUE;
    }
    enum key k = 0;
    while (k < N_KEYS &&
           (strlen(key_names[k]) != n || strncasecmp((const char *)text, key_names[k], n) != 0)) {
        k++;
    }
    return k;
}

static bool parse(const struct value *v, double *out)
{
    const char *const text = (const char *)v->text;
    return decimal_parse(text, v->n, '.', out) || decimal_parse(text, v->n, ',', out);
}

static bool begins_key(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* A byte order mark is skipped. */
static size_t mark_bytes(const unsigned char *head, size_t n)
{
    return n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Where what stands behind a value in its line begins: its LF, or `end`, when that is nothing. */
static const unsigned char *after_value(const struct value *v, const unsigned char *end)
{
    const unsigned char *p = v->text + v->n;
    while (p < end && is_blank(*p) && *p != '\n') {
        p++;
    }
    return p;
}

static bool is_infinite(const struct value *v)
{
    double number;
    return decimal_parse_special((const char *)v->text, v->n, &number) && isinf(number);
}

static bool begins_comment(unsigned char c)
{
    return c == '#' || c == '!' || c == ';' || c == '%' || c == '/';
}

static const unsigned char *line_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

/* A line of the header: its key and its value, n = 0 where there is none, and what may stand
 * between them: ':', '=', ','; 0: blanks alone. */
struct entry {
    struct value key, value;
    char sign;
};

/* What the line says that begins with this word. */
static struct entry entry_of(struct value word, const unsigned char *end)
{
    struct entry e = {.key = word};
    for (e.key.n = 0; e.key.n < word.n && strchr(":=,", word.text[e.key.n]) == NULL; e.key.n++) {
    }
    const unsigned char *const stop = line_end(word.text, end), *p = word.text + e.key.n;
    for (; p < stop && (is_blank(*p) || (e.sign == 0 && strchr(":=,", *p) != NULL)); p++) {
        e.sign = is_blank(*p) ? e.sign : (char)*p;
    }
    e.value.text = p;
    while (p < stop && !is_blank(*p) && !(e.sign == ',' && *p == ',')) {
        p++;
    }
    e.value.n = (size_t)(p - e.value.text);
    return e;
}

/* Begins with a key and its number, or holds ncols and nrows with theirs among lines that begin
 * with a letter, as those of a header that is not read do. */
static bool asc_suits(const unsigned char *head, size_t n)
{
    const unsigned char *const end = head + n, *p = head + mark_bytes(head, n);
    unsigned seen = 0;
    uint64_t line = 1;
    size_t column = 0;
    for (bool is_first = true;;) {
        const struct value word = find_value(p, end, &line, &column);
        double number;
        if (word.n == 0 || !(begins_key(*word.text) || begins_comment(*word.text))) {
            break;
        }
        p = line_end(word.text, end);
        if (begins_comment(*word.text)) {
            continue;
        }
        const struct entry e = entry_of(word, end);
        const enum key k = find_key(e.key.text, e.key.n);
        const bool is_key =
            k < N_KEYS && e.value.n > 0 && (parse(&e.value, &number) || says_missing(&e.value));
        if (is_first && is_key && e.sign == 0 && after_value(&e.value, end) == p) {
            return true;
        }
        seen |= is_key ? 1U << k : 0;
        is_first = false;
    }
    return (seen & (1U << NCOLS)) != 0 && (seen & (1U << NROWS)) != 0;
}

/* Reads "key number" at *p, the first of which has been found; moves *p past it. */
static enum status read_line(struct header *h, const struct value *word, uint64_t line,
                             const unsigned char **p, const unsigned char *end)
{
    const struct entry e = entry_of(*word, end);
    const struct value v = e.value;
    const enum key k = find_key(e.key.text, e.key.n);
    if (k == N_KEYS) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": unknown key '%s'; a grid's header has ncols, "
                           "nrows, xllcorner, yllcorner, cellsize and nodata_value; if these "
                           "are there, delete the line",
                           h->file, line, excerpt_of(e.key.text, e.key.n).text);
    }
    if (e.sign == ',') {
        return foreign_fail(STATUS_UNSUPPORTED, &foreign_comma_grid, h->file, true);
    }
    if (h->line[k] > 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": %s stands here and in line %" PRIu64, h->file,
                           line, key_names[k], h->line[k]);
    }
    if (v.n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: line %" PRIu64 ": %s has no value", h->file, line,
                           key_names[k]);
    }
    const bool nan_allowed = k == NODATA_VALUE && says_missing(&v);
    if (nan_allowed) {
        h->value[k] = NAN;
    } else if (!parse(&v, &h->value[k]) || !isfinite(h->value[k])) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64
                           ", column 2: %s is '%s', which is not a finite number",
                           h->file, line, key_names[k], excerpt_of(v.text, v.n).text);
    }
    h->line[k] = line;
    *p = v.text + v.n;
    const unsigned char *const after = after_value(&v, end);
    if (after < end && *after != '\n') {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ", column 3: more follows the value of %s", h->file,
                           line, key_names[k]);
    }
    return STATUS_OK;
}

static enum status missing(const struct header *h, const char *what)
{
    return status_fail(STATUS_BAD_INPUT, "%s: its header has no %s", h->file, what);
}

static enum status beside(const struct header *h, enum key a, enum key b)
{
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ": %s stands beside %s of line %" PRIu64, h->file,
                       h->line[b], key_names[b], key_names[a], h->line[a]);
}

static enum status check_side(const struct header *h, enum key k, size_t *out)
{
    const double v = h->value[k];
    if (h->line[k] == 0) {
        return missing(h, key_names[k]);
    }
    if (!(v >= 1 && v <= MAX_SIDE) || v != floor(v)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": %s is %.17g, not a whole number from 1 to %d",
                           h->file, h->line[k], key_names[k], v, (int)MAX_SIDE);
    }
    *out = (size_t)v;
    return STATUS_OK;
}

static enum status check_size(const struct header *h, enum key k)
{
    if (h->value[k] > 0 && h->value[k] <= GRID_MAX_CELL) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ": %s is %.17g, not above 0 and up to %g", h->file,
                       h->line[k], key_names[k], h->value[k], (double)GRID_MAX_CELL);
}

/* The origin: corner or centre, the same in x and y. */
static enum status take_origin(const struct header *h, struct grid *g)
{
    static const enum key keys[2][2] = {{XLLCORNER, YLLCORNER}, {XLLCENTER, YLLCENTER}};
    for (size_t i = 0; i < 2; i++) {
        if (h->line[keys[0][i]] > 0 && h->line[keys[1][i]] > 0) {
            return beside(h, keys[0][i], keys[1][i]);
        }
    }
    g->is_centred = h->line[XLLCENTER] > 0 || h->line[YLLCENTER] > 0;
    const enum key *const pair = keys[g->is_centred];
    const enum key x = keys[h->line[XLLCENTER] > 0][0], y = keys[h->line[YLLCENTER] > 0][1];
    if (h->line[x] > 0 && h->line[y] > 0 && (x != pair[0] || y != pair[1])) {
        const bool is_corner = x == XLLCORNER;
        const double half = g->cell_y / 2;
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": %s stands beside %s of line %" PRIu64
                           ", and the origin is a corner or a centre in both; write %s %.17g there",
                           h->file, h->line[y], key_names[y], key_names[x], h->line[x],
                           key_names[is_corner ? YLLCORNER : YLLCENTER],
                           h->value[y] + (is_corner ? -half : half));
    }
    if (h->line[pair[0]] == 0 || h->line[pair[1]] == 0) {
        return missing(h, key_names[pair[h->line[pair[0]] > 0]]);
    }
    g->x = h->value[pair[0]];
    g->y = h->value[pair[1]];
    g->has_origin = true;
    return STATUS_OK;
}

static enum status take_cell(const struct header *h, struct grid *g)
{
    const bool square = h->line[CELLSIZE] > 0;
    const enum key keys[2] = {square ? CELLSIZE : DX, square ? CELLSIZE : DY};
    if (square && (h->line[DX] > 0 || h->line[DY] > 0)) {
        return beside(h, CELLSIZE, h->line[DX] > 0 ? DX : DY);
    }
    for (size_t i = 0; i < 2; i++) {
        if (h->line[keys[i]] == 0) {
            return missing(h, h->line[DX] > 0 ? "dy" : h->line[DY] > 0 ? "dx" : "cellsize");
        }
        STATUS_TRY(check_size(h, keys[i]));
    }
    g->cell_x = h->value[keys[0]];
    g->cell_y = h->value[keys[1]];
    return STATUS_OK;
}

/* A value needs a digit and what parts it from the next. */
static enum status check_claim(const struct table *t, const struct asc *a)
{
    const uint64_t all = source_most_bytes(t->source);
    const uint64_t most = all > a->offset ? all - a->offset : 0;
    if (a->n_cells <= most / 2 + most % 2) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: its header claims %zu rows x %zu columns, but %s%" PRIu64
                       " bytes follow; it was cut short or its header is wrong",
                       source_name(t->source), a->grid->rows, a->grid->columns,
                       source_is_packed(t->source) ? "at most " : "only ", most);
}

/* What the header says of the grid. */
static enum status take_header(const struct table *t, const struct header *h, struct asc *a)
{
    size_t rows = 0, columns = 0;
    STATUS_TRY(check_side(h, NCOLS, &columns));
    STATUS_TRY(check_side(h, NROWS, &rows));
    STATUS_TRY(grid_new(rows, columns, &a->grid));
    struct grid *const g = a->grid;
    g->has_nodata = h->line[NODATA_VALUE] > 0;
    g->nodata = h->value[NODATA_VALUE];
    a->n_cells = rows * columns; /* each below 2^31 */
    STATUS_TRY(take_cell(h, g));
    STATUS_TRY(take_origin(h, g));
    STATUS_TRY(grid_set_prj(g, t->options.prj));
    return check_claim(t, a);
}

/* Reads the header, and where its values begin. The sizes in it have been checked against the
 * file's. */
static enum status read_header(struct table *t, struct asc *a)
{
    const unsigned char *text;
    size_t n;
    struct header h = {.file = source_name(t->source)};
    STATUS_TRY(source_peek(t->source, HEAD_BYTES, &text, &n));
    const unsigned char *p = text + mark_bytes(text, n);
    const unsigned char *const end = text + n;
    uint64_t line = 1;
    for (;;) {
        size_t column = 0;
        const struct value word = find_value(p, end, &line, &column);
        if (word.n == 0) {
            return status_fail(STATUS_BAD_INPUT, "%s: no values follow its header in %zu bytes",
                               h.file, n);
        }
        if (begins_comment(*word.text)) {
            p = line_end(word.text, end);
            continue;
        }
        if (!begins_key(*word.text) || says_missing(&word) || is_infinite(&word)) {
            break;
        }
        STATUS_TRY(read_line(&h, &word, line, &p, end));
    }
    a->line = line;
    /* From the line's start on, so that columns are counted rightly. */
    const unsigned char *values = p;
    for (const unsigned char *q = p; q < end && is_blank(*q); q++) {
        values = *q == '\n' ? q + 1 : values;
    }
    a->offset = (size_t)(values - text);
    const size_t left = (size_t)(end - values);
    const bool has_comma = memchr(values, ',', left) != NULL;
    a->point = has_comma && memchr(values, '.', left) == NULL ? ',' : '.';
    return take_header(t, &h, a);
}

static void asc_close(void *state)
{
    grid_free(((struct asc *)state)->grid);
}

static enum status asc_open(struct table *t)
{
    struct asc *const a = t->state;
    STATUS_TRY(read_header(t, a));
    STATUS_TRY(table_skip(t, (size_t)a->offset));
    table_set_grid(t, a->grid);
    return STATUS_OK;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Values that begin in p[0 .. n), which begins after a blank. */
static size_t count_values(const unsigned char *p, size_t n)
{
    enum { STEP = 255 }; /* so that a byte holds the count, and the loop runs in vectors */
    size_t total = n > 0 && !is_blank(p[0]);
    for (size_t from = 1; from < n; from += STEP) {
        const size_t left = n - from, step = left < STEP ? left : STEP;
        const unsigned char *const q = p + from - 1;
        unsigned char count = 0;
        for (size_t i = 0; i < step; i++) {
            const unsigned before = (unsigned char)(q[i] - '\t'),
                           here = (unsigned char)(q[i + 1] - '\t');
            const unsigned blank_before = (before <= 4) | (q[i] == ' ');
            const unsigned blank_here = (here <= 4) | (q[i + 1] == ' ');
            count = (unsigned char)(count + (blank_before & ~blank_here));
        }
        total += count;
    }
    return total;
}

static enum status too_long(const struct table *t, const unsigned char *p, size_t n)
{
    const struct asc *const a = t->state;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: a value, '%s', is longer than %zu bytes",
                       source_name(t->source), a->line, a->column + 1, excerpt_of(p, n).text, n);
}

/* Reads up to `cap` bytes that end with a blank; *n = 0 at the end. */
static enum status fill(struct table *t, unsigned char *raw, size_t cap, size_t *n)
{
    size_t len = 0, whole;
    *n = 0;
    const enum status st = source_read(t->source, raw, cap, &len);
    if (st != STATUS_OK || len == 0) {
        return st;
    }
    if (len < cap && !is_blank(raw[len - 1])) {
        raw[len++] = '\n'; /* a last value may end the file */
    }
    for (whole = len; whole > 0 && !is_blank(raw[whole - 1]);) {
        whole--;
    }
    if (whole == 0) {
        return too_long(t, raw, len);
    }
    *n = whole;
    return source_unread(t->source, raw + whole, len - whole);
}

static enum status too_few(const struct table *t)
{
    const struct asc *const a = t->state;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ": ends after %zu values; its header claims %zu rows x "
                       "%zu columns, which are %zu",
                       source_name(t->source), a->line - (a->column == 0), a->n_taken,
                       a->grid->rows, a->grid->columns, a->n_cells);
}

static enum status too_many(const struct table *t, const unsigned char *p, size_t n)
{
    const struct asc *const a = t->state;
    uint64_t line = a->line;
    size_t column = a->column;
    struct value v = find_value(p, p + n, &line, &column);
    for (size_t left = a->n_cells - a->n_taken; left > 0; left--) {
        column++;
        v = find_value(v.text + v.n, p + n, &line, &column);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: '%s' is one value more than the %zu rows "
                       "x %zu columns that its header claims",
                       source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text,
                       a->grid->rows, a->grid->columns);
}

/* Moves the place of the next chunk past this text. */
static void move_past(struct asc *a, const unsigned char *p, size_t n, size_t n_values)
{
    const unsigned char *const newline = memrchr(p, '\n', n);
    if (newline == NULL) {
        a->column += n_values;
    } else {
        const unsigned char *const tail = newline + 1;
        a->column = count_values(tail, (size_t)(p + n - tail));
        a->line += table_count_byte(p, n, '\n');
    }
    a->n_taken += n_values;
    a->offset += n;
}

static enum status asc_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct asc *const a = t->state;
    /* Two bytes make a value, one with its blank; one byte is for the blank of the last one. */
    const size_t room = c->values_cap / sizeof(double) < c->raw_cap / 2
                            ? 2 * (c->values_cap / sizeof(double))
                            : c->raw_cap;
    if (room < 2) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", source_name(t->source));
    }
    for (;;) {
        size_t n;
        STATUS_TRY(fill(t, c->raw, room - 1, &n));
        if (n == 0) {
            *end = true;
            return a->n_taken < a->n_cells ? too_few(t) : STATUS_OK;
        }
        const size_t n_values = count_values(c->raw, n);
        if (n_values > a->n_cells - a->n_taken) {
            return too_many(t, c->raw, n);
        }
        c->first_line = a->line;
        c->first_column = a->column;
        c->file_offset = a->offset;
        move_past(a, c->raw, n, n_values);
        if (n_values > 0) {
            c->raw_len = n;
            return STATUS_OK;
        }
    }
}

/* --- decoding --------------------------------------------------------------------------------- */

/* Takes what decimal_run_cells() can; moves *line and *column. */
static void run_cells(struct decimal_run *run, size_t row_cells, uint64_t *line, size_t *column)
{
    const double *const before = run->out;
    const bool in_row = *column < row_cells;
    run->column = *column;
    run->last = in_row ? row_cells : SIZE_MAX;
    run->to_line_end = in_row;
    decimal_run_cells(run);
    if (in_row) { /* it passes line ends after whole rows alone */
        *line += (*column + (size_t)(run->out - before)) / row_cells;
    }
    *column = run->column;
}

static enum status take_value(const struct asc *a, const struct table *t, struct value v,
                              uint64_t line, size_t column, double *out)
{
    const char *const text = (const char *)v.text;
    if (says_missing(&v)) {
        *out = NAN;
        return STATUS_OK;
    }
    if (!decimal_parse(text, v.n, a->point, out)) {
        const char other = a->point == '.' ? ',' : '.';
        if (!decimal_parse(text, v.n, other, out)) {
            return status_fail(
                STATUS_BAD_INPUT, "%s: line %" PRIu64 ", column %zu: '%s' is not a number%s",
                source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text,
                is_infinite(&v) ? ": it is infinite; write the number of nodata_value there" : "");
        }
        if (table_may_be_grouped(text, v.n, other)) {
            table_note(t, TABLE_NOTE_GROUPED, line, column);
        }
    }
    if (!isfinite(*out)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ", column %zu: '%s' is beyond the largest double",
                           source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text);
    }
    return STATUS_OK;
}

static enum status asc_decode(const struct table *t, struct table_chunk *c)
{
    const struct asc *const a = t->state;
    double *const values = c->values;
    uint64_t line = c->first_line;
    size_t column = c->first_column;
    struct decimal_run run = {.at = (const char *)c->raw,
                              .end = (const char *)c->raw + c->raw_len,
                              .out = values,
                              .out_end = values + c->values_cap / sizeof *values,
                              .blanks = true,
                              .point = a->point};
    for (;;) {
        run_cells(&run, a->grid->columns, &line, &column);
        const struct value v = find_value((const unsigned char *)run.at,
                                          (const unsigned char *)run.end, &line, &column);
        if (v.n == 0) {
            break;
        }
        if (run.out == run.out_end) {
            return status_fail(STATUS_INTERNAL, "%s: more values than a chunk has room for",
                               source_name(t->source));
        }
        STATUS_TRY(take_value(a, t, v, line, column, run.out));
        c->n_missing += *run.out != *run.out;
        run.out++;
        run.at = (const char *)v.text + v.n;
        column++;
    }
    c->n_cells = (size_t)(run.out - values);
    if (t->info.has_missing_value) {
        c->n_missing = table_mark_nodata(values, c->n_cells, &t->choice.missing, a->grid->nodata);
    }
    return STATUS_OK;
}

const struct table_format asc_format = {
    .name = "asc",
    .state_bytes = sizeof(struct asc),
    .takes = {[TABLE_MISSING_VALUE] = true},
    .suits = asc_suits,
    .open = asc_open,
    .next = asc_next,
    .decode = asc_decode,
    .close = asc_close,
};
