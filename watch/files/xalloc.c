/*
 * xalloc - the calls of the C library, and one place that gives up.
 */
#include "watch/files/xalloc.h"

#include "formats/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int status;
    const char *said;
} end = {XALLOC_EXIT,
         "no memory is left: the process ends, nothing is lost, and the next start goes on"};

void xalloc_set_end(int exit_status, const char *said)
{
    end.status = exit_status;
    end.said = said;
}

void xalloc_end(void)
{
    log_error("%s", end.said);
    _exit(end.status);
}

void *xalloc_checked(void *memory)
{
    if (memory == NULL) {
        xalloc_end();
    }
    return memory;
}

enum status xalloc_status(enum status code)
{
    if (code == STATUS_NO_MEMORY) {
        xalloc_end();
    }
    return code;
}

void *xmalloc(size_t n)
{
    return xalloc_checked(malloc(n > 0 ? n : 1));
}

void *xcalloc(size_t n, size_t size)
{
    return xalloc_checked(calloc(n > 0 ? n : 1, size));
}

void *xrealloc(void *old, size_t n, size_t size)
{
    return xalloc_checked(reallocarray(old, n > 0 ? n : 1, size));
}

char *xstrdup(const char *text)
{
    return xalloc_checked(strdup(text));
}

char *xstrndup(const char *text, size_t most)
{
    return xalloc_checked(strndup(text, most));
}

char *xasprintf(const char *format, ...)
{
    va_list list;
    char *text;
    va_start(list, format);
    const int n = vasprintf(&text, format, list);
    va_end(list);
    return n < 0 ? xalloc_checked(NULL) : text;
}
