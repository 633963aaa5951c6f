/*
 * job_memory - what a job needs by its stage's plan, and the reservation of that within the
 * engine's limits. The length of some tables is only guessed before the end: a job that outgrows
 * its guess reserves more, or starts over once there is more.
 *
 * Memory is given in the order in which jobs came. While one waits, the later ones hold together no
 * more than what it leaves of the limit: so it waits for earlier jobs, and for later ones that had
 * their memory before it asked, but never for one that passed it.
 */
#include "pipeline/engine/job_state.h"

#include "formats/base/checked.h"

#include <math.h>
#include <stdio.h>

/* What decoding the tables and looking at them holds beside the blocks: of all, since the end of
 * one may still be decoded when the next one is. */
static uint64_t decode_bytes(const struct job *job)
{
    const struct engine *e = job->engine;
    const struct table_load load = {e->n_threads, e->n_blocks, e->blocks[0].chunk.values_cap};
    size_t bytes = 0;
    for (size_t i = 0; i < job->input.n_parts; i++) {
        if (!checked_add(bytes, table_decode_bytes(table_info(job->tables[i]), &load), &bytes)) {
            return SIZE_MAX;
        }
    }
    return checked_add(bytes, table_watch_bytes(job->watch, e->n_threads), &bytes) ? bytes
                                                                                   : SIZE_MAX;
}

/* What a plan may ask for at most of the host's memory: what decoding leaves. */
static uint64_t host_limit(const struct job *job)
{
    const struct engine *e = job->engine;
    const uint64_t decode = decode_bytes(job);
    return decode < e->host_limit ? e->host_limit - decode : 1;
}

struct stage_args job_args(const struct job *job)
{
    const struct engine *const e = job->engine;
    const bool on_cpu = job->device->on_cpu;
    struct stage_args args = {.queue = job->queue,
                              .params = job->input.settings.params,
                              .block_bytes = e->block_bytes,
                              .n_threads = e->n_threads,
                              .memory_limit = on_cpu ? host_limit(job) : job->device->memory_limit,
                              .host_limit = on_cpu ? 0 : host_limit(job),
                              .started_over = job->started_over,
                              .most_helpers = job_most_helpers(job),
                              .executor = thread_pool_executor(e->compute)};
    for (size_t i = 0; i < job->input.n_parts; i++) {
        const struct job_part *const part = &job->input.parts[i];
        args.comes_once |= part->is_stream && part->archive == NULL;
        args.inputs[job_stage_part(job, i)] = (struct stage_input){
            &job->shapes[i], job->input.parts[i].path, i == 0 ? job->watch : NULL};
    }
    return args;
}

/* A table that does not know its length has at least so many lines. */
static void expect_lines(struct table_info *info, size_t lines)
{
    if (info->n_lines == 0 && info->n_lines_estimate < lines) {
        info->n_lines_estimate = lines;
    }
}

/* What the stage needs when the tables that do not know their length have at least so many lines.
 * n_results: that it holds, being open; or 0. */
static enum status plan(const struct job *job, const size_t lines[STAGE_MAX_PARTS],
                        size_t n_results, struct stage_need *need)
{
    struct stage_args args = job_args(job);
    args.n_results = n_results;
    struct table_info infos[STAGE_MAX_PARTS];
    for (size_t i = 0; i < job->input.n_parts; i++) {
        infos[i] = job->shapes[i];
        expect_lines(&infos[i], lines[i]);
        args.inputs[job_stage_part(job, i)].table = &infos[i];
    }
    return job->input.settings.stage->plan(&args, need);
}

static void bytes_wanted(const struct job *job, const struct stage_need *need, uint64_t *host,
                         uint64_t *device)
{
    const bool on_cpu = job->device->on_cpu;
    *host = need->host_bytes + (on_cpu ? need->memory_bytes : 0);
    const uint64_t decode = decode_bytes(job);
    *host = decode < UINT64_MAX - *host ? *host + decode : UINT64_MAX;
    *device = on_cpu ? 0 : need->memory_bytes;
}

/* The CPU's is the host's. */
static uint64_t device_limit(const struct job *job)
{
    return job->device->on_cpu ? 0 : job->device->memory_limit;
}

