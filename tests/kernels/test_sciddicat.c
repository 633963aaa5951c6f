/*
 * test_sciddicat - the automaton against its plain form, bit for bit, on the backend
 * LEAT_TEST_BACKEND: h, largest h, arrivals and every figure of the report.
 *
 * The Tessina landslide, with hashes known from the published programs, is read from $LEAT_TESSINA
 * or from ../shared/data/tessina beside the source tree, where it is there.
 * ctest: long small=watched tsan=yes
 */
#include "kernels/sciddicat/sciddicat.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"
#include "tests/support/sciddicat_reference.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- a map, on the backend and in the reference --------------------------------------------------
 */

struct map {
    struct sciddicat_params p;
    double *z, *h;
    unsigned char *nodata;
    size_t number; /* of the case, where its parameters are those of others */
};

struct pair {
    struct map map;
    struct sciddicat_reference *want;
    void *run;
    double *h, *max_h;
    int32_t *arrival;
};

static const struct sciddicat_kernels *kernels(void)
{
    return under_test_ops()->sciddicat;
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    assert_non_null(p);
    return p;
}

static size_t cells(const struct map *m)
{
    return m->p.rows * m->p.columns;
}

static struct map map_new(size_t rows, size_t columns, double r, enum sciddicat_nodata nodata)
{
    struct map m = {.p = {rows, columns, 0.001, r, nodata}};
    m.z = room(cells(&m), sizeof *m.z);
    m.h = room(cells(&m), sizeof *m.h);
    m.nodata = room(cells(&m), 1);
    return m;
}

static void map_free(struct map *m)
{
    free(m->z);
    free(m->h);
    free(m->nodata);
}

static void *open_run(const struct map *m)
{
    struct span z = under_test_put(m->z, cells(m) * sizeof *m->z);
    struct span h = under_test_put(m->h, cells(m) * sizeof *m->h);
    struct span nodata = under_test_put(m->nodata, cells(m));
    void *run;
    assert_true(kernels()->bytes(&m->p) > cells(m) * sizeof(double));
    ASSERT_OK(
        kernels()->open(under_test_queue, &m->p, &(struct sciddicat_input){z, h, nodata}, &run));
    under_test_release(z);
    under_test_release(h);
    under_test_release(nodata);
    return run;
}

static struct pair pair_new(const struct map *m)
{
    struct pair s = {.map = *m};
    s.want = sciddicat_reference_new(&m->p, m->z, m->h, m->nodata);
    s.run = open_run(m);
    s.h = room(cells(m), sizeof *s.h);
    s.max_h = room(cells(m), sizeof *s.max_h);
    s.arrival = room(cells(m), sizeof *s.arrival);
    return s;
}

static void pair_free(struct pair *s)
{
    sciddicat_reference_free(s->want);
    kernels()->close(under_test_queue, s->run);
    free(s->h);
    free(s->max_h);
    free(s->arrival);
}

/* Which case of a test it is. */
static const char *case_of(const struct map *m, uint64_t step)
{
    static const char *const policies[] = {
        [SCIDDICAT_WALL] = "wall", [SCIDDICAT_SINK] = "sink", [SCIDDICAT_COMPAT] = "compat"};
    static char text[160];
    (void)snprintf(text, sizeof text,
                   "case %zu of %zu x %zu, nodata %s, epsilon %g, r %g, after step %llu", m->number,
                   m->p.rows, m->p.columns, policies[m->p.nodata], m->p.epsilon, m->p.r,
                   (unsigned long long)step);
    return text;
}

/* The first cell whose bits differ is named. */
static void same_doubles(const double *got, const double *want, const char *what,
                         const struct map *m, uint64_t step)
{
    for (size_t k = 0; k < cells(m); ++k) {
        if (memcmp(got + k, want + k, sizeof *got) != 0) {
            fail_msg("%s at row %zu, column %zu is %a, not %a: %s", what, k / m->p.columns,
                     k % m->p.columns, got[k], want[k], case_of(m, step));
        }
    }
}

static void same_arrivals(const int32_t *got, const int32_t *want, const struct map *m,
                          uint64_t step)
{
    for (size_t k = 0; k < cells(m); ++k) {
        if (got[k] != want[k]) {
            fail_msg("arrival at row %zu, column %zu is %d, not %d: %s", k / m->p.columns,
                     k % m->p.columns, got[k], want[k], case_of(m, step));
        }
    }
}

