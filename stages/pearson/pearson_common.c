/*
 * pearson_common - how many samples each pair found has: all, or those that neither series lacks.
 *
 * Of two series, one of which is complete, that is the number of values of the other. Pairs of
 * which both have gaps are counted: of rows, a bit a sample is kept of those series that come up;
 * slabs come once more.
 */
#include "kernels/pearson/significance_rule.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

enum { BATCH = 1 << 12, WORD_BITS = 64 };

/* --- series along lines ---------------------------------------------------------------------- */

enum status pearson_common_room(struct pearson_job *job)
{
    const size_t words = significance_words(job->n_samples);
    STATUS_TRY(
        room_host(&job->work, pearson_n_all(job) * words, sizeof *job->present, &job->present));
    STATUS_TRY(room_host(&job->work, pearson_n_all(job), sizeof *job->is_known, &job->is_known));
    return room_host(&job->work, job->n_samples, sizeof *job->one, &job->one);
}

static uint64_t *bits_of(const struct pearson_job *job, size_t s)
{
    return job->present + s * significance_words(job->n_samples);
}

/* In the exact standard form a missing sample is -0.0. */
static bool is_present(double v, bool is_standard)
{
    return is_standard ? v != 0 || !signbit(v) : !isnan(v);
}

/* Which samples of series s are present. */
static enum status find_present(struct pearson_job *job, size_t s)
{
    const bool is_standard = job->choice.used == PEARSON_EXACT;
    const struct span from = correlate_one(&job->c, s, is_standard);
    const enum dtype type = is_standard ? DTYPE_F64 : job->layout.x_type;
    uint64_t *const bits = bits_of(job, s);
    job->is_known[s] = true;
    STATUS_TRY(job->ops->download(job->queue, job->one, from, job->n_samples * dtype_bytes(type)));
    for (size_t t = 0; t < job->n_samples; t++) {
        const bool present = is_present(dtype_real(type, job->one, t), is_standard);
        bits[t / WORD_BITS] |= (uint64_t)present << t % WORD_BITS;
    }
    return STATUS_OK;
}

static enum status count_rows(struct pearson_job *job, struct matrix_pair *pairs, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const size_t both[] = {pairs[k].i, pairs[k].j};
        for (size_t b = 0; b < 2; b++) {
            if (!job->is_known[both[b]]) {
                STATUS_TRY(find_present(job, both[b]));
            }
        }
        pairs[k].r =
            significance_common(bits_of(job, both[0]), bits_of(job, both[1]), job->n_samples);
    }
    return STATUS_OK;
}

/* --- of all pairs ---------------------------------------------------------------------------- */

static uint64_t count_of(const struct pearson_job *job, size_t s)
{
    return (uint64_t)pearson_stat(job, MOMENTS_COUNT, s);
}

static bool has_gaps(const struct pearson_job *job, size_t s)
{
    return count_of(job, s) < job->n_samples;
}

static bool both_have_gaps(const struct pearson_job *job, const struct matrix_pair *p)
{
    return has_gaps(job, p->i) && has_gaps(job, p->j);
}

/* Pairs of which both series have gaps, `most` at a time, as they are numbered in the table. */
static enum status count_both(struct pearson_job *job, const struct matrix_pair *pairs,
                              size_t n_pairs, struct matrix_pair *batch, size_t most,
                              uint64_t *samples)
{
    const uint32_t shift = job->layout.turned ? 0 : (uint32_t)job->n_left_out;
    for (size_t k = 0, end = 0, n; k < n_pairs;) {
        for (n = 0; end < n_pairs && n < most; end++) {
            if (both_have_gaps(job, &pairs[end])) {
                batch[n++] =
                    (struct matrix_pair){.i = pairs[end].i + shift, .j = pairs[end].j + shift};
            }
        }
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(pearson_has_rows(&job->layout) ? count_rows(job, batch, n)
                                                  : pearson_columns_common(job, batch, n));
        for (n = 0; k < end; k++) {
            if (both_have_gaps(job, &pairs[k])) {
                samples[k] = (uint64_t)batch[n++].r;
            }
        }
    }
    return STATUS_OK;
}

enum status pearson_common_of(struct pearson_job *job, const struct matrix_pair *pairs, size_t n,
                              uint64_t *samples)
{
    struct matrix_pair *batch;
    const size_t most = pearson_has_rows(&job->layout) ? BATCH : n;
    for (size_t k = 0; k < n; k++) {
        const uint64_t a = count_of(job, pairs[k].i), b = count_of(job, pairs[k].j);
        samples[k] = a < b ? a : b;
    }
    if (!job->has_gaps) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(&job->work, most, sizeof *batch, &batch));
    if (pearson_has_rows(&job->layout) && job->present == NULL) {
        STATUS_TRY(pearson_common_room(job));
    }
    return count_both(job, pairs, n, batch, most, samples);
}

enum status pearson_common(struct pearson_job *job)
{
    STATUS_TRY(room_host(job->kept, job->n_found, sizeof *job->n_common, &job->n_common));
    return pearson_common_of(job, job->pairs, job->n_found, job->n_common);
}

enum status pearson_common_all(struct pearson_job *job)
{
    for (size_t s = 0; s < job->n_series && pearson_has_rows(&job->layout); s++) {
        if (has_gaps(job, s) && !job->is_known[s]) {
            STATUS_TRY(queue_check(job->queue));
            STATUS_TRY(find_present(job, s));
        }
    }
    return STATUS_OK;
}
