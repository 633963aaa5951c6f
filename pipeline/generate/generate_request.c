/*
 * generate_request - see generate_request.h.
 *
 * The kind may stand behind its options, so these are gathered first and looked at once all are
 * there.
 */
#include "pipeline/generate/generate_request.h"

#include "formats/base/log.h"
#include "pipeline/generate/generate_table.h"
#include "pipeline/names/text.h"
#include "pipeline/settings/options.h"
#include "stages/stage.h"

#include <float.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Options that are parameters, and the kinds that have each: in groups of the same kinds. */
enum {
    SERIES,
    SAMPLES,
    EPSILON,
    START,
    LAYOUT,
    GAPS,
    BACKEND,
    ROWS,
    CELL,
    ACTIVE,
    SLIDES,
    NODATA,
    FUNCTION,
    PLACEMENT,
    DEGREE,
    FROM,
    TO,
    POINTS,
    CLUSTERS,
    SPREAD,
    LABELS,
    COLUMNS,
    SEED,
    TYPE,
    THREADS,
    PARAMETERS
};

enum {
    OF_CLUSTERS = 1 << GENERATE_CLUSTERS,
    OF_DEM = 1 << GENERATE_DEM,
    OF_NODES = 1 << GENERATE_NODES,
    OF_POINTS = 1 << GENERATE_POINTS,
    OF_ALL = (1 << GENERATE_KINDS) - 1
};

static const char *const kind_names[GENERATE_KINDS] = {[GENERATE_CLUSTERS] = "clusters",
                                                       [GENERATE_DEM] = "dem",
                                                       [GENERATE_NODES] = "nodes",
                                                       [GENERATE_POINTS] = "points"};

#define MOST_CELLS ((double)TERRAIN_MAX_CELLS)

static const struct {
    unsigned kinds;
    struct param_spec spec;
} parameters[PARAMETERS] = {
    [SERIES] = {OF_CLUSTERS, {"series", PARAM_COUNT, "64", NULL, 1, 0x1p48, "Number of series"}},
    [SAMPLES] = {OF_CLUSTERS, {"samples", PARAM_COUNT, "256", NULL, 1, 0x1p48, "Samples of each"}},
    [EPSILON] = {OF_CLUSTERS,
                 {"epsilon", PARAM_REAL, "0.01", NULL, 0, 1,
                  "Each sample changes the one before by a random fraction up to this, below "
                  "1"}},
    [START] = {OF_CLUSTERS,
               {"start", PARAM_REAL, "100", NULL, -FLT_MAX, FLT_MAX,
                "First sample of every series"}},
    [LAYOUT] = {OF_CLUSTERS,
                {"layout", PARAM_CHOICE, "rows", "rows|columns", 0, 0,
                 "A series a row, or a series a column under a header of names"}},
    [GAPS] = {OF_CLUSTERS,
              {"gaps", PARAM_REAL, "0", NULL, 0, 1, "Share of samples that are missing"}},
    [BACKEND] = {OF_CLUSTERS,
                 {"backend", PARAM_CHOICE, "cpu", "auto|cpu|cuda", 0, 0,
                  "Where to compute; writing takes longer, and the bits are the same"}},
    [ROWS] = {OF_DEM, {"rows", PARAM_COUNT, "600", NULL, 1, MOST_CELLS, "Rows of the map"}},
    [CELL] = {OF_DEM, {"cell", PARAM_REAL, "10", NULL, 0.01, 1000, "Side of a cell in metres"}},
    [ACTIVE] = {OF_DEM,
                {"active", PARAM_REAL, "0.005", NULL, 0, 1,
                 "Share of the map that debris covers at the start"}},
    [SLIDES] = {OF_DEM,
                {"slides", PARAM_COUNT, NULL, NULL, 1, MOST_CELLS,
                 "Separate heaps of debris (default: one on every slope, and a slope for half a "
                 "million cells)"}},
    [NODATA] = {OF_DEM,
                {"nodata", PARAM_REAL, "0", NULL, 0, 0.9,
                 "Share of the map, around it, that has no altitude"}},
    [FUNCTION] = {OF_NODES,
                  {"function", PARAM_TEXT, "runge", NULL, 1, 100,
                   "Curves: one or several of runge,exp,abs,sign,cos20"}},
    [PLACEMENT] = {OF_NODES,
                   {"placement", PARAM_CHOICE, "chebyshev", "chebyshev|equispaced|random", 0, 0,
                    "Where the nodes lie"}},
    [DEGREE] = {OF_NODES,
                {"degree", PARAM_COUNT, "20", NULL, 1, 0x1p31,
                 "Degree of the polynomial: one node more"}},
    [FROM] = {OF_NODES,
              {"from", PARAM_REAL, "-1", NULL, -NODE_MOST_X, NODE_MOST_X,
               "Where the interval begins"}},
    [TO] = {OF_NODES, {"to", PARAM_REAL, "1", NULL, -NODE_MOST_X, NODE_MOST_X, "Where it ends"}},
    [POINTS] = {OF_POINTS, {"points", PARAM_COUNT, "1000", NULL, 1, 0x1p48, "Number of points"}},
    [CLUSTERS] = {OF_POINTS,
                  {"clusters", PARAM_COUNT, "8", NULL, 1, 0x1p31 - 1, "Clusters they lie in"}},
    [SPREAD] = {OF_POINTS,
                {"spread", PARAM_REAL, "1", NULL, 0, 1e30,
                 "Standard deviation about a centre, in each column; centres are within 10"}},
    [LABELS] = {OF_POINTS,
                {"labels", PARAM_TEXT, NULL, NULL, 1, 4096,
                 "Write each point's cluster, too: to this file, .csv or .npy"}},
    [COLUMNS] = {OF_DEM | OF_POINTS,
                 {"columns", PARAM_COUNT, NULL, NULL, 1, MOST_CELLS,
                  "Columns of the map (default 500), or of the points (default 2)"}},
    [SEED] = {OF_ALL, {"seed", PARAM_COUNT, "0", NULL, 0, 0x1p64, "Seed of the random numbers"}},
    [TYPE] = {OF_ALL, {"type", PARAM_CHOICE, "f64", "f64|f32", 0, 0, "Precision of the numbers"}},
    [THREADS] = {OF_ALL,
                 {"threads", PARAM_COUNT, "0", NULL, 0, 4096,
                  "Computing threads; 0: the CPUs that leat may use"}},
};

