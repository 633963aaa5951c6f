/*
 * The steps of the stage `sciddicat`: snapshots, rest, calls that are cut, none at all; against the
 * plain form of the automaton, on the backend LEAT_TEST_BACKEND.
 * ctest: long asan=soak optimize wrap=clock_gettime
 */
#include "kernels/sciddicat/sciddicat.h"
#include "tests/support/sciddicat_expected.h"

#include <time.h>

/* --- tests --------------------------------------------------------------------------------------
 */

TEST(snapshots_are_what_a_run_of_so_many_steps_ends_with)
{
    struct slide s = terrain(9, 50, 60, 0.2, 0.05);
    s.params[0] = "steps=40";
    s.params[1] = "snapshot_every=15";
    struct outcome o = run_well(&s);
    assert_int_equal(o.n_finishes, 3);
    assert_int_equal(o.n_files, 2 + 5);
    for (uint64_t step = 15; step <= 30; step += 15) {
        const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, step};
        struct sciddicat_reference *const want = expect_slide(&s, &e);
        char name[48];
        snprintf(name, sizeof name, "snapshots/%06d.tif", (int)step);
        check_raster(&o, name, want->h, want, -9999);
        sciddicat_reference_free(want);
    }
    const struct expected whole = {SCIDDICAT_WALL, 0.001, 0.5, 40};
    struct sciddicat_reference *const want = expect_slide(&s, &whole);
    check_outcome(&o, want);
    sciddicat_reference_free(want);
    outcome_free(&o);
    slide_free(&s);
}

TEST(a_snapshot_of_the_last_step_is_the_thickness)
{
    struct slide s = terrain(9, 20, 20, 0.2, 0.05);
    s.params[0] = "steps=2000000";
    s.params[1] = "settle=1000000";
    s.params[2] = "snapshot_every=2000000";
    memset(s.cells[SOURCE], 0, slide_cells(&s) * sizeof(double)); /* nothing moves */
    struct outcome o = run_well(&s);
    assert_null(find_file(&o, "snapshots/2000000.tif"));
    outcome_free(&o);
    s.params[0] = "steps=12";
    s.params[1] = "settle=0";
    s.params[2] = "snapshot_every=12";
    s.cells[SOURCE][7 * 20 + 7] = 3;
    o = run_well(&s);
    const struct made_file *const snapshot = find_file(&o, "snapshots/000012.tif"),
                                  *const end = find_file(&o, "thickness.tif");
    assert_true(snapshot != NULL && end != NULL);
    assert_int_equal(snapshot->bytes.len, end->bytes.len);
    assert_memory_equal(snapshot->bytes.data, end->bytes.data, end->bytes.len);
    outcome_free(&o);
    slide_free(&s);
}

TEST(snapshots_change_nothing_else)
{
    static const char *const every[] = {"snapshot_every=0", "snapshot_every=4", "snapshot_every=5"};
    struct slide s = terrain(9, 50, 60, 0.2, 0.05);
    char *first = NULL;
    s.params[0] = "steps=20"; /* the last step is one of a snapshot */
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        s.params[1] = every[i];
        struct outcome o = run_well(&s);
        char *const text = json_dumps(o.last.summary, JSON_SORT_KEYS);
        assert_non_null(text);
        assert_true(summary_in(&o, "last_step", "cells") > 0);
        if (i > 0) {
            assert_string_equal(text, first);
            free(text);
        } else {
            first = text;
        }
        outcome_free(&o);
    }
    free(first);
    slide_free(&s);
}

/* A pit: debris gathers in it and lies still. */
static struct slide pit(void)
{
    struct slide s = slide_new(7, 7);
    for (size_t k = 0; k < 49; k++) {
        s.cells[DEM][k] = 100;
    }
    s.cells[DEM][3 * 7 + 3] = 90;
    s.cells[SOURCE][3 * 7 + 3] = 2;
    return s;
}

TEST(settle_stops_when_nothing_moves_and_changes_no_bit)
{
    struct slide s = pit();
    const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 10};
    struct sciddicat_reference *const want = expect_slide(&s, &e);
    s.params[0] = "steps=100000";
    s.params[1] = "settle=10";
    struct outcome o = run_well(&s);
    check_outcome(&o, want);
    assert_true(summary_number(&o, "steps") == 10);
    assert_true(json_is_true(json_object_get(o.last.summary, "settled")));
    assert_false(is_warned(&o, "not at rest"));
    outcome_free(&o);
    s.params[1] = "settle=0";
    s.params[0] = "steps=50";
    o = run_well(&s);
    check_outcome(&o, want);
    assert_true(json_is_false(json_object_get(o.last.summary, "settled")));
    outcome_free(&o);
    sciddicat_reference_free(want);
    slide_free(&s);
}

TEST(settle_goes_on_while_something_moves)
{
    struct slide s = terrain(10, 40, 40, 0.3, 0);
    const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 20};
    s.params[0] = "steps=20";
    s.params[1] = "settle=3";
    check_slide(&s, &e);
    slide_free(&s);
}

TEST(long_runs_are_cut_into_calls_of_finish)
{
    struct slide s = terrain(11, 24, 37, 0.3, 0);
    const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 9001};
    s.params[0] = "steps=9001"; /* more than two rounds */
    s.params[1] = "report_every=9001";
    check_slide(&s, &e);
    slide_free(&s);
}

