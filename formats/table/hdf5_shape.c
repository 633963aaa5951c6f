/*
 * hdf5_shape - what a dataset holds: numbers of which kind, or records of them, in how many rows
 * and columns; its attributes.
 */
#include "formats/table/hdf5.h"

#include "formats/base/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 1 << 16, MOST_ELEMENT_BYTES = 1 << 20 };

/* The attribute of that name, its type, and how many it holds; *a negative: there is none. */
static hssize_t open_attribute(hid_t object, const char *name, hid_t *a, hid_t *type)
{
    *a = h5.Aexists(object, name) > 0 ? h5.Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    *type = *a >= 0 ? h5.Aget_type(*a) : H5I_INVALID_HID;
    const hid_t space = *type >= 0 ? h5.Aget_space(*a) : H5I_INVALID_HID;
    const hssize_t n = space >= 0 ? h5.Sget_simple_extent_npoints(space) : 0;
    hdf5_drop(space);
    return n;
}

size_t hdf5_numbers(hid_t object, const char *attribute, double *out, size_t most)
{
    hid_t a, type;
    const hssize_t n = open_attribute(object, attribute, &a, &type);
    const H5T_class_t class = n > 0 ? h5.Tget_class(type) : H5T_NO_CLASS;
    const bool is_read = n > 0 && (size_t)n <= most &&
                         (class == H5T_INTEGER || class == H5T_FLOAT) &&
                         h5.Aread(a, *h5.T_NATIVE_DOUBLE_g, out) >= 0;
    hdf5_drop(type);
    hdf5_drop(a);
    return is_read ? (size_t)n : 0;
}

bool hdf5_says(hid_t object, const char *attribute, const char *text)
{
    char said[64] = "", *own = NULL; /* of one length, or of any: HDF5's own memory */
    hid_t a, type;
    bool is =
        open_attribute(object, attribute, &a, &type) == 1 && h5.Tget_class(type) == H5T_STRING;
    if (is && h5.Tis_variable_str(type) > 0) {
        is = h5.Aread(a, type, &own) >= 0 && own != NULL && strcmp(own, text) == 0;
    } else if (is) {
        is = h5.Tget_size(type) < sizeof said && h5.Aread(a, type, said) >= 0 &&
             strncmp(said, text, strlen(text)) == 0;
    }
    (void)h5.free_memory(own);
    hdf5_drop(type);
    hdf5_drop(a);
    return is;
}

/* --- types ------------------------------------------------------------------------------------ */

/* IEEE 754 of 2, 4 and 8 bytes, by the bits of exponent and fraction, sign first. */
static bool is_ieee(hid_t type, size_t bytes)
{
    size_t sign, exponent, n_exponent, fraction, n_fraction;
    const size_t wanted = bytes == 2 ? 5 : bytes == 4 ? 8 : 11;
    return h5.Tget_fields(type, &sign, &exponent, &n_exponent, &fraction, &n_fraction) >= 0 &&
           bytes >= 2 && n_exponent == wanted && n_fraction == 8 * bytes - 1 - wanted &&
           sign == 8 * bytes - 1 && exponent == n_fraction && fraction == 0;
}

/* Whether the type is of numbers that are read: also an enumeration (h5py's bool) or bits. */
static bool read_field(hid_t type, struct hdf5_field *f)
{
    const H5T_class_t class = h5.Tget_class(type);
    if (class == H5T_ENUM) {
        const hid_t base = h5.Tget_super(type);
        const bool is_read = base >= 0 && h5.Tget_class(base) != H5T_ENUM && read_field(base, f);
        hdf5_drop(base);
        return is_read;
    }
    const H5T_order_t order = h5.Tget_order(type);
    f->bytes = h5.Tget_size(type);
    f->kind = class == H5T_FLOAT                                        ? TABLE_FLOAT
              : class == H5T_INTEGER && h5.Tget_sign(type) == H5T_SGN_2 ? TABLE_INT
                                                                        : TABLE_UINT;
    f->swapped =
        f->bytes > 1 && (order == H5T_ORDER_LE) != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return (class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_BITFIELD) &&
           (f->bytes == 1 || f->bytes == 2 || f->bytes == 4 || f->bytes == 8) &&
           (f->bytes == 1 || order == H5T_ORDER_LE || order == H5T_ORDER_BE) &&
           h5.Tget_precision(type) == 8 * f->bytes &&
           (class != H5T_FLOAT || is_ieee(type, f->bytes));
}

/* Of a record: field `i` of an array, or the only one. */
static bool add_field(struct hdf5_shape *s, const struct hdf5_field *f, const char *name, size_t i,
                      bool is_array)
{
    char **const own = &s->names[s->n_fields];
    if ((is_array ? asprintf(own, "%s[%zu]", name, i) : asprintf(own, "%s", name)) < 0) {
        return false;
    }
    excerpt_clean(*own, strlen(*own));
    s->fields[s->n_fields] = *f;
    s->fields[s->n_fields++].at += i * f->bytes;
    return true;
}

