/*
 * fake_cuda - a CUDA module without CUDA: devices that are the CPU, so that what the program does
 * with several of them is seen on a machine that has none. By the environment:
 *
 *   LEAT_FAKE_DEVICES=N    so many devices (default 1)
 *   CUDA_VISIBLE_DEVICES   these of them, as CUDA's
 *   LEAT_FAKE_LOG=FILE     a line for each that is opened ("open 2"), and for each landslide of 100
 *                          rows on it ("run 2"); "gram 2": it takes a panel of series of 1000 or
 *                          more samples; "pin 2": it page-locks a block; "queue 2": it gets a
 *                          queue, of one job at a time
 *   LEAT_FAKE_BROKEN=LIST  these cannot be opened: "0,3"
 *   LEAT_FAKE_LOST=LIST    landslides fail on these
 *   LEAT_FAKE_HALTED=LIST  members of a landslide fail there, once they are to do a step, and
 *                          those of a correlation with their second panel
 *   LEAT_FAKE_FALLEN=LIST  queues of these fail when they are waited for to the end
 *   LEAT_FAKE_SMALL=LIST   these have a hundred bytes
 *   LEAT_FAKE_HELD=FILE    so have all that open after a landslide of 100 rows has begun in another
 *                          process, as long as that lives; FILE is for its lock
 *   LEAT_FAKE_CELLS=1      pieces of a landslide of at most 1024 rows count as eight cells each
 *   LEAT_FAKE_NO_PIN=1     nothing can be page-locked
 *   LEAT_FAKE_GATE=FILE    none of these goes on before the file is there
 *
 * While a device opens, landslides and such panels stand still on others: so what a test sees of
 * devices that come later does not depend on how fast they are.
 */
#include "kernels/backend.h"
#include "kernels/pearson/pearson.h"
#include "kernels/sciddicat/sciddicat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { MOST = 64 };

static const struct backend *opened[MOST]; /* by number */
static struct backend_ops ops;
static bool is_opening[MOST]; /* until it is asked what it is */
static struct sciddicat_kernels sciddicat;
static struct sciddicat_member_kernels member;
static struct pearson_kernels pearson;
static unsigned n_panels[MOST]; /* that a device was asked for */

const struct backend_ops *leat_cuda_backend(backend_vfail_fn *fail);

/* Files of the environment, which are opened as the module is loaded: a worker opens none later. */
static int log_fd = -1, held_fd = -1, probe_fd = -1;

static int open_named(const char *name, int flags)
{
    const char *path = getenv(name);
    return path != NULL ? open(path, flags | O_CREAT | O_CLOEXEC, 0600) : -1;
}

static void write_log(const char *what, int device)
{
    char line[32];
    const int n = snprintf(line, sizeof line, "%s %d\n", what, device);
    if (log_fd >= 0 && write(log_fd, line, (size_t)n) != n) {
        abort();
    }
}

static int device_of(const struct backend *b)
{
    int i = 0;
    while (i < MOST && __atomic_load_n(&opened[i], __ATOMIC_ACQUIRE) != b) {
        i++;
    }
    return i;
}

static bool is_listed(const char *name, int device)
{
    for (const char *at = getenv(name); at != NULL; at = strchr(at, ','), at += at != NULL) {
        if (atoi(at) == device) {
            return true;
        }
    }
    return false;
}

/* The number of the i-th device that may be seen; MOST: there is none. */
static int visible(int i)
{
    const char *text = getenv("LEAT_FAKE_DEVICES"), *at = getenv("CUDA_VISIBLE_DEVICES");
    const int n = text != NULL ? atoi(text) : 1;
    int number = i;
    if (at != NULL) {
        for (; i > 0 && at != NULL; i--) {
            at = strchr(at, ',');
            at += at != NULL;
        }
        number = at != NULL && *at != '\0' ? atoi(at) : -1;
    }
    return number >= 0 && number < n ? number : MOST;
}

static enum status fake_count(size_t *n)
{
    *n = 0;
    while (visible((int)*n) < MOST) {
        ++*n;
    }
    return *n > 0 ? STATUS_OK : status_fail(STATUS_NO_BACKEND, "no device can be seen");
}

static enum status fake_open(const struct backend_config *config, struct backend **out)
{
    const int device = visible(config->device);
    *out = NULL;
    write_log("open", device);
    if (device == MOST || is_listed("LEAT_FAKE_BROKEN", device)) {
        return status_fail(STATUS_NO_BACKEND, "device %d is broken", device);
    }
    STATUS_TRY(backend_cpu.open(config, out));
    (*out)->ops = &ops;
    __atomic_store_n(&is_opening[device], true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&opened[device], *out, __ATOMIC_RELEASE);
    return STATUS_OK;
}

static void fake_close(struct backend *b)
{
    const int device = device_of(b);
    if (device < MOST) {
        __atomic_store_n(&opened[device], NULL, __ATOMIC_RELEASE);
    }
    backend_cpu.close(b);
}

/* Until this process ends. */
static void hold_memory(void)
{
    if (held_fd >= 0 && flock(held_fd, LOCK_SH) != 0) {
        abort();
    }
}

static bool is_memory_held(void)
{
    const bool is_free = probe_fd < 0 || flock(probe_fd, LOCK_EX | LOCK_NB) == 0;
    if (probe_fd >= 0 && is_free) {
        flock(probe_fd, LOCK_UN);
    }
    return !is_free;
}

static void fake_describe(const struct backend *b, struct backend_info *out)
{
    backend_cpu.describe(b, out);
    if (device_of(b) < MOST) {
        __atomic_store_n(&is_opening[device_of(b)], false, __ATOMIC_SEQ_CST);
    }
    snprintf(out->name, sizeof out->name, "cuda");
    snprintf(out->device, sizeof out->device, "fake %d", device_of(b));
    out->memory_bytes = UINT64_C(1) << 30;
    const bool is_small = is_listed("LEAT_FAKE_SMALL", device_of(b)) || is_memory_held();
    out->memory_free = is_small ? 100 : out->memory_bytes;
}

