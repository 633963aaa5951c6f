/*
 * panels - see the header.
 *
 * Who takes which panel: counted from the last one, members take turns to and fro (0 1 2 2 1 0 0 1
 * 2 ..). The work of a panel grows with its place, so that all have the same of every two rounds;
 * what is left over are the smallest.
 *
 * Calls only queue work, so nothing here waits but panels_open and panels_collect. A helper has two
 * buffers for coefficients. Those of a panel are sent home when it is given its next one: copies
 * share streams with products (queue_cuda.h), and what waits for the end of one would hold up the
 * series that others need for the next. For the same reason the moments are sent from a copy: their
 * next writer does not have to wait for it.
 */
#include "kernels/pearson/panels.h"

#include "formats/base/sizes.h"

#include <stdlib.h>
#include <string.h>

struct helper {
    struct queue *queue;
    struct span z, moments, r[2];
    struct span sent; /* at home: the moments on their way */
    size_t turn;      /* of r: the next to be filled */
    struct span due;  /* at home: where the coefficients in the other one belong; none */
};

struct panels {
    struct panels_config c;
    const struct backend_ops *ops;
    size_t z_bytes, r_bytes; /* of a series; of the largest panel */
    size_t n;
    struct helper helpers[PANELS_MOST];
};

/* --- memory ----------------------------------------------------------------------------------- */

static size_t z_bytes(const struct panels_config *c)
{
    return c->home->backend->ops->pearson->z_bytes(c->home, c->precision, c->n_samples);
}

static size_t r_bytes(const struct panels_config *c)
{
    return lesser(c->panel, c->n_series) * c->n_series * dtype_bytes(pearson_dtype(c->precision));
}

size_t panels_helper_bytes(const struct panels_config *c)
{
    return c->n_series * z_bytes(c) + moments_bytes(c->n_series) + 2 * r_bytes(c);
}

size_t panels_home_bytes(const struct panels_config *c)
{
    return moments_bytes(c->n_series);
}

static void close_helper(const struct panels *p, struct helper *h)
{
    p->ops->release(h->queue, h->z);
    p->ops->release(h->queue, h->moments);
    p->ops->release(h->queue, h->r[0]);
    p->ops->release(h->queue, h->r[1]);
    p->ops->release(p->c.home, h->sent);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Bytes go to the helper, and come back. */
static enum status prove_copies(const struct panels *p, const struct helper *h)
{
    enum { BYTES = 16 }; /* of z, of moments and of r; there are as many */
    unsigned char sent[BYTES], back[BYTES] = {0};
    uint64_t ticket;
    for (size_t i = 0; i < BYTES; i++) {
        sent[i] = (unsigned char)(7 * i + 1);
    }
    STATUS_TRY(p->ops->upload(p->c.home, h->sent, sent, BYTES, &ticket));
    STATUS_TRY(p->ops->upload_wait(p->c.home, ticket));
    STATUS_TRY(p->ops->zero(h->queue, (struct span){h->z.at, BYTES}));
    STATUS_TRY(p->ops->copy_across(h->queue, h->z, p->c.home, h->sent, BYTES));
    STATUS_TRY(p->ops->zero(p->c.home, h->sent));
    STATUS_TRY(p->ops->copy(h->queue, h->moments, h->z, BYTES));
    STATUS_TRY(p->ops->copy_across(p->c.home, h->sent, h->queue, h->moments, BYTES));
    STATUS_TRY(p->ops->download(p->c.home, back, h->sent, BYTES));
    return memcmp(sent, back, BYTES) == 0
               ? STATUS_OK
               : status_fail(STATUS_DEVICE, "what one device copies to another does not come back "
                                            "as it was");
}

/* Whether gram() gives the same bits there: the same kernels for the same kind of device. */
static enum status expect_alike(const struct panels *p, struct queue *q)
{
    const struct backend_ops *ops = q->backend->ops;
    struct backend_info home, other;
    p->ops->describe(p->c.home->backend, &home);
    ops->describe(q->backend, &other);
    const bool alike = ops->copy_across != NULL && ops->copy_across == p->ops->copy_across &&
                       home.n_threads == other.n_threads &&
                       strcmp(home.detail, other.detail) == 0 &&
                       ops->pearson->z_bytes(q, p->c.precision, p->c.n_samples) == p->z_bytes;
    return alike ? STATUS_OK
                 : status_fail(STATUS_NO_BACKEND, "%s is another kind of device than %s",
                               other.device, home.device);
}

static enum status open_helper(const struct panels *p, struct queue *q, struct helper *h)
{
    const struct panels_config *c = &p->c;
    *h = (struct helper){.queue = q};
    STATUS_TRY(expect_alike(p, q));
    STATUS_TRY(p->ops->alloc(q, c->n_series * p->z_bytes, &h->z));
    STATUS_TRY(p->ops->alloc(q, moments_bytes(c->n_series), &h->moments));
    STATUS_TRY(p->ops->alloc(q, p->r_bytes, &h->r[0]));
    STATUS_TRY(p->ops->alloc(q, p->r_bytes, &h->r[1]));
    STATUS_TRY(p->ops->alloc(c->home, moments_bytes(c->n_series), &h->sent));
    return prove_copies(p, h);
}

enum status panels_open(const struct panels_config *c, struct queue **queues, size_t *n,
                        struct panels **out)
{
    const size_t offered = *n;
    struct panels *p = calloc(1, sizeof *p);
    *n = 0;
    *out = NULL;
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the members of a correlation");
    }
    p->c = *c;
    p->ops = c->home->backend->ops;
    p->z_bytes = z_bytes(c);
    p->r_bytes = r_bytes(c);
    for (size_t k = 0; k < offered && p->n < PANELS_MOST; k++) {
        struct helper *h = &p->helpers[p->n];
        if (open_helper(p, queues[k], h) == STATUS_OK) {
            queues[p->n++] = queues[k];
        } else {
            close_helper(p, h);
        }
    }
    *n = p->n;
    if (p->n == 0) {
        free(p);
        return STATUS_OK;
    }
    *out = p;
    return STATUS_OK;
}

