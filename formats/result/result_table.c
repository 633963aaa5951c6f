/*
 * result_table - see result_table.h.
 */
#include "formats/result/result_table.h"

#include "formats/result/summary_entry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, REAL, FLAG, TEXT };
union value {
    uint64_t count;
    double real;
    const char *text;
};

struct result_row {
    enum { TO_HEADER, TO_TEXT, TO_OBJECT, TO_ARRAY } what;
    size_t column;     /* of the next value */
    enum status st;    /* of those before it */
    struct bytes *out; /* TO_HEADER, TO_TEXT */
    json_t *object;    /* TO_OBJECT, of the first n_columns */
    size_t n_columns;
    const char *wanted; /* TO_ARRAY: a column; it is one of `kind`, and has this value */
    enum kind kind;
    union value value;
};

bool result_row_has_names(const struct result_row *to)
{
    return to->what != TO_TEXT;
}

static enum status put_text(struct bytes *out, enum kind kind, union value value)
{
    return kind == REAL   ? result_put_f64(out, value.real)
           : kind == TEXT ? result_put_field(out, value.text)
                          : result_put_u64(out, value.count);
}

static enum status put_member(json_t *object, const char *column, enum kind kind, union value value)
{
    const struct summary_entry entry = {column, kind == REAL   ? summary_real(value.real)
                                                : kind == TEXT ? json_string(value.text)
                                                : kind == FLAG ? json_boolean(value.count != 0)
                                                               : summary_integer(value.count)};
    return summary_entry_put(object, &entry, 1);
}

static void put(struct result_row *to, const char *column, enum kind kind, union value value)
{
    const size_t c = to->column++;
    const bool is_text = to->what == TO_HEADER || to->what == TO_TEXT;
    if (is_text && c > 0 && to->st == STATUS_OK) {
        to->st = bytes_append(to->out, ",", 1);
    }
    if (to->st != STATUS_OK) {
        return;
    }
    if (is_text) {
        to->st = to->what == TO_HEADER ? result_put_field(to->out, column)
                                       : put_text(to->out, kind, value);
    } else if (to->what == TO_OBJECT && c < to->n_columns) {
        to->st = put_member(to->object, column, kind, value);
    } else if (to->what == TO_ARRAY && strcmp(column, to->wanted) == 0) {
        to->kind = kind;
        to->value = value;
    }
}

void result_row_count(struct result_row *to, const char *column, uint64_t value)
{
    put(to, column, COUNT, (union value){.count = value});
}

void result_row_real(struct result_row *to, const char *column, double value)
{
    put(to, column, REAL, (union value){.real = value});
}

void result_row_flag(struct result_row *to, const char *column, bool value)
{
    put(to, column, FLAG, (union value){.count = value});
}

void result_row_text(struct result_row *to, const char *column, const char *value)
{
    put(to, column, TEXT, (union value){.text = value});
}

/* A table that leaves, or a column of it. */
struct leaving {
    struct result_table table;
    const char *column;
};

static enum status leaving_new(const struct result_table *table, const char *column,
                               struct leaving **out)
{
    *out = malloc(sizeof **out);
    if (*out == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the table %s", table->name);
    }
    **out = (struct leaving){*table, column};
    return STATUS_OK;
}

static enum status put_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct result_table *const t = &((struct leaving *)context)->table;
    for (uint64_t i = first; i < first + n; i++) {
        struct result_row to = {.what = TO_TEXT, .out = out};
        t->row(t->context, i, &to);
        STATUS_TRY(to.st);
        STATUS_TRY(bytes_append(out, "\n", 1));
    }
    return STATUS_OK;
}

enum status result_table_csv(struct result *out, const struct result_table *table,
                             size_t rows_per_piece)
{
    struct leaving *leaving;
    struct bytes header = {0};
    struct result_row to = {.what = TO_HEADER, .out = &header};
    table->row(table->context, 0, &to);
    enum status st = to.st == STATUS_OK ? bytes_append(&header, "", 1) : to.st;
    st = st == STATUS_OK ? leaving_new(table, NULL, &leaving) : st;
    if (st == STATUS_OK) {
        st = result_add_csv(out, table->name, (const char *)header.data, table->n_rows,
                            rows_per_piece, put_rows, leaving, free);
    }
    bytes_free(&header);
    return st;
}

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct leaving *const l = context;
    struct result_row to = {.what = TO_ARRAY, .wanted = l->column};
    for (size_t i = 0; i < n; i++) {
        l->table.row(l->table.context, first + i, &to);
        memcpy((char *)dst + i * sizeof to.value, &to.value, sizeof to.value);
    }
    return STATUS_OK;
}

enum status result_table_array(struct result_file *f, const struct result_table *table,
                               const char *column)
{
    struct leaving *leaving;
    const size_t n = (size_t)table->n_rows;
    struct result_row to = {.what = TO_ARRAY, .wanted = column, .kind = TEXT};
    table->row(table->context, 0, &to);
    assert(to.kind == COUNT || to.kind == REAL);
    STATUS_TRY(leaving_new(table, column, &leaving));
    return result_add_array(f, column, to.kind == REAL ? NPY_F8 : NPY_I8, 1, &n, fetch, leaving,
                            free);
}

json_t *result_table_json(const struct result_table *table, uint64_t n_rows, size_t n_columns)
{
    json_t *const list = json_array();
    enum status st = list != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < n_rows && st == STATUS_OK; i++) {
        struct result_row to = {.what = TO_OBJECT, .object = json_object(), .n_columns = n_columns};
        table->row(table->context, i, &to);
        st = json_array_append_new(list, to.object) == 0 ? to.st : STATUS_NO_MEMORY;
    }
    if (st != STATUS_OK) {
        json_decref(list);
    }
    return st == STATUS_OK ? list : NULL;
}
