/*
 * ranks_thread - the messages of ranks, and the thread that sends and receives them. It holds the
 * lock except between two polls; nothing that it calls meanwhile waits. It polls the less often the
 * less there is to do, since MPI can only be asked.
 *
 * Rank 0 leads: all messages but streams go to it or come from it, and when a rank is lost it ends
 * all processes. Only when it does not, or is lost itself, do others: rank 1 first.
 */
#include "formats/base/log.h"
#include "pipeline/ranks/ranks_state.h"
#include "watch/files/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHORTEST_POLL_US = 50, LONGEST_POLL_US = 2000 };
/* So many timeouts after the end began those who have not cleaned up are waited for no longer. */
enum { CLEANUP_TIMEOUTS = 4 };
#define LONGEST_HEARTBEAT_S 1.0

enum kind {
    HEARTBEAT,
    CLAIM,      /* to rank 0: whose is a key? */
    CLAIMS,     /* from rank 0: further claims, in their order */
    TOTALS,     /* to rank 0: of a rank that is done */
    SUMS,       /* from rank 0: of all, which are done */
    STOP,       /* text: why; `lost`: who is */
    CLEANED_UP, /* to rank 0: all jobs are cancelled, and nothing is left of them */
    IDLE,       /* to rank 0: of a rank that is done, and may be borrowed */
    BORROW,     /* to rank 0: n are wanted */
    BORROWED,   /* from rank 0: those that are there */
    BYTES,      /* from any rank to any: a piece of a stream */
    READ        /* likewise: n further ones have been read */
};

/* So many that MPI sends them without asking the receiver first. */
enum { CLAIMS_AT_ONCE = 200 };

struct message {
    enum kind kind;
    uint32_t n; /* claims, ranks, pieces, bytes */
    union {
        struct {
            uint64_t lost;
            char text[STATUS_MESSAGE_BYTES];
        } stop;
        struct {
            uint64_t key, n_known; /* claims */
        } request;
        struct ranks_claim claims[CLAIMS_AT_ONCE];
        uint64_t totals[RANKS_TOTALS];
        uint32_t borrowed[RANK_MOST_BORROWED];
    };
};
enum { HEAD_BYTES = offsetof(struct message, stop) };
_Static_assert(sizeof(struct message) <= RANK_MESSAGE_BYTES, "what the transport takes");

/* The message of BYTES; these come after its head. */
union piece_message {
    struct message head;
    char all[RANK_MESSAGE_BYTES];
};

static bool is_working(const struct ranks *r)
{
    return !r->over && !ranks_are_ending(r);
}

/* --- sending ---------------------------------------------------------------------------------- */

static enum status send_one(struct ranks *r, size_t to, enum kind kind, struct message *m,
                            size_t bytes)
{
    m->kind = kind;
    const enum status code = r->transport->send(r->link, to, m, HEAD_BYTES + bytes);
    r->is_broken = r->is_broken || code != STATUS_OK;
    return code;
}

/* From rank 0 to all others, from these to rank 0; not to a rank that is lost. */
static enum status send(struct ranks *r, enum kind kind, struct message *m, size_t bytes)
{
    enum status code = STATUS_OK;
    const size_t n = r->own == 0 ? r->size : 1;
    for (size_t i = 0; i < n; i++) {
        if (i != r->own && i != r->lost && send_one(r, i, kind, m, bytes) != STATUS_OK) {
            code = STATUS_IO;
        }
    }
    return code;
}

static void log_end(const struct ranks *r)
{
    log_error("%s; this run ends, --resume completes it", r->why);
}

/* The run cannot go on. The others are told as far as they can be. */
static void end_run(struct ranks *r, size_t lost, const char *why)
{
    struct message m = {.stop.lost = lost};
    snprintf(r->why, sizeof(r->why), "%s", why);
    r->lost = lost;
    r->ended_s = r->clock_s;
    memcpy(m.stop.text, r->why, sizeof(m.stop.text));
    if (send(r, STOP, &m, sizeof(m.stop)) != STATUS_OK) {
        log_debug("rank %zu: %s", r->own, status_message());
    }
    if (r->on_lost != NULL) {
        r->on_lost(r->user);
    }
    pthread_cond_broadcast(&r->news);
}

