/*
 * Ranks over a transport that lies in this process: whose job is which, sums, who computes for
 * whom, and how all end when one of them falls silent. Each rank is a thread of its own, beside
 * this one, which acts for all. Time is the test's: it goes on once all ranks have looked for
 * messages, however long that takes.
 * ctest: tsan=yes wrap=clock_gettime,log_error,pthread_cond_timedwait
 */
#include "pipeline/ranks/ranks.h"
#include "tests/support/letters.h"
#include "tests/support/patience.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 4, KEYS = 3000 };
#define TIMEOUT_S 1.0

/* --- what is logged --------------------------------------------------------------------------- */

enum { MOST_LINES = 64 };
static char logged[MOST_LINES][STATUS_MESSAGE_BYTES];
static atomic_size_t n_logged;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

void __wrap_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void __wrap_log_error(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    pthread_mutex_lock(&log_lock);
    assert_true(n_logged < MOST_LINES);
    vsnprintf(logged[n_logged++], sizeof(logged[0]), format, rest);
    pthread_mutex_unlock(&log_lock);
    va_end(rest);
}

/* How many lines begin so. */
static size_t count_logged(const char *begin)
{
    size_t n = 0;
    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < n_logged; i++) {
        n += strncmp(logged[i], begin, strlen(begin)) == 0;
    }
    pthread_mutex_unlock(&log_lock);
    return n;
}

/* --- time ------------------------------------------------------------------------------------- */

static atomic_uint_least64_t time_ns = 1000000000;
static atomic_uint_least64_t time_stands_ns; /* it goes no further */
static atomic_bool time_ends;
static pthread_t time_thread;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    const uint64_t ns = time_ns;
    if (clock != CLOCK_MONOTONIC) {
        return __real_clock_gettime(clock, out);
    }
    *out = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return 0;
}

int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);
/* Always a short while of the system's clock. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until)
{
    struct timespec t;
    (void)until;
    __real_clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 200000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return __real_pthread_cond_timedwait(condition, lock, &t);
}

static void wait_for_poll(const struct rank_link *link, size_t n_polls)
{
    while (link->n_polls < n_polls && !link->leaves && !link->stopped && !time_ends) {
        letters_sleep(0.0001);
    }
}

static void *run_time(void *unused)
{
    (void)unused;
    while (!time_ends) {
        size_t seen[MOST_RANKS];
        for (size_t i = 0; i < letters_n_links; i++) {
            seen[i] = letters_links[i].n_polls;
        }
        for (size_t i = 0; i < letters_n_links; i++) {
            wait_for_poll(&letters_links[i], seen[i] + 3);
        }
        if (time_ns < time_stands_ns) {
            time_ns += (uint64_t)(1e9 * TIMEOUT_S / 16);
        }
    }
    return NULL;
}

static void begin_time(void)
{
    time_ends = false;
    time_stands_ns = UINT64_MAX;
    assert_int_equal(pthread_create(&time_thread, NULL, run_time, NULL), 0);
}

static void end_time(void)
{
    time_ends = true;
    pthread_join(time_thread, NULL);
}

/* So long, and no longer. */
static void let_pass(double seconds)
{
    time_stands_ns = time_ns + (uint64_t)(1e9 * seconds);
    while (time_ns < time_stands_ns) {
        letters_sleep(0.0001);
    }
}

/* --- ranks ------------------------------------------------------------------------------------ */

static struct ranks *ranks[MOST_RANKS];
static pthread_t closing[MOST_RANKS];
static bool closes[MOST_RANKS];
static atomic_size_t n_lost, time_stands_at_lost;

static void note_lost(void *user)
{
    (void)user;
    if (++n_lost == time_stands_at_lost) {
        time_stands_ns = 0;
    }
}

/* How a rank is begun, and what comes of it. */
struct opening {
    struct ranks_start start;
    struct ranks *ranks;
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
};

static void *open_rank(void *arg)
{
    struct opening *o = arg;
    o->code = ranks_open(&letters_transport, &o->start, &o->ranks);
    snprintf(o->message, sizeof(o->message), "%s", o->code != STATUS_OK ? status_message() : "");
    return NULL;
}

