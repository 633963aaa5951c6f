/*
 * Results: the pieces of arrays and tables join to streams that NumPy and pandas read
 * (check_results.py). Strings and numbers as text: test_result_text.c.
 */
#include "formats/result/result_table.h"
#include "tests/support/result_support.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

TEST(an_empty_result_has_empty_objects)
{
    struct result r = new_result();
    assert_int_equal(r.n_files, 0);
    assert_true(json_is_object(r.shape) && json_is_object(r.parameters));
    assert_true(json_is_object(r.summary) && json_is_array(r.warnings));
    result_free(&r);
    assert_null(r.shape);
    result_free(&r);
}

TEST(headers_are_written_as_numpy_writes_them)
{
    static const struct {
        enum npy_type type;
        size_t n_dims, dims[2];
        const char *dictionary;
    } cases[] = {
        {NPY_F8, 0, {0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"},
        {NPY_F4, 1, {3}, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"},
        {NPY_I4, 1, {3}, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"},
        {NPY_I8, 2, {2, 3}, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }"},
        {NPY_U1, 1, {0}, "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }"},
        {NPY_F8, 2, {0, 7}, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }"},
    };
    static const double data[8];
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct result r = new_result();
        struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
        assert_int_equal(
            result_add_copy(f, "x", cases[k].type, cases[k].n_dims, cases[k].dims, data),
            STATUS_OK);
        assert_string_equal(f->members[0].name, "x.npy");
        struct bytes stream = join(&f->members[0]);
        assert_header(&stream, cases[k].dictionary);
        bytes_free(&stream);
        result_free(&r);
    }
}

static enum status fetch_index(void *context, uint64_t first, size_t n, void *dst)
{
    double *out = dst;
    (void)context;
    for (size_t i = 0; i < n; i++) {
        out[i] = (double)(first + i);
    }
    return STATUS_OK;
}

TEST(arrays_are_cut_at_the_piece_size_without_loss)
{
    /* the header of these is 128 bytes: 16 doubles */
    static const size_t counts[] = {0,
                                    1,
                                    31,
                                    32,
                                    33,
                                    257,
                                    PIECE / 8 - 17,
                                    PIECE / 8 - 16,
                                    PIECE / 8 - 15,
                                    PIECE / 8,
                                    2 * PIECE / 8 - 16,
                                    2 * PIECE / 8 + 5};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        char dictionary[100];
        struct result r = new_result();
        struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
        assert_int_equal(result_add_array(f, "x", NPY_F8, 1, &counts[k], fetch_index, NULL, NULL),
                         STATUS_OK);
        struct bytes stream = join(&f->members[0]);
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu,), }", counts[k]);
        const size_t at = assert_header(&stream, dictionary);
        assert_int_equal(at, 128);
        assert_int_equal(stream.len, at + 8 * counts[k]);
        assert_int_equal(f->members[0].n_pieces, (stream.len + PIECE - 1) / PIECE);
        for (size_t i = 0; i < counts[k]; i++) {
            double value;
            memcpy(&value, stream.data + at + 8 * i, sizeof value);
            assert_true(value == (double)i);
        }
        bytes_free(&stream);
        result_free(&r);
    }
}

TEST(copies_outlive_what_they_were_made_from)
{
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    float *data = malloc(600000 * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < 600000; i++) {
        data[i] = (float)i;
    }
    const size_t dims[] = {600, 1000};
    assert_int_equal(result_add_copy(f, "x", NPY_F4, 2, dims, data), STATUS_OK);
    free(data);
    struct bytes stream = join(&f->members[0]);
    for (size_t i = 0; i < 600000; i++) {
        float value;
        memcpy(&value, stream.data + 128 + 4 * i, sizeof value);
        assert_true(value == (float)i);
    }
    bytes_free(&stream);
    result_free(&r);
}

static void count_free(void *context)
{
    ++*(int *)context;
}

TEST(contexts_are_freed_once_whatever_happens)
{
    int n_freed = 0;
    const size_t one = 1, too_many[] = {SIZE_MAX, 2}, too_large = SIZE_MAX / 8;
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    assert_int_equal(result_add_array(f, "x", NPY_F8, 1, &one, fetch_index, &n_freed, count_free),
                     STATUS_OK);
    assert_int_equal(n_freed, 0);
    assert_int_equal(
        result_add_array(f, "y", NPY_F8, 2, too_many, fetch_index, &n_freed, count_free),
        STATUS_TOO_LARGE);
    assert_int_equal(n_freed, 1);
    assert_int_equal(
        result_add_array(f, "z", NPY_F8, 1, &too_large, fetch_index, &n_freed, count_free),
        STATUS_TOO_LARGE);
    assert_int_equal(n_freed, 2);
    assert_int_equal(f->n_members, 1);
    result_free(&r);
    assert_int_equal(n_freed, 3);
    assert_int_equal(result_init(&r), STATUS_OK);
    f = add_file(&r, "b.npz", PACK_ZIP);
    assert_int_equal(result_add_copy(f, "x", NPY_F8, 1, &too_large, &one), STATUS_NO_MEMORY);
    assert_int_equal(result_add_copy(f, "x", NPY_F8, 2, too_many, &one), STATUS_NO_MEMORY);
    result_free(&r);
}

