/*
 * test_sciddicat_bands - a landslide that several members compute has the bits of one run: h,
 * largest h, arrivals and every figure of each report. With $LEAT_TEST_RANKS all members but the
 * first are other ranks'.
 * ctest: long small=watched tsan=yes wrap=cpu_run_phases
 * ctest: again_plain=ranks:LEAT_TEST_RANKS=1:LEAT_TEST_SMALL=1
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/sciddicat/bands.h"
#include "kernels/sciddicat/bands_cut.h"
#include "kernels/sciddicat/phases_cpu.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/patience.h"
#include "tests/support/rank_queues.h"
#include "tests/support/reference.h"
#include "tests/support/sciddicat_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 7 };

struct map {
    struct sciddicat_params p;
    double *z, *h;
    unsigned char *nodata;
};

/* The same landslide, by one run and by members. */
struct pair {
    const struct map *map;
    void *run;
    struct bands *bands;
};

struct state {
    double *h, *max_h;
    int32_t *arrival;
};

static struct queue *queues[MOST_MEMBERS];
static struct executor executor;
static size_t
    most_pieces[MOST_MEMBERS + 1]; /* in a phase, by queue; the last: under_test_queue's */

static const struct sciddicat_kernels *kernels(void)
{
    return under_test_ops()->sciddicat;
}

static void *room(size_t n, size_t size)
{
    void *p = malloc(n * size + 1);
    assert_non_null(p);
    memset(p, 0xA5, n * size);
    return p;
}

static size_t cells(const struct map *m)
{
    return m->p.rows * m->p.columns;
}

/* A plain that falls to the south, without debris. */
static struct map map_new(size_t rows, size_t columns, enum sciddicat_nodata nodata, double fall)
{
    struct map m = {.p = {rows, columns, 0.001, 0.5, nodata}};
    m.z = room(cells(&m), sizeof *m.z);
    m.h = room(cells(&m), sizeof *m.h);
    m.nodata = room(cells(&m), 1);
    for (size_t k = 0; k < cells(&m); ++k) {
        m.z[k] = 1000 - fall * (double)(k / columns);
        m.h[k] = 0;
        m.nodata[k] = 0;
    }
    return m;
}

static struct map terrain(uint64_t seed, size_t rows, size_t columns, double share,
                          enum sciddicat_nodata nodata)
{
    struct map m = map_new(rows, columns, nodata, 0);
    sciddicat_reference_terrain(seed, rows, columns, share, nodata == SCIDDICAT_COMPAT ? 0 : 0.03,
                                m.z, m.h, m.nodata);
    return m;
}

static void map_free(struct map *m)
{
    free(m->z);
    free(m->h);
    free(m->nodata);
}

static void heap_up(struct map *m, size_t row, size_t column, size_t side, double thickness)
{
    for (size_t i = row; i < row + side && i < m->p.rows; ++i) {
        for (size_t j = column; j < column + side && j < m->p.columns; ++j) {
            m->h[i * m->p.columns + j] = thickness;
        }
    }
}

static void *open_run(const struct map *m)
{
    struct span z = under_test_put(m->z, cells(m) * sizeof *m->z);
    struct span h = under_test_put(m->h, cells(m) * sizeof *m->h);
    struct span nodata = under_test_put(m->nodata, cells(m));
    void *run;
    ASSERT_OK(
        kernels()->open(under_test_queue, &m->p, &(struct sciddicat_input){z, h, nodata}, &run));
    under_test_release(z);
    under_test_release(h);
    under_test_release(nodata);
    return run;
}

static struct bands_config config(void)
{
    return (struct bands_config){.home = queues[0], .executor = executor};
}

static struct bands_input input_of(const struct map *m)
{
    return (struct bands_input){m->z, m->h, m->nodata};
}

/* Queues from the first-th on up to n_queues become members. */
static enum status spread_from(struct bands *b, const struct map *m, size_t first, size_t n_queues)
{
    const struct bands_input in = input_of(m);
    struct queue *others[MOST_MEMBERS];
    size_t n = n_queues - first;
    memcpy(others, queues + first, n * sizeof(struct queue *));
    return bands_spread(b, others, &n, &in);
}

