/*
 * memory - see the header. The length of some tables is only guessed before the end: a job that
 * outgrows its guess reserves more, or starts over once there is more.
 *
 * Memory is given in the order in which jobs came. While one waits, the later ones hold together no
 * more than what it leaves of the limit: so it waits for earlier jobs, and for later ones that had
 * their memory before it asked, but never for one that passed it.
 */
#include "pipeline/engine/memory.h"

#include "formats/base/checked.h"

#include <math.h>
#include <stdio.h>

/* What decoding the tables and looking at them holds beside the blocks: of all, since the end of
 * one may still be decoded when the next one is. */
static uint64_t decode_bytes(const struct memory *m)
{
    const struct engine *e = m->tasks->engine;
    const struct table_load load = {e->n_threads, e->n_blocks, e->blocks[0].chunk.values_cap};
    size_t bytes = 0;
    for (size_t i = 0; i < m->input->n_parts; i++) {
        if (!checked_add(bytes, table_decode_bytes(table_info(m->reading->tables[i]), &load),
                         &bytes)) {
            return SIZE_MAX;
        }
    }
    return checked_add(bytes, table_watch_bytes(m->reading->watch, e->n_threads), &bytes)
               ? bytes
               : SIZE_MAX;
}

/* What a plan may ask for at most of the host's memory: what decoding leaves. */
static uint64_t host_limit(const struct memory *m)
{
    const struct engine *e = m->tasks->engine;
    const uint64_t decode = decode_bytes(m);
    return decode < e->host_limit ? e->host_limit - decode : 1;
}

