/*
 * engine - see engine.h: memory shared out to the pools of blocks and encode buffers, and to jobs.
 */
#include "pipeline/engine/engine.h"

#include "formats/base/data_limit.h"
#include "pipeline/names/machine.h"
#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    FILES_PER_JOB = 16, /* inputs and their copies, part folder, outputs that grow, and room */
    READ_THREADS_MIN = 2,
    READ_THREADS_MAX = 4, /* beyond, they take the cores that decode: 16 threads are slower then */
    WRITE_THREADS = 2,
    JOBS_WAITING = 6, /* beyond one a thread: small ones wait for lanes more than they compute */
    BLOCK_BYTES_MIN = 320 << 10,
    BLOCK_BYTES_MAX = 5 << 20,
    JOBS_BYTES_MIN = 8 << 20,
    ENCODE_BUFFER_BYTES = 5 << 19, /* a piece raw and packed, and deflate's own state */
    DATA_BESIDE = 80 << 20,        /* of libraries, figures, lists, and what malloc keeps */
    DATA_BESIDE_THREAD = 1 << 20
};

/* --- the pools -------------------------------------------------------------------------------- */

bool engine_is_short_of_blocks(const struct engine *e)
{
    return e->n_free_blocks <= 1;
}

struct block *engine_take_block(struct engine *e, bool may_wait)
{
    struct block *b = e->free_blocks;
    if (may_wait && engine_is_short_of_blocks(e)) {
        return NULL;
    }
    if (b != NULL) {
        e->free_blocks = b->next;
        e->n_free_blocks--;
        b->next = NULL;
    }
    return b;
}

void engine_give_block(struct engine *e, struct block *b)
{
    b->next = e->free_blocks;
    e->free_blocks = b;
    e->n_free_blocks++;
}

struct encode_buffer *engine_take_encode_buffer(struct engine *e, bool may_wait)
{
    struct encode_buffer *s = e->free_encode_buffers;
    if (may_wait && s != NULL && s->next == NULL) {
        return NULL;
    }
    if (s != NULL) {
        e->free_encode_buffers = s->next;
        s->next = NULL;
        s->ready = false;
    }
    return s;
}

void engine_give_encode_buffer(struct engine *e, struct encode_buffer *s)
{
    s->next = e->free_encode_buffers;
    e->free_encode_buffers = s;
}

/* A fifth of a block holds text, the rest numbers: two characters make one double at the densest.
 */
static enum status make_blocks(struct engine *e)
{
    e->blocks = xcalloc(e->n_blocks, sizeof(*e->blocks));
    size_t raw_bytes = e->block_bytes / 5 / 4096 * 4096;
    for (size_t i = 0; i < e->n_blocks; i++) {
        struct table_chunk *c = &e->blocks[i].chunk;
        void *memory;
        STATUS_TRY(e->cpu.backend->ops->host_alloc(e->cpu.backend, e->block_bytes, &memory));
        c->raw = memory;
        c->raw_cap = raw_bytes;
        c->values = (char *)memory + raw_bytes;
        c->values_cap = e->block_bytes - raw_bytes;
        e->blocks[i].task.owner = &e->blocks[i];
        engine_give_block(e, &e->blocks[i]);
    }
    return STATUS_OK;
}

static enum status make_encode_buffers(struct engine *e, int level)
{
    e->encode_buffers = xcalloc(e->n_encode_buffers, sizeof(*e->encode_buffers));
    for (size_t i = 0; i < e->n_encode_buffers; i++) {
        STATUS_TRY(deflater_new(level, &e->encode_buffers[i].deflater));
        e->encode_buffers[i].task.owner = &e->encode_buffers[i];
        engine_give_encode_buffer(e, &e->encode_buffers[i]);
    }
    return STATUS_OK;
}

/* Sizes the blocks for that much memory: an eighth of it, within their limits. Returns what blocks
 * and encode buffers take. */
static uint64_t size_blocks(struct engine *e, uint64_t memory)
{
    uint64_t block = memory / 8 / e->n_blocks / 4096 * 4096;
    e->block_bytes = block < BLOCK_BYTES_MIN   ? BLOCK_BYTES_MIN
                     : block > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX
                                               : (size_t)block;
    return (uint64_t)e->n_blocks * e->block_bytes +
           (uint64_t)e->n_encode_buffers * ENCODE_BUFFER_BYTES;
}

