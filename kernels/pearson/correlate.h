/*
 * correlate - series in rows, panel by panel as they come, to the matrix of their coefficients.
 *
 *   means -> standardize -> gram with all series before them
 *
 * so that after the last panel only its own products are left. Once other devices help, they take
 * some of the panels (panels.h).
 *
 * Gaps are known when the moments are on the host, at the end; then each pair of panels of which
 * one has a series with gaps is corrected. That takes the exact form: where the matrix is of
 * another form, the two panels are standardized again, from the series that were kept for it.
 *
 * Where the matrix is not held, its panels are taken when all series are there, and each is dropped
 * once somebody has looked at it; again, if need be.
 *
 * It knows neither where series come from nor what becomes of their coefficients.
 */
#ifndef LEAT_KERNELS_PEARSON_CORRELATE_H
#define LEAT_KERNELS_PEARSON_CORRELATE_H

#include "kernels/base/room.h"
#include "kernels/pearson/panels.h"

/* What is correlated, and how; set before the first call. */
struct correlate_request {
    enum pearson_precision precision;
    enum dtype type;  /* of the series */
    size_t n_series;  /* known, or guessed */
    bool is_guessed;  /* there may be more, and fewer */
    size_t n_samples; /* at least 2 */
    size_t panel;     /* series that are taken at a time; fewer only at the end */
    bool keep;        /* the series stay, for pairs that are computed again from them: where the
                         precision is not exact, or samples are so far from the mean of others that
                         the exact form does not tell them apart (correlate_gaps) */
    bool given;       /* they are all there before the first is taken, and stay */
    bool in_place; /* the standard form takes their place (correlate_in_place): given, not kept */
    bool gaps;     /* there may be missing samples */
    bool ranks;    /* they are average ranks: pairs with gaps are ranked again (gram_gaps) */
    bool alone;    /* no products as they come: they only meet targets, in the exact form, or the
                      matrix is swept */
};

/* Series in a panel, which arrive before its part of the matrix is computed; n series of n_samples,
 * both at least 1. Large ones make better matrix products, small ones leave less to do when the
 * last byte has been read; their cells are bounded, so that a few very long series do not wait for
 * one another. */
size_t correlate_panel(size_t n, bool is_guessed, size_t n_samples);
/* The same where the matrix is swept: no larger than a panel of r may be on this queue. */
size_t correlate_panel_of_sweep(const struct queue *queue, size_t panel, size_t n);
/* The same of series that are all there before the first product: few panels have enough tiles for
 * all cores, with gaps, too. */
size_t correlate_panel_of_given(size_t n, size_t n_samples);

/* Series in standard form and, where they stay, themselves. One block when their number is known,
 * more when the guess was too low. */
struct series_block {
    size_t first, rows; /* series first .. first + rows - 1 have room */
    struct span z, x;   /* x: none unless the series stay */
};

/* The first two have 8 series at least, each later one half as many as there are before it: so few
 * hold more than can be paired. */
enum { CORRELATE_BLOCKS_MOST = 56 };

struct correlation {
    struct queue *queue;
    struct correlate_request request;
    /* Between parts of correlate_gaps and correlate_sweep; share: of it, from 0 to 1. NULL: nobody
     * asks. */
    enum status (*pause)(void *context, double share);
    void *context;
    struct span given; /* all series, if they are given */

    /* Memory, which a plan only counts. */
    struct room *kept;    /* the matrix, until its owner ends */
    struct room standard; /* series in standard form, until they are computed with again */
    struct room work;     /* series that stay, until all coefficients are there */
    struct room exact;    /* panels in the exact form, for gaps in a matrix of another form */
    struct room growing;  /* moments, the list of panels: until there are longer ones */

    struct series_block blocks[CORRELATE_BLOCKS_MOST];
    size_t n_blocks;
    size_t n_taken; /* series, in whole panels */
    struct span of_exact[2];
    struct moments exact_moments;
    struct panels *shared; /* with other devices; NULL: it is not */

    struct moments moments; /* its min_samples is set before the first call */
    struct span *panels;
    size_t n_panels;

    struct span swept[2]; /* panels, in turns */

    struct span targets; /* in standard form; their moments follow those of the series */
    size_t n_targets;
};