/* Which of the openings gets which rank is left open. */
static void open_all(size_t n, struct opening openings[MOST_RANKS])
{
    pthread_t threads[MOST_RANKS];
    letters_begin(n);
    n_lost = time_stands_at_lost = 0;
    memset(closes, 0, sizeof(closes));
    n_logged = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_rank, &openings[i]), 0);
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void open_ranks(size_t n, double seconds)
{
    struct opening openings[MOST_RANKS];
    for (size_t i = 0; i < n; i++) {
        openings[i].start = (struct ranks_start){.timeout_s = seconds, .version = "1", .digest = 7};
    }
    open_all(n, openings);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(openings[i].code, STATUS_OK);
        ranks[ranks_own(openings[i].ranks)] = openings[i].ranks;
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ranks_own(ranks[i]), i);
        assert_int_equal(ranks_size(ranks[i]), n);
        ranks_watch(ranks[i], note_lost, NULL);
    }
    begin_time();
}

static void *close_rank(void *r)
{
    ranks_close(r);
    return NULL;
}

static void begin_closing(size_t rank)
{
    closes[rank] = true;
    assert_int_equal(pthread_create(&closing[rank], NULL, close_rank, ranks[rank]), 0);
}

/* The n ranks: those that are stopped go on. Where none is lost no time passes, of which ranks that
 * leave well have only so much. */
static void close_all(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!closes[i]) {
            begin_closing(i);
        }
    }
    time_stands_ns = n_lost > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++) {
        letters_links[i].stopped = false;
        pthread_join(closing[i], NULL);
    }
    end_time();
    letters_end();
}

struct summing {
    struct ranks *ranks;
    const struct ranks_help *help;
    uint64_t totals[RANKS_TOTALS];
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
};

static void *sum(void *arg)
{
    struct summing *s = arg;
    s->code = ranks_sum(s->ranks, s->totals, s->help);
    snprintf(s->message, sizeof(s->message), "%s", s->code != STATUS_OK ? status_message() : "");
    return NULL;
}

/* All n ranks are done, but those that are stopped; total k of rank i is 10^i k. */
static void sum_all(size_t n, struct summing sums[MOST_RANKS])
{
    pthread_t threads[MOST_RANKS];
    uint64_t scale = 1;
    for (size_t i = 0; i < n; i++, scale *= 10) {
        sums[i] = (struct summing){.ranks = ranks[i]};
        for (size_t k = 0; k < RANKS_TOTALS; k++) {
            sums[i].totals[k] = scale * k;
        }
        if (!letters_links[i].stopped) {
            assert_int_equal(pthread_create(&threads[i], NULL, sum, &sums[i]), 0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!letters_links[i].stopped) {
            pthread_join(threads[i], NULL);
        }
    }
}

static void end_well(size_t n)
{
    struct summing sums[MOST_RANKS];
    uint64_t ones = 0;
    for (size_t i = 0; i < n; i++) {
        ones = 10 * ones + 1;
    }
    sum_all(n, sums);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sums[i].code, STATUS_OK);
        for (size_t k = 0; k < RANKS_TOTALS; k++) {
            assert_int_equal(sums[i].totals[k], ones * k);
        }
    }
    close_all(n);
    assert_int_equal(n_lost, 0);
    assert_int_equal(n_logged, 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(letters_links[i].closed && !letters_links[i].killed);
    }
}

/* The n ranks are done, but those that are stopped; the run ends because of rank `lost`. */
static void end_badly(size_t n, size_t lost)
{
    struct summing sums[MOST_RANKS];
    char name[16];
    snprintf(name, sizeof(name), "rank %zu (", lost);
    sum_all(n, sums);
    for (size_t i = 0; i < n; i++) {
        if (!letters_links[i].stopped) {
            assert_int_equal(sums[i].code, STATUS_IO);
            assert_non_null(strstr(sums[i].message, name));
        }
    }
}

static bool is_killed(size_t rank)
{
    return letters_links[rank].killed && !letters_links[rank].closed;
}

static void wait_for_killed(size_t rank)
{
    for (uint64_t i = 0; i < UINT64_C(10000) * WAIT_S && !letters_links[rank].killed; i++) {
        letters_sleep(0.0001);
    }
    assert_true(is_killed(rank));
}

/* The thread has looked whether it may leave. */
static void assert_waits(size_t rank)
{
    wait_for_poll(&letters_links[rank], letters_links[rank].n_polls + 3);
    assert_false(letters_links[rank].leaves);
}

static bool claim(size_t rank, uint64_t key)
{
    return ranks_claim(ranks[rank], key);
}

/* --- tests ------------------------------------------------------------------------------------ */

static bool owned[MOST_RANKS][KEYS];

static void *claim_all(void *number)
{
    const size_t rank = *(const size_t *)number;
    for (size_t key = 0; key < KEYS; key++) {
        owned[rank][key] = claim(rank, key);
    }
    return NULL;
}