static enum status fetch_nothing(void *context, uint64_t first, size_t n, void *dst)
{
    (void)context;
    (void)first;
    (void)n;
    (void)dst;
    return status_fail(STATUS_DEVICE, "lost");
}

TEST(a_fetch_that_fails_is_passed_up)
{
    const size_t n = 4;
    struct bytes out = {.len = 0};
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    assert_int_equal(result_add_array(f, "x", NPY_F8, 1, &n, fetch_nothing, NULL, NULL), STATUS_OK);
    assert_int_equal(f->members[0].piece(f->members[0].context, 0, &out), STATUS_DEVICE);
    bytes_free(&out);
    result_free(&r);
}

static enum status put_row_numbers(void *context, uint64_t first, size_t n, struct bytes *out)
{
    enum status st = STATUS_OK;
    (void)context;
    for (uint64_t i = first; i < first + n && st == STATUS_OK; i++) {
        st = bytes_printf(out, "%ju\n", (uintmax_t)i);
    }
    return st;
}

TEST(tables_hold_every_row_once_after_the_header)
{
    static const uint64_t n_rows[] = {0, 1, 31, 32, 33, 257};
    for (size_t k = 0; k < sizeof n_rows / sizeof n_rows[0]; k++) {
        struct result r = new_result();
        struct bytes expected = {.len = 0};
        assert_int_equal(bytes_printf(&expected, "row\n"), STATUS_OK);
        assert_int_equal(put_row_numbers(NULL, 0, n_rows[k], &expected), STATUS_OK);
        assert_int_equal(
            result_add_csv(&r, "rows", "row", n_rows[k], 32, put_row_numbers, NULL, NULL),
            STATUS_OK);
        assert_string_equal(r.files[0].name, "rows.csv.gz");
        assert_int_equal(r.files[0].kind, PACK_GZIP);
        assert_int_equal(r.files[0].members[0].n_pieces,
                         n_rows[k] <= 32 ? 1 : (n_rows[k] + 31) / 32);
        struct bytes text = join(&r.files[0].members[0]);
        assert_int_equal(text.len, expected.len);
        assert_memory_equal(text.data, expected.data, text.len);
        bytes_free(&text);
        bytes_free(&expected);
        result_free(&r);
    }
}

static void mixed_row(const void *context, uint64_t i, struct result_row *to)
{
    (void)context;
    result_row_count(to, "n", i);
    result_row_real(to, result_row_has_names(to) ? "x" : NULL, i == 0 ? 0.1 : (double)INFINITY);
    result_row_flag(to, "is", i == 1);
    result_row_text(to, "of, it", "=1,2");
}

TEST(a_table_is_told_once_for_text_arrays_and_json)
{
    static const struct result_table table = {"mixed", mixed_row, NULL, 2};
    static const char text[] = "n,x,is,\"of, it\"\n0,0.1,0,\"'=1,2\"\n1,inf,1,\"'=1,2\"\n",
                      json[] =
                          "[{\"n\":0,\"x\":0.1,\"is\":false},{\"n\":1,\"x\":null,\"is\":true}]";
    static const char *const arrays[][2] = {{"n", "<i8"}, {"x", "<f8"}};
    static const uint64_t bits[2][2] = {{0, 1}, {0x3fb999999999999a, 0x7ff0000000000000}};
    struct result r = new_result();
    assert_int_equal(result_table_csv(&r, &table, 1), STATUS_OK);
    assert_string_equal(r.files[0].name, "mixed.csv.gz");
    struct bytes got = join(&r.files[0].members[0]);
    assert_int_equal(got.len, strlen(text));
    assert_memory_equal(got.data, text, got.len);
    bytes_free(&got);
    struct result_file *f = add_file(&r, "mixed.npz", PACK_ZIP);
    for (size_t k = 0; k < 2; k++) {
        char dictionary[96];
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", arrays[k][1]);
        assert_int_equal(result_table_array(f, &table, arrays[k][0]), STATUS_OK);
        got = join(&f->members[k]);
        const size_t at = assert_header(&got, dictionary);
        assert_int_equal(got.len, at + sizeof bits[k]);
        assert_memory_equal(got.data + at, bits[k], sizeof bits[k]);
        bytes_free(&got);
    }
    json_t *const list = result_table_json(&table, 2, 3);
    char *const dumped = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(3));
    assert_string_equal(dumped, json);
    free(dumped);
    json_decref(list);
    result_free(&r);
}

TEST(warnings_are_kept_in_order_and_valid)
{
    struct result r = new_result();
    assert_int_equal(result_warn(&r, "%d columns left out", 3), STATUS_OK);
    assert_int_equal(result_warn(&r, "column \xff\x01"), STATUS_OK);
    assert_int_equal(json_array_size(r.warnings), 2);
    assert_string_equal(json_string_value(json_array_get(r.warnings, 0)), "3 columns left out");
    assert_string_equal(json_string_value(json_array_get(r.warnings, 1)),
                        "column \xef\xbf\xbd\x01");
    result_free(&r);
}

