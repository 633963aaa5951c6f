/*
 * pearson_pairs - the pairs that are reported: the strongest, and those at or above a threshold.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_PAIRS_H
#define LEAT_KERNELS_PEARSON_PEARSON_PAIRS_H

#include "kernels/pearson/pearson.h"

struct pearson_wanted {
    size_t top;       /* the strongest so many */
    double threshold; /* and all with |r| at or above it; 0: none */
    size_t most;      /* more than so many are refused, ... */
    const char *cure; /* ... with what to do then */
    double bound;     /* the matrix's coefficients are within it of the exact ones; 0: exact */
    /* bound > 0: the series, from which candidates are computed again, and where they lie */
    struct queue *queue;
    struct series_rows x;
    struct moments moments;
};

/* The most pairs that are held at a time while `wanted` are sought among n_pairs; as many again
 * while they are sorted. */
size_t pearson_pairs_held(size_t wanted, uint64_t n_pairs);

/* Those of the bands of a matrix that have come. */
struct pearson_basket { /* zeroed but for: */
    const struct pearson_wanted *wanted;
    struct matrix_pair *pairs; /* free() */
    size_t n, capacity;
    size_t n_clean, clean_at; /* so many are sorted, and wanted so far; sort and drop at so many */
    bool is_full;             /* the top is there: */
    struct matrix_pair last;  /* ... its last pair */
};
/* Adds those of a matrix, or of a band, whose queue it is; the series may lie elsewhere. */
enum status pearson_basket_add(struct pearson_basket *b, struct queue *q,
                               const struct matrix *m) STATUS_MUST_CHECK;
/* All have come: the pairs are as of pearson_pairs_find. */
enum status pearson_basket_end(struct pearson_basket *b) STATUS_MUST_CHECK;

/* Finds the pairs, ordered by |r| from the largest, then by i, then by j; ties at the end of the
 * top are cut in that order. With a bound the pairs are those that the exact coefficients would
 * give, and have them. *out is the caller's to free. STATUS_TOO_LARGE, STATUS_NO_MEMORY. */
enum status pearson_pairs_find(struct queue *q, const struct matrix *matrix,
                               const struct pearson_wanted *wanted, struct matrix_pair **out,
                               size_t *n) STATUS_MUST_CHECK;

/* Orders pairs by falling |r|, then by i, then by j. STATUS_NO_MEMORY. */
enum status pearson_pairs_sort(struct matrix_pair *pairs, size_t n) STATUS_MUST_CHECK;

/* Brings the rows of a matrix, or of a band, one after the other: `take` gets elements (i, j) ..
 * (i + n - 1, j) of row j, in pieces. cells: host memory for PEARSON_CELLS elements. */
enum { PEARSON_CELLS = 1 << 20 };
typedef enum status pearson_row_fn(void *context, uint32_t j, uint32_t i, const void *cells,
                                   size_t n);
enum status pearson_rows_read(struct queue *q, const struct matrix *m, void *cells,
                              pearson_row_fn *take, void *context) STATUS_MUST_CHECK;

#endif
