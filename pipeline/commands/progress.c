/*
 * progress - see progress.h.
 */
#include "pipeline/commands/progress.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"

#include <stdio.h>

void progress_draw(const struct progress *p)
{
    if (!log_has_progress()) {
        return;
    }
    char bytes[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES], left[TEXT_NUMBER_BYTES];
    char rest[64] = "", failed[48] = "";
    double per_second = p->elapsed_s > 0 ? (double)p->bytes / p->elapsed_s : 0;
    if (p->total_bytes > p->bytes && per_second > 0) {
        snprintf(rest, sizeof(rest), ", %.0f %%, %s left",
                 100.0 * (double)p->bytes / (double)p->total_bytes,
                 text_duration(left, (double)(p->total_bytes - p->bytes) / per_second));
    }
    if (p->n_failed > 0) {
        snprintf(failed, sizeof(failed), ", %zu failed", p->n_failed);
    }
    char line[256];
    snprintf(line, sizeof(line), "%zu done, %zu running%s: %s, %s/s%s", p->n_done, p->n_running,
             failed, text_size(bytes, p->bytes), text_size(rate, (uint64_t)per_second), rest);
    log_progress(line);
}

void progress_clear(void)
{
    log_progress(NULL);
}
