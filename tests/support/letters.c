/*
 * letters - see the header.
 */
#include "tests/support/letters.h"

#include "pipeline/ranks/ranks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct letter {
    struct letter *next;
    size_t from, bytes;
    _Alignas(max_align_t) char text[];
};

struct rank_link letters_links[LETTERS_MOST_RANKS];
size_t letters_n_links;
atomic_bool letters_gather_fails;
static size_t n_open, n_cards;
static bool all_are_deaf; /* under post */
static pthread_mutex_t post = PTHREAD_MUTEX_INITIALIZER;

void letters_sleep(double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

static void describe(char *text, size_t bytes)
{
    snprintf(text, bytes, "letters");
}

static enum status open_link(struct rank_link **out, size_t *rank, size_t *size)
{
    pthread_mutex_lock(&post);
    *rank = n_open++;
    pthread_mutex_unlock(&post);
    *out = &letters_links[*rank];
    *size = letters_n_links;
    return STATUS_OK;
}

enum { MOST_CARD_BYTES = 256 };
static char cards[LETTERS_MOST_RANKS * MOST_CARD_BYTES];
static pthread_cond_t cards_are_here = PTHREAD_COND_INITIALIZER;

static enum status gather(struct rank_link *link, const void *own, size_t bytes, void *all)
{
    assert_true(bytes <= MOST_CARD_BYTES);
    if (letters_gather_fails) {
        return status_fail(STATUS_IO, "the cards are lost");
    }
    pthread_mutex_lock(&post);
    memcpy(cards + link->own * bytes, own, bytes);
    n_cards++;
    pthread_cond_broadcast(&cards_are_here);
    while (n_cards < letters_n_links) {
        pthread_cond_wait(&cards_are_here, &post);
    }
    memcpy(all, cards, letters_n_links * bytes);
    pthread_mutex_unlock(&post);
    return STATUS_OK;
}

static enum status send_letter(struct rank_link *link, size_t to, const void *message, size_t bytes)
{
    link->n_sent++;
    if (to == link->cut_to) {
        return status_fail(STATUS_IO, "no letter reaches rank %zu", to);
    }
    struct letter *l = malloc(sizeof(*l) + bytes);
    assert_non_null(l);
    assert_true(bytes <= RANK_MESSAGE_BYTES);
    *l = (struct letter){.from = link->own, .bytes = bytes};
    memcpy(l->text, message, bytes);
    pthread_mutex_lock(&post);
    *letters_links[to].last = l;
    letters_links[to].last = &l->next;
    pthread_mutex_unlock(&post);
    return STATUS_OK;
}

static enum status receive_letter(struct rank_link *link, const void **message, size_t *from)
{
    *message = NULL;
    link->n_polls++;
    while (link->stopped) {
        letters_sleep(0.0001);
    }
    free(link->read);
    pthread_mutex_lock(&post);
    const bool deaf = all_are_deaf;
    struct letter *l = link->read = deaf ? NULL : link->first;
    if (l != NULL) {
        link->first = l->next;
        link->last = l->next != NULL ? link->last : &link->first;
        link->n_totals += l->bytes > sizeof(uint64_t[RANKS_TOTALS]); /* all else is shorter */
        *from = l->from;
        *message = l->text;
    }
    pthread_mutex_unlock(&post);
    return deaf ? status_fail(STATUS_IO, "no letter can be read") : STATUS_OK;
}

static void close_link(struct rank_link *link)
{
    link->leaves = true;
    while (link->lingers) {
        letters_sleep(0.01);
    }
    link->closed = true;
}

static void kill_link(struct rank_link *link, int exit_status)
{
    assert_int_equal(exit_status, 1);
    link->killed = true;
    link->leaves = true;
}

const struct rank_transport letters_transport = {.describe = describe,
                                                 .open = open_link,
                                                 .gather = gather,
                                                 .close = close_link,
                                                 .send = send_letter,
                                                 .receive = receive_letter,
                                                 .kill = kill_link};

/* --- what tests do ---------------------------------------------------------------------------- */

void letters_begin(size_t n)
{
    letters_n_links = n;
    n_open = n_cards = 0;
    for (size_t i = 0; i < n; i++) {
        letters_links[i] = (struct rank_link){.own = i, .cut_to = SIZE_MAX};
        letters_links[i].last = &letters_links[i].first;
    }
}

void letters_end(void)
{
    for (size_t i = 0; i < letters_n_links; i++) {
        for (struct letter *l; (l = letters_links[i].first) != NULL;) {
            letters_links[i].first = l->next;
            free(l);
        }
        free(letters_links[i].read);
    }
}

void letters_set_deaf(bool deaf)
{
    pthread_mutex_lock(&post);
    all_are_deaf = deaf;
    pthread_mutex_unlock(&post);
}
