/*
 * Made-up points: the rule said a second time, how they are distributed, the bits, the files.
 */
#include "kernels/philox/philox_rule.h"
#include "pipeline/generate/generate.h"
#include "tests/support/generate_support.h"

#include <math.h>
#include <stdio.h>

static const struct generate_points_order plain = {.seed = UINT64_C(0x123456789abcdef0),
                                                   .n_points = 100,
                                                   .n_columns = 2,
                                                   .n_clusters = 5,
                                                   .spread = 1,
                                                   .type = DTYPE_F64,
                                                   .path = "made",
                                                   .csv = true};

/* Word w of a series, as (w + 1/2) / 2^32. */
static long double part(uint64_t seed, uint64_t series, uint64_t w)
{
    const struct philox_words words = philox_block(seed, series, w / 4);
    return (words.w[w % 4] + 0.5L) * 0x1p-32L;
}

/* The rule of generate.h in long double, where z and its sums are exact too. */
static double by_the_rule(const struct generate_points_order *o, uint64_t i, uint64_t j, double *z)
{
    const uint64_t c = (uint64_t)(part(o->seed, i, 0) * o->n_clusters);
    long double sum = -6;
    for (uint64_t w = 4 + 12 * j; w < 16 + 12 * j; w++) {
        sum += part(o->seed, i, w);
    }
    *z = (double)sum;
    const double centre = (double)(20 * part(o->seed, (UINT64_C(1) << 63) + c, j) - 10);
    const double moved = o->spread * *z;
    return centre + moved;
}

TEST(points_are_those_of_the_rule_however_they_are_asked_for)
{
    static const uint64_t numbers[] = {0, 1, 2, 1000, UINT64_C(1) << 33, (UINT64_C(1) << 48) - 1};
    enum { COLUMNS = 300 };
    struct generate_points_order o = plain;
    o.n_columns = COLUMNS;
    o.spread = 0.3;
    for (size_t n = 0; n < COUNT(numbers); n++) {
        double row[COLUMNS], some[COLUMNS], z;
        generate_points_fill(&o, numbers[n], 0, COLUMNS, row);
        for (size_t j = 0; j < COLUMNS; j++) {
            const double wanted = by_the_rule(&o, numbers[n], j, &z);
            assert_memory_equal(&row[j], &wanted, sizeof(wanted));
        }
        for (size_t first = 0; first < COLUMNS; first += 1 + first / 2) {
            const size_t len = first % 7 + 1 < COLUMNS - first ? first % 7 + 1 : COLUMNS - first;
            generate_points_fill(&o, numbers[n], first, len, some);
            assert_memory_equal(some, row + first, len * sizeof(*some));
        }
    }
}

TEST(deviations_from_the_centre_are_nearly_normal)
{
    enum { N = 50000 };
    struct generate_points_order o = plain;
    double sum[5] = {0}, z;
    size_t within = 0;
    o.n_clusters = 1;
    for (uint64_t i = 0; i < N; i++) {
        double row[2];
        generate_points_fill(&o, i, 0, 2, row);
        const double first = row[0] - 10 * philox_uniform(philox_block(o.seed, 1ULL << 63, 0).w[0]);
        by_the_rule(&o, i, 1, &z);
        assert_true(fabs(first) < 6);
        for (int power = 1; power <= 4; power++) {
            sum[power] += pow(first, power);
        }
        sum[0] += first * z; /* columns are independent */
        within += fabs(first) < 1;
    }
    /* Of n independent terms with the variances 1, 1, 2, 15, 96 (of a normal variable, which has
     * more); six deviations. The fourth moment of twelve uniform numbers is 3 - 1.2 / 12. */
    assert_true(fabs(sum[0] / N) < 6 * sqrt(1.0 / N));
    assert_true(fabs(sum[1] / N) < 6 * sqrt(1.0 / N));
    assert_true(fabs(sum[2] / N - 1) < 6 * sqrt(2.0 / N));
    assert_true(fabs(sum[3] / N) < 6 * sqrt(15.0 / N));
    assert_true(fabs(sum[4] / N - 2.9) < 6 * sqrt(96.0 / N));
    /* A normal variable lies within 1 with 0.6827; this one's density is less by 0.1 / 24 of the
     * fourth derivative: 0.6827 - 0.1 / 24 * 2 (3 - 1) exp(-1/2) / sqrt(2 pi) = 0.6787 */
    assert_true(fabs((double)within / N - 0.6787) < 6 * sqrt(0.68 * 0.32 / N) + 0.0005);
}

