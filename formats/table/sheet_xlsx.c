/*
 * sheet_xlsx - the cells of an Excel workbook: each sheet is a part of its own, and so are the
 * texts that cells share, and the styles that make dates of numbers.
 *
 * Source: ECMA-376, part 1, sections 12.3, 18.2.19, 18.3.1, 18.4.8, 18.8.30 and 18.17.4, and part
 * 2, section 9. Elements are known by their names without prefix, since the strict and the
 * transitional form have other namespaces.
 */
#include "formats/table/sheet.h"

#include "formats/base/decimal.h"
#include "formats/base/moment.h"
#include "formats/source/unpack.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- parts ------------------------------------------------------------------------------------ */

/* Calls take() as each element of a part begins. */
static enum status each_element(struct sheet_book *b, const char *part,
                                enum status (*take)(struct sheet_book *b))
{
    enum xml_event event = XML_BEGIN;
    STATUS_TRY(sheet_open_part(b, part));
    while (event != XML_DONE) {
        STATUS_TRY(xml_next(&b->xml, &event));
        STATUS_TRY(event == XML_BEGIN ? take(b) : STATUS_OK);
    }
    return STATUS_OK;
}

static struct xml_span attribute(const struct sheet_book *b, const char *name)
{
    struct xml_span value = {"", 0};
    (void)xml_attribute(&b->xml, name, &value);
    return value;
}

/* SIZE_MAX: it is no number, or a large one. */
static size_t number_of(struct xml_span text)
{
    enum { MOST = 1 << 30 };
    size_t n = 0, i = 0;
    for (; i < text.n && text.text[i] >= '0' && text.text[i] <= '9' && n < MOST; i++) {
        n = 10 * n + (size_t)(text.text[i] - '0');
    }
    return i == text.n && i > 0 ? n : SIZE_MAX;
}

static bool ends_with(struct xml_span text, const char *ending)
{
    const size_t n = strlen(ending);
    return text.n >= n && memcmp(text.text + text.n - n, ending, n) == 0;
}

/* Sets *out to an attribute's text, with a path in front; for free(). */
static enum status copy(const struct sheet_book *b, const char *path, const char *name, char **out)
{
    struct bytes text = {0};
    const struct xml_span value = attribute(b, name);
    const bool is_whole = value.n > 0 && value.text[0] == '/';
    enum status code = bytes_printf(&text, "%s", is_whole ? "" : path);
    code = code ? code : bytes_append(&text, value.text + is_whole, value.n - is_whole);
    code = code ? code : bytes_append(&text, "", 1);
    free(*out);
    *out = (char *)text.data;
    return code;
}

static enum status take_sheet(struct sheet_book *b)
{
    if (xml_is(b->xml.name, "workbookPr")) {
        const struct xml_span value = attribute(b, "date1904");
        b->is_1904 = xml_is(value, "1") || xml_is(value, "true");
    }
    if (!xml_is(b->xml.name, "sheet")) {
        return STATUS_OK;
    }
    const struct xml_span state = attribute(b, "state");
    STATUS_TRY(sheet_add(b, attribute(b, "name")));
    struct sheet *const s = &b->sheets[b->n_sheets - 1];
    s->is_hidden = state.n > 0 && !xml_is(state, "visible");
    return copy(b, "", "id", &s->id);
}

static enum status take_relation(struct sheet_book *b)
{
    const struct xml_span type = attribute(b, "Type"), id = attribute(b, "Id");
    if (ends_with(type, "/sharedStrings")) {
        return copy(b, "xl/", "Target", &b->strings_part);
    }
    if (ends_with(type, "/styles")) {
        return copy(b, "xl/", "Target", &b->styles_part);
    }
    for (size_t i = 0; ends_with(type, "/worksheet") && i < b->n_sheets; i++) {
        if (xml_is(id, b->sheets[i].id)) {
            return copy(b, "xl/", "Target", &b->sheets[i].part);
        }
    }
    return STATUS_OK;
}

/* --- styles ----------------------------------------------------------------------------------- */

/* Whether a format makes a date of a number, by the letters of its first section that are not
 * quoted. */
