/*
 * Made-up series: the same bits however they are cut, on either backend, in either layout; files
 * that appear whole or not at all. $LEAT_TEST_BACKEND chooses the backend.
 * ctest: tsan=yes
 */
#include "formats/base/bytes.h"
#include "kernels/philox/philox.h"
#include "pipeline/generate/generate.h"
#include "pipeline/generate/generate_table.h"
#include "pipeline/generate/new_file.h"
#include "pipeline/generate/walk.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

static const struct philox_walk walk = {
    .seed = UINT64_C(0x123456789), .start = 100, .epsilon = 0.01};

/* --- walks ----------------------------------------------------------------------------------- */

/* The beginning of the first series: rows of doubles, one after the other. */
static struct walk_piece rows_of(size_t n_series, size_t n_samples, double *out, double *value)
{
    return (struct walk_piece){.n_series = n_series,
                               .n_samples = n_samples,
                               .series_step = n_samples,
                               .sample_step = 1,
                               .type = DTYPE_F64,
                               .out = out,
                               .value = value};
}

TEST(pieces_have_the_bits_of_the_kernel_wherever_they_are_cut)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 257, 1000};
    enum { N_SERIES = 3, FIRST = 1000 };
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        size_t n = lengths[l];
        double *kernel = calloc(N_SERIES * n, sizeof(*kernel));
        double *mine = calloc(N_SERIES * n, sizeof(*mine));
        assert_true(kernel != NULL && mine != NULL);
        struct span room = under_test_room(N_SERIES * n * sizeof(double));
        const struct series_rows rows = {room, DTYPE_F64, N_SERIES, n, FIRST, 0};
        ASSERT_OK(under_test_ops()->philox->walk_rows(under_test_queue, &walk, &rows));
        under_test_get(kernel, room, N_SERIES * n * sizeof(double));
        under_test_release(room);
        for (size_t cut = 0; cut <= n; cut += cut < 9 ? 1 : 37) {
            double value[N_SERIES] = {0};
            struct walk_piece p = rows_of(N_SERIES, n, mine, value);
            p.first_series = FIRST;
            p.n_samples = cut;
            walk_fill(&walk, &p);
            p.first_sample = cut;
            p.n_samples = n - cut;
            p.out = mine + cut;
            walk_fill(&walk, &p);
            assert_memory_equal(mine, kernel, N_SERIES * n * sizeof(double));
        }
        free(kernel);
        free(mine);
    }
}

TEST(samples_of_single_precision_are_the_doubles_rounded_once)
{
    enum { N_SERIES = 5, N_SAMPLES = 100 };
    double wide[N_SERIES * N_SAMPLES], value[N_SERIES];
    float narrow[N_SAMPLES * N_SERIES];
    struct walk_piece p = rows_of(N_SERIES, N_SAMPLES, wide, value);
    walk_fill(&walk, &p);
    p.series_step = 1; /* and turned */
    p.sample_step = N_SERIES;
    p.type = DTYPE_F32;
    p.out = narrow;
    walk_fill(&walk, &p);
    for (size_t s = 0; s < N_SERIES; s++) {
        for (size_t t = 0; t < N_SAMPLES; t++) {
            float rounded = (float)wide[s * N_SAMPLES + t];
            assert_memory_equal(&narrow[t * N_SERIES + s], &rounded, sizeof(rounded));
        }
    }
}

TEST(a_sample_varies_the_one_before_by_at_most_epsilon)
{
    enum { N = 4096 };
    double x[N], value, sum = 0;
    struct walk_piece p = rows_of(1, N, x, &value);
    p.first_series = 3;
    walk_fill(&walk, &p);
    assert_true(!(x[0] < 100) && !(x[0] > 100));
    for (size_t t = 1; t < N; t++) {
        double step = x[t] / x[t - 1] - 1; /* 2 roundings: within 2^-52 of the step */
        assert_true(fabs(step) <= walk.epsilon + 0x1p-51);
        sum += step;
    }
    /* Uniform steps have a deviation of epsilon / sqrt(3): the mean lies within 6 of its own. */
    assert_true(fabs(sum / (N - 1)) < 6 * walk.epsilon / sqrt(3.0 * (N - 1)));
}