/* A member of a compound type: a number, or an array of them. */
static const char *add_member(hid_t compound, unsigned i, struct hdf5_shape *s, size_t most)
{
    const hid_t type = h5.Tget_member_type(compound, i),
                of = h5.Tget_class(type) == H5T_ARRAY ? h5.Tget_super(type) : H5I_INVALID_HID;
    char *const name = h5.Tget_member_name(compound, i);
    struct hdf5_field f = {.at = h5.Tget_member_offset(compound, i)};
    const size_t whole = h5.Tget_size(type);
    const char *trouble = name == NULL ? "has a field without a name" : NULL;
    const bool is_read = trouble == NULL && read_field(of >= 0 ? of : type, &f);
    const size_t n = is_read ? whole / f.bytes : 0;
    s->n_left_out += !is_read;
    if (is_read && (n > most - s->n_fields || f.at + whole > s->element_bytes)) {
        trouble = "has records of too many fields";
    }
    for (size_t k = 0; k < n && trouble == NULL; k++) {
        trouble =
            add_field(s, &f, name, k, of >= 0) ? NULL : "has more fields than memory has room for";
    }
    (void)h5.free_memory(name);
    hdf5_drop(of);
    hdf5_drop(type);
    return trouble;
}

static const char *read_type(hid_t type, struct hdf5_shape *s)
{
    const char *trouble = NULL;
    const bool is_record = h5.Tget_class(type) == H5T_COMPOUND;
    s->element_bytes = h5.Tget_size(type);
    if (s->element_bytes == 0 || s->element_bytes > MOST_ELEMENT_BYTES) {
        return "has records of too many bytes";
    }
    const size_t most = !is_record                       ? 1
                        : s->element_bytes < MOST_FIELDS ? s->element_bytes
                                                         : MOST_FIELDS;
    s->fields = calloc(most, sizeof *s->fields);
    s->names = is_record ? calloc(most, sizeof *s->names) : NULL;
    if (s->fields == NULL || (is_record && s->names == NULL)) {
        return "has more fields than memory has room for";
    }
    if (!is_record) {
        s->n_fields = 1;
        return read_field(type, s->fields)
                   ? NULL
                   : "is not of numbers that leat reads (f2, f4, f8, i1 to i8, u1 to u8, bool, or "
                     "records of them)";
    }
    const int n = h5.Tget_nmembers(type);
    for (int i = 0; i < n && trouble == NULL; i++) {
        trouble = add_member(type, (unsigned)i, s, most);
    }
    return trouble != NULL    ? trouble
           : s->n_fields == 0 ? "has records without a field of numbers"
                              : NULL;
}

/* --- dimensions ------------------------------------------------------------------------------- */

/* Dimensions of one are left out where there are more than two. */
static const char *read_dims(hid_t space, struct hdf5_shape *s)
{
    size_t n_items, n_bytes;
    int n = 0, kept[2] = {-1, -1};
    s->rank = h5.Sget_simple_extent_ndims(space);
    if (s->rank <= 0 || s->rank > H5S_MAX_RANK ||
        h5.Sget_simple_extent_dims(space, s->dims, NULL) < 0) {
        return "is a single value, not a table";
    }
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0) {
            return "holds no numbers";
        }
        if (s->dims[i] > 1 || s->rank <= 2) {
            kept[n < 2 ? n : 1] = i;
            n++;
        }
    }
    if (n > 2) {
        return "has more than two dimensions; leat reads datasets of one or two";
    }
    s->row_dim = n > 0 ? kept[0] : 0;
    s->column_dim = kept[1];
    if (s->names != NULL && n == 2) {
        return "has records in two dimensions; leat reads such of one";
    }
    s->rows = (size_t)s->dims[s->row_dim];
    s->columns = s->column_dim >= 0 ? (size_t)s->dims[s->column_dim] : 1;
    return checked_mul(s->rows, s->columns, &n_items) &&
                   checked_mul(n_items, s->n_fields * sizeof(double), &n_bytes) &&
                   checked_mul(n_items, s->element_bytes, &n_bytes)
               ? NULL
               : "claims more numbers than any file can hold";
}

const char *hdf5_shape_read(hid_t dataset, struct hdf5_shape *shape)
{
    *shape = (struct hdf5_shape){.row_dim = -1, .column_dim = -1};
    const hid_t type = h5.Dget_type(dataset), space = h5.Dget_space(dataset);
    const char *trouble = type < 0 || space < 0 ? "has no type or no shape" : NULL;
    trouble = trouble != NULL ? trouble : read_type(type, shape);
    const char *const of_dims = space >= 0 ? read_dims(space, shape) : NULL;
    hdf5_drop(type);
    hdf5_drop(space);
    return trouble != NULL ? trouble : of_dims;
}

void hdf5_shape_free(struct hdf5_shape *shape)
{
    for (size_t i = 0; i < shape->n_fields && shape->names != NULL; i++) {
        free(shape->names[i]);
    }
    free(shape->names);
    free(shape->fields);
    *shape = (struct hdf5_shape){0};
}