static enum status spread(struct bands *b, const struct map *m, size_t n_queues)
{
    return spread_from(b, m, 1, n_queues);
}

static struct pair pair_new(const struct map *m, size_t n_queues)
{
    const struct bands_config c = config();
    const struct bands_input in = input_of(m);
    struct pair s = {.map = m, .run = open_run(m)};
    ASSERT_OK(bands_open(&c, &m->p, &in, &s.bands));
    ASSERT_OK(spread(s.bands, m, n_queues));
    return s;
}

static void pair_free(struct pair *s)
{
    kernels()->close(under_test_queue, s->run);
    bands_close(s->bands);
}

static struct state state_new(const struct map *m)
{
    return (struct state){room(cells(m), sizeof(double)), room(cells(m), sizeof(double)),
                          room(cells(m), sizeof(int32_t))};
}

static void state_free(struct state *s)
{
    free(s->h);
    free(s->max_h);
    free(s->arrival);
}

static void same_bits(const struct map *m, const char *what, const void *got, const void *want,
                      size_t size)
{
    for (size_t k = 0; k < cells(m); ++k) {
        if (memcmp((const char *)got + k * size, (const char *)want + k * size, size) != 0) {
            fail_msg("%s differs at row %zu column %zu of %zu x %zu", what, k / m->p.columns,
                     k % m->p.columns, m->p.rows, m->p.columns);
        }
    }
}

static void same_state(const struct pair *s)
{
    struct state got = state_new(s->map), want = state_new(s->map);
    ASSERT_OK(kernels()->state(under_test_queue, s->run, want.h, want.max_h, want.arrival));
    ASSERT_OK(bands_state(s->bands, got.h, got.max_h, got.arrival));
    same_bits(s->map, "h", got.h, want.h, sizeof *got.h);
    same_bits(s->map, "max_h", got.max_h, want.max_h, sizeof *got.max_h);
    same_bits(s->map, "arrival", got.arrival, want.arrival, sizeof *got.arrival);
    state_free(&got);
    state_free(&want);
}

/* n_steps steps on both sides, after which all figures are the same. */
static struct sciddicat_report advance(struct pair *s, uint64_t n_steps)
{
    struct sciddicat_report got, want;
    memset(&got, 0xA5, sizeof got);
    ASSERT_OK(kernels()->advance(under_test_queue, s->run, n_steps, &want));
    ASSERT_OK(bands_advance(s->bands, n_steps, &got));
    assert_int_equal(got.step, want.step);
    assert_memory_equal(&got.mass, &want.mass, sizeof got.mass);
    assert_memory_equal(&got.lost_edge, &want.lost_edge, sizeof got.lost_edge);
    assert_memory_equal(&got.lost_nodata, &want.lost_nodata, sizeof got.lost_nodata);
    assert_memory_equal(&got.largest, &want.largest, sizeof got.largest);
    assert_int_equal(got.n_active, want.n_active);
    assert_int_equal(got.moved, want.moved);
    return got;
}

static struct bands_info info_of(const struct pair *s)
{
    struct bands_info info;
    bands_describe(s->bands, &info);
    return info;
}

/* In pieces that end within, at and after rounds of eight steps. */
static struct sciddicat_report check_until(const struct map *m, size_t n_queues, uint64_t n_last,
                                           struct bands_info *info)
{
    const uint64_t n_steps[] = {0, 1, 7, 8, 9, n_last};
    struct pair s = pair_new(m, n_queues);
    struct sciddicat_report last;
    for (size_t i = 0; i < sizeof n_steps / sizeof n_steps[0]; ++i) {
        last = advance(&s, n_steps[i]);
        same_state(&s);
    }
    *info = info_of(&s);
    pair_free(&s);
    return last;
}

static struct sciddicat_report check(const struct map *m, size_t n_queues, struct bands_info *info)
{
    return check_until(m, n_queues, under_test_size(100, 25), info);
}

/* The thread sanitizer takes its time for each number, and looks at who touches it: what one
 * thread decides on need not be tried in every way. */
