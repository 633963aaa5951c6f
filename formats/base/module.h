/*
 * module - libraries of leat's own that are loaded at run time, so that the program runs where what
 * they need is not installed.
 */
#ifndef LEAT_FORMATS_BASE_MODULE_H
#define LEAT_FORMATS_BASE_MODULE_H

#include "formats/base/status.h"

#include <limits.h>

struct module {
    const char *name;    /* for messages: "CUDA" */
    const char *file;    /* "leat_cuda.so" */
    const char *symbol;  /* what it exports for the program */
    enum status missing; /* the status of what fails here */
};

enum { MODULE_PATH_BYTES = PATH_MAX + 64 };

/* The first of these that there is: in $LEAT_MODULE_DIR, beside the executable, in ../lib/leat
 * beside it, and in the directory configured at build time. */
enum status module_find(const struct module *m, char path[MODULE_PATH_BYTES]) STATUS_MUST_CHECK;

/* Loads it from there, and gives the symbol's address; it stays loaded. A failure has the loader's
 * words. */
enum status module_load(const struct module *m, const char *path, void **symbol) STATUS_MUST_CHECK;

#endif