/* As this rank finds out. That rank 0 is lost they all do, of which rank 1 logs it. */
static void fail(struct ranks *r, size_t lost, const char *why)
{
    if (is_working(r)) {
        end_run(r, lost, why);
        if (lost != 0 || r->own == 1) {
            log_end(r);
        }
    }
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Rank 0: claims the key for the rank that asks for it, unless another has it, and sends the claims
 * that it does not know; of many the first, and it asks again. */
static enum status answer(struct ranks *r, size_t from, const struct message *request)
{
    struct message m;
    const size_t known = (size_t)request->request.n_known;
    ranks_claims_add(&r->claims, request->request.key, from);
    const size_t new = known < r->claims.n ? r->claims.n - known : 0;
    m.n = (uint32_t)(new < CLAIMS_AT_ONCE ? new : CLAIMS_AT_ONCE);
    memcpy(m.claims, r->claims.all + known, m.n * sizeof(m.claims[0]));
    return send_one(r, from, CLAIMS, &m, m.n * sizeof(m.claims[0]));
}

static void learn(struct ranks *r, const struct message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        ranks_claims_add(&r->claims, m->claims[i].key, m->claims[i].owner);
    }
    r->request = RANK_REQUEST_NONE;
    pthread_cond_broadcast(&r->news);
}

void ranks_add_totals(struct ranks *r, const uint64_t totals[RANKS_TOTALS])
{
    for (size_t i = 0; i < RANKS_TOTALS; i++) {
        r->totals[i] += totals[i];
    }
    r->n_added++;
}

void ranks_lend(struct ranks *r, size_t to, size_t n)
{
    r->n_borrowed = 0;
    for (size_t i = 0; i < r->size && r->n_borrowed < n; i++) {
        if (i != to && r->peers[i].is_idle) {
            r->peers[i].is_idle = false;
            r->borrowed[r->n_borrowed++] = (uint32_t)i;
        }
    }
}

static enum status lend(struct ranks *r, size_t to, size_t n)
{
    struct message m;
    ranks_lend(r, to, n < RANK_MOST_BORROWED ? n : RANK_MOST_BORROWED);
    m.n = (uint32_t)r->n_borrowed;
    memcpy(m.borrowed, r->borrowed, m.n * sizeof(m.borrowed[0]));
    return send_one(r, to, BORROWED, &m, m.n * sizeof(m.borrowed[0]));
}

static void note_borrowed(struct ranks *r, const struct message *m)
{
    r->n_borrowed = m->n;
    memcpy(r->borrowed, m->borrowed, m->n * sizeof(m->borrowed[0]));
    r->borrowing = RANK_REQUEST_NONE;
}

static enum status keep_piece(struct rank_stream *s, const struct message *m)
{
    struct rank_piece *p = malloc(sizeof(*p) + m->n);
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %u bytes of another rank", m->n);
    }
    p->next = NULL;
    p->n_bytes = m->n;
    memcpy(p->bytes, (const char *)m + HEAD_BYTES, m->n);
    *(s->first == NULL ? &s->first : &s->last->next) = p;
    s->last = p;
    return STATUS_OK;
}

static enum status take(struct ranks *r, size_t from, const struct message *m)
{
    enum status code = STATUS_OK;
    switch (m->kind) {
    case CLAIM:
        return answer(r, from, m);
    case CLAIMS:
        learn(r, m);
        break;
    case TOTALS:
        ranks_add_totals(r, m->totals);
        break;
    case SUMS:
        memcpy(r->totals, m->totals, sizeof(r->totals));
        r->over = !ranks_are_ending(r);
        pthread_cond_broadcast(&r->news);
        break;
    case STOP:
        if (is_working(r)) {
            end_run(r, (size_t)m->stop.lost, m->stop.text);
        }
        break;
    case CLEANED_UP:
        r->peers[from].cleaned_up = true;
        break;
    case IDLE:
        r->peers[from].is_idle = true;
        break;
    case BORROW:
        return lend(r, from, m->n);
    case BORROWED:
        note_borrowed(r, m);
        pthread_cond_broadcast(&r->news);
        break;
    case BYTES:
        code = keep_piece(&r->peers[from].stream, m);
        pthread_cond_broadcast(&r->news);
        break;
    case READ:
        r->peers[from].stream.n_unread -= m->n;
        break;
    case HEARTBEAT:
        break;
    }
    return code;
}

/* Takes what has come; *came: something has. */
static enum status receive(struct ranks *r, bool *came)
{
    const void *message = NULL;
    size_t from;
    const enum status code = r->transport->receive(r->link, &message, &from);
    r->is_broken = r->is_broken || code != STATUS_OK;
    *came = code == STATUS_OK && message != NULL;
    if (!*came) {
        return code;
    }
    r->peers[from].heard_s = r->clock_s;
    r->poll_us = SHORTEST_POLL_US;
    return take(r, from, message);
}

/* --- what is due ------------------------------------------------------------------------------ */

/* What fits into a piece. */
static size_t fill_piece(struct rank_stream *s, char *to, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        struct rank_part *part = &s->out[i];
        const size_t now = part->n_bytes < bytes - n ? part->n_bytes : bytes - n;
        if (now > 0) {
            memcpy(to + n, part->at, now);
            part->at += now;
            part->n_bytes -= now;
        }
        n += now;
    }
    return n;
}