static bool for_threads(void)
{
    return patience() >= 10;
}

/* Of all pairs of a policy and a number, or of half of them, or a third: each policy with others.
 */
static bool is_tried(unsigned policy, size_t i)
{
    return (policy + i) % under_test_size(1, for_threads() ? 3 : 2) == 0;
}

static bool by_ranks(void)
{
    return getenv("LEAT_TEST_RANKS") != NULL;
}

/* --- into how many pieces the CPU cuts what a queue is to do ------------------------------------
 */

struct counted {
    const struct cpu_phases *phases;
    size_t most;
};

static size_t next_counted(void *arg)
{
    struct counted *c = arg;
    const size_t n = c->phases->next(c->phases->arg);
    c->most = n > c->most ? n : c->most;
    return n;
}

static void piece_counted(void *arg, size_t index)
{
    const struct counted *c = arg;
    c->phases->piece(c->phases->arg, index);
}

void __real_cpu_run_phases(struct queue *q, size_t n_threads, const struct cpu_phases *phases);
void __wrap_cpu_run_phases(struct queue *q, size_t n_threads, const struct cpu_phases *phases);

void __wrap_cpu_run_phases(struct queue *q, size_t n_threads, const struct cpu_phases *phases)
{
    struct counted c = {.phases = phases};
    const struct cpu_phases watched = {.next = next_counted, .piece = piece_counted, .arg = &c};
    __real_cpu_run_phases(q, n_threads, &watched);
    for (size_t k = 0; k <= MOST_MEMBERS; ++k) {
        if (q == (k < MOST_MEMBERS ? queues[k] : under_test_queue) && c.most > most_pieces[k]) {
            most_pieces[k] = c.most;
        }
    }
}

/* --- tests --------------------------------------------------------------------------------------
 */

TEST(bands_are_as_busy_as_the_best_cut_allows)
{
    struct reference_random g = {5};
    for (int round = 0; round < 300; ++round) {
        enum { GROUPS = 9 };
        uint32_t busy[GROUPS];
        size_t first[4];
        uint64_t all, best = UINT64_MAX;
        for (size_t i = 0; i < GROUPS; ++i) {
            busy[i] = reference_uniform(&g) < 0.5 ? 0 : (uint32_t)(9 * reference_uniform(&g));
        }
        for (size_t i = 1; i < GROUPS - 1; ++i) {
            for (size_t j = i + 1; j < GROUPS; ++j) {
                const size_t any[] = {0, i, j, GROUPS};
                const uint64_t busiest = bands_cut_busiest(busy, any, 3, &all);
                best = busiest < best ? busiest : best;
            }
        }
        assert_int_equal(bands_cut(busy, GROUPS, 3, first), best);
        assert_int_equal(bands_cut_busiest(busy, first, 3, &all), best);
        assert_true(first[0] == 0 && 0 < first[1] && first[1] < first[2] && first[2] < GROUPS);
        assert_int_equal(first[3], GROUPS);
    }
}

/* Also where they have reported the same rows before, and nothing happens in them. */
TEST(members_report_rows_that_they_are_given)
{
    struct map m = terrain(15, 64, 40, 0.3, SCIDDICAT_SINK);
    const struct sciddicat_member_kernels *k = kernels()->member;
    const size_t n = (size_t)16 * 40;
    struct sciddicat_report ignored;
    struct sciddicat_row_figures got[16], want[16];
    struct sciddicat_rows rows = {.first = 16, .last = 32};
    void *from = open_run(&m), *to = open_run(&m);
    rows.h = room(n, sizeof *rows.h);
    rows.max_h = room(n, sizeof *rows.max_h);
    rows.arrival = room(n, sizeof *rows.arrival);
    ASSERT_OK(kernels()->advance(under_test_queue, from, 30, &ignored));
    ASSERT_OK(kernels()->advance(under_test_queue, to, 0, &ignored));
    ASSERT_OK(k->take(under_test_queue, from, &rows));
    ASSERT_OK(k->give(under_test_queue, to, &rows));
    ASSERT_OK(k->own(under_test_queue, from, 30, 16, 32));
    ASSERT_OK(k->own(under_test_queue, to, 30, 16, 32));
    ASSERT_OK(k->figures(under_test_queue, from, want));
    ASSERT_OK(k->figures(under_test_queue, to, got));
    assert_memory_equal(got, want, sizeof got);
    kernels()->close(under_test_queue, from);
    kernels()->close(under_test_queue, to);
    free(rows.h);
    free(rows.max_h);
    free(rows.arrival);
    map_free(&m);
}