TEST(each_key_is_one_ranks_and_stays_so)
{
    static size_t numbers[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    for (size_t n = 1; n <= MOST_RANKS; n++) {
        open_ranks(n, 0);
        for (size_t i = 0; i < n; i++) {
            numbers[i] = i;
            assert_int_equal(pthread_create(&threads[i], NULL, claim_all, &numbers[i]), 0);
        }
        for (size_t i = 0; i < n; i++) {
            pthread_join(threads[i], NULL);
        }
        for (size_t key = 0; key < KEYS; key++) {
            size_t owners = 0;
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(claim(i, key), owned[i][key]);
                owners += owned[i][key];
            }
            assert_int_equal(owners, 1);
        }
        end_well(n);
    }
}

TEST(rank_asks_hardly_about_what_others_have_claimed)
{
    open_ranks(3, 0);
    for (uint64_t key = 0; key < KEYS; key++) {
        assert_true(claim(1, key));
    }
    time_stands_ns = 0; /* no heartbeats */
    const size_t before = letters_links[2].n_sent;
    for (uint64_t key = 0; key < KEYS; key++) {
        assert_false(claim(2, key));
    }
    assert_true(letters_links[2].n_sent - before < KEYS / 10);
    end_well(3);
}

TEST(rank_that_is_stopped_takes_no_further_job)
{
    open_ranks(2, 0);
    assert_true(claim(1, 1));
    ranks_stop(ranks[1]);
    assert_false(claim(1, 2));
    assert_true(claim(0, 2));
    end_well(2);
}

/* n ranks, of which one is stopped, and perhaps another; time stands when all others know of it. */
static void lose(size_t n, size_t lost, size_t another)
{
    open_ranks(n, TIMEOUT_S);
    time_stands_at_lost = n - (lost == another ? 1 : 2);
    time_stands_ns = 0; /* both at one time */
    letters_links[lost].stopped = letters_links[another].stopped = true;
    time_stands_ns = UINT64_MAX;
    end_badly(n, lost);
}

TEST(silent_rank_ends_the_run_once_the_others_have_cleaned_up)
{
    for (size_t lost = 1; lost < MOST_RANKS; lost++) {
        const size_t busy = lost == 1 ? 2 : 1;
        lose(MOST_RANKS, lost, lost);
        for (size_t i = 0; i < MOST_RANKS; i++) {
            if (i != lost && i != busy) {
                assert_false(claim(i, 1));
                begin_closing(i);
            }
        }
        let_pass(3 * TIMEOUT_S);
        assert_waits(0);
        begin_closing(busy);
        wait_for_killed(0);
        assert_int_equal(n_logged, 1);
        close_all(MOST_RANKS);
        for (size_t i = 0; i < MOST_RANKS; i++) {
            assert_true(is_killed(i));
        }
    }
}

TEST(rank_that_never_cleans_up_is_waited_for_only_so_long)
{
    lose(3, 1, 1);
    begin_closing(0);
    let_pass(3 * TIMEOUT_S);
    assert_waits(0);
    let_pass(2 * TIMEOUT_S);
    wait_for_killed(0);
    close_all(3);
}

TEST(rank_that_is_left_alone_and_never_cleans_up_ends_in_time)
{
    lose(2, 1, 1);
    let_pass(3 * TIMEOUT_S);
    assert_waits(0);
    let_pass(2 * TIMEOUT_S);
    wait_for_killed(0);
    close_all(2);
}

TEST(first_rank_that_never_cleans_up_is_waited_for_only_so_long)
{
    lose(3, 2, 2);
    begin_closing(1);
    let_pass(4 * TIMEOUT_S);
    assert_waits(1);
    let_pass(2 * TIMEOUT_S);
    wait_for_killed(1);
    close_all(3);
}

TEST(silent_first_rank_ends_the_run_once_the_others_have_had_time)
{
    lose(3, 0, 0);
    assert_false(claim(1, 1));
    assert_false(claim(2, 1));
    begin_closing(1);
    let_pass(TIMEOUT_S / 2);
    assert_waits(1);
    let_pass(TIMEOUT_S);
    wait_for_killed(1);
    assert_int_equal(n_logged, 1);
    close_all(3);
}

TEST(first_two_ranks_that_fall_silent_end_the_run_and_others_say_why)
{
    lose(4, 0, 1);
    begin_closing(2);
    begin_closing(3);
    let_pass(2 * TIMEOUT_S);
    assert_waits(2);
    let_pass(2 * TIMEOUT_S);
    wait_for_killed(2);
    wait_for_killed(3);
    assert_int_equal(count_logged("rank 0 ("), 2); /* here none of them ends the other */
    close_all(4);
}