static const struct option_entry others[] = {
    {"output", 'o', "FILE",
     "File to write, .csv or .npy; - is CSV on standard output (default). Of dem the name of the "
     "pair: X or X.tif writes X.dem.tif and X.source.tif, X.asc and X.asc.gz likewise",
     NULL},
    {"force", 0, NULL, "Replace files that are already there", NULL},
    {"quiet", 'q', NULL, "Only say what went wrong", NULL},
    {"verbose", 'v', NULL, "Say more", NULL},
};
enum { OTHERS = sizeof(others) / sizeof(others[0]), HEADINGS = GENERATE_KINDS + 2 };

/* What has been read so far. */
struct reading {
    struct generate_request *request;
    struct option_entry options[PARAMETERS + HEADINGS + OTHERS];
    char headings[HEADINGS][80];
    const char *output;                    /* NULL: not given */
    struct param_value values[PARAMETERS]; /* defaults, where not given */
    bool given[PARAMETERS], force;
};

/* The kinds of a set, in a list. Returns out. */
static const char *list_kinds(unsigned kinds, const char *last, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t k = 0; k < GENERATE_KINDS && n < size; k++) {
        if (kinds & 1U << k) {
            const bool is_last = kinds >> k == 1;
            n += (size_t)snprintf(out + n, size - n, "%s%s",
                                  n == 0    ? ""
                                  : is_last ? last
                                            : ", ",
                                  kind_names[k]);
        }
    }
    return out;
}

static enum status take_kind(struct reading *in, const char *text)
{
    char all[64];
    size_t k = 0;
    if (in->request->kind != GENERATE_KINDS) {
        return status_fail(STATUS_BAD_ARGUMENT, "'%s': one KIND is enough (-o names the file)",
                           text);
    }
    while (k < GENERATE_KINDS && strcmp(text, kind_names[k]) != 0) {
        k++;
    }
    in->request->kind = (enum generate_kind)k;
    if (k < GENERATE_KINDS) {
        return STATUS_OK;
    }
    struct text_near near = {.word = text};
    for (size_t i = 0; i < GENERATE_KINDS; i++) {
        text_near_offer(&near, kind_names[i]);
    }
    return near.best != NULL ? status_fail(STATUS_BAD_ARGUMENT,
                                           "unknown kind '%s': did you mean '%s'?", text, near.best)
                             : status_fail(STATUS_BAD_ARGUMENT, "unknown kind '%s'; there are: %s",
                                           text, list_kinds(OF_ALL, ", ", all, sizeof(all)));
}

static enum status take_parameter(struct reading *in, size_t i, const char *text)
{
    const enum status status = stage_parse_param(&parameters[i].spec, text, &in->values[i]);
    in->given[i] = true;
    if (status != STATUS_OK) {
        return status_fail(status, "--%s", status_message());
    }
    return (i == EPSILON || i == ACTIVE) && in->values[i].real >= 1
               ? status_fail(STATUS_BAD_ARGUMENT, "--%s: '%s' is not below 1",
                             parameters[i].spec.key, text)
               : STATUS_OK;
}