struct stage_args memory_args(const struct memory *m)
{
    const struct engine *const e = m->tasks->engine;
    const bool on_cpu = place_device(m->place)->on_cpu;
    struct stage_args args = {.queue = m->place->queue,
                              .params = m->input->settings.params,
                              .block_bytes = e->block_bytes,
                              .n_threads = e->n_threads,
                              .memory_limit =
                                  on_cpu ? host_limit(m) : place_device(m->place)->memory_limit,
                              .host_limit = on_cpu ? 0 : host_limit(m),
                              .started_over = m->started_over,
                              .most_helpers = place_most_helpers(m->place),
                              .state = m->state,
                              .executor = thread_pool_executor(e->compute)};
    for (size_t i = 0; i < m->input->n_parts; i++) {
        const struct job_part *const part = &m->input->parts[i];
        args.comes_once |= part->is_stream && part->archive == NULL;
        args.inputs[job_input_stage_part(m->input, i)] = (struct stage_input){
            &m->shapes[i], m->input->parts[i].path, i == 0 ? m->reading->watch : NULL};
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
static enum status plan(const struct memory *m, const size_t lines[STAGE_MAX_PARTS],
                        size_t n_results, struct stage_need *need)
{
    struct stage_args args = memory_args(m);
    args.n_results = n_results;
    struct table_info infos[STAGE_MAX_PARTS];
    for (size_t i = 0; i < m->input->n_parts; i++) {
        infos[i] = m->shapes[i];
        expect_lines(&infos[i], lines[i]);
        args.inputs[job_input_stage_part(m->input, i)].table = &infos[i];
    }
    return m->input->settings.stage->plan(&args, need);
}

static void bytes_wanted(const struct memory *m, const struct stage_need *need, uint64_t *host,
                         uint64_t *device)
{
    const bool on_cpu = place_device(m->place)->on_cpu;
    *host = need->host_bytes + (on_cpu ? need->memory_bytes : 0);
    const uint64_t decode = decode_bytes(m);
    *host = decode < UINT64_MAX - *host ? *host + decode : UINT64_MAX;
    *device = on_cpu ? 0 : need->memory_bytes;
}

/* The CPU's is the host's. */
static uint64_t device_limit(const struct memory *m)
{
    return place_device(m->place)->on_cpu ? 0 : place_device(m->place)->memory_limit;
}

static bool within_limits(const struct memory *m, const struct stage_need *need)
{
    uint64_t host, device;
    bytes_wanted(m, need, &host, &device);
    return host <= m->tasks->engine->host_limit && device <= device_limit(m);
}

/* A need that can never be met fails the job; one that another device may meet does not, where that
 * can be chosen (least_bytes). */
static bool fits(struct memory *m, const struct stage_need *need, uint64_t *least_bytes)
{
    const struct engine *e = m->tasks->engine;
    if (!within_limits(m, need)) {
        char text[320];
        uint64_t host, device;
        bytes_wanted(m, need, &host, &device);
        if (least_bytes != NULL && host <= e->host_limit &&
            engine_has_other(place_device(m->place), device)) {
            *least_bytes = device;
            return false;
        }
        uint64_t wanted = host > e->host_limit ? host : device;
        uint64_t limit = host > e->host_limit ? e->host_limit : device_limit(m);
        snprintf(text, sizeof(text),
                 "'%.120s' needs %s%llu bytes of %s memory, %llu are there for jobs; %s",
                 m->input->parts[0].path, need->estimated ? "about " : "",
                 (unsigned long long)wanted, host > e->host_limit ? "host" : "device",
                 (unsigned long long)limit,
                 host > e->host_limit ? "raise --memory by the difference, or more"
                                      : "use --backend cpu, or a larger device");
        job_tasks_fail(m->tasks, STATUS_TOO_LARGE, text);
        return false;
    }
    return true;
}

bool memory_may_take(const struct engine *e, const struct engine_job *job, uint64_t more_host,
                     uint64_t more_device)
{
    const struct engine_device *d = job->device;
    if (more_host > e->host_limit - e->host_used ||
        more_device > d->memory_limit - d->memory_used) {
        return false;
    }
    uint64_t host = more_host, device = more_device; /* of all jobs that are later than `o` */
    size_t i = e->n_jobs;
    for (bool earlier = false; i-- > 0;) {
        const struct engine_job *o = e->jobs[i];
        if (earlier && o->waits == WAITS_FOR_MEMORY &&
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
static bool reserve(struct memory *m, const struct stage_need *need)
{
    struct engine *e = m->tasks->engine;
    struct engine_job *job = m->tasks->job;
    if (!fits(m, need, NULL)) {
        return false;
    }
    uint64_t *host = &job->host_wanted, *device = &job->device_wanted;
    bytes_wanted(m, need, host, device);
    uint64_t more_host = *host > job->host_reserved ? *host - job->host_reserved : 0;
    uint64_t more_device = *device > job->device_reserved ? *device - job->device_reserved : 0;
    if (!memory_may_take(e, job, more_host, more_device)) {
        return false;
    }
    e->host_used += more_host;
    job->host_reserved += more_host;
    job->device->memory_used += more_device;
    job->device_reserved += more_device;
    return true;
}

void memory_give_back(struct memory *m)
{
    struct engine_job *job = m->tasks->job;
    m->tasks->engine->host_used -= job->host_reserved;
    if (job->device != NULL) {
        job->device->memory_used -= job->device_reserved;
    }
    job->host_reserved = job->device_reserved = 0;
}

void memory_take_shapes(struct memory *m)
{
    for (size_t i = 0; i < m->input->n_parts; i++) {
        struct table_info *const shape = &m->shapes[i];
        *shape = *table_info(m->reading->tables[i]);
        expect_lines(shape, m->lines_estimate[i]);
        m->lines_estimate[i] = shape->n_lines_estimate;
    }
}

bool memory_plan(struct memory *m, uint64_t *least_bytes)
{
    return job_tasks_check(m->tasks, plan(m, m->lines_estimate, 0, &m->need)) &&
           fits(m, &m->need, least_bytes);
}

bool memory_reserve(struct memory *m, bool only_decodes)
{
    const struct stage_need none = {0};
    return reserve(m, only_decodes ? &none : &m->need);
}

bool memory_has_lines(const struct memory *m, size_t part, size_t lines)
{
    return table_info(m->reading->tables[part])->n_lines != 0 || lines <= m->lines_estimate[part];
}

static void start_over(struct memory *m)
{
    m->starts_over = true;
    job_tasks_fail(m->tasks, STATUS_TOO_LARGE, "starting over with more memory");
}

/* Whether the lines that are expected fit, were it not for the results that the stage, as it was
 * opened, holds at a time. */
static bool fits_anew(struct memory *m)
{
    struct stage_need need;
    return m->need.n_results > 0 &&
           job_tasks_check(m->tasks, plan(m, m->lines_estimate, 0, &need)) &&
           within_limits(m, &need);
}

bool memory_reserve_lines(struct memory *m, size_t part, size_t lines)
{
    if (memory_has_lines(m, part, lines)) {
        return true;
    }
    /* Half as much again, so that this is not asked for every block; no more than there is when
     * that is too much. */
    const size_t estimates[] = {lines + lines / 2, lines};
    struct stage_need need;
    bool within = false;
    for (size_t i = 0; i < 2 && !within; i++) {
        m->lines_estimate[part] = estimates[i];
        if (!job_tasks_check(m->tasks, plan(m, m->lines_estimate, m->need.n_results, &need))) {
            return false;
        }
        within = within_limits(m, &need);
    }
    if (!within && fits_anew(m)) {
        start_over(m);
        return false;
    }
    if (!reserve(m, &need)) {
        if (m->tasks->code == STATUS_OK) {
            /* Others hold the memory, and may be waiting for this one's blocks: start over once it
             * is there. */
            start_over(m);
        }
        return false;
    }
    return true;
}

/* Of the whole table that the block is of, if what was not decoded has lines as short as the
 * shortest from that block on; 0: sizes that claim more than can be counted. */
static size_t all_lines(const struct memory *m, const struct block *of)
{
    const struct source *const s = table_source(of->table);
    const double left = (double)source_file_bytes(s) - (double)source_file_offset(s),
                 times = (double)m->tasks->lane_bytes[LANE_DECODE] / (double)m->reading->bytes_read;
    double cells = (double)m->reading->cells[of->part], bytes = (left > 0 ? left : 0) * times,
           cells_per_byte = (double)of->chunk.n_cells / (double)of->chunk.raw_len;
    for (const struct block *b = m->reading->first_block; b != NULL; b = b->next) {
        if (b->part == of->part && b->state == BLOCK_READY) {
            cells += (double)b->chunk.n_cells;
            cells_per_byte =
                fmax(cells_per_byte, (double)b->chunk.n_cells / (double)b->chunk.raw_len);
        } else if (b->part == of->part) { /* not decoded, since the job had failed */
            bytes += (double)b->chunk.raw_len;
        }
    }
    cells += bytes * cells_per_byte;
    const double lines = cells / (double)m->shapes[of->part].cells_per_line;
    return lines < 0x1p53 ? (size_t)lines : 0;
}

void memory_expect_all_lines(struct memory *m, const struct block *b)
{
    const size_t all = all_lines(m, b), least = m->lines_estimate[b->part];
    struct stage_need need;
    m->lines_estimate[b->part] = all > least ? all : least;
    if (plan(m, m->lines_estimate, 0, &need) != STATUS_OK || !within_limits(m, &need)) {
        m->lines_estimate[b->part] = least;
    }
}

/* What the stage needs for the lines that were counted. */
static enum status plan_counted(struct memory *m)
{
    struct stage_args args = memory_args(m);
    struct table_info counted[STAGE_MAX_PARTS];
    bool known = true;
    for (size_t i = 0; i < m->input->n_parts; i++) {
        struct stage_input *const input = &args.inputs[job_input_stage_part(m->input, i)];
        struct table_info *info = &counted[i];
        *info = *input->table;
        const size_t lines = (size_t)(m->reading->cells[i] / info->cells_per_line);
        if (lines == 0) {
            return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", input->name);
        }
        known = known && info->n_lines != 0;
        info->n_lines = info->n_lines_estimate = lines;
        if (lines > m->lines_estimate[i]) {
            m->lines_estimate[i] = lines;
        }
        input->table = info;
    }
    if (known) {
        return STATUS_OK;
    }
    STATUS_TRY(m->input->settings.stage->plan(&args, &m->need));
    return plan(m, m->lines_estimate, 0, &m->need); /* run begins with no more than these */
}

bool memory_check_lines(struct memory *m)
{
    return job_tasks_check(m->tasks, plan_counted(m)) && fits(m, &m->need, NULL);
}