static void same_figures(const struct sciddicat_report *got, const struct sciddicat_report *want,
                         const struct map *m)
{
    const struct {
        const char *name;
        double got, want;
    } figures[] = {{"step", (double)got->step, (double)want->step},
                   {"mass", got->mass, want->mass},
                   {"lost_edge", got->lost_edge, want->lost_edge},
                   {"lost_nodata", got->lost_nodata, want->lost_nodata},
                   {"largest", got->largest, want->largest},
                   {"n_active", (double)got->n_active, (double)want->n_active},
                   {"moved", got->moved, want->moved}};
    for (size_t k = 0; k < sizeof figures / sizeof *figures; ++k) {
        if (memcmp(&figures[k].got, &figures[k].want, sizeof(double)) != 0) {
            fail_msg("%s is %a, not %a: %s", figures[k].name, figures[k].got, figures[k].want,
                     case_of(m, want->step));
        }
    }
}

/* n_steps steps on both sides; then everything is the same. */
static struct sciddicat_report check(struct pair *s, uint64_t n_steps)
{
    const struct map *m = &s->map;
    struct sciddicat_report got, want;
    for (uint64_t t = 0; t < n_steps; ++t) {
        sciddicat_reference_step(s->want);
    }
    sciddicat_reference_report(s->want, &want);
    memset(&got, 0xff, sizeof got);
    ASSERT_OK(kernels()->advance(under_test_queue, s->run, n_steps, &got));
    ASSERT_OK(kernels()->state(under_test_queue, s->run, s->h, s->max_h, s->arrival));
    same_doubles(s->h, s->want->h, "h", m, want.step);
    same_doubles(s->max_h, s->want->max_h, "max_h", m, want.step);
    same_arrivals(s->arrival, s->want->arrival, m, want.step);
    same_figures(&got, &want, m);
    return got;
}

static struct sciddicat_report check_map(const struct map *m, const uint64_t *n_steps, size_t n)
{
    struct pair s = pair_new(m);
    struct sciddicat_report last = check(&s, 0);
    for (size_t i = 0; i < n; ++i) {
        last = check(&s, n_steps[i]);
    }
    pair_free(&s);
    return last;
}

/* --- tests --------------------------------------------------------------------------------------
 */

TEST(sciddicat_matches_the_reference_on_every_shape)
{
    static const size_t shapes[][2] = {{1, 1},    {1, 2},    {2, 2},    {3, 3},   {3, 1},
                                       {1, 300},  {300, 3},  {4, 7},    {8, 8},   {9, 10},
                                       {16, 16},  {17, 33},  {31, 32},  {33, 31}, {32, 64},
                                       {257, 65}, {65, 257}, {100, 500}};
    static const uint64_t n_steps[] = {1, 1, 2, 5, 20};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i += under_test_size(1, 11)) {
        for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
            for (int dense = 0; dense < 2; ++dense) {
                struct map m = map_new(shapes[i][0], shapes[i][1], dense ? 0.5 : 0.3,
                                       (enum sciddicat_nodata)policy);
                sciddicat_reference_terrain(100 + i, m.p.rows, m.p.columns, dense ? 0.9 : 0.02,
                                            policy == SCIDDICAT_COMPAT ? 0 : 0.05, m.z, m.h,
                                            m.nodata);
                check_map(&m, n_steps, under_test_size(sizeof n_steps / sizeof n_steps[0], 2));
                map_free(&m);
            }
        }
    }
}

TEST(sciddicat_matches_the_reference_on_a_large_map)
{
    static const uint64_t n_steps[] = {3, 9, 20};
    static const double shares[] = {0.002, 0.5};
    for (int i = 0; i < 2; ++i) {
        struct map m = map_new(under_test_size(1031, 131), 517, i ? 0.3 : 0.5,
                               i ? SCIDDICAT_SINK : SCIDDICAT_WALL);
        sciddicat_reference_terrain(7, m.p.rows, 517, shares[i], 0.01, m.z, m.h, m.nodata);
        check_map(&m, n_steps, under_test_size(3, 1));
        map_free(&m);
    }
}

TEST(sciddicat_keeps_its_bits_and_mass_over_thousands_of_steps)
{
    static const uint64_t n_steps[] = {500, 1, 1499, 3000};
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        struct map m = map_new(24, 37, 0.5, (enum sciddicat_nodata)policy);
        sciddicat_reference_terrain(3, 24, 37, 0.3, policy == SCIDDICAT_COMPAT ? 0 : 0.1, m.z, m.h,
                                    m.nodata);
        struct pair s = pair_new(&m);
        const double mass = check(&s, 0).mass;
        for (size_t i = 0; i < sizeof n_steps / sizeof n_steps[0]; ++i) {
            struct sciddicat_report r = check(&s, under_test_size(n_steps[i], 30));
            const double off = fabs(r.mass + r.lost_edge + r.lost_nodata - mass);
            if (!(off <= sciddicat_mass_balance_bound(&m.p, mass, r.step)) || !(r.lost_edge > 0) ||
                (r.lost_nodata > 0) != (policy == SCIDDICAT_SINK)) {
                fail_msg("the balance is off by %g, %g left by the edge, %g by NODATA: %s", off,
                         r.lost_edge, r.lost_nodata, case_of(&m, r.step));
            }
        }
        pair_free(&s);
        map_free(&m);
    }
}

