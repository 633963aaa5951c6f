/*
 * pearson_report - what a pearson job says about its series: files, summary, warnings.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_REPORT_H
#define LEAT_STAGES_PEARSON_PEARSON_REPORT_H

#include "formats/result/result.h"

struct pearson_job;

/* Fills the result from a job whose outcome is complete; pieces refer to the job. */
enum status pearson_report(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;

/* Sorts n values; NaN when there are none. */
double pearson_median(double *values, size_t n);
/* pearson_anomaly: sets is_anomalous, which is false everywhere. `scratch` has room for a number of
 * each series. */
enum status pearson_anomalies_find(struct pearson_job *job, double *scratch) STATUS_MUST_CHECK;
/* pearson_files: arrays and text tables. */
enum status pearson_files_npz(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
enum status pearson_files_series(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
enum status pearson_files_pairs(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
/* pearson_heatmap: the matrix as a picture, drawn and encoded when its piece is read. */
enum status pearson_heatmap(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
