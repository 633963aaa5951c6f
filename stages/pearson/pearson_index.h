/*
 * pearson_index - series that are none, and ones that are too short: left out, or warned of.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_INDEX_H
#define LEAT_STAGES_PEARSON_PEARSON_INDEX_H

#include "stages/pearson/pearson_job.h"

/* Whether the first column would be left out if it counts (table_watch.h). */
bool pearson_index_possible(const struct stage_args *args, const struct pearson_choice *choice);
/* The host memory that takes. */
size_t pearson_index_bytes(size_t n_series);
/* When matrix, moments and names are there: leaves the first column out if it counts. */
enum status pearson_index_leave_out(struct pearson_job *job) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
enum status pearson_notice(const struct stage_args *args, struct result *out) STATUS_MUST_CHECK;

#endif