/* Levels that are equal, or whose average is: every comparison of the rule is a tie somewhere. */
TEST(sciddicat_settles_ties_as_written)
{
    static const uint64_t n_steps[] = {1, 1, 1, 30};
    static const double epsilons[] = {0, 0.5, 1}, rs[] = {0, 0.5, 1};
    struct reference_random g = {11};
    for (size_t e = 0; e < 3; ++e) {
        for (size_t r = 0; r < under_test_size(3, 1); ++r) {
            struct map m = map_new(35, 51, rs[r], SCIDDICAT_WALL);
            m.p.epsilon = epsilons[e];
            for (size_t k = 0; k < cells(&m); ++k) {
                m.z[k] = floor(3 * reference_uniform(&g));
                m.h[k] = floor(4 * reference_uniform(&g));
                m.nodata[k] = reference_uniform(&g) < 0.05;
            }
            check_map(&m, n_steps, under_test_size(4, 2));
            map_free(&m);
        }
    }
}

/* Heaps on corners of blocks of 8, 16 and 32, on the edge, on the ring and on NODATA. */
TEST(sciddicat_moves_debris_across_every_boundary)
{
    static const uint64_t n_steps[] = {1, 1, 1, 1, 4, 50};
    static const size_t at[] = {0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 79};
    const size_t n = sizeof at / sizeof at[0];
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        for (size_t i = 0; i < n; i += under_test_size(1, 7)) {
            struct map m = map_new(80, 80, 0.5, (enum sciddicat_nodata)policy);
            m.number = i;
            for (size_t k = 0; k < cells(&m); ++k) {
                m.z[k] = 100;
            }
            for (size_t j = 0; j < n; ++j) {
                m.h[at[i] * 80 + at[j]] = 10;
                m.nodata[at[i] * 80 + at[(j * 5) % n]] = 1;
            }
            check_map(&m, n_steps, under_test_size(sizeof n_steps / sizeof n_steps[0], 2));
            map_free(&m);
        }
    }
}

TEST(sciddicat_without_debris_nothing_moves)
{
    static const uint64_t n_steps[] = {1, 100};
    struct map m = map_new(50, 60, 0.5, SCIDDICAT_WALL);
    sciddicat_reference_terrain(5, 50, 60, 0, 0, m.z, m.h, m.nodata);
    m.h[61 * 3] = 0.001; /* as much as sticks */
    m.h[61 * 5] = -0.0;
    struct sciddicat_report r = check_map(&m, n_steps, 2);
    assert_false(r.moved);
    assert_int_equal(r.n_active, 0);
    map_free(&m);
}

TEST(sciddicat_never_looks_at_the_altitude_of_a_wall)
{
    static const uint64_t n_steps[] = {1, 40};
    struct map m = map_new(40, 50, 0.5, SCIDDICAT_WALL);
    sciddicat_reference_terrain(6, 40, 50, 0.4, 0.2, m.z, m.h, m.nodata);
    for (size_t i = 1; i < 39; ++i) {
        for (size_t j = 1; j < 49; ++j) {
            if (m.nodata[i * 50 + j]) {
                m.z[i * 50 + j] = NAN;
            }
        }
    }
    check_map(&m, n_steps, 2);
    map_free(&m);
}

TEST(sciddicat_policies_agree_where_there_is_no_nodata)
{
    double *h[3];
    for (unsigned policy = SCIDDICAT_WALL; policy <= SCIDDICAT_COMPAT; ++policy) {
        struct sciddicat_report r;
        struct map m = map_new(60, 70, 0.3, (enum sciddicat_nodata)policy);
        sciddicat_reference_terrain(8, 60, 70, 0.2, 0, m.z, m.h, m.nodata);
        void *run = open_run(&m);
        h[policy] = room(cells(&m), sizeof *h[policy]);
        ASSERT_OK(kernels()->advance(under_test_queue, run, 77, &r));
        ASSERT_OK(kernels()->state(under_test_queue, run, h[policy], NULL, NULL));
        kernels()->close(under_test_queue, run);
        same_doubles(h[policy], h[0], "h", &m, 77);
        map_free(&m);
    }
    for (int i = 0; i < 3; ++i) {
        free(h[i]);
    }
}