TEST(gaps_have_the_share_asked_for)
{
    enum { N = 100000 };
    size_t n_gaps = 0;
    for (uint64_t t = 0; t < N; t++) {
        assert_false(walk_is_gap(&walk, 0, 5, t));
        assert_true(walk_is_gap(&walk, 1, 5, t));
        n_gaps += walk_is_gap(&walk, 0.1, t % 7, t / 7);
    }
    /* binomial: deviation sqrt(N * 0.1 * 0.9) = 95; six of them */
    assert_in_range(n_gaps, N / 10 - 570, N / 10 + 570);
}

TEST(gaps_do_not_depend_on_the_walk)
{
    enum { N = 40000 };
    double *x = malloc(N * sizeof(*x)), value, sum = 0;
    size_t n_gaps = 0;
    assert_non_null(x);
    const struct walk_piece p = rows_of(1, N, x, &value);
    walk_fill(&walk, &p);
    for (size_t t = 1; t < N; t++) {
        if (walk_is_gap(&walk, 0.1, 0, t)) {
            sum += x[t] / x[t - 1] - 1;
            n_gaps++;
        }
    }
    free(x);
    /* the mean of n uniform steps has a deviation of epsilon / sqrt(3 n) */
    assert_true(n_gaps > 1000);
    assert_true(fabs(sum / (double)n_gaps) < 6 * walk.epsilon / sqrt(3.0 * (double)n_gaps));
}

/* --- files ----------------------------------------------------------------------------------- */

static struct bytes read_file(const char *path)
{
    struct bytes b = {0};
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    ASSERT_OK(bytes_reserve(&b, (size_t)st.st_size + 1));
    while (b.len < (size_t)st.st_size) {
        ssize_t n = read(fd, b.data + b.len, (size_t)st.st_size - b.len);
        assert_true(n > 0);
        b.len += (size_t)n;
    }
    close(fd);
    b.data[b.len] = '\0';
    return b;
}

static void assert_holds(const char *name, const char *text)
{
    struct bytes b = read_file(name);
    assert_string_equal((const char *)b.data, text);
    bytes_free(&b);
}

static struct bytes generated(struct generate_order order)
{
    struct executor executor = under_test_executor(3);
    uint64_t n_bytes;
    order.path = "made";
    order.walk = walk;
    ASSERT_OK(generate_file(&order, under_test_queue->backend, &executor, &n_bytes));
    struct bytes b = read_file("made");
    assert_int_equal(b.len, n_bytes);
    assert_int_equal(unlink("made"), 0);
    return b;
}

TEST(rows_and_columns_hold_the_same_numbers)
{
    /* beyond one block, with a part of a block at the end, and lines longer than a piece */
    enum { N_SERIES = 700, N_SAMPLES = 1601 };
    struct generate_order order = {
        .n_series = N_SERIES, .n_samples = N_SAMPLES, .type = DTYPE_F64, .gaps = 0.05};
    struct bytes rows = generated(order);
    order.columns = true;
    struct bytes columns = generated(order);
    assert_int_equal(rows.len, 128 + N_SERIES * N_SAMPLES * sizeof(double));
    assert_int_equal(columns.len, rows.len);
    const char *a = (const char *)rows.data + 128, *b = (const char *)columns.data + 128;
    size_t n_gaps = 0;
    for (size_t s = 0; s < N_SERIES; s++) {
        for (size_t t = 0; t < N_SAMPLES; t++) {
            double x;
            memcpy(&x, a + (s * N_SAMPLES + t) * sizeof(x), sizeof(x));
            n_gaps += x != x;
            if (memcmp(&x, b + (t * N_SERIES + s) * sizeof(x), sizeof(x)) != 0) {
                fail_msg("sample %zu of series %zu differs", t, s);
            }
        }
    }
    /* binomial: deviation sqrt(1120700 * 0.05 * 0.95) = 231; six of them */
    assert_in_range(n_gaps, 56035 - 1386, 56035 + 1386);
    bytes_free(&rows);
    bytes_free(&columns);
}

