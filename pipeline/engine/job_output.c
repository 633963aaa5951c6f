/*
 * job_output - from the stage's results to the published folder. Pieces are made and deflated on
 * the encode lane, several at a time; one write task at a time appends those that are next in
 * order. Members of one piece travel together, so that a small result costs few tasks. Results
 * follow each other without a pause: while pieces of one are written those of the next are deflated
 * and the stage computes the one after it, as many as its plan says, and no further ahead. A file
 * that goes on in a later result stays open.
 */
#include "pipeline/engine/job_state.h"
#include "pipeline/engine/page.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_RESULTS = 2 }; /* on their way at a time, unless the plan says otherwise */

/* --- encode ----------------------------------------------------------------------------------- */

static enum status encode_work(void *owner)
{
    struct encode_buffer *s = owner;
    size_t file = s->file, member = s->member;
    uint64_t piece = s->piece;
    for (size_t i = 0; i < s->n_pieces; i++) {
        const struct result_file *f = &s->of->result.files[file];
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

/* Moves the cursor past the piece; after the last one of a result to the next that has any. */
static void advance(struct job *job)
{
    struct job_result *const r = job->encoding;
    const struct result_file *f = &r->result.files[job->next_file];
    if (++job->next_piece == f->members[job->next_member].n_pieces) {
        job->next_piece = 0;
        if (++job->next_member == f->n_members) {
            job->next_member = 0;
            r->all_encoding = ++job->next_file == r->result.n_files;
        }
    }
    if (r->all_encoding) {
        job->next_file = 0;
        do {
            job->encoding = job->encoding->next;
        } while (job->encoding != NULL && job->encoding->all_encoding);
    }
}

/* Whether the next piece is the only one of its member in the result. Portions travel alone, since
 * they are large. */
static bool lone_piece(const struct job *job, const struct job_result *of)
{
    if (job->encoding != of) {
        return false;
    }
    const struct result_file *f = &of->result.files[job->next_file];
    return !f->more && f->members[job->next_member].n_pieces == 1;
}

static void start_encoding(struct job *job, struct encode_buffer *s)
{
    s->job = job;
    s->of = job->encoding;
    s->of->n_unwritten++;
    s->file = job->next_file;
    s->member = job->next_member;
    s->piece = job->next_piece;
    s->n_pieces = 1;
    bool lone = lone_piece(job, s->of);
    advance(job);
    while (lone && s->n_pieces < ENCODE_BUFFER_PIECES && lone_piece(job, s->of)) {
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

static enum status write_piece(const struct job *job, const struct job_result *r, size_t file,
                               size_t member, uint64_t index, const struct pack_piece *piece)
{
    const struct result_file *f = &r->result.files[file];
    const struct result_member *m = &f->members[member];
    struct job_output_file *output = r->outputs[file];
    if (output->pack == NULL) {
        STATUS_TRY(pack_open(job->publish.part_fd, f->name, f->kind, &output->pack));
    }
    STATUS_TRY(append_piece(output->pack, f, m, index, piece));
    if (f->more || member + 1 < f->n_members || index + 1 < m->n_pieces) {
        return STATUS_OK;
    }
    if (m->header != NULL) {
        STATUS_TRY(pack_header(output->pack, m->header(m->context)));
    }
    struct pack *pack = output->pack;
    output->pack = NULL;
    return pack_close(pack, &output->bytes, &output->crc);
}

static enum status write_work(void *owner)
{
    struct job *job = owner;
    if (job->publish.part_fd < 0) {
        STATUS_TRY(publish_begin(job->context.out_fd, job_settings_result(&job->input.settings),
                                 job->input.part_folder, &job->publish));
    }
    for (struct encode_buffer *s = job->written; s != NULL; s = s->next) {
        size_t file = s->file, member = s->member;
        for (size_t i = 0; i < s->n_pieces; i++) {
            STATUS_TRY(write_piece(job, s->of, file, member, s->piece, &s->pieces[i]));
            if (i + 1 < s->n_pieces && ++member == s->of->result.files[file].n_members) {
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

static void free_job_result(struct job_result *r)
{
    result_free(&r->result);
    free(r->outputs);
    free(r);
}

/* Forgets the results that have been written, but for the last one, which tells of the job. */
static void drop_written(struct job *job)
{
    struct job_result *r;
    while ((r = job->results) != NULL && r->all_encoding && r->n_unwritten == 0) {
        job->results = r->next;
        job->n_results--;
        if (r->next == NULL) {
            job->last_result = &job->results;
            job->result = r->result;
            r->result = (struct result){0};
        }
        free_job_result(r);
    }
}

static void write_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->writing = false;
    for (const struct encode_buffer *s = job->written; s != NULL; s = s->next) {
        s->of->n_unwritten--;
    }
    drop_written(job);
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

/* A small file of the engine's own. */
static enum status write_text(const struct job *job, const char *name, void *text, size_t n,
                              uint64_t *bytes, uint32_t *crc)
{
    *crc = crc32_gzip_refl(0, text, n);
    const struct pack_piece piece = {.packed = {.data = text, .len = n},
                                     .raw_bytes = n,
                                     .crc = *crc,
                                     .packed_crc = *crc,
                                     .last = true};
    struct pack *pack = NULL;
    STATUS_TRY(pack_open(job->publish.part_fd, name, PACK_RAW, &pack));
    const enum status code = pack_append(pack, &piece);
    if (code != STATUS_OK) {
        pack_abandon(pack);
        return code;
    }
    return pack_close(pack, bytes, crc);
}

static enum status write_manifest(const struct job *job)
{
    char *text = manifest_text(job->manifest);
    uint64_t bytes;
    uint32_t crc;
    if (text == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for result.json");
    }
    const enum status code = write_text(job, "result.json", text, strlen(text), &bytes, &crc);
    free(text);
    return code;
}

/* The page of what result.json says so far, which then lists it, too. */
static enum status write_page(const struct job *job)
{
    static const char name[] = "report.html";
    struct bytes page = {0};
    uint64_t bytes;
    uint32_t crc;
    enum status code = page_make(job->manifest, job->publish.part_fd, &page);
    if (code == STATUS_OK) {
        code = write_text(job, name, page.data, page.len, &bytes, &crc);
    }
    bytes_free(&page);
    return code == STATUS_OK ? manifest_add_output(job->manifest, name, bytes, crc) : code;
}

static enum status check_outputs(const struct job *job)
{
    for (size_t i = 0; i < job->n_outputs; i++) {
        if (job->outputs[i]->pack != NULL) {
            return status_fail(STATUS_INTERNAL, "%s was to be continued", job->outputs[i]->name);
        }
    }
    return STATUS_OK;
}

/* Looks once more: another process may have published the same result meanwhile. */
static enum status resume_publishing(struct job *job)
{
    const enum status code = job_resume(job);
    return code == STATUS_SKIPPED
               ? status_fail(code, "another process has published the result '%s' meanwhile",
                             job_settings_result(&job->input.settings))
               : code;
}

static enum status publish(struct job *job)
{
    enum { MOST_TRIES = 16 }; /* a damaged result steps aside for each that replaces it */
    const bool resumes = job->context.settings->resume;
    enum status code = STATUS_EXISTS;
    for (int i = 0; code == STATUS_EXISTS && i < (resumes ? MOST_TRIES : 1); i++) {
        if (resumes) {
            STATUS_TRY(resume_publishing(job));
        }
        code = publish_commit(&job->publish, job->replaces ? &job->replaced : NULL);
    }
    return code;
}

/* All but its name. */
static enum status complete_work(void *owner)
{
    struct job *job = owner;
    STATUS_TRY(check_outputs(job));
    STATUS_TRY(manifest_make(job, &job->manifest));
    if (job->context.check_only) {
        return STATUS_OK;
    }
    STATUS_TRY(write_page(job));
    STATUS_TRY(job->context.settings->bundle ? job_bundle(job) : STATUS_OK);
    return write_manifest(job);
}

static enum status publish_work(void *owner)
{
    struct job *job = owner;
    if (job->context.check_only) {
        return STATUS_OK;
    }
    if (job->input.part_folder == NULL) {
        return publish(job);
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

static void complete_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_task_ended(job, task)) {
        job->phase = JOB_PUBLISHING;
        job_run(job, &job->write_task, LANE_WRITE, publish_work, publish_finished);
    } else {
        job_advance(job);
    }
}

static void start_completing(struct job *job)
{
    job->phase = JOB_COMPLETING;
    job->wall_ns = thread_pool_now_ns() - job->started_ns;
    for (size_t i = 0; i < job->n_outputs; i++) {
        job->lane_bytes[LANE_WRITE] += job->outputs[i]->bytes;
    }
    if (job->method != NULL) {
        job->queue->backend->ops->busy(job->queue, &job->busy, true);
        job_helpers_busy(job);
    }
    job_run(job, &job->write_task, LANE_WRITE, complete_work, complete_finished);
}

/* --- one result after the other --------------------------------------------------------------- */

static enum status finish_work(void *owner)
{
    struct job *job = owner;
    job->more = false;
    STATUS_TRY(job_helpers_bring(job));
    result_free(&job->next); /* of a pause */
    STATUS_TRY(result_init(&job->next));
    return pull_finish(job->method, &job->next, &job->more);
}

static void finish_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    pull_progress(job->method, &job->n_steps_done, &job->n_steps);
    job_helpers_give(job);
    const bool has_paused = job->more && job->next.n_files == 0; /* while others are written */
    if (job_task_ended(job, task) && !has_paused) {
        (void)job_check(job, job_output_add(job));
    }
    job_advance_all(job->engine);
}

/* The output that the file goes on with, or a new one; NULL: there is no memory for it. */
static struct job_output_file *find_output(struct job *job, const struct result_file *f)
{
    for (size_t i = 0; i < job->n_outputs; i++) {
        if (job->outputs[i]->more && strcmp(job->outputs[i]->name, f->name) == 0) {
            return job->outputs[i];
        }
    }
    struct job_output_file *output = calloc(1, sizeof(*output));
    if (output != NULL) {
        memcpy(output->name, f->name, sizeof(f->name));
        job->outputs[job->n_outputs++] = output;
    }
    return output;
}

static enum status find_outputs(struct job *job, struct job_result *r)
{
    const size_t n = r->result.n_files;
    struct job_output_file **all =
        reallocarray(job->outputs, job->n_outputs + n + 1, sizeof(struct job_output_file *));
    job->outputs = all != NULL ? all : job->outputs;
    r->outputs = calloc(n + 1, sizeof(struct job_output_file *));
    bool found = all != NULL && r->outputs != NULL;
    for (size_t i = 0; i < n && found; i++) {
        const struct result_file *f = &r->result.files[i];
        if (f->n_members == 0) {
            return status_fail(STATUS_INTERNAL, "%s holds nothing", f->name);
        }
        r->outputs[i] = find_output(job, f);
        found = r->outputs[i] != NULL;
        if (found) {
            r->outputs[i]->more = f->more;
        }
    }
    return found ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for the list of outputs");
}

enum status job_output_add(struct job *job)
{
    struct job_result *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a result");
    }
    result_free(&job->result);
    r->result = job->next;
    job->next = (struct result){0};
    *job->last_result = r;
    job->last_result = &r->next;
    job->n_results++;
    r->all_encoding = r->result.n_files == 0;
    STATUS_TRY(find_outputs(job, r));
    if (job->encoding == NULL && !r->all_encoding) {
        job->encoding = r;
    }
    drop_written(job);
    return STATUS_OK;
}

bool job_output_has_room(const struct job *job)
{
    const size_t most = job->need.n_results > 0 ? job->need.n_results : JOB_RESULTS;
    return job->n_results < most;
}

void job_output_write(struct job *job)
{
    while (job->encoding != NULL) {
        const bool has_some = job->first_encoded != NULL || job->written != NULL;
        struct encode_buffer *s = engine_take_encode_buffer(job->engine, job->is_long || has_some);
        if (s == NULL) {
            break;
        }
        start_encoding(job, s);
    }
    if (!job->writing) {
        start_writing(job);
    }
}

void job_output_begin(struct job *job)
{
    job->phase = JOB_FINISHING;
    job->more = !job->context.check_only;
    job_advance(job);
}

void job_output_advance(struct job *job)
{
    job_output_write(job);
    if (!job->on_device && job->more && job_output_has_room(job)) {
        job->on_device = true;
        job_helpers_find(job);
        job_run(job, &job->device_task, LANE_DEVICE, finish_work, finish_finished);
    } else if (!job->on_device && !job->more && job->n_results == 0) {
        start_completing(job);
    }
}

void job_output_drop(struct job *job)
{
    for (size_t i = 0; i < job->n_outputs; i++) {
        pack_abandon(job->outputs[i]->pack);
        free(job->outputs[i]);
    }
    if (job->restarts && job->input.part_folder != NULL) {
        publish_empty(&job->publish);
    } else {
        publish_abandon(&job->publish);
    }
    for (struct job_result *r = job->results, *next; r != NULL; r = next) {
        next = r->next;
        free_job_result(r);
    }
    job->results = job->encoding = NULL;
    job->last_result = &job->results;
    job->n_results = 0;
    result_free(&job->result);
    result_free(&job->next);
    free(job->outputs);
    job->outputs = NULL;
    job->n_outputs = 0;
}

void job_output_give_encode_buffers(struct job *job)
{
    give_encode_buffers(job, job->first_encoded);
    give_encode_buffers(job, job->written);
    job->first_encoded = job->written = NULL;
    job->last_encoded = &job->first_encoded;
}