TEST(clusters_are_equally_likely_and_centres_lie_in_a_box)
{
    enum { N = 40000 };
    struct generate_points_order o = plain;
    size_t count[5] = {0};
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (uint64_t i = 0; i < N; i++) {
        count[generate_points_cluster(&o, i)]++;
    }
    for (size_t c = 0; c < 5; c++) { /* binomial: deviation sqrt(N * 0.2 * 0.8) = 80; six of them */
        assert_in_range(count[c], N / 5 - 480, N / 5 + 480);
    }
    o.spread = 0;
    o.n_clusters = (UINT64_C(1) << 31) - 1;
    for (uint64_t i = 0; i < 1000; i++) {
        double row[2];
        generate_points_fill(&o, i, 0, 2, row);
        assert_true(generate_points_cluster(&o, i) < o.n_clusters);
        for (size_t j = 0; j < 2; j++) {
            low[j] = fmin(low[j], row[j]);
            high[j] = fmax(high[j], row[j]);
        }
    }
    for (size_t j = 0; j < 2; j++) { /* a share of 2 % at an end is missed once in 6e8 times */
        assert_true(low[j] > -10 && low[j] < -9.6 && high[j] < 10 && high[j] > 9.6);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static enum status written(struct generate_points_order o)
{
    uint64_t bytes;
    struct stat points, labels = {0};
    const enum status status = generate_points(&o, &backwards, &bytes);
    if (status == STATUS_OK) {
        assert_int_equal(stat("made", &points), 0);
        assert_int_equal(o.labels != NULL ? stat(o.labels, &labels) : 0, 0);
        assert_int_equal(points.st_size + labels.st_size, bytes);
    }
    return status;
}

TEST(a_file_has_a_line_a_point_and_labels_are_whole_numbers)
{
    struct generate_points_order o = plain;
    char text[200], labels[20] = "cluster\n";
    double row[2];
    o.n_points = 3;
    o.labels = "labels";
    o.labels_csv = true;
    o.type = DTYPE_F32;
    assert_int_equal(written(o), STATUS_OK);
    struct bytes points = take_file("made"), clusters = take_file("labels");
    int n = snprintf(text, sizeof(text), "x1,x2\n");
    for (uint64_t i = 0; i < 3; i++) {
        generate_points_fill(&o, i, 0, 2, row);
        struct bytes line = {0};
        assert_int_equal(generate_put_cells(&line, NPY_F4, true, row, 2), STATUS_OK);
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%.*s\n", (int)line.len, line.data);
        bytes_free(&line);
        snprintf(labels + 8 + 2 * i, 3, "%d\n", (int)generate_points_cluster(&o, i));
    }
    assert_string_equal((const char *)points.data, text);
    assert_string_equal((const char *)clusters.data, labels);
    bytes_free(&points);
    bytes_free(&clusters);
}

/* They may change only together with the manual. Beyond one batch of pieces, and lines longer than
 * a piece. */
TEST(the_bits_stay)
{
    struct generate_points_order o = plain;
    o.labels = "labels";
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0x79193140);
    assert_int_equal(crc_of_file("labels"), 0x474160eb);
    o.csv = false;
    o.n_points = 100003;
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0x93b56eae);
    assert_int_equal(crc_of_file("labels"), 0x17cac193);
    o.labels = NULL;
    o.type = DTYPE_F32;
    o.n_points = 3;
    o.n_columns = 20000;
    o.spread = 0.1;
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0x397f7115);
}

TEST(both_files_appear_or_neither_does)
{
    struct generate_points_order o = plain;
    o.labels = "made";
    assert_int_equal(written(o), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "--labels: 'made'"));
    o.labels = "labels";
    for (int taken = 0; taken < 2; taken++) {
        const int fd = open(taken == 0 ? "made" : "labels", O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(written(o), STATUS_EXISTS);
        assert_int_equal(count_entries("."), 1);
        assert_int_equal(unlink(taken == 0 ? "made" : "labels"), 0);
    }
    o.n_points = UINT64_C(1) << 48;
    o.n_columns = GENERATE_WIDEST;
    assert_int_equal(written(o), STATUS_TOO_LARGE);
    assert_int_equal(count_entries("."), 0);
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