/* What check_results.py expects; keep both in step. */
static void sample_row(const void *context, uint64_t i, struct result_row *to)
{
    static const char *const names[] = {"plain", "a,b", "say \"so\"", "h\xc3\xb6he", "two\nlines"};
    (void)context;
    result_row_text(to, "name", names[i % 5]);
    result_row_count(to, "count", i);
    result_row_real(to, "value", i % 7 == 0 ? (double)NAN : (double)i / 7);
}

static struct result sample_result(void)
{
    static const struct result_table rows = {"rows", sample_row, NULL, 50000},
                                     empty = {"empty", sample_row, NULL, 0};
    static const char *const names[] = {"a", "", "h\xc3\xb6he", "\xf0\x9f\x8c\x8a", "x\xff y"};
    static const float f4[] = {0.5f, -1.25f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const int64_t i8[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const uint8_t u1[] = {0, 1, 255};
    static const double scalar = 0.1;
    static const size_t none = 0, large = 300000, two_three[] = {2, 3}, four = 4, three = 3;
    static const size_t tall[] = {100000, 3};
    struct result r = new_result();
    struct result_file *f = add_file(&r, "sample.npz", PACK_ZIP);
    assert_int_equal(result_add_strings(f, "names", 5, names), STATUS_OK);
    assert_int_equal(result_add_copy(f, "f4", NPY_F4, 2, two_three, f4), STATUS_OK);
    assert_int_equal(result_add_copy(f, "i8", NPY_I8, 1, &four, i8), STATUS_OK);
    assert_int_equal(result_add_copy(f, "u1", NPY_U1, 1, &three, u1), STATUS_OK);
    assert_int_equal(result_add_copy(f, "scalar", NPY_F8, 0, NULL, &scalar), STATUS_OK);
    assert_int_equal(result_add_copy(f, "none", NPY_F8, 1, &none, NULL), STATUS_OK);
    assert_int_equal(result_add_array(f, "large", NPY_F8, 1, &large, fetch_index, NULL, NULL),
                     STATUS_OK);
    assert_int_equal(result_add_array(f, "tall", NPY_F8, 2, tall, fetch_index, NULL, NULL),
                     STATUS_OK);
    assert_int_equal(result_table_csv(&r, &rows, 20000), STATUS_OK);
    assert_int_equal(result_table_csv(&r, &empty, 100), STATUS_OK);
    f = add_file(&r, "rows.npz", PACK_ZIP);
    assert_int_equal(result_table_array(f, &rows, "count"), STATUS_OK);
    assert_int_equal(result_table_array(f, &rows, "value"), STATUS_OK);
    return r;
}

static void write_result(const struct result *r, int dir)
{
    struct deflater *s;
    struct bytes raw = {.len = 0};
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(deflater_new(PACK_LEVEL, &s), STATUS_OK);
    for (size_t i = 0; i < r->n_files; i++) {
        const struct result_file *f = &r->files[i];
        struct pack *p;
        uint64_t size;
        uint32_t crc;
        assert_int_equal(pack_open(dir, f->name, f->kind, &p), STATUS_OK);
        for (size_t m = 0; m < f->n_members; m++) {
            const struct result_member *member = &f->members[m];
            if (f->kind == PACK_ZIP) {
                assert_int_equal(pack_member(p, member->name), STATUS_OK);
            }
            for (uint64_t k = 0; k < member->n_pieces; k++) {
                bytes_clear(&raw);
                assert_int_equal(member->piece(member->context, k, &raw), STATUS_OK);
                assert_int_equal(
                    pack_deflate(s, f->kind, raw.data, raw.len, k + 1 == member->n_pieces, &piece),
                    STATUS_OK);
                assert_int_equal(pack_append(p, &piece), STATUS_OK);
            }
        }
        assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    }
    bytes_free(&raw);
    bytes_free(&piece.packed);
    deflater_free(s);
}

TEST(numpy_and_pandas_read_what_is_written)
{
    char dir_name[] = "/tmp/leat-result-XXXXXX", script[4096], command[8192];
    snprintf(script, sizeof script, "%.*scheck_results.py",
             (int)(strrchr(__FILE__, '/') - __FILE__ + 1), __FILE__);
    if (access(script, R_OK) != 0 ||
        system("/usr/bin/python3 -c 'import numpy, pandas' 2>/dev/null") != 0) {
        print_message("no NumPy and pandas here\n");
        skip();
    }
    assert_non_null(mkdtemp(dir_name));
    const int dir = open(dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    struct result r = sample_result();
    write_result(&r, dir);
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s'", script, dir_name);
    const int rc = system(command);
    for (size_t i = 0; i < r.n_files; i++) {
        assert_int_equal(unlinkat(dir, r.files[i].name, 0), 0);
    }
    close(dir);
    assert_int_equal(rmdir(dir_name), 0);
    result_free(&r);
    assert_int_equal(rc, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
