/*
 * efficiency - see efficiency.h.
 */
#include "pipeline/efficiency.h"

struct efficiency efficiency_of(const struct efficiency_times *t, double wall_s)
{
    const struct {
        const char *name;
        double busy_s;
    } resources[] = {{"cpu", t->cpu_s},         {"device", t->device_s},
                     {"upload", t->upload_s},   {"download", t->download_s},
                     {"disk in", t->disk_in_s}, {"disk out", t->disk_out_s}};
    size_t busiest = 0;
    for (size_t i = 1; i < sizeof(resources) / sizeof(resources[0]); i++) {
        if (resources[i].busy_s > resources[busiest].busy_s) {
            busiest = i;
        }
    }
    /* Clocks are read at different instants: a resource is never more than wholly busy. */
    double value = wall_s > 0 ? resources[busiest].busy_s / wall_s : 0;
    return (struct efficiency){.value = value > 1 ? 1 : value, .bound_by = resources[busiest].name};
}
