/*
 * rank_transport - messages between the processes that one mpirun or srun has started, the ranks:
 * what the module leat_mpi.so exports, the only place that knows MPI. What the messages mean is
 * nothing to it.
 *
 * All calls but describe() come from one thread, and none but open(), gather() and close() waits.
 */
#ifndef LEAT_PIPELINE_RANKS_RANK_TRANSPORT_H
#define LEAT_PIPELINE_RANKS_RANK_TRANSPORT_H

#include "formats/base/status.h"

#include <stddef.h>

struct rank_link;

enum { RANK_MESSAGE_BYTES = 1 << 18 };

struct rank_transport {
    /* The library and its version, in one line; also before open(). */
    void (*describe)(char *text, size_t bytes);

    /* Joins the others; waits until all have come. rank < size. Without a launcher there is one. */
    enum status (*open)(struct rank_link **out, size_t *rank, size_t *size) STATUS_MUST_CHECK;
    /* Gives each rank `bytes` bytes of every rank, in their order; waits until all have asked for
     * it. */
    enum status (*gather)(struct rank_link *link, const void *own, size_t bytes,
                          void *all) STATUS_MUST_CHECK;
    /* Waits until what was sent has left and all others close, too. */
    void (*close)(struct rank_link *link);

    /* Sends a copy of the message of at most RANK_MESSAGE_BYTES, also where nobody receives.
     * Messages of one rank to another arrive in their order. */
    enum status (*send)(struct rank_link *link, size_t to, const void *message,
                        size_t bytes) STATUS_MUST_CHECK;
    /* A message that has come, and from whom; NULL: none has. Valid until the next call. */
    enum status (*receive)(struct rank_link *link, const void **message,
                           size_t *from) STATUS_MUST_CHECK;

    /* Instead of close(): ends the processes of all ranks, this one with that exit status. */
    void (*kill)(struct rank_link *link, int exit_status);
};

/* The symbol that the module exports, of this type. */
typedef const struct rank_transport *rank_transport_fn(void);
#define RANK_TRANSPORT_SYMBOL "leat_mpi_transport"
#define RANK_TRANSPORT_FILE   "leat_mpi.so"

#endif
