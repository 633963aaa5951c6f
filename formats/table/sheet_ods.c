/*
 * sheet_ods - the cells of an OpenDocument spreadsheet: one part has all sheets.
 *
 * Source: OpenDocument 1.3, part 3, sections 9.1 and 19.385 to 19.389. Runs of equal cells and rows
 * are one element with a count. Notes and drawings have texts, too: a cell's text is that of its
 * own paragraphs.
 */
#include "formats/table/sheet.h"

#include <stdio.h>
#include <string.h>

/* How often an element counts: once where it does not say so. */
static uint32_t repeats(const struct sheet_book *b, const char *name)
{
    enum { MOST = SHEET_ROWS + 1 }; /* for which no sheet has room */
    struct xml_span text;
    uint32_t n = 0;
    if (!xml_attribute(&b->xml, name, &text)) {
        return 1;
    }
    for (size_t i = 0; i < text.n && text.text[i] >= '0' && text.text[i] <= '9' && n < MOST; i++) {
        n = 10 * n + (uint32_t)(text.text[i] - '0');
    }
    return n < MOST ? n : MOST;
}

/* Passes that many rows or columns. */
static void pass(uint32_t *next, uint32_t n)
{
    *next = *next < UINT32_MAX - n ? *next + n : UINT32_MAX;
}

/* PT12H30M00S, as the part of a day that .xlsx stores. */
static enum status make_days(struct sheet_cell *c)
{
    double h, m, s;
    char end;
    STATUS_TRY(bytes_append(&c->text, "", 1));
    const int n = sscanf((const char *)c->text.data, "PT%lfH%lfM%lf%c", &h, &m, &s, &end);
    c->text.len--;
    if (n != 4 || end != 'S') {
        return STATUS_OK;
    }
    c->kind = SHEET_NUMBER;
    bytes_clear(&c->text);
    return bytes_printf(&c->text, "%.17g", (h * 3600 + m * 60 + s) / 86400);
}

static enum status begin_cell(struct sheet_book *b)
{
    static const struct {
        const char *type, *attribute;
        enum sheet_kind kind;
    } types[] = {{"float", "office:value", SHEET_NUMBER},
                 {"percentage", "office:value", SHEET_NUMBER},
                 {"currency", "office:value", SHEET_NUMBER},
                 {"date", "office:date-value", SHEET_WORD},
                 {"time", "office:time-value", SHEET_WORD},
                 {"boolean", "office:boolean-value", SHEET_WORD},
                 {"string", "office:string-value", SHEET_TEXT}};
    static const struct xml_span midnight = {"T00:00:00", 9};
    struct sheet_cell *const c = &b->cell;
    struct xml_span type, value;
    b->in_cell = true;
    b->is_shown = b->in_text = false;
    b->cell_depth = b->xml.depth;
    c->column = b->next_column;
    c->n_columns = repeats(b, "table:number-columns-repeated");
    pass(&b->next_column, c->n_columns);
    bytes_clear(&c->text);
    const bool has_type = xml_attribute(&b->xml, "office:value-type", &type);
    c->is_unstored = !has_type && xml_attribute(&b->xml, "table:formula", &value);
    if (xml_attribute(&b->xml, "calcext:value-type", &value) && xml_is(value, "error")) {
        c->kind = SHEET_ERROR;
        b->is_shown = true;
        return STATUS_OK;
    }
    for (size_t i = 0; has_type && i < sizeof types / sizeof types[0]; i++) {
        if (xml_is(type, types[i].type)) {
            const bool has_value = xml_attribute(&b->xml, types[i].attribute, &value);
            c->kind = types[i].kind;
            b->is_shown = !has_value;
            if (c->kind == SHEET_WORD && has_value && value.n > midnight.n &&
                memcmp(value.text + value.n - midnight.n, midnight.text, midnight.n) == 0) {
                value.n -= midnight.n; /* a day alone */
            }
            STATUS_TRY(has_value ? bytes_append(&c->text, value.text, value.n) : STATUS_OK);
            return xml_is(type, "time") ? make_days(c) : STATUS_OK;
        }
    }
    return STATUS_OK;
}

/* An element begins within a cell. */
static enum status begin_within(struct sheet_book *b)
{
    const struct xml_span name = b->xml.name;
    const bool is_paragraph = b->xml.depth == b->cell_depth + 1 && xml_is(name, "p");
    const bool parts = is_paragraph
                           ? b->cell.text.len > 0
                           : xml_is(name, "s") || xml_is(name, "tab") || xml_is(name, "line-break");
    b->in_text = b->in_text || (is_paragraph && b->is_shown);
    return b->in_text && parts ? bytes_append(&b->cell.text, " ", 1) : STATUS_OK;
}

