/*
 * ranks - see ranks.h. The thread holds the lock except while it naps; nothing that it calls waits.
 * It naps the longer the less there is to do, since MPI can only be asked.
 */
#include "pipeline/ranks/ranks.h"

#include "formats/base/log.h"
#include "formats/base/module.h"
#include "pipeline/ranks/claims.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHORTEST_NAP_US = 50, LONGEST_NAP_US = 2000 };
#define LONGEST_BEAT_S 1.0

enum kind {
    BEAT,    /* a sign of life */
    CLAIM,   /* to rank 0: whose is `key`? `seen` claims are known */
    CLAIMS,  /* from rank 0: further claims, in their order */
    FIGURES, /* to rank 0, which is done */
    SUMS,    /* from rank 0: all are done */
    STOP,    /* text: why; `subject` is lost */
    AWAY     /* to the head: what was being done is put away */
};

/* No larger than MPI sends without asking the receiver first. */
enum { CLAIMS_AT_ONCE = 200 };
#define NOBODY UINT32_MAX

struct message {
    uint32_t kind, subject;
    union {
        char text[STATUS_MESSAGE_BYTES];
        struct {
            uint64_t key, seen;
        } ask;
        struct claim claims[CLAIMS_AT_ONCE];
        uint64_t figures[RANKS_FIGURES];
    };
};
enum { HEAD_BYTES = offsetof(struct message, text) };

/* Another rank, as far as this one knows. */
struct peer {
    double heard_s;
    bool away;
};

/* What each rank shows the others when it joins; the same in all versions. */
struct card {
    char host[64], version[32];
    uint64_t digest;
};

enum asking { ASKS_NOTHING, ASKS, HAS_ASKED };

struct ranks {
    const struct rank_transport *transport;
    struct rank_link *link;
    size_t own, size;
    struct ranks_start start;
    double silence_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the thread has something to do */
    pthread_cond_t news; /* the thread has done something */
    bool opened;
    enum status open_code;
    char message[STATUS_MESSAGE_BYTES]; /* of open_code */

    double clock_s;  /* that this process ran */
    uint64_t now_ns; /* when that was taken */
    double beat_s;   /* when the next sign of life is due */
    long nap_us;
    struct card *cards; /* of all ranks, as are the peers */
    struct peer *peers;

    struct claims claims;
    enum asking asking;
    uint64_t wanted; /* the key that is asked for */
    bool stopped;

    uint64_t figures[RANKS_FIGURES]; /* own; of rank 0, and in the end: of all */
    size_t n_done;                   /* rank 0: ranks whose figures are in these */
    bool done, told, over;           /* this rank is done; rank 0 knows it; all are */

    char why[STATUS_MESSAGE_BYTES]; /* the run ends; "": it does not */
    size_t lost, head;              /* who is lost, and who ends the others */
    void (*on_lost)(void *user);
    void *user;
    bool closing, away, left;
};

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

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_ending(const struct ranks *r)
{
    return r->why[0] != '\0';
}

/* --- messages --------------------------------------------------------------------------------- */

static enum status send(struct ranks *r, size_t to, struct message *m, enum kind kind, size_t bytes)
{
    m->kind = kind;
    return r->transport->send(r->link, to, m, HEAD_BYTES + bytes);
}

/* To all others but `but`. */
static enum status send_all(struct ranks *r, size_t but, struct message *m, enum kind kind,
                            size_t bytes)
{
    for (size_t i = 0; i < r->size; i++) {
        if (i != r->own && i != but) {
            STATUS_TRY(send(r, i, m, kind, bytes));
        }
    }
    return STATUS_OK;
}

/* The run cannot go on; the others are told as far as they can be. */
static void end_run(struct ranks *r, size_t lost, const char *why)
{
    struct message m = {.subject = (uint32_t)lost};
    enum status code = STATUS_OK;
    if (is_ending(r) || r->over) {
        return;
    }
    snprintf(r->why, sizeof(r->why), "%s", why);
    r->lost = lost;
    r->head = lost == 0 ? 1 : 0;
    if (r->head != 0) { /* which has not listened to the others before */
        for (size_t i = 0; i < r->size; i++) {
            r->peers[i].heard_s = r->clock_s;
        }
    }
    memcpy(m.text, r->why, sizeof(m.text));
    if (r->own == r->head) {
        code = send_all(r, lost, &m, STOP, sizeof(m.text));
    } else if (lost != 0) {
        code = send(r, 0, &m, STOP, sizeof(m.text));
    }
    if (code != STATUS_OK) {
        log_debug("rank %zu: %s", r->own, status_message());
    }
    if (r->on_lost != NULL) {
        r->on_lost(r->user);
    }
    pthread_cond_broadcast(&r->news);
}

