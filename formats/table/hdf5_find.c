/*
 * hdf5_find - which dataset of a file is meant.
 *
 * Groups are walked by hard links alone, each object once, to a depth: whatever links say, the walk
 * ends. Arrays of one row or column are taken only where there is no table, axes never. What
 * programs keep for themselves is passed over: #refs# (MATLAB), _i_table (PyTables). The same walk,
 * of all, says whether a file names others.
 */
#include "formats/table/hdf5.h"

#include "formats/base/bytes.h"

#include <stdlib.h>
#include <string.h>

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
    const bool is_axis = hdf5_says(dataset, "CLASS", "DIMENSION_SCALE") ||
                         hdf5_says(dataset, "MATLAB_class", "char");
    if (hdf5_shape_read(dataset, &s) == NULL && !is_axis &&
        h5.Aexists(dataset, "MATLAB_empty") <= 0) {
        const bool is_table = s.names != NULL || (s.rows > 1 && s.columns > 1);
        *(is_table ? &w->n_tables : &w->n_arrays) += 1;
        memcpy(is_table ? w->table : w->array, w->path, w->n_path + 1);
        w->failed = w->failed || !put_name(w, &s);
    }
    hdf5_shape_free(&s);
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
    const char *const trouble = hdf5_shape_read(dataset, shape);
    if (trouble != NULL) {
        return status_fail(STATUS_UNSUPPORTED, "%s: dataset %s: it %s", source_name(s), name.text,
                           trouble);
    }
    *found = strdup(path);
    return *found != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
}

enum status hdf5_find(const struct source *s, hid_t file, const char *path, hid_t *dataset,
                      struct hdf5_shape *shape, char **found)
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