static bool is_of_dates(const struct bytes *code)
{
    const char *const p = (const char *)code->data;
    bool has_month = false, has_time = false;
    for (size_t i = 0; i < code->len && p[i] != ';'; i++) {
        const char letter = (char)(p[i] | 0x20);
        if (p[i] == '"' || p[i] == '[') { /* [Red], and [h] of a duration */
            const char *const end = memchr(p + i + 1, p[i] == '[' ? ']' : '"', code->len - i - 1);
            has_time = has_time || p[i] == '[';
            i = end != NULL ? (size_t)(end - p) : i;
        } else if (p[i] == '\\' || p[i] == '_' || p[i] == '*') {
            i++;
        } else if (letter == 'y' || letter == 'd') {
            return true;
        }
        has_month = has_month || letter == 'm';
        has_time = has_time || letter == 'h' || letter == 's';
    }
    return has_month && !has_time;
}

enum { MOST_FORMATS = 1024, MOST_STYLES = 1 << 16 }; /* Excel's own limit is 250, and this */

/* The styles of cells follow the formats that they name. */
static enum status take_style(struct sheet_book *b)
{
    const size_t id = number_of(attribute(b, "numFmtId"));
    if (xml_is(b->xml.name, "numFmt") && b->formats.len / sizeof id < MOST_FORMATS) {
        bytes_clear(&b->cell.text);
        const struct xml_span code = attribute(b, "formatCode");
        STATUS_TRY(bytes_append(&b->cell.text, code.text, code.n));
        return is_of_dates(&b->cell.text) ? bytes_append(&b->formats, &id, sizeof id) : STATUS_OK;
    }
    b->in_table =
        xml_is(b->xml.name, "cellXfs") || (b->in_table && !xml_is(b->xml.name, "cellStyleXfs"));
    if (!b->in_table || !xml_is(b->xml.name, "xf") || b->styles.len == MOST_STYLES) {
        return STATUS_OK;
    }
    /* formats that have a number and no code; the last of eastern languages */
    bool is_date = (id >= 14 && id <= 17) || id == 22 || (id >= 27 && id <= 31) || id == 36 ||
                   (id >= 50 && id <= 58);
    for (size_t i = 0; i < b->formats.len; i += sizeof id) {
        is_date = is_date || memcmp(b->formats.data + i, &id, sizeof id) == 0;
    }
    const unsigned char one = is_date;
    return bytes_append(&b->styles, &one, 1);
}

/* --- shared texts ----------------------------------------------------------------------------- */

/* Looks at an event within a cell or a shared text: whether a text that comes is the value. */
static void watch_text(struct sheet_book *b, enum xml_event event)
{
    const struct xml_span name = b->xml.name;
    if (xml_is(name, "rPh")) { /* how it is spoken */
        b->in_phonetic = event == XML_BEGIN;
    } else if (xml_is(name, "v") || xml_is(name, "t")) {
        b->in_text = event == XML_BEGIN && !b->in_phonetic;
    } else if (xml_is(name, "f")) {
        b->has_formula = true;
    }
}

static enum status read_strings(struct sheet_book *b)
{
    enum xml_event event = XML_BEGIN;
    const uint64_t window = source_limits(b->source)->max_window;
    const uint64_t most = window > 0 ? window : UNPACK_MEMORY_BYTES;
    STATUS_TRY(sheet_open_part(b, b->strings_part));
    b->in_phonetic = b->in_text = false;
    while (event != XML_DONE) {
        STATUS_TRY(xml_next(&b->xml, &event));
        if (event == XML_TEXT && b->in_text) {
            STATUS_TRY(bytes_append(&b->strings, b->xml.text.text, b->xml.text.n));
        } else if (event == XML_END && xml_is(b->xml.name, "si")) {
            STATUS_TRY(bytes_append(&b->ends, &b->strings.len, sizeof b->strings.len));
        } else if (event == XML_BEGIN || event == XML_END) {
            watch_text(b, event);
        }
        if (b->strings.len + b->ends.len > most) {
            return status_fail(STATUS_TOO_LARGE,
                               "%s: the texts of its cells take more than %" PRIu64
                               " MiB of memory; save the sheet as CSV",
                               source_name(b->source), most >> 20);
        }
    }
    return STATUS_OK;
}

/* --- cells ------------------------------------------------------------------------------------ */

