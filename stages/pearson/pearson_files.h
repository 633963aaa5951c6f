/*
 * pearson_files - the arrays and text tables of a pearson result: pearson.npz, series.csv.gz,
 * pairs.csv.gz.
 *
 * A piece of a text table has as many rows as fit PACK_PIECE_BYTES with the longest name in each,
 * so pieces are bounded, and cut the same way whatever backend and threads.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_FILES_H
#define LEAT_STAGES_PEARSON_PEARSON_FILES_H

#include "formats/result/result.h"

struct pearson_job;

enum status pearson_files_npz(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
enum status pearson_files_series(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
enum status pearson_files_pairs(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
