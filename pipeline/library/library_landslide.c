/*
 * library_landslide - a map and its debris in memory to where the debris comes to lie.
 */
#include "kernels/sciddicat/landslide.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/library/library_context.h"

#include <stdlib.h>

static const double most_epsilon = 1e6;

/* A call. */
struct slide {
    struct leat_context *context;
    struct leat_array dem, source; /* on the host, once they are */
    struct landslide run;
};

static double number_at(const struct leat_array *x, size_t row, size_t column)
{
    const char *const at = (const char *)x->data + row * library_stride(x);
    return x->type == LEAT_F4 ? (double)((const float *)(const void *)at)[column]
                              : ((const double *)(const void *)at)[column];
}

static enum status refuse(const char *map, size_t row, size_t column, double value,
                          const char *what)
{
    return status_fail(STATUS_BAD_INPUT, "%s: row %zu, column %zu (the first are 0) is %g, no %s",
                       map, row, column, value, what);
}

static enum status set_cells(struct slide *s)
{
    for (size_t i = 0, k = 0; i < s->dem.rows; i++) {
        STATUS_TRY(queue_check(s->context->queue)); /* a large map takes seconds */
        for (size_t j = 0; j < s->dem.columns; j++, k++) {
            const double z = number_at(&s->dem, i, j), h = number_at(&s->source, i, j);
            if (landslide_altitude(&s->run, k, z, isnan(z), 1) != LANDSLIDE_SOUND) {
                return refuse("dem", i, j, z, "altitude in m; NaN stands for none");
            }
            if (landslide_debris(&s->run, k, h, isnan(h), 1) != LANDSLIDE_SOUND) {
                return refuse("source", i, j, h, "thickness in m, which is from 0 to 1e9");
            }
        }
    }
    return landslide_ready(&s->run)
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "dem: no cell has an altitude, all are NaN");
}

/* Room on the host for a map that is on the device. */
static enum status map_room(const struct leat_array *x, struct room *room, void **out)
{
    *out = NULL;
    return x->memory == LEAT_DEVICE_MEMORY
               ? room_host(room, x->rows * x->columns, library_stride(x) / x->columns, out)
               : STATUS_OK;
}

static enum status fetch_map(struct leat_context *c, struct leat_array *x, void *to)
{
    const size_t n = x->rows * x->columns, size = library_stride(x) / x->columns;
    struct span from;
    if (x->memory == LEAT_DEVICE_MEMORY) {
        STATUS_TRY(library_borrow(c, x->data, n, size, x->stream, &from));
        STATUS_TRY(c->backend->ops->download(c->queue, to, from, n * size));
        x->data = to;
    }
    return STATUS_OK;
}

static enum status all_room(struct slide *s, struct room *room, void *copies[2])
{
    STATUS_TRY(map_room(&s->dem, room, &copies[0]));
    STATUS_TRY(map_room(&s->source, room, &copies[1]));
    return landslide_room(&s->run, s->context->queue, room);
}

/* --- results ---------------------------------------------------------------------------------- */

static enum status result_new(const struct landslide *l, struct leat_landslide_result *r)
{
    r->rows = l->params.rows;
    r->columns = l->params.columns;
    r->thickness = malloc(l->n_cells * sizeof *r->thickness);
    r->max_thickness = malloc(l->n_cells * sizeof *r->max_thickness);
    r->arrival = malloc(l->n_cells * sizeof *r->arrival);
    return r->thickness != NULL && r->max_thickness != NULL && r->arrival != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for results of %zu cells", l->n_cells);
}

static enum status put_reports(const struct landslide *l, struct leat_landslide_result *r)
{
    r->reports = malloc(l->n_reports * sizeof *r->reports);
    if (r->reports == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu reports", l->n_reports);
    }
    for (size_t k = 0; k < l->n_reports; k++) {
        const struct sciddicat_report *const from = &l->reports[k];
        r->reports[k] = (struct leat_landslide_report){.step = from->step,
                                                       .on_map = from->mass,
                                                       .lost_edge = from->lost_edge,
                                                       .lost_nodata = from->lost_nodata,
                                                       .largest = from->largest,
                                                       .n_active = from->n_active};
    }
    r->n_reports = l->n_reports;
    r->settled = l->settled;
    return STATUS_OK;
}

