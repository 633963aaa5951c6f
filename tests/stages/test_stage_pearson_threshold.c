/*
 * Pairs that meet the threshold exactly are listed; those a rounding below it are not.
 */
#include "tests/support/pearson_runner.h"

enum { SERIES = 40, SAMPLES = 30 };

static int by_strength(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return p < q ? 1 : p > q ? -1 : 0;
}

/* |r| of all pairs, the strongest first; free. */
static double *strengths(struct sheet *sheet)
{
    struct outcome o = run_well(sheet);
    double *r = read_r(&o, SERIES, false);
    const size_t n = (size_t)SERIES * (SERIES - 1) / 2;
    for (size_t k = 0; k < n; k++) {
        r[k] = fabs(r[k]);
    }
    qsort(r, n, sizeof *r, by_strength);
    outcome_free(&o);
    return r;
}

static void check_listed(struct sheet *sheet, const char *top, double threshold, size_t wanted)
{
    char text[48];
    size_t n;
    snprintf(text, sizeof text, "threshold=%.17g", threshold);
    sheet->params[1] = top;
    sheet->params[2] = text;
    struct outcome o = run_well(sheet);
    free(read_pairs(&o, &n));
    assert_int_equal(n, wanted);
    assert_true(summary_number(&o, "n_listed") == (double)wanted);
    outcome_free(&o);
    sheet->params[1] = sheet->params[2] = NULL;
}

TEST(pairs_that_meet_the_threshold_exactly_are_listed)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(SERIES, SAMPLES, k == 0, DTYPE_F64);
        double *r = strengths(&sheet);
        static const size_t places[] = {0, 1, 9, 100};
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            const size_t place = places[p];
            assert_true(r[place] > r[place + 1]); /* no tie */
            check_listed(&sheet, "top=0", r[place], place + 1);
            check_listed(&sheet, "top=0", nextafter(r[place], 2), place);
            check_listed(&sheet, "top=1", r[place], place + 1);
            check_listed(&sheet, "top=1", nextafter(r[place], 2), place > 0 ? place : 1);
        }
        free(r);
        sheet_free(&sheet);
    }
}

/* Floats lie on either side of the coefficients. The margin is ten times what the exact ones may
 * differ by. */
TEST(pairs_that_meet_the_threshold_are_listed_whatever_floats_say)
{
    const double margin = 1e-11;
    size_t n_tried = 0;
    struct sheet sheet = shape_of(SERIES, SAMPLES, true, DTYPE_F64);
    double *r = strengths(&sheet);
    sheet.params[3] = "precision=f32";
    for (size_t place = 0; place < 24; place++) {
        if (r[place] - r[place + 1] > 4 * margin) {
            check_listed(&sheet, "top=0", r[place] - margin, place + 1);
            check_listed(&sheet, "top=0", r[place] + margin, place);
            n_tried++;
        }
    }
    assert_true(n_tried > 16);
    free(r);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
