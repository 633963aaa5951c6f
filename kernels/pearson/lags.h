/*
 * lags - of each pair of complete series the lag, within a range, at which |r| is largest.
 *
 * At lag l > 0 of j behind i, x_j[t + l] meets x_i[t] for all t that both have, n_samples - l of
 * them: r is Pearson's coefficient of these, as pandas' x_j.corr(x_i.shift(l)); l of j behind i is
 * -l of i behind j. Of lags whose |r| are equal within PEARSON_LAG_TIE the smallest is kept, of two
 * as small the positive one.
 *
 * What the series begin and end with at a lag is standardized, each by itself, and serves the
 * further lags as long as r stays within its bound (struct pearson_overlaps). Each lag is one
 * product of all with all, which serves -l, too.
 */
#ifndef LEAT_KERNELS_PEARSON_LAGS_H
#define LEAT_KERNELS_PEARSON_LAGS_H

#include "kernels/pearson/correlate.h"

struct lags {
    struct correlation *c; /* exact, with series that stay */
    int first, last;       /* the range; both less than n_samples - 1 in size */
    struct matrix at_0;    /* the correlation's */
    struct matrix r, lag;  /* of the best: f64, f32; the lag is of j behind i, 0 where r is NaN */
    struct span *panels;   /* of both */
};

/* Samples that the larger end of a range takes from a series. */
size_t lags_most(int first, int last);
/* Room of what is found, of the c->n_taken series. */
enum status lags_room(struct lags *l, struct room *kept) STATUS_MUST_CHECK;
/* Backend memory while lags are sought, in place of the standard form of all series. */
enum status lags_count(const struct lags *l, struct room *work) STATUS_MUST_CHECK;
/* Finds them when all series have been taken; ends their standard form. */
enum status lags_find(struct lags *l) STATUS_MUST_CHECK;

#endif
