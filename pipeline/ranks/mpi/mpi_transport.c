/*
 * mpi_transport - rank_transport.h by MPI, in the module leat_mpi.so. MPI is told that one thread
 * alone calls it (MPI_THREAD_FUNNELED). Nothing here blocks on another rank but MPI_Init,
 * MPI_Allgather and MPI_Finalize: a message is sent from a copy, and one request receives the next
 * that comes; requests are only asked whether they are complete.
 */
#include "pipeline/ranks/rank_transport.h"

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

/* A message on its way. */
struct sent {
    MPI_Request request;
    struct sent *next;
    char bytes[];
};

struct rank_link {
    struct sent *first, **last;
    MPI_Request receiving; /* MPI_REQUEST_NULL: `incoming` is the caller's */
    _Alignas(max_align_t) char incoming[RANK_MESSAGE_BYTES];
};

static enum status check(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (code == MPI_SUCCESS) {
        return STATUS_OK;
    }
    (void)MPI_Error_string(code, text, &n);
    return status_fail(STATUS_IO, "MPI cannot %s: %s", what, text);
}

static void describe(char *text, size_t bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    (void)MPI_Get_library_version(version, &n);
    (void)snprintf(text, bytes, "%.*s", (int)strcspn(version, ",\n"), version);
}

static enum status join(size_t *rank, size_t *size)
{
    int given, own, all;
    STATUS_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given), "begin"));
    STATUS_TRY(check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "begin"));
    if (given < MPI_THREAD_FUNNELED) {
        return status_fail(STATUS_UNSUPPORTED, "this MPI knows no threads (MPI_THREAD_FUNNELED)");
    }
    STATUS_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &own), "tell the rank"));
    STATUS_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &all), "tell the number of ranks"));
    *rank = (size_t)own;
    *size = (size_t)all;
    return STATUS_OK;
}

static enum status open_link(struct rank_link **out, size_t *rank, size_t *size)
{
    struct rank_link *link = calloc(1, sizeof(*link));
    *out = NULL;
    if (link == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for MPI");
    }
    link->last = &link->first;
    link->receiving = MPI_REQUEST_NULL;
    const enum status code = join(rank, size);
    if (code != STATUS_OK) {
        free(link);
        return code;
    }
    *out = link;
    return STATUS_OK;
}

static enum status gather(struct rank_link *link, const void *own, size_t bytes, void *all)
{
    (void)link;
    return check(
        MPI_Allgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD),
        "join the other ranks");
}

/* Forgets the messages that have left. */
static enum status sweep(struct rank_link *link)
{
    struct sent **at = &link->first;
    while (*at != NULL) {
        struct sent *s = *at;
        int done;
        STATUS_TRY(check(MPI_Test(&s->request, &done, MPI_STATUS_IGNORE), "send"));
        if (done) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
    }
    link->last = at;
    return STATUS_OK;
}

static enum status send_message(struct rank_link *link, size_t to, const void *message,
                                size_t bytes)
{
    struct sent *s = malloc(sizeof(*s) + bytes);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a message of %zu bytes", bytes);
    }
    memcpy(s->bytes, message, bytes);
    s->next = NULL;
    const enum status code =
        check(MPI_Isend(s->bytes, (int)bytes, MPI_BYTE, (int)to, TAG, MPI_COMM_WORLD, &s->request),
              "send");
    if (code != STATUS_OK) {
        free(s);
        return code;
    }
    *link->last = s;
    link->last = &s->next;
    return sweep(link);
}

static enum status receive_message(struct rank_link *link, const void **message, size_t *from)
{
    MPI_Status of;
    int done;
    *message = NULL;
    STATUS_TRY(sweep(link)); /* what waits to be sent goes on meanwhile */
    if (link->receiving == MPI_REQUEST_NULL) {
        STATUS_TRY(check(MPI_Irecv(link->incoming, RANK_MESSAGE_BYTES, MPI_BYTE, MPI_ANY_SOURCE,
                                   TAG, MPI_COMM_WORLD, &link->receiving),
                         "receive"));
    }
    STATUS_TRY(check(MPI_Test(&link->receiving, &done, &of), "receive"));
    if (done) {
        *from = (size_t)of.MPI_SOURCE;
        *message = link->incoming;
    }
    return STATUS_OK;
}

static void close_link(struct rank_link *link)
{
    while (link->first != NULL) {
        struct sent *s = link->first;
        link->first = s->next;
        (void)MPI_Wait(&s->request, MPI_STATUS_IGNORE);
        free(s);
    }
    if (link->receiving != MPI_REQUEST_NULL) {
        (void)MPI_Cancel(&link->receiving);
        (void)MPI_Wait(&link->receiving, MPI_STATUS_IGNORE);
    }
    (void)MPI_Finalize();
    free(link);
}

static void kill_all(struct rank_link *link, int exit_status)
{
    (void)link;
    (void)MPI_Abort(MPI_COMM_WORLD, exit_status);
}

static const struct rank_transport mpi_transport = {.describe = describe,
                                                    .open = open_link,
                                                    .gather = gather,
                                                    .close = close_link,
                                                    .send = send_message,
                                                    .receive = receive_message,
                                                    .kill = kill_all};

__attribute__((visibility("default"))) rank_transport_fn leat_mpi_transport;

const struct rank_transport *leat_mpi_transport(void)
{
    return &mpi_transport;
}