static enum status fail_cell(const struct sheet_book *b, const char *what)
{
    return status_fail(STATUS_BAD_INPUT, "%s: cell %s %s", b->where,
                       sheet_place_of(b->cell.row, b->cell.column).text, what);
}

/* "B7": false: it is none of a sheet. */
static bool parse_place(struct xml_span ref, uint32_t *row, uint32_t *column)
{
    uint32_t c = 0;
    size_t i = 0;
    for (; i < ref.n && ref.text[i] >= 'A' && ref.text[i] <= 'Z' && c <= SHEET_COLUMNS; i++) {
        c = 26 * c + (uint32_t)(ref.text[i] - 'A') + 1;
    }
    const size_t r = number_of((struct xml_span){ref.text + i, ref.n - i});
    *column = c - 1;
    *row = (uint32_t)(r - 1);
    return c > 0 && c <= SHEET_COLUMNS && r > 0 && r <= SHEET_ROWS;
}

static enum status begin_row(struct sheet_book *b)
{
    struct xml_span text = {"", 0};
    const size_t said =
        xml_attribute(&b->xml, "r", &text) ? number_of(text) : (size_t)b->next_row + 1;
    if (said == 0 || said > SHEET_ROWS || said <= b->next_row) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: a row \"%s\" stands below row %u; a sheet has %d, in their order",
                           b->where, excerpt_of(text.text, text.n).text, (unsigned)b->next_row,
                           SHEET_ROWS);
    }
    b->cell.row = (uint32_t)said - 1;
    b->next_row = (uint32_t)said;
    b->next_column = 0;
    return STATUS_OK;
}

static enum status begin_cell(struct sheet_book *b)
{
    struct xml_span ref, type = attribute(b, "t");
    uint32_t row = b->cell.row, column = b->next_column;
    if (xml_attribute(&b->xml, "r", &ref) &&
        (!parse_place(ref, &row, &column) || row != b->cell.row || column < b->next_column)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: a cell \"%s\" stands in row %u, column %u or beyond", b->where,
                           excerpt_of(ref.text, ref.n).text, (unsigned)b->cell.row + 1,
                           (unsigned)b->next_column + 1);
    }
    b->cell.column = column;
    b->next_column = column + 1;
    b->type = type.n == 0 ? 'n' : xml_is(type, "str") ? 'f' : type.text[0];
    b->style = number_of(attribute(b, "s"));
    b->in_cell = true;
    b->in_text = b->in_phonetic = b->has_formula = false;
    bytes_clear(&b->cell.text);
    return STATUS_OK;
}

/* Days since the last of 1899, of which 1900 had one too many for Excel, to a date; a number that
 * is none stays one. */
static enum status write_date(struct sheet_book *b)
{
    enum { TO_1970 = 25569, LATER = 1462, WRONG_DAY = 60, DAY_S = 86400, MS = 1000 };
    static const double end = 2958466; /* of the year 9999 */
    struct sheet_cell *const c = &b->cell;
    double days;
    char text[MOMENT_BYTES];
    if (!decimal_parse((const char *)c->text.data, c->text.len, '.', &days) || !(days >= 0) ||
        days >= end) {
        return STATUS_OK;
    }
    const double ms = round(days * DAY_S * MS);
    const double from = (b->is_1904 ? LATER : days < WRONG_DAY ? 1 : 0) - TO_1970;
    const bool is_day = fmod(ms, (double)DAY_S * MS) == 0;
    (void)moment_text(ms / MS + from * DAY_S, text);
    c->kind = SHEET_WORD;
    bytes_clear(&c->text);
    return bytes_append(&c->text, text, is_day ? strcspn(text, "T") : strcspn(text, "Z"));
}

/* Takes a shared text, by its number. */
static enum status take_string(struct sheet_book *b)
{
    const struct bytes *const number = &b->cell.text;
    size_t i = number_of((struct xml_span){(const char *)number->data, number->len}), from = 0, to;
    if (b->is_scan) {
        return STATUS_OK;
    }
    if (i >= b->ends.len / sizeof from) {
        return fail_cell(b, "has a text that the file does not hold");
    }
    memcpy(&to, b->ends.data + i * sizeof to, sizeof to);
    if (i > 0) {
        memcpy(&from, b->ends.data + (i - 1) * sizeof from, sizeof from);
    }
    bytes_clear(&b->cell.text);
    return bytes_append(&b->cell.text, b->strings.data + from, to - from);
}

