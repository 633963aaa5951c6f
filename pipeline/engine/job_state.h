/*
 * job_state - a job's inside, shared by the files that make up the state machine: job.c (life and
 * death), job_memory.c, job_stream.c (reading to the stage), job_copy.c (decoded numbers for later
 * passes), job_helpers.c (further devices), job_output.c (from the stage's results to the published
 * folder), job_bundle.c (its files in one zip), manifest.c (result.json).
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_STATE_H
#define LEAT_PIPELINE_ENGINE_JOB_STATE_H

#include "pipeline/engine/job.h"
#include "stages/base/pull.h"

enum job_phase {
    JOB_OPENING,  /* the input's head is being read */
    JOB_PLACING,  /* a device is being opened */
    JOB_WAITING,  /* for memory */
    JOB_STARTING, /* the stage is being made */
    JOB_STREAMING,
    JOB_FINISHING,  /* the stage computes what is left; results are encoded and written */
    JOB_COMPLETING, /* the page, the zip and result.json are written */
    JOB_PUBLISHING,
    JOB_ENDING /* everything is being given back */
};

struct job_output_file {
    char name[48];
    uint64_t bytes;
    uint32_t crc;
    struct pack *pack; /* open: being written, or to be continued by a later result */
    bool more;         /* a later result continues it */
};

/* A result of the stage on its way to the files. */
struct job_result {
    struct result result;
    struct job_output_file **outputs; /* that its files are; the job's */
    size_t n_unwritten;               /* encode buffers with pieces of it */
    bool all_encoding;                /* every piece has got its buffer */
    struct job_result *next;
};

/* The decoded numbers of a part, for passes after the first. */
struct job_copy {
    int fd; /* -1: none */
    bool given_up;
    uint64_t bytes; /* written */
};

/* A device that helps the job's own one, or another rank. */
struct job_helper {
    struct engine_device *device; /* NULL: a rank */
    size_t rank;
    struct queue *queue; /* the job's; NULL: not made yet, or no longer there */
    uint64_t bytes;      /* reserved there */
    bool helps, has_failed;
};

struct job {
    struct job_context context;
    struct engine *engine;
    struct job_input input;
    enum job_phase phase;
    size_t running;          /* tasks on lanes */
    int stop;                /* read by them (queue_is_stopped): the job has failed */
    atomic_bool unpack_stop; /* the same for those that read and unpack */
    enum status code;        /* of the first failure */
    enum status code_at_end; /* `code` as JOB_ENDING began: job_cancel may change it meanwhile */
    char *message;
    bool restart_pending; /* starts over: needs more memory than was free, the stage said so, or its
                             device has failed */
    bool restarts;        /* as JOB_ENDING began: it is going to start over */
    bool started_over;    /* the stage said so */
    uv_timer_t *deadline;
    double deadline_s; /* as the job began; 0: none */
    bool waits;        /* for memory or a device, which does not count */

    struct table *tables[STAGE_MAX_PARTS];
    struct table_watch *watch;                 /* of the first; NULL: none */
    struct table_info shapes[STAGE_MAX_PARTS]; /* of these, as the stage is planned and opened: of
                                                  a job that starts over with the lines that came */
    struct pull *method;
    bool has_chosen, wants_device; /* from its shape, once */
    double work;                   /* of its shape, in operations */
    bool is_long;                  /* by that, or by what it has taken since */
    bool is_sent_back;             /* for that */
    uint64_t begun_ns;             /* it has its place */
    uint64_t device_least;        /* bytes that the device must have for jobs, as is known so far */
    bool has_lost_device;         /* one that failed under it */
    bool has_lost_help;           /* one of several did */
    struct engine_device *device; /* where it is computed; NULL: not known yet */
    struct queue *queue;
    struct job_helper helpers[SETTINGS_MOST_DEVICES];
    size_t n_helpers, n_helping; /* the stage has been told of the first ones */
    size_t n_ranks_wanted;       /* to be borrowed, besides */
    bool has_devices;            /* devices have been among them */
    bool asks_no_rank;           /* one that was borrowed could not help */
    struct stage_need need;
    size_t lines_estimate[STAGE_MAX_PARTS]; /* of tables that do not know their length: grow with
                                               their lines */
    uint64_t host_wanted, device_wanted;    /* of JOB_WAITING */
    uint64_t host_reserved, device_reserved;

