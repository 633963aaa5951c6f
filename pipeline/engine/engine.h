/*
 * engine - lanes, blocks, memory: what all jobs share.
 *
 * The loop thread decides and never computes, parses, compresses or waits: it starts tasks on lanes
 * and is told when they have finished. All state of the engine and of its jobs is touched by the
 * loop thread alone, or belongs to exactly one running task. So there is no lock but those of the
 * thread pools and of the list of finished tasks.
 *
 * Bulk data travels in blocks from one pool made at start (page-locked once a device is open). A
 * job that finds the pool empty waits for a block: that is the back-pressure. Blocks are taken only
 * by the reader, in order, and a block once taken needs no other block to be finished: so the pool
 * cannot dead-lock.
 */
#ifndef LEAT_PIPELINE_ENGINE_ENGINE_H
#define LEAT_PIPELINE_ENGINE_ENGINE_H

#include "formats/base/status.h"
#include "formats/pack/pack.h"
#include "formats/table/table.h"
#include "kernels/backend.h"
#include "pipeline/engine/meter.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/ranks/ranks.h"
#include "pipeline/settings/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum engine_lane { LANE_READ, LANE_DECODE, LANE_DEVICE, LANE_ENCODE, LANE_WRITE, ENGINE_LANES };

extern const char *const engine_lane_names[ENGINE_LANES];

struct engine;
struct reading;
struct writing;
struct writing_result;

/* Work for a lane. `work` runs on the lane's pool; then `finished` runs on the loop thread. */
struct engine_task {
    struct thread_pool_task base;
    struct engine *engine;
    struct thread_pool *device; /* of LANE_DEVICE: whose; NULL: the CPU's */
    enum status (*work)(void *owner);
    void (*finished)(struct engine_task *task);
    void *owner;              /* the task's own business */
    enum status code;         /* that work returned ... */
    char *message;            /* ... and why; owned; NULL if that is STATUS_OK */
    struct engine_task *next; /* the engine's own */
};

/* A block of the pool and the chunk of a table in it. */
enum block_state {
    BLOCK_READING, /* or not reached by the task that reads */
    BLOCK_READ,
    BLOCK_END, /* nothing was left to read */
    BLOCK_DECODING,
    BLOCK_READY,
    BLOCK_FAILED
};

struct block {
    struct table_chunk chunk;
    struct reading *reading; /* that has it at present */
    size_t part;             /* of the job's inputs */
    struct table *table;     /* that it is read from */
    struct table_look *look; /* at its numbers; NULL: none */
    struct engine_task task;
    enum block_state state;
    uint64_t ticket; /* of its upload */
    struct block *next;
};

/* Pieces of results on their way: made by the encode lane, appended by the write lane. */
enum { ENCODE_BUFFER_PIECES = 16 };

struct encode_buffer {
    struct deflater *deflater;
    struct bytes raw;
    struct pack_piece pieces[ENCODE_BUFFER_PIECES];
    struct writing *writing; /* that has it at present */
    struct engine_task task;
    struct writing_result *of; /* of the job's; these pieces of it: */
    size_t file, member;       /* of the first piece */
    uint64_t piece;
    size_t n_pieces; /* pieces of one member, or the only pieces of so many members */
    bool ready;
    struct encode_buffer *next;
};

/* Where jobs are computed: the CPU, or a CUDA device. */
enum device_state { DEVICE_CLOSED, DEVICE_OPENING, DEVICE_OPEN, DEVICE_FAILED };

struct engine_device {
    struct thread_pool_task pinning; /* first: of the blocks */
    struct engine *engine;
    enum device_state state;
    bool on_cpu;
    int number;               /* of CUDA's */
    struct thread_pool *pool; /* its lane; a CUDA device has its own: its calls wait for copies */
    struct backend *backend;  /* NULL: not open */
    struct backend_info info;
    struct queue **queues; /* idle ones */
    size_t n_queues;
    size_t share;                       /* of the jobs in flight, for which it has queues */
    size_t n_jobs, n_begun;             /* that it has; that it ever had */
    uint64_t memory_limit, memory_used; /* bytes for jobs; of the CPU 0: the engine's */
    size_t n_pinned;                    /* blocks that it has page-locked */
    struct engine_task opening;
};

/* A job in flight, as the engine and other jobs see it; a job's first member. */
enum engine_wait { WAITS_FOR_NOTHING, WAITS_FOR_DEVICE, WAITS_FOR_MEMORY };

struct engine_job {
    void (*advance)(struct engine_job *job); /* looks again, since something has become free */
    enum engine_wait waits;
    double work;                         /* of its shape, in operations */
    struct engine_device *device;        /* where it is computed; NULL: not known yet */
    uint64_t host_wanted, device_wanted; /* while it waits for memory */
    uint64_t host_reserved, device_reserved;
};

