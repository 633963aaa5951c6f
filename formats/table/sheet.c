/*
 * sheet - see sheet.h.
 *
 * The file is read twice: a scan says which sheets hold numbers and how wide each is, as a line has
 * as many cells as the widest; then the sheet's text is made as it is asked for.
 */
#include "formats/table/sheet.h"

#include "formats/base/file_name.h"
#include "formats/table/csv.h"
#include "formats/table/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_SHEETS = 4096,
    MOST_LISTED = 12,
    MOST_CELL_BYTES = 1 << 20,
    NAME_AT = 30, /* of a zip's first member */
    PIECE_BYTES = 64 << 10
};

bool sheet_suits(const char *path, const unsigned char *head, size_t n)
{
    static const char *const begins[] = {"[Content_Types].xml", "_rels/", "docProps/", "xl/",
                                         "mimetypeapplication/vnd.oasis.opendocument"};
    if (n < NAME_AT || memcmp(head, "PK\3\4", 4) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        const size_t length = strlen(begins[i]);
        if (n - NAME_AT >= length && memcmp(head + NAME_AT, begins[i], length) == 0) {
            return true;
        }
    }
    return file_name_is(path, ".xlsx .xlsm .ods");
}

struct sheet_place sheet_place_of(uint32_t row, uint32_t column)
{
    enum { LETTERS = 26, MOST = 4 };
    struct sheet_place place;
    char letters[MOST + 1] = "";
    size_t at = MOST;
    for (uint32_t n = column + 1; n > 0 && at > 0; n = (n - 1) / LETTERS) {
        letters[--at] = (char)('A' + (n - 1) % LETTERS);
    }
    snprintf(place.text, sizeof place.text, "%s%u", letters + at, (unsigned)row + 1);
    return place;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* What is read is bounded by the file's size, whatever it calls a sheet how often. */
static enum status count_read(struct sheet_book *b, size_t n)
{
    const struct source_limits *const limits = source_limits(b->source);
    b->n_read += n;
    STATUS_TRY(source_check_stop(b->source));
    return source_check_limits(limits, source_name(b->source), source_file_bytes(b->source),
                               b->n_read);
}

/* The end of a part checks what has been read of it. */
static enum status read_part(void *user, void *dst, size_t cap, size_t *n)
{
    struct sheet_book *const b = user;
    STATUS_TRY(zip_input_read(b->zip, dst, cap, n));
    STATUS_TRY(*n == 0 ? zip_input_end(b->zip) : STATUS_OK);
    return count_read(b, *n);
}

/* Finds a part by its name: *found. */
static enum status find_part(struct sheet_book *b, const char *name, bool *found)
{
    bool end = false;
    zip_input_free(b->zip);
    STATUS_TRY(zip_input_open(b->source, &b->zip));
    for (*found = false; !end && !*found;) {
        STATUS_TRY(zip_input_next(b->zip, &b->part, &end));
        STATUS_TRY(count_read(b, sizeof b->part));
        *found = !end && strcasecmp(b->part.name, name) == 0;
    }
    return STATUS_OK;
}

enum status sheet_open_part(struct sheet_book *b, const char *part)
{
    const char *const file = source_name(b->source);
    bool found;
    STATUS_TRY(find_part(b, part, &found));
    if (!found) {
        return status_fail(STATUS_BAD_INPUT, "%s: has no member \"%s\", as a spreadsheet has", file,
                           excerpt_of(part, strlen(part)).text);
    }
    free(b->where);
    if (asprintf(&b->where, "%s: member \"%s\"", file, excerpt_of(part, strlen(part)).text) < 0) {
        b->where = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", file);
    }
    xml_input_free(&b->xml);
    b->xml = (struct xml_input){.read = read_part, .user = b, .where = b->where};
    return zip_input_begin(b->zip, &b->part, b->where);
}

/* --- sheets ----------------------------------------------------------------------------------- */

enum status sheet_add(struct sheet_book *b, struct xml_span name)
{
    struct bytes text = {0};
    if (b->n_sheets == b->sheets_cap) {
        const size_t cap = 2 * b->sheets_cap + 16;
        struct sheet *const sheets =
            cap < MOST_SHEETS ? realloc(b->sheets, cap * sizeof *sheets) : NULL;
        if (sheets == NULL) {
            return status_fail(cap < MOST_SHEETS ? STATUS_NO_MEMORY : STATUS_UNSUPPORTED,
                               "%s: no room for more than %zu sheets", source_name(b->source),
                               b->n_sheets);
        }
        b->sheets = sheets;
        b->sheets_cap = cap;
    }
    enum status code = bytes_append(&text, name.text, name.n);
    code = code ? code : bytes_append(&text, "", 1);
    b->sheets[b->n_sheets++] = (struct sheet){.name = (char *)text.data};
    return code;
}

enum status sheet_append(struct sheet_book *b, struct xml_span text)
{
    STATUS_TRY(bytes_append(&b->cell.text, text.text, text.n));
    return b->cell.text.len <= MOST_CELL_BYTES
               ? STATUS_OK
               : status_fail(STATUS_TOO_LARGE, "%s: cell %s holds more than 1 MiB of text",
                             b->where, sheet_place_of(b->cell.row, b->cell.column).text);
}

bool sheet_is(const struct sheet_book *b, size_t i, const char *wanted)
{
    char *end;
    const unsigned long number = strtoul(wanted, &end, 10);
    return strcmp(b->sheets[i].name, wanted) == 0 ||
           (*wanted >= '0' && *wanted <= '9' && *end == '\0' && number == i + 1);
}

static enum status check_place(const struct sheet_book *b)
{
    const struct sheet_cell *const c = &b->cell;
    return c->row < SHEET_ROWS && c->n_rows <= SHEET_ROWS - c->row && c->column < SHEET_COLUMNS &&
                   c->n_columns <= SHEET_COLUMNS - c->column
               ? STATUS_OK
               : status_fail(STATUS_UNSUPPORTED,
                             "%s: has cells beyond XFD1048576, the last one of a sheet", b->where);
}

enum status sheet_count(struct sheet_book *b, bool briefly)
{
    for (;;) {
        const struct sheet_cell *const c = &b->cell;
        bool end;
        STATUS_TRY(b->format->next(b, &end));
        if (end) {
            return STATUS_OK;
        }
        STATUS_TRY(check_place(b));
        struct sheet *const s = &b->sheets[b->at];
        const size_t rows = (size_t)c->row + c->n_rows, columns = (size_t)c->column + c->n_columns;
        s->n_rows = rows > s->n_rows ? rows : s->n_rows;
        s->n_columns = columns > s->n_columns ? columns : s->n_columns;
        s->n_filled++;
        s->n_numbers += c->kind == SHEET_NUMBER && !c->is_unstored;
        if (c->is_unstored && !s->has_unstored) {
            s->has_unstored = true;
            s->unstored_row = c->row;
            s->unstored_column = c->column;
        }
        if (briefly && s->n_numbers > 0) {
            return STATUS_OK;
        }
    }
}

/* "A", "B": names of sheets that hold numbers, where `all` or not, but for one. */
static enum status list_names(const struct sheet_book *b, size_t except, bool all,
                              struct bytes *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < b->n_sheets; i++) {
        const struct sheet *const s = &b->sheets[i];
        if (i == except || !(all || s->n_numbers > 0)) {
            continue;
        }
        if (++*n <= MOST_LISTED) {
            STATUS_TRY(bytes_printf(out, "%s\"%s\"", *n > 1 ? ", " : "",
                                    excerpt_of(s->name, strlen(s->name)).text));
        } else if (*n == MOST_LISTED + 1) {
            STATUS_TRY(bytes_printf(out, ", ..."));
        }
    }
    return bytes_append(out, "", 1);
}

