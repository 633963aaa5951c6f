#include "stages/base/growing.h"

#include <stdlib.h>
#include <string.h>

/* Elements that leave: what was kept, then those of a set of buffers. */
struct leaving {
    struct job_io *io;
    size_t element_bytes;
    struct bytes kept;
    struct span from;
};

static void free_leaving(void *context)
{
    struct leaving *const l = context;
    bytes_free(&l->kept);
    free(l);
}

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct leaving *const l = context;
    const size_t at = (size_t)first * l->element_bytes, bytes = n * l->element_bytes,
                 left = at < l->kept.len ? l->kept.len - at : 0,
                 of_kept = left < bytes ? left : bytes;
    if (of_kept > 0) {
        memcpy(dst, l->kept.data + at, of_kept);
    }
    if (of_kept == bytes) {
        return STATUS_OK;
    }
    return l->io->ops->download(l->io->queue, (char *)dst + of_kept,
                                span_from(l->from, at + of_kept - l->kept.len), bytes - of_kept);
}

enum status growing_settle(struct growing *g, struct job_io *io)
{
    for (size_t k = 0; k < g->n; k++) {
        struct growing_array *const a = &g->arrays[k];
        const size_t n = a->n_from;
        const bool is_first = a->kept.cap == 0;
        if (n > 0) {
            STATUS_TRY(bytes_reserve(&a->kept, is_first && a->about_kept > n ? a->about_kept : n));
            STATUS_TRY(io->ops->download(io->queue, a->kept.data + a->kept.len, a->from, n));
            a->kept.len += n;
            a->n_from = 0;
        }
    }
    return STATUS_OK;
}

/* Of `bytes` new ones hands out as many as make `leave` with what was kept; the rest waits. */
static enum status add_portion(struct growing_array *a, struct job_io *io, struct span from,
                               size_t bytes, size_t leave, struct result_file *f)
{
    struct leaving *const l = malloc(sizeof *l);
    if (l == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a portion of '%s'", a->name);
    }
    *l = (struct leaving){
        .io = io, .element_bytes = a->element_bytes, .kept = a->kept, .from = from};
    const size_t of_set = leave - a->kept.len; /* what was kept makes no piece: it leaves whole */
    a->kept = (struct bytes){0};
    a->n_from = bytes - of_set;
    a->from = span_from(from, of_set);
    return result_add_portion(f, a->name, a->type, leave / a->element_bytes, fetch, l,
                              free_leaving);
}

/* The shape, before the first portion if it is known. */
static enum status begin(struct growing_array *a, struct result_file *f)
{
    const size_t dims[] = {a->width, (size_t)a->n_rows};
    if (a->has_begun || a->n_rows == 0) {
        return STATUS_OK;
    }
    a->has_begun = true;
    return result_begin_portions(f, a->name, a->type, a->is_matrix ? 2 : 1,
                                 a->is_matrix ? dims : dims + 1, a->is_matrix);
}

enum status growing_add(struct growing *g, struct job_io *io, const struct span rows[], uint64_t n,
                        bool *leaves)
{
    struct result_file *f = NULL;
    for (size_t k = 0; k < g->n; k++) {
        struct growing_array *const a = &g->arrays[k];
        const size_t bytes = (size_t)n * a->width * a->element_bytes, all = a->kept.len + bytes,
                     leave = all - all % PACK_PIECE_BYTES;
        if (leave == 0) {
            a->from = rows[k];
            a->n_from = bytes;
            continue;
        }
        if (f == NULL) {
            STATUS_TRY(result_add_file(io->out, g->file, PACK_ZIP, &f));
            f->more = true;
        }
        STATUS_TRY(begin(a, f));
        STATUS_TRY(add_portion(a, io, rows[k], bytes, leave, f));
    }
    *leaves = f != NULL;
    return *leaves ? STATUS_OK : growing_settle(g, io);
}

enum status growing_end(struct growing *g, struct job_io *io, struct result_file *f,
                        uint64_t n_rows)
{
    for (size_t k = g->n; k-- > 0;) { /* one that is written in place is the last, and ends first */
        struct growing_array *const a = &g->arrays[k];
        const size_t dims[] = {a->width, (size_t)n_rows}, left = a->kept.len;
        STATUS_TRY(left > 0 ? add_portion(a, io, (struct span){0}, 0, left, f) : STATUS_OK);
        STATUS_TRY(result_end_portions(f, a->name, a->type, a->is_matrix ? 2 : 1,
                                       a->is_matrix ? dims : dims + 1, a->is_matrix));
    }
    return STATUS_OK;
}

void growing_free(struct growing *g)
{
    for (size_t k = 0; k < g->n; k++) {
        bytes_free(&g->arrays[k].kept);
    }
}