/* Wide enough and active enough to be cut into bands; pieces of steps end within and between
 * rounds. */
TEST(sciddicat_is_the_same_for_any_number_of_threads)
{
    static const uint64_t n_steps[] = {1, 7, 8, 9, 17, 40};
    static const size_t threads[] = {1, 2, 5};
    for (size_t i = 0; i < under_test_size(3, 1); ++i) {
        under_test_threads(threads[i]);
        struct map m = map_new(400, 90, 0.5, SCIDDICAT_SINK);
        m.number = i;
        sciddicat_reference_terrain(9, 400, 90, 0.15, 0.02, m.z, m.h, m.nodata);
        check_map(&m, n_steps, sizeof n_steps / sizeof n_steps[0]);
        map_free(&m);
    }
    under_test_threads(3);
}

/* On one thread and in bands: not a step is made, and no map is copied. */
TEST(a_landslide_ends_once_the_queue_is_stopped)
{
    if (!under_test_is_cpu()) { /* kernels on a device end by themselves */
        skip();
    }
    static const int stop = 1;
    for (size_t threads = 1; threads <= 3; threads += 2) {
        under_test_threads(threads);
        struct map m = map_new(400, 90, 0.5, SCIDDICAT_SINK);
        sciddicat_reference_terrain(9, 400, 90, 0.15, 0.02, m.z, m.h, m.nodata);
        struct pair s = pair_new(&m);
        struct sciddicat_report report;
        (void)check(&s, 0);
        under_test_queue->stop = &stop;
        assert_int_equal(kernels()->advance(under_test_queue, s.run, 5000, &report),
                         STATUS_CANCELLED);
        assert_int_equal(kernels()->state(under_test_queue, s.run, s.h, s.max_h, s.arrival),
                         STATUS_CANCELLED);
        under_test_queue->stop = NULL;
        (void)check(&s, 0);
        pair_free(&s);
        map_free(&m);
    }
}

/* Nothing tells that steps are being made: a little later they are. */
static void *stop(void *flag)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Amid the steps: whatever others of its threads do, none waits for one that has ended. */
TEST(a_landslide_under_way_ends_once_the_queue_is_stopped)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    for (size_t threads = 1; threads <= 3; threads += 2) {
        under_test_threads(threads);
        struct map m = map_new(400, 90, 0.5, SCIDDICAT_SINK);
        sciddicat_reference_terrain(9, 400, 90, 0.15, 0.02, m.z, m.h, m.nodata);
        struct pair s = pair_new(&m);
        struct sciddicat_report report;
        int flag = 0;
        pthread_t other;
        under_test_queue->stop = &flag;
        assert_int_equal(pthread_create(&other, NULL, stop, &flag), 0);
        assert_int_equal(kernels()->advance(under_test_queue, s.run, 1000000000, &report),
                         STATUS_CANCELLED);
        assert_int_equal(pthread_join(other, NULL), 0);
        under_test_queue->stop = NULL;
        pair_free(&s);
        map_free(&m);
    }
}

TEST(sciddicat_runs_do_not_disturb_each_other)
{
    struct map m = map_new(70, 45, 0.5, SCIDDICAT_WALL), n = map_new(45, 70, 0.3, SCIDDICAT_SINK);
    sciddicat_reference_terrain(12, 70, 45, 0.3, 0.1, m.z, m.h, m.nodata);
    sciddicat_reference_terrain(13, 45, 70, 0.3, 0.1, n.z, n.h, n.nodata);
    struct pair a = pair_new(&m), b = pair_new(&n);
    for (uint64_t t = 1; t < under_test_size(6, 2); ++t) {
        check(&a, t);
        check(&b, 2 * t);
    }
    pair_free(&a);
    pair_free(&b);
    map_free(&m);
    map_free(&n);
}

TEST(sciddicat_refuses_what_is_no_map)
{
    static const struct sciddicat_params wrong[] = {
        {0, 5, 0.001, 0.5, SCIDDICAT_WALL},         {5, 0, 0.001, 0.5, SCIDDICAT_WALL},
        {65536, 32769, 0.001, 0.5, SCIDDICAT_WALL}, {5, 5, -0.001, 0.5, SCIDDICAT_WALL},
        {5, 5, NAN, 0.5, SCIDDICAT_WALL},           {5, 5, 0.001, 1.5, SCIDDICAT_WALL},
        {5, 5, 0.001, NAN, SCIDDICAT_WALL}};
    double some[25] = {0};
    struct span z = under_test_put(some, sizeof some);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        void *run = &run;
        assert_int_equal(kernels()->open(under_test_queue, &wrong[i],
                                         &(struct sciddicat_input){.z = z, .h = z}, &run),
                         STATUS_BAD_ARGUMENT);
        assert_null(run);
    }
    under_test_release(z);
}

