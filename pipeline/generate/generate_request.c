/*
 * generate_request - see generate_request.h.
 *
 * The kind may stand behind its options, so these are gathered first and looked at once all are
 * there.
 */
#include "pipeline/generate/generate_request.h"

#include "formats/base/log.h"
#include "pipeline/settings/options.h"
#include "stages/stage.h"

#include <float.h>
#include <string.h>
#include <strings.h>

/* Options that are parameters: of clusters, of dem, of both. */
enum {
    SERIES,
    SAMPLES,
    EPSILON,
    START,
    LAYOUT,
    GAPS,
    BACKEND,
    OF_DEM,
    ROWS = OF_DEM,
    COLUMNS,
    CELL,
    ACTIVE,
    SLIDES,
    NODATA,
    OF_BOTH,
    SEED = OF_BOTH,
    TYPE,
    THREADS,
    PARAMETERS
};

#define MOST_CELLS ((double)TERRAIN_MAX_CELLS)

static const struct param_spec specs[PARAMETERS] = {
    [SERIES] = {"series", PARAM_COUNT, "64", NULL, 1, 0x1p48, "Number of series"},
    [SAMPLES] = {"samples", PARAM_COUNT, "256", NULL, 1, 0x1p48, "Samples of each"},
    [EPSILON] = {"epsilon", PARAM_REAL, "0.01", NULL, 0, 1,
                 "A sample varies the one before by a uniform fraction of at most this, below 1"},
    [START] = {"start", PARAM_REAL, "100", NULL, -FLT_MAX, FLT_MAX, "First sample of every series"},
    [LAYOUT] = {"layout", PARAM_CHOICE, "rows", "rows|columns", 0, 0,
                "A series a row, or a series a column under a header of names"},
    [GAPS] = {"gaps", PARAM_REAL, "0", NULL, 0, 1, "Share of samples that are missing"},
    [BACKEND] = {"backend", PARAM_CHOICE, "cpu", "auto|cpu|cuda", 0, 0,
                 "Where to compute; writing takes longer, and the bits are the same"},
    [ROWS] = {"rows", PARAM_COUNT, "600", NULL, 1, MOST_CELLS, "Rows of the map"},
    [COLUMNS] = {"columns", PARAM_COUNT, "500", NULL, 1, MOST_CELLS, "Columns of it"},
    [CELL] = {"cell", PARAM_REAL, "10", NULL, 0.01, 1000, "Side of a cell in metres"},
    [ACTIVE] = {"active", PARAM_REAL, "0.005", NULL, 0, 1,
                "Share of the map that debris covers at the start"},
    [SLIDES] = {"slides", PARAM_COUNT, NULL, NULL, 1, MOST_CELLS,
                "Separate heaps of debris (default: one on every slope, and a slope for half a "
                "million cells)"},
    [NODATA] = {"nodata", PARAM_REAL, "0", NULL, 0, 0.9,
                "Share of the map, around it, that has no altitude"},
    [SEED] = {"seed", PARAM_COUNT, "0", NULL, 0, 0x1p64, "Seed of the random numbers"},
    [TYPE] = {"type", PARAM_CHOICE, "f64", "f64|f32", 0, 0, "Precision of the numbers"},
    [THREADS] = {"threads", PARAM_COUNT, "0", NULL, 0, 4096,
                 "Computing threads; 0: the CPUs that leat may use"},
};

static const struct option_entry others[] = {
    {"output", 'o', "FILE",
     "clusters: file to write, .csv or .npy; - is CSV on standard output (default). dem: name of "
     "the pair; X or X.tif writes X.dem.tif and X.source.tif, X.asc and X.asc.gz likewise",
     NULL},
    {"force", 0, NULL, "Replace files that are already there", NULL},
    {"quiet", 'q', NULL, "Only say what went wrong", NULL},
    {"verbose", 'v', NULL, "Say more", NULL},
};
enum { OTHERS = sizeof(others) / sizeof(others[0]), HEADINGS = 3 };

/* What has been read so far. */
struct reading {
    struct generate_request *request;
    struct option_entry options[PARAMETERS + HEADINGS + OTHERS];
    const char *kind, *output;             /* NULL: not given */
    struct param_value values[PARAMETERS]; /* defaults, where not given */
    bool given[PARAMETERS], force;
};

static enum status take_kind(struct reading *in, const char *text)
{
    if (in->kind != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "'%s': one KIND is enough (-o names the file)",
                           text);
    }
    in->kind = text;
    in->request->kind = strcmp(text, "clusters") == 0 ? GENERATE_CLUSTERS
                        : strcmp(text, "dem") == 0    ? GENERATE_DEM
                                                      : GENERATE_NONE;
    return in->request->kind != GENERATE_NONE
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "unknown kind '%s'; there are: clusters, dem",
                             text);
}

