/*
 * growing - arrays of a .npz whose rows leave while the next are computed, straight from backend
 * memory. They leave in whole pieces (PACK_PIECE_BYTES): what is left waits on the host and leaves
 * with what follows, so that the packed bytes do not depend on how many rows come at once.
 */
#ifndef LEAT_STAGES_BASE_GROWING_H
#define LEAT_STAGES_BASE_GROWING_H

#include "formats/base/bytes.h"
#include "stages/base/job_io.h"

struct growing_array {
    const char *name;
    enum npy_type type;
    size_t element_bytes, width; /* elements of a row */
    bool is_matrix;    /* of the shape [width][rows], in the order of rows; else [rows], width 1 */
    uint64_t n_rows;   /* where known before the end: it is written in place then; the
                          last array alone; 0: not known */
    size_t about_kept; /* bytes that are going to wait, about; no more than a piece */

    struct bytes kept; /* waits on the host; then follows: */
    struct span from;  /* what waits in a set of buffers until growing_settle ... */
    size_t n_from;     /* ... so many bytes */
    bool has_begun;
};

enum { GROWING_MOST = 2 };

/* Arrays that have a row for each other. */
struct growing {
    const char *file;
    size_t n;
    struct growing_array arrays[GROWING_MOST];
};

/* What waits in buffers is copied to the host: they may be used again. Before the next rows are
 * computed. */
enum status growing_settle(struct growing *g, struct job_io *io) STATUS_MUST_CHECK;
/* Adds to io->out the pieces that n more rows of each array complete, `rows` being where they are.
 * *leaves: there are some, to be handed out; the memory is read until io_leave says that it may be
 * used again. Else it may be used at once. */
enum status growing_add(struct growing *g, struct job_io *io, const struct span rows[], uint64_t n,
                        bool *leaves) STATUS_MUST_CHECK;
/* Adds what is left, to a file of io->out that is not continued. Settled; n_rows rows have come. */
enum status growing_end(struct growing *g, struct job_io *io, struct result_file *f,
                        uint64_t n_rows) STATUS_MUST_CHECK;
void growing_free(struct growing *g);

#endif
