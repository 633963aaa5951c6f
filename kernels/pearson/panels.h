/*
 * panels - the panels of one correlation, taken by several members, each on a queue of its own,
 * with the bits of one.
 *
 * The first member, home, has the series as they come and the matrix. The others get every series
 * as it is standardized there, and take a panel now and then: all of it, as home would, so that the
 * bits do not depend on who takes it. Its coefficients come home while the next one is taken.
 */
#ifndef LEAT_KERNELS_PEARSON_PANELS_H
#define LEAT_KERNELS_PEARSON_PANELS_H

#include "kernels/pearson/pearson.h"

struct panels;

enum { PANELS_MOST = 63 /* members besides home */ };

struct panels_config {
    struct queue *home;
    enum pearson_precision precision;
    size_t n_series, n_samples; /* of all of the matrix; both at least 1 */
    size_t panel;               /* rows of a panel, at most */
};

/* Begins with those of the *n queues that can help: on devices whose bits are those of home's, that
 * have the memory, and to which copies go and come back as they were. They come first then, *n of
 * them, and stay in use until panels_close. With none *out is NULL, and the message says why the
 * last one cannot help. Errors are home's. */
enum status panels_open(const struct panels_config *c, struct queue **queues, size_t *n,
                        struct panels **out) STATUS_MUST_CHECK;
void panels_close(struct panels *p); /* NULL is fine */

/* Series first .. first + n - 1, standardized at `z` on the home queue, go to all members. */
enum status panels_give(struct panels *p, struct span z, size_t first, size_t n) STATUS_MUST_CHECK;

/* As gram() of a whole panel with all series up to its last one (b.first is 0), which have been
 * given and whose moments are complete; by the member whose turn it is. The coefficients may come
 * to panel->r as late as panels_collect. */
enum status panels_gram(struct panels *p, const struct pearson_panel *panel) STATUS_MUST_CHECK;

/* How many members there are, home with them; 1 of NULL. */
size_t panels_members(const struct panels *p);
/* When all series have been given: their moments go to all members. */
enum status panels_moments(struct panels *p, struct moments moments) STATUS_MUST_CHECK;
/* As panels_gram, by helper k, with these moments. The coefficients stay with it, at *r on *q,
 * until its second next panel. */
enum status panels_stay(struct panels *p, size_t k, const struct pearson_panel *panel,
                        struct queue **q, struct span *r) STATUS_MUST_CHECK;

/* All coefficients are home, before what is queued there later. Waits for the others, and says what
 * has failed on one of them. */
enum status panels_collect(struct panels *p) STATUS_MUST_CHECK;

/* Backend memory that each further member takes on its device, and at home. */
size_t panels_helper_bytes(const struct panels_config *c);
size_t panels_home_bytes(const struct panels_config *c);

#endif
