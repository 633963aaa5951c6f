/*
 * The state of the stage `sciddicat` that outlives its process: a job that is cut off at some step
 * and begun again gives the bytes of one that was not, on the backend LEAT_TEST_BACKEND. A step
 * takes a second, by a clock of the test's own.
 * ctest: optimize wrap=clock_gettime
 */
#include "formats/base/saved.h"
#include "kernels/sciddicat/sciddicat.h"
#include "tests/support/sciddicat_expected.h"

#include <time.h>

/* --- the clock ----------------------------------------------------------------------------------
 */

static struct {
    bool runs; /* the clock is the process's */
    long now_s;
    uint64_t n_steps; /* that were made */
    struct sciddicat_kernels kernels;
    struct sciddicat_member_kernels member;
    const struct sciddicat_kernels *real;
} paced;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!paced.runs || clock != CLOCK_MONOTONIC) {
        return __real_clock_gettime(clock, out);
    }
    *out = (struct timespec){.tv_sec = paced.now_s};
    return 0;
}

static enum status advance(struct queue *q, void *run, uint64_t n_steps,
                           struct sciddicat_report *out)
{
    paced.now_s += (long)n_steps;
    paced.n_steps += n_steps;
    return paced.real->advance(q, run, n_steps, out);
}

static enum status step(struct queue *q, void *run, unsigned n_steps)
{
    paced.now_s += n_steps;
    return paced.real->member->step(q, run, n_steps);
}

static int open_paced(void **state)
{
    const int failed = counted_open(state);
    memset(&paced, 0, sizeof paced);
    paced.real = counted.real->sciddicat;
    paced.kernels = *paced.real;
    paced.member = *paced.real->member;
    paced.kernels.advance = advance;
    paced.kernels.member = &paced.member;
    paced.member.step = step;
    counted.ops.sciddicat = &paced.kernels;
    return failed;
}

/* --- where states are kept ----------------------------------------------------------------------
 */

struct place {
    struct stage_state calls;
    struct bytes kept;
    size_t n_kept, n_found, n_foreign;
};

struct passing {
    struct saved saved; /* first */
    struct bytes *bytes;
    size_t at;
};

static enum status pass_out(struct saved *s, void *at, size_t bytes)
{
    return bytes_append(((struct passing *)s)->bytes, at, bytes);
}

static enum status pass_in(struct saved *s, void *at, size_t bytes)
{
    struct passing *const p = (struct passing *)s;
    assert_true(bytes <= p->bytes->len - p->at);
    if (bytes > 0) {
        memcpy(at, p->bytes->data + p->at, bytes);
    }
    p->at += bytes;
    return STATUS_OK;
}

static enum status keep(void *context, stage_state_body *body, void *user)
{
    struct place *const place = context;
    struct passing p = {{false, pass_out}, &place->kept, 0};
    bytes_clear(&place->kept);
    place->n_kept++;
    return body(user, &p.saved);
}

static enum status find(void *context, stage_state_body *body, void *user, bool *found)
{
    struct place *const place = context;
    struct passing p = {{true, pass_in}, &place->kept, 0};
    *found = false;
    if (place->kept.len == 0) {
        return STATUS_OK;
    }
    const enum status st = body(user, &p.saved);
    place->n_foreign += st == STATUS_CHANGED;
    place->n_found += *found = st == STATUS_OK;
    assert_true(st == STATUS_CHANGED || (st == STATUS_OK && p.at == place->kept.len));
    return STATUS_OK;
}

static void place_open(struct place *p)
{
    *p = (struct place){.calls = {keep, find, p}};
}

/* --- cutting off, and going on ------------------------------------------------------------------
 */

static struct outcome run_with(struct slide *s, struct place *place, size_t most_finishes)
{
    s->state = place != NULL ? &place->calls : NULL;
    s->most_finishes = most_finishes;
    paced.runs = true;
    paced.n_steps = 0;
    struct outcome o = run_well(s);
    paced.runs = false;
    return o;
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    struct bytes one = read_everything(a), other = read_everything(b);
    assert_int_equal(one.len, other.len);
    assert_memory_equal(one.data, other.data, one.len);
    bytes_free(&one);
    bytes_free(&other);
}

/* Cut off after so many steps; the rest has the bytes of a job that was not cut off. */
static void cut_after(struct slide *s, size_t step, size_t n_helpers, uint64_t n_left)
{
    struct place place;
    struct outcome whole = run_with(s, NULL, 0);
    place_open(&place);
    s->most_helpers = s->n_helpers = n_helpers;
    struct outcome cut = run_with(s, &place, step);
    outcome_free(&cut);
    assert_true(place.n_kept > 0);
    struct outcome rest = run_with(s, &place, 0);
    assert_int_equal(place.n_found, 1);
    if (n_left > 0) {
        assert_int_equal(paced.n_steps, n_left);
    }
    check_same(&rest, &whole);
    assert_int_equal(rest.n_files, whole.n_files);
    outcome_free(&rest);
    outcome_free(&whole);
    bytes_free(&place.kept);
}

TEST(a_job_that_was_cut_off_goes_on_with_the_same_bytes)
{
    static const char *const policies[] = {"nodata=wall", "nodata=sink", "nodata=compat"};
    static const size_t steps[] = {1, 2, 20, 39};
    for (size_t p = 0; p < 3; p++) {
        struct slide s = terrain(9, 50, 60, 0.2, 0.05);
        const char *const params[] = {
            "steps=40",       policies[p],      "checkpoint=1",   "probe=1105,2405; 1305,2255",
            "record_every=3", "report_every=7", "outline=geojson"};
        memcpy(s.params, params, sizeof params);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            cut_after(&s, i == 0 ? 1 : steps[i], 0, 0);
        }
        slide_free(&s);
    }
}

