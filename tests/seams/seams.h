/*
 * seams - two small pipelines that only tests have: with them it is seen that a stage can read
 * parts of unknown length, hand out results while input streams, read a part several times, and
 * take text from the user. The program leat_faulty has them beside the real ones (registry.c).
 */
#ifndef LEAT_TESTS_SEAMS_SEAMS_H
#define LEAT_TESTS_SEAMS_SEAMS_H

#include "stages/base/job_io.h"

/* X.numbers.*: running sums of each column, in constant memory: sums.npz, sums.csv.gz. */
extern const struct stage_ops stage_sums;
/* X.values.*, X.query.*: how many standard deviations each query lies from the mean of all values:
 * scores.npz, scores.csv.gz. Reads the values twice, then the queries once more. */
extern const struct stage_ops stage_scores;

/* Numbers that are on their way out: what a portion reads, counted from 0. */
struct column {
    size_t n, n_columns;
    double values[];
};

/* Adds the portion to NAME.npz (array NAME) and NAME.csv.gz, which go on in later results. The
 * column is taken over; `begun`: of an earlier portion. */
enum status seams_portion(struct result *out, const char *name, struct column *column,
                          bool begun) STATUS_MUST_CHECK;
/* Ends both files: n lines of n_columns numbers have been handed out. */
enum status seams_end(struct result *out, const char *name, uint64_t n_lines, size_t n_columns,
                      bool begun) STATUS_MUST_CHECK;
/* The k-th number of a chunk, as a double. */
double seams_cell(const struct stage_input *input, const struct table_chunk *chunk, size_t k);

#endif