/* Rank 0 has the totals of rank 2. */
TEST(run_whose_rank_falls_silent_when_it_is_done_does_not_end_well)
{
    struct summing last;
    pthread_t thread;
    open_ranks(3, TIMEOUT_S);
    last = (struct summing){.ranks = ranks[2]};
    assert_int_equal(pthread_create(&thread, NULL, sum, &last), 0);
    while (letters_links[0].n_totals == 0) {
        letters_sleep(0.0001);
    }
    letters_links[2].stopped = true;
    while (n_lost < 2) {
        letters_sleep(0.0001);
    }
    end_badly(3, 2);
    letters_links[2].stopped = false;
    pthread_join(thread, NULL);
    assert_int_equal(last.code, STATUS_IO);
    close_all(3);
    assert_true(is_killed(0) && is_killed(1) && is_killed(2));
}

TEST(transport_that_fails_ends_the_run_and_is_logged_once)
{
    const double timeouts[] = {0, TIMEOUT_S};
    for (size_t k = 0; k < 2; k++) {
        struct summing sums[MOST_RANKS];
        open_ranks(2, timeouts[k]);
        letters_set_deaf(true);
        sum_all(2, sums);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(sums[i].code, STATUS_IO);
            assert_non_null(strstr(sums[i].message, "no letter can be read"));
            assert_waits(i);
        }
        close_all(2);
        letters_set_deaf(false);
        assert_true(is_killed(0) && is_killed(1));
        assert_int_equal(n_logged, 2);
    }
}

TEST(rank_that_cannot_be_reached_keeps_no_other_from_hearing_of_the_end)
{
    struct summing last = {0};
    open_ranks(3, TIMEOUT_S);
    letters_links[0].cut_to = 1;
    last.ranks = ranks[2];
    sum(&last);
    assert_int_equal(last.code, STATUS_IO);
    assert_non_null(strstr(last.message, "no letter reaches rank 1"));
    close_all(3);
    assert_true(is_killed(0) && is_killed(1) && is_killed(2));
}

/* Each in turn is the one that differs, whichever rank it gets. */
static void assert_refused(const struct ranks_start *usual, const struct ranks_start *other,
                           const char *why)
{
    for (size_t k = 0; k < 3; k++) {
        struct opening openings[MOST_RANKS];
        for (size_t i = 0; i < 3; i++) {
            openings[i].start = i == k ? *other : *usual;
        }
        open_all(3, openings);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(openings[i].code, STATUS_CANCELLED);
            assert_null(openings[i].ranks);
            assert_non_null(strstr(openings[i].message, why));
            assert_true(letters_links[i].closed && !letters_links[i].killed);
        }
        assert_int_equal(n_logged, 1);
        assert_non_null(strstr(logged[0], why));
    }
}

TEST(ranks_that_are_not_started_alike_are_refused_and_one_says_why)
{
    const struct ranks_start usual = {.version = "1", .digest = 7},
                             other_digest = {.version = "1", .digest = 8},
                             other_version = {.version = "2", .digest = 7};
    assert_refused(&usual, &other_digest, "has other inputs or options than rank 0 (");
    assert_refused(&usual, &other_version, "has another version than rank 0 (");
}

TEST(rank_that_cannot_join_says_why_and_ends_all)
{
    struct opening openings[MOST_RANKS] = {{.start = {.version = "1"}}};
    letters_gather_fails = true;
    open_all(1, openings);
    letters_gather_fails = false;
    assert_int_equal(openings[0].code, STATUS_IO);
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(logged[0], "the cards are lost"));
    assert_true(letters_links[0].killed && !letters_links[0].closed);
}

/* In a process of its own, since that ends. */
TEST(process_ends_when_another_does_not_leave)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t totals[RANKS_TOTALS] = {0};
        open_ranks(1, TIMEOUT_S);
        letters_links[0].lingers = true;
        if (ranks_sum(ranks[0], totals, NULL) == STATUS_OK) {
            ranks_close(ranks[0]);
        }
        _exit(0);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 1);
}

