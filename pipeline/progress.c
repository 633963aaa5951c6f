/*
 * progress - see progress.h.
 */
#include "pipeline/progress.h"

#include "formats/log.h"

#include <stdio.h>

/* "1.5 GB"; decimal units, as disks and pv count. */
static void put_bytes(char *out, size_t cap, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1000;
        unit++;
    }
    snprintf(out, cap, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

void progress_draw(const struct progress *p)
{
    if (!log_has_progress()) {
        return;
    }
    char bytes[32], rate[32], rest[64] = "", failed[48] = "";
    double per_second = p->elapsed_s > 0 ? (double)p->bytes / p->elapsed_s : 0;
    put_bytes(bytes, sizeof(bytes), (double)p->bytes);
    put_bytes(rate, sizeof(rate), per_second);
    if (p->total_bytes > p->bytes && per_second > 0) {
        double left = (double)(p->total_bytes - p->bytes) / per_second;
        snprintf(rest, sizeof(rest), ", %.0f %%, %d:%02d left",
                 100.0 * (double)p->bytes / (double)p->total_bytes, (int)left / 60, (int)left % 60);
    }
    if (p->n_failed > 0) {
        snprintf(failed, sizeof(failed), ", %zu failed", p->n_failed);
    }
    char line[256];
    snprintf(line, sizeof(line), "%zu done, %zu running%s: %s, %s/s%s", p->n_done, p->n_running,
             failed, bytes, rate, rest);
    log_progress(line);
}

void progress_clear(void)
{
    log_progress(NULL);
}
