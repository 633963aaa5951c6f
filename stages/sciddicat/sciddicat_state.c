/*
 * sciddicat_state - states that outlive their job: that of an interrupted one, and that of its end.
 *
 * state.npz: `state`, of 3 columns: a row of the step and the two halves of a digest, then one a
 * cell, by rows: its debris (m); of cells that can move the most that it ever had, of others what
 * has flowed in; its arrival. The digest is of all these, the map, and what makes a step.
 */
#include "formats/base/log.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <isa-l.h>
#include <math.h>

enum { HEAD = 3, NUMBERS = 3 /* a cell */ };

static uint64_t digest_map(const struct landslide *l)
{
    const double reals[] = {l->params.epsilon, l->params.r};
    const uint64_t counts[] = {l->params.rows, l->params.columns, l->params.nodata, l->is_masked};
    uint64_t sum = crc64_ecma_refl(0, (const void *)reals, sizeof reals);
    sum = crc64_ecma_refl(sum, (const void *)counts, sizeof counts);
    sum = crc64_ecma_refl(sum, (const void *)l->z, l->n_cells * sizeof *l->z);
    sum = crc64_ecma_refl(sum, (const void *)l->h, l->n_cells * sizeof *l->h);
    return crc64_ecma_refl(sum, l->nodata, l->n_cells);
}

/* --- of an interrupted job -------------------------------------------------------------------- */

/* Of all that its results follow from. */
static uint64_t digest(const struct sciddicat_job *job)
{
    const struct landslide *const l = &job->slide;
    const uint64_t counts[] = {digest_map(l), l->steps,        l->settle,      l->report_every,
                               l->n_probes,   l->record_every, job->start_step};
    const uint64_t sum = crc64_ecma_refl(0, (const void *)counts, sizeof counts);
    return crc64_ecma_refl(sum, (const void *)l->probes, l->n_probes * sizeof *l->probes);
}

static enum status pass_state(void *context, struct saved *s)
{
    struct sciddicat_job *const job = context;
    const uint64_t own = digest(job);
    uint64_t of = own;
    STATUS_TRY(s->pass(s, &of, sizeof of));
    return of == own ? landslide_pass(&job->slide, s)
                     : status_fail(STATUS_CHANGED, "it is of other inputs or parameters");
}

static bool is_kept(const struct sciddicat_job *job)
{
    return job->args.state != NULL && job->choice.checkpoint_s > 0 && job->snapshot == NULL &&
           job->slide.params.rows > 1;
}

enum status sciddicat_state_find(struct sciddicat_job *job)
{
    const struct stage_state *const state = job->args.state;
    struct landslide *const l = &job->slide;
    bool found = false;
    job->keep_at_s = INFINITY;
    job->digest = job->choice.keeps_end ? digest_map(l) : 0; /* of the debris at the start */
    if (is_kept(job)) {
        job->keep_at_s = landslide_now_s() + job->choice.checkpoint_s;
        STATUS_TRY(state->find(state->context, pass_state, job, &found));
    }
    if (found) {
        log_info("%s: goes on after step %llu, where it was interrupted",
                 sciddicat_name(job, SCIDDICAT_DEM), (unsigned long long)l->now.step);
        return STATUS_OK;
    }
    return job->start_step > 0 ? landslide_resume(l, job->start_step) : STATUS_OK;
}

/* A large state takes long: a twentieth of the time at most. */
enum status sciddicat_state_keep(struct sciddicat_job *job)
{
    const struct stage_state *const state = job->args.state;
    const double began = landslide_now_s();
    if (began < job->keep_at_s) {
        return STATUS_OK;
    }
    STATUS_TRY(state->keep(state->context, pass_state, job));
    const double now = landslide_now_s();
    job->keep_at_s = now + fmax(job->choice.checkpoint_s, 20 * (now - began));
    return STATUS_OK;
}

/* --- of the end ------------------------------------------------------------------------------- */

