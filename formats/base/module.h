/*
 * module - libraries of leat's own that are loaded at run time: the program runs where what they
 * need is not installed, and begins soon, since what takes long to load is loaded when it is
 * needed.
 */
#ifndef LEAT_FORMATS_BASE_MODULE_H
#define LEAT_FORMATS_BASE_MODULE_H

#include "formats/base/status.h"

#include <limits.h>
#include <stdbool.h>

struct module {
    const char *name;    /* for messages: "CUDA" */
    const char *file;    /* "leat_cuda.so" */
    const char *symbol;  /* what it exports for the program */
    enum status missing; /* the status of what fails here */
};

enum { MODULE_PATH_BYTES = PATH_MAX + 64 };

/* The first of these that there is: in $LEAT_MODULE_DIR; where this is a part of a library, beside
 * that, in leat/ beside it or one folder up, and in ../lib/leat; beside the executable and in
 * ../lib/leat beside it; in the directory configured at build time. */
enum status module_find(const struct module *m, char path[MODULE_PATH_BYTES]) STATUS_MUST_CHECK;

/* Loads it from there, and gives the symbol's address; it stays loaded. A failure has the loader's
 * words; STATUS_NO_MEMORY where addresses are limited (ulimit -v). */
enum status module_load(const struct module *m, const char *path, void **symbol) STATUS_MUST_CHECK;

/* A module that brings another library, and has nothing of its own. What is called of that one, its
 * user lists:
 *   #define X_CALLS(CALL) CALL(prefix_, name) ...
 *   struct x_calls { X_CALLS(MODULE_MEMBER) };     a table of functions, and
 *   {X_CALLS(MODULE_NAME) NULL}                    their names */
#define MODULE_MEMBER(prefix, name) __typeof__(prefix##name) *name;
#define MODULE_NAME(prefix, name)   MODULE_TEXT(prefix##name),
#define MODULE_TEXT(symbol)         MODULE_TEXT_OF(symbol) /* of a macro: the symbol it stands for */
#define MODULE_TEXT_OF(symbol)      #symbol

struct module_library {
    struct module module;     /* `symbol` is not used */
    const char *const *names; /* NULL at the end */
    void *calls;              /* the table; nothing before it is loaded */
    bool is_loaded;
};

/* Finds and loads it, unless it is loaded, and fills in the table. As module_load. Any thread. */
enum status module_need(struct module_library *library) STATUS_MUST_CHECK;

#endif
