/*
 * piece_writer - files in bounded memory, whose bytes take longer to make than to write: the pieces
 * of a batch are made, and deflated, on all threads while those of the batch before are written and
 * the next batch is prepared. Files get their names once all of them are whole.
 */
#ifndef LEAT_PIPELINE_GENERATE_PIECE_WRITER_H
#define LEAT_PIPELINE_GENERATE_PIECE_WRITER_H

#include "formats/result/result.h"
#include "kernels/backend.h"

enum {
    PIECE_WRITER_BATCH = 64, /* pieces of a batch at most */
    PIECE_WRITER_FILES = 2   /* of one call */
};

/* A file to be written. */
struct piece_file {
    const char *path; /* as new_file.h has it */
    bool force;
    enum pack_kind kind;                /* PACK_RAW or PACK_GZIP */
    const struct bytes *head;           /* stands before all pieces of a PACK_RAW; NULL: nothing */
    const struct result_member *member; /* its pieces */
    size_t batch;                       /* pieces of a batch; 0: as the threads have it */
    /* Makes a batch ready, on one thread, after the one before; NULL: there is nothing to do. */
    enum status (*prepare)(void *context, uint64_t batch);
    double work; /* in any unit, the same for all files: for the share that is done */
};

/* Writes n files, one after the other; they get their names in this order. *bytes is the size of
 * all; on failure it is 0 only if nothing has been written. Progress goes to the terminal. SIGINT
 * and SIGTERM end it as STATUS_CANCELLED, with nothing left behind. STATUS_EXISTS, STATUS_IO and
 * others. */
enum status piece_writer_run(const struct piece_file *files, size_t n,
                             const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