/* Rank 0: claims the key for who asks for it, unless somebody has, and sends the claims that he
 * does not know; if these are many, some, and he asks again. */
static enum status answer(struct ranks *r, size_t from, const struct message *asked)
{
    struct message m;
    const size_t seen = (size_t)asked->ask.seen;
    STATUS_TRY(claims_add(&r->claims, asked->ask.key, from));
    const size_t new = seen < r->claims.n ? r->claims.n - seen : 0;
    const size_t n = new < CLAIMS_AT_ONCE ? new : CLAIMS_AT_ONCE;
    memcpy(m.claims, r->claims.all + seen, n * sizeof(m.claims[0]));
    m.subject = (uint32_t)n;
    return send(r, from, &m, CLAIMS, n * sizeof(m.claims[0]));
}

static enum status learn(struct ranks *r, const struct message *m)
{
    for (size_t i = 0; i < m->subject; i++) {
        STATUS_TRY(claims_add(&r->claims, m->claims[i].key, m->claims[i].owner));
    }
    r->asking = ASKS_NOTHING;
    pthread_cond_broadcast(&r->news);
    return STATUS_OK;
}

static void add_figures(struct ranks *r, const uint64_t figures[RANKS_FIGURES])
{
    for (size_t i = 0; i < RANKS_FIGURES; i++) {
        r->figures[i] += figures[i];
    }
    r->n_done++;
}

/* How long a message of its kind is at least; those of other versions are not understood. */
static size_t least_bytes(const struct message *m)
{
    switch ((enum kind)m->kind) {
    case STOP:
        return sizeof(m->text);
    case CLAIM:
        return sizeof(m->ask);
    case CLAIMS:
        return m->subject <= CLAIMS_AT_ONCE ? m->subject * sizeof(m->claims[0]) : SIZE_MAX;
    case FIGURES:
    case SUMS:
        return sizeof(m->figures);
    case BEAT:
    case AWAY:
        return 0;
    }
    return SIZE_MAX;
}

static enum status take(struct ranks *r, size_t from, const struct message *m)
{
    struct peer *peer = &r->peers[from];
    switch ((enum kind)m->kind) {
    case CLAIM:
        return answer(r, from, m);
    case CLAIMS:
        return learn(r, m);
    case FIGURES:
        add_figures(r, m->figures);
        break;
    case SUMS:
        memcpy(r->figures, m->figures, sizeof(r->figures));
        r->over = !is_ending(r);
        pthread_cond_broadcast(&r->news);
        break;
    case STOP:
        end_run(r, m->subject, m->text);
        break;
    case AWAY:
        peer->away = true;
        break;
    case BEAT:
        break;
    }
    return STATUS_OK;
}

/* Takes what has come; *came: something has. */
static enum status receive(struct ranks *r, bool *came)
{
    struct message m;
    size_t from, bytes;
    STATUS_TRY(r->transport->receive(r->link, &m, sizeof(m), &from, &bytes));
    *came = bytes > 0;
    if (!*came) {
        return STATUS_OK;
    }
    if (bytes < HEAD_BYTES || bytes - HEAD_BYTES < least_bytes(&m)) {
        return status_fail(
            STATUS_INTERNAL,
            "a message of rank %zu is not understood; is it another version of leat?", from);
    }
    r->peers[from].heard_s = r->clock_s;
    r->nap_us = SHORTEST_NAP_US;
    return take(r, from, &m);
}

/* --- what is due ------------------------------------------------------------------------------ */

static enum status send_beat(struct ranks *r)
{
    struct message m = {.subject = NOBODY};
    if (r->clock_s < r->beat_s) {
        return STATUS_OK;
    }
    r->beat_s = r->clock_s + fmin(r->silence_s / 10, LONGEST_BEAT_S);
    return r->own == r->head ? send_all(r, r->lost, &m, BEAT, 0) : send(r, r->head, &m, BEAT, 0);
}

static enum status send_question(struct ranks *r)
{
    struct message m = {.subject = NOBODY, .ask = {r->wanted, r->claims.n}};
    r->asking = HAS_ASKED;
    return send(r, 0, &m, CLAIM, sizeof(m.ask));
}

/* This rank is done, or all are. */
static enum status send_figures(struct ranks *r)
{
    struct message m = {.subject = NOBODY};
    memcpy(m.figures, r->figures, sizeof(m.figures));
    r->told = true;
    r->over = r->own == 0;
    pthread_cond_broadcast(&r->news);
    return r->own == 0 ? send_all(r, NOBODY, &m, SUMS, sizeof(m.figures))
                       : send(r, 0, &m, FIGURES, sizeof(m.figures));
}

