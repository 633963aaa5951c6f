/*
 * overview - which figures of which pipeline are worth a look, as tables.
 */
#include "pipeline/engine/overview.h"

#include "pipeline/names/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 1024, TABLE_ROWS = 32, TABLE_COLUMNS = 5 };

struct fact {
    const char *pipeline, *place, *key, *name, *unit;
};

static const struct fact facts[] = {
    {"pearson", "shape", "n_series", "series", ""},
    {"pearson", "shape", "n_samples", "samples of each", ""},
    {"pearson", "summary", "n_pairs", "pairs", ""},
    {"pearson", "summary", "n_undefined", "pairs without a coefficient", ""},
    {"pearson", "summary", "median_abs_r", "median |r|", ""},
    {"pearson", "summary", "homogeneity", "mean |r|", ""},
    {"pearson", "summary", "anomalous", "series that stand out", ""},
    {"pearson", "summary", "degenerate", "series without variance", ""},
    {"pearson", "summary", "with_gaps", "series with gaps", ""},
    {"sciddicat", "summary", "steps", "steps", ""},
    {"sciddicat", "summary", "settled", "at rest", ""},
    {"sciddicat", "summary", "runout_m", "run-out", " m"},
    {"sciddicat", "summary", "drop_m", "drop", " m"},
    {"sciddicat", "summary", "reach_angle_deg", "angle of reach", "\xc2\xb0"},
    {"sciddicat", "summary", "covered_m2", "covered", " m\xc2\xb2"},
    {"sciddicat", "summary", "max_thickness_m", "thickest at the end", " m"},
    {"sciddicat", "summary", "volume_start_m3", "debris at the start", " m\xc2\xb3"},
    {"sciddicat", "summary", "volume_end_m3", "debris at the end", " m\xc2\xb3"},
    {"sciddicat", "summary", "lost_edge_m3", "left over the edge", " m\xc2\xb3"},
    {"sciddicat", "summary", "lost_nodata_m3", "vanished in NODATA", " m\xc2\xb3"},
    {"sciddicat", "summary", "balance_error_m3", "error of the mass balance", " m\xc2\xb3"},
    {"sciddicat", "summary", "model", "model", ""},
    {"interpolate", "shape", "n_nodes", "nodes", ""},
    {"interpolate", "shape", "n_curves", "curves", ""},
    {"interpolate", "shape", "n_queries", "queries", ""},
    {"interpolate", "summary", "lebesgue_constant", "Lebesgue constant", ""},
    {"interpolate", "summary", "nodes_from", "nodes from", ""},
    {"interpolate", "summary", "nodes_to", "nodes to", ""},
    {"interpolate", "summary", "queries_from", "queries from", ""},
    {"interpolate", "summary", "queries_to", "queries to", ""},
    {"interpolate", "summary", "extrapolated", "extrapolated", ""},
    {"interpolate", "summary", "missing", "missing queries", ""},
    {"kmeans", "summary", "n_points", "points", ""},
    {"kmeans", "summary", "n_columns", "columns", ""},
    {"kmeans", "summary", "k", "clusters", ""},
    {"kmeans", "summary", "inertia", "inertia", ""},
    {"kmeans", "summary", "silhouette", "silhouette", ""},
    {"kmeans", "summary", "n_iterations", "iterations", ""},
    {"kmeans", "summary", "converged", "converged", ""},
};

static const struct {
    const char *pipeline, *file; /* of the result that it reads */
    const char *lines[3];
} codes[] = {
    {"pearson",
     "pearson.npz",
     {"import numpy, scipy.spatial.distance", "result = numpy.load(\"pearson.npz\")",
      "r = scipy.spatial.distance.squareform(result[\"r\"])  # 0 on the diagonal"}},
    {"sciddicat",
     "thickness.tif",
     {"import pandas, rasterio",
      "thickness = rasterio.open(\"thickness.tif\").read(1, masked=True)",
      "mass = pandas.read_csv(\"mass.csv.gz\")"}},
    {"sciddicat",
     "thickness.asc.gz",
     {"import numpy, pandas", "thickness = numpy.loadtxt(\"thickness.asc.gz\", skiprows=6)",
      "mass = pandas.read_csv(\"mass.csv.gz\")"}},
    {"interpolate",
     "curve.npz",
     {"import numpy", "result = numpy.load(\"curve.npz\")",
      "x, y = result[\"x\"], result[\"y\"]  # a row a curve"}},
    {"kmeans",
     "kmeans.npz",
     {"import numpy", "result = numpy.load(\"kmeans.npz\")",
      "labels, centroids = result[\"labels\"], result[\"centroids\"]"}},
};

struct telling {
    const json_t *result;
    overview_put_fn *put;
    void *to;
};