TEST(bands_give_the_bits_of_one_run_for_any_number_of_members)
{
    static const size_t members[] = {1, 2, 3, 4, 7};
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i) {
            if (!is_tried(policy, i)) {
                continue;
            }
            struct bands_info info;
            struct map m = terrain(20 + i, under_test_size(203, 123), under_test_size(75, 24), 0.2,
                                   (enum sciddicat_nodata)policy);
            const struct sciddicat_report r =
                check_until(&m, members[i], under_test_size(100, 30), &info);
            assert_true(r.lost_edge > 0 && r.n_active > 0);
            assert_int_equal(r.lost_nodata > 0, policy == SCIDDICAT_SINK);
            assert_int_equal(info.n_members, members[i]);
            assert_int_equal(info.n_exchanges > 0, info.n_members > 1);
            map_free(&m);
        }
    }
}

/* Every band has sixteen rows, all of which are ghost rows of those beside. */
TEST(bands_may_be_of_sixteen_rows_with_debris_on_every_cut)
{
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        if (!is_tried(policy, 0)) {
            continue;
        }
        struct bands_info info;
        struct map m = map_new(112, 60, (enum sciddicat_nodata)policy, 0.01);
        for (size_t row = 14; row < 112; row += 16) {
            heap_up(&m, row, 3 * (row % 17) + 2, 4, 9);
            m.nodata[(row + 1) * 60 + 3 * (row % 17) + 7] = 1;
        }
        check_until(&m, 7, under_test_size(100, 40), &info);
        assert_int_equal(info.n_members, 7);
        map_free(&m);
    }
}

TEST(bands_are_as_few_as_have_sixteen_rows)
{
    static const size_t rows[] = {1, 2, 5, 15, 16, 17, 31, 32, 33, 47, 50, 111};
    for (size_t i = for_threads() ? 7 : 0; i < sizeof rows / sizeof rows[0]; ++i) {
        struct bands_info info;
        struct map m = terrain(40 + i, rows[i], 33, 0.4, SCIDDICAT_SINK);
        check_until(&m, 7, under_test_size(100, 20), &info);
        assert_int_equal(info.n_members, rows[i] >= 32 ? rows[i] / 16 : 1);
        map_free(&m);
    }
}

/* Eight cells wide, so that all that can happen to a row happens: one cell a step to the south. */
TEST(bands_are_crossed_by_a_slide)
{
    struct bands_info info;
    struct map m = map_new(144, 8, SCIDDICAT_WALL, 40);
    heap_up(&m, 1, 3, 3, 900);
    const struct sciddicat_report r = check(&m, 4, &info);
    struct pair s = pair_new(&m, 4);
    assert_true(r.n_active > 0);
    assert_true(advance(&s, under_test_size(400, 200)).lost_edge > 0);
    same_state(&s);
    pair_free(&s);
    map_free(&m);
}

/* All debris is in the upper quarter, and goes to the lower one: the cuts follow. */
TEST(bands_are_cut_again_where_debris_goes)
{
    for (size_t members = for_threads() ? 4 : 2; members <= 4; members += under_test_size(1, 2)) {
        const size_t columns = under_test_size(70, 40);
        struct map m = map_new(256, columns, SCIDDICAT_SINK, 5);
        for (size_t i = 8; i < 64; i += 14) {
            heap_up(&m, i, 5 + i % 23, 9, 20);
        }
        m.nodata[100 * columns + 12] = m.nodata[110 * columns + 20] = 1;
        struct pair s = pair_new(&m, members);
        for (int i = 0; i < 5; ++i) {
            advance(&s, under_test_size(100, 25));
            same_state(&s);
        }
        assert_true(info_of(&s).n_cuts > 2);
        pair_free(&s);
        map_free(&m);
    }
}