/* Shares --memory out: blocks, encode buffers, the rest for jobs. */
static enum status share_memory(struct engine *e, uint64_t memory)
{
    e->n_blocks = 2 * e->n_threads + 4;
    e->n_encode_buffers = 2 * e->n_threads + 2;
    uint64_t enough = memory, least; /* more memory has larger blocks */
    while (enough < (least = size_blocks(e, enough) + JOBS_BYTES_MIN)) {
        enough = ((least >> 20) + 1) << 20;
    }
    if (enough > memory) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--memory is too little for %zu threads; write --memory=%lluM or more, "
                           "or give fewer --threads",
                           e->n_threads, (unsigned long long)enough >> 20);
    }
    const size_t batch = BLOCK_BYTES_MAX / e->block_bytes, most = e->n_blocks / 4;
    e->batch_blocks = batch < most ? batch : most;
    e->host_limit = memory - (least - JOBS_BYTES_MIN);
    return STATUS_OK;
}

static enum status start_pools(struct engine *e)
{
    const size_t n_read = e->n_threads / 2;
    STATUS_TRY(thread_pool_new(n_read < READ_THREADS_MIN   ? READ_THREADS_MIN
                               : n_read > READ_THREADS_MAX ? READ_THREADS_MAX
                                                           : n_read,
                               &e->reading));
    return thread_pool_new(WRITE_THREADS, &e->writing);
}

/* A job has a few files open at a time; as many as the system allows to are in flight at most. */
static void limit_jobs(struct engine *e)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) == 0 || getrlimit(RLIMIT_NOFILE, &files) == 0) {
            rlim_t most = files.rlim_cur / FILES_PER_JOB;
            most = most > 4 ? most - 3 : 1;
            e->max_jobs = e->max_jobs > most ? (size_t)most : e->max_jobs;
        }
    }
}

static enum status open_all(struct engine *e, const struct settings *settings)
{
    const bool on_devices = strcmp(settings->backend, "cuda") == 0;
    STATUS_TRY(thread_pool_new(e->n_threads, &e->compute));
    STATUS_TRY(engine_open_cpu(e, on_devices ? 0 : e->max_jobs + 1));
    STATUS_TRY(share_memory(e, settings->memory > 0 ? settings->memory : machine_memory() / 2));
    STATUS_TRY(start_pools(e));
    STATUS_TRY(make_blocks(e));
    STATUS_TRY(make_encode_buffers(e, settings->level));
    e->jobs = xcalloc(e->max_jobs + 1, sizeof(struct engine_job *)); /* a short one, too */
    return on_devices ? engine_open_devices(e) : STATUS_OK;
}

enum status engine_open(uv_loop_t *loop, const struct settings *settings, struct engine *e)
{
    *e = (struct engine){.settings = settings, .loop = loop};
    STATUS_TRY(engine_open_lanes(e));
    e->disks = disk_meter_of(NULL);
    e->n_cpus = machine_cpus();
    e->n_threads = settings->threads > 0 ? settings->threads : e->n_cpus;
    e->max_jobs = settings->jobs > 0 ? settings->jobs : e->n_threads + JOBS_WAITING;
    e->has_short_place = settings->jobs == 0;
    limit_jobs(e);

    const enum status code = open_all(e, settings);
    if (code != STATUS_OK) {
        engine_close(e);
    }
    return code;
}

void engine_limit_memory(const struct engine *e)
{
    const uint64_t encode = (uint64_t)e->n_encode_buffers * ENCODE_BUFFER_BYTES;
    const bool may_open = strcmp(e->settings->backend, "cuda") == 0 ||
                          (strcmp(e->settings->backend, "auto") == 0 && machine_has_nvidia());
    if (!may_open) {
        data_limit_set(e->host_limit + encode + e->host_limit / 8 + DATA_BESIDE +
                       e->n_threads * DATA_BESIDE_THREAD);
    }
}

static void free_pools(struct engine *e)
{
    for (size_t i = 0; e->blocks != NULL && i < e->n_blocks; i++) {
        table_chunk_clear(&e->blocks[i].chunk);
        if (e->blocks[i].chunk.raw != NULL) {
            e->cpu.backend->ops->host_free(e->cpu.backend, e->blocks[i].chunk.raw);
        }
    }
    free(e->blocks);
    for (size_t i = 0; e->encode_buffers != NULL && i < e->n_encode_buffers; i++) {
        deflater_free(e->encode_buffers[i].deflater);
        bytes_free(&e->encode_buffers[i].raw);
        for (size_t p = 0; p < ENCODE_BUFFER_PIECES; p++) {
            bytes_free(&e->encode_buffers[i].pieces[p].packed);
        }
    }
    free(e->encode_buffers);
    free(e->jobs);
}

void engine_close(struct engine *e)
{
    thread_pool_free(e->reading);
    thread_pool_free(e->writing);
    engine_close_devices(e);
    thread_pool_free(e->compute);
    free_pools(e);
    engine_close_cpu(e);
    engine_close_lanes(e);
}