static enum status take_parameter(struct reading *in, size_t i, const char *text)
{
    const enum status status = stage_parse_param(&specs[i], text, &in->values[i]);
    in->given[i] = true;
    if (status != STATUS_OK) {
        return status_fail(status, "--%s", status_message());
    }
    return (i == EPSILON || i == ACTIVE) && in->values[i].real >= 1
               ? status_fail(STATUS_BAD_ARGUMENT, "--%s: '%s' is not below 1", specs[i].key, text)
               : STATUS_OK;
}

static enum status take(void *user, const struct option_entry *option, const char *value)
{
    struct reading *in = user;
    if (option == NULL) {
        return take_kind(in, value);
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (option->name == specs[i].key) {
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

/* The table of options: parameters under the heading of their kind, then the others. */
static size_t list_options(struct option_entry *out)
{
    static const char *const args[] = {[PARAM_COUNT] = "N", [PARAM_REAL] = "X"};
    size_t n = 0;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct param_spec *p = &specs[i];
        if (i == 0 || i == OF_DEM || i == OF_BOTH) {
            out[n++].help = i == 0 ? "Of clusters:" : i == OF_DEM ? "Of dem:" : "Of both:";
        }
        out[n++] = (struct option_entry){p->key, i == BACKEND ? 'b' : '\0',
                                         p->choices != NULL ? p->choices : args[p->kind], p->help,
                                         p->text};
    }
    memcpy(out + n, others, sizeof(others));
    return n + OTHERS;
}

static enum status finish_clusters(const struct reading *in, struct generate_request *r)
{
    static const char *const backends[] = {"auto", "cpu", "cuda"};
    const struct param_value *v = in->values;
    const char *path = in->output != NULL ? in->output : "-", *dot = strrchr(path, '.');
    /* standard output and devices get CSV */
    const bool csv = strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 ||
                     (dot != NULL && strcasecmp(dot, ".csv") == 0);
    if (!csv && (dot == NULL || strcasecmp(dot, ".npy") != 0)) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: the name must end in .csv or .npy", path);
    }
    r->backend = backends[v[BACKEND].index];
    r->clusters = (struct generate_order){
        .path = path,
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
    r->dem = (struct generate_dem_order){.terrain = {.seed = v[SEED].count,
                                                     .rows = v[ROWS].count,
                                                     .columns = v[COLUMNS].count,
                                                     .cell_m = v[CELL].real,
                                                     .active = v[ACTIVE].real,
                                                     .slides = v[SLIDES].count,
                                                     .nodata = v[NODATA].real},
                                         .type = v[TYPE].index == 0 ? RASTER_F64 : RASTER_F32,
                                         .force = in->force,
                                         .pair = &r->pair};
    return generate_pair_of(in->output, &r->pair);
}

enum status generate_request_parse(int argc, char **argv, struct generate_request *r, bool *done)
{
    struct reading in = {.request = r};
    const struct options options = {
        .command = "generate",
        .operands = "KIND",
        .about =
            "Makes input data. KIND is clusters, series that begin at one value and wander; or "
            "dem, a map of mountain slopes with debris in their channels, as a pair of grids: "
            "the altitudes, and how much of them is debris.",
        .notes = "The same options give the same bytes on every machine and backend. Exit status: "
                 "0 written, 1 writing failed, 2 nothing could be done.",
        .entries = in.options,
        .n_entries = list_options(in.options),
        .take = take};
    *r = (struct generate_request){.kind = GENERATE_NONE};
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (specs[i].text != NULL) {
            STATUS_TRY(stage_parse_param(&specs[i], specs[i].text, &in.values[i]));
        }
    }
    STATUS_TRY(options_parse(&options, argc, argv, &in, done));
    if (*done) {
        return STATUS_OK;
    }
    if (r->kind == GENERATE_NONE) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat generate: no kind given; write leat generate clusters, or dem "
                           "(see leat generate --help)");
    }
    const bool clusters = r->kind == GENERATE_CLUSTERS;
    const size_t first = clusters ? OF_DEM : 0, end = clusters ? OF_BOTH : OF_DEM;
    for (size_t i = first; i < end; i++) { /* those of the other kind */
        if (in.given[i]) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "--%s is not an option of %s (see leat generate --help)",
                               specs[i].key, in.kind);
        }
    }
    r->threads = in.values[THREADS].count;
    return clusters ? finish_clusters(&in, r) : finish_dem(&in, r);
}

void generate_request_free(struct generate_request *r)
{
    generate_pair_free(&r->pair);
}