TEST(bands_hand_nothing_over_where_nothing_moves)
{
    struct bands_info info;
    struct map m = map_new(300, 40, SCIDDICAT_WALL, 0);
    heap_up(&m, 20, 15, 6, 3);
    heap_up(&m, 276, 15, 6, 3);
    check(&m, 2, &info);
    assert_int_equal(info.n_exchanges, 0);
    assert_true(info.n_quiet > 0);
    map_free(&m);
}

/* Two pools behind dams keep the cut where it is, between them; a small slide comes to it from the
 * north or from the south, and crosses it, at any time within a round. */
TEST(bands_let_debris_come_to_a_quiet_cut)
{
    enum { ROWS = 208 };
    const size_t columns = under_test_size(72, 40);
    const size_t stride = under_test_size(1, by_ranks() ? 16 : 17);
    for (size_t row = 45; row < 62; row += stride) {
        for (int north = 0; north < 2; ++north) {
            struct bands_info info;
            struct map m = map_new(ROWS, columns, SCIDDICAT_WALL, 0);
            for (size_t k = 0; k < cells(&m); ++k) {
                const size_t i = north ? ROWS - 1 - k / columns : k / columns;
                const size_t dam = i == 36 || i == 171;
                m.z[k] = 9000 - 40 * (double)(i < 36 ? 36 : i > 171 ? 171 : i) + 50 * (double)dam;
                m.h[k] = (i > 2 && i < 34) || (i > 173 && i < 206) ? 0.05 : 0;
            }
            heap_up(&m, north ? ROWS - 1 - row : row, 30, 1, 8);
            check_until(&m, 2, 100, &info);
            assert_int_equal(info.n_cuts, 1);
            assert_true(info.n_quiet > 0 && info.n_exchanges > 2);
            map_free(&m);
        }
    }
}

/* Debris that leaves nothing behind that can move, on rough ground: what a member has in the
 * outermost of its ghost rows at the end of a round may still move, and come to the cut, when the
 * debris itself has gone elsewhere. These maps, of many tried, show it. */
TEST(bands_hand_rows_over_once_more_when_debris_has_left_a_cut)
{
    static const uint64_t seeds[] = {68, 173, 586, 656, 1034, 1486};
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; ++i) {
        struct reference_random g = {seeds[i]};
        struct map m = map_new(96, 16 + 16 * (seeds[i] % 2), SCIDDICAT_WALL, 0);
        const double rough = 1 + 40 * reference_uniform(&g), rise = 8 * reference_uniform(&g) - 4;
        const double share = 0.002 + 0.05 * reference_uniform(&g);
        m.p.epsilon = seeds[i] % 3 == 0 ? 0.5 : 1;
        m.p.r = 1;
        for (size_t k = 0; k < cells(&m); ++k) {
            const double row = (double)(k / m.p.columns);
            m.z[k] = 1000 + floor(rough * reference_uniform(&g) + rise * row);
            m.h[k] = reference_uniform(&g) < share ? floor(1 + 12 * reference_uniform(&g)) : 0;
        }
        struct pair s = pair_new(&m, 2 + seeds[i] % 3);
        for (int n = 0; n < 12; ++n) {
            advance(&s, 16);
        }
        same_state(&s);
        pair_free(&s);
        map_free(&m);
    }
}

/* Begun by one member, at steps that are even and odd; what has come to rest at the step before the
 * others come is reported as such. */
