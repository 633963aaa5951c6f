/*
 * members - a queue on every device of the host, for what several of them compute together; where
 * there is one device, or none, two on that one, which show what sharing itself costs.
 */
#ifndef LEAT_TESTS_BENCH_MEMBERS_H
#define LEAT_TESTS_BENCH_MEMBERS_H

#include "tests/bench/bench.h"

enum { MEMBERS_MOST = 8 };

struct members {
    size_t n, n_devices;
    struct backend *backends[MEMBERS_MOST]; /* the first is the bench's */
    struct queue *queues[MEMBERS_MOST];     /* likewise */
};

/* members_close after a failure, too. */
enum status members_open(struct bench *b, struct members *m) STATUS_MUST_CHECK;
void members_close(struct bench *b, struct members *m);
/* "3 members on 3 devices" */
void members_note(const struct members *m, struct bench_work *work);

#endif