struct engine {
    const struct settings *settings; /* borrowed, as is: */
    struct ranks *ranks;             /* that may help; set once it is open; NULL: there are none */
    uv_loop_t *loop;
    uv_async_t wake;
    pthread_mutex_t finished_lock;
    struct engine_task *finished_first, **finished_last;
    struct thread_pool *compute, *reading, *writing;
    struct engine_device cpu, *devices; /* always open; those that may be used */
    size_t n_devices, n_found;          /* n_found: as the task that looks for them has it */
    bool is_looking, have_looked;       /* for devices */
    struct engine_task find_task;
    bool is_pinned; /* a device page-locks the blocks, or has tried */
    size_t n_threads, n_cpus;
    size_t max_jobs;      /* in flight */
    bool has_short_place; /* one more, for a short job; not where the user gives their number */
    size_t n_short_only;  /* jobs in flight that are in that place, and do not last */
    struct block *blocks, *free_blocks;
    size_t n_blocks, block_bytes, n_free_blocks;
    size_t batch_blocks; /* small ones are read and pushed so many in a task */
    struct encode_buffer *encode_buffers, *free_encode_buffers;
    size_t n_encode_buffers;
    uint64_t host_limit, host_used; /* bytes for jobs, within --memory */
    struct disk_meter disks;        /* as all tasks meet them */
    struct engine_job **jobs;       /* in flight, oldest first */
    size_t n_jobs;
};

/* Starts the threads, makes the pool; with --backend cuda opens the first device, with auto none
 * yet. STATUS_BAD_ARGUMENT when --memory is less than the pool's least size (the message says it),
 * STATUS_NO_BACKEND. */
enum status engine_open(uv_loop_t *loop, const struct settings *settings,
                        struct engine *e) STATUS_MUST_CHECK;
/* No job may be in flight. The loop must run once more to close the engine's handle. */
void engine_close(struct engine *e);

/* Once it is open, where no device can be opened: the system gives this process a little more than
 * --memory from now on, whatever a file makes a library ask for. (CUDA's driver takes as it likes.)
 */
void engine_limit_memory(const struct engine *e);

/* Whether another job may be started; whether a short one may in the place for those. A job that
 * lasts in that place counts as one of the others, of which there may be one too many then: so it
 * has the next of their places that is free. */
static inline bool engine_has_place(const struct engine *e)
{
    return e->n_jobs - e->n_short_only < e->max_jobs;
}
static inline bool engine_has_short_place(const struct engine *e)
{
    return e->has_short_place && e->n_short_only == 0 && e->n_jobs <= e->max_jobs;
}

/* NULL when there is none free; the last one is kept for a short job that has none (not: may_wait).
 */
struct block *engine_take_block(struct engine *e, bool may_wait);
/* Whether a job that may wait would get none. */
bool engine_is_short_of_blocks(const struct engine *e);
void engine_give_block(struct engine *e, struct block *b);
struct encode_buffer *engine_take_encode_buffer(struct engine *e, bool may_wait);
void engine_give_encode_buffer(struct engine *e, struct encode_buffer *s);

/* lanes.c. For engine_open and engine_close: what tells of finished tasks. */
enum status engine_open_lanes(struct engine *e) STATUS_MUST_CHECK;
void engine_close_lanes(struct engine *e);
/* Starts a task; `account` may be NULL. */
void engine_start(struct engine *e, struct engine_task *task, enum engine_lane lane,
                  struct thread_pool_account *account);
/* For finished(): forgets the message. */
void engine_task_clear(struct engine_task *task);
/* Lets every job look again, since memory, a block, an encode buffer or a device has become free.
 */
void engine_advance_jobs(struct engine *e);

/* device.c. Where a job that wants a device is to be computed, one that has so many bytes for jobs.
 * NULL: it has to wait, and is told when a device has opened, or none can be. The CPU where no
 * device is usable. */
struct engine_device *engine_place(struct engine *e, uint64_t bytes);
/* Whether another device is, or may be once open, one that has so many bytes for jobs. */
bool engine_has_other(const struct engine_device *d, uint64_t bytes);
/* After a failure of the device itself: it gets no more jobs. False: it is the last one, and stays.
 */
bool engine_leave_device(struct engine_device *d, const char *why);
/* Up to n devices besides `home` that have no job, and so many bytes. Where there are fewer,
 * further ones are opened; as long as one opens, or a job waits for a device, there are none. */
size_t engine_find_helpers(struct engine *e, const struct engine_device *home, uint64_t bytes,
                           size_t n, struct engine_device **out);
/* Whether a device is being opened. */
bool engine_is_opening(const struct engine *e);
/* For another rank, when the loop has ended: a device that is open, or can be opened. */
enum status engine_open_device(struct engine *e, struct engine_device **out) STATUS_MUST_CHECK;
/* A queue of the place for one job. */
struct queue *engine_take_queue(struct engine_device *d);
void engine_give_queue(struct engine_device *d, struct queue *q);
/* Seconds in which the open devices were busy: of the busiest. */
void engine_busy(struct engine *e, struct queue_busy *out);
/* For engine_open and engine_close: the CPU; the devices of --backend cuda, the first one open. */
enum status engine_open_cpu(struct engine *e, size_t n_queues) STATUS_MUST_CHECK;
enum status engine_open_devices(struct engine *e) STATUS_MUST_CHECK;
void engine_close_devices(struct engine *e);
void engine_close_cpu(struct engine *e);

#endif