TEST(bands_may_be_shared_out_at_any_step)
{
    static const uint64_t at[] = {1, 2, 39, 64};
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        for (size_t i = 0; i < sizeof at / sizeof at[0]; ++i) {
            if (!is_tried(policy, i)) {
                continue;
            }
            struct map m = terrain(90 + i, under_test_size(150, 81), under_test_size(60, 20), 0.3,
                                   (enum sciddicat_nodata)policy);
            struct pair s = pair_new(&m, 1);
            uint64_t busy;
            advance(&s, at[i]);
            ASSERT_OK(bands_busy(s.bands, &busy));
            assert_true(busy > 0);
            ASSERT_OK(spread(s.bands, &m, 2 + i));
            assert_int_equal(info_of(&s).n_members, 2 + i);
            same_state(&s);
            for (uint64_t n = 0; n < 39; n += 13) {
                advance(&s, n);
                same_state(&s);
            }
            pair_free(&s);
            map_free(&m);
        }
    }
}

/* Also more than once before a step, and until there cannot be more. */
TEST(bands_may_get_more_members_later)
{
    static const uint64_t steps[] = {0, 3, 0, 24, 40};
    static const size_t members[] = {2, 3, 5, 6, 7}; /* of which six have sixteen rows */
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        if (!is_tried(policy, 0)) {
            continue;
        }
        struct map m =
            terrain(95, 100, under_test_size(60, 20), 0.3, (enum sciddicat_nodata)policy);
        struct pair s = pair_new(&m, 1);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
            uint64_t busy;
            ASSERT_OK(bands_busy(s.bands, &busy));
            assert_int_equal(busy > 0, info_of(&s).n_members < 6);
            ASSERT_OK(spread_from(s.bands, &m, i == 0 ? 1 : members[i - 1], members[i]));
            const size_t most = members[i] < 6 ? members[i] : 6;
            assert_int_equal(info_of(&s).n_members, most);
            advance(&s, steps[i]);
            same_state(&s);
        }
        pair_free(&s);
        map_free(&m);
    }
}

TEST(bands_compute_many_small_slides)
{
    struct bands_info info;
    struct map m =
        terrain(60, under_test_size(400, 200), under_test_size(120, 60), 0, SCIDDICAT_WALL);
    for (size_t i = 3; i < 390; i += 13) {
        for (size_t j = 3; j < 110; j += 29) {
            heap_up(&m, i, j + i % 11, 2, 6);
        }
    }
    check_until(&m, 4, under_test_size(100, 20), &info);
    map_free(&m);
}

/* Wide and busy enough for each member to cut its rows for its own threads. */
TEST(bands_are_cut_for_threads_as_one_run_is)
{
    if (by_ranks() && under_test_size(0, 1) == 1) { /* whose threads are cut as without them */
        skip();
    }
    struct bands_info info;
    struct map m =
        terrain(61, under_test_size(420, 200), under_test_size(200, 40), 0.3, SCIDDICAT_SINK);
    memset(most_pieces, 0, sizeof most_pieces);
    check_until(&m, 2, under_test_size(100, 15), &info);
    if (under_test_is_cpu()) {
        assert_true(most_pieces[MOST_MEMBERS] > 1);
        assert_true(most_pieces[0] > 1);
        assert_true(by_ranks() || most_pieces[1] > 1);
    }
    map_free(&m);
}

TEST(bands_come_to_rest)
{
    struct map m = map_new(96, 30, SCIDDICAT_WALL, 0);
    m.p.epsilon = 1;
    m.p.r = 1;
    heap_up(&m, 40, 10, 1, 30);
    struct pair s = pair_new(&m, 3);
    assert_true(advance(&s, 1).moved);
    struct sciddicat_report r = advance(&s, 4000);
    for (int i = 0; i < 20 && r.moved; ++i) {
        r = advance(&s, 4000);
    }
    assert_false(r.moved);
    assert_false(advance(&s, 0).moved);
    same_state(&s);
    pair_free(&s);
    map_free(&m);
}

/* A map without debris that can move; with nothing to do, bands are as high as each other. */
TEST(bands_without_debris_do_nothing)
{
    struct bands_info info;
    struct map m = map_new(70, 20, SCIDDICAT_WALL, 1);
    heap_up(&m, 30, 5, 5, 0.001);
    const struct sciddicat_report r = check(&m, 4, &info);
    assert_false(r.moved);
    assert_int_equal(info.n_exchanges, 0);
    map_free(&m);
}

