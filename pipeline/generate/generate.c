/*
 * generate - see generate.h.
 *
 * The file is a matrix, line by line; a slab is its next SLAB_CELLS cells at most: whole lines, or
 * a part of one line that is longer. In every step, spread over the threads, slab k + 1 is filled,
 * slab k is turned into bytes piece by piece, and the bytes of slab k - 1 are written. So writing
 * and generating hide behind the formatting of decimals, which is what takes time.
 */
#include "pipeline/generate/generate.h"

#include "formats/base/bytes.h"
#include "formats/base/log.h"
#include "formats/result/result.h"
#include "pipeline/generate/generate_source.h"
#include "pipeline/generate/new_file.h"
#include "pipeline/names/failure.h"
#include "pipeline/names/interrupt.h"
#include "pipeline/names/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_CELLS = 1 << 14, PIECES = GENERATE_SLAB_CELLS / PIECE_CELLS };

struct text {
    struct bytes pieces[PIECES];
    size_t n_pieces;
};

struct work {
    const struct generate_order *order;
    const struct executor *executor;
    struct generate_source source;
    struct new_file *file;
    uint64_t bytes; /* written */
    struct generate_slab slabs[2];
    struct text texts[2];
    uint64_t step; /* slab `step` is being formatted */
    struct failure failure;
};

/* --- bytes ----------------------------------------------------------------------------------- */

static enum status put_cell(struct bytes *out, const struct work *w, const struct generate_slab *s,
                            size_t cell)
{
    const struct generate_order *o = w->order;
    enum status status;
    if (o->type == DTYPE_F32) {
        float value =
            generate_source_is_gap(&w->source, s, cell) ? NAN : ((const float *)s->values)[cell];
        status = o->csv ? result_put_f32(out, value) : bytes_append(out, &value, sizeof(value));
    } else {
        double value =
            generate_source_is_gap(&w->source, s, cell) ? NAN : ((const double *)s->values)[cell];
        status = o->csv ? result_put_f64(out, value) : bytes_append(out, &value, sizeof(value));
    }
    return status;
}

/* One piece of a slab, as text or as it lies in an array file. */
static enum status format_piece(struct work *w, size_t index)
{
    const struct generate_slab *s = &w->slabs[w->step % 2];
    struct bytes *out = &w->texts[w->step % 2].pieces[index];
    size_t n_cells = s->n_lines * s->cells_per_line;
    size_t first = index * PIECE_CELLS;
    size_t end = n_cells - first < PIECE_CELLS ? n_cells : first + PIECE_CELLS;
    bytes_clear(out);
    if (!w->order->csv && !(w->order->gaps > 0)) {
        size_t width = dtype_bytes(w->order->type);
        return bytes_append(out, (const char *)s->values + first * width, (end - first) * width);
    }
    enum status status = STATUS_OK;
    for (size_t cell = first; cell < end && status == STATUS_OK; cell++) {
        status = put_cell(out, w, s, cell);
        if (w->order->csv && status == STATUS_OK) {
            uint64_t in_line = s->first_cell + cell % s->cells_per_line;
            status = bytes_append(out, in_line + 1 == w->source.cells_per_line ? "\n" : ",", 1);
        }
    }
    return status;
}

static enum status write_bytes(struct work *w, const struct bytes *b)
{
    w->bytes += b->len;
    return new_file_write(w->file, b->data, b->len);
}

static enum status write_text(struct work *w, const struct text *t)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < t->n_pieces && status == STATUS_OK; i++) {
        status = write_bytes(w, &t->pieces[i]);
    }
    return status;
}

/* NumPy's format 1.0: magic, length, a dictionary padded with blanks to a multiple of 64 bytes. */
static enum status put_npy_head(const struct work *w, struct bytes *out)
{
    char dict[192];
    int n = snprintf(dict, sizeof(dict),
                     "{'descr': '<f%zu', 'fortran_order': False, 'shape': (%llu, %llu), }",
                     dtype_bytes(w->order->type), (unsigned long long)w->source.n_lines,
                     (unsigned long long)w->source.cells_per_line);
    int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
    const unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    enum status status = bytes_append(out, head, sizeof(head));
    return status == STATUS_OK ? bytes_printf(out, "%-*s\n", padded - 1, dict) : status;
}

static enum status put_csv_head(const struct work *w, struct bytes *out)
{
    enum status status = STATUS_OK;
    for (uint64_t s = 0; w->order->columns && s < w->order->n_series && status == STATUS_OK; s++) {
        status = bytes_printf(out, "s%llu%c", (unsigned long long)s,
                              s + 1 == w->order->n_series ? '\n' : ',');
    }
    return status;
}

