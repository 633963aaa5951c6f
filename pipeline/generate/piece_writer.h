/*
 * piece_writer - a file made of pieces in bounded memory, whose bytes take longer to make than to
 * write: the pieces of a batch are made on all threads while those of the batch before are written
 * and the next batch is prepared.
 */
#ifndef LEAT_PIPELINE_GENERATE_PIECE_WRITER_H
#define LEAT_PIPELINE_GENERATE_PIECE_WRITER_H

#include "formats/base/bytes.h"
#include "kernels/backend.h"
#include "pipeline/generate/new_file.h"

#include <stdint.h>

enum { PIECE_WRITER_BATCH = 64 }; /* pieces of a batch at most */

struct piece_source {
    const char *name; /* for messages */
    void *context;
    /* How many pieces a batch has; 0: it is not there. Called for batches 0, 1, ... in order. */
    size_t (*n_pieces)(void *context, uint64_t batch);
    /* Makes a batch ready, on one thread, after the one before; NULL: there is nothing to do. */
    enum status (*prepare)(void *context, uint64_t batch);
    /* Appends a piece to `out`, which is empty; pieces of one batch at the same time. */
    enum status (*make)(void *context, uint64_t batch, size_t index, struct bytes *out);
    /* Share of all work that lies before a batch: up to 1. */
    double (*share_before)(const void *context, uint64_t batch);
};

/* Writes all pieces in order; *bytes grows by what has been written, also on failure. Progress goes
 * to the terminal. STATUS_CANCELLED after SIGINT and SIGTERM, if they are watched. */
enum status piece_writer_run(const struct piece_source *source, const struct executor *executor,
                             struct new_file *file, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
