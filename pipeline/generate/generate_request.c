/*
 * generate_request - see generate_request.h.
 *
 * The kind may stand behind its options, so these are gathered first and looked at once all are
 * there.
 */
#include "pipeline/generate/generate_request.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "pipeline/settings/options.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Keys tell what they are options of. */
enum option_key {
    OF_CLUSTERS = 0x100,
    KEY_SERIES = OF_CLUSTERS,
    KEY_SAMPLES,
    KEY_EPSILON,
    KEY_START,
    KEY_LAYOUT,
    KEY_GAPS,
    OF_DEM = 0x200,
    KEY_ROWS = OF_DEM,
    KEY_COLUMNS,
    KEY_CELL,
    KEY_ACTIVE,
    KEY_SLIDES,
    KEY_NODATA,
    OF_BOTH = 0x300,
    KEY_SEED = OF_BOTH,
    KEY_TYPE,
    KEY_THREADS,
    KEY_FORCE
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Of clusters:", 1},
    {"series", KEY_SERIES, "M", 0, "Number of series (default 64)", 0},
    {"samples", KEY_SAMPLES, "N", 0, "Samples of each (default 256)", 0},
    {"epsilon", KEY_EPSILON, "E", 0,
     "A sample varies the one before by a uniform fraction in [-E, E] (default 0.01)", 0},
    {"start", KEY_START, "V", 0, "First sample of every series (default 100)", 0},
    {"layout", KEY_LAYOUT, "rows|columns", 0,
     "A series a row, or a series a column under a header of names (default rows)", 0},
    {"gaps", KEY_GAPS, "FRACTION", 0, "Share of samples that are missing (default 0)", 0},
    {"backend", 'b', "auto|cpu|cuda", 0,
     "Where to compute (default cpu; writing takes longer). The bits are the same", 0},
    {NULL, 0, NULL, 0, "Of dem:", 2},
    {"rows", KEY_ROWS, "R", 0, "Rows of the map (default 600)", 0},
    {"columns", KEY_COLUMNS, "C", 0, "Columns of it (default 500)", 0},
    {"cell", KEY_CELL, "METRES", 0, "Side of a cell (default 10)", 0},
    {"active", KEY_ACTIVE, "FRACTION", 0,
     "Share of the map that debris covers at the start (default 0.005)", 0},
    {"slides", KEY_SLIDES, "N", 0,
     "Separate heaps of debris (default: one on every slope, and a slope for half a million cells)",
     0},
    {"nodata", KEY_NODATA, "FRACTION", 0,
     "Share of the map, around it, that has no altitude (default 0)", 0},
    {NULL, 0, NULL, 0, "Of both:", 3},
    {"seed", KEY_SEED, "N", 0, "Seed of the random numbers (default 0)", 0},
    {"type", KEY_TYPE, "f32|f64", 0, "Precision of the numbers (default f64)", 0},
    {"output", 'o', "FILE", 0,
     "clusters: file to write, .csv or .npy; - is CSV on standard output (default). dem: name of "
     "the pair; X or X.tif writes X.dem.tif and X.source.tif, X.asc and X.asc.gz likewise",
     0},
    {"threads", KEY_THREADS, "N", 0, "Computing threads (default 0: the CPUs that leat may use)",
     0},
    {"force", KEY_FORCE, NULL, 0, "Replace files that are already there", 0},
    {"quiet", 'q', NULL, 0, "Only say what went wrong", 0},
    {"verbose", 'v', NULL, 0, "Say more", 0},
    {0},
};

static const char doc[] =
    "Makes input data. KIND is clusters, series that each begin at V and wander; or dem, a map of "
    "mountain slopes with debris in their channels, as a pair of grids: the altitudes, and how "
    "much of them is debris."
    "\vThe same options give the same bytes on every machine and backend. "
    "Exit status: 0 written, 1 writing failed, 2 nothing could be done.";

/* What has been read so far. */
struct reading {
    struct generate_request *request;
    const char *kind, *output; /* NULL: not given */
    uint64_t seed;
    bool is_f32, force;
    int of_clusters, of_dem; /* the last option of that kind alone; 0: none */
};

static enum status take_count(const char *name, const char *text, uint64_t least, uint64_t most,
                              uint64_t *out)
{
    uint64_t count;
    if (!text_parse_count(text, &count) || count < least || count > most) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--%s: '%s' is not a whole number from %llu to %llu", name, text,
                           (unsigned long long)least, (unsigned long long)most);
    }
    *out = count;
    return STATUS_OK;
}

/* least <= value, and value < limit. */
static enum status take_real(const char *name, const char *text, double least, double limit,
                             double *out)
{
    double real;
    if (!text_parse_real(text, &real) || !(real >= least) || !(real < limit)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--%s: '%s' is not a number of at least %g and less than %g", name, text,
                           least, limit);
    }
    *out = real;
    return STATUS_OK;
}

/* *is_second: the text is `second`, not `first`. */
static enum status take_either(const char *name, const char *text, const char *first,
                               const char *second, bool *is_second)
{
    *is_second = strcmp(text, second) == 0;
    return *is_second || strcmp(text, first) == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "--%s: '%s' is neither %s nor %s", name, text,
                             first, second);
}

static enum status take_backend(struct generate_request *r, const char *text)
{
    r->backend = text;
    return strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "--backend: '%s' is none of auto|cpu|cuda", text);
}

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