static enum status take(void *user, const struct option_entry *option, const char *value)
{
    struct reading *in = user;
    if (option == NULL) {
        return take_kind(in, value);
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (option->name == parameters[i].spec.key) {
            return take_parameter(in, i, value);
        }
    }
    if (option->letter == 'o') {
        in->output = value;
    } else if (option->letter == 0) {
        in->force = true;
    } else {
        log_set_level(option->letter == 'q' ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG);
    }
    return STATUS_OK;
}

/* The table of options: parameters under the heading of their kinds, then the others. */
static size_t list_options(struct reading *in)
{
    struct option_entry *const out = in->options;
    size_t n = 0, n_headings = 0;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct param_spec *p = &parameters[i].spec;
        if (i == 0 || parameters[i].kinds != parameters[i - 1].kinds) {
            char *const heading = in->headings[n_headings++];
            char kinds[64];
            snprintf(heading, sizeof(in->headings[0]), "Of %s:",
                     parameters[i].kinds == OF_ALL
                         ? "all"
                         : list_kinds(parameters[i].kinds, " and ", kinds, sizeof(kinds)));
            out[n++].help = heading;
        }
        out[n++] = (struct option_entry){p->key, i == BACKEND ? 'b' : '\0',
                                         i == LABELS     ? "FILE"
                                         : i == FUNCTION ? "NAME,..."
                                                         : stage_param_value(p),
                                         p->help, p->text};
    }
    memcpy(out + n, others, sizeof(others));
    return n + OTHERS;
}

/* --- what each kind makes of it --------------------------------------------------------------- */

/* A table's format by its name: standard output and devices get CSV. */
static enum status choose_format(const char *path, bool *csv)
{
    const char *const dot = strrchr(path, '.');
    *csv = strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 ||
           (dot != NULL && strcasecmp(dot, ".csv") == 0);
    if (!*csv && (dot == NULL || strcasecmp(dot, ".npy") != 0)) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: the name must end in .csv or .npy", path);
    }
    return STATUS_OK;
}

static enum status take_path(const struct reading *in, struct generate_request *r, bool *csv)
{
    r->path = in->output != NULL ? in->output : "-";
    return choose_format(r->path, csv);
}

static enum status finish_clusters(const struct reading *in, struct generate_request *r)
{
    static const char *const backends[] = {"auto", "cpu", "cuda"};
    const struct param_value *v = in->values;
    bool csv;
    STATUS_TRY(take_path(in, r, &csv));
    r->backend = backends[v[BACKEND].index];
    r->clusters = (struct generate_order){
        .path = r->path,
        .walk = {.seed = v[SEED].count, .start = v[START].real, .epsilon = v[EPSILON].real},
        .n_series = v[SERIES].count,
        .n_samples = v[SAMPLES].count,
        .columns = v[LAYOUT].index == 1,
        .gaps = v[GAPS].real,
        .type = v[TYPE].index == 0 ? DTYPE_F64 : DTYPE_F32,
        .csv = csv,
        .force = in->force};
    return STATUS_OK;
}

static enum status finish_dem(const struct reading *in, struct generate_request *r)
{
    const struct param_value *v = in->values;
    if (in->output == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "dem writes two files: -o X names them, X.dem.tif and X.source.tif");
    }
    r->dem = (struct generate_dem_order){
        .terrain = {.seed = v[SEED].count,
                    .rows = v[ROWS].count,
                    .columns = in->given[COLUMNS] ? v[COLUMNS].count : 500,
                    .cell_m = v[CELL].real,
                    .active = v[ACTIVE].real,
                    .slides = v[SLIDES].count,
                    .nodata = v[NODATA].real},
        .type = v[TYPE].index == 0 ? RASTER_F64 : RASTER_F32,
        .force = in->force,
        .pair = &r->pair};
    return generate_pair_of(in->output, &r->pair);
}

/* A list of functions, separated by commas. */
static enum status take_functions(const char *text, struct generate_nodes_order *o)
{
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, ",");
        size_t f = 0;
        while (f < NODE_FUNCTIONS &&
               (strncmp(at, node_function_names[f], n) != 0 || node_function_names[f][n] != '\0')) {
            f++;
        }
        if (f == NODE_FUNCTIONS) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "--function: '%.*s' is not one of runge, exp, abs, sign, cos20",
                               (int)n, at);
        }
        for (size_t i = 0; i < o->n_functions; i++) {
            if (o->functions[i] == (enum node_function)f) {
                return status_fail(STATUS_BAD_ARGUMENT, "--function: '%s' is there twice",
                                   node_function_names[f]);
            }
        }
        o->functions[o->n_functions++] = (enum node_function)f;
        at += n;
        if (*at == '\0') {
            return STATUS_OK;
        }
    }
}

