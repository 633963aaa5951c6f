/*
 * hdf5 - datasets of HDF5 files as tables.
 *
 * HDF5 reads what describes a dataset. The numbers themselves leat reads: of a contiguous dataset
 * in order, as of an .npy; of chunks as they are stored (H5Dread_chunk), which are unpacked here,
 * to the size that they must have, in bands on any thread, to the numbers that leave: doubles, or
 * floats of a dataset of such.
 *
 * Of the datasets that may be meant groups are walked by hard links alone, each object once, to a
 * depth: whatever links say, the walk ends. Arrays of one row or column are taken only where there
 * is no table, axes never. What programs keep for themselves is passed over: #refs# (MATLAB),
 * _i_table (PyTables). The same walk, of all, says whether a file names others.
 *
 * What the file calls missing (_FillValue, missing_value, and NetCDF's own fill values), and what
 * is outside of valid_range, valid_min and valid_max, becomes NaN; the rest is multiplied by
 * scale_factor, and add_offset is added, as NetCDF's conventions say. MATLAB keeps its matrices by
 * columns, which are the dataset's rows.
 *
 * Source: HDF5 File Format Specification 3.0; NetCDF Users Guide, Attribute Conventions.
 */
#include "formats/base/bytes.h"
#include "formats/base/checked.h"
#include "formats/table/foreign.h"
#include "formats/table/hdf5_calls.h"
#include "formats/table/table_bands.h"

#include <isa-l.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of an element: its only one, or one of a compound's. */
struct hdf5_field {
    size_t at, bytes; /* within the element; 1, 2, 4, 8 */
    enum table_kind kind;
    bool swapped; /* not in this machine's byte order */
};

/* What a dataset is; of a table with rows of elements. */
struct hdf5_shape {
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    int row_dim, column_dim; /* of elements; -1: there is none, it is one or one element a row */
    size_t rows, columns;    /* of elements */
    size_t element_bytes;
    size_t n_fields;
    struct hdf5_field *fields; /* owned */
    char **names;              /* of a compound's fields, owned; NULL: it is none */
    size_t n_left_out;         /* fields that are no numbers */
};

/* --- attributes ------------------------------------------------------------------------------- */

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

/* An attribute's numbers, up to `most`; the number of them, 0: it has none of that name. */
static size_t numbers_of(hid_t object, const char *attribute, double *out, size_t most)
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

/* Whether it has that attribute with that text. */
static bool says(hid_t object, const char *attribute, const char *text)
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

/* Why it is no table of numbers, in words behind "it "; NULL: it is one, and *shape holds that. To
 * be freed in either case. */
static const char *shape_read(hid_t dataset, struct hdf5_shape *shape)
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

static void shape_free(struct hdf5_shape *shape)
{
    for (size_t i = 0; i < shape->n_fields && shape->names != NULL; i++) {
        free(shape->names[i]);
    }
    free(shape->names);
    free(shape->fields);
    *shape = (struct hdf5_shape){0};
}

/* --- which dataset is meant ------------------------------------------------------------------- */

enum { MOST_OBJECTS = 10000, MOST_DEPTH = 32, MOST_LISTED = 12, PATH_BYTES = 1024 };

struct walk {
    size_t n_seen, n_tables, n_arrays, n_listed;
    haddr_t seen[MOST_OBJECTS];
    size_t depth, n_path;
    char path[PATH_BYTES];  /* of the group, without a slash at its end */
    char table[PATH_BYTES]; /* the last one found */
    char array[PATH_BYTES];
    struct bytes names;
    bool failed;
    bool of_all, is_alone; /* nothing is passed over; nothing names another file, or is unseen */
};

static bool put_name(struct walk *w, const struct hdf5_shape *s)
{
    enum status st = STATUS_OK;
    if (w->n_listed++ < MOST_LISTED) {
        st = bytes_printf(&w->names, "%s%s (", w->n_listed > 1 ? ", " : "",
                          excerpt_of(w->path, strlen(w->path)).text);
        for (int i = 0; i < s->rank && st == STATUS_OK; i++) {
            st = bytes_printf(&w->names, "%s%llu", i > 0 ? " x " : "",
                              (unsigned long long)s->dims[i]);
        }
        st = st != STATUS_OK ? st : bytes_printf(&w->names, ")");
    } else if (w->n_listed == MOST_LISTED + 1) {
        st = bytes_printf(&w->names, ", ...");
    }
    return st == STATUS_OK;
}

static void consider(struct walk *w, hid_t dataset)
{
    struct hdf5_shape s;
    const bool is_axis =
        says(dataset, "CLASS", "DIMENSION_SCALE") || says(dataset, "MATLAB_class", "char");
    if (shape_read(dataset, &s) == NULL && !is_axis && h5.Aexists(dataset, "MATLAB_empty") <= 0) {
        const bool is_table = s.names != NULL || (s.rows > 1 && s.columns > 1);
        *(is_table ? &w->n_tables : &w->n_arrays) += 1;
        memcpy(is_table ? w->table : w->array, w->path, w->n_path + 1);
        w->failed = w->failed || !put_name(w, &s);
    }
    shape_free(&s);
}

