/*
 * What the stage `pearson` calls its series: by label, header or place, in UTF-8, of bounded
 * length. Runs on the backend that $LEAT_TEST_BACKEND names.
 */
#include "formats/base/utf8.h"
#include "formats/pack/pack.h"
#include "tests/support/pearson_runner.h"

/* Element k of the array of names. */
static void check_name(const struct outcome *o, size_t n, size_t k, const char *want)
{
    struct bytes raw = {0};
    member_bytes(find_array(o, "names"), &raw);
    const size_t header = 10 + raw.data[8] + ((size_t)raw.data[9] << 8);
    const size_t width = (raw.len - header) / n / 4;
    for (size_t c = 0; c < width; c++) {
        uint32_t point = 0;
        memcpy(&point, raw.data + header + (k * width + c) * 4, 4);
        assert_int_equal(point, utf8_next(&want));
    }
    assert_int_equal(*want, '\0');
    bytes_free(&raw);
}

TEST(series_are_named_by_label_header_or_place)
{
    static const char *const labels[] = {"north", "", "a,b"};
    static const char *const header[] = {"T", "RH", ""};
    struct sheet sheet = sheet_new(3, 3, true, DTYPE_F64);
    for (size_t cut = 0; cut < 4; cut++) {
        sheet.cut = cut;
        sheet.labels = labels;
        struct outcome o = run_well(&sheet);
        check_name(&o, 3, 0, "north");
        check_name(&o, 3, 1, "row 2");
        check_name(&o, 3, 2, "a,b");
        struct bytes text = read_text(&o, "series.csv.gz");
        assert_non_null(strstr((char *)text.data, "\n2,\"a,b\",3,"));
        bytes_free(&text);
        outcome_free(&o);
    }
    sheet.params[0] =
        "series=auto"; /* columns, for there is a header; labels name no series then */
    sheet.info.has_header = true;
    sheet.info.names = header;
    struct outcome o = run_well(&sheet);
    check_name(&o, 3, 0, "T");
    check_name(&o, 3, 1, "RH");
    check_name(&o, 3, 2, "column 3");
    outcome_free(&o);
    sheet.params[0] = "series=rows";
    sheet.labels = NULL;
    o = run_well(&sheet);
    check_name(&o, 3, 0, "row 1");
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(names_that_are_not_utf8_are_mended)
{
    static const char *const labels[] = {"stra\xDF"
                                         "e",
                                         "\xC3\xA9t\xC3\xA9", "\xFF\xFE"};
    struct sheet sheet = sheet_new(3, 4, true, DTYPE_F64);
    sheet.labels = labels;
    for (size_t t = 0; t < 12; t++) {
        sheet.cells[t] = 1; /* so that all are named in the summary and in warnings */
    }
    struct outcome o = run_well(&sheet);
    assert_true(is_warned(&o, "'stra\xEF\xBF\xBD"
                              "e', '\xC3\xA9t\xC3\xA9', "));
    assert_int_equal(summary_count(&o, "degenerate"), 3);
    outcome_free(&o);
    sheet_free(&sheet);
}

/* n bytes of a name: `fill`, and `last` at the end; free. */
static char *long_name(size_t n, char fill, const char *last)
{
    char *name = malloc(n + 1);
    assert_non_null(name);
    memset(name, fill, n);
    memcpy(name + n - strlen(last), last, strlen(last) + 1);
    return name;
}

TEST(names_are_cut_at_a_character_within_255_bytes)
{
    /* What is left of a name before the mark, which takes three bytes. */
    static const struct {
        size_t n;
        const char *last;
        size_t left;
    } names[] = {{255, "", 255},
                 {256, "", 252},
                 {254, "\xC3\xA9", 254},
                 {1000000, "\"", 252},
                 {256,
                  "\xF0\x9F\x8C\x8D"
                  "abc",
                  249},
                 {257,
                  "\xF0\x9F\x8C\x8D"
                  "abc",
                  250},
                 {258,
                  "\xF0\x9F\x8C\x8D"
                  "abc",
                  251},
                 {259,
                  "\xF0\x9F\x8C\x8D"
                  "abc",
                  252}};
    enum { N = sizeof names / sizeof *names };
    struct sheet sheet = sheet_new(5, N, false, DTYPE_F64);
    char *header[N], *want[N];
    for (size_t s = 0; s < N; s++) {
        header[s] = long_name(names[s].n, 'x', names[s].last);
        want[s] = strdup(header[s]);
        assert_non_null(want[s]);
        if (names[s].left < names[s].n) {
            memcpy(want[s] + names[s].left, "\xE2\x80\xA6", 4);
        }
    }
    sheet.info.has_header = true;
    sheet.info.names = (const char *const *)header;
    struct outcome o = run_well(&sheet);
    for (size_t s = 0; s < N; s++) {
        assert_true(strlen(want[s]) <= 255);
        check_name(&o, N, s, want[s]);
    }
    assert_true(is_warned(&o, "6 names of series are longer than 255 bytes"));
    outcome_free(&o);
    for (size_t s = 0; s < N; s++) {
        header[s][6] = '\0'; /* all alike */
    }
    o = run_well(&sheet);
    assert_false(is_warned(&o, "255"));
    outcome_free(&o);
    for (size_t s = 0; s < N; s++) {
        free(header[s]);
        free(want[s]);
    }
    sheet_free(&sheet);
}

TEST(names_cut_are_valid_even_where_they_were_not)
{
    enum { FIT = 84 }; /* U+FFFD of three bytes each, and the mark */
    char *const header[] = {long_name(300, '\xFF', ""), long_name(254, 'x', "\xE2\x80")};
    char want[3 * FIT + 4];
    struct sheet sheet = sheet_new(5, 2, false, DTYPE_F64);
    for (size_t k = 0; k < FIT; k++) {
        memcpy(want + 3 * k, "\xEF\xBF\xBD", 3);
    }
    memcpy(want + sizeof want - 4, "\xE2\x80\xA6", 4);
    sheet.info.has_header = true;
    sheet.info.names = (const char *const *)header;
    struct outcome o = run_well(&sheet);
    check_name(&o, 2, 0, want);
    memset(want, 'x', sizeof want);
    memcpy(want + 252, "\xEF\xBF\xBD", 4); /* 255 bytes: they fit */
    check_name(&o, 2, 1, want);
    assert_true(is_warned(&o, "1 name of a series is longer than 255 bytes"));
    outcome_free(&o);
    free(header[0]);
    free(header[1]);
    sheet_free(&sheet);
}

TEST(pieces_of_text_are_bounded_however_long_the_names)
{
    enum { N = 1300 };
    char *header[N];
    struct sheet sheet = sheet_new(3, N, false, DTYPE_F64);
    for (size_t s = 0; s < N; s++) {
        header[s] = long_name(300, '"', ""); /* twice as long once it is quoted */
    }
    sheet.info.has_header = true;
    sheet.info.names = (const char *const *)header;
    sheet_set(&sheet, "r=none");
    sheet_set(&sheet, "top=5000");
    struct outcome o = run_well(&sheet);
    static const char *const files[] = {"pairs.csv.gz", "series.csv.gz"};
    for (size_t f = 0; f < 2; f++) {
        const struct result_member *const member = &find_file(&o, files[f])->members[0];
        for (uint64_t p = 0; p < member->n_pieces; p++) {
            struct bytes piece = {0};
            assert_int_equal(member->piece(member->context, p, &piece), STATUS_OK);
            assert_in_range(piece.len, 1, PACK_PIECE_BYTES);
            bytes_free(&piece);
        }
    }
    size_t n_pairs, n_rows = 0;
    free(read_pairs(&o, &n_pairs));
    assert_int_equal(n_pairs, 5000);
    struct bytes text = read_text(&o, "series.csv.gz");
    for (size_t k = 0; k < text.len; k++) {
        n_rows += text.data[k] == '\n';
    }
    assert_int_equal(n_rows, 1 + N);
    bytes_free(&text);
    outcome_free(&o);
    for (size_t s = 0; s < N; s++) {
        free(header[s]);
    }
    sheet_free(&sheet);
}

TEST(names_are_counted_in_the_plan)
{
    enum { N = 100 };
    char *header[N];
    struct sheet sheet = sheet_new(N, 4, true, DTYPE_F64);
    struct outcome o = run_well(&sheet); /* named by their places */
    const uint64_t plain = o.need.host_bytes;
    outcome_free(&o);
    sheet.info.has_labels = true; /* which may be as long as names can be */
    o = run_well(&sheet);
    assert_in_range(o.need.host_bytes - plain, N * 2 * (256 - 24), N * 2 * 256);
    outcome_free(&o);
    sheet_free(&sheet);
    sheet = sheet_new(4, N, false, DTYPE_F64);
    for (size_t s = 0; s < N; s++) {
        header[s] = long_name(s < 10 ? 1000 : 7, 'x', "");
    }
    sheet.info.has_header = true;
    sheet.info.names = (const char *const *)header;
    o = run_well(&sheet);
    const uint64_t named = o.need.host_bytes;
    outcome_free(&o);
    for (size_t s = 0; s < 10; s++) {
        header[s][7] = '\0';
    }
    o = run_well(&sheet);
    assert_int_equal(named - o.need.host_bytes, 10 * 2 * (256 - 24));
    outcome_free(&o);
    for (size_t s = 0; s < N; s++) {
        free(header[s]);
    }
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
