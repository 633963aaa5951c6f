/*
 * generate_pair - the names of the two files that `leat generate dem` writes.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_PAIR_H
#define LEAT_PIPELINE_GENERATE_GENERATE_PAIR_H

#include "formats/result/raster.h"

#include <stdbool.h>

/* The pair that a name asks for: X, X.tif, X.asc or X.asc.gz, each perhaps with .dem or .source
 * behind the X, are X.dem.tif and X.source.tif, or .asc, or .asc.gz. */
struct generate_pair {
    char *dem, *source; /* owned */
    enum raster_format format;
    bool is_gzipped;
};

/* STATUS_BAD_ARGUMENT: another ending, or no X. */
enum status generate_pair_of(const char *output, struct generate_pair *out) STATUS_MUST_CHECK;
/* Fine for a pair of zeros. */
void generate_pair_free(struct generate_pair *pair);

#endif
