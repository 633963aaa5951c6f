/*
 * writing - see the header. Pieces are deflated several at a time; one write task appends those
 * that are next in order. Members of one piece travel together, so that a small result costs few
 * tasks. Results follow each other without a pause: while pieces of one are written those of the
 * next are deflated. A file that goes on in a later result stays open.
 */
#include "pipeline/engine/writing.h"

#include "watch/files/xalloc.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

void writing_begin(struct writing *w)
{
    w->publish.part_fd = -1;
    w->task.owner = w;
    w->last_encoded = &w->first_encoded;
    w->last_result = &w->results;
}

enum status writing_look(struct writing *w)
{
    if (w->input->part_folder != NULL) {
        return STATUS_OK;
    }
    if (w->settings->resume) {
        return resume_look(w->input, w->settings, w->out_fd, &w->earlier);
    }
    w->earlier = (struct resume){.replaces = w->settings->force};
    return publish_vacant(w->out_fd, job_settings_result(&w->input->settings), w->earlier.replaces);
}

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
    struct writing *const w = s->writing;
    s->ready = true;
    for (size_t i = 0; i < s->n_pieces; i++) {
        w->tasks->lane_bytes[LANE_ENCODE] += s->pieces[i].raw_bytes;
    }
    (void)job_tasks_ended(w->tasks, task);
    job_tasks_changed(w->tasks);
}

/* Moves the cursor past the piece; after the last one of a result to the next that has any. */
static void advance(struct writing *w)
{
    struct writing_result *const r = w->encoding;
    const struct result_file *f = &r->result.files[w->next_file];
    if (++w->next_piece == f->members[w->next_member].n_pieces) {
        w->next_piece = 0;
        if (++w->next_member == f->n_members) {
            w->next_member = 0;
            r->all_encoding = ++w->next_file == r->result.n_files;
        }
    }
    if (r->all_encoding) {
        w->next_file = 0;
        do {
            w->encoding = w->encoding->next;
        } while (w->encoding != NULL && w->encoding->all_encoding);
    }
}

/* Whether the next piece is the only one of its member in the result. Portions travel alone, since
 * they are large. */
static bool lone_piece(const struct writing *w, const struct writing_result *of)
{
    if (w->encoding != of) {
        return false;
    }
    const struct result_file *f = &of->result.files[w->next_file];
    return !f->more && f->members[w->next_member].n_pieces == 1;
}