static bool within_limits(const struct job *job, const struct stage_need *need)
{
    uint64_t host, device;
    bytes_wanted(job, need, &host, &device);
    return host <= job->engine->host_limit && device <= device_limit(job);
}

/* A need that can never be met fails the job; one that another device may meet does not. */
static bool fits(struct job *job, const struct stage_need *need)
{
    const struct engine *e = job->engine;
    if (!within_limits(job, need)) {
        char text[320];
        uint64_t host, device;
        bytes_wanted(job, need, &host, &device);
        if (job->phase == JOB_PLACING && host <= e->host_limit &&
            engine_has_other(job->device, device)) {
            job->device_least = device;
            return false;
        }
        uint64_t wanted = host > e->host_limit ? host : device;
        uint64_t limit = host > e->host_limit ? e->host_limit : device_limit(job);
        snprintf(text, sizeof(text),
                 "'%.120s' needs %s%llu bytes of %s memory, %llu are there for jobs; %s",
                 job->input.parts[0].path, need->estimated ? "about " : "",
                 (unsigned long long)wanted, host > e->host_limit ? "host" : "device",
                 (unsigned long long)limit,
                 host > e->host_limit ? "raise --memory by the difference, or more"
                                      : "use --backend cpu, or a larger device");
        job_fail(job, STATUS_TOO_LARGE, text);
        return false;
    }
    return true;
}

bool job_memory_may_take(const struct job *job, uint64_t more_host, uint64_t more_device)
{
    const struct engine *e = job->engine;
    const struct engine_device *d = job->device;
    if (more_host > e->host_limit - e->host_used ||
        more_device > d->memory_limit - d->memory_used) {
        return false;
    }
    uint64_t host = more_host, device = more_device; /* of all jobs that are later than `o` */
    size_t i = e->n_jobs;
    for (bool earlier = false; i-- > 0;) {
        const struct job *o = e->jobs[i];
        if (earlier && o->phase == JOB_WAITING && o->code == STATUS_OK &&
            ((more_host > 0 && host > e->host_limit - o->host_wanted) ||
             (more_device > 0 && o->device == d && device > d->memory_limit - o->device_wanted))) {
            return false;
        }
        host += o->host_reserved;
        device += o->device == d ? o->device_reserved : 0;
        earlier = earlier || o == job;
    }
    return true;
}

/* Raises the job's reservation to `need`; false when the rest is not free at this moment, or never.
 */
static bool reserve(struct job *job, const struct stage_need *need)
{
    struct engine *e = job->engine;
    if (!fits(job, need)) {
        return false;
    }
    uint64_t *host = &job->host_wanted, *device = &job->device_wanted;
    bytes_wanted(job, need, host, device);
    uint64_t more_host = *host > job->host_reserved ? *host - job->host_reserved : 0;
    uint64_t more_device = *device > job->device_reserved ? *device - job->device_reserved : 0;
    if (!job_memory_may_take(job, more_host, more_device)) {
        return false;
    }
    e->host_used += more_host;
    job->host_reserved += more_host;
    job->device->memory_used += more_device;
    job->device_reserved += more_device;
    return true;
}

void job_take_shapes(struct job *job)
{
    for (size_t i = 0; i < job->input.n_parts; i++) {
        struct table_info *const shape = &job->shapes[i];
        *shape = *table_info(job->tables[i]);
        expect_lines(shape, job->lines_estimate[i]);
        job->lines_estimate[i] = shape->n_lines_estimate;
    }
}

bool job_plan(struct job *job)
{
    return job_check(job, plan(job, job->lines_estimate, 0, &job->need)) && fits(job, &job->need);
}

bool job_reserve(struct job *job)
{
    /* check makes no stage: decoding alone takes memory */
    const struct stage_need none = {0};
    return reserve(job, job->context.check_only ? &none : &job->need);
}

bool job_has_lines(const struct job *job, size_t part, size_t lines)
{
    return table_info(job->tables[part])->n_lines != 0 || lines <= job->lines_estimate[part];
}

static void start_over(struct job *job)
{
    job->restart_pending = true;
    job_fail(job, STATUS_TOO_LARGE, "starting over with more memory");
}

