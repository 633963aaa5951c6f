/*
 * members - see the header.
 */
#include "tests/bench/members.h"

#include <stdio.h>

enum status members_open(struct bench *b, struct members *m)
{
    *m = (struct members){.n = 1, .n_devices = 1};
    if (b->cuda) {
        STATUS_TRY(backend_count_cuda(&m->n_devices));
    }
    m->n_devices = m->n_devices < MEMBERS_MOST ? m->n_devices : MEMBERS_MOST;
    const size_t n = m->n_devices > 1 ? m->n_devices : 2;
    m->backends[0] = b->backend;
    m->queues[0] = b->queue;
    for (; m->n < n; m->n++) {
        const struct backend_config c = {.executor = b->executor, .device = (int)m->n};
        struct backend **backend = &m->backends[m->n];
        *backend = b->backend;
        if (m->n_devices > 1) {
            STATUS_TRY(backend_open_cuda(&c, backend));
        }
        const enum status code = b->backend->ops->queue_new(*backend, &m->queues[m->n]);
        if (code != STATUS_OK) {
            m->n++; /* to be closed */
            return code;
        }
    }
    return STATUS_OK;
}

void members_close(struct bench *b, struct members *m)
{
    for (size_t k = 1; k < m->n; k++) {
        if (m->queues[k] != NULL) {
            b->backend->ops->queue_free(m->queues[k]);
        }
        if (m->backends[k] != b->backend) {
            b->backend->ops->close(m->backends[k]);
        }
    }
}

void members_note(const struct members *m, struct bench_work *work)
{
    (void)snprintf(work->note, sizeof work->note, "%zu members on %zu devices", m->n, m->n_devices);
}
