/*
 * xalloc - memory, or the end of the process.
 *
 * For the watched folder and its service. Nothing is lost when they end at any instant (spool.h),
 * the service manager starts them again, and a process that has no memory for a file's name can do
 * little else. So nobody there asks whether there was memory: without it one line is logged, and
 * the process ends with XALLOC_EXIT. Work on data, whose size is a user's choice, happens in other
 * processes and fails there with STATUS_NO_MEMORY.
 *
 * On any thread. What is returned is for free().
 */
#ifndef LEAT_WATCH_FILES_XALLOC_H
#define LEAT_WATCH_FILES_XALLOC_H

#include "formats/base/status.h"

#include <stddef.h>

enum { XALLOC_EXIT = 71 /* EX_OSERR */ };

_Noreturn void xalloc_end(void);
/* The same pointer; the end, if it is NULL: for what libraries allocate (jansson, tsearch). */
void *xalloc_checked(void *memory);
/* The same status; the end, if it is STATUS_NO_MEMORY: for what others have met. */
enum status xalloc_status(enum status code) STATUS_MUST_CHECK;

void *xcalloc(size_t n, size_t size) __attribute__((malloc));
/* n members of that size; old may be NULL. */
void *xrealloc(void *old, size_t n, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t most);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
