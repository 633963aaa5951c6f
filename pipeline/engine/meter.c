/*
 * meter - see meter.h.
 */
#include "pipeline/engine/meter.h"

#include "pipeline/engine/thread_pool.h"

/* Threads look at the clock before they get the lock: a begin or an end may lie before one of
 * another thread that came first. */
static uint64_t between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

void meter_begin(struct meter *m, uint64_t now_ns)
{
    pthread_mutex_lock(&m->lock);
    if (m->n_users++ == 0) {
        m->since_ns = now_ns > m->end_ns ? now_ns : m->end_ns;
    }
    pthread_mutex_unlock(&m->lock);
}

void meter_end(struct meter *m, uint64_t now_ns)
{
    pthread_mutex_lock(&m->lock);
    if (--m->n_users == 0) {
        m->total_ns += between(m->since_ns, now_ns);
        m->end_ns = m->since_ns + between(m->since_ns, now_ns);
    }
    pthread_mutex_unlock(&m->lock);
}

double meter_s(struct meter *m, uint64_t now_ns)
{
    pthread_mutex_lock(&m->lock);
    const uint64_t ns = m->total_ns + (m->n_users > 0 ? between(m->since_ns, now_ns) : 0);
    pthread_mutex_unlock(&m->lock);
    return (double)ns * 1e-9;
}

static void note(struct io_watch *watch, bool writes, bool begins)
{
    const uint64_t now = thread_pool_now_ns();
    for (struct disk_meter *d = (struct disk_meter *)watch; d != NULL; d = d->whole) {
        struct meter *m = writes ? &d->out : &d->in;
        if (begins) {
            meter_begin(m, now);
        } else {
            meter_end(m, now);
        }
    }
}

struct disk_meter disk_meter_of(struct disk_meter *whole)
{
    return (struct disk_meter){
        .watch = {note}, .in = METER_ZERO, .out = METER_ZERO, .whole = whole};
}

/* --- of a run --------------------------------------------------------------------------------- */

double meter_cpu_s(double compute_s, size_t n_threads, double all_s, size_t n_cpus)
{
    const double of_threads = compute_s / (double)n_threads, of_cpus = all_s / (double)n_cpus;
    return of_threads > of_cpus ? of_threads : of_cpus;
}

struct efficiency meter_efficiency(const struct efficiency_times *t, double wall_s)
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