/* The one that is wanted; else the first one with numbers that is not hidden, or with anything. */
static size_t find_sheet(const struct table *t, const struct sheet_book *b)
{
    size_t found = SIZE_MAX;
    unsigned best = 0;
    for (size_t i = 0; i < b->n_sheets; i++) {
        const struct sheet *const s = &b->sheets[i];
        const bool is_wanted = t->options.sheet != NULL && sheet_is(b, i, t->options.sheet);
        const unsigned worth = t->options.sheet != NULL           ? (is_wanted ? 1 : 0)
                               : s->n_numbers > 0                 ? (s->is_hidden ? 3 : 4)
                               : s->n_filled > 0 && !s->is_hidden ? 2
                                                                  : 1;
        if (worth > best) {
            best = worth;
            found = i;
        }
    }
    return found;
}

static enum status choose(struct table *t, struct sheet_book *b, size_t *out)
{
    const char *const file = source_name(t->source), *const wanted = t->options.sheet;
    struct bytes names = {0};
    size_t n;
    *out = find_sheet(t, b);
    const bool is_found = *out != SIZE_MAX;
    enum status code = list_names(b, *out, !is_found, &names, &n);
    if (code == STATUS_OK && b->n_sheets == 0) {
        code = status_fail(STATUS_BAD_INPUT, "%s: has no sheet of a spreadsheet", file);
    } else if (code == STATUS_OK && !is_found) {
        code = status_fail(STATUS_BAD_ARGUMENT, "%s: has no sheet \"%s\"; its sheets are %s", file,
                           excerpt_of(wanted, strlen(wanted)).text, (char *)names.data);
    } else if (code == STATUS_OK && wanted == NULL && n > 0) {
        const char *const name = b->sheets[*out].name;
        code = table_warn(
            t, "the sheet \"%s\" is read; others have numbers, too: %s (-s sheet=NAME reads one)",
            excerpt_of(name, strlen(name)).text, (char *)names.data);
    }
    bytes_free(&names);
    return code;
}