static enum status fake_queue_new(struct backend *b, struct queue **out)
{
    write_log("queue", device_of(b));
    return backend_cpu.queue_new(b, out);
}

static enum status fake_pin(struct backend *b, void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    write_log("pin", device_of(b));
    return getenv("LEAT_FAKE_NO_PIN") == NULL ? STATUS_OK : status_fail(STATUS_DEVICE, "no pins");
}

static enum status fake_sciddicat_open(struct queue *q, const struct sciddicat_params *p,
                                       const struct sciddicat_input *in, void **run)
{
    const char *gate = getenv("LEAT_FAKE_GATE");
    if (p->rows == 100) { /* not those of the self-test */
        hold_memory();
        write_log("run", device_of(q->backend));
        while (gate != NULL && access(gate, F_OK) != 0 && !queue_is_stopped(q)) {
            usleep(1000);
        }
        if (is_listed("LEAT_FAKE_LOST", device_of(q->backend))) {
            return status_fail(STATUS_DEVICE, "the device is lost");
        }
    }
    return backend_cpu.sciddicat->open(q, p, in, run);
}

static bool is_any_opening(void)
{
    bool any = false;
    for (int i = 0; i < MOST; i++) {
        any = any || __atomic_load_n(&is_opening[i], __ATOMIC_SEQ_CST);
    }
    return any;
}

/* But one that opens itself has its self-test. */
static void stand_still_while_any_opens(const struct queue *q)
{
    const int device = device_of(q->backend);
    while (!__atomic_load_n(&is_opening[device], __ATOMIC_SEQ_CST) && is_any_opening() &&
           !queue_is_stopped(q)) {
        usleep(1000);
    }
}

static enum status fake_advance(struct queue *q, void *run, uint64_t n_steps,
                                struct sciddicat_report *out)
{
    stand_still_while_any_opens(q);
    return backend_cpu.sciddicat->advance(q, run, n_steps, out);
}

static enum status fake_gram(struct queue *q, const struct pearson_panel *panel)
{
    const int device = device_of(q->backend);
    if (panel->n_samples >= 1000) { /* not those of the self-test */
        write_log("gram", device);
        stand_still_while_any_opens(q);
        const unsigned n = __atomic_add_fetch(&n_panels[device], 1, __ATOMIC_RELAXED);
        if (n > 1 && is_listed("LEAT_FAKE_HALTED", device)) {
            return status_fail(STATUS_DEVICE, "the device is halted");
        }
    }
    return backend_cpu.pearson->gram(q, panel);
}

/* So slow that jobs which a test can afford are worth several. */
static double fake_rate(const struct queue *q, enum pearson_precision precision)
{
    (void)q;
    (void)precision;
    return 3e8;
}

/* What fills the pieces of a small landslide may be worth several devices. How many groups of rows
 * there are shows in what is written. */
static enum status fake_look(struct queue *q, void *run, uint32_t *busy, bool *moved)
{
    enum { MOST_GROUPS = 64 };
    uint32_t found[MOST_GROUPS];
    if (getenv("LEAT_FAKE_CELLS") == NULL) {
        return backend_cpu.sciddicat->member->look(q, run, busy, moved);
    }
    memset(found, 0xff, sizeof found);
    STATUS_TRY(backend_cpu.sciddicat->member->look(q, run, found, moved));
    for (size_t g = 0; g < MOST_GROUPS && found[g] != UINT32_MAX; g++) {
        busy[g] = 8 * found[g];
    }
    return STATUS_OK;
}

/* The work of a device that is lost has come to nothing, at the latest here. */
static enum status fake_finish(struct queue *q)
{
    return is_listed("LEAT_FAKE_FALLEN", device_of(q->backend))
               ? status_fail(STATUS_DEVICE, "the device has fallen off the bus")
               : backend_cpu.finish(q);
}

static enum status fake_step(struct queue *q, void *run, unsigned n_steps)
{
    return is_listed("LEAT_FAKE_HALTED", device_of(q->backend))
               ? status_fail(STATUS_DEVICE, "the device is halted")
               : backend_cpu.sciddicat->member->step(q, run, n_steps);
}

__attribute__((constructor)) static void set_ops(void)
{
    log_fd = open_named("LEAT_FAKE_LOG", O_WRONLY | O_APPEND);
    held_fd = open_named("LEAT_FAKE_HELD", O_RDWR);
    probe_fd = open_named("LEAT_FAKE_HELD", O_RDWR);
    sciddicat = *backend_cpu.sciddicat;
    sciddicat.open = fake_sciddicat_open;
    sciddicat.advance = fake_advance;
    member = *sciddicat.member;
    member.step = fake_step;
    member.look = fake_look;
    sciddicat.member = &member;
    pearson = *backend_cpu.pearson;
    pearson.gram = fake_gram;
    pearson.rate = fake_rate;
    ops = backend_cpu;
    ops.name = "cuda";
    ops.count = fake_count;
    ops.open = fake_open;
    ops.close = fake_close;
    ops.describe = fake_describe;
    ops.queue_new = fake_queue_new;
    ops.host_pin = fake_pin;
    ops.finish = fake_finish;
    ops.sciddicat = &sciddicat;
    ops.pearson = &pearson;
}

__attribute__((visibility("default"))) const struct backend_ops *
leat_cuda_backend(backend_vfail_fn *fail)
{
    (void)fail; /* linked with the CPU's code, it has the program's status_fail */
    return &ops;
}