static bool is_seen(struct walk *w, haddr_t address)
{
    for (size_t i = 0; i < w->n_seen; i++) {
        if (w->seen[i] == address) {
            return true;
        }
    }
    if (w->n_seen < MOST_OBJECTS) {
        w->seen[w->n_seen++] = address;
    }
    return false;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    struct walk *const w = user;
    const size_t n = strlen(name), before = w->n_path;
    const bool is_own = (name[0] == '#' || strncmp(name, "_i_", 3) == 0) && !w->of_all;
    const bool fits = n + 2 <= PATH_BYTES - before;
    w->is_alone =
        w->is_alone && fits && (link->type == H5L_TYPE_HARD || link->type == H5L_TYPE_SOFT);
    if (link->type != H5L_TYPE_HARD || is_own || !fits || is_seen(w, link->u.address)) {
        return 0;
    }
    if (w->n_seen == MOST_OBJECTS) {
        return 1;
    }
    const hid_t object = h5.Oopen(group, name, H5P_DEFAULT);
    if (object < 0) {
        w->is_alone = false;
        return 0; /* a damaged one is found out when it is asked for */
    }
    w->path[w->n_path] = '/';
    memcpy(w->path + w->n_path + 1, name, n + 1);
    w->n_path += n + 1;
    const H5I_type_t kind = h5.Iget_type(object);
    if (kind == H5I_DATASET && w->of_all) {
        const H5D_layout_t layout = hdf5_layout(object);
        w->is_alone = w->is_alone && layout != H5D_VIRTUAL && layout != H5D_LAYOUT_ERROR;
    } else if (kind == H5I_DATASET) {
        consider(w, object);
    } else if (kind == H5I_GROUP && w->depth < MOST_DEPTH) {
        w->depth++;
        w->is_alone =
            h5.Literate(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w) >= 0 && w->is_alone;
        w->depth--;
    } else if (kind == H5I_GROUP) {
        w->is_alone = false;
    }
    hdf5_drop(object);
    w->n_path = before;
    w->path[before] = '\0';
    return w->failed ? -1 : 0;
}

static enum status fail_choice(const struct source *s, const char *path, const struct walk *w)
{
    const int n = (int)w->names.len;
    const char *const file = source_name(s), *const names = (const char *)w->names.data;
    const char *const example = w->n_tables > 0 ? w->table : w->array;
    if (w->n_listed == 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has no dataset of numbers in one or two dimensions", file);
    }
    if (path != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: has no dataset \"%s\" (links to other files are not followed); its "
                           "datasets are %.*s",
                           file, excerpt_of(path, strlen(path)).text, n, names);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %zu datasets could be meant (%.*s); say which one: -s dataset=%s", file,
                       w->n_tables > 0 ? w->n_tables : w->n_arrays, n, names,
                       excerpt_is_clean(example, strlen(example)) ? example : "PATH");
}

static enum status take_dataset(const struct source *s, const char *path, hid_t dataset,
                                struct hdf5_shape *shape, char **found)
{
    const struct excerpt name = excerpt_of(path, strlen(path));
    if (dataset < 0) {
        return hdf5_fail(s, "dataset %s", name.text);
    }
    const char *const trouble = shape_read(dataset, shape);
    if (trouble != NULL) {
        return status_fail(STATUS_UNSUPPORTED, "%s: dataset %s: it %s", source_name(s), name.text,
                           trouble);
    }
    *found = strdup(path);
    return *found != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
}

/* Opens the dataset of that path, or, where that is NULL, the one that alone can be meant, and
 * tells its shape and path, for free(). STATUS_BAD_INPUT, _BAD_ARGUMENT, _UNSUPPORTED. */
static enum status find_dataset(const struct source *s, hid_t file, const char *path,
                                hid_t *dataset, struct hdf5_shape *shape, char **found)
{
    *found = NULL;
    *dataset = path != NULL ? h5.Dopen2(file, path, H5P_DEFAULT) : H5I_INVALID_HID;
    if (*dataset >= 0) {
        return take_dataset(s, path, *dataset, shape, found);
    }
    struct walk *const w = calloc(1, sizeof *w);
    if (w == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
    }
    (void)h5.Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w);
    const bool is_one = w->n_tables == 1 || (w->n_tables == 0 && w->n_arrays == 1);
    const char *const chosen = w->n_tables == 1 ? w->table : w->array;
    if (path == NULL && is_one) {
        *dataset = h5.Dopen2(file, chosen, H5P_DEFAULT);
    }
    const enum status st =
        w->failed ? status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s))
        : w->n_seen == MOST_OBJECTS
            ? status_fail(STATUS_UNSUPPORTED, "%s: has %d objects or more; say -s dataset=PATH",
                          source_name(s), MOST_OBJECTS)
        : path != NULL || !is_one ? fail_choice(s, path, w)
                                  : take_dataset(s, chosen, *dataset, shape, found);
    bytes_free(&w->names);
    free(w);
    return st;
}

enum status hdf5_is_alone(const struct source *s, bool *alone)
{
    hid_t file;
    *alone = false;
    STATUS_TRY(hdf5_open_file(s, &file));
    struct walk *const w = calloc(1, sizeof *w);
    if (w != NULL) {
        w->of_all = w->is_alone = true;
        const herr_t end = h5.Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w);
        *alone = end == 0 && w->is_alone && w->n_seen < MOST_OBJECTS;
    }
    free(w);
    hdf5_drop(file);
    return w != NULL ? STATUS_OK
                     : status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
}