/* A cell has ended: what its text means. */
static enum status end_cell(struct sheet_book *b)
{
    struct sheet_cell *const c = &b->cell;
    const bool is_text = strchr("sif", b->type) != NULL;
    bool is_one, is_date;
    b->in_cell = false;
    c->kind = is_text ? SHEET_TEXT : b->type == 'n' ? SHEET_NUMBER : SHEET_WORD;
    c->is_unstored = c->text.len == 0 && b->has_formula && b->type != 'f';
    if (c->text.len == 0) {
        return STATUS_OK;
    }
    switch (b->type) {
    case 's':
        return take_string(b);
    case 'b':
        is_one = c->text.data[0] == '1';
        bytes_clear(&c->text);
        return bytes_printf(&c->text, "%s", is_one ? "TRUE" : "FALSE");
    case 'e':
        c->kind = SHEET_ERROR;
        return STATUS_OK;
    case 'n':
        is_date = b->style < b->styles.len && b->styles.data[b->style] != 0;
        c->kind = is_date && b->is_scan ? SHEET_WORD : SHEET_NUMBER;
        return is_date && !b->is_scan ? write_date(b) : STATUS_OK;
    default:
        return STATUS_OK;
    }
}

static enum status xlsx_next(struct sheet_book *b, bool *end)
{
    for (;;) {
        enum xml_event event;
        STATUS_TRY(xml_next(&b->xml, &event));
        const struct xml_span name = b->xml.name;
        *end = event == XML_DONE;
        if (*end) {
            return STATUS_OK;
        }
        if (event == XML_TEXT) {
            STATUS_TRY(b->in_cell && b->in_text ? sheet_append(b, b->xml.text) : STATUS_OK);
        } else if (b->in_cell && event == XML_END && xml_is(name, "c")) {
            STATUS_TRY(end_cell(b));
            if (b->cell.text.len > 0 || b->cell.is_unstored) {
                return STATUS_OK;
            }
        } else if (b->in_cell) {
            watch_text(b, event);
        } else if (xml_is(name, "sheetData")) {
            b->in_table = event == XML_BEGIN;
        } else if (b->in_table && event == XML_BEGIN && xml_is(name, "row")) {
            STATUS_TRY(begin_row(b));
        } else if (b->in_table && event == XML_BEGIN && xml_is(name, "c")) {
            STATUS_TRY(begin_cell(b));
        }
    }
}

static enum status begin_sheet(struct sheet_book *b, size_t sheet)
{
    b->at = sheet;
    b->next_row = b->next_column = 0;
    b->in_table = b->in_cell = false;
    b->cell.row = 0;
    b->cell.n_rows = b->cell.n_columns = 1;
    return sheet_open_part(b, b->sheets[sheet].part);
}

static enum status xlsx_begin(struct sheet_book *b, size_t sheet)
{
    STATUS_TRY(b->strings_part != NULL ? read_strings(b) : STATUS_OK);
    return begin_sheet(b, sheet);
}

static enum status xlsx_scan(struct sheet_book *b, const char *wanted)
{
    bool has_one = false;
    STATUS_TRY(each_element(b, "xl/workbook.xml", take_sheet));
    STATUS_TRY(each_element(b, "xl/_rels/workbook.xml.rels", take_relation));
    STATUS_TRY(b->styles_part != NULL ? each_element(b, b->styles_part, take_style) : STATUS_OK);
    for (size_t i = 0; i < b->n_sheets; i++) {
        const struct sheet *const s = &b->sheets[i];
        if (s->part == NULL || (wanted != NULL && !sheet_is(b, i, wanted))) {
            continue; /* a chart, or another one */
        }
        STATUS_TRY(begin_sheet(b, i));
        STATUS_TRY(sheet_count(b, has_one));
        has_one = has_one || (s->n_numbers > 0 && !s->is_hidden);
    }
    return STATUS_OK;
}

const struct sheet_format sheet_xlsx = {
    .name = "xlsx", .scan = xlsx_scan, .begin = xlsx_begin, .next = xlsx_next};