/* Whether the lines that are expected fit, were it not for the results that the stage, as it was
 * opened, holds at a time. */
static bool fits_anew(struct job *job)
{
    struct stage_need need;
    return job->need.n_results > 0 && job_check(job, plan(job, job->lines_estimate, 0, &need)) &&
           within_limits(job, &need);
}

bool job_reserve_lines(struct job *job, size_t part, size_t lines)
{
    if (job_has_lines(job, part, lines)) {
        return true;
    }
    /* Half as much again, so that this is not asked for every block; no more than there is when
     * that is too much. */
    const size_t estimates[] = {lines + lines / 2, lines};
    struct stage_need need;
    bool within = false;
    for (size_t i = 0; i < 2 && !within; i++) {
        job->lines_estimate[part] = estimates[i];
        if (!job_check(job, plan(job, job->lines_estimate, job->need.n_results, &need))) {
            return false;
        }
        within = within_limits(job, &need);
    }
    if (!within && fits_anew(job)) {
        start_over(job);
        return false;
    }
    if (!reserve(job, &need)) {
        if (job->code == STATUS_OK) {
            /* Others hold the memory, and may be waiting for this one's blocks: start over once it
             * is there. */
            start_over(job);
        }
        return false;
    }
    return true;
}

/* Of the whole table that the block is of, if what was not decoded has lines as short as the
 * shortest from that block on; 0: sizes that claim more than can be counted. */
static size_t all_lines(const struct job *job, const struct block *of)
{
    const struct source *const s = table_source(of->table);
    const double left = (double)source_file_bytes(s) - (double)source_file_offset(s),
                 times = (double)job->lane_bytes[LANE_DECODE] / (double)job->bytes_read;
    double cells = (double)job->cells[of->part], bytes = (left > 0 ? left : 0) * times,
           cells_per_byte = (double)of->chunk.n_cells / (double)of->chunk.raw_len;
    for (const struct block *b = job->first_block; b != NULL; b = b->next) {
        if (b->part == of->part && b->state == BLOCK_READY) {
            cells += (double)b->chunk.n_cells;
            cells_per_byte =
                fmax(cells_per_byte, (double)b->chunk.n_cells / (double)b->chunk.raw_len);
        } else if (b->part == of->part) { /* not decoded, since the job had failed */
            bytes += (double)b->chunk.raw_len;
        }
    }
    cells += bytes * cells_per_byte;
    const double lines = cells / (double)job->shapes[of->part].cells_per_line;
    return lines < 0x1p53 ? (size_t)lines : 0;
}

void job_expect_all_lines(struct job *job)
{
    const struct block *const b = job->pushing; /* there was no memory for its lines */
    const size_t all = all_lines(job, b), least = job->lines_estimate[b->part];
    struct stage_need need;
    job->lines_estimate[b->part] = all > least ? all : least;
    if (plan(job, job->lines_estimate, 0, &need) != STATUS_OK || !within_limits(job, &need)) {
        job->lines_estimate[b->part] = least;
    }
}

/* What the stage needs for the lines that were counted. */
static enum status plan_counted(struct job *job)
{
    struct stage_args args = job_args(job);
    struct table_info counted[STAGE_MAX_PARTS];
    bool known = true;
    for (size_t i = 0; i < job->input.n_parts; i++) {
        struct stage_input *const input = &args.inputs[job_stage_part(job, i)];
        struct table_info *info = &counted[i];
        *info = *input->table;
        const size_t lines = (size_t)(job->cells[i] / info->cells_per_line);
        if (lines == 0) {
            return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", input->name);
        }
        known = known && info->n_lines != 0;
        info->n_lines = info->n_lines_estimate = lines;
        if (lines > job->lines_estimate[i]) {
            job->lines_estimate[i] = lines;
        }
        input->table = info;
    }
    if (known) {
        return STATUS_OK;
    }
    STATUS_TRY(job->input.settings.stage->plan(&args, &job->need));
    return plan(job, job->lines_estimate, 0, &job->need); /* run begins with no more than these */
}

bool job_check_lines(struct job *job)
{
    return job_check(job, plan_counted(job)) && fits(job, &job->need);
}