/* --- the table -------------------------------------------------------------------------------- */

enum {
    MOST_FILTERS = 32, /* of HDF5 itself: a mask has so many bits */
    MOST_FILLS = 8,    /* as a message says */
    COMPACT_BYTES = 64 << 10,
    FLAT_BYTES = 64 << 10, /* of an element that is read in order, and ... */
    FLAT_FIELDS = 32 << 10 /* ... its numbers: fit into the smallest chunk of a table */
};

struct hdf5 {
    struct table_bands bands;
    hid_t file, dataset;
    char *path;          /* of the dataset, ... */
    struct excerpt name; /* ... for messages */
    struct hdf5_shape shape;
    H5D_layout_t layout;
    /* Not in chunks: */
    uint64_t at;                          /* where it begins in the file */
    bool in_order, in_place;              /* read by source_read; straight into a chunk's values */
    size_t n_read;                        /* elements */
    unsigned char compact[COMPACT_BYTES]; /* compact: all of it */
    /* In chunks: */
    size_t chunk_rows, chunk_columns, chunk_bytes, packed_bytes; /* packed: the most as stored */
    int n_filters;
    size_t shuffled_bytes;
    H5Z_filter_t filters[MOST_FILTERS]; /* as they are applied when it is written */
    unsigned char *fill;                /* [element_bytes] of chunks that were never written */
    struct table_missing missing;
    double low, high; /* valid ones, as they are stored */
    bool is_bounded, is_scaled;
    double scale, offset;
    char *name_text; /* owned; of pandas' names, ... */
    char **names;    /* ... owned: [columns]; NULL: there are none */
};

/* Scratch memory of a thread. */
struct handle {
    struct table_handle base;
    struct inflate_state inflate;
    unsigned char *raw, *packed; /* of a chunk, each of packed_bytes */
};

static enum status open_handle(const struct table *t, struct table_handle **out)
{
    const struct hdf5 *const s = t->state;
    struct handle *const h = calloc(1, sizeof *h);
    *out = h != NULL ? &h->base : NULL;
    if (h != NULL) {
        h->raw = malloc(s->packed_bytes);
        h->packed = malloc(s->packed_bytes);
    }
    return h != NULL && h->raw != NULL && h->packed != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "%s: no memory to read it", source_name(t->source));
}

