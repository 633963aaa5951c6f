/*
 * piece_writer - see piece_writer.h.
 */
#include "pipeline/generate/piece_writer.h"

#include "formats/base/log.h"
#include "pipeline/names/interrupt.h"
#include "pipeline/names/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct writer {
    const struct piece_source *source;
    struct new_file *file;
    struct bytes pieces[2][PIECE_WRITER_BATCH]; /* of even and of odd batches */
    uint64_t batch;                             /* that is being made */
    size_t n_before;                            /* pieces of the one before */
    bool prepares;                              /* the next one */
    uint64_t bytes;
    pthread_mutex_t lock;
    enum status failure; /* of the first task that failed, and why */
    char message[STATUS_MESSAGE_BYTES];
};

static enum status write_before(struct writer *w)
{
    for (size_t i = 0; i < w->n_before; i++) {
        const struct bytes *const b = &w->pieces[(w->batch + 1) % 2][i];
        w->bytes += b->len;
        STATUS_TRY(new_file_write(w->file, b->data, b->len));
    }
    return STATUS_OK;
}

static enum status make(struct writer *w, size_t index)
{
    struct bytes *const out = &w->pieces[w->batch % 2][index];
    bytes_clear(out);
    return w->source->make(w->source->context, w->batch, index, out);
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
        status = w->source->prepare(w->source->context, w->batch + 1);
    }
    pthread_mutex_lock(&w->lock);
    if (status != STATUS_OK && w->failure == STATUS_OK) {
        w->failure = status;
        snprintf(w->message, sizeof(w->message), "%s", status_message());
    }
    pthread_mutex_unlock(&w->lock);
}

static void show_progress(const struct writer *w, uint64_t bytes)
{
    char done[TEXT_NUMBER_BYTES], line[128];
    snprintf(line, sizeof(line), "generating: %3.0f %%, %s",
             100 * w->source->share_before(w->source->context, w->batch), text_size(done, bytes));
    log_progress(line);
}

static enum status run_batches(struct writer *w, const struct executor *executor, uint64_t bytes)
{
    const struct piece_source *const s = w->source;
    size_t n = s->n_pieces(s->context, 0);
    if (n > 0 && s->prepare != NULL) {
        STATUS_TRY(s->prepare(s->context, 0));
    }
    for (; n > 0 || w->n_before > 0; w->batch++) {
        const size_t n_next = n > 0 ? s->n_pieces(s->context, w->batch + 1) : 0;
        w->prepares = n_next > 0 && s->prepare != NULL;
        executor->run(executor->context, 2 + n, do_task, w);
        if (w->failure != STATUS_OK) {
            return status_set(w->failure, w->message);
        }
        STATUS_TRY(interrupt_check(s->name));
        if (log_has_progress()) {
            show_progress(w, bytes + w->bytes);
        }
        w->n_before = n;
        n = n_next;
    }
    return STATUS_OK;
}

enum status piece_writer_run(const struct piece_source *source, const struct executor *executor,
                             struct new_file *file, uint64_t *bytes)
{
    struct writer *const w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to generate with");
    }
    w->source = source;
    w->file = file;
    pthread_mutex_init(&w->lock, NULL);
    const enum status status = run_batches(w, executor, *bytes);
    log_progress(NULL);
    *bytes += w->bytes;
    pthread_mutex_destroy(&w->lock);
    for (size_t i = 0; i < PIECE_WRITER_BATCH; i++) {
        bytes_free(&w->pieces[0][i]);
        bytes_free(&w->pieces[1][i]);
    }
    free(w);
    return status;
}