/* --- the text --------------------------------------------------------------------------------- */

struct sheet_text {
    struct sheet_book book;
    size_t n_columns, line_bytes; /* of a line, at most */
    struct bytes line;            /* of the row at hand, from `at` on not yet given ... */
    size_t at, n_lines;           /* ... and so many times more */
    size_t n_blank, next_row;     /* empty lines above it */
    bool has_begun;               /* the book's cell is the first of the next row, unless ... */
    bool at_end, ended;           /* ... the sheet ends; its text has ended, too */
};

static enum status put_text(struct bytes *out, const struct bytes *text)
{
    STATUS_TRY(bytes_reserve(out, 2 * text->len + 2));
    unsigned char *p = out->data + out->len;
    *p++ = '"';
    for (size_t i = 0; i < text->len; i++) {
        const unsigned char c = text->data[i];
        *p++ = c < ' ' ? ' ' : c;
        if (c == '"') {
            *p++ = '"';
        }
    }
    *p++ = '"';
    out->len = (size_t)(p - out->data);
    return STATUS_OK;
}

/* Numbers and words stand without quotes, where they are what they claim to be. */
static enum status put_cell(struct bytes *out, const struct sheet_cell *c)
{
    static const char digits[] = "0123456789+-.eE",
                      signs[] =
                          "0123456789+-.:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *const text = (const char *)c->text.data;
    const bool is_number = c->kind == SHEET_NUMBER;
    bool is_bare = c->kind != SHEET_TEXT, is_na;
    for (size_t i = 0; i < c->text.len && is_bare && c->kind != SHEET_ERROR; i++) {
        is_bare = memchr(is_number ? digits : signs, text[i],
                         is_number ? sizeof digits - 1 : sizeof signs - 1) != NULL;
    }
    if (c->kind == SHEET_ERROR && !csv_is_error_value(text, c->text.len, &is_na)) {
        return bytes_append(out, "#N/A", 4); /* "Err:502" */
    }
    return is_bare ? bytes_append(out, text, c->text.len) : put_text(out, &c->text);
}

/* Makes the line of the next row that is filled. */
static enum status make_line(struct sheet_text *x)
{
    struct sheet_book *const b = &x->book;
    const struct sheet_cell *const c = &b->cell;
    size_t n_commas = 0;
    x->at = 0;
    bytes_clear(&x->line);
    STATUS_TRY(x->has_begun ? STATUS_OK : b->format->next(b, &x->at_end));
    x->has_begun = true;
    x->ended = x->at_end;
    if (x->ended) {
        return STATUS_OK;
    }
    const uint32_t row = c->row;
    x->n_blank = row - x->next_row;
    x->n_lines = c->n_rows - (size_t)1;
    x->next_row = row + (size_t)c->n_rows;
    while (!x->at_end && c->row == row) {
        for (uint32_t i = 0; i < c->n_columns; i++) {
            for (; n_commas < (size_t)c->column + i; n_commas++) {
                STATUS_TRY(bytes_append(&x->line, ",", 1));
            }
            STATUS_TRY(put_cell(&x->line, c));
            if (x->line.len > x->line_bytes) {
                return status_fail(STATUS_TOO_LARGE, "%s: row %u is longer than %zu bytes",
                                   b->where, (unsigned)row + 1, x->line_bytes);
            }
        }
        STATUS_TRY(b->format->next(b, &x->at_end));
    }
    for (; n_commas + 1 < x->n_columns; n_commas++) {
        STATUS_TRY(bytes_append(&x->line, ",", 1));
    }
    return bytes_append(&x->line, "\n", 1);
}

