/*
 * hdf5 - datasets of HDF5 files as tables; for formats/table/hdf5*.c alone.
 *
 * HDF5 reads what describes a dataset. The numbers themselves leat reads: of a contiguous dataset
 * in order, as of an .npy; of chunks as they are stored (H5Dread_chunk), which are unpacked here,
 * to the size that they must have, on any thread.
 */
#ifndef LEAT_FORMATS_TABLE_HDF5_H
#define LEAT_FORMATS_TABLE_HDF5_H

#include "formats/table/hdf5_calls.h"
#include "formats/table/table_bands.h"

enum { HDF5_MOST_FILTERS = 32 }; /* of HDF5 itself: a mask has so many bits */

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

/* Why it is no table of numbers, in words behind "it "; NULL: it is one, and *shape holds that. To
 * be freed in either case. */
const char *hdf5_shape_read(hid_t dataset, struct hdf5_shape *shape);
void hdf5_shape_free(struct hdf5_shape *shape);
/* An attribute's numbers, up to `most`; the number of them, 0: it has none of that name. */
size_t hdf5_numbers(hid_t object, const char *attribute, double *out, size_t most);
/* Whether it has that attribute with that text. */
bool hdf5_says(hid_t object, const char *attribute, const char *text);

/* Opens the dataset of that path, or, where that is NULL, the one that alone can be meant, and
 * tells its shape and path, for free(). STATUS_BAD_INPUT, _BAD_ARGUMENT, _UNSUPPORTED. */
enum status hdf5_find(const struct source *s, hid_t file, const char *path, hid_t *dataset,
                      struct hdf5_shape *shape, char **found) STATUS_MUST_CHECK;

#endif