static enum status finish_nodes(const struct reading *in, struct generate_request *r)
{
    const struct param_value *v = in->values;
    bool csv;
    STATUS_TRY(take_path(in, r, &csv));
    r->nodes = (struct generate_nodes_order){.placement = (enum node_placement)v[PLACEMENT].index,
                                             .degree = v[DEGREE].count,
                                             .from = v[FROM].real,
                                             .to = v[TO].real,
                                             .seed = v[SEED].count,
                                             .type = v[TYPE].index == 0 ? DTYPE_F64 : DTYPE_F32,
                                             .path = r->path,
                                             .csv = csv,
                                             .force = in->force};
    return take_functions(v[FUNCTION].text, &r->nodes);
}

static enum status finish_points(const struct reading *in, struct generate_request *r)
{
    const struct param_value *v = in->values;
    const uint64_t columns = in->given[COLUMNS] ? v[COLUMNS].count : 2;
    bool csv, labels_csv = false;
    STATUS_TRY(take_path(in, r, &csv));
    if (in->given[LABELS]) {
        STATUS_TRY(choose_format(v[LABELS].text, &labels_csv));
    }
    if (columns > GENERATE_WIDEST) {
        return status_fail(STATUS_BAD_ARGUMENT, "--columns: points have at most %d",
                           GENERATE_WIDEST);
    }
    r->points = (struct generate_points_order){.seed = v[SEED].count,
                                               .n_points = v[POINTS].count,
                                               .n_columns = (size_t)columns,
                                               .n_clusters = v[CLUSTERS].count,
                                               .spread = v[SPREAD].real,
                                               .type = v[TYPE].index == 0 ? DTYPE_F64 : DTYPE_F32,
                                               .path = r->path,
                                               .labels = v[LABELS].text,
                                               .csv = csv,
                                               .labels_csv = labels_csv,
                                               .force = in->force};
    return STATUS_OK;
}

static enum status (*const finish[GENERATE_KINDS])(const struct reading *in,
                                                   struct generate_request *r) = {
    [GENERATE_CLUSTERS] = finish_clusters,
    [GENERATE_DEM] = finish_dem,
    [GENERATE_NODES] = finish_nodes,
    [GENERATE_POINTS] = finish_points};

enum status generate_request_parse(int argc, char **argv, struct generate_request *r, bool *done)
{
    struct reading in = {.request = r};
    const struct options options = {
        .command = "generate",
        .operands = "clusters|dem|nodes|points",
        .about = "Makes input data of a kind: clusters, series that begin at one value and wander; "
                 "dem, a map of mountain slopes with debris in their channels, as a pair of grids: "
                 "the altitudes, and how much of them is debris; nodes, the values of functions at "
                 "nodes to interpolate between; or points, which lie in clusters.",
        .examples = "leat generate clusters --series 100 --samples 1000 -o a.clusters.npy\n"
                    "leat generate dem --rows 400 -o b.tif\n"
                    "leat generate nodes --function exp,cos20 -o c.nodes.csv\n"
                    "leat generate points --clusters 5 > d.points.csv\n",
        .notes = "The same options give the same bytes on every machine and backend. Exit status: "
                 "0 written, 1 writing failed, 2 nothing could be done.",
        .entries = in.options,
        .n_entries = list_options(&in),
        .take = take};
    char kinds[64];
    *r = (struct generate_request){.kind = GENERATE_KINDS};
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct param_spec *spec = &parameters[i].spec;
        if (spec->text != NULL) {
            STATUS_TRY(stage_parse_param(spec, spec->text, &in.values[i]));
        }
    }
    STATUS_TRY(options_parse(&options, argc, argv, &in, done));
    if (*done) {
        return STATUS_OK;
    }
    if (r->kind == GENERATE_KINDS) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat generate: no kind given; write leat generate %s (see leat "
                           "generate --help)",
                           list_kinds(OF_ALL, " or ", kinds, sizeof(kinds)));
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (in.given[i] && !(parameters[i].kinds & 1U << r->kind)) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "--%s is not an option of %s (see leat generate --help)",
                               parameters[i].spec.key, kind_names[r->kind]);
        }
    }
    r->threads = in.values[THREADS].count;
    return finish[r->kind](&in, r);
}

void generate_request_free(struct generate_request *r)
{
    generate_pair_free(&r->pair);
}