static void mask(const struct landslide *l, struct leat_landslide_result *r)
{
    for (size_t k = 0; k < l->n_cells; k++) {
        if (landslide_masks(l, k)) {
            r->thickness[k] = r->max_thickness[k] = (double)NAN;
            r->arrival[k] = -1;
        }
    }
}

/* --- the call --------------------------------------------------------------------------------- */

static enum status tell(void *context)
{
    const struct slide *const s = context;
    return library_progress(s->context, (double)s->run.now.step / (double)s->run.steps);
}

static enum status compute(struct slide *s, struct leat_landslide_result *r)
{
    struct leat_context *const c = s->context;
    struct landslide *const l = &s->run;
    struct room counted = {0}, room = {.queue = c->queue};
    void *copies[2];
    STATUS_TRY(all_room(s, &counted, copies));
    STATUS_TRY(library_may_take(c, &counted));
    STATUS_TRY(result_new(l, r));
    l->h = r->thickness;
    l->max_h = r->max_thickness;
    l->arrival = r->arrival;
    enum status st = all_room(s, &room, copies);
    st = st == STATUS_OK ? fetch_map(c, &s->dem, copies[0]) : st;
    st = st == STATUS_OK ? fetch_map(c, &s->source, copies[1]) : st;
    st = st == STATUS_OK ? set_cells(s) : st;
    st = st == STATUS_OK ? landslide_run(l, c->queue, thread_pool_executor(c->threads)) : st;
    st = st == STATUS_OK ? put_reports(l, r) : st;
    if (st == STATUS_OK) {
        mask(l, r);
    }
    landslide_close(l);
    room_free(&room);
    return st;
}

static struct landslide landslide_of(const struct leat_array *dem,
                                     const struct leat_landslide_options *o)
{
    return (struct landslide){
        .params = {.rows = dem->rows,
                   .columns = dem->columns,
                   .epsilon = o->epsilon < 0    ? 0
                              : o->epsilon == 0 ? 0.001
                                                : o->epsilon,
                   .r = o->r == 0 ? 0.5 : o->r,
                   .nodata = o->nodata == LEAT_NODATA_SINK ? SCIDDICAT_SINK : SCIDDICAT_WALL},
        .steps = o->steps > 0 ? o->steps : 4000,
        .settle = o->settle,
        .report_every = o->report_every,
        .pause = tell};
}

/* NULL: nothing is. */
static const char *what_is_wrong(const struct leat_array *dem, const struct leat_array *source,
                                 const struct leat_landslide_options *o)
{
    if (!library_is_array(dem) || !library_is_array(source) || dem->rows != source->rows ||
        dem->columns != source->columns) {
        return "dem, source: give LEAT_F8 or LEAT_F4, rows that do not overlap, and the same rows "
               "and columns of both";
    }
    if (o->steps > LANDSLIDE_MOST_STEPS) {
        return "steps: at most 2147483646";
    }
    if (!(o->epsilon <= most_epsilon) || !(o->r >= 0 && o->r <= 1) ||
        o->nodata > LEAT_NODATA_SINK) {
        return "epsilon, r, nodata: give at most 1e6, 0 to 1, and one of its values";
    }
    return NULL;
}

enum leat_status leat_landslide(struct leat_context *c, const struct leat_array *dem,
                                const struct leat_array *source,
                                const struct leat_landslide_options *options,
                                struct leat_landslide_result **out)
{
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    if (out == NULL) {
        return library_refuse(c, "out: give where the result goes");
    }
    *out = NULL;
    const char *wrong =
        options != NULL ? library_options(&o, sizeof o, options, options->size) : NULL;
    wrong = wrong != NULL ? wrong : what_is_wrong(dem, source, &o);
    if (wrong != NULL) {
        return library_refuse(c, wrong);
    }
    struct leat_landslide_result *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return library_end(c, status_fail(STATUS_NO_MEMORY, "no memory for a result"));
    }
    struct slide s = {.context = c, .dem = *dem, .source = *source, .run = landslide_of(dem, &o)};
    s.run.context = &s;
    const enum status st = compute(&s, r);
    if (st != STATUS_OK) {
        leat_landslide_free(r);
        r = NULL;
    }
    *out = r;
    return library_end(c, st);
}

void leat_landslide_free(struct leat_landslide_result *r)
{
    if (r != NULL) {
        free(r->thickness);
        free(r->max_thickness);
        free(r->arrival);
        free(r->reports);
        free(r);
    }
}