static enum status write_head(struct work *w)
{
    struct bytes head = {0};
    enum status status = w->order->csv ? put_csv_head(w, &head) : put_npy_head(w, &head);
    if (status == STATUS_OK) {
        status = write_bytes(w, &head);
    }
    bytes_free(&head);
    return status;
}

/* --- steps ----------------------------------------------------------------------------------- */

struct step {
    struct work *work;
    bool writes, fills;
};

/* Task 0 writes, task 1 fills, the others format. */
static void do_task(void *arg, size_t index)
{
    const struct step *step = arg;
    struct work *w = step->work;
    if (index >= 2) {
        failure_note(&w->failure, format_piece(w, index - 2));
    } else if (index == 1 && step->fills) {
        failure_note(&w->failure, generate_source_fill(&w->source, &w->slabs[(w->step + 1) % 2]));
    } else if (index == 0 && step->writes) {
        failure_note(&w->failure, write_text(w, &w->texts[(w->step + 1) % 2]));
    }
}

static void show_progress(const struct work *w)
{
    char done[TEXT_NUMBER_BYTES], line[128];
    const struct generate_slab *s = &w->slabs[w->step % 2];
    double lines = (double)s->first_line + (double)s->first_cell / (double)w->source.cells_per_line;
    snprintf(line, sizeof(line), "generating: %3.0f %%, %s",
             100 * lines / (double)w->source.n_lines, text_size(done, w->bytes));
    log_progress(line);
}

static enum status run_steps(struct work *w)
{
    struct generate_slab *slabs = w->slabs;
    bool formats = generate_source_next(&w->source, NULL, &slabs[0]), writes = false;
    enum status status = generate_source_fill(&w->source, &slabs[0]);
    if (status == STATUS_OK) {
        status = write_head(w);
    }
    for (w->step = 0; status == STATUS_OK && (formats || writes); w->step++) {
        struct generate_slab *now = &slabs[w->step % 2], *next = &slabs[(w->step + 1) % 2];
        bool fills = formats && generate_source_next(&w->source, now, next);
        size_t n_cells = formats ? now->n_lines * now->cells_per_line : 0;
        size_t n_pieces = (n_cells + PIECE_CELLS - 1) / PIECE_CELLS;
        struct step step = {w, writes, fills};
        w->texts[w->step % 2].n_pieces = n_pieces;
        w->executor->run(w->executor->context, 2 + n_pieces, do_task, &step);
        status = failure_first(&w->failure);
        if (status == STATUS_OK) {
            status = interrupt_check(w->order->path);
        }
        if (log_has_progress()) {
            show_progress(w);
        }
        writes = formats;
        formats = fills;
    }
    log_progress(NULL);
    return status;
}

/* --- a whole file ---------------------------------------------------------------------------- */

/* Host memory for two slabs, and the source. */
static enum status acquire(struct work *w, const struct generate_order *order,
                           struct backend *backend, const struct executor *executor)
{
    enum status status = generate_source_open(order, backend, executor, &w->source);
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        status = backend->ops->host_alloc(backend, w->source.slab_bytes, &w->slabs[i].values);
    }
    return status;
}

static void release(struct work *w, struct backend *backend)
{
    for (size_t i = 0; i < 2; i++) {
        if (w->slabs[i].values != NULL) {
            backend->ops->host_free(backend, w->slabs[i].values);
        }
        for (size_t k = 0; k < PIECES; k++) {
            bytes_free(&w->texts[i].pieces[k]);
        }
    }
    generate_source_close(&w->source);
}

static enum status write_file(struct work *w)
{
    struct interrupt interrupt;
    interrupt_watch(&interrupt);
    enum status status = new_file_open(w->order->path, w->order->force, &w->file);
    if (status == STATUS_OK) {
        status = run_steps(w);
        if (status == STATUS_OK) {
            status = new_file_commit(w->file);
        } else {
            new_file_abandon(w->file);
        }
    }
    interrupt_leave(&interrupt);
    return status;
}

enum status generate_file(const struct generate_order *order, struct backend *backend,
                          const struct executor *executor, uint64_t *bytes)
{
    struct work *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to generate with");
    }
    w->order = order;
    w->executor = executor;
    failure_init(&w->failure);
    enum status status = acquire(w, order, backend, executor);
    if (status == STATUS_OK) {
        status = write_file(w);
    }
    *bytes = w->bytes;
    release(w, backend);
    failure_end(&w->failure);
    free(w);
    return status;
}
