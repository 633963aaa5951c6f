/*
 * job_output - from the stage's results to the published folder. Pieces are made and deflated on
 * the encode lane, several at a time; one write task at a time appends those that are next in
 * order. Members of one piece travel together, so that a small result costs few tasks. While one
 * result is written, the stage computes the next, but no further ahead. A file that goes on in a
 * later result stays open.
 */
#include "formats/base/json.h"
#include "pipeline/engine/job_state.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

/* --- encode ----------------------------------------------------------------------------------- */

static enum status encode_work(void *owner)
{
    struct encode_buffer *s = owner;
    const struct job *job = s->job;
    size_t file = s->file, member = s->member;
    uint64_t piece = s->piece;
    for (size_t i = 0; i < s->n_pieces; i++) {
        const struct result_file *f = &job->result.files[file];
        const struct result_member *m = &f->members[member];
        bytes_clear(&s->raw);
        STATUS_TRY(m->piece(m->context, piece, &s->raw));
        const bool ends = m->growth == RESULT_WHOLE && !(f->more && f->kind != PACK_ZIP);
        STATUS_TRY(pack_deflate(s->deflater, f->kind, s->raw.data, s->raw.len,
                                ends && piece + 1 == m->n_pieces, &s->pieces[i]));
        if (++piece == m->n_pieces) {
            piece = 0;
            if (++member == f->n_members) {
                member = 0;
                file++;
            }
        }
    }
    return STATUS_OK;
}

static void encode_finished(struct engine_task *task)
{
    struct encode_buffer *s = task->owner;
    struct job *job = s->job;
    s->ready = true;
    for (size_t i = 0; i < s->n_pieces; i++) {
        job->lane_bytes[LANE_ENCODE] += s->pieces[i].raw_bytes;
    }
    job_task_ended(job, task);
    job_advance(job);
}

/* Moves the cursor past the piece; notes when it was the last. */
static void advance(struct job *job)
{
    const struct result_file *f = &job->result.files[job->next_file];
    if (++job->next_piece == f->members[job->next_member].n_pieces) {
        job->next_piece = 0;
        if (++job->next_member == f->n_members) {
            job->next_member = 0;
            job->all_encoding = ++job->next_file == job->result.n_files;
        }
    }
}

/* Portions travel alone, since they are large. */
static bool lone_piece(const struct job *job)
{
    if (job->all_encoding) {
        return false;
    }
    const struct result_file *f = &job->result.files[job->next_file];
    return !f->more && f->members[job->next_member].n_pieces == 1;
}

static void start_encoding(struct job *job, struct encode_buffer *s)
{
    s->job = job;
    s->file = job->next_file;
    s->member = job->next_member;
    s->piece = job->next_piece;
    s->n_pieces = 1;
    bool lone = lone_piece(job);
    advance(job);
    while (lone && s->n_pieces < ENCODE_BUFFER_PIECES && lone_piece(job)) {
        s->n_pieces++;
        advance(job);
    }
    *job->last_encoded = s;
    job->last_encoded = &s->next;
    job_run(job, &s->task, LANE_ENCODE, encode_work, encode_finished);
}

/* --- write ------------------------------------------------------------------------------------ */

static enum status append_piece(struct pack *pack, const struct result_file *f,
                                const struct result_member *m, uint64_t index,
                                const struct pack_piece *piece)
{
    if (m->growth == RESULT_PORTION) {
        return pack_grow(pack, m->name, piece);
    }
    if (m->growth == RESULT_HEAD) {
        return pack_gather(pack, m->name, piece, m->portions_bytes);
    }
    STATUS_TRY(index == 0 && f->kind == PACK_ZIP ? pack_member(pack, m->name) : STATUS_OK);
    return pack_append(pack, piece);
}

static enum status write_piece(const struct job *job, size_t file, size_t member, uint64_t index,
                               const struct pack_piece *piece)
{
    const struct result_file *f = &job->result.files[file];
    const struct result_member *m = &f->members[member];
    struct job_output_file *output = &job->outputs[job->output_of[file]];
    if (output->pack == NULL) {
        STATUS_TRY(pack_open(job->publish.part_fd, f->name, f->kind, &output->pack));
    }
    STATUS_TRY(append_piece(output->pack, f, m, index, piece));
    if (f->more || member + 1 < f->n_members || index + 1 < m->n_pieces) {
        return STATUS_OK;
    }
    struct pack *pack = output->pack;
    output->pack = NULL;
    return pack_close(pack, &output->bytes, &output->crc);
}

