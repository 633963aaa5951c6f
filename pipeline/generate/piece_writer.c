/*
 * piece_writer - see piece_writer.h.
 */
#include "pipeline/generate/piece_writer.h"

#include "formats/base/log.h"
#include "pipeline/generate/new_file.h"
#include "pipeline/names/interrupt.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct writer {
    const struct executor *executor;
    const struct piece_file *file; /* the one that is written now */
    struct pack *pack;
    size_t batch_pieces;
    uint64_t batch;                                  /* that is being made */
    size_t n_before;                                 /* pieces of the one before */
    bool prepares;                                   /* the next one */
    struct pack_piece pieces[2][PIECE_WRITER_BATCH]; /* of even and of odd batches */
    struct deflater *deflaters[PIECE_WRITER_BATCH];  /* when gzipped, like `raw` */
    struct bytes raw[PIECE_WRITER_BATCH];
    double work, work_before; /* of all files; of those before this one */
    uint64_t bytes;
    pthread_mutex_t lock;
    enum status failure; /* of the first task that failed, and why */
    char message[STATUS_MESSAGE_BYTES];
};

static enum status append(struct writer *w, const struct pack_piece *piece)
{
    w->bytes += piece->packed.len;
    return pack_append(w->pack, piece);
}

static enum status write_before(struct writer *w)
{
    for (size_t i = 0; i < w->n_before; i++) {
        STATUS_TRY(append(w, &w->pieces[(w->batch + 1) % 2][i]));
    }
    return STATUS_OK;
}

/* Nobody asks for the sums of a PACK_RAW here. */
static enum status make(struct writer *w, size_t index)
{
    const struct result_member *const m = w->file->member;
    const uint64_t at = w->batch * w->batch_pieces + index;
    struct pack_piece *const out = &w->pieces[w->batch % 2][index];
    struct bytes *const raw = w->file->kind == PACK_RAW ? &out->packed : &w->raw[index];
    bytes_clear(raw);
    STATUS_TRY(m->piece(m->context, at, raw));
    out->raw_bytes = raw->len;
    return w->file->kind == PACK_RAW ? STATUS_OK
                                     : pack_deflate(w->deflaters[index], w->file->kind, raw->data,
                                                    raw->len, at + 1 == m->n_pieces, out);
}

/* Task 0 writes, task 1 prepares, the others make a piece each. */
static void do_task(void *arg, size_t index)
{
    struct writer *const w = arg;
    enum status status = STATUS_OK;
    if (index == 0) {
        status = write_before(w);
    } else if (index > 1) {
        status = make(w, index - 2);
    } else if (w->prepares) {
        status = w->file->prepare(w->file->member->context, w->batch + 1);
    }
    pthread_mutex_lock(&w->lock);
    if (status != STATUS_OK && w->failure == STATUS_OK) {
        w->failure = status;
        snprintf(w->message, sizeof(w->message), "%s", status_message());
    }
    pthread_mutex_unlock(&w->lock);
}

static void show_progress(const struct writer *w)
{
    char done[TEXT_NUMBER_BYTES], line[128];
    const double part = (double)(w->batch * w->batch_pieces) / (double)w->file->member->n_pieces;
    snprintf(line, sizeof(line), "generating: %3.0f %%, %s",
             100 * (w->work_before + w->file->work * fmin(part, 1)) / w->work,
             text_size(done, w->bytes));
    log_progress(line);
}

static size_t n_pieces(const struct writer *w, uint64_t batch)
{
    const uint64_t first = batch * w->batch_pieces, n = w->file->member->n_pieces;
    return first >= n ? 0 : n - first < w->batch_pieces ? (size_t)(n - first) : w->batch_pieces;
}

static enum status run_batches(struct writer *w)
{
    size_t n = n_pieces(w, 0);
    if (w->file->prepare != NULL) {
        STATUS_TRY(w->file->prepare(w->file->member->context, 0));
    }
    w->n_before = 0;
    for (w->batch = 0; n > 0 || w->n_before > 0; w->batch++) {
        const size_t n_next = n > 0 ? n_pieces(w, w->batch + 1) : 0;
        w->prepares = n_next > 0 && w->file->prepare != NULL;
        w->executor->run(w->executor->context, 2 + n, do_task, w);
        if (w->failure != STATUS_OK) {
            return status_set(w->failure, w->message);
        }
        STATUS_TRY(interrupt_check(w->file->path));
        if (log_has_progress()) {
            show_progress(w);
        }
        w->n_before = n;
        n = n_next;
    }
    return STATUS_OK;
}

static enum status write_file(struct writer *w, const struct piece_file *file, struct pack *pack)
{
    const struct result_member *const m = file->member;
    const size_t wanted = file->batch > 0 ? file->batch : 2 * w->executor->n_threads;
    w->file = file;
    w->pack = pack;
    w->batch_pieces = wanted < PIECE_WRITER_BATCH ? wanted : PIECE_WRITER_BATCH;
    for (size_t i = 0; file->kind != PACK_RAW && i < w->batch_pieces; i++) {
        STATUS_TRY(w->deflaters[i] == NULL ? deflater_new(PACK_LEVEL, &w->deflaters[i])
                                           : STATUS_OK);
    }
    if (file->head != NULL) {
        const struct pack_piece head = {.packed = *file->head, .raw_bytes = file->head->len};
        STATUS_TRY(append(w, &head));
    }
    STATUS_TRY(run_batches(w));
    w->work_before += file->work;
    return m->header != NULL ? pack_header(pack, m->header(m->context)) : STATUS_OK;
}

/* Files are opened into `out`; those of a failure are abandoned later. */
static enum status write_all(struct writer *w, const struct piece_file *files, size_t n,
                             struct new_file *out)
{
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(new_file_open(files[i].path, files[i].kind, files[i].member->header != NULL,
                                 files[i].force, &out[i]));
        w->work += files[i].work;
    }
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(write_file(w, &files[i], out[i].pack));
    }
    uint64_t bytes, all = 0;
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(new_file_commit(&out[i], &bytes));
        all += bytes;
    }
    w->bytes = all;
    return STATUS_OK;
}

enum status piece_writer_run(const struct piece_file *files, size_t n,
                             const struct executor *executor, uint64_t *bytes)
{
    struct new_file out[PIECE_WRITER_FILES] = {0};
    struct interrupt interrupt;
    struct writer *const w = xcalloc(1, sizeof(*w));
    *bytes = 0;
    w->executor = executor;
    pthread_mutex_init(&w->lock, NULL);
    interrupt_watch(&interrupt);
    const enum status status = write_all(w, files, n, out);
    interrupt_leave(&interrupt);
    log_progress(NULL);
    *bytes = w->bytes;
    for (size_t i = 0; i < n; i++) {
        new_file_abandon(&out[i]);
    }
    pthread_mutex_destroy(&w->lock);
    for (size_t i = 0; i < PIECE_WRITER_BATCH; i++) {
        bytes_free(&w->pieces[0][i].packed);
        bytes_free(&w->pieces[1][i].packed);
        bytes_free(&w->raw[i]);
        deflater_free(w->deflaters[i]);
    }
    free(w);
    return status;
}
