/*
 * ranks - see ranks.h. What the thread does: ranks_thread.c.
 */
#include "formats/base/log.h"
#include "formats/base/module.h"
#include "pipeline/ranks/ranks_state.h"
#include "watch/files/xalloc.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct module module = {.name = "MPI",
                                     .file = RANK_TRANSPORT_FILE,
                                     .symbol = RANK_TRANSPORT_SYMBOL,
                                     .missing = STATUS_UNSUPPORTED};

enum status ranks_load(const struct rank_transport **out)
{
    char path[MODULE_PATH_BYTES];
    void *symbol;
    rank_transport_fn *table;
    *out = NULL;
    STATUS_TRY(module_find(&module, path));
    STATUS_TRY(module_load(&module, path, &symbol));
    /* POSIX lets a symbol's address be taken for a function's; ISO C has no conversion */
    memcpy(&table, &symbol, sizeof(table));
    *out = table();
    return STATUS_OK;
}

/* --- claims ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const struct ranks_claim *)a)->key,
                   y = ((const struct ranks_claim *)b)->key;
    return x < y ? -1 : x > y;
}

const struct ranks_claim *ranks_claims_find(const struct ranks_claims *c, uint64_t key)
{
    const struct ranks_claim wanted = {.key = key};
    struct ranks_claim *const *const found = tfind(&wanted, &c->tree, by_key);
    return found != NULL ? *found : NULL;
}

void ranks_claims_add(struct ranks_claims *c, uint64_t key, uint64_t owner)
{
    if (ranks_claims_find(c, key) != NULL) {
        return;
    }
    struct ranks_claim *const claim = xcalloc(1, sizeof(*claim));
    *claim = (struct ranks_claim){key, owner};
    xalloc_checked(tsearch(claim, &c->tree, by_key));
    if ((c->n & (c->n - 1)) == 0) { /* at powers of two it is full */
        c->all = xrealloc(c->all, c->n > 0 ? 2 * c->n : 1, sizeof(*c->all));
    }
    c->all[c->n++] = *claim;
}

void ranks_claims_free(struct ranks_claims *c)
{
    tdestroy(c->tree, free);
    free(c->all);
    *c = (struct ranks_claims){0};
}

/* --- joining and leaving ---------------------------------------------------------------------- */

static void make_conditions(struct ranks *r)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->borrow_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &monotonic);
    pthread_cond_init(&r->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void free_piece(struct rank_stream *s)
{
    struct rank_piece *const first = s->first;
    s->first = first->next;
    s->n_read = 0;
    free(first);
}

static void release(struct ranks *r)
{
    for (size_t i = 0; r->peers != NULL && i < r->size; i++) {
        while (r->peers[i].stream.first != NULL) {
            free_piece(&r->peers[i].stream);
        }
    }
    pthread_cond_destroy(&r->wake);
    pthread_cond_destroy(&r->news);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->borrow_lock);
    ranks_claims_free(&r->claims);
    free(r->cards);
    free(r->peers);
    free(r->outgoing);
    free(r);
}

enum status ranks_open(const struct rank_transport *transport, const struct ranks_start *start,
                       struct ranks **out)
{
    struct ranks *r = xcalloc(1, sizeof(*r));
    *out = NULL;
    r->transport = transport;
    r->start = *start;
    r->timeout_s = start->timeout_s > 0 ? start->timeout_s : INFINITY;
    r->lost = RANKS_NOBODY;
    make_conditions(r);
    const int failed = pthread_create(&r->thread, NULL, ranks_thread, r);
    if (failed != 0) {
        release(r);
        return status_fail_errno(failed, "cannot start the thread for MPI");
    }
    pthread_mutex_lock(&r->lock);
    while (!r->opened) {
        pthread_cond_wait(&r->news, &r->lock);
    }
    const enum status code = r->open_code;
    pthread_mutex_unlock(&r->lock);
    if (code != STATUS_OK) {
        pthread_join(r->thread, NULL);
        status_set(code, r->message);
        release(r);
        return code;
    }
    *out = r;
    return STATUS_OK;
}

size_t ranks_own(const struct ranks *r)
{
    return r->own;
}

size_t ranks_size(const struct ranks *r)
{
    return r->size;
}