static void free_handle(struct table_handle *base)
{
    struct handle *const h = (struct handle *)base;
    free(h->raw);
    free(h->packed);
    free(h);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Numbers of one field to doubles. Changes `from`, and may be in place. */
static void widen(const struct hdf5_field *f, unsigned char *from, size_t n, double *out)
{
    if (f->swapped) {
        table_swap(from, n, f->bytes);
    }
    if (f->kind != TABLE_FLOAT || f->bytes != sizeof *out || from != (unsigned char *)out) {
        table_widen(f->kind, f->bytes, from, n, out);
    }
}

/* Floats are compared with floats, as marks are. */
static void mark_outside(const struct hdf5 *s, enum dtype type, void *to, size_t n)
{
    double *const doubles = to;
    float *const floats = to;
    for (size_t i = 0; i < n && type == DTYPE_F64; i++) {
        doubles[i] = doubles[i] < s->low || doubles[i] > s->high ? (double)NAN : doubles[i];
    }
    for (size_t i = 0; i < n && type == DTYPE_F32; i++) {
        floats[i] = floats[i] < (float)s->low || floats[i] > (float)s->high ? NAN : floats[i];
    }
}

/* n elements to numbers; what is missing is NaN. Changes `from`, and may be in place. */
static void convert(const struct table *t, unsigned char *from, size_t n, void *to)
{
    const struct hdf5 *const s = t->state;
    const struct hdf5_shape *const shape = &s->shape;
    double *const out = to;
    const size_t n_numbers = n * shape->n_fields;
    if (t->info.dtype == DTYPE_F32) {
        if (shape->fields[0].swapped) {
            table_swap(from, n, sizeof(float));
        }
        if (to != from) {
            memcpy(to, from, n * sizeof(float));
        }
        table_mark_floats(to, n, &s->missing);
        if (s->is_bounded) {
            mark_outside(s, DTYPE_F32, to, n);
        }
        table_mark_floats(to, n, &t->choice.missing);
        return;
    }
    if (shape->names == NULL) {
        widen(&shape->fields[0], from, n, out);
    }
    for (size_t i = 0; i < n && shape->names != NULL; i++, from += shape->element_bytes) {
        for (size_t k = 0; k < shape->n_fields; k++) {
            widen(&shape->fields[k], from + shape->fields[k].at, 1, out + i * shape->n_fields + k);
        }
    }
    (void)table_mark_missing(out, n_numbers, &s->missing);
    if (s->is_bounded) {
        mark_outside(s, DTYPE_F64, out, n_numbers);
    }
    for (size_t i = 0; i < n_numbers && s->is_scaled; i++) {
        out[i] = out[i] * s->scale + s->offset;
    }
    (void)table_mark_missing(out, n_numbers, &t->choice.missing);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static enum status fail_chunk(const struct table *t, const hsize_t *at, const char *what)
{
    const struct hdf5 *const s = t->state;
    return status_fail(
        STATUS_BAD_INPUT, "%s: dataset %s: the chunk of row %llu, column %llu: %s",
        source_name(t->source), s->name.text, (unsigned long long)at[s->shape.row_dim] + 1,
        s->shape.column_dim >= 0 ? (unsigned long long)at[s->shape.column_dim] + 1 : 1, what);
}

/* HDF5's checksum: Fletcher's of 16-bit words, the most significant byte first. */
static uint32_t fletcher32(const unsigned char *p, size_t n)
{
    uint32_t low = 0, high = 0;
    for (size_t i = 0; i < n; i += 2) {
        low += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
        low = (low & 0xffff) + (low >> 16);
        high += low;
        high = (high & 0xffff) + (high >> 16);
    }
    return high << 16 | low;
}

/* Bytes that lie apart, all first ones, then all second ones, together again. What does not fill an
 * element stands behind them. */
static void unshuffle(const unsigned char *from, size_t n, size_t bytes, unsigned char *to)
{
    const size_t n_elements = n / bytes;
    for (size_t b = 0; b < bytes; b++) {
        for (size_t i = 0; i < n_elements; i++) {
            to[i * bytes + b] = from[b * n_elements + i];
        }
    }
    memcpy(to + n_elements * bytes, from + n_elements * bytes, n % bytes);
}

static void exchange(struct handle *h)
{
    unsigned char *const packed = h->packed;
    h->packed = h->raw;
    h->raw = packed;
}

/* Undoes what was done to a chunk when it was written, from h->packed to h->raw. NULL, or what is
 * wrong with it. */
static const char *unpack(const struct hdf5 *s, struct handle *h, size_t n, uint32_t skipped)
{
    size_t bytes = s->chunk_bytes; /* that deflate has packed: checksums of before, too */
    for (int i = 0; i < s->n_filters; i++) {
        bytes += s->filters[i] == H5Z_FILTER_FLETCHER32 && (skipped >> i & 1) == 0 ? 4 : 0;
    }
    for (int i = s->n_filters - 1; i >= 0; i--) {
        if ((skipped >> i & 1) != 0) {
            continue;
        }
        if (s->filters[i] == H5Z_FILTER_FLETCHER32) {
            if (n < 4) {
                return "it lacks its checksum";
            }
            n -= 4;
            bytes -= 4;
            const unsigned char *const sum = h->packed + n;
            if (fletcher32(h->packed, n) != ((uint32_t)sum[0] | (uint32_t)sum[1] << 8 |
                                             (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24)) {
                return "its checksum does not hold";
            }
            continue;
        }
        if (s->filters[i] == H5Z_FILTER_DEFLATE) {
            const char *const trouble =
                table_bands_inflate(&h->inflate, h->packed, n, h->raw, bytes, bytes);
            if (trouble != NULL) {
                return trouble;
            }
            n = bytes;
        } else {
            unshuffle(h->packed, n, s->shuffled_bytes, h->raw);
        }
        exchange(h);
    }
    exchange(h);
    return n == s->chunk_bytes ? NULL : "it has not the size of a chunk";
}

/* The chunk that begins at that element, to h->raw. */
static enum status read_chunk(const struct table *t, struct handle *h, const hsize_t *at)
{
    const struct hdf5 *const s = t->state;
    hsize_t stored = 0;
    uint32_t skipped = 0;
    haddr_t address;
    if (h5.Dget_chunk_info_by_coord(s->dataset, at, NULL, &address, &stored) < 0) {
        return hdf5_fail(t->source, "dataset %s: a chunk cannot be found", s->name.text);
    }
    if (address == HADDR_UNDEF || stored == 0) {
        for (size_t i = 0; i < s->chunk_bytes; i += s->shape.element_bytes) {
            memcpy(h->raw + i, s->fill, s->shape.element_bytes);
        }
        return STATUS_OK;
    }
    if (stored > s->packed_bytes) {
        return fail_chunk(t, at, "it claims more bytes than it can have");
    }
    if (h5.Dread_chunk(s->dataset, H5P_DEFAULT, at, &skipped, h->packed) < 0) {
        return hdf5_fail(t->source, "dataset %s: a chunk cannot be read", s->name.text);
    }
    const char *const trouble = unpack(s, h, (size_t)stored, skipped);
    return trouble != NULL ? fail_chunk(t, at, trouble) : STATUS_OK;
}

static enum status read_band(const struct table *t, struct table_handle *base, size_t index,
                             unsigned char *samples)
{
    const struct hdf5 *const s = t->state;
    struct handle *const h = (struct handle *)base;
    const size_t n_rows = table_bands_rows(&s->bands, index), from = index * s->bands.band_rows;
    const size_t columns = s->bands.columns / s->shape.n_fields; /* of elements */
    const size_t number_bytes = s->shape.n_fields * dtype_bytes(t->info.dtype);
    hsize_t at[H5S_MAX_RANK] = {0};
    hdf5_be_quiet();
    for (size_t row = 0; row < n_rows; row += s->chunk_rows) {
        for (size_t column = 0; column < columns; column += s->chunk_columns) {
            at[s->shape.row_dim] = from + row;
            if (s->shape.column_dim >= 0) {
                at[s->shape.column_dim] = column;
            }
            STATUS_TRY(read_chunk(t, h, at));
            const size_t right = columns - column, below = n_rows - row;
            const size_t width = right < s->chunk_columns ? right : s->chunk_columns;
            for (size_t i = 0; i < s->chunk_rows && i < below; i++) {
                convert(t, h->raw + i * s->chunk_columns * s->shape.element_bytes, width,
                        samples + ((row + i) * columns + column) * number_bytes);
            }
        }
    }
    return STATUS_OK;
}

static const struct table_bands_ops bands_ops = {open_handle, read_band, free_handle};

/* --- numbers that lie one after the other ----------------------------------------------------- */

/* The next n elements. */
static enum status read_elements(struct table *t, unsigned char *to, size_t n)
{
    struct hdf5 *const s = t->state;
    const size_t bytes = n * s->shape.element_bytes, done = s->n_read * s->shape.element_bytes;
    size_t got = bytes;
    if (s->layout == H5D_COMPACT) {
        memcpy(to, s->compact + done, bytes);
    } else {
        STATUS_TRY(s->in_order && done == 0 ? table_skip(t, s->at) : STATUS_OK);
        STATUS_TRY(s->in_order ? source_read(t->source, to, bytes, &got)
                               : source_read_at(t->source, s->at + done, to, bytes, &got));
    }
    s->n_read += n;
    return got == bytes ? STATUS_OK
                        : status_fail(STATUS_BAD_INPUT, "%s: ends within dataset %s",
                                      source_name(t->source), s->name.text);
}

static enum status hdf5_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct hdf5 *const s = t->state;
    if (s->layout == H5D_CHUNKED) {
        return table_bands_next(t, c, end);
    }
    const size_t left = s->shape.rows * s->shape.columns - s->n_read;
    const size_t raw = s->in_place ? SIZE_MAX : c->raw_cap / s->shape.element_bytes;
    size_t n = c->values_cap / (s->shape.n_fields * dtype_bytes(t->info.dtype));
    n = n < raw ? n : raw;
    if (n == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", source_name(t->source));
    }
    n = n < left ? n : left;
    *end = n == 0;
    c->n_cells = n * s->shape.n_fields;
    return *end ? STATUS_OK : read_elements(t, s->in_place ? c->values : c->raw, n);
}

static enum status hdf5_decode(const struct table *t, struct table_chunk *c)
{
    const struct hdf5 *const s = t->state;
    if (s->layout == H5D_CHUNKED) {
        return table_bands_decode(t, c);
    }
    convert(t, s->in_place ? c->values : c->raw, c->n_cells / s->shape.n_fields, c->values);
    return STATUS_OK;
}

/* --- how it is stored ------------------------------------------------------------------------- */

static enum status refuse(const struct table *t, const char *what)
{
    const struct hdf5 *const s = t->state;
    return status_fail(STATUS_UNSUPPORTED, "%s: dataset %s: %s", source_name(t->source),
                       s->name.text, what);
}

static enum status read_filters(struct table *t, hid_t plist)
{
    struct hdf5 *const s = t->state;
    unsigned options = 0;
    s->n_filters = h5.Pget_nfilters(plist);
    if (s->n_filters < 0 || s->n_filters > MOST_FILTERS ||
        h5.Pget_chunk_opts(plist, &options) < 0 || options != 0) {
        return refuse(t, "its chunks are stored in a way that leat does not read");
    }
    for (int i = 0; i < s->n_filters; i++) {
        unsigned flags, value = 0;
        size_t n_values = 1;
        char name[64] = "";
        s->filters[i] =
            h5.Pget_filter2(plist, (unsigned)i, &flags, &n_values, &value, sizeof name, name, NULL);
        s->shuffled_bytes = s->filters[i] == H5Z_FILTER_SHUFFLE ? value : s->shuffled_bytes;
        if (s->filters[i] != H5Z_FILTER_DEFLATE && s->filters[i] != H5Z_FILTER_SHUFFLE &&
            s->filters[i] != H5Z_FILTER_FLETCHER32) {
            char what[512];
            (void)snprintf(what, sizeof what,
                           "dataset %.99s is packed by %s (filter %d), and leat unpacks deflate "
                           "(gzip), shuffle and fletcher32; convert it",
                           s->name.text,
                           name[0] != '\0' ? excerpt_of(name, strlen(name)).text : "?",
                           (int)s->filters[i]);
            return foreign_fail_with(STATUS_UNSUPPORTED, source_name(t->source), what,
                                     foreign_hdf5_to_npz);
        }
        if (s->filters[i] == H5Z_FILTER_SHUFFLE && value == 0) {
            return refuse(t, "it is shuffled by elements of 0 bytes");
        }
    }
    return STATUS_OK;
}

/* A band of whole chunks, of a size that is worth it. */
static enum status lay_out_chunks(struct table *t, hid_t plist)
{
    struct hdf5 *const s = t->state;
    const struct hdf5_shape *const shape = &s->shape;
    hsize_t chunk[H5S_MAX_RANK];
    size_t bytes = shape->element_bytes, band_bytes;
    if (h5.Pget_chunk(plist, shape->rank, chunk) != shape->rank) {
        return hdf5_fail(t->source, "dataset %s: its chunks", s->name.text);
    }
    bool fits = true;
    for (int i = 0; i < shape->rank; i++) {
        fits = fits && chunk[i] > 0 && checked_mul(bytes, (size_t)chunk[i], &bytes);
        if (i != shape->row_dim && i != shape->column_dim && chunk[i] != 1) {
            return refuse(t, "its chunks lie across a dimension of one");
        }
    }
    s->bands.rows = shape->rows;
    s->bands.columns = shape->columns * shape->n_fields;
    s->chunk_bytes = bytes;
    s->chunk_rows = (size_t)chunk[shape->row_dim];
    s->chunk_columns = shape->column_dim >= 0 ? (size_t)chunk[shape->column_dim] : 1;
    fits = fits && checked_mul(s->chunk_rows, s->bands.columns, &band_bytes) &&
           checked_mul(band_bytes, sizeof(double), &band_bytes);
    if (!fits || bytes > TABLE_BAND_MOST_BYTES || band_bytes > TABLE_BAND_MOST_BYTES) {
        return refuse(t, "a row of its chunks is larger than 256 MiB; h5repack -l CHUNK= cuts it "
                         "into smaller ones");
    }
    s->packed_bytes = bytes + bytes / 8 + 1024;
    s->bands.band_rows =
        s->chunk_rows * (TABLE_BAND_BYTES > band_bytes ? TABLE_BAND_BYTES / band_bytes : 1);
    return read_filters(t, plist);
}

static enum status read_fill(struct table *t, hid_t plist)
{
    struct hdf5 *const s = t->state;
    H5D_fill_value_t kind;
    s->fill = calloc(1, s->shape.element_bytes);
    if (s->fill == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    const hid_t type = h5.Dget_type(s->dataset);
    if (h5.Pfill_value_defined(plist, &kind) >= 0 && kind != H5D_FILL_VALUE_UNDEFINED) {
        (void)h5.Pget_fill_value(plist, type, s->fill);
    }
    hdf5_drop(type);
    return STATUS_OK;
}

static enum status lay_out_flat(struct table *t)
{
    struct hdf5 *const s = t->state;
    const size_t n = s->shape.rows * s->shape.columns, bytes = n * s->shape.element_bytes;
    if (s->layout == H5D_COMPACT) {
        const hid_t type = h5.Dget_type(s->dataset);
        const bool is_read =
            bytes <= sizeof s->compact &&
            h5.Dread(s->dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, s->compact) >= 0;
        hdf5_drop(type);
        if (!is_read) {
            return hdf5_fail(t->source, "dataset %s cannot be read", s->name.text);
        }
    } else {
        s->at = h5.Dget_offset(s->dataset);
        if (s->at > source_file_bytes(t->source) || bytes > source_file_bytes(t->source) - s->at) {
            return status_fail(STATUS_BAD_INPUT,
                               s->at == HADDR_UNDEF
                                   ? "%s: dataset %s: no number was written into it"
                                   : "%s: ends within dataset %s: it was cut short",
                               source_name(t->source), s->name.text);
        }
    }
    s->in_order = s->at <= bytes; /* else what lies before would be read for each pass */
    return s->shape.element_bytes <= FLAT_BYTES && s->shape.n_fields <= FLAT_FIELDS
               ? STATUS_OK
               : refuse(t,
                        "its records are larger than 64 KiB; h5repack -l CHUNK=1 makes chunks of "
                        "them, which are read");
}

/* A dataset claims at most what deflate can make of the bytes that are stored. */
static enum status check_claim(const struct table *t)
{
    const struct hdf5 *const s = t->state;
    const uint64_t stored = h5.Dget_storage_size(s->dataset);
    const uint64_t most =
        stored < source_file_bytes(t->source) ? stored : source_file_bytes(t->source);
    const uint64_t claimed = (uint64_t)s->shape.rows * s->shape.columns * s->shape.element_bytes;
    return most == 0
               ? status_fail(STATUS_BAD_INPUT, "%s: dataset %s: no number was written into it",
                             source_name(t->source), s->name.text)
           : claimed / DEFLATE_MAX_RATIO > most
               ? status_fail(STATUS_BAD_INPUT,
                             "%s: dataset %s claims %zu x %zu elements of %zu bytes, and stores "
                             "%llu bytes",
                             source_name(t->source), s->name.text, s->shape.rows, s->shape.columns,
                             s->shape.element_bytes, (unsigned long long)stored)
               : STATUS_OK;
}

static enum status lay_out(struct table *t)
{
    struct hdf5 *const s = t->state;
    const hid_t plist = h5.Dget_create_plist(s->dataset);
    s->layout = hdf5_layout(s->dataset);
    enum status st = s->layout == H5D_VIRTUAL
                         ? refuse(t, "its numbers lie in other files, which are not opened")
                     : s->layout == H5D_CHUNKED ? check_claim(t)
                     : s->layout == H5D_CONTIGUOUS || s->layout == H5D_COMPACT
                         ? lay_out_flat(t)
                         : hdf5_fail(t->source, "dataset %s: how it is stored", s->name.text);
    if (st == STATUS_OK && s->layout == H5D_CHUNKED) {
        st = lay_out_chunks(t, plist);
    }
    st = st != STATUS_OK ? st : read_fill(t, plist);
    hdf5_drop(plist);
    return st;
}

/* --- what the numbers mean -------------------------------------------------------------------- */

/* NetCDF's own fill value, where no attribute says another one: if it is that of the dataset, as
 * HDF5 has it. Bytes have none. */
static void add_fill(struct hdf5 *s)
{
    const struct hdf5_field *const f = &s->shape.fields[0];
    const int bits = (int)(8 * f->bytes);
    const double fill = f->kind == TABLE_FLOAT ? 9.969209968386869e36
                        : f->kind == TABLE_INT ? 1 - ldexp(1, bits - 1)
                                               : ldexp(1, bits) - 1;
    unsigned char raw[sizeof fill];
    double own;
    if (s->shape.names != NULL || f->bytes < 2) {
        return;
    }
    memcpy(raw, s->fill, f->bytes);
    widen(f, raw, 1, &own);
    if (own == fill) {
        s->missing.numbers[s->missing.n_numbers++] = own;
    }
}

/* An attribute's numbers, MOST_FILLS or fewer, or just so many as `most`: *n, 0 where there is none
 * of that name. An only one is finite. Records have no such attributes. */
static enum status read_numbers(struct table *t, const char *name, double *out, size_t most,
                                size_t *n)
{
    const struct hdf5 *const s = t->state;
    char what[512];
    *n = numbers_of(s->dataset, name, out, most);
    if (*n == 0 ? h5.Aexists(s->dataset, name) <= 0 || s->shape.names != NULL
                : most == MOST_FILLS || (*n == most && (*n > 1 || isfinite(out[0])))) {
        return STATUS_OK;
    }
    (void)snprintf(what, sizeof what,
                   "dataset %.99s: its attribute %s is not %s; convert it, without attributes",
                   s->name.text, name,
                   most == 1   ? "a finite number"
                   : most == 2 ? "of two numbers"
                               : "of 1 to 8 numbers");
    return foreign_fail_with(STATUS_UNSUPPORTED, source_name(t->source), what, foreign_hdf5_to_npz);
}

/* A number of an attribute as the dataset has it. NetCDF's old formats have no unsigned numbers, so
 * that attributes are signed, too. */
static double as_stored(const struct hdf5_field *f, bool is_unsigned, double number)
{
    number += is_unsigned && number < 0 ? ldexp(1, (int)(8 * f->bytes)) : 0;
    return f->kind == TABLE_FLOAT && f->bytes == 4 ? (double)(float)number : number;
}

static enum status read_range(struct table *t, bool is_unsigned)
{
    struct hdf5 *const s = t->state;
    const struct hdf5_field *const f = &s->shape.fields[0];
    double range[2] = {-INFINITY, INFINITY};
    size_t n, n_low, n_high;
    STATUS_TRY(read_numbers(t, "valid_range", range, 2, &n));
    STATUS_TRY(read_numbers(t, "valid_min", &range[0], 1, &n_low));
    STATUS_TRY(read_numbers(t, "valid_max", &range[1], 1, &n_high));
    s->low = as_stored(f, is_unsigned, range[0]);
    s->high = as_stored(f, is_unsigned, range[1]);
    s->is_bounded = n + n_low + n_high > 0;
    return STATUS_OK;
}

static enum status read_meaning(struct table *t)
{
    struct hdf5 *const s = t->state;
    struct hdf5_field *const f = &s->shape.fields[0];
    static const char *const names[] = {"_FillValue", "missing_value"};
    size_t n, n_scales, n_offsets;
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(
            read_numbers(t, names[i], s->missing.numbers + s->missing.n_numbers, MOST_FILLS, &n));
        s->missing.n_numbers += n;
    }
    if (s->missing.n_numbers == 0) {
        add_fill(s);
    }
    const bool is_unsigned = f->kind == TABLE_INT && says(s->dataset, "_Unsigned", "true");
    f->kind = is_unsigned ? TABLE_UINT : f->kind;
    for (size_t i = 0; i < s->missing.n_numbers; i++) {
        s->missing.numbers[i] = as_stored(f, is_unsigned, s->missing.numbers[i]);
    }
    STATUS_TRY(read_range(t, is_unsigned));
    s->scale = 1;
    STATUS_TRY(read_numbers(t, "scale_factor", &s->scale, 1, &n_scales));
    STATUS_TRY(read_numbers(t, "add_offset", &s->offset, 1, &n_offsets));
    s->is_scaled = n_scales + n_offsets > 0;
    return STATUS_OK;
}

/* What pandas' HDFStore calls the columns of block0_values, in block0_items: texts of one length.
 */
static enum status read_names(struct table *t)
{
    enum { MOST_NAME_BYTES = 4096 };
    struct hdf5 *const s = t->state;
    const size_t n = strlen(s->path), n_values = strlen("values"), columns = s->shape.columns;
    if (n < n_values || strcmp(s->path + n - n_values, "values") != 0 || s->shape.names != NULL) {
        return STATUS_OK;
    }
    memcpy(s->path + n - n_values, "items", sizeof "items");
    const hid_t items = h5.Dopen2(s->file, s->path, H5P_DEFAULT);
    memcpy(s->path + n - n_values, "values", sizeof "values");
    if (items < 0) {
        return STATUS_OK;
    }
    const hid_t type = h5.Dget_type(items), space = h5.Dget_space(items);
    const size_t bytes = h5.Tget_size(type);
    enum status st = STATUS_OK;
    const H5D_layout_t layout = hdf5_layout(items); /* that the library reads without unpacking */
    if ((layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) && h5.Tget_class(type) == H5T_STRING &&
        h5.Tis_variable_str(type) == 0 && bytes > 0 && bytes <= MOST_NAME_BYTES &&
        h5.Sget_simple_extent_npoints(space) == (hssize_t)columns &&
        columns <= source_file_bytes(t->source) / bytes) {
        unsigned char *const all = malloc(columns * bytes);
        s->name_text = calloc(columns, bytes + 1);
        s->names = calloc(columns, sizeof *s->names);
        if (all == NULL || s->name_text == NULL || s->names == NULL) {
            st = status_fail(STATUS_NO_MEMORY, "%s: no memory for names", source_name(t->source));
        } else if (h5.Dread(items, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) < 0) {
            st = hdf5_fail(t->source, "the names beside dataset %s", s->name.text);
        }
        for (size_t i = 0; i < columns && st == STATUS_OK; i++) {
            s->names[i] = memcpy(s->name_text + i * (bytes + 1), all + i * bytes, bytes);
            excerpt_clean(s->names[i], strlen(s->names[i]));
        }
        free(all);
    }
    hdf5_drop(space);
    hdf5_drop(type);
    hdf5_drop(items);
    return st;
}

static void describe(struct table *t)
{
    struct hdf5 *const s = t->state;
    struct table_info *const info = &t->info;
    const struct hdf5_shape *const shape = &s->shape;
    const struct hdf5_field *const f = &shape->fields[0];
    info->dtype = f->kind == TABLE_FLOAT && f->bytes == 4 && shape->names == NULL && !s->is_scaled
                      ? DTYPE_F32
                      : DTYPE_F64;
    info->is_flat = shape->column_dim < 0 && shape->names == NULL;
    info->n_lines = info->is_flat ? 1 : shape->rows;
    info->cells_per_line = info->is_flat          ? shape->rows
                           : shape->names != NULL ? shape->n_fields
                                                  : shape->columns;
    info->n_lines_estimate = info->n_lines;
    info->lines_are_columns = !info->is_flat && h5.Aexists(s->dataset, "MATLAB_class") > 0;
    info->has_missing_value = info->has_missing_value || s->missing.n_numbers > 0 || s->is_bounded;
    info->names = (const char *const *)(shape->names != NULL ? shape->names : s->names);
    info->has_header = info->names != NULL;
    for (size_t i = 0; i < info->cells_per_line && info->has_header; i++) {
        info->names_bytes += sizeof(char *) + strlen(info->names[i]) + 1;
    }
}

/* --- the format ------------------------------------------------------------------------------- */

static enum status hdf5_open(struct table *t)
{
    struct hdf5 *const s = t->state;
    s->file = s->dataset = H5I_INVALID_HID;
    table_bands_init(&s->bands, &bands_ops);
    STATUS_TRY(table_need_seek(t, "an HDF5 file", "X.h5"));
    STATUS_TRY(hdf5_open_file(t->source, &s->file));
    STATUS_TRY(
        find_dataset(t->source, s->file, t->options.dataset, &s->dataset, &s->shape, &s->path));
    s->name = excerpt_of(s->path, strlen(s->path));
    if (s->shape.n_left_out > 0) {
        STATUS_TRY(table_warn(t, "dataset %s: %zu field%s of its records %s no numbers: left out",
                              s->name.text, s->shape.n_left_out,
                              s->shape.n_left_out == 1 ? "" : "s",
                              s->shape.n_left_out == 1 ? "is" : "are"));
    }
    STATUS_TRY(lay_out(t));
    STATUS_TRY(read_meaning(t));
    STATUS_TRY(read_names(t));
    describe(t);
    s->bands.kind = TABLE_FLOAT;
    s->bands.sample_bytes = dtype_bytes(t->info.dtype);
    s->in_place = s->shape.n_fields == 1 && s->shape.element_bytes == s->bands.sample_bytes;
    t->info.is_plain = s->in_place && s->layout == H5D_CONTIGUOUS;
    if (s->layout == H5D_CHUNKED) {
        table_bands_set(t, &s->bands, sizeof(struct handle) + 2 * s->packed_bytes);
    }
    return STATUS_OK;
}

static void hdf5_close(void *state)
{
    struct hdf5 *const s = state;
    table_bands_free(&s->bands);
    shape_free(&s->shape);
    hdf5_drop(s->file); /* and its dataset */
    free(s->name_text);
    free(s->names);
    free(s->path);
    free(s->fill);
}

const struct table_format hdf5_format = {
    .name = "hdf5",
    .state_bytes = sizeof(struct hdf5),
    .takes = {[TABLE_MISSING_VALUE] = true, [TABLE_DATASET] = true},
    .library = &hdf5_library,
    .version = hdf5_version,
    .open = hdf5_open,
    .next = hdf5_next,
    .decode = hdf5_decode,
    .close = hdf5_close,
};
