/*
 * number_copy - decoded numbers, for passes after the first: a .npy file without a name. One that
 * does not find room is given up. On lanes.
 */
#ifndef LEAT_PIPELINE_ENGINE_NUMBER_COPY_H
#define LEAT_PIPELINE_ENGINE_NUMBER_COPY_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_copy {
    int fd; /* -1: none */
    bool given_up;
    uint64_t bytes; /* written */
};

/* Adds numbers, to a file in that folder. */
void number_copy_add(struct number_copy *copy, int folder_fd, const void *numbers, size_t bytes);
/* Makes it a complete file of so many lines; `of`: what it is a copy of, for the message. */
enum status number_copy_end(const struct number_copy *copy, const char *of, enum dtype dtype,
                            size_t n_lines, size_t per_line) STATUS_MUST_CHECK;
void number_copy_close(struct number_copy *copy);

#endif