TEST(it_makes_no_step_twice_that_the_state_has)
{
    struct slide s = terrain(9, 50, 60, 0.2, 0);
    s.params[0] = "steps=40";
    s.params[1] = "checkpoint=1";
    cut_after(&s, 1, 0, 39);
    cut_after(&s, 25, 0, 15);
    cut_after(&s, 39, 0, 1);
    s.params[1] = "checkpoint=10";
    cut_after(&s, 25, 0, 20);
    slide_free(&s);
}

TEST(helpers_take_part_before_and_after)
{
    for (size_t n = 1; n <= SLIDE_HELPERS; n++) {
        struct slide s = terrain(9 + n, 90, 60, 0.2, 0.05);
        s.params[0] = "steps=40";
        s.params[1] = "checkpoint=1";
        s.params[2] = "nodata=sink";
        cut_after(&s, 1, n, 0);
        cut_after(&s, 20, n, 0);
        slide_free(&s);
    }
}

TEST(maps_of_any_shape_come_back)
{
    static const size_t shapes[][2] = {{3, 3}, {3, 200}, {200, 3}, {5, 7}, {33, 65}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct slide s = slope(shapes[i][0], shapes[i][1], 1, 1);
        s.params[0] = "steps=12";
        s.params[1] = "checkpoint=1";
        cut_after(&s, 5, 0, 7);
        slide_free(&s);
    }
}

/* What ends early by rest does so at the same step. */
TEST(rest_is_found_at_the_same_step)
{
    struct slide s = slide_new(7, 7);
    for (size_t k = 0; k < 49; k++) {
        s.cells[DEM][k] = 100;
    }
    s.cells[DEM][3 * 7 + 3] = 90;
    s.cells[SOURCE][3 * 7 + 3] = 2;
    s.params[0] = "steps=1000";
    s.params[1] = "settle=20";
    s.params[2] = "checkpoint=1";
    s.params[3] = "report_every=1";
    cut_after(&s, 3, 0, 17);
    slide_free(&s);
}

TEST(of_several_runs_the_last_goes_on)
{
    struct slide s = terrain(9, 30, 40, 0.2, 0);
    struct place place;
    s.params[0] = "steps=20";
    s.params[1] = "p_r=0.3,0.5";
    s.params[2] = "checkpoint=1";
    struct outcome whole = run_with(&s, NULL, 0);
    place_open(&place);
    struct outcome first = run_with(&s, &place, 0);
    check_same(&first, &whole);
    assert_int_equal(place.n_kept, 19);
    struct outcome rest = run_with(&s, &place, 0);
    assert_int_equal(place.n_found, 1);
    check_same(&rest, &whole);
    outcome_free(&rest);
    outcome_free(&first);
    outcome_free(&whole);
    bytes_free(&place.kept);
    slide_free(&s);
}

/* --- when ----------------------------------------------------------------------------------------
 */

TEST(it_is_kept_as_often_as_checkpoint_says)
{
    static const struct {
        const char *params[2];
        size_t n_kept;
    } cases[] = {{{"checkpoint=10", "settle=0"}, 3},
                 {{"checkpoint=60", "settle=0"}, 0},
                 {{"checkpoint=1", "settle=0"}, 39},
                 {{"checkpoint=0", "settle=0"}, 0},
                 {{"checkpoint=1", "snapshot_every=20"}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = terrain(9, 50, 60, 0.2, 0);
        struct place place;
        place_open(&place);
        s.params[0] = "steps=40";
        s.params[1] = cases[i].params[0];
        s.params[2] = cases[i].params[1];
        struct outcome o = run_with(&s, &place, 0);
        assert_int_equal(place.n_kept, cases[i].n_kept);
        outcome_free(&o);
        bytes_free(&place.kept);
        slide_free(&s);
    }
}

/* A state that the other job below has kept. */
TEST(a_state_of_another_job_is_not_taken)
{
    static const char *const others[] = {"steps=41",        "p_r=0.4",        "p_epsilon=0.002",
                                         "nodata=sink",     "settle=7",       "report_every=3",
                                         "record_every=11", "probe=1115,2405"};
    enum { N = sizeof others / sizeof *others };
    for (size_t i = 0; i < N + 3; i++) {
        struct slide s = terrain(9, 50, 60, 0.2, 0.05);
        struct place place;
        place_open(&place);
        s.params[0] = "steps=40";
        s.params[1] = "checkpoint=1";
        s.params[2] = "probe=1105,2405";
        struct outcome o = run_with(&s, &place, 20);
        outcome_free(&o);
        s.params[i == 0 ? 0 : i == N - 1 ? 2 : 3] = i < N ? others[i] : NULL;
        s.cells[SOURCE][1820] += i == N;  /* cells that are not NODATA */
        s.cells[DEM][1820] += i == N + 1; /* inside the map */
        const bool is_same = i == N + 2;
        struct outcome whole = run_with(&s, NULL, 0), got = run_with(&s, &place, 0);
        assert_int_equal(place.n_found, is_same);
        assert_int_equal(place.n_foreign, !is_same);
        check_same(&got, &whole);
        outcome_free(&got);
        outcome_free(&whole);
        bytes_free(&place.kept);
        slide_free(&s);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(open_paced, counted_close);
}
