/*
 * progress - one line at the bottom of a terminal: jobs, bytes, rate, time left.
 */
#ifndef LEAT_PIPELINE_COMMANDS_PROGRESS_H
#define LEAT_PIPELINE_COMMANDS_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
    size_t n_done, n_failed, n_running;
    uint64_t bytes, total_bytes; /* total 0: not known */
    double elapsed_s;
};

/* Draws the line (nothing when stderr is no terminal). */
void progress_draw(const struct progress *p);
/* Takes it away. */
void progress_clear(void);

#endif