    /* streaming */
    struct block *first_block, **last_block; /* read and not yet pushed, in file order */
    struct block *pushing;                   /* of these, those taken to be pushed next */
    struct block *pushed;                    /* by the push task that runs */
    struct block *uploading;                 /* by the one before; the device may still read them */
    size_t n_blocks;                         /* that it has */
    bool reading, read_ended, on_device;     /* a task of that kind is running; all has been read */
    size_t part, end_part;                   /* that is being read; where this pass ends */
    struct table *again;  /* of later passes; NULL in the first, which reads tables */
    uint64_t again_cells; /* of this later pass, so far */
    struct job_copy copies[STAGE_MAX_PARTS];
    bool has_copied, without_copies; /* in this attempt; since there was no room for them */
    uint64_t cells[STAGE_MAX_PARTS]; /* of each part, pushed in the first pass */
    uint64_t bytes_read;             /* of all files; for progress */
    uint32_t crc[STAGE_MAX_PARTS];

    /* output: results are encoded and written while the stage computes the next ones */
    bool more;                                 /* the stage is not at its end */
    uint64_t n_steps_done, n_steps;            /* of a simulation, after the last finish() */
    bool more_portions;                        /* of what was pushed last */
    struct result next;                        /* that the stage fills */
    struct job_result *results, **last_result; /* not yet written, oldest first */
    size_t n_results;
    struct result result; /* the last one that was written; none while others are on their way */
    struct publish publish;
    bool replaces;                    /* an earlier result: */
    struct publish_folder replaced;   /* that one */
    struct job_output_file **outputs; /* of all results so far */
    size_t n_outputs;
    struct job_result *encoding;   /* has the next piece to be encoded; NULL: there is none */
    size_t next_file, next_member; /* that piece */
    uint64_t next_piece;
    bool writing;
    struct encode_buffer *first_encoded, **last_encoded; /* in order of pieces */
    struct encode_buffer *written;                       /* taken by the write task */
    json_t *manifest;

    struct engine_task open_task, device_task, write_task;
    struct thread_pool_account accounts[ENGINE_LANES];
    struct disk_meter disks;
    uint64_t lane_bytes[ENGINE_LANES];
    struct queue_busy busy;
    uint64_t started_ns, wall_ns;
};

/* Decides what comes next; called after every change. */
void job_advance(struct job *job);
/* Lets every job look again, since memory, a block or an encode buffer has become free. */
void job_advance_all(struct engine *e);
/* Keeps the first failure. */
void job_fail(struct job *job, enum status code, const char *message);
/* The job fails with this thread's message, unless the status is STATUS_OK: then true. */
bool job_check(struct job *job, enum status code);
/* Starts a task for the job, its own or that of a block or buffer that it has taken; `finished`
 * books its end, as job_task_ended does. */
void job_run(struct job *job, struct engine_task *task, enum engine_lane lane,
             enum status (*work)(void *owner), void (*finished)(struct engine_task *));
/* Books the end of a task; keeps its failure. True when the job goes on. */
bool job_task_ended(struct job *job, struct engine_task *task);

/* job_memory.c: what the stage is told, once the job is planned. */
struct stage_args job_args(const struct job *job);
/* Sets `shapes` from the opened tables. */
void job_take_shapes(struct job *job);
/* Sets `need` from these, for the place where the job is computed; false when it has failed, or
 * another device may have the memory that this one has not: device_least is set then. */
bool job_plan(struct job *job);
/* Reserves `need`; false when it is not free at this moment, or the job has failed. */
bool job_reserve(struct job *job);
/* Whether the job may take so many bytes more: they are free, and no earlier job waits that would
 * have to wait for them. */
bool job_memory_may_take(const struct job *job, uint64_t more_host, uint64_t more_device);
/* Whether memory is reserved for a part of so many lines. */
bool job_has_lines(const struct job *job, size_t part, size_t lines);
/* Makes sure of it; false when the job now has to end (or to start over, `restart_pending`). */
bool job_reserve_lines(struct job *job, size_t part, size_t lines);
/* Before it starts over, when nothing runs for it: expects the lines of the whole tables, from what
 * came of them, so that it does not start over for every few lines more. */
void job_expect_all_lines(struct job *job);
/* check, when all cells have been counted: whether run would do with the lines they make, by shape
 * and by the memory they take; false when the job has failed. */
bool job_check_lines(struct job *job);