TEST(ranks_that_were_stopped_all_together_lose_nobody)
{
    open_ranks(3, TIMEOUT_S);
    assert_true(claim(2, 1));
    time_stands_ns = 0; /* all at one time */
    for (size_t i = 0; i < 3; i++) {
        letters_links[i].stopped = true;
    }
    time_ns += (uint64_t)(2.5e9 * TIMEOUT_S);
    for (size_t i = 0; i < 3; i++) {
        letters_links[i].stopped = false;
    }
    let_pass(2 * TIMEOUT_S);
    assert_true(claim(1, 2));
    assert_false(claim(2, 2));
    end_well(3);
}

/* --- ranks that are done compute for others --------------------------------------------------- */

enum { MOST_BYTES = 20 * RANK_MESSAGE_BYTES };

struct helper {
    struct ranks_help help;
    struct summing summing;
    pthread_t thread;
    atomic_size_t n_begun, n_helped;
    size_t last; /* whom */
    enum status code;
};
static struct helper helpers[MOST_RANKS];

/* What it is sent it sends back, until that is nothing. */
static void echo(void *user, size_t borrower)
{
    struct helper *h = user;
    struct ranks *r = h->summing.ranks;
    char *text = malloc(MOST_BYTES);
    size_t n = 1;
    assert_non_null(text);
    h->last = borrower;
    h->code = STATUS_OK;
    h->n_begun++;
    while (h->code == STATUS_OK && n > 0) {
        h->code = ranks_read(r, borrower, &n, sizeof(n));
        if (h->code == STATUS_OK && n > 0) {
            h->code = ranks_read(r, borrower, text, n);
        }
        if (h->code == STATUS_OK && n > 0) {
            h->code = ranks_write(r, borrower, &n, sizeof(n), text, n);
        }
    }
    free(text);
    h->n_helped++;
}

static void begin_helping(size_t rank)
{
    struct helper *h = &helpers[rank];
    *h = (struct helper){.help = {echo, h}, .summing = {.ranks = ranks[rank], .help = &h->help}};
    assert_int_equal(pthread_create(&h->thread, NULL, sum, &h->summing), 0);
}

static size_t borrow(size_t rank, size_t n, size_t *borrowed)
{
    size_t n_borrowed;
    ranks_borrow(ranks[rank], n, borrowed, &n_borrowed);
    return n_borrowed;
}

/* One of those that can be borrowed now or soon. */
static size_t borrow_one(size_t rank)
{
    size_t borrowed = RANKS_TOTALS;
    while (borrow(rank, 1, &borrowed) == 0) {
        letters_sleep(0.0001);
    }
    return borrowed;
}

static void give_back(size_t rank, size_t borrowed)
{
    const size_t nothing = 0;
    assert_int_equal(ranks_write(ranks[rank], borrowed, &nothing, sizeof(nothing), NULL, 0),
                     STATUS_OK);
}