/* --- rounds by a clock of the test's own --------------------------------------------------------
 */

enum { MOST_ROUNDS = 256 };

static struct {
    bool runs; /* the clock below is the process's */
    double now_s;
    double (*step_s)(size_t round); /* what a step takes */
    struct sciddicat_kernels kernels;
    const struct sciddicat_kernels *real;
    uint64_t n_steps[MOST_ROUNDS];
    size_t n_rounds;
} paced;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!paced.runs || clock != CLOCK_MONOTONIC) {
        return __real_clock_gettime(clock, out);
    }
    out->tv_sec = (time_t)paced.now_s;
    out->tv_nsec = (long)((paced.now_s - (double)out->tv_sec) * 1e9);
    return 0;
}

static enum status advance_by_the_clock(struct queue *q, void *run, uint64_t n_steps,
                                        struct sciddicat_report *out)
{
    if (n_steps > 0) {
        assert_true(paced.n_rounds < MOST_ROUNDS);
        paced.now_s += (double)n_steps * paced.step_s(paced.n_rounds);
        paced.n_steps[paced.n_rounds++] = n_steps;
    }
    return paced.real->advance(q, run, n_steps, out);
}

/* The steps of each round of a run of 9000, when steps take as long as that. */
static void run_paced(double (*step_s)(size_t round))
{
    struct slide s = terrain(11, 24, 37, 0.3, 0);
    s.params[0] = "steps=9000";
    s.params[1] = "report_every=9000";
    memset(&paced, 0, sizeof paced);
    paced.real = counted.real->sciddicat;
    paced.kernels = *paced.real;
    paced.kernels.advance = advance_by_the_clock;
    counted.ops.sciddicat = &paced.kernels;
    paced.step_s = step_s;
    paced.runs = true;
    struct outcome o = run_well(&s);
    paced.runs = false;
    uint64_t n = 0;
    for (size_t i = 0; i < paced.n_rounds; i++) {
        n += paced.n_steps[i];
    }
    assert_int_equal(n, 9000);
    outcome_free(&o);
    slide_free(&s);
}

static double a_millisecond(size_t round)
{
    (void)round;
    return 0.001;
}

static double nothing(size_t round)
{
    (void)round;
    return 0;
}

static double a_second_at_first(size_t round)
{
    return round == 0 ? 1 : 0;
}

TEST(rounds_take_a_tenth_of_a_second)
{
    run_paced(a_millisecond);
    for (size_t i = 1; i + 2 < paced.n_rounds;
         i++) { /* the first is a guess, the last two end it */
        assert_true(paced.n_steps[i] >= 99 && paced.n_steps[i] <= 100);
    }
    run_paced(nothing);
    assert_int_equal(paced.n_rounds, 4); /* 4096, 4096, what is left but one, one */
    run_paced(a_second_at_first);
    for (size_t i = 1, steps = 1; i <= 4; i++, steps *= 8) {
        assert_int_equal(paced.n_steps[i], steps);
    }
}

TEST(helpers_change_no_bit)
{
    for (size_t n = 1; n <= SLIDE_HELPERS; n++) {
        struct slide s = terrain(9 + n, 90, 60, 0.2, 0.05);
        s.params[0] = "steps=40";
        s.params[1] = "snapshot_every=15";
        s.most_helpers = s.n_helpers = n;
        struct outcome o = run_well(&s);
        const struct expected half = {SCIDDICAT_WALL, 0.001, 0.5, 30};
        struct sciddicat_reference *want = expect_slide(&s, &half);
        check_raster(&o, "snapshots/000030.tif", want->h, want, -9999);
        sciddicat_reference_free(want);
        const struct expected whole = {SCIDDICAT_WALL, 0.001, 0.5, 40};
        want = expect_slide(&s, &whole);
        check_outcome(&o, want);
        sciddicat_reference_free(want);
        assert_int_equal(o.n_wanted, 0); /* it is far too small */
        assert_int_equal(o.need.helper_bytes, 0);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* 198 rows of 88 pieces (of the CPU) are busy: enough for eight devices. */
TEST(helpers_are_wanted_where_all_have_enough_to_do_for_long_enough)
{
    static const struct {
        const char *steps;
        double thickness;
        size_t most, wanted;
    } cases[] = {{"steps=100000", 2, 3, 3}, {"steps=100000", 2, 20, 7}, {"steps=100000", 2, 0, 0},
                 {"steps=1000", 2, 3, 0},   {"steps=1300", 2, 3, 3},    {"steps=1300", 2, 1, 0},
                 {"steps=100000", 0, 3, 0}};
    if (!under_test_is_cpu()) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slide s = slope(200, 704, 100, 100);
        for (size_t k = 0; k < slide_cells(&s); k++) {
            s.cells[SOURCE][k] = cases[i].thickness;
        }
        s.params[0] = cases[i].steps;
        s.params[1] = "snapshot_every=1";
        s.most_helpers = cases[i].most;
        s.most_finishes = 1;
        struct outcome o = run_well(&s);
        assert_int_equal(o.n_wanted, cases[i].wanted);
        assert_int_equal(o.need.helper_bytes > 0, cases[i].most > 0);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(no_steps_give_the_start)
{
    struct slide s = terrain(12, 20, 30, 0.3, 0.1);
    const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 0};
    s.params[0] = "steps=0";
    check_slide(&s, &e);
    slide_free(&s);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
