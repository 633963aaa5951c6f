/*
 * options - command-line options by glibc's argp, with errors as statuses instead of exits.
 *
 * Adds -h/--help and --version to a command's own options. A mistyped option is named together with
 * the nearest one there is.
 */
#ifndef LEAT_PIPELINE_SETTINGS_OPTIONS_H
#define LEAT_PIPELINE_SETTINGS_OPTIONS_H

#include "formats/base/status.h"

#include <argp.h>
#include <stdbool.h>

/* What a parser function of an argp returns for a status; it is not ARGP_ERR_UNKNOWN nor an errno.
 */
enum { OPTIONS_ERROR = 100000 };

static inline error_t options_error(enum status status)
{
    return status == STATUS_OK ? 0 : OPTIONS_ERROR + (error_t)status;
}

/* Parses argv[1..argc-1]. `command` is what help calls it ("leat run"). The parser gets `input` as
 * its state's input; it returns options_error() of a described status, 0, or ARGP_ERR_UNKNOWN.
 * --help and --version print to stdout and set *done. argv may be reordered. STATUS_BAD_ARGUMENT.
 */
enum status options_parse(const char *command, const struct argp *argp, int argc, char **argv,
                          void *input, bool *done) STATUS_MUST_CHECK;

/* Prints "leat VERSION" and one line about it to stdout. */
void options_print_version(void);

#endif