static void start_encoding(struct writing *w, struct encode_buffer *s)
{
    s->writing = w;
    s->of = w->encoding;
    s->of->n_unwritten++;
    s->file = w->next_file;
    s->member = w->next_member;
    s->piece = w->next_piece;
    s->n_pieces = 1;
    bool lone = lone_piece(w, s->of);
    advance(w);
    while (lone && s->n_pieces < ENCODE_BUFFER_PIECES && lone_piece(w, s->of)) {
        s->n_pieces++;
        advance(w);
    }
    *w->last_encoded = s;
    w->last_encoded = &s->next;
    job_tasks_run(w->tasks, &s->task, LANE_ENCODE, encode_work, encode_finished);
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

static enum status write_piece(const struct writing *w, const struct writing_result *r, size_t file,
                               size_t member, uint64_t index, const struct pack_piece *piece)
{
    const struct result_file *f = &r->result.files[file];
    const struct result_member *m = &f->members[member];
    struct writing_file *output = r->files[file];
    if (output->pack == NULL) {
        STATUS_TRY(pack_open(w->publish.part_fd, f->name, f->kind, &output->pack));
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
    struct writing *w = owner;
    if (w->publish.part_fd < 0) {
        STATUS_TRY(publish_begin(w->out_fd, job_settings_result(&w->input->settings),
                                 w->input->part_folder, &w->publish));
    }
    for (struct encode_buffer *s = w->written; s != NULL; s = s->next) {
        size_t file = s->file, member = s->member;
        for (size_t i = 0; i < s->n_pieces; i++) {
            STATUS_TRY(write_piece(w, s->of, file, member, s->piece, &s->pieces[i]));
            if (i + 1 < s->n_pieces && ++member == s->of->result.files[file].n_members) {
                member = 0;
                file++;
            }
        }
    }
    return STATUS_OK;
}

static void give_encode_buffers(struct writing *w, struct encode_buffer *s)
{
    while (s != NULL) {
        struct encode_buffer *next = s->next;
        engine_task_clear(&s->task);
        engine_give_encode_buffer(w->tasks->engine, s);
        s = next;
    }
}

static void free_result(struct writing_result *r)
{
    result_free(&r->result);
    free(r->files);
    free(r);
}

/* Forgets the results that have been written, but for the last one, which tells of the job. */
static void drop_written(struct writing *w)
{
    struct writing_result *r;
    while ((r = w->results) != NULL && r->all_encoding && r->n_unwritten == 0) {
        w->results = r->next;
        w->n_results--;
        if (r->next == NULL) {
            w->last_result = &w->results;
            w->result = r->result;
            r->result = (struct result){0};
        }
        free_result(r);
    }
}

static void write_finished(struct engine_task *task)
{
    struct writing *const w = task->owner;
    w->is_busy = false;
    for (const struct encode_buffer *s = w->written; s != NULL; s = s->next) {
        s->of->n_unwritten--;
    }
    drop_written(w);
    give_encode_buffers(w, w->written);
    w->written = NULL;
    (void)job_tasks_ended(w->tasks, task);
    engine_advance_jobs(w->tasks->engine);
}

static void start_writing(struct writing *w)
{
    struct encode_buffer **end = &w->first_encoded;
    while (*end != NULL && (*end)->ready) {
        end = &(*end)->next;
    }
    if (end == &w->first_encoded) {
        return;
    }
    w->written = w->first_encoded;
    w->first_encoded = *end;
    if (w->first_encoded == NULL) {
        w->last_encoded = &w->first_encoded;
    }
    *end = NULL;
    w->is_busy = true;
    job_tasks_run(w->tasks, &w->task, LANE_WRITE, write_work, write_finished);
}

/* --- publish ---------------------------------------------------------------------------------- */

/* A small file of the engine's own. */
static enum status write_text(const struct writing *w, const char *name, void *text, size_t n,
                              uint64_t *bytes, uint32_t *crc)
{
    *crc = crc32_gzip_refl(0, text, n);
    const struct pack_piece piece = {.packed = {.data = text, .len = n},
                                     .raw_bytes = n,
                                     .crc = *crc,
                                     .packed_crc = *crc,
                                     .last = true};
    struct pack *pack = NULL;
    STATUS_TRY(pack_open(w->publish.part_fd, name, PACK_RAW, &pack));
    const enum status code = pack_append(pack, &piece);
    if (code != STATUS_OK) {
        pack_abandon(pack);
        return code;
    }
    return pack_close(pack, bytes, crc);
}

static enum status write_manifest(const struct writing *w, const json_t *manifest)
{
    char *const text = manifest_text(manifest);
    uint64_t bytes;
    uint32_t crc;
    const enum status code = write_text(w, "result.json", text, strlen(text), &bytes, &crc);
    free(text);
    return code;
}

/* The page of what result.json says so far, which then lists it, too; without a day in a bundle,
 * whose bytes are the result's alone. */
static enum status write_page(const struct writing *w, json_t *manifest)
{
    static const char name[] = "report.html";
    struct bytes page = {0};
    uint64_t bytes;
    uint32_t crc;
    json_t *const told = w->settings->bundle ? manifest_lasting(manifest) : json_incref(manifest);
    enum status code = writing_page(told, w->publish.part_fd, &page);
    json_decref(told);
    if (code == STATUS_OK) {
        code = write_text(w, name, page.data, page.len, &bytes, &crc);
    }
    bytes_free(&page);
    if (code == STATUS_OK) {
        manifest_add_output(manifest, name, bytes, crc);
    }
    return code;
}

static enum status end_files(const struct writing *w)
{
    for (size_t i = 0; i < w->n_files; i++) {
        if (w->files[i]->pack != NULL) {
            return status_fail(STATUS_INTERNAL, "%s was to be continued", w->files[i]->name);
        }
        w->tasks->lane_bytes[LANE_WRITE] += w->files[i]->bytes;
    }
    return STATUS_OK;
}

enum status writing_complete(struct writing *w, const struct manifest_of *job, json_t **manifest)
{
    STATUS_TRY(end_files(w));
    STATUS_TRY(manifest_make(job, manifest));
    if (job->is_check) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < w->n_files; i++) {
        const struct writing_file *const f = w->files[i];
        manifest_add_output(*manifest, f->name, f->bytes, f->crc);
    }
    STATUS_TRY(write_page(w, *manifest));
    STATUS_TRY(w->settings->bundle ? writing_bundle(w, job, *manifest) : STATUS_OK);
    return write_manifest(w, *manifest);
}

/* With --resume it looks once more: another process may have published the same result meanwhile.
 */
enum status writing_publish(struct writing *w)
{
    enum { MOST_TRIES = 16 }; /* a damaged result steps aside for each that replaces it */
    const bool resumes = w->settings->resume;
    enum status code = STATUS_EXISTS;
    if (w->input->part_folder != NULL) {
        publish_leave(&w->publish);
        return STATUS_OK;
    }
    for (int i = 0; code == STATUS_EXISTS && i < (resumes ? MOST_TRIES : 1); i++) {
        const enum status seen = resumes ? writing_look(w) : STATUS_OK;
        if (seen == STATUS_SKIPPED) {
            return status_fail(seen, "another process has published the result '%s' meanwhile",
                               job_settings_result(&w->input->settings));
        }
        STATUS_TRY(seen);
        code = publish_commit(&w->publish, w->earlier.replaces ? &w->earlier.replaced : NULL);
    }
    return code;
}

/* --- one result after the other --------------------------------------------------------------- */

/* The file that it goes on with, or a new one. */
static struct writing_file *find_file(struct writing *w, const struct result_file *f)
{
    for (size_t i = 0; i < w->n_files; i++) {
        if (w->files[i]->more && strcmp(w->files[i]->name, f->name) == 0) {
            return w->files[i];
        }
    }
    struct writing_file *new = xcalloc(1, sizeof(*new));
    memcpy(new->name, f->name, sizeof(f->name));
    w->files = xrealloc(w->files, w->n_files + 1, sizeof(struct writing_file *));
    w->files[w->n_files++] = new;
    return new;
}

enum status writing_add(struct writing *w, struct result *next)
{
    struct writing_result *r = xcalloc(1, sizeof(*r));
    result_free(&w->result);
    r->result = *next;
    *next = (struct result){0};
    *w->last_result = r;
    w->last_result = &r->next;
    w->n_results++;
    r->all_encoding = r->result.n_files == 0;
    r->files = xcalloc(r->result.n_files, sizeof(struct writing_file *));
    for (size_t i = 0; i < r->result.n_files; i++) {
        const struct result_file *f = &r->result.files[i];
        if (f->n_members == 0) {
            return status_fail(STATUS_INTERNAL, "%s holds nothing", f->name);
        }
        r->files[i] = find_file(w, f);
        r->files[i]->more = f->more;
    }
    if (w->encoding == NULL && !r->all_encoding) {
        w->encoding = r;
    }
    drop_written(w);
    return STATUS_OK;
}

void writing_advance(struct writing *w)
{
    while (w->encoding != NULL) {
        const bool has_some = w->first_encoded != NULL || w->written != NULL;
        struct encode_buffer *s =
            engine_take_encode_buffer(w->tasks->engine, w->tasks->is_long || has_some);
        if (s == NULL) {
            break;
        }
        start_encoding(w, s);
    }
    if (!w->is_busy) {
        start_writing(w);
    }
}

void writing_drop(struct writing *w, bool starts_over)
{
    for (size_t i = 0; i < w->n_files; i++) {
        pack_abandon(w->files[i]->pack);
        free(w->files[i]);
    }
    if (starts_over && w->input->part_folder != NULL) {
        publish_empty(&w->publish);
    } else {
        publish_abandon(&w->publish);
    }
    for (struct writing_result *r = w->results, *next; r != NULL; r = next) {
        next = r->next;
        free_result(r);
    }
    w->results = w->encoding = NULL;
    w->last_result = &w->results;
    w->n_results = 0;
    result_free(&w->result);
    free(w->files);
    w->files = NULL;
    w->n_files = 0;
}

void writing_give_buffers(struct writing *w)
{
    give_encode_buffers(w, w->first_encoded);
    give_encode_buffers(w, w->written);
    w->first_encoded = w->written = NULL;
    w->last_encoded = &w->first_encoded;
}