static enum status read_text(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    struct sheet_text *const x = user;
    (void)stop; /* which reading the file looks at */
    for (*n = 0; *n < cap;) {
        unsigned char *const to = (unsigned char *)dst + *n;
        const size_t room = cap - *n, left = x->line.len - x->at;
        const size_t blank = x->n_blank < room ? x->n_blank : room;
        const size_t part = left < room ? left : room;
        if (blank > 0) {
            memset(to, '\n', blank);
            x->n_blank -= blank;
            *n += blank;
        } else if (part > 0) {
            memcpy(to, x->line.data + x->at, part);
            x->at += part;
            *n += part;
        } else if (x->n_lines > 0) {
            x->n_lines--;
            x->at = 0;
        } else if (x->ended) {
            break;
        } else {
            STATUS_TRY(make_line(x));
        }
    }
    return STATUS_OK;
}

static void close_text(void *user)
{
    struct sheet_text *const x = user;
    struct sheet_book *const b = &x->book;
    for (size_t i = 0; i < b->n_sheets; i++) {
        free(b->sheets[i].name);
        free(b->sheets[i].id);
        free(b->sheets[i].part);
    }
    struct bytes *const all[] = {&b->strings, &b->ends,      &b->formats,
                                 &b->styles,  &b->cell.text, &x->line};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bytes_free(all[i]);
    }
    xml_input_free(&b->xml);
    zip_input_free(b->zip);
    free(b->sheets);
    free(b->strings_part);
    free(b->styles_part);
    free(b->where);
    free(x);
}

static enum status open_text(struct table *t, struct sheet_text *x)
{
    struct sheet_book *const b = &x->book;
    size_t i;
    bool is_there;
    b->source = t->source;
    STATUS_TRY(find_part(b, "xl/workbook.bin", &is_there));
    if (is_there) {
        return foreign_fail(STATUS_UNSUPPORTED, foreign_named("x.xlsb"), source_name(t->source),
                            false);
    }
    STATUS_TRY(find_part(b, "content.xml", &is_there));
    b->format = is_there ? &sheet_ods : &sheet_xlsx;
    b->is_scan = true;
    STATUS_TRY(b->format->scan(b, t->options.sheet));
    STATUS_TRY(choose(t, b, &i));
    const struct sheet *const s = &b->sheets[i];
    if (s->has_unstored) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: cell %s of \"%s\" has a formula without a value; open the file in "
                           "Excel or LibreOffice, and save it once",
                           source_name(t->source),
                           sheet_place_of(s->unstored_row, s->unstored_column).text,
                           excerpt_of(s->name, strlen(s->name)).text);
    }
    t->sheet = strdup(s->name);
    if (t->sheet == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    t->info.sheet = t->sheet;
    t->info.sheet_format = b->format->name;
    t->info.n_lines_estimate = s->n_rows;
    t->choice.signs.sep = ',';
    t->choice.comment = '\0'; /* there are no comments */
    x->n_columns = s->n_columns;
    x->line_bytes = t->options.max_line_bytes ? t->options.max_line_bytes : CSV_MAX_LINE_BYTES;
    b->is_scan = false;
    STATUS_TRY(s->n_filled > 0 ? STATUS_OK
                               : status_fail(STATUS_BAD_INPUT, "%s: the sheet \"%s\" is empty",
                                             source_name(t->source),
                                             excerpt_of(s->name, strlen(s->name)).text));
    return b->format->begin(b, i);
}

const struct table_format xlsx_format = {
    .name = "xlsx", .library = &xml_library, .version = xml_version};

enum status sheet_open(struct table *t)
{
    STATUS_TRY(table_need_seek(t, "a spreadsheet", "X.xlsx"));
    struct sheet_text *const x = calloc(1, sizeof *x);
    if (x == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    const enum status code = open_text(t, x);
    if (code != STATUS_OK) {
        close_text(x);
        return code;
    }
    const struct sheet_book *const b = &x->book;
    source_convert(t->source,
                   &(struct source_stream){.read = read_text, .close = close_text, .user = x},
                   "a spreadsheet", PIECE_BYTES + b->strings.cap + b->ends.cap + b->styles.cap);
    return STATUS_OK;
}