/* Of all its numbers, and the map's. */
static uint64_t digest_end(const struct sciddicat_job *job, uint64_t map, uint64_t step)
{
    const struct landslide *const l = &job->slide;
    uint64_t sum = crc64_ecma_refl(map, (const void *)&step, sizeof step);
    for (size_t i = 0; i < 2; i++) {
        sum = crc64_ecma_refl(sum, (const void *)job->kept[i], l->n_cells * sizeof **job->kept);
    }
    return crc64_ecma_refl(sum, (const void *)l->arrival, l->n_cells * sizeof *l->arrival);
}

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct sciddicat_job *const job = context;
    const struct landslide *const l = &job->slide;
    const double head[HEAD] = {(double)l->now.step, (double)(job->digest >> 32),
                               (double)(job->digest & UINT32_MAX)};
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = first + i, k = at / NUMBERS - 1;
        double *const to = (double *)dst + i;
        *to = at < HEAD           ? head[at]
              : at % NUMBERS == 0 ? l->kept_h[k]
              : at % NUMBERS == 1 ? l->kept_max_h[k]
                                  : l->arrival[k];
    }
    return STATUS_OK;
}

enum status sciddicat_state_file(struct sciddicat_job *job)
{
    const size_t dims[] = {job->slide.n_cells + 1, NUMBERS};
    struct result_file *f;
    job->digest = digest_end(job, job->digest, job->slide.now.step);
    STATUS_TRY(result_add_file(job->io->out, "state.npz", PACK_ZIP, &f));
    return result_add_array(f, "state", NPY_F8, 2, dims, fetch, job, NULL);
}

static enum status refuse(const struct sciddicat_job *job, const char *what)
{
    return status_fail(STATUS_BAD_INPUT, "%s: %s; take the state.npz of a run with state=keep",
                       sciddicat_name(job, SCIDDICAT_START), what);
}

/* Number `at` of the file. One that cannot be there becomes the largest: its digest tells. */
static void take(struct sciddicat_job *job, uint64_t at, double x)
{
    const uint64_t k = at / NUMBERS - 1;
    const uint64_t whole = x >= 0 && x <= UINT32_MAX ? (uint64_t)x : UINT64_MAX;
    if (at == 0) {
        job->start_step = whole;
    } else if (at < HEAD) {
        job->digest = job->digest << 32 | whole;
    } else if (at % NUMBERS == 2) {
        job->slide.arrival[k] = (int32_t)(uint32_t)whole; /* of -1, too */
    } else {
        job->kept[at % NUMBERS][k] = x;
    }
}

enum status sciddicat_state_take(struct sciddicat_job *job)
{
    const struct table_info *const t = job->args.inputs[SCIDDICAT_START].table;
    const uint64_t all = NUMBERS * ((uint64_t)job->slide.n_cells + 1);
    const struct table_chunk *chunk;
    uint64_t n = 0;
    if (t->cells_per_line != NUMBERS || t->lines_are_columns || t->dtype != DTYPE_F64) {
        return refuse(job, "is not a state, which has 3 columns of float64");
    }
    STATUS_TRY(io_chunk(job->io, SCIDDICAT_START, &chunk));
    while (chunk != NULL && n + chunk->n_cells <= all) {
        for (size_t i = 0; i < chunk->n_cells; i++) {
            take(job, n++, ((const double *)chunk->values)[i]);
        }
        STATUS_TRY(io_chunk(job->io, SCIDDICAT_START, &chunk));
    }
    if (chunk != NULL || n < all ||
        job->digest != digest_end(job, digest_map(&job->slide), job->start_step)) {
        return refuse(job, "its numbers were changed, or it is of other altitudes, debris, p_r, "
                           "p_epsilon or nodata");
    }
    return job->start_step < job->slide.steps
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT,
                             "%s: is the state after step %llu, so nothing is left of steps=%llu, "
                             "which counts all of them; set steps to more",
                             sciddicat_name(job, SCIDDICAT_START),
                             (unsigned long long)job->start_step,
                             (unsigned long long)job->slide.steps);
}
