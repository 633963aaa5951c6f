/*
 * spool_fault - what happens at the fault points of watch/files/fault.h: a process that dies, a
 * call that fails, a step that is left out.
 *
 * Points are counted by "step/action" ("claim.take/rename"). The counts may lie in memory that is
 * shared with a parent, so that they outlive the process that dies.
 */
#ifndef LEAT_TESTS_SPOOL_FAULT_H
#define LEAT_TESTS_SPOOL_FAULT_H

#include <stdbool.h>
#include <stdio.h>

enum {
    SPOOL_FAULT_POINTS_MAX = 128,
    SPOOL_FAULT_NAME_BYTES = 48,
    SPOOL_FAULT_PATH_BYTES = 256,
    SPOOL_FAULT_CHANGES_MAX = 8192,
    SPOOL_FAULT_DIED = 99
};

struct spool_fault {
    /* What is to happen; 0 and "" mean nothing. */
    unsigned long die_before, die_after; /* the k-th change on disk, from 1 */
    unsigned long fail_at;               /* the k-th change fails with `error`, */
    unsigned long fail_many;             /* and so do so many after it */
    int error;
    char fail_step[SPOOL_FAULT_NAME_BYTES]; /* changes and calls of this step fail with `error`: */
    unsigned long fail_steps;               /* so many of the changes; 0: all */
    char without[SPOOL_FAULT_NAME_BYTES];   /* "step/action" or "/action", or "/sync" for all that
                                             * put something on disk: pretended, never done */
    unsigned long die_soon, die_skips; /* dies so many changes after one that is left out; before
                                          that it passes over so many of them; 0: does not */
    unsigned long shut_at;             /* before the k-th fsync or syncfs of it, the file system */
    char shut[SPOOL_FAULT_PATH_BYTES]; /* of this loses its disk, and what it has not written */
    unsigned long n_shut;              /* times that it did */
    FILE *trace;                       /* a line for every change; NULL: none */
    bool notes_shared;                 /* fills is_shared, below */
    /* What has happened. */
    bool is_shared[SPOOL_FAULT_CHANGES_MAX]; /* the k-th change is a syncfs, for several jobs */
    unsigned long n_changes, n_syncs;
    unsigned n_points;
    struct {
        char name[SPOOL_FAULT_NAME_BYTES];
        unsigned long n_seen, n_died, n_failed;
    } points[SPOOL_FAULT_POINTS_MAX];
};

/* Where the plan and the counts are; a static one at start. */
extern struct spool_fault *spool_fault;
/* The file system that `path` lies in forgets what it has not yet written: contents, and the
 * journal too unless `keeps_log`. False: it cannot. */
bool spool_fault_shut_down(const char *path, bool keeps_log);
/* Nothing is to happen any more; n_changes begins at 0 again. The counts stay. */
void spool_fault_clear(void);

#endif