TEST(bands_refuse_what_is_no_map)
{
    const struct bands_config c = config();
    const struct sciddicat_params p = {.rows = 0, .columns = 5};
    struct bands *b = (struct bands *)&p;
    assert_int_equal(bands_open(&c, &p, &(struct bands_input){.z = NULL}, &b), STATUS_BAD_ARGUMENT);
    assert_null(b);
    bands_close(b);
}

/* --- a backend whose members fail, or that has none ---------------------------------------------
 */

static unsigned n_calls;

static enum status fail_later(struct queue *q, void *run, unsigned n_steps)
{
    return ++n_calls > 2 ? status_fail(STATUS_DEVICE, "the third call fails")
                         : cpu_sciddicat.member->step(q, run, n_steps);
}

struct changed {
    struct cpu_backend backend;
    struct backend_ops ops;
    struct sciddicat_kernels kernels;
    struct sciddicat_member_kernels member;
};

/* A queue's backend becomes one with other members. */
static struct backend *change_of(size_t k, struct changed *c)
{
    struct backend *before = queues[k]->backend;
    c->backend = *(const struct cpu_backend *)before;
    c->ops = *before->ops;
    c->kernels = cpu_sciddicat;
    c->member = *cpu_sciddicat.member;
    c->kernels.member = &c->member;
    c->ops.sciddicat = &c->kernels;
    c->backend.base.ops = &c->ops;
    queues[k]->backend = &c->backend.base;
    return before;
}

/* The second queue's. */
static struct backend *change(struct changed *c)
{
    return change_of(1, c);
}

TEST(bands_pass_on_what_a_member_says)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed other;
    struct sciddicat_report r;
    struct bands *b;
    struct backend *before = change(&other);
    struct map m = terrain(70, 64, 20, 0.5, SCIDDICAT_WALL);
    const struct bands_config c = config();
    const struct bands_input in = input_of(&m);
    other.member.step = fail_later;
    ASSERT_OK(bands_open(&c, &m.p, &in, &b));
    ASSERT_OK(spread(b, &m, 2));
    ASSERT_OK(bands_advance(b, 16, &r));
    assert_int_equal(bands_advance(b, 1, &r), STATUS_DEVICE);
    assert_string_equal(status_message(), "the third call fails");
    bands_close(b);
    queues[1]->backend = before;
    map_free(&m);
}

static enum status never_copy(struct queue *q, struct span to, struct queue *from_q,
                              struct span from, size_t bytes)
{
    (void)q, (void)to, (void)from_q, (void)from, (void)bytes;
    return status_fail(STATUS_DEVICE, "there is no way from one to the other");
}

/* Of two tables, or of one that cannot. */
TEST(bands_hand_rows_over_through_host_memory_where_queues_cannot_copy)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed other, third;
    struct backend *before[] = {change_of(1, &other), change_of(2, &third)};
    for (int none = 0; none < 2; ++none) {
        struct bands_info info;
        struct map m = terrain(75, 112, 20, 0.5, SCIDDICAT_SINK);
        other.ops.copy_across = none ? NULL : never_copy;
        third.ops.copy_across = NULL;
        check(&m, 4, &info);
        assert_int_equal(info.n_members, 4);
        assert_true(info.n_exchanges > 0);
        map_free(&m);
    }
    queues[1]->backend = before[0];
    queues[2]->backend = before[1];
}

static enum status fail_to_open(struct queue *q, const struct sciddicat_params *p,
                                const struct sciddicat_input *in, void **run)
{
    (void)q;
    (void)p;
    (void)in;
    *run = NULL;
    return status_fail(STATUS_NO_MEMORY, "this one has no room");
}