/* Sets the cell's text to a name between two NULs. */
static enum status set_name(struct sheet_book *b, struct xml_span name)
{
    bytes_clear(&b->cell.text);
    STATUS_TRY(bytes_append(&b->cell.text, "", 1));
    STATUS_TRY(bytes_append(&b->cell.text, name.text, name.n));
    return bytes_append(&b->cell.text, "", 1);
}

/* A sheet is hidden by its style: lists those that hide, as far as they are no flood. */
static enum status watch_style(struct sheet_book *b)
{
    enum { MOST_BYTES = 64 << 10 };
    struct xml_span text;
    if (xml_is(b->xml.name, "style") && xml_attribute(&b->xml, "style:name", &text)) {
        return set_name(b, text);
    }
    return b->styles.len < MOST_BYTES && xml_is(b->xml.name, "table-properties") &&
                   xml_attribute(&b->xml, "table:display", &text) && xml_is(text, "false")
               ? bytes_append(&b->styles, b->cell.text.data, b->cell.text.len)
               : STATUS_OK;
}

static enum status begin_table(struct sheet_book *b)
{
    struct xml_span name = {"", 0}, style = {"", 0};
    b->at++;
    b->in_table = true;
    b->next_row = 0;
    if (!b->is_scan) {
        return STATUS_OK;
    }
    (void)xml_attribute(&b->xml, "table:name", &name);
    (void)xml_attribute(&b->xml, "table:style-name", &style);
    STATUS_TRY(sheet_add(b, name));
    STATUS_TRY(set_name(b, style));
    b->sheets[b->at].is_hidden =
        b->styles.len > 0 &&
        memmem(b->styles.data, b->styles.len, b->cell.text.data, b->cell.text.len) != NULL;
    return STATUS_OK;
}

/* An element begins that lies in no cell. */
static enum status begin_element(struct sheet_book *b)
{
    const struct xml_span name = b->xml.name;
    if (!b->in_table) {
        return xml_is(name, "table") ? begin_table(b) : watch_style(b);
    }
    if (xml_is(name, "table-row")) {
        b->cell.row = b->next_row;
        b->cell.n_rows = repeats(b, "table:number-rows-repeated");
        pass(&b->next_row, b->cell.n_rows);
        b->next_column = 0;
        return STATUS_OK;
    }
    return xml_is(name, "table-cell") || xml_is(name, "covered-table-cell") ? begin_cell(b)
                                                                            : STATUS_OK;
}

/* An element has ended: *is_cell: it was a cell. */
static void end_element(struct sheet_book *b, bool *is_cell)
{
    *is_cell = b->in_cell && b->xml.depth < b->cell_depth;
    b->in_text = b->in_text && b->xml.depth > b->cell_depth;
    b->in_cell = b->in_cell && !*is_cell;
    b->in_table = b->in_table && (b->in_cell || *is_cell || !xml_is(b->xml.name, "table"));
}

static enum status ods_next(struct sheet_book *b, bool *end)
{
    for (bool is_cell = false;;) {
        enum xml_event event;
        STATUS_TRY(xml_next(&b->xml, &event));
        if (event == XML_TEXT) {
            STATUS_TRY(b->in_text ? sheet_append(b, b->xml.text) : STATUS_OK);
            continue;
        }
        if (event == XML_BEGIN) {
            STATUS_TRY(b->in_cell ? begin_within(b) : begin_element(b));
            continue;
        }
        const bool was_table = b->in_table;
        end_element(b, &is_cell);
        const bool is_wanted = b->wanted == SIZE_MAX || b->wanted == b->at;
        *end = event == XML_DONE || (was_table && !b->in_table && b->wanted == b->at);
        if (*end || (is_cell && is_wanted && (b->cell.text.len > 0 || b->cell.is_unstored))) {
            return STATUS_OK;
        }
    }
}

static enum status ods_begin(struct sheet_book *b, size_t sheet)
{
    b->wanted = sheet;
    b->at = SIZE_MAX; /* before the first */
    b->in_table = b->in_cell = b->in_text = false;
    return sheet_open_part(b, "content.xml");
}

static enum status ods_scan(struct sheet_book *b, const char *wanted)
{
    (void)wanted; /* all lie in one text */
    STATUS_TRY(ods_begin(b, SIZE_MAX));
    return sheet_count(b, false);
}

const struct sheet_format sheet_ods = {
    .name = "ods", .scan = ods_scan, .begin = ods_begin, .next = ods_next};
