/*
 * job_output - from the stage's results to the published folder. Pieces are made and deflated on
 * the encode lane, several at a time; one write task at a time appends those that are next in
 * order. Members of one piece travel together, so that a small result costs few tasks. While one
 * result is written, the stage computes the next, but no further ahead.
 */
#include "formats/base/json_write.h"
#include "pipeline/engine/job_state.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

/* --- encode ----------------------------------------------------------------------------------- */

static void encode_work(struct engine_task *task)
{
    struct slot *s = task->owner;
    const struct job *job = s->job;
    size_t file = s->file, member = s->member;
    uint64_t piece = s->piece;
    enum status code = STATUS_OK;
    for (size_t i = 0; i < s->n_pieces && code == STATUS_OK; i++) {
        const struct result_file *f = &job->result.files[file];
        const struct result_member *m = &f->members[member];
        bytes_clear(&s->raw);
        code = m->piece(m->context, piece, &s->raw);
        if (code == STATUS_OK) {
            code = pack_deflate(s->deflater, f->kind, s->raw.data, s->raw.len,
                                piece + 1 == m->n_pieces, &s->pieces[i]);
        }
        if (++piece == m->n_pieces) {
            piece = 0;
            if (++member == f->n_members) {
                member = 0;
                file++;
            }
        }
    }
    engine_task_result(task, code);
}

static void encode_finished(struct engine_task *task)
{
    struct slot *s = task->owner;
    struct job *job = s->job;
    s->ready = true;
    for (size_t i = 0; i < s->n_pieces; i++) {
        job->lane_bytes[LANE_ENCODE] += s->pieces[i].raw_bytes;
    }
    job_task_ended(job, task);
    job_step(job);
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

static bool lone_piece(const struct job *job)
{
    return !job->all_encoding &&
           job->result.files[job->next_file].members[job->next_member].n_pieces == 1;
}

static void start_encoding(struct job *job, struct slot *s)
{
    s->job = job;
    s->file = job->next_file;
    s->member = job->next_member;
    s->piece = job->next_piece;
    s->n_pieces = 1;
    bool lone = lone_piece(job);
    advance(job);
    while (lone && s->n_pieces < SLOT_PIECES && lone_piece(job)) {
        s->n_pieces++;
        advance(job);
    }
    *job->last_slot = s;
    job->last_slot = &s->next;
    job->running++;
    s->task.owner = s;
    s->task.work = encode_work;
    s->task.finished = encode_finished;
    engine_start(job->engine, &s->task, LANE_ENCODE, &job->accounts[LANE_ENCODE]);
}

/* --- write ------------------------------------------------------------------------------------ */

static enum status write_piece(struct job *job, size_t file, size_t member, uint64_t piece,
                               const struct pack_piece *packed)
{
    const struct result_file *f = &job->result.files[file];
    enum status code = STATUS_OK;
    if (member == 0 && piece == 0) {
        code = pack_open(job->publish.part_fd, f->name, f->kind, &job->pack);
    }
    if (code == STATUS_OK && piece == 0 && f->kind == PACK_ZIP) {
        code = pack_member(job->pack, f->members[member].name);
    }
    if (code == STATUS_OK) {
        code = pack_append(job->pack, packed);
    }
    if (code == STATUS_OK && member + 1 == f->n_members &&
        piece + 1 == f->members[member].n_pieces) {
        struct pack *pack = job->pack;
        job->pack = NULL;
        struct job_output_file *output = &job->outputs[job->first_output + file];
        code = pack_close(pack, &output->bytes, &output->crc);
    }
    return code;
}

static enum status write_slots(struct job *job)
{
    enum status code = STATUS_OK;
    if (job->publish.part_fd < 0) {
        code = publish_begin(job->context.out_fd, job->input.settings.stem, job->input.part_folder,
                             &job->publish);
    }
    for (struct slot *s = job->written; s != NULL && code == STATUS_OK; s = s->next) {
        size_t file = s->file, member = s->member;
        for (size_t i = 0; i < s->n_pieces && code == STATUS_OK; i++) {
            code = write_piece(job, file, member, s->piece, &s->pieces[i]);
            if (i + 1 < s->n_pieces && ++member == job->result.files[file].n_members) {
                member = 0;
                file++;
            }
        }
    }
    return code;
}

static void write_work(struct engine_task *task)
{
    engine_task_result(task, write_slots(task->owner));
}

static void give_slots(struct job *job, struct slot *s)
{
    while (s != NULL) {
        struct slot *next = s->next;
        engine_task_clear(&s->task);
        engine_give_slot(job->engine, s);
        s = next;
    }
}

static void write_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->writing = false;
    give_slots(job, job->written);
    job->written = NULL;
    job_task_ended(job, task);
    job_step_all(job->engine);
}

static void start_writing(struct job *job)
{
    struct slot **end = &job->first_slot;
    while (*end != NULL && (*end)->ready) {
        end = &(*end)->next;
    }
    if (end == &job->first_slot) {
        return;
    }
    job->written = job->first_slot;
    job->first_slot = *end;
    if (job->first_slot == NULL) {
        job->last_slot = &job->first_slot;
    }
    *end = NULL;
    job->writing = true;
    job_run(job, &job->write_task, LANE_WRITE, write_work, write_finished);
}

