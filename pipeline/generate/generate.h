/*
 * generate - writes made-up series (kernels/philox/philox.h) into a file, as a table of any size in
 * bounded memory.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_H
#define LEAT_PIPELINE_GENERATE_GENERATE_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "kernels/backend.h"
#include "kernels/philox/philox.h"

#include <stdbool.h>
#include <stdint.h>

/* Series in columns are walked side by side; more of them than this are STATUS_TOO_LARGE. */
#define GENERATE_COLUMNS_MAX (UINT64_C(1) << 20)

struct generate_order {
    struct philox_walk walk;
    uint64_t n_series, n_samples; /* >= 1 */
    enum dtype type;
    bool columns; /* a series a column; in CSV under a header s0,s1,... */
    bool csv;     /* else .npy */
    double gaps;  /* share of samples that are missing (NaN), [0, 1] */
    const char *path;
    bool force;
};

/* Generates on the backend and writes the file, as piece_writer_run does. STATUS_TOO_LARGE, too. */
enum status generate_file(const struct generate_order *order, struct backend *backend,
                          const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