static enum status write_work(void *owner)
{
    struct job *job = owner;
    if (job->publish.part_fd < 0) {
        STATUS_TRY(publish_begin(job->context.out_fd, job->input.settings.stem,
                                 job->input.part_folder, &job->publish));
    }
    for (struct encode_buffer *s = job->written; s != NULL; s = s->next) {
        size_t file = s->file, member = s->member;
        for (size_t i = 0; i < s->n_pieces; i++) {
            STATUS_TRY(write_piece(job, file, member, s->piece, &s->pieces[i]));
            if (i + 1 < s->n_pieces && ++member == job->result.files[file].n_members) {
                member = 0;
                file++;
            }
        }
    }
    return STATUS_OK;
}

static void give_encode_buffers(struct job *job, struct encode_buffer *s)
{
    while (s != NULL) {
        struct encode_buffer *next = s->next;
        engine_task_clear(&s->task);
        engine_give_encode_buffer(job->engine, s);
        s = next;
    }
}

static void write_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->writing = false;
    give_encode_buffers(job, job->written);
    job->written = NULL;
    job_task_ended(job, task);
    job_advance_all(job->engine);
}

static void start_writing(struct job *job)
{
    struct encode_buffer **end = &job->first_encoded;
    while (*end != NULL && (*end)->ready) {
        end = &(*end)->next;
    }
    if (end == &job->first_encoded) {
        return;
    }
    job->written = job->first_encoded;
    job->first_encoded = *end;
    if (job->first_encoded == NULL) {
        job->last_encoded = &job->first_encoded;
    }
    *end = NULL;
    job->writing = true;
    job_run(job, &job->write_task, LANE_WRITE, write_work, write_finished);
}

/* --- publish ---------------------------------------------------------------------------------- */

static enum status write_manifest(const struct job *job)
{
    char *text = json_write(job->manifest, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for result.json");
    }
    const size_t n = strlen(text);
    uint32_t crc = crc32_gzip_refl(0, (unsigned char *)text, n);
    const struct pack_piece piece = {.packed = {.data = (unsigned char *)text, .len = n},
                                     .raw_bytes = n,
                                     .crc = crc,
                                     .packed_crc = crc,
                                     .last = true};
    struct pack *pack = NULL;
    uint64_t bytes;
    enum status code = pack_open(job->publish.part_fd, "result.json", PACK_RAW, &pack);
    if (code == STATUS_OK) {
        code = pack_append(pack, &piece);
        if (code == STATUS_OK) {
            code = pack_close(pack, &bytes, &crc);
        } else {
            pack_abandon(pack);
        }
    }
    free(text);
    return code;
}

static enum status check_outputs(const struct job *job)
{
    for (size_t i = 0; i < job->n_outputs; i++) {
        if (job->outputs[i].pack != NULL) {
            return status_fail(STATUS_INTERNAL, "%s was to be continued", job->outputs[i].name);
        }
    }
    return STATUS_OK;
}

static enum status publish_work(void *owner)
{
    struct job *job = owner;
    STATUS_TRY(check_outputs(job));
    STATUS_TRY(manifest_make(job, &job->manifest));
    if (job->context.check_only) {
        return STATUS_OK;
    }
    STATUS_TRY(write_manifest(job));
    if (job->input.part_folder == NULL) {
        return publish_commit(&job->publish, job->context.settings->force);
    }
    publish_leave(&job->publish);
    return STATUS_OK;
}

static void publish_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job_task_ended(job, task);
    job_advance(job);
}

static void start_publishing(struct job *job)
{
    job->phase = JOB_PUBLISHING;
    job->wall_ns = thread_pool_now_ns() - job->started_ns;
    for (size_t i = 0; i < job->n_outputs; i++) {
        job->lane_bytes[LANE_WRITE] += job->outputs[i].bytes;
    }
    if (job->stage != NULL) {
        job->queue->backend->ops->busy(job->queue, &job->busy, true);
    }
    job_run(job, &job->write_task, LANE_WRITE, publish_work, publish_finished);
}

