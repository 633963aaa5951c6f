/*
 * landslide_sweep - several runs of one map, a batch of them side by side.
 *
 * The map goes to the backend once; a batch is opened there, makes its rounds of steps, and comes
 * to the host. Its ends are told while the next batch makes its first steps, where the backend's
 * calls return before these are made. One run at a time is a batch of one.
 */
#include "kernels/sciddicat/landslide.h"

static const struct sciddicat_kernels *kernels(const struct queue *q)
{
    return q->backend->ops->sciddicat;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* How many runs are made side by side; each takes so much on the backend and `host` bytes. */
static size_t most_of(const struct landslide *l, const struct landslide_sweep *s, uint64_t run,
                      uint64_t host)
{
    const uint64_t fit = s->most_bytes / (run + host),
                   best = kernels(l->home)->side_by_side(l->home);
    const uint64_t n = best < s->n_runs ? best : s->n_runs;
    return n < fit ? (size_t)n : fit > 1 ? (size_t)fit : 1;
}

enum status landslide_sweep_room(const struct landslide *l, struct landslide_sweep *s,
                                 struct room *room)
{
    const size_t cells = l->n_cells, run = kernels(l->home)->bytes(&l->params);
    double *h, *max_h;
    const size_t n = s->most = most_of(l, s, run, cells * 2 * sizeof *h);
    /* The other runs; and a device's copy of one's maxima on their way to the host, while the map
     * as it was given is still there. */
    room_count(room, 0, (n - 1) * (uint64_t)run + cells * sizeof *max_h);
    STATUS_TRY(room_host(room, n, sizeof *s->ends, &s->ends));
    STATUS_TRY(room_host(room, n, sizeof *s->runs, &s->runs));
    STATUS_TRY(room_host(room, n, sizeof *s->going, &s->going));
    STATUS_TRY(room_host(room, n, sizeof *s->going_end, &s->going_end));
    STATUS_TRY(room_host(room, n, sizeof *s->reports, &s->reports));
    STATUS_TRY(room_pinned(room, n * (uint64_t)cells, sizeof *h, &h));
    STATUS_TRY(room_pinned(room, n * (uint64_t)cells, sizeof *max_h, &max_h));
    for (size_t i = 0; s->ends != NULL && i < n; i++) {
        s->ends[i].h = h + i * cells;
        s->ends[i].max_h = max_h + i * cells;
    }
    return STATUS_OK;
}

/* --- a batch ---------------------------------------------------------------------------------- */

struct batch {
    struct landslide *slide;
    struct landslide_sweep *sweep;
    struct queue *queue;
    struct sciddicat_input input;
    size_t first, n;        /* the runs that are being made */
    size_t n_going, n_told; /* of them; how many runs have been told */
    uint64_t step;          /* that those have made which go on */
};

/* Those that have ended and are still to be told. */
static enum status tell(struct batch *b, size_t n_ended)
{
    const size_t first = b->n_told;
    b->n_told = n_ended;
    return first < n_ended ? b->sweep->done(b->slide->context, first, n_ended - first) : STATUS_OK;
}

static enum status open_runs(struct batch *b)
{
    struct sciddicat_params p = b->slide->params;
    b->n_going = 0;
    b->step = 0;
    for (size_t i = 0; i < b->n; i++) {
        p.epsilon = b->sweep->epsilon[b->first + i];
        p.r = b->sweep->r[b->first + i];
        STATUS_TRY(kernels(b->queue)->open(b->queue, &p, &b->input, &b->sweep->runs[i]));
        b->sweep->going[b->n_going] = b->sweep->runs[i];
        b->sweep->going_end[b->n_going++] = i;
    }
    return STATUS_OK;
}

static void close_runs(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        kernels(b->queue)->close(b->queue, b->sweep->runs[i]);
        b->sweep->runs[i] = NULL;
    }
}

/* Whether a round ends at rest, and which runs go on. */
static void sort_out(struct batch *b, uint64_t stop)
{
    const struct landslide *const l = b->slide;
    struct landslide_sweep *const s = b->sweep;
    size_t left = 0;
    for (size_t k = 0; k < b->n_going; k++) {
        struct landslide_end *const end = &s->ends[s->going_end[k]];
        end->now = s->reports[k];
        end->settled = l->settle > 0 && stop > 0 && stop % l->settle == 0 && !end->now.moved;
        if (stop < l->steps && !end->settled) {
            s->going[left] = s->going[k];
            s->going_end[left++] = s->going_end[k];
        }
    }
    b->n_going = left;
}

/* The first of a batch tells the ends of the one before, while it is made. */
static enum status make_round(struct batch *b)
{
    struct landslide *const l = b->slide;
    const struct landslide_sweep *const s = b->sweep;
    const double began = landslide_now_s();
    const uint64_t step = b->step, settle = l->settle > 0 ? l->settle - step % l->settle : l->steps;
    const uint64_t n = l->round_steps < settle ? l->round_steps : settle;
    const uint64_t n_steps = n < l->steps - step ? n : l->steps - step;
    STATUS_TRY(kernels(b->queue)->step(b->queue, s->going, b->n_going, n_steps));
    STATUS_TRY(tell(b, b->first));
    STATUS_TRY(kernels(b->queue)->report(b->queue, s->going, b->n_going, s->reports));
    landslide_pace(l, n_steps, began);
    b->step += n_steps;
    l->now.step += b->n_going * n_steps;
    sort_out(b, b->step);
    return l->pause != NULL ? l->pause(l->context) : STATUS_OK;
}

static enum status take_ends(struct batch *b)
{
    struct landslide *const l = b->slide;
    for (size_t i = 0; i < b->n; i++) {
        const struct landslide_end *const end = &b->sweep->ends[i];
        l->now = end->now;
        STATUS_TRY(landslide_check(l));
        STATUS_TRY(kernels(b->queue)->state(b->queue, b->sweep->runs[i], end->h, end->max_h, NULL));
    }
    l->now.step = 0;
    return STATUS_OK;
}

static enum status make_runs(struct batch *b)
{
    struct landslide *const l = b->slide;
    STATUS_TRY(open_runs(b));
    if (b->first == 0) {
        STATUS_TRY(kernels(b->queue)->advance(b->queue, b->sweep->runs[0], 0, &l->now));
        l->start.thickness = l->now.mass;
        l->now.step = 0;
    }
    do {
        STATUS_TRY(make_round(b));
    } while (b->n_going > 0);
    return take_ends(b);
}

static enum status make_batches(struct batch *b)
{
    const size_t all = b->sweep->n_runs, most = b->sweep->most;
    enum status st = STATUS_OK;
    landslide_pace(b->slide, 0, 0);
    for (b->first = 0; st == STATUS_OK && b->first < all; b->first += most) {
        b->n = all - b->first < most ? all - b->first : most;
        st = make_runs(b);
        close_runs(b);
    }
    return st == STATUS_OK ? tell(b, all) : st;
}

enum status landslide_sweep(struct landslide *l, struct landslide_sweep *sweep, struct queue *home)
{
    struct batch b = {.slide = l, .sweep = sweep, .queue = home};
    struct bands_input from;
    STATUS_TRY(landslide_input(l, &from));
    enum status st = bands_upload(home, &l->params, &from, &b.input);
    st = st == STATUS_OK ? make_batches(&b) : st;
    bands_release(home, &b.input);
    l->now = (struct sciddicat_report){.step = 0};
    return st;
}