static enum status put(const struct telling *t, enum overview_kind kind, const char *a,
                       const char *b)
{
    const char *const texts[] = {a, b};
    return t->put(t->to, kind, b != NULL ? 2 : 1, texts);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* The zip in which the files are that the stage has made; NULL: they are in the folder. */
static const char *bundle_of(const struct telling *t)
{
    const json_t *const zip = json_array_get(json_object_get(t->result, "outputs"), 0);
    return json_object_get(t->result, "bundled") != NULL ? string_of(zip, "name") : NULL;
}

/* Those files. */
static const json_t *files_of(const struct telling *t)
{
    return json_object_get(t->result, bundle_of(t) != NULL ? "bundled" : "outputs");
}

/* Puts "WHAT JOINT ZIP", or WHAT where there is no zip. */
static enum status put_of_bundle(const struct telling *t, enum overview_kind kind, const char *what,
                                 const char *joint)
{
    char text[VALUE_BYTES];
    const char *const zip = bundle_of(t);
    snprintf(text, sizeof text, "%s%s%s", what, joint, zip != NULL ? zip : "");
    return put(t, kind, zip != NULL ? text : what, NULL);
}

/* --- values ----------------------------------------------------------------------------------- */

/* "2: a, b": {"count": n, "names": [..]}; "" for none. */
static void list_text(const json_t *value, char out[VALUE_BYTES])
{
    const json_int_t count = json_integer_value(json_object_get(value, "count"));
    size_t i, n = 0;
    const json_t *name;
    out[0] = '\0';
    if (count == 0) {
        return;
    }
    n = (size_t)snprintf(out, VALUE_BYTES, "%lld", (long long)count);
    json_array_foreach(json_object_get(value, "names"), i, name)
    {
        const char *const text = json_string_value(name);
        if (text == NULL || n + strlen(text) + 8 > VALUE_BYTES) {
            snprintf(out + n, VALUE_BYTES - n, ", ...");
            return;
        }
        n += (size_t)snprintf(out + n, VALUE_BYTES - n, "%s%s", i == 0 ? ": " : ", ", text);
    }
}

/* "" for what is not worth a word. */
static const char *value_text(const json_t *value, const char *unit, char out[VALUE_BYTES])
{
    out[0] = '\0';
    if (json_is_integer(value)) {
        snprintf(out, VALUE_BYTES, "%lld%s", (long long)json_integer_value(value), unit);
    } else if (json_is_real(value)) {
        snprintf(out, VALUE_BYTES, "%.6g%s", json_real_value(value), unit);
    } else if (json_is_boolean(value)) {
        snprintf(out, VALUE_BYTES, "%s", json_is_true(value) ? "yes" : "no");
    } else if (json_is_string(value)) {
        return json_string_value(value);
    } else if (json_is_object(value)) {
        list_text(value, out);
    }
    return out;
}

/* --- sections --------------------------------------------------------------------------------- */

static enum status tell_title(const struct telling *t)
{
    const json_t *const input = json_array_get(json_object_get(t->result, "inputs"), 0);
    return put(t, OVERVIEW_TITLE, string_of(t->result, "pipeline"), string_of(input, "name"));
}

static bool is_picture(const char *name)
{
    static const char *const ends[] = {".png", ".svg", ".pdf"};
    const size_t n = strlen(name);
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        if (n > 4 && strcmp(name + n - 4, ends[k]) == 0) {
            return true;
        }
    }
    return false;
}

static enum status tell_figures(const struct telling *t)
{
    size_t i;
    const json_t *output;
    json_array_foreach((json_t *)files_of(t), i, output)
    {
        const char *const name = string_of(output, "name");
        STATUS_TRY(is_picture(name) ? put_of_bundle(t, OVERVIEW_FIGURE, name, " in ") : STATUS_OK);
    }
    return STATUS_OK;
}

static enum status tell_warnings(const struct telling *t)
{
    const json_t *const list = json_object_get(t->result, "warnings"), *text;
    size_t i;
    STATUS_TRY(json_array_size(list) > 0 ? put(t, OVERVIEW_SECTION, "Warnings", NULL) : STATUS_OK);
    json_array_foreach(list, i, text)
    {
        STATUS_TRY(json_is_string(text) ? put(t, OVERVIEW_NOTE, json_string_value(text), NULL)
                                        : STATUS_OK);
    }
    return STATUS_OK;
}

static enum status tell_facts(const struct telling *t)
{
    const char *const pipeline = string_of(t->result, "pipeline");
    char room[VALUE_BYTES];
    STATUS_TRY(put(t, OVERVIEW_SECTION, "Result", NULL));
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
        const struct fact *const f = &facts[k];
        const json_t *const place = json_object_get(t->result, f->place);
        const char *const value = value_text(json_object_get(place, f->key), f->unit, room);
        if (strcmp(f->pipeline, pipeline) == 0 && value[0] != '\0') {
            STATUS_TRY(put(t, OVERVIEW_FACT, f->name, value));
        }
    }
    return STATUS_OK;
}