/* As long as the other is not too far behind; that it has read is said now and then. */
static enum status send_stream(struct ranks *r, size_t to)
{
    struct rank_stream *s = &r->peers[to].stream;
    while (s->out[0].n_bytes + s->out[1].n_bytes > 0 && s->n_unread < RANK_WINDOW) {
        union piece_message *m = r->outgoing;
        const size_t n = fill_piece(s, m->all + HEAD_BYTES, sizeof(m->all) - HEAD_BYTES);
        m->head.n = (uint32_t)n;
        s->n_unread++;
        STATUS_TRY(send_one(r, to, BYTES, &m->head, n));
        pthread_cond_broadcast(&r->news);
    }
    if (s->n_finished >= RANK_WINDOW / 2) {
        struct message m = {.n = (uint32_t)s->n_finished};
        s->n_finished = 0;
        STATUS_TRY(send_one(r, to, READ, &m, 0));
    }
    return STATUS_OK;
}

static enum status send_streams(struct ranks *r)
{
    for (size_t i = 0; i < r->size && !ranks_are_ending(r); i++) {
        STATUS_TRY(send_stream(r, i));
    }
    return STATUS_OK;
}

/* About ranks that compute for others. */
static enum status send_help(struct ranks *r)
{
    struct message m = {.n = 0}; /* all of its head is sent */
    if (r->is_helpful) {
        r->is_helpful = false;
        r->peers[r->own].is_idle = true;
        STATUS_TRY(r->own == 0 ? STATUS_OK : send(r, IDLE, &m, 0));
    }
    if (r->borrowing == RANK_REQUEST_DUE) {
        r->borrowing = RANK_REQUEST_SENT;
        m.n = (uint32_t)r->n_wanted;
        STATUS_TRY(send(r, BORROW, &m, 0));
    }
    return send_streams(r);
}

static enum status send_due(struct ranks *r)
{
    struct message m = {.n = 0}; /* all of its head is sent */
    if (r->request == RANK_REQUEST_DUE) {
        r->request = RANK_REQUEST_SENT;
        m.request.key = r->requested;
        m.request.n_known = r->claims.n;
        STATUS_TRY(send(r, CLAIM, &m, sizeof(m.request)));
    }
    if (is_working(r) && r->n_added == (r->own == 0 ? r->size : 1)) {
        r->n_added = 0;
        memcpy(m.totals, r->totals, sizeof(m.totals));
        STATUS_TRY(send(r, r->own == 0 ? SUMS : TOTALS, &m, sizeof(m.totals)));
        r->over = r->own == 0;
        pthread_cond_broadcast(&r->news);
    }
    if (ranks_are_ending(r) && r->closing && !r->peers[r->own].cleaned_up) {
        r->peers[r->own].cleaned_up = true;
        STATUS_TRY(r->own == 0 ? STATUS_OK : send(r, CLEANED_UP, &m, 0));
    }
    if (!r->over && r->clock_s >= r->heartbeat_s) {
        r->heartbeat_s = r->clock_s + fmin(r->timeout_s / 10, LONGEST_HEARTBEAT_S);
        STATUS_TRY(send(r, HEARTBEAT, &m, 0));
    }
    return STATUS_OK;
}

static bool is_silent(const struct ranks *r, size_t i)
{
    return r->clock_s - r->peers[i].heard_s > r->timeout_s;
}

/* Of all that are silent, the one that has been so for longest: it may have kept others waiting. */
static void look_for_silence(struct ranks *r)
{
    char why[STATUS_MESSAGE_BYTES];
    size_t lost = r->own == 0 ? r->size - 1 : 0;
    for (size_t i = 1; r->own == 0 && i < r->size; i++) {
        lost = r->peers[i].heard_s < r->peers[lost].heard_s ? i : lost;
    }
    if (is_working(r) && lost != r->own && is_silent(r, lost)) {
        snprintf(why, sizeof(why),
                 "rank %zu (%s) has not answered for %.3g s: it is stopped, or its host or the "
                 "network is down",
                 lost, r->cards[lost].host, r->timeout_s);
        fail(r, lost, why);
    }
}

/* --- joining ---------------------------------------------------------------------------------- */

static enum status exchange_cards(struct ranks *r)
{
    struct rank_card own = {.digest = r->start.digest};
    gethostname(own.host, sizeof(own.host) - 1);
    snprintf(own.version, sizeof(own.version), "%s", r->start.version);
    r->cards = xcalloc(r->size, sizeof(*r->cards));
    r->peers = xcalloc(r->size, sizeof(*r->peers));
    r->outgoing = xcalloc(1, sizeof(union piece_message));
    log_debug("rank %zu of %zu on %s", r->own, r->size, own.host);
    return r->transport->gather(r->link, &own, sizeof(own), r->cards);
}