TEST(a_row_longer_than_a_block_has_the_bits_of_the_kernel)
{
    size_t n = GENERATE_BATCH_CELLS + 4097;
    struct generate_order order = {.n_series = 2, .n_samples = n, .type = DTYPE_F32};
    struct bytes file = generated(order);
    struct span room = under_test_room(2 * n * sizeof(float));
    float *kernel = malloc(2 * n * sizeof(float));
    assert_non_null(kernel);
    const struct series_rows rows = {room, DTYPE_F32, 2, n, 0, 0};
    ASSERT_OK(under_test_ops()->philox->walk_rows(under_test_queue, &walk, &rows));
    under_test_get(kernel, room, 2 * n * sizeof(float));
    under_test_release(room);
    assert_int_equal(file.len, 128 + 2 * n * sizeof(float));
    assert_memory_equal(file.data + 128, kernel, 2 * n * sizeof(float));
    bytes_free(&file);
    free(kernel);
    order.csv = true; /* as text each is a line */
    file = generated(order);
    for (size_t i = 0, cell = 0; i < file.len; i++) {
        if (file.data[i] == ',' || file.data[i] == '\n') {
            cell++;
            assert_int_equal(file.data[i], cell % n == 0 ? '\n' : ',');
        }
    }
    assert_int_equal(file.data[file.len - 1], '\n');
    bytes_free(&file);
}

TEST(text_reads_back_as_the_same_numbers)
{
    static const struct generate_order orders[] = {
        {.n_series = 1, .n_samples = 1},
        {.n_series = 257, .n_samples = 300},
        {.n_series = 257, .n_samples = 300, .type = DTYPE_F32},
        {.n_series = 31, .n_samples = 33, .columns = true},
        {.n_series = 1, .n_samples = 33, .columns = true},
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct generate_order order = orders[i];
        order.type = i == 2 ? DTYPE_F32 : DTYPE_F64;
        struct bytes numbers = generated(order);
        order.csv = true;
        struct bytes text = generated(order);
        const char *at = (const char *)text.data, *value = (const char *)numbers.data + 128;
        if (order.columns) {
            assert_memory_equal(at, order.n_series == 1 ? "s0\n" : "s0,s1", 3);
            at = strchr(at, '\n') + 1;
        }
        size_t per_line = (size_t)(order.columns ? order.n_series : order.n_samples);
        size_t n = (size_t)(order.n_series * order.n_samples);
        for (size_t k = 0; k < n; k++) {
            char *end;
            if (order.type == DTYPE_F32) {
                float x = strtof(at, &end);
                assert_memory_equal(&x, value + k * sizeof(x), sizeof(x));
            } else {
                double x = strtod(at, &end);
                assert_memory_equal(&x, value + k * sizeof(x), sizeof(x));
            }
            assert_int_equal(*end, (k + 1) % per_line == 0 ? '\n' : ',');
            at = end + 1;
        }
        assert_ptr_equal(at, text.data + text.len);
        bytes_free(&numbers);
        bytes_free(&text);
    }
}

TEST(what_no_file_can_hold_is_refused)
{
    static const struct generate_order orders[] = {
        {.n_series = UINT64_C(1) << 40, .n_samples = UINT64_C(1) << 40},
        {.n_series = UINT64_C(1) << 30, .n_samples = UINT64_C(1) << 30},
        {.n_series = GENERATE_COLUMNS_MAX + 1, .n_samples = 1, .columns = true},
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct generate_order order = orders[i];
        struct executor executor = under_test_executor(1);
        uint64_t n_bytes;
        order.path = "made";
        order.walk = walk;
        assert_int_equal(generate_file(&order, under_test_queue->backend, &executor, &n_bytes),
                         STATUS_TOO_LARGE);
        assert_int_equal(access("made", F_OK), -1);
    }
}

