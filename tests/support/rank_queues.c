/*
 * rank_queues - see the header.
 */
#include "tests/support/rank_queues.h"

#include "pipeline/engine/engine.h"
#include "pipeline/engine/rank_queue.h"
#include "tests/support/letters.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct player {
    pthread_t thread;
    enum status code;
};

static struct settings settings = {.backend = (char *)"cpu", .threads = 1, .level = 1};
static struct player players[LETTERS_MOST_RANKS];
static struct ranks *_Atomic own;
static size_t ready[LETTERS_MOST_RANKS], n_ready; /* borrowed, and given to no queue yet */

/* As a process that has no jobs. */
static enum status help_others(struct ranks *ranks)
{
    uv_loop_t loop;
    struct engine e;
    uint64_t totals[RANKS_TOTALS] = {0};
    const struct ranks_help help = {.help = rank_help, .user = &e};
    uv_loop_init(&loop);
    STATUS_TRY(engine_open(&loop, &settings, &e));
    e.ranks = ranks;
    const enum status code = ranks_sum(ranks, totals, &help);
    engine_close(&e);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return code;
}

/* Which of them is rank 0 is left open; that one's thread ends. */
static void *play(void *player)
{
    struct player *p = player;
    const struct ranks_start start = {.version = "1"};
    struct ranks *ranks;
    p->code = ranks_open(&letters_transport, &start, &ranks);
    if (p->code == STATUS_OK && ranks_own(ranks) > 0) {
        p->code = help_others(ranks);
        ranks_close(ranks);
    } else if (p->code == STATUS_OK) {
        own = ranks;
    }
    return NULL;
}

void rank_queues_begin(size_t n, uint64_t memory)
{
    settings.memory = memory;
    letters_begin(n + 1);
    for (size_t i = 0; i <= n; i++) {
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    while (own == NULL) {
        letters_sleep(0.0001);
    }
    for (n_ready = 0; n_ready < n;) {
        size_t more;
        ranks_borrow(own, n - n_ready, ready + n_ready, &more);
        n_ready += more;
        letters_sleep(0.0001);
    }
}

enum status rank_queues_try(bool on_cpu, struct queue **out)
{
    while (n_ready == 0) { /* one is being given back */
        ranks_borrow(own, 1, ready, &n_ready);
        letters_sleep(0.0001);
    }
    return rank_queue_new(own, ready[--n_ready], on_cpu, out);
}

struct queue *rank_queues_new(void)
{
    struct queue *q;
    if (rank_queues_try(true, &q) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    return q;
}

void rank_queues_end(void)
{
    uint64_t totals[RANKS_TOTALS] = {0};
    assert_int_equal(ranks_sum(own, totals, NULL), STATUS_OK);
    ranks_close(own);
    for (size_t i = 0; i < letters_n_links; i++) {
        pthread_join(players[i].thread, NULL);
        assert_int_equal(players[i].code, STATUS_OK);
        players[i] = (struct player){0};
    }
    own = NULL;
    letters_end();
}
