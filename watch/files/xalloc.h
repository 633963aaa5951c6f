/*
 * xalloc - memory, or the end of the process.
 *
 * For names, lists and records. Nothing is lost when a service or a worker ends at any instant
 * (spool.h), a run that was cut off is begun again, and a process that has no memory for a file's
 * name can do little else. So nobody asks whether there was memory: without it one line is logged,
 * and the process ends, with XALLOC_EXIT unless xalloc_set_end() was called. Memory whose size data
 * decide is asked for otherwise, and work on it fails with STATUS_NO_MEMORY.
 *
 * On any thread. What is returned is for free().
 */
#ifndef LEAT_WATCH_FILES_XALLOC_H
#define LEAT_WATCH_FILES_XALLOC_H

#include "formats/base/status.h"

#include <stddef.h>

enum { XALLOC_EXIT = 71 /* EX_OSERR */ };

_Noreturn void xalloc_end(void);
/* How the process ends then, from now on; said: what is logged. */
void xalloc_set_end(int exit_status, const char *said);
/* The same pointer; the end, if it is NULL: for what libraries allocate (jansson, tsearch). */
void *xalloc_checked(void *memory);
/* The same status; the end, if it is STATUS_NO_MEMORY: for what others have met. */
enum status xalloc_status(enum status code) STATUS_MUST_CHECK;

/* Also for jansson: see main.c. */
void *xmalloc(size_t n) __attribute__((malloc));
void *xcalloc(size_t n, size_t size) __attribute__((malloc));
/* n members of that size; old may be NULL. */
void *xrealloc(void *old, size_t n, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t most);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
