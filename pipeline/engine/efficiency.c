/*
 * efficiency - see efficiency.h.
 */
#include "pipeline/engine/efficiency.h"

double efficiency_cpu_s(double compute_s, size_t n_threads, double all_s, size_t n_cpus)
{
    const double of_threads = compute_s / (double)n_threads, of_cpus = all_s / (double)n_cpus;
    return of_threads > of_cpus ? of_threads : of_cpus;
}

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
    return (struct efficiency){.value = wall_s > 0 ? resources[busiest].busy_s / wall_s : 0,
                               .bound_by = resources[busiest].name};
}