void ranks_watch(struct ranks *r, void (*lost)(void *user), void *user)
{
    pthread_mutex_lock(&r->lock);
    r->on_lost = lost;
    r->user = user;
    if (lost != NULL && ranks_are_ending(r)) {
        lost(user);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Asks rank 0 for claims, of which the key's is one unless they are many. */
static void request(struct ranks *r, uint64_t key)
{
    r->requested = key;
    r->request = RANK_REQUEST_DUE;
    pthread_cond_signal(&r->wake);
    while (r->request != RANK_REQUEST_NONE && !r->stopped && !ranks_are_ending(r)) {
        pthread_cond_wait(&r->news, &r->lock);
    }
}

bool ranks_claim(struct ranks *r, uint64_t key)
{
    const struct ranks_claim *claim = NULL;
    pthread_mutex_lock(&r->lock);
    while (!r->stopped && !ranks_are_ending(r) &&
           (claim = ranks_claims_find(&r->claims, key)) == NULL) {
        if (r->own == 0) {
            ranks_claims_add(&r->claims, key, 0);
        } else {
            request(r, key);
        }
    }
    const bool own = claim != NULL && claim->owner == r->own;
    pthread_mutex_unlock(&r->lock);
    return own;
}

void ranks_stop(struct ranks *r)
{
    pthread_mutex_lock(&r->lock);
    r->stopped = true;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
}

/* --- those that are done compute for others --------------------------------------------------- */

static bool may_talk(const struct ranks *r)
{
    return !ranks_are_ending(r) && !r->stopped && !r->over;
}

void ranks_borrow(struct ranks *r, size_t n, size_t *borrowed, size_t *n_borrowed)
{
    pthread_mutex_lock(&r->borrow_lock);
    pthread_mutex_lock(&r->lock);
    r->n_borrowed = 0;
    r->n_wanted = n < RANK_MOST_BORROWED ? n : RANK_MOST_BORROWED;
    if (r->own == 0) {
        ranks_lend(r, 0, r->n_wanted);
    } else {
        r->borrowing = RANK_REQUEST_DUE;
        pthread_cond_signal(&r->wake);
        while (r->borrowing != RANK_REQUEST_NONE && !ranks_are_ending(r)) {
            pthread_cond_wait(&r->news, &r->lock);
        }
    }
    *n_borrowed = may_talk(r) ? r->n_borrowed : 0;
    for (size_t i = 0; i < *n_borrowed; i++) {
        borrowed[i] = r->borrowed[i];
    }
    pthread_mutex_unlock(&r->lock);
    pthread_mutex_unlock(&r->borrow_lock);
}

/* Waits until something has come or left; false when nothing is going to. */
static bool wait_for_stream(struct ranks *r)
{
    r->n_talks++;
    pthread_cond_signal(&r->wake);
    if (may_talk(r)) {
        pthread_cond_wait(&r->news, &r->lock);
    }
    r->n_talks--;
    return may_talk(r);
}

static enum status end_talk(struct ranks *r, bool goes_on)
{
    const bool is_lost = ranks_are_ending(r);
    pthread_mutex_unlock(&r->lock);
    return goes_on ? STATUS_OK
                   : status_fail(STATUS_CANCELLED, "stopped, since a rank %s",
                                 is_lost ? "is lost" : "has stopped");
}

enum status ranks_write(struct ranks *r, size_t to, const void *head, size_t head_bytes,
                        const void *body, size_t body_bytes)
{
    pthread_mutex_lock(&r->lock);
    struct rank_part *out = r->peers[to].stream.out;
    bool goes_on = true;
    out[0] = (struct rank_part){head, head_bytes};
    out[1] = (struct rank_part){body, body_bytes};
    while (goes_on && out[0].n_bytes + out[1].n_bytes > 0) {
        goes_on = wait_for_stream(r);
    }
    out[0].n_bytes = out[1].n_bytes = 0;
    return end_talk(r, goes_on);
}

enum status ranks_read(struct ranks *r, size_t from, void *to, size_t bytes)
{
    pthread_mutex_lock(&r->lock);
    struct rank_stream *s = &r->peers[from].stream;
    bool goes_on = true;
    for (char *at = to; goes_on && bytes > 0;) {
        if (s->first == NULL) {
            goes_on = wait_for_stream(r);
            continue;
        }
        const size_t left = s->first->n_bytes - s->n_read, n = bytes < left ? bytes : left;
        memcpy(at, s->first->bytes + s->n_read, n);
        at += n;
        bytes -= n;
        s->n_read += n;
        if (n == left) {
            free_piece(s);
            s->n_finished++;
        }
    }
    return end_talk(r, goes_on);
}

/* A rank that this one hears from has borrowed it. RANKS_NOBODY: none has. */
static size_t find_borrower(const struct ranks *r)
{
    size_t i = 0;
    while (i < r->size && r->peers[i].stream.first == NULL) {
        i++;
    }
    return i < r->size ? i : RANKS_NOBODY;
}

enum status ranks_sum(struct ranks *r, uint64_t totals[RANKS_TOTALS], const struct ranks_help *help)
{
    enum status code = STATUS_OK;
    pthread_mutex_lock(&r->lock);
    ranks_add_totals(r, totals);
    r->is_helpful = help != NULL;
    pthread_cond_signal(&r->wake);
    while (!r->over && !ranks_are_ending(r)) {
        const size_t borrower = help != NULL ? find_borrower(r) : RANKS_NOBODY;
        if (borrower == RANKS_NOBODY) {
            pthread_cond_wait(&r->news, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        help->help(help->user, borrower);
        pthread_mutex_lock(&r->lock);
        r->is_helpful = true;
        pthread_cond_signal(&r->wake);
    }
    if (r->over) {
        memcpy(totals, r->totals, sizeof(r->totals));
    } else {
        code = status_fail(STATUS_IO, "%s", r->why);
    }
    pthread_mutex_unlock(&r->lock);
    return code;
}

/* MPI says nothing of a rank that was stopped while all leave. */
static bool has_left(struct ranks *r)
{
    const double end_s = r->clock_s + r->timeout_s;
    while (!r->left && r->clock_s < end_s) {
        ranks_wait(r, &r->news, fmin(r->timeout_s / 8, 1));
        ranks_advance_clock(r);
    }
    return r->left;
}

void ranks_close(struct ranks *r)
{
    if (r == NULL) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    pthread_cond_signal(&r->wake);
    if (r->over && !has_left(r)) {
        log_error("all ranks are done, but one of them has not ended for %.3g s", r->timeout_s);
        _exit(1);
    }
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    release(r);
}