/* The others are done; those that can be borrowed end their sums, too. */
static void end_helping(size_t n, size_t n_busy)
{
    struct summing sums[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    for (size_t i = 0; i < n_busy; i++) {
        sums[i] = (struct summing){.ranks = ranks[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, sum, &sums[i]), 0);
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(i < n_busy ? threads[i] : helpers[i].thread, NULL);
        assert_int_equal(i < n_busy ? sums[i].code : helpers[i].summing.code, STATUS_OK);
    }
    close_all(n);
    assert_int_equal(n_lost, 0);
}

TEST(rank_that_is_done_is_borrowed_by_one_at_a_time)
{
    size_t borrowed[MOST_RANKS];
    open_ranks(4, 0);
    assert_int_equal(borrow(1, 4, borrowed), 0);
    begin_helping(2);
    begin_helping(3);
    borrowed[0] = borrow_one(1);
    borrowed[1] = borrow_one(0);
    assert_int_equal(borrowed[0] + borrowed[1], 2 + 3);
    assert_int_equal(borrow(0, 4, borrowed + 2), 0);
    assert_int_equal(borrow(1, 4, borrowed + 2), 0);
    give_back(1, borrowed[0]);
    assert_int_equal(borrow_one(0), borrowed[0]);
    assert_int_equal(helpers[borrowed[0]].n_helped, 1);
    assert_int_equal(helpers[borrowed[0]].last, 1);
    give_back(0, borrowed[0]);
    give_back(0, borrowed[1]);
    while (helpers[borrowed[0]].n_helped < 2 || helpers[borrowed[1]].n_helped < 1) {
        letters_sleep(0.0001);
    }
    end_helping(4, 2);
}

/* Rank 0, too; and one that is done is not lent where it does not help. */
TEST(first_rank_is_borrowed_as_others_are)
{
    struct summing sums[MOST_RANKS];
    size_t borrowed[MOST_RANKS];
    pthread_t thread;
    open_ranks(3, 0);
    sums[1] = (struct summing){.ranks = ranks[1]};
    assert_int_equal(pthread_create(&thread, NULL, sum, &sums[1]), 0);
    begin_helping(0);
    assert_int_equal(borrow_one(2), 0);
    while (letters_links[0].n_totals == 0) { /* rank 1 is done */
        letters_sleep(0.0001);
    }
    assert_int_equal(borrow(2, 4, borrowed), 0);
    give_back(2, 0);
    sums[2] = (struct summing){.ranks = ranks[2]};
    sum(&sums[2]);
    pthread_join(thread, NULL);
    pthread_join(helpers[0].thread, NULL);
    assert_int_equal(sums[2].code, STATUS_OK);
    close_all(3);
}

/* Of less than a message, of one, and of more than may be on their way. */
TEST(bytes_come_as_they_were_however_many_they_are)
{
    static const size_t sizes[] = {1,
                                   5,
                                   4096,
                                   RANK_MESSAGE_BYTES - 17,
                                   RANK_MESSAGE_BYTES - 16,
                                   RANK_MESSAGE_BYTES - 15,
                                   RANK_MESSAGE_BYTES,
                                   9 * RANK_MESSAGE_BYTES + 3,
                                   MOST_BYTES};
    unsigned char *sent = malloc(MOST_BYTES), *back = malloc(MOST_BYTES);
    assert_true(sent != NULL && back != NULL);
    open_ranks(2, 0);
    begin_helping(1);
    borrow_one(0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = 0;
        for (size_t k = 0; k < sizes[i]; k++) {
            sent[k] = (unsigned char)((k * 2654435761u) >> (i + 8));
        }
        assert_int_equal(ranks_write(ranks[0], 1, &sizes[i], sizeof(sizes[i]), sent, sizes[i]),
                         STATUS_OK);
        assert_int_equal(ranks_read(ranks[0], 1, &n, sizeof(n)), STATUS_OK);
        assert_int_equal(n, sizes[i]);
        assert_int_equal(ranks_read(ranks[0], 1, back, n), STATUS_OK);
        assert_memory_equal(back, sent, n);
    }
    give_back(0, 1);
    end_helping(2, 1);
    free(sent);
    free(back);
}

/* Whoever reads or writes; the one that is lost is neither of those that talk, or one of them. */
TEST(talk_ends_when_a_rank_is_lost)
{
    for (size_t lost = 2; lost <= 3; lost++) {
        struct summing sums[MOST_RANKS];
        const size_t n = MOST_BYTES;
        char *text = calloc(1, MOST_BYTES);
        assert_non_null(text);
        open_ranks(4, TIMEOUT_S);
        begin_helping(2);
        borrow_one(1);
        letters_links[lost].stopped = true;
        const enum status read = ranks_read(ranks[1], 2, text, n);
        assert_int_equal(read, STATUS_CANCELLED);
        assert_string_equal(status_message(), "stopped, since a rank is lost");
        assert_int_equal(ranks_write(ranks[1], 2, &n, sizeof(n), text, n), STATUS_CANCELLED);
        assert_int_equal(borrow(1, 4, (size_t[4]){0}), 0);
        for (size_t i = 0; i < 2; i++) {
            sums[i] = (struct summing){.ranks = ranks[i]};
            sum(&sums[i]);
            assert_int_equal(sums[i].code, STATUS_IO);
        }
        letters_links[lost].stopped = false;
        pthread_join(helpers[2].thread, NULL);
        assert_int_equal(helpers[2].summing.code, STATUS_IO);
        close_all(4);
        free(text);
    }
}

/* The one that it has borrowed, which waits for it, goes on to the end of all. */
TEST(talk_ends_when_the_borrower_is_stopped)
{
    char text;
    open_ranks(2, 0);
    begin_helping(1);
    assert_int_equal(borrow_one(0), 1);
    const size_t n = 2;
    assert_int_equal(ranks_write(ranks[0], 1, &n, sizeof(n), NULL, 0), STATUS_OK);
    while (helpers[1].n_begun == 0) {
        letters_sleep(0.0001);
    }
    ranks_stop(ranks[0]);
    assert_int_equal(ranks_read(ranks[0], 1, &text, 1), STATUS_CANCELLED);
    assert_int_equal(borrow(0, 1, (size_t[1]){0}), 0);
    end_helping(2, 1);
    assert_int_equal(helpers[1].code, STATUS_CANCELLED);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