static enum status tell_pairs(const struct telling *t)
{
    static const char *const head[TABLE_COLUMNS] = {"r", "n", "series", "", ""};
    const json_t *const pairs =
        json_object_get(json_object_get(t->result, "summary"), "strongest_pairs");
    const json_t *pair;
    size_t i;
    if (json_array_size(pairs) == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(put(t, OVERVIEW_SECTION, "Strongest pairs", NULL));
    STATUS_TRY(t->put(t->to, OVERVIEW_HEAD, TABLE_COLUMNS, head));
    json_array_foreach(pairs, i, pair)
    {
        char numbers[64], r[32], samples[VALUE_BYTES];
        snprintf(numbers, sizeof numbers, "%lld, %lld",
                 (long long)json_integer_value(json_object_get(pair, "i")),
                 (long long)json_integer_value(json_object_get(pair, "j")));
        snprintf(r, sizeof r, "%.6f", json_number_value(json_object_get(pair, "r")));
        const char *const row[TABLE_COLUMNS] = {
            r, value_text(json_object_get(pair, "n"), "", samples), numbers,
            string_of(pair, "name_i"), string_of(pair, "name_j")};
        STATUS_TRY(t->put(t->to, OVERVIEW_ROW, TABLE_COLUMNS, row));
    }
    return STATUS_OK;
}

static enum status tell_clusters(const struct telling *t)
{
    static const char *const head[] = {"cluster", "points", "sum of squares"};
    const json_t *const summary = json_object_get(t->result, "summary");
    const json_t *const sizes = json_object_get(summary, "sizes");
    const json_t *const within = json_object_get(summary, "within");
    const size_t n = json_array_size(sizes);
    if (n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(put(t, OVERVIEW_SECTION, "Clusters", NULL));
    STATUS_TRY(t->put(t->to, OVERVIEW_HEAD, 3, head));
    for (size_t i = 0; i < n && i < TABLE_ROWS; i++) {
        char number[32], points[VALUE_BYTES], sum[VALUE_BYTES];
        snprintf(number, sizeof number, "%zu", i);
        const char *const row[] = {number, value_text(json_array_get(sizes, i), "", points),
                                   value_text(json_array_get(within, i), "", sum)};
        STATUS_TRY(t->put(t->to, OVERVIEW_ROW, 3, row));
    }
    return STATUS_OK;
}

static enum status tell_parameters(const struct telling *t)
{
    const char *key;
    json_t *value;
    char room[VALUE_BYTES];
    STATUS_TRY(put(t, OVERVIEW_SECTION, "Parameters", NULL));
    json_object_foreach((json_t *)json_object_get(t->result, "parameters"), key, value)
    {
        STATUS_TRY(put(t, OVERVIEW_FACT, key, value_text(value, "", room)));
    }
    return STATUS_OK;
}

/* Files with their sizes. */
static enum status list_files(const struct telling *t, const json_t *list)
{
    const json_t *file;
    size_t i;
    json_array_foreach((json_t *)list, i, file)
    {
        char size[TEXT_NUMBER_BYTES];
        const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
        STATUS_TRY(put(t, OVERVIEW_FACT, string_of(file, "name"),
                       text_size(size, bytes > 0 ? (uint64_t)bytes : 0)));
    }
    return STATUS_OK;
}

/* Of inputs or outputs. */
static enum status tell_files(const struct telling *t, const char *key, const char *title)
{
    const json_t *const list = json_object_get(t->result, key);
    STATUS_TRY(json_array_size(list) > 0 ? put(t, OVERVIEW_SECTION, title, NULL) : STATUS_OK);
    return list_files(t, list);
}

static enum status tell_bundled(const struct telling *t)
{
    STATUS_TRY(bundle_of(t) != NULL ? put_of_bundle(t, OVERVIEW_SECTION, "In", " ") : STATUS_OK);
    return list_files(t, json_object_get(t->result, "bundled"));
}

static bool has_output(const struct telling *t, const char *name)
{
    size_t i;
    const json_t *output;
    json_array_foreach((json_t *)files_of(t), i, output)
    {
        if (strcmp(string_of(output, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status tell_code(const struct telling *t)
{
    const json_t *const parameters = json_object_get(t->result, "parameters");
    const bool has_r = strcmp(string_of(parameters, "r"), "none") != 0;
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        if (strcmp(codes[k].pipeline, string_of(t->result, "pipeline")) != 0 ||
            !has_output(t, codes[k].file)) {
            continue;
        }
        STATUS_TRY(put_of_bundle(t, OVERVIEW_SECTION, "In Python", ", from what is in "));
        for (size_t i = 0; i < (has_r ? 3 : 2); i++) {
            STATUS_TRY(put(t, OVERVIEW_CODE, codes[k].lines[i], NULL));
        }
    }
    return STATUS_OK;
}

enum status overview_tell(const json_t *result, overview_put_fn *put_item, void *to)
{
    const struct telling t = {result, put_item, to};
    STATUS_TRY(tell_title(&t));
    STATUS_TRY(tell_figures(&t));
    STATUS_TRY(tell_warnings(&t));
    STATUS_TRY(tell_facts(&t));
    STATUS_TRY(tell_pairs(&t));
    STATUS_TRY(tell_clusters(&t));
    STATUS_TRY(tell_parameters(&t));
    STATUS_TRY(tell_files(&t, "inputs", "Made from"));
    STATUS_TRY(tell_files(&t, "outputs", "Files"));
    STATUS_TRY(tell_bundled(&t));
    return tell_code(&t);
}