static enum status take_of_clusters(struct reading *in, int key, const char *arg)
{
    struct generate_order *const o = &in->request->clusters;
    in->of_clusters = key;
    switch (key) {
    case KEY_SERIES:
        return take_count("series", arg, 1, UINT64_C(1) << 48, &o->n_series);
    case KEY_SAMPLES:
        return take_count("samples", arg, 1, UINT64_C(1) << 48, &o->n_samples);
    case KEY_EPSILON:
        return take_real("epsilon", arg, 0, 1, &o->walk.epsilon);
    case KEY_START:
        return take_real("start", arg, -FLT_MAX, FLT_MAX, &o->walk.start);
    case KEY_LAYOUT:
        return take_either("layout", arg, "rows", "columns", &o->columns);
    case KEY_GAPS:
        return take_real("gaps", arg, 0, nextafter(1, 2), &o->gaps);
    default:
        return take_backend(in->request, arg);
    }
}

static enum status take_of_dem(struct reading *in, int key, const char *arg)
{
    struct terrain_order *const o = &in->request->dem.terrain;
    in->of_dem = key;
    switch (key) {
    case KEY_ROWS:
        return take_count("rows", arg, 1, TERRAIN_MAX_CELLS, &o->rows);
    case KEY_COLUMNS:
        return take_count("columns", arg, 1, TERRAIN_MAX_CELLS, &o->columns);
    case KEY_CELL:
        return take_real("cell", arg, 0.01, 1000, &o->cell_m);
    case KEY_ACTIVE:
        return take_real("active", arg, 0, 1, &o->active);
    case KEY_SLIDES:
        return take_count("slides", arg, 1, TERRAIN_MAX_CELLS, &o->slides);
    default:
        return take_real("nodata", arg, 0, 0.9, &o->nodata);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct reading *const in = state->input;
    if (key == 'b' || (key >= OF_CLUSTERS && key < OF_DEM)) {
        return options_error(take_of_clusters(in, key, arg));
    }
    if (key >= OF_DEM && key < OF_BOTH) {
        return options_error(take_of_dem(in, key, arg));
    }
    switch (key) {
    case KEY_SEED:
        return options_error(take_count("seed", arg, 0, UINT64_MAX, &in->seed));
    case KEY_TYPE:
        return options_error(take_either("type", arg, "f64", "f32", &in->is_f32));
    case KEY_THREADS:
        return options_error(take_count("threads", arg, 0, 4096, &in->request->threads));
    case KEY_FORCE:
        in->force = true;
        return 0;
    case 'o':
        in->output = arg;
        return 0;
    case 'q':
        log_set_level(LOG_LEVEL_WARNING);
        return 0;
    case 'v':
        log_set_level(LOG_LEVEL_DEBUG);
        return 0;
    case ARGP_KEY_ARG:
        return options_error(take_kind(in, arg));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* An option of the other kind alone is a mistake, not something to be passed over. */
static enum status refuse_option(int key, const char *kind)
{
    const struct argp_option *o = options;
    while (o->name == NULL || o->key != key) {
        o++;
    }
    return status_fail(STATUS_BAD_ARGUMENT,
                       "--%s is not an option of %s (see leat generate --help)", o->name, kind);
}

static enum status finish_clusters(const struct reading *in, struct generate_order *o)
{
    if (in->of_dem != 0) {
        return refuse_option(in->of_dem, in->kind);
    }
    o->path = in->output != NULL ? in->output : "-";
    o->walk.seed = in->seed;
    o->type = in->is_f32 ? DTYPE_F32 : DTYPE_F64;
    o->force = in->force;
    /* standard output and devices get CSV */
    const char *const dot = strrchr(o->path, '.');
    o->csv = strcmp(o->path, "-") == 0 || strncmp(o->path, "/dev/", 5) == 0 ||
             (dot != NULL && strcasecmp(dot, ".csv") == 0);
    return o->csv || (dot != NULL && strcasecmp(dot, ".npy") == 0)
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "%s: the name must end in .csv or .npy", o->path);
}

static enum status finish_dem(const struct reading *in, struct generate_request *r)
{
    if (in->of_clusters != 0) {
        return refuse_option(in->of_clusters, in->kind);
    }
    if (in->output == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "dem writes two files: -o X names them, X.dem.tif and X.source.tif");
    }
    r->dem.terrain.seed = in->seed;
    r->dem.type = in->is_f32 ? RASTER_F32 : RASTER_F64;
    r->dem.force = in->force;
    r->dem.pair = &r->pair;
    return generate_pair_of(in->output, &r->pair);
}

enum status generate_request_parse(int argc, char **argv, struct generate_request *r, bool *done)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "KIND", .doc = doc};
    struct reading in = {.request = r};
    *r = (struct generate_request){
        .backend = "cpu",
        .clusters = {.walk = {.start = 100, .epsilon = 0.01}, .n_series = 64, .n_samples = 256},
        .dem = {.terrain = {.rows = 600, .columns = 500, .cell_m = 10, .active = 0.005}}};
    const enum status status = options_parse("leat generate", &argp, argc, argv, &in, done);
    if (status != STATUS_OK || *done) {
        return status;
    }
    switch (r->kind) {
    case GENERATE_CLUSTERS:
        return finish_clusters(&in, &r->clusters);
    case GENERATE_DEM:
        return finish_dem(&in, r);
    default:
        return status_fail(
            STATUS_BAD_ARGUMENT,
            "no kind given: leat generate clusters, or dem (see leat generate --help)");
    }
}

void generate_request_free(struct generate_request *r)
{
    generate_pair_free(&r->pair);
}