/* job_helpers.c, on the loop thread: finds some if the stage wants any, and has none. */
void job_helpers_find(struct job *job);
/* How many it may have. */
size_t job_most_helpers(const struct job *job);
/* On a lane: tells the stage of those that were found. */
enum status job_helpers_bring(struct job *job) STATUS_MUST_CHECK;
/* Makes job->busy, of the job's own queue, that of the busiest. */
void job_helpers_busy(struct job *job);
/* On a lane, when the stage is gone: waits for their queues and frees them. What counts of their
 * work the stage has waited for: a failure that shows now is the device's alone. */
void job_helpers_end(struct job *job);
/* On the loop thread, after either: those that have no queue are the engine's again, but for those
 * that have failed. */
void job_helpers_give(struct job *job);

/* job_stream.c */
void job_stream_advance(struct job *job);
void job_stream_drop(struct job *job);

/* job_copy.c, on lanes: keeps the block's numbers if its part is to be read again. */
void job_copy_add(struct job *job, const struct block *b);
/* The copy of a part as a table; *out is NULL when there is none. */
enum status job_copy_open(struct job *job, size_t part, struct table **out) STATUS_MUST_CHECK;
void job_copies_close(struct job *job);

/* job.c: the file of a part; and how the user wants it to be read. */
enum status job_open_source(const struct job_part *part, struct source **out) STATUS_MUST_CHECK;
struct table_options job_table_options(const struct job *job, size_t part);
enum status job_open_part(struct job *job, struct job_part *part,
                          const struct table_options *options,
                          struct table **out) STATUS_MUST_CHECK;

/* job_output.c */
void job_output_begin(struct job *job);
void job_output_advance(struct job *job);
/* Takes what the stage has filled, `next`, to be encoded and written. */
enum status job_output_add(struct job *job) STATUS_MUST_CHECK;
/* Whether the stage may be asked for one more: fewer than its plan says are on their way. */
bool job_output_has_room(const struct job *job);
/* Goes on to encode and write what is there. */
void job_output_write(struct job *job);
/* Removes what was not published; on a lane, since it deletes files. */
void job_output_drop(struct job *job);
/* On the loop thread, when no task of the job runs. */
void job_output_give_encode_buffers(struct job *job);

/* job_bundle.c, on a lane: puts all files that the manifest names, and a result.json that names
 * them, into one zip, and has the manifest name that. */
enum status job_bundle(struct job *job) STATUS_MUST_CHECK;

/* manifest.c: result.json of a finished job, as a new reference in *out. */
enum status manifest_make(const struct job *job, json_t **out) STATUS_MUST_CHECK;
/* Adds a file to its list of outputs. STATUS_NO_MEMORY. */
enum status manifest_add_output(json_t *manifest, const char *name, uint64_t bytes,
                                uint32_t crc) STATUS_MUST_CHECK;
/* Has it name as output the file of that name alone, in which those are that were named before, and
 * tell the time until now. STATUS_NO_MEMORY. */
enum status manifest_set_bundle(const struct job *job, json_t *manifest, const char *name,
                                uint64_t bytes, uint32_t crc) STATUS_MUST_CHECK;
/* Whether it does so. */
bool manifest_is_bundled(const json_t *manifest);
/* What of it every run of the job tells: no times, memory, inodes, processor; a new reference.
 * NULL: no memory. */
json_t *manifest_lasting(json_t *manifest);
/* The text of a file, for free(); NULL: no memory. */
char *manifest_text(const json_t *manifest);
/* How it writes some things; new references, NULL when there is no memory. */
json_t *manifest_time(struct timespec t);
json_t *manifest_crc(uint32_t crc);
json_t *manifest_prj_crc(const char *prj);
/* Every parameter as it was asked for, and what the readers are told. */
json_t *manifest_asked(const struct job *job);
/* What a manifest says was asked for by that key; borrowed, NULL: nothing. */
const json_t *manifest_recorded(const json_t *manifest, const char *key);

/* resume.c: STATUS_OK when there is no result of that name, or one that this job replaces, which
 * job->replaces says then; STATUS_SKIPPED when it is the result of this job; STATUS_EXISTS when it
 * is another one's, and may not be replaced. */
enum status job_resume(struct job *job) STATUS_MUST_CHECK;

/* Which of the stage's parts number i of the job's is. */
static inline size_t job_stage_part(const struct job *job, size_t i)
{
    const struct job_settings *const settings = &job->input.settings;
    return (size_t)(settings->parts[i] - settings->stage->parts);
}

#endif