/* --- one result after the other --------------------------------------------------------------- */

static enum status finish_work(void *owner)
{
    struct job *job = owner;
    job->more = false;
    STATUS_TRY(result_init(&job->next));
    return job->input.settings.stage->finish(job->stage, &job->next, &job->more);
}

static void finish_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    job->has_next = true;
    job->restart_pending = task->code == STATUS_START_OVER && !job->started_over;
    job_task_ended(job, task);
    job_advance_all(job->engine);
}

/* The output that the file goes on with; a new one unless it is open from an earlier result. */
static size_t find_output(struct job *job, const struct result_file *f)
{
    size_t i = 0;
    while (i < job->n_outputs &&
           (job->outputs[i].pack == NULL || strcmp(job->outputs[i].name, f->name) != 0)) {
        i++;
    }
    if (i == job->n_outputs) {
        job->outputs[i] = (struct job_output_file){0};
        memcpy(job->outputs[i].name, f->name, sizeof(f->name));
        job->n_outputs++;
    }
    return i;
}

/* Makes the result that was computed the one that is written. */
static enum status adopt_next(struct job *job)
{
    const size_t n = job->next.n_files;
    struct job_output_file *outputs =
        reallocarray(job->outputs, job->n_outputs + n + 1, sizeof(*outputs));
    job->outputs = outputs != NULL ? outputs : job->outputs;
    size_t *output_of = reallocarray(job->output_of, n + 1, sizeof(*output_of));
    job->output_of = output_of != NULL ? output_of : job->output_of;
    if (outputs == NULL || output_of == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of outputs");
    }
    result_free(&job->result);
    job->result = job->next;
    job->next = (struct result){0};
    job->has_next = false;
    job->has_result = true;
    for (size_t i = 0; i < n; i++) {
        const struct result_file *f = &job->result.files[i];
        if (f->n_members == 0) {
            return status_fail(STATUS_INTERNAL, "%s holds nothing", f->name);
        }
        output_of[i] = find_output(job, f);
    }
    job->next_file = job->next_member = 0;
    job->next_piece = 0;
    job->all_encoding = n == 0;
    return STATUS_OK;
}

/* True when the present result is written. */
static bool write_result(struct job *job)
{
    while (!job->all_encoding) {
        struct encode_buffer *s = engine_take_encode_buffer(job->engine);
        if (s == NULL) {
            break;
        }
        start_encoding(job, s);
    }
    if (!job->writing) {
        start_writing(job);
    }
    return job->all_encoding && job->first_encoded == NULL && !job->writing;
}

void job_output_begin(struct job *job)
{
    job->phase = JOB_FINISHING;
    job->more = !job->context.check_only;
    job_advance(job);
}

bool job_output_write(struct job *job)
{
    while (job->has_result || job->has_next) {
        if (job->has_result && !write_result(job)) {
            return true;
        }
        job->has_result = false;
        if (job->has_next && !job_check(job, adopt_next(job))) {
            return false;
        }
    }
    return true;
}

void job_output_advance(struct job *job)
{
    if (!job_output_write(job)) {
        job_advance(job);
    } else if (!job->on_device && job->more && !job->has_next) {
        job->on_device = true;
        job_run(job, &job->device_task, LANE_DEVICE, finish_work, finish_finished);
    } else if (!job->on_device && !job->more && !job->has_result && !job->has_next) {
        start_publishing(job);
    }
}

void job_output_drop(struct job *job)
{
    for (size_t i = 0; i < job->n_outputs; i++) {
        pack_abandon(job->outputs[i].pack);
    }
    if (job->restarts && job->input.part_folder != NULL) {
        publish_empty(&job->publish);
    } else {
        publish_abandon(&job->publish);
    }
    result_free(&job->result);
    result_free(&job->next);
    free(job->outputs);
    free(job->output_of);
    job->outputs = NULL;
    job->output_of = NULL;
    job->n_outputs = 0;
}

void job_output_give_encode_buffers(struct job *job)
{
    give_encode_buffers(job, job->first_encoded);
    give_encode_buffers(job, job->written);
    job->first_encoded = job->written = NULL;
    job->last_encoded = &job->first_encoded;
}
