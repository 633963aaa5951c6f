/*
 * asc_head - the header of an ESRI ASCII grid.
 *
 * Sources: the format as ArcGIS documents it (ASCII to Raster), and what GDAL's driver AAIGrid
 * writes beside it: dx and dy, NODATA that is nan.
 */
#include "formats/table/asc.h"

#include "formats/base/decimal.h"
#include "formats/table/npy.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

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

static const char *const key_names[N_KEYS] = {[NCOLS] = "ncols",
                                              [NROWS] = "nrows",
                                              [XLLCORNER] = "xllcorner",
                                              [YLLCORNER] = "yllcorner",
                                              [XLLCENTER] = "xllcenter",
                                              [YLLCENTER] = "yllcenter",
                                              [CELLSIZE] = "cellsize",
                                              [DX] = "dx",
                                              [DY] = "dy",
                                              [NODATA_VALUE] = "nodata_value"};

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

bool asc_is_nan(const unsigned char *text, size_t n)
{
    if (n > 0 && (*text == '-' || *text == '+')) {
        text++;
        n--;
    }
    return n == 3 && strncasecmp((const char *)text, "nan", 3) == 0;
}

static bool parse(const struct asc_value *v, double *out)
{
    const char *const text = (const char *)v->text;
    return decimal_parse(text, v->n, '.', out) || decimal_parse(text, v->n, ',', out);
}

static bool begins_key(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* A byte order mark is passed over. */
static size_t mark_bytes(const unsigned char *head, size_t n)
{
    return n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Where what stands behind a value in its line begins: its LF, or `end`, when that is nothing. */
static const unsigned char *after_value(const struct asc_value *v, const unsigned char *end)
{
    const unsigned char *p = v->text + v->n;
    while (p < end && asc_is_blank(*p) && *p != '\n') {
        p++;
    }
    return p;
}

bool asc_suits(const unsigned char *head, size_t n)
{
    const unsigned char *const end = head + n;
    uint64_t line = 1;
    size_t column = 0;
    double number;
    const struct asc_value key = asc_find_value(head + mark_bytes(head, n), end, &line, &column);
    if (key.n == 0 || find_key(key.text, key.n) == N_KEYS) {
        return false;
    }
    const uint64_t key_line = line;
    column++;
    const struct asc_value value = asc_find_value(key.text + key.n, end, &line, &column);
    if (value.n == 0 || line != key_line || column != 1 ||
        !(parse(&value, &number) || asc_is_nan(value.text, value.n))) {
        return false;
    }
    const unsigned char *const after = after_value(&value, end);
    return after == end || *after == '\n';
}

/* Reads "key number" at *p, the first of which has been found; moves *p past it. */
static enum status read_line(struct header *h, const struct asc_value *word, uint64_t at_line,
                             const unsigned char **p, const unsigned char *end)
{
    const enum key k = find_key(word->text, word->n);
    uint64_t line = at_line;
    size_t column = 1;
    if (k == N_KEYS) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": unknown key '%s'; a grid's header has ncols, "
                           "nrows, xllcorner, yllcorner, cellsize and nodata_value",
                           h->file, line, excerpt_of(word->text, word->n).text);
    }
    if (h->line[k] > 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ": %s stands here and in line %" PRIu64, h->file,
                           line, key_names[k], h->line[k]);
    }
    const struct asc_value v = asc_find_value(word->text + word->n, end, &line, &column);
    if (v.n == 0 || line != at_line) {
        return status_fail(STATUS_BAD_INPUT, "%s: line %" PRIu64 ": %s has no value", h->file,
                           at_line, key_names[k]);
    }
    const bool nan_allowed = k == NODATA_VALUE && asc_is_nan(v.text, v.n);
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
    if (h->line[pair[0]] == 0 || h->line[pair[1]] == 0) {
        return missing(h, h->line[pair[0]] == 0 ? (g->is_centred ? "xllcenter" : "xllcorner")
                                                : (g->is_centred ? "yllcenter" : "yllcorner"));
    }
    g->x = h->value[pair[0]];
    g->y = h->value[pair[1]];
    g->has_place = true;
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
        const enum status st = check_size(h, keys[i]);
        if (st != STATUS_OK) {
            return st;
        }
    }
    g->cell_x = h->value[keys[0]];
    g->cell_y = h->value[keys[1]];
    return STATUS_OK;
}

/* A value needs a digit and what parts it from the next. */
static enum status check_claim(const struct table *t, const struct asc_head *head)
{
    const uint64_t bytes = source_file_bytes(t->source);
    const bool packed = source_is_packed(t->source);
    uint64_t most = bytes > head->bytes ? bytes - head->bytes : 0;
    if (packed) {
        most = bytes < UINT64_MAX / DEFLATE_MAX_RATIO ? bytes * DEFLATE_MAX_RATIO : UINT64_MAX;
    }
    if (head->n_cells <= most / 2 + most % 2) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: its header claims %zu rows x %zu columns, but %s%" PRIu64
                       " bytes follow; it was cut short or its header is wrong",
                       source_name(t->source), head->grid->rows, head->grid->columns,
                       packed ? "at most " : "only ", most);
}

static enum status make_grid(const struct table *t, const struct header *h, struct asc_head *head)
{
    size_t rows = 0, columns = 0;
    enum status st = check_side(h, NCOLS, &columns);
    if (st == STATUS_OK) {
        st = check_side(h, NROWS, &rows);
    }
    if (st == STATUS_OK) {
        st = grid_new(rows, columns, &head->grid);
    }
    if (st != STATUS_OK) {
        return st;
    }
    struct grid *const g = head->grid;
    st = take_cell(h, g);
    if (st == STATUS_OK) {
        st = take_origin(h, g);
    }
    if (st == STATUS_OK) {
        st = grid_set_prj(g, t->options.prj);
    }
    g->has_nodata = h->line[NODATA_VALUE] > 0;
    g->nodata = h->value[NODATA_VALUE];
    head->n_cells = rows * columns; /* each below 2^31 */
    return st != STATUS_OK ? st : check_claim(t, head);
}

enum status asc_read_head(struct table *t, struct asc_head *head)
{
    const unsigned char *text;
    size_t n;
    struct header h = {.file = source_name(t->source)};
    *head = (struct asc_head){.line = 1, .point = '.'};
    enum status st = source_peek(t->source, HEAD_BYTES, &text, &n);
    if (st != STATUS_OK) {
        return st;
    }
    const unsigned char *p = text + mark_bytes(text, n);
    const unsigned char *const end = text + n;
    uint64_t line = 1;
    for (;;) {
        size_t column = 0;
        const struct asc_value word = asc_find_value(p, end, &line, &column);
        if (word.n == 0) {
            return status_fail(STATUS_BAD_INPUT, "%s: no values follow its header in %zu bytes",
                               h.file, n);
        }
        if (!begins_key(*word.text) || asc_is_nan(word.text, word.n)) {
            break;
        }
        st = read_line(&h, &word, line, &p, end);
        if (st != STATUS_OK) {
            return st;
        }
    }
    head->line = line;
    /* From the line's start on, so that columns are counted rightly. */
    const unsigned char *values = p;
    for (const unsigned char *q = p; q < end && asc_is_blank(*q); q++) {
        values = *q == '\n' ? q + 1 : values;
    }
    head->bytes = (size_t)(values - text);
    const size_t left = (size_t)(end - values);
    if (memchr(values, ',', left) != NULL && memchr(values, '.', left) == NULL) {
        head->point = ',';
    }
    return make_grid(t, &h, head);
}