TEST(bands_go_on_as_they_were_when_a_member_cannot_be_opened)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed other;
    struct backend *before = change(&other);
    struct map m = terrain(72, 64, 20, 0.5, SCIDDICAT_WALL);
    struct pair s = pair_new(&m, 1);
    advance(&s, 5);
    other.kernels.open = fail_to_open;
    assert_int_equal(spread(s.bands, &m, 2), STATUS_NO_MEMORY);
    assert_string_equal(status_message(), "this one has no room");
    assert_int_equal(info_of(&s).n_members, 1);
    advance(&s, 5);
    other.kernels.open = cpu_sciddicat.open;
    ASSERT_OK(spread(s.bands, &m, 3));
    assert_int_equal(info_of(&s).n_members, 3);
    advance(&s, 30);
    same_state(&s);
    pair_free(&s);
    queues[1]->backend = before;
    map_free(&m);
}

TEST(bands_keep_their_members_when_a_later_one_cannot_be_opened)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed other;
    struct backend *before = change_of(2, &other);
    struct map m = terrain(76, 64, 20, 0.5, SCIDDICAT_WALL);
    struct pair s = pair_new(&m, 2);
    advance(&s, 13);
    other.kernels.open = fail_to_open;
    assert_int_equal(spread_from(s.bands, &m, 2, 3), STATUS_NO_MEMORY);
    assert_int_equal(info_of(&s).n_members, 2);
    advance(&s, 13);
    other.kernels.open = cpu_sciddicat.open;
    ASSERT_OK(spread_from(s.bands, &m, 2, 3));
    assert_int_equal(info_of(&s).n_members, 3);
    advance(&s, 13);
    same_state(&s);
    pair_free(&s);
    queues[2]->backend = before;
    map_free(&m);
}

TEST(bands_do_without_a_member_that_cannot_be_opened)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed other;
    struct backend *before = change(&other);
    struct map m = terrain(73, 64, 20, 0.5, SCIDDICAT_WALL);
    const struct bands_input in = input_of(&m);
    struct pair s = pair_new(&m, 1);
    struct queue *others[] = {queues[1], queues[2], queues[3]};
    size_t n = 3;
    other.kernels.open = fail_to_open;
    advance(&s, 5);
    ASSERT_OK(bands_spread(s.bands, others, &n, &in));
    assert_int_equal(n, 2);
    assert_ptr_equal(others[0], queues[2]);
    assert_ptr_equal(others[1], queues[3]);
    assert_int_equal(info_of(&s).n_members, 3);
    advance(&s, 30);
    same_state(&s);
    pair_free(&s);
    queues[1]->backend = before;
    map_free(&m);
}

static enum status lose_a_byte(struct queue *q, struct span to, struct queue *from_q,
                               struct span from, size_t bytes)
{
    return backend_cpu.copy_across(q, to, from_q, from, bytes - 1);
}

TEST(bands_go_on_as_they_were_when_copies_between_members_are_wrong)
{
    if (!under_test_is_cpu() || by_ranks()) {
        skip();
    }
    struct changed home, other;
    struct backend *before[] = {change_of(0, &home), change_of(1, &other)};
    struct map m = terrain(74, 64, 20, 0.5, SCIDDICAT_WALL);
    home.ops.copy_across = other.ops.copy_across = lose_a_byte;
    struct pair s = pair_new(&m, 1);
    advance(&s, 5);
    assert_int_equal(spread(s.bands, &m, 2), STATUS_DEVICE);
    assert_int_equal(info_of(&s).n_members, 1);
    advance(&s, 30);
    same_state(&s);
    pair_free(&s);
    queues[0]->backend = before[0];
    queues[1]->backend = before[1];
    map_free(&m);
}

static int make_queues(void **state)
{
    (void)state;
    executor = under_test_executor(3);
    if (by_ranks()) {
        rank_queues_begin(MOST_MEMBERS - 1, 64 << 20);
    }
    for (size_t k = 0; k < MOST_MEMBERS; ++k) {
        queues[k] = k > 0 && by_ranks() ? rank_queues_new() : under_test_queue_new(k);
    }
    return 0;
}

static int free_queues(void **state)
{
    (void)state;
    for (size_t k = 0; k < MOST_MEMBERS; ++k) {
        queues[k]->backend->ops->queue_free(queues[k]);
    }
    if (by_ranks()) {
        rank_queues_end();
    }
    return 0;
}

int main(void)
{
    return UNDER_TEST_RUN(make_queues, free_queues);
}