static enum status open_new(const char *path, bool force, struct new_file *out)
{
    return new_file_open(path, PACK_RAW, false, force, out);
}

static enum status put_into(struct new_file *f, const char *text)
{
    const struct pack_piece piece = {.packed = {(unsigned char *)(size_t)text, strlen(text), 0},
                                     .raw_bytes = strlen(text)};
    return pack_append(f->pack, &piece);
}

TEST(a_new_file_appears_when_it_is_whole)
{
    struct new_file f;
    uint64_t bytes;
    ASSERT_OK(open_new("whole", false, &f));
    ASSERT_OK(put_into(&f, "abc"));
    assert_int_equal(access("whole", F_OK), -1);
    ASSERT_OK(put_into(&f, ""));
    ASSERT_OK(new_file_commit(&f, &bytes));
    assert_holds("whole", "abc");
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat("whole", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666 & ~mask);

    assert_int_equal(open_new("whole", false, &f), STATUS_EXISTS);
    assert_null(f.pack);
    ASSERT_OK(open_new("whole", true, &f));
    ASSERT_OK(put_into(&f, "x"));
    new_file_abandon(&f);
    assert_holds("whole", "abc");
    ASSERT_OK(open_new("whole", true, &f));
    ASSERT_OK(put_into(&f, "x"));
    ASSERT_OK(new_file_commit(&f, &bytes));
    assert_holds("whole", "x");
    assert_int_equal(unlink("whole"), 0);
}

TEST(a_name_taken_meanwhile_is_not_replaced)
{
    struct new_file f;
    uint64_t bytes;
    ASSERT_OK(open_new("taken", false, &f));
    int fd = open("taken", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old", 3), 3);
    close(fd);
    assert_int_equal(new_file_commit(&f, &bytes), STATUS_EXISTS);
    assert_holds("taken", "old");
    assert_int_equal(unlink("taken"), 0);
}

TEST(what_is_no_file_name_is_refused)
{
    struct new_file f;
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_int_equal(open_new("sub", true, &f), STATUS_BAD_ARGUMENT);
    assert_int_equal(open_new("sub/", true, &f), STATUS_BAD_ARGUMENT);
    assert_int_equal(open_new("", true, &f), STATUS_BAD_ARGUMENT);
    assert_int_equal(open_new("none/x", true, &f), STATUS_NOT_FOUND);
    assert_null(f.pack);
    assert_int_equal(rmdir("sub"), 0);
}

TEST(a_link_that_leads_nowhere_is_a_name_that_is_taken)
{
    struct new_file f;
    uint64_t bytes;
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(open_new("link", false, &f), STATUS_EXISTS);
    ASSERT_OK(open_new("link", true, &f));
    ASSERT_OK(put_into(&f, "x"));
    ASSERT_OK(new_file_commit(&f, &bytes));
    assert_holds("link", "x");
    assert_int_equal(unlink("link"), 0);
}

TEST(a_device_is_written_to_and_stays)
{
    struct new_file f;
    uint64_t bytes;
    ASSERT_OK(open_new("/dev/null", true, &f));
    ASSERT_OK(put_into(&f, "x"));
    ASSERT_OK(new_file_commit(&f, &bytes));
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    ASSERT_OK(open_new("/dev/full", false, &f));
    ASSERT_OK(put_into(&f, "x"));
    assert_int_equal(new_file_commit(&f, &bytes), STATUS_NO_SPACE);
}

int main(void)
{
    return UNDER_TEST_RUN(enter_folder, leave_folder);
}