/* The same in all ranks. */
static enum status compare_cards(const struct ranks *r)
{
    const struct rank_card *first = &r->cards[0];
    for (size_t i = 1; i < r->size; i++) {
        const struct rank_card *c = &r->cards[i];
        const bool same_version = strcmp(c->version, first->version) == 0;
        if (!same_version || c->digest != first->digest) {
            return status_fail(STATUS_CANCELLED,
                               "rank %zu (%s, leat %s) has %s than rank 0 (%s, leat %s); all ranks "
                               "must be started alike",
                               i, c->host, c->version,
                               same_version ? "other inputs or options" : "another version",
                               first->host, first->version);
        }
    }
    return STATUS_OK;
}

/* What keeps this rank from joining is logged before any process ends. */
static enum status join(struct ranks *r)
{
    STATUS_TRY(r->transport->open(&r->link, &r->own, &r->size));
    enum status code = exchange_cards(r);
    if (code != STATUS_OK) {
        log_error("%s; this run ends", status_message());
        r->transport->kill(r->link, 1);
        return code;
    }
    code = compare_cards(r);
    if (code != STATUS_OK) {
        if (r->own == 0) {
            log_error("%s", status_message());
        }
        r->transport->close(r->link);
    }
    return code;
}

/* --- the thread ------------------------------------------------------------------------------- */

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ranks_advance_clock(struct ranks *r)
{
    const uint64_t now = clock_ns();
    r->clock_s += fmin(1e-9 * (double)(now - r->now_ns), r->timeout_s / 8);
    r->now_ns = now;
}

bool ranks_wait(struct ranks *r, pthread_cond_t *condition, double seconds)
{
    const uint64_t ns = clock_ns() + (uint64_t)(1e9 * seconds);
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return pthread_cond_timedwait(condition, &r->lock, &t) == 0;
}

static void step(struct ranks *r)
{
    enum status code = STATUS_OK;
    bool came = true;
    ranks_advance_clock(r);
    while (came && code == STATUS_OK) {
        code = receive(r, &came);
    }
    if (code == STATUS_OK) {
        code = send_due(r);
    }
    if (code == STATUS_OK) {
        code = send_help(r);
    }
    if (code != STATUS_OK) {
        fail(r, RANKS_NOBODY, status_message());
    }
    look_for_silence(r);
}

/* What comes while somebody waits for a stream is late by a sixteenth of the time that it took. */
static void wait_to_poll(struct ranks *r)
{
    const long us = r->poll_us;
    if (ranks_wait(r, &r->wake, 1e-6 * (double)us)) {
        r->poll_us = SHORTEST_POLL_US; /* something is wanted */
    } else {
        const long next = us + (r->n_talks > 0 ? us / 16 : us);
        r->poll_us = next < LONGEST_POLL_US ? next : LONGEST_POLL_US;
    }
}

/* How many timeouts after the end began this rank waits at most. The others see to it that all
 * processes end when rank 0 does not: rank 1 first, and long before further ones (mpirun takes a
 * second), so that one alone says why. */
static double cleanup_timeouts(const struct ranks *r)
{
    const size_t later = r->own < 2 ? r->own : 3;
    return (double)(later + (r->lost == 0 ? 0 : CLEANUP_TIMEOUTS));
}

/* Whether this rank is through, or has had the time to be. */
static bool may_leave(const struct ranks *r)
{
    if (ranks_are_ending(r) && r->clock_s - r->ended_s > cleanup_timeouts(r) * r->timeout_s) {
        return true;
    }
    if (!r->closing || r->over || r->is_broken) {
        return r->closing;
    }
    bool all = r->own == 0;
    for (size_t i = 1; all && i < r->size; i++) {
        all = i == r->lost || r->peers[i].cleaned_up || is_silent(r, i);
    }
    return all;
}

static void leave(struct ranks *r)
{
    if (r->over) {
        r->transport->close(r->link);
        return;
    }
    if (r->lost == 0 && r->own > 1) { /* rank 1 is lost, too */
        log_end(r);
    }
    r->transport->kill(r->link, 1);
}

void *ranks_thread(void *ranks)
{
    struct ranks *r = ranks;
    const enum status code = join(r);
    pthread_mutex_lock(&r->lock);
    if (code != STATUS_OK) {
        snprintf(r->message, sizeof(r->message), "%s", status_message());
    }
    r->open_code = code;
    r->opened = true;
    r->now_ns = clock_ns();
    pthread_cond_broadcast(&r->news);
    while (code == STATUS_OK && !may_leave(r)) {
        step(r);
        wait_to_poll(r);
    }
    pthread_mutex_unlock(&r->lock);
    if (code == STATUS_OK) {
        leave(r);
    }
    pthread_mutex_lock(&r->lock);
    r->left = true;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}
