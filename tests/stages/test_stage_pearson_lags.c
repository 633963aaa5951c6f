/*
 * What lags take beside all else: no more memory than was planned, and nothing of r at lag 0. Runs
 * on the backend that $LEAT_TEST_BACKEND names. ctest: small=asan
 */
#include "tests/support/pearson_runner.h"

static void check(size_t n_series, size_t n_samples, bool by_lines, enum dtype type,
                  const char *lags)
{
    struct sheet sheet = shape_of(n_series, n_samples, by_lines, type);
    sheet_set(&sheet, "top_each=2");
    struct outcome o = run_well(&sheet);
    double *const want = read_r(&o, n_series, false);
    outcome_free(&o);
    sheet_set(&sheet, lags);
    o = run_well(&sheet);
    assert_in_range(counted.peak_bytes, 1, o.need.memory_bytes);
    double *const got = read_r(&o, n_series, false);
    assert_memory_equal(got, want, n_series * (n_series - 1) / 2 * sizeof *got);
    assert_non_null(find_array(&o, "lag"));
    assert_non_null(find_array(&o, "r_lag"));
    free(got);
    free(want);
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(lags_stay_within_the_plan_and_leave_r_as_it_is)
{
    for (size_t k = 0; k < 4; k++) {
        check(90, 70, k % 2 == 0, k / 2 == 0 ? DTYPE_F64 : DTYPE_F32, "lags=5");
        check(700, 40, k % 2 == 0, k / 2 == 0 ? DTYPE_F64 : DTYPE_F32, "lags=2:3");
        check(3, 300, k % 2 == 0, k / 2 == 0 ? DTYPE_F64 : DTYPE_F32, "lags=-200:0");
    }
}

TEST(lags_need_whole_series)
{
    struct sheet sheet = shape_of(40, 60, false, DTYPE_F64);
    sheet_set(&sheet, "lags=3");
    sheet.memory_limit = 1;
    struct outcome o = run_sheet(&sheet);
    assert_int_equal(o.status, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "lags takes whole series"));
    outcome_free(&o);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