/* --- publish ---------------------------------------------------------------------------------- */

static enum status write_manifest(struct job *job)
{
    enum status code = manifest_make(job, &job->manifest);
    if (code != STATUS_OK || job->context.check_only) {
        return code;
    }
    char *text = json_write(job->manifest, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for result.json");
    }
    struct pack_piece piece = {.packed = {.data = (unsigned char *)text, .len = strlen(text)}};
    piece.raw_bytes = piece.packed.len;
    piece.crc = piece.packed_crc = crc32_gzip_refl(0, piece.packed.data, piece.packed.len);
    piece.last = true;
    struct pack *pack = NULL;
    uint64_t bytes;
    uint32_t crc;
    code = pack_open(job->publish.part_fd, "result.json", PACK_RAW, &pack);
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

static void publish_work(struct engine_task *task)
{
    struct job *job = task->owner;
    enum status code = write_manifest(job);
    if (code == STATUS_OK && job->input.part_folder != NULL) {
        publish_leave(&job->publish);
    } else if (code == STATUS_OK && !job->context.check_only) {
        code = publish_commit(&job->publish, job->context.settings->force);
    }
    engine_task_result(task, code);
}

static void publish_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job_task_ended(job, task);
    job_step(job);
}

static void start_publishing(struct job *job)
{
    job->phase = JOB_PUBLISHING;
    job->wall_ns = crew_now_ns() - job->started_ns;
    for (size_t i = 0; i < job->n_outputs; i++) {
        job->lane_bytes[LANE_WRITE] += job->outputs[i].bytes;
    }
    if (job->stage != NULL) {
        job->queue->backend->ops->busy(job->queue, &job->busy, true);
    }
    job_run(job, &job->write_task, LANE_WRITE, publish_work, publish_finished);
}

/* --- one result after the other --------------------------------------------------------------- */

static void finish_work(struct engine_task *task)
{
    struct job *job = task->owner;
    enum status code = result_init(&job->next);
    job->more = false;
    if (code == STATUS_OK) {
        code = job->input.settings.stage->finish(job->stage, &job->next, &job->more);
    }
    engine_task_result(task, code);
}

static void finish_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    job->has_next = true;
    job->again = task->code == STATUS_START_OVER && !job->started_over;
    if (job_task_ended(job, task)) {
        job_stream_drop(job); /* blocks that were left to upload */
    }
    job_step_all(job->engine);
}

/* Makes the result that was computed the one that is written. */
static enum status adopt_next(struct job *job)
{
    const size_t n = job->n_outputs + job->next.n_files;
    struct job_output_file *outputs = realloc(job->outputs, (n + 1) * sizeof(*outputs));
    if (outputs == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of outputs");
    }
    result_free(&job->result);
    job->result = job->next;
    job->next = (struct result){0};
    job->has_next = false;
    job->has_result = true;
    job->outputs = outputs;
    job->first_output = job->n_outputs;
    job->n_outputs = n;
    for (size_t i = 0; i < job->result.n_files; i++) {
        struct job_output_file *output = &outputs[job->first_output + i];
        *output = (struct job_output_file){0};
        memcpy(output->name, job->result.files[i].name, sizeof(output->name));
    }
    job->next_file = job->next_member = 0;
    job->next_piece = 0;
    job->all_encoding = job->result.n_files == 0;
    return STATUS_OK;
}

/* True when the present result is written. */
static bool write_result(struct job *job)
{
    while (!job->all_encoding) {
        struct slot *s = engine_take_slot(job->engine);
        if (s == NULL) {
            break;
        }
        start_encoding(job, s);
    }
    if (!job->writing) {
        start_writing(job);
    }
    return job->all_encoding && job->first_slot == NULL && !job->writing;
}

void job_output_begin(struct job *job)
{
    job->phase = JOB_FINISHING;
    job->more = !job->context.check_only;
    job_step(job);
}

void job_output_step(struct job *job)
{
    if (job->has_result && write_result(job)) {
        job->has_result = false;
    }
    if (!job->has_result && job->has_next) {
        if (adopt_next(job) != STATUS_OK) {
            job_fail(job, STATUS_NO_MEMORY, status_message());
        }
        job_step(job);
    } else if (!job->on_device && job->more && !job->has_next) {
        job->on_device = true;
        job_run(job, &job->device_task, LANE_DEVICE, finish_work, finish_finished);
        job_step(job);
    } else if (!job->on_device && !job->more && !job->has_result && !job->has_next) {
        start_publishing(job);
    }
}

void job_output_drop(struct job *job)
{
    pack_abandon(job->pack);
    job->pack = NULL;
    publish_abandon(&job->publish);
    result_free(&job->result);
    result_free(&job->next);
    free(job->outputs);
    job->outputs = NULL;
}

void job_output_give_slots(struct job *job)
{
    give_slots(job, job->first_slot);
    give_slots(job, job->written);
    job->first_slot = job->written = NULL;
    job->last_slot = &job->first_slot;
}