/* A valley with one heap, of the size of the Tessina landslide and as little of it active. */
TEST(sciddicat_matches_the_reference_on_a_landslide)
{
    static const uint64_t n_steps[] = {1, 99, 200};
    struct map m = map_new(610, 496, 0.5, SCIDDICAT_COMPAT);
    sciddicat_reference_terrain(14, 610, 496, 0, 0, m.z, m.h, m.nodata);
    for (size_t i = 60; i < 95; ++i) {
        for (size_t j = 238; j < 258; ++j) {
            m.h[i * 496 + j] = 8;
        }
    }
    check_map(&m, n_steps, under_test_size(3, 1));
    map_free(&m);
}

/* --- Tessina ------------------------------------------------------------------------------------
 */

/* ESRI ASCII of the given shape: six lines of header, then numbers. NULL when there is no such
 * file. */
static double *read_asc(const char *name, size_t rows, size_t columns)
{
    const char *folder = getenv("LEAT_TESSINA");
    static const char here[] = __FILE__;
    const char *slash = strrchr(here, '/');
    const int here_bytes = slash == NULL ? 0 : (int)(slash - here) + 1;
    char path[512], key[32];
    double value, *v = room(rows * columns, sizeof *v);
    if (folder != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    } else {
        (void)snprintf(path, sizeof path, "%.*s../../../shared/data/tessina/%s", here_bytes, here,
                       name);
    }
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        free(v);
        return NULL;
    }
    for (int line = 0; line < 6; ++line) {
        assert_int_equal(fscanf(f, "%31s %lf", key, &value), 2);
        assert_true(strcmp(key, "ncols") != 0 || value == (double)columns);
        assert_true(strcmp(key, "nrows") != 0 || value == (double)rows);
    }
    for (size_t k = 0; k < rows * columns; ++k) {
        assert_int_equal(fscanf(f, "%lf", &v[k]), 1);
    }
    (void)fclose(f);
    return v;
}

TEST(sciddicat_gives_the_hashes_of_the_tessina_landslide)
{
    static const struct {
        uint64_t step, hash;
    } known[] = {{1, 0x583aa41a823b32a0},
                 {100, 0x4038a3f5050b199f},
                 {1000, 0xa671e73729229c9f},
                 {4000, 0xd1d2456aa3007824}};
    struct map m = {.p = {610, 496, 0.001, 0.5, SCIDDICAT_COMPAT}};
    m.z = read_asc("tessina.dem.asc", 610, 496);
    m.h = read_asc("tessina.source.asc", 610, 496);
    if (m.z == NULL || m.h == NULL) {
        map_free(&m);
        print_message("SKIPPED: no ../shared/data/tessina here\n");
        skip();
    }
    m.nodata = room(cells(&m), 1);
    double *h = room(cells(&m), sizeof *h), mass = 0;
    for (size_t k = 0; k < cells(&m); ++k) {
        const size_t i = k / 496, j = k % 496;
        m.z[k] -= i > 0 && j > 0 && i < 609 && j < 495 && m.h[k] > 0 ? m.h[k] : 0;
        mass += m.h[k];
    }
    void *run = open_run(&m);
    struct sciddicat_report r = {.step = 0};
    for (size_t i = 0; i < under_test_size(4, 1); ++i) {
        ASSERT_OK(kernels()->advance(under_test_queue, run, known[i].step - r.step, &r));
        ASSERT_OK(kernels()->state(under_test_queue, run, h, NULL, NULL));
        const uint64_t hash = sciddicat_reference_hash(h, cells(&m) * sizeof *h);
        const double off = fabs(r.mass + r.lost_edge - mass);
        if (r.step != known[i].step || hash != known[i].hash ||
            !(off <= sciddicat_mass_balance_bound(&m.p, mass, r.step))) {
            fail_msg("the hash is %016llx, not %016llx, the balance off by %g: %s",
                     (unsigned long long)hash, (unsigned long long)known[i].hash, off,
                     case_of(&m, r.step));
        }
    }
    kernels()->close(under_test_queue, run);
    free(h);
    map_free(&m);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