/* Counts what follows from the request, but for the matrix. */
enum status correlate_count(struct correlation *c) STATUS_MUST_CHECK;
/* All coefficients are there: gives back what only they took; or all but the matrix. */
void correlate_release(struct correlation *c);
void correlate_free(struct correlation *c);
/* Series in a panel, at most. */
size_t correlate_most_rows(const struct correlation *c);
/* Whether the standard form can take the place of series; these are then as far apart as that. */
bool correlate_in_place(const struct queue *queue, enum pearson_precision precision,
                        enum dtype type);
/* Bytes from a series to the next, and of its standard form. */
size_t correlate_x_bytes(const struct correlation *c);
size_t correlate_z_bytes(const struct correlation *c, enum pearson_precision precision);

/* Makes room for the next panel. *x: where its series go, or, if all were given, lie; none where
 * they do not stay. */
enum status correlate_next(struct correlation *c, struct span *x) STATUS_MUST_CHECK;
/* Takes the n series at x, the next ones. */
enum status correlate_take(struct correlation *c, struct span x, size_t n) STATUS_MUST_CHECK;
/* All have been taken: their coefficients and moments are there, but of pairs with gaps. */
enum status correlate_end(struct correlation *c) STATUS_MUST_CHECK;

/* Those of the *n queues that can help do from now on (panels_open); the number of series is known.
 * They have the memory of `correlate_shared`. */
enum status correlate_share(struct correlation *c, struct queue **queues,
                            size_t *n) STATUS_MUST_CHECK;
struct panels_config correlate_shared(const struct correlation *c);

/* Corrects the matrix where series have fewer samples than all; count[s]: those of series s. Adds
 * to *n_unsure the pairs that take the series themselves, which did not stay; the matrix is not
 * complete then. Waits. */
enum status correlate_gaps(struct correlation *c, const double *count,
                           uint64_t *n_unsure) STATUS_MUST_CHECK;
/* The matrix. */
struct matrix correlate_matrix(const struct correlation *c);
/* All series that stayed as one span, for exact_pairs; ends their standard form, but of those that
 * are alone. */
enum status correlate_series(struct correlation *c, struct series_rows *x) STATUS_MUST_CHECK;
/* After correlate_end, of series that are alone: the matrix, but of pairs with gaps. */
enum status correlate_fill(struct correlation *c) STATUS_MUST_CHECK;
/* Or its panels, one after the other from the first on: `visit` gets each as a band, which lies on
 * q and is complete; none stays. count: as of correlate_gaps, or NULL where no series has gaps;
 * *n_unsure likewise, and the sweep ends then. While a panel is visited further ones are computed,
 * on all devices that help where no series has gaps. */
typedef enum status correlate_visit(void *context, struct queue *q, const struct matrix *band);
enum status correlate_sweep(struct correlation *c, const double *count, uint64_t *n_unsure,
                            correlate_visit *visit, void *context) STATUS_MUST_CHECK;
/* What a sweep of n series takes, of `work`. */
enum status correlate_sweep_room(struct correlation *c, size_t n) STATUS_MUST_CHECK;

/* After correlate_end, of series that are alone: takes n further ones at x, doubles, as targets. */
enum status correlate_targets(struct correlation *c, struct span x, size_t n) STATUS_MUST_CHECK;
/* The coefficients of target k and series s at k n_series + s of r, doubles. x: the targets once
 * more, of the type of the series. `gaps`: a series or a target has fewer samples than all;
 * *n_unsure as of correlate_gaps. */
enum status correlate_with_targets(struct correlation *c, struct span x, struct span r, bool gaps,
                                   uint64_t *n_unsure) STATUS_MUST_CHECK;
/* Series s, of targets those after the series, in the standard form that was computed with, or
 * itself: none where it did not stay. Of targets always the exact form. */
struct span correlate_one(const struct correlation *c, size_t s, bool is_standard);

/* For who fills the matrix in another way: moments of `capacity` series and a list for their
 * panels, those that are there stay; all panels of n series. */
enum status correlate_grow(struct correlation *c, size_t capacity) STATUS_MUST_CHECK;
enum status correlate_panels(struct correlation *c, size_t n) STATUS_MUST_CHECK;

#endif