void panels_close(struct panels *p)
{
    for (size_t k = 0; p != NULL && k < p->n; k++) {
        close_helper(p, &p->helpers[k]);
    }
    free(p);
}

/* --- series and panels ------------------------------------------------------------------------ */

enum status panels_give(struct panels *p, struct span z, size_t first, size_t n)
{
    for (size_t k = 0; k < p->n; k++) {
        const struct helper *h = &p->helpers[k];
        STATUS_TRY(p->ops->copy_across(h->queue, span_from(h->z, first * p->z_bytes), p->c.home, z,
                                       n * p->z_bytes));
    }
    return STATUS_OK;
}

/* Sends home what has not been sent. */
static enum status send_due(const struct panels *p, struct helper *h)
{
    const struct span due = h->due;
    h->due = (struct span){0};
    return due.bytes == 0
               ? STATUS_OK
               : p->ops->copy_across(p->c.home, due, h->queue, h->r[1 - h->turn], due.bytes);
}

static enum status send_moments(const struct panels *p, const struct helper *h,
                                struct moments moments)
{
    const size_t bytes = moments_bytes(moments.capacity);
    STATUS_TRY(p->ops->copy(p->c.home, h->sent, moments.at, bytes));
    return p->ops->copy_across(h->queue, h->moments, p->c.home, h->sent, bytes);
}

/* Into the buffer whose turn it is. */
static enum status gram_there(const struct panels *p, const struct helper *h,
                              const struct pearson_panel *of_home)
{
    struct pearson_panel panel = *of_home;
    panel.moments.at = h->moments;
    panel.a.z = span_from(h->z, panel.a.first * p->z_bytes);
    panel.b.z = h->z;
    panel.r = h->r[h->turn];
    return h->queue->backend->ops->pearson->gram(h->queue, &panel);
}

static enum status take_panel(const struct panels *p, struct helper *h,
                              const struct pearson_panel *panel)
{
    STATUS_TRY(send_moments(p, h, panel->moments));
    STATUS_TRY(gram_there(p, h, panel));
    STATUS_TRY(send_due(p, h));
    h->turn = 1 - h->turn;
    h->due = panel->r;
    h->due.bytes = panel->a.n * panel->width * dtype_bytes(pearson_dtype(panel->precision));
    return STATUS_OK;
}

size_t panels_members(const struct panels *p)
{
    return p != NULL ? 1 + p->n : 1;
}

enum status panels_moments(struct panels *p, struct moments moments)
{
    for (size_t k = 0; k < p->n; k++) {
        STATUS_TRY(send_moments(p, &p->helpers[k], moments));
    }
    return STATUS_OK;
}

enum status panels_stay(struct panels *p, size_t k, const struct pearson_panel *panel,
                        struct queue **q, struct span *r)
{
    struct helper *const h = &p->helpers[k];
    STATUS_TRY(gram_there(p, h, panel));
    *q = h->queue;
    *r = h->r[h->turn];
    h->turn = 1 - h->turn;
    return STATUS_OK;
}

enum status panels_gram(struct panels *p, const struct pearson_panel *panel)
{
    const size_t members = 1 + p->n;
    const size_t to_last = (p->c.n_series - 1) / p->c.panel - panel->a.first / p->c.panel;
    const size_t turn = to_last % (2 * members);
    const size_t member = turn < members ? turn : 2 * members - 1 - turn;
    return member == 0 ? p->ops->pearson->gram(p->c.home, panel)
                       : take_panel(p, &p->helpers[member - 1], panel);
}

enum status panels_collect(struct panels *p)
{
    for (size_t k = 0; k < p->n; k++) {
        STATUS_TRY(send_due(p, &p->helpers[k]));
    }
    for (size_t k = 0; k < p->n; k++) {
        STATUS_TRY(p->ops->finish(p->helpers[k].queue));
    }
    return STATUS_OK;
}