static enum status send_due(struct ranks *r)
{
    struct message m = {.subject = NOBODY};
    if (r->over) {
        return STATUS_OK;
    }
    if (r->asking == ASKS) {
        STATUS_TRY(send_question(r));
    }
    if (!is_ending(r) && (r->own == 0 ? r->n_done == r->size : r->done && !r->told)) {
        STATUS_TRY(send_figures(r));
    }
    if (is_ending(r) && r->closing && !r->away) {
        r->away = true;
        STATUS_TRY(r->own == r->head ? STATUS_OK : send(r, r->head, &m, AWAY, 0));
    }
    return send_beat(r);
}

static bool is_silent(const struct ranks *r, size_t i)
{
    return r->clock_s - r->peers[i].heard_s > r->silence_s;
}

/* Of all that are silent, the one that has been so for longest: it may have kept others waiting. */
static void look_for_silence(struct ranks *r)
{
    char why[STATUS_MESSAGE_BYTES];
    size_t lost = r->own == 0 ? r->size - 1 : 0;
    for (size_t i = 1; r->own == 0 && i < r->size; i++) {
        lost = r->peers[i].heard_s < r->peers[lost].heard_s ? i : lost;
    }
    if (lost != r->own && !r->over && !is_ending(r) && is_silent(r, lost)) {
        snprintf(
            why, sizeof(why),
            "rank %zu (%s) has not answered for %.3g s: it is stopped, or its host or the network "
            "is down",
            lost, r->cards[lost].host, r->silence_s);
        end_run(r, lost, why);
        if (r->own == r->head) {
            log_error("%s; this run ends, --resume completes it", why);
        }
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

/* The clock goes on by what has passed, but not by long gaps, in which the process was stopped. */
static void advance_clock(struct ranks *r)
{
    const uint64_t now = now_ns();
    r->clock_s += fmin(1e-9 * (double)(now - r->now_ns), r->silence_s / 8);
    r->now_ns = now;
}

static void step(struct ranks *r)
{
    enum status code = STATUS_OK;
    bool came = true;
    advance_clock(r);
    while (came && code == STATUS_OK) {
        code = receive(r, &came);
    }
    if (code == STATUS_OK) {
        code = send_due(r);
    }
    if (code != STATUS_OK) {
        log_error("%s; this run ends, --resume completes it", status_message());
        end_run(r, NOBODY, status_message());
    }
    look_for_silence(r);
}

/* Whether it was woken before. */
static bool wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return pthread_cond_timedwait(condition, lock, &t) == 0;
}

static void nap(struct ranks *r)
{
    if (wait_until(&r->wake, &r->lock, now_ns() + (uint64_t)r->nap_us * 1000)) {
        r->nap_us = SHORTEST_NAP_US; /* something has been asked for */
    } else if (r->nap_us < LONGEST_NAP_US) {
        r->nap_us *= 2;
    }
}

/* Whether this rank is through: where the run ends early, once all that live have put away their
 * work; whoever does not lead that is ended by the head, or follows when the head is lost, too. */
static bool may_leave(const struct ranks *r)
{
    if (!r->closing || r->over) {
        return r->closing;
    }
    if (r->own != r->head) {
        return is_silent(r, r->head);
    }
    bool all = true;
    for (size_t i = 0; i < r->size; i++) {
        all = all && (i == r->own || i == r->lost || r->peers[i].away || is_silent(r, i));
    }
    return all;
}

/* --- joining ---------------------------------------------------------------------------------- */

static enum status exchange_cards(struct ranks *r)
{
    struct card own = {.digest = r->start.digest};
    gethostname(own.host, sizeof(own.host) - 1);
    snprintf(own.version, sizeof(own.version), "%s", r->start.version);
    r->cards = calloc(r->size, sizeof(*r->cards));
    r->peers = calloc(r->size, sizeof(*r->peers));
    if (r->cards == NULL || r->peers == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu ranks", r->size);
    }
    log_debug("rank %zu of %zu on %s", r->own, r->size, own.host);
    return r->transport->gather(r->link, &own, sizeof(own), r->cards);
}

/* The same in all ranks. */
static enum status compare_cards(const struct ranks *r)
{
    static const char todo[] = "all ranks must be started alike";
    const struct card *first = &r->cards[0];
    for (size_t i = 1; i < r->size; i++) {
        const struct card *c = &r->cards[i];
        if (strcmp(c->version, first->version) != 0) {
            return status_fail(STATUS_CANCELLED,
                               "rank %zu (%s) is leat %s, but rank 0 is leat %s; %s", i, c->host,
                               c->version, first->version, todo);
        }
        if (c->digest != first->digest) {
            return status_fail(STATUS_CANCELLED,
                               "rank %zu (%s) has other inputs or options than rank 0; %s", i,
                               c->host, todo);
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
    r->now_ns = now_ns();
    return code;
}

/* --- the thread's life ------------------------------------------------------------------------ */

static void leave(struct ranks *r)
{
    if (r->over) {
        r->transport->close(r->link);
    } else {
        r->transport->kill(r->link, 1);
    }
}

static void *attend(void *ranks)
{
    struct ranks *r = ranks;
    const enum status code = join(r);
    pthread_mutex_lock(&r->lock);
    if (code != STATUS_OK) {
        snprintf(r->message, sizeof(r->message), "%s", status_message());
    }
    r->open_code = code;
    r->opened = true;
    pthread_cond_broadcast(&r->news);
    while (code == STATUS_OK && !may_leave(r)) {
        step(r);
        nap(r);
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

/* --- for the others --------------------------------------------------------------------------- */

static void make_conditions(struct ranks *r)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &monotonic);
    pthread_cond_init(&r->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void release(struct ranks *r)
{
    pthread_cond_destroy(&r->wake);
    pthread_cond_destroy(&r->news);
    pthread_mutex_destroy(&r->lock);
    claims_free(&r->claims);
    free(r->cards);
    free(r->peers);
    free(r);
}

enum status ranks_open(const struct rank_transport *transport, const struct ranks_start *start,
                       struct ranks **out)
{
    struct ranks *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for ranks");
    }
    r->transport = transport;
    r->start = *start;
    r->silence_s = start->silence_s > 0 ? start->silence_s : INFINITY;
    r->lost = NOBODY;
    r->nap_us = SHORTEST_NAP_US;
    make_conditions(r);
    const int failed = pthread_create(&r->thread, NULL, attend, r);
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
    if (lost != NULL && is_ending(r)) {
        lost(user);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Has rank 0 asked, and waits for what it says. */
static void ask(struct ranks *r, uint64_t key)
{
    r->wanted = key;
    r->asking = ASKS;
    pthread_cond_signal(&r->wake);
    while (r->asking != ASKS_NOTHING && !r->stopped && !is_ending(r)) {
        pthread_cond_wait(&r->news, &r->lock);
    }
}

enum status ranks_claim(struct ranks *r, uint64_t key, bool *own)
{
    enum status code = STATUS_OK;
    const struct claim *claim = NULL;
    pthread_mutex_lock(&r->lock);
    while (code == STATUS_OK && !r->stopped && !is_ending(r) &&
           (claim = claims_find(&r->claims, key)) == NULL) {
        if (r->own == 0) {
            code = claims_add(&r->claims, key, 0);
        } else {
            ask(r, key);
        }
    }
    *own = claim != NULL && claim->owner == r->own;
    pthread_mutex_unlock(&r->lock);
    return code;
}

void ranks_stop(struct ranks *r)
{
    pthread_mutex_lock(&r->lock);
    r->stopped = true;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
}

enum status ranks_sum(struct ranks *r, uint64_t figures[RANKS_FIGURES])
{
    enum status code = STATUS_OK;
    pthread_mutex_lock(&r->lock);
    r->done = true;
    if (r->own == 0) {
        add_figures(r, figures);
    } else {
        memcpy(r->figures, figures, sizeof(r->figures));
    }
    pthread_cond_signal(&r->wake);
    while (!r->over && !is_ending(r)) {
        pthread_cond_wait(&r->news, &r->lock);
    }
    if (r->over) {
        memcpy(figures, r->figures, sizeof(r->figures));
    } else {
        code = status_fail(STATUS_IO, "%s", r->why);
    }
    pthread_mutex_unlock(&r->lock);
    return code;
}

/* MPI says nothing of a rank that was stopped while all leave; a clock as advance_clock's does. */
static bool has_left(struct ranks *r)
{
    double left_s = r->silence_s;
    uint64_t before = now_ns();
    while (!r->left && left_s > 0) {
        wait_until(&r->news, &r->lock, before + (uint64_t)(1e9 * fmin(r->silence_s / 8, 1)));
        const uint64_t now = now_ns();
        left_s -= fmin(1e-9 * (double)(now - before), r->silence_s / 8);
        before = now;
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
        log_error("all ranks are done, but one of them has not ended for %.3g s", r->silence_s);
        _exit(1);
    }
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    release(r);
}
