/*
 * pearson_order - the order in which the heat map shows the series: that of the file, or one in
 * which series that go together stand together.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_ORDER_H
#define LEAT_STAGES_PEARSON_PEARSON_ORDER_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct pearson_job;

enum { PEARSON_ORDER_MOST = 8192 }; /* series that are clustered; more stay as in the file */

/* Host memory that it takes to cluster so many series. */
size_t pearson_order_bytes(size_t n_series);
/* Sets job->order and job->place where a clustered one was asked for and can be had. The matrix is
 * complete. */
enum status pearson_order_find(struct pearson_job *job) STATUS_MUST_CHECK;
/* The matrix in that order, averaged down to side x side cells like the kernel `heatmap`. */
enum status pearson_order_cells(struct pearson_job *job, size_t side,
                                float *cells) STATUS_MUST_CHECK;

#endif
