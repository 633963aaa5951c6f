/*
 * generate_source - the numbers of a file that is being generated, block after block.
 *
 * The file is a matrix, line by line. A block is its next GENERATE_BLOCK_CELLS cells at most: whole
 * lines, or a part of one line that is longer.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_SOURCE_H
#define LEAT_PIPELINE_GENERATE_GENERATE_SOURCE_H

#include "pipeline/generate/generate.h"

#include <stddef.h>

enum { GENERATE_BLOCK_CELLS = 1 << 20 };

struct generate_source {
    const struct generate_order *order;
    const struct executor *executor;
    struct backend *backend;
    uint64_t n_lines, cells_per_line; /* of the whole file */
    size_t block_bytes;               /* of the largest block's values */
    struct queue *queue;
    struct span device; /* rows, on the backend */
    double *value;      /* columns, or the one row that is cut: where each walk stands */
};

/* All is borrowed for the life of the source. STATUS_TOO_LARGE, STATUS_NO_MEMORY, STATUS_DEVICE. */
enum status generate_source_open(const struct generate_order *order, struct backend *backend,
                                 const struct executor *executor,
                                 struct generate_source *out) STATUS_MUST_CHECK;
/* Fine after a failed open. */
void generate_source_close(struct generate_source *g);

struct generate_block {
    uint64_t first_line;
    uint64_t first_cell; /* within the line */
    size_t n_lines, cells_per_line;
    void *values; /* the caller's, block_bytes of the backend's host memory */
};

/* Where the block after `before` (NULL: the first one) lies; its values are left alone. False when
 * there is none. */
bool generate_source_next(const struct generate_source *g, const struct generate_block *before,
                          struct generate_block *b);
/* Computes the values. Blocks are filled in order, one at a time. */
enum status generate_source_fill(struct generate_source *g,
                                 const struct generate_block *b) STATUS_MUST_CHECK;
/* Whether a cell of the block, counted from its first, is to be missing. */
bool generate_source_is_gap(const struct generate_source *g, const struct generate_block *b,
                            size_t cell);

#endif
