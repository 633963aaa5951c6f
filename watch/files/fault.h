/*
 * fault - places where a test may end the process or make a call fail.
 *
 * Every change that the protocol makes on disk goes through disk.c with the name of the step it
 * belongs to ("claim.take"). In test builds (LEAT_FAULTS) the functions below are asked before and
 * after each of them; tests/support/spool_fault.c answers. Otherwise the macros are empty.
 */
#ifndef LEAT_WATCH_FILES_FAULT_H
#define LEAT_WATCH_FILES_FAULT_H

#ifdef LEAT_FAULTS

/* What is about to be done, so that a recording can be played again. */
struct fault_operation {
    const char *step; /* "claim.take" */
    /* "mkdir" "create" "write" "truncate" "rename" "exchange" "unlink" "rmdir", and to put it on
     * disk: "begin" "fsync" "syncfs" */
    const char *action;
    int from_fd, to_fd;    /* folders (of "write", "truncate" and "fsync": the file); -1: none */
    const char *from, *to; /* names in them; NULL: none */
};

/* 0: go on. -1: do not, errno says why. 1: do not, but pretend. May not return. */
int fault_before(const struct fault_operation *operation);
/* It was done. May not return. */
void fault_after(const struct fault_operation *operation);
/* A call that changes nothing on disk and may be made to fail: errno, or 0. */
int fault_error(const char *step);

#define FAULT_ERROR(step) fault_error(step)

#else

#define FAULT_ERROR(step) 0

#endif

#endif
