/*
 * test_table_csv_chunks - delimited text gives the same numbers, and the same errors, however it is
 * cut into chunks, and with all that is seen of it late: long lines, columns without numbers.
 */
#include "tests/support/csv_support.h"

/* A text with all that makes cutting hard, and the same numbers whatever the chunk. */
static void assert_same_in_all_chunks(const char *text, size_t n)
{
    struct reading whole = read_bytes(text, n, NULL, 1 << 20);
    assert_int_equal(whole.status, STATUS_OK);
    static const size_t caps[] = {24, 31, 32, 33, 47, 64, 100, 257, 1000, 4096};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        struct reading r = read_bytes(text, n, NULL, caps[i]);
        if (r.status) {
            fail_msg("in chunks of %zu: %s", caps[i], status_message());
        }
        assert_int_equal(r.n_numbers, whole.n_numbers);
        for (size_t k = 0; k < r.n_numbers; k++) {
            double a, b;
            memcpy(&a, whole.numbers.data + 8 * k, sizeof a);
            memcpy(&b, r.numbers.data + 8 * k, sizeof b);
            assert_true(a == b || (isnan(a) && isnan(b)));
        }
        assert_int_equal(r.n_missing, whole.n_missing);
        assert_int_equal(r.labels.len, whole.labels.len);
        assert_true(r.labels.len == 0 ||
                    memcmp(r.labels.data, whole.labels.data, r.labels.len) == 0);
        reading_free(&r);
    }
    reading_free(&whole);
}

TEST(chunks_of_any_size_give_the_same_numbers)
{
    static const char delimiters[] = ",;\t| ";
    for (const char *d = delimiters; *d; d++) {
        struct bytes text = {0};
        for (int line = 0; line < 40; line++) {
            assert_int_equal(bytes_printf(&text, "w%d", line), STATUS_OK);
            for (int column = 1; column < 50; column++) {
                const char *const cell = (line * column) % 11 == 3 && *d != ' ' ? "" : "12.5";
                assert_int_equal(bytes_printf(&text, "%c%s", *d, cell), STATUS_OK);
            }
            assert_int_equal(bytes_printf(&text, line % 3 ? "\n" : "\r\n"), STATUS_OK);
            if (line % 7 == 0) {
                assert_int_equal(bytes_printf(&text, "# %0120d\n\n", line), STATUS_OK);
            }
        }
        assert_same_in_all_chunks((const char *)text.data, text.len);
        text.len--; /* no last line end */
        assert_same_in_all_chunks((const char *)text.data, text.len);
        bytes_free(&text);
    }
}

TEST(quotes_are_respected_across_chunks)
{
    struct bytes text = {0};
    for (int line = 0; line < 60; line++) {
        assert_int_equal(bytes_printf(&text, "\"n,%d\n\"\"q\"\"\",\"%d\",%d,\"\",7\n", line % 10,
                                      line % 5, line),
                         STATUS_OK);
    }
    assert_same_in_all_chunks((const char *)text.data, text.len);
    bytes_free(&text);
}

TEST(long_blank_lines_and_lines_that_begin_blank_are_told_apart)
{
    struct bytes text = {0};
    char commas[300];
    memset(commas, ',', 299);
    commas[299] = '\0';
    for (int line = 0; line < 6; line++) {
        assert_int_equal(bytes_printf(&text, "%s\n%s9\n5%s\n", commas, commas, commas), STATUS_OK);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 20);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->cells_per_line, 2);
    ASSERT_NUMBERS(&r, NAN, 9, 5, NAN, NAN, 9, 5, NAN, NAN, 9, 5, NAN, NAN, 9, 5, NAN, NAN, 9, 5,
                   NAN, NAN, 9, 5, NAN);
    reading_free(&r);
    assert_same_in_all_chunks((const char *)text.data, text.len);
    bytes_free(&text);
}

static void append_row(struct bytes *text, const char *first, int begin)
{
    enum { COLUMNS = 20 };
    assert_int_equal(bytes_printf(text, "%s", first), STATUS_OK);
    for (int column = 0; column < COLUMNS; column++) {
        assert_int_equal(bytes_printf(text, ",%d", begin + column * column % 37), STATUS_OK);
    }
    assert_int_equal(bytes_printf(text, "\n"), STATUS_OK);
}

/* The lines are longer than some of the chunks. */
TEST(marked_rows_comments_and_sums_are_told_apart_in_all_chunks)
{
    struct bytes text = {0};
    append_row(&text, "x", 7);
    for (int i = 0; i < 12; i++) {
        append_row(&text, "#tag", i);
        assert_int_equal(bytes_printf(&text, "# a comment%0*d\n", 30 * i, 0), STATUS_OK);
        append_row(&text, "\"Total\"", 9000 * i);
    }
    assert_same_in_all_chunks((const char *)text.data, text.len);
    for (size_t cap = 24; cap < 500; cap += 7) {
        struct reading r = read_bytes(text.data, text.len, NULL, cap);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.n_numbers, 13 * 20);
        assert_int_equal(r.info->n_warnings, 3);
        assert_string_equal(
            r.info->warnings[0],
            "12 lines that begin with # are left out as comments; the first is line 3");
        assert_string_equal(r.info->warnings[1],
                            "12 rows whose first cell names a sum or mean of others are left out; "
                            "the first is line 4; if they are data: -s sums=data");
        assert_string_equal(r.info->warnings[2],
                            "12 rows that begin with # are data; the first is line 2; if such "
                            "lines are comments: -s comment='#'");
        reading_free(&r);
    }
    bytes_free(&text);
}

/* Rows that begin as the header does are none, whether all of it is in a chunk or not. */
TEST(repeated_headers_are_left_out_in_all_chunks)
{
    enum { ROWS = 20 };
    struct bytes text = {0}, header = {0};
    assert_int_equal(bytes_printf(&header, "id"), STATUS_OK);
    for (int column = 0; column < 20; column++) {
        assert_int_equal(bytes_printf(&header, ",name %d", column), STATUS_OK);
    }
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(bytes_printf(&text, "%.*s\n", (int)header.len, header.data), STATUS_OK);
        append_row(&text, i % 2 == 0 ? "id" : "x", i);
    }
    assert_same_in_all_chunks((const char *)text.data, text.len);
    for (size_t cap = 24; cap < 500; cap += 7) {
        struct reading r = read_bytes(text.data, text.len, NULL, cap);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.n_numbers, ROWS * 20);
        assert_int_equal(r.info->n_lines, ROWS);
        assert_int_equal(r.info->n_warnings, 2);
        assert_string_equal(r.info->warnings[1],
                            "19 lines repeat the header and are left out; the first is line 3");
        reading_free(&r);
    }
    bytes_free(&text);
    bytes_free(&header);
}

TEST(errors_name_the_same_place_in_all_chunks)
{
    struct bytes text = {0};
    for (int line = 1; line <= 30; line++) {
        for (int column = 1; column <= 40; column++) {
            const char *const cell = line == 23 && column == 17 ? "oops" : "1.5";
            assert_int_equal(bytes_printf(&text, "%s%s", cell, column < 40 ? ";" : "\n"),
                             STATUS_OK);
        }
    }
    static const size_t caps[] = {20, 33, 64, 257, 4096};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        struct reading r = read_bytes(text.data, text.len, NULL, caps[i]);
        assert_failed(&r, STATUS_BAD_INPUT, "line 23, column 17: \"oops\" is not a number", NULL);
        reading_free(&r);
    }
    bytes_free(&text);
}

/* Lines that are left out count as lines, also where one is longer than a chunk or lies between
 * two.
 */
TEST(errors_behind_lines_left_out_name_the_same_line_in_all_chunks)
{
    enum { TIMES = 12, LINE = 2 + 5 * TIMES + 1 };
    struct bytes text = {0}, header = {0};
    char place[64];
    assert_int_equal(bytes_printf(&header, "id"), STATUS_OK);
    for (int column = 0; column < 20; column++) {
        assert_int_equal(bytes_printf(&header, ",name %d", column), STATUS_OK);
    }
    assert_int_equal(bytes_printf(&text, "%.*s\n", (int)header.len, header.data), STATUS_OK);
    append_row(&text, "x", 7);
    for (int i = 0; i < TIMES; i++) {
        append_row(&text, "#tag", i);
        assert_int_equal(bytes_printf(&text, "# a comment%0*d\n\n", 30 * i, 0), STATUS_OK);
        append_row(&text, "Total", 9000 * i);
        assert_int_equal(bytes_printf(&text, "%.*s\n", (int)header.len, header.data), STATUS_OK);
    }
    append_row(&text, "y,oops", 1);
    snprintf(place, sizeof place, "line %d, column 2 (name 0): \"oops\" is not a number", LINE);
    for (size_t cap = 24; cap < 500; cap += 7) {
        struct reading r = read_bytes(text.data, text.len, NULL, cap);
        assert_failed(&r, STATUS_BAD_INPUT, place, NULL);
        reading_free(&r);
    }
    bytes_free(&text);
    bytes_free(&header);
}

TEST(a_text_that_ends_with_a_delimiter_at_a_chunks_end_is_complete)
{
    for (size_t cap = 8; cap < 40; cap++) {
        struct reading r = read_bytes("1,2\n3,4\n5,6\n7,", 14, NULL, cap);
        ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6, 7, NAN);
        reading_free(&r);
        r = read_bytes("1,2\n3,4\n5,6\n7,8,", 16, NULL, cap);
        assert_failed(&r, STATUS_BAD_INPUT, "line 4, column 3: the line has more cells", NULL);
        reading_free(&r);
    }
}

TEST(a_cell_longer_than_a_chunk_is_refused)
{
    struct bytes text = {0};
    assert_int_equal(bytes_printf(&text, "1,2\n3,%0200d\n", 5), STATUS_OK);
    struct reading r = read_bytes(text.data, text.len, NULL, 100);
    assert_failed(&r, STATUS_BAD_INPUT, "line 2, column 2: a cell is longer than 100 bytes", NULL);
    reading_free(&r);
    r = read_bytes(text.data, text.len, NULL, 1000);
    ASSERT_NUMBERS(&r, 1, 2, 3, 5);
    reading_free(&r);
    bytes_free(&text);
}

TEST(rows_of_empty_cells_fit_the_room_for_numbers)
{
    struct bytes text = {0};
    for (int line = 0; line < 50; line++) {
        for (int column = 0; column < 100; column++) {
            const bool filled = line == 0 || column == line;
            assert_int_equal(
                bytes_printf(&text, "%s%s", filled ? "1" : "", column < 99 ? "," : "\n"),
                STATUS_OK);
        }
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 512);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.n_numbers, 5000);
    assert_int_equal(r.n_missing, 5000 - 100 - 49);
    reading_free(&r);
    bytes_free(&text);
}

/* Some more of the head than is looked at for columns that have shown nothing. */
static void append_lines(struct bytes *text, const char *line, size_t bytes)
{
    while (bytes > 0) {
        const size_t n = strlen(line);
        assert_int_equal(bytes_append(text, line, n), STATUS_OK);
        bytes -= n < bytes ? n : bytes;
    }
}

TEST(a_late_first_number_is_an_error_that_says_how_to_keep_the_column)
{
    struct bytes text = {0};
    assert_int_equal(bytes_printf(&text, "a,late,w\n"), STATUS_OK);
    append_lines(&text, "123456789,,x\n", 5 << 20);
    assert_int_equal(bytes_printf(&text, "1,,2\n3,4,x\n"), STATUS_OK);
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_int_equal(r.info->cells_per_line, 1);
    assert_non_null(strstr(r.info->warnings[0], "column 2 \"late\" holds no number in the first "));
    assert_failed(&r, STATUS_BAD_INPUT, "column 2: \"4\" is the first number", "-s columns=");
    reading_free(&r);
    const struct table_options options = {.columns = "a,late"};
    r = read_bytes(text.data, text.len, &options, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    double last[2];
    memcpy(last, r.numbers.data + r.numbers.len - sizeof last, sizeof last);
    assert_true(last[0] == 3 && last[1] == 4);
    reading_free(&r);
    bytes_free(&text);
}

TEST(a_missing_value_all_over_the_head_keeps_its_column)
{
    struct bytes text = {0};
    append_lines(&text, "123456789,NA\n", 5 << 20);
    assert_int_equal(bytes_printf(&text, "1,2\n"), STATUS_OK);
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->cells_per_line, 2);
    assert_int_equal(r.n_missing + 3, r.n_numbers - (r.n_numbers / 2 - 2));
    reading_free(&r);
    bytes_free(&text);
}

/* Also where less than 4 MiB is looked at, since lines may not be long. */
TEST(a_column_with_a_header_that_is_empty_so_far_is_named_by_its_number)
{
    struct table_options options[] = {{0}, {.max_line_bytes = 1 << 17}};
    struct bytes text = {0};
    assert_int_equal(bytes_printf(&text, "a,b\n"), STATUS_OK);
    append_lines(&text, ",123456789\n", 5 << 20);
    assert_int_equal(bytes_printf(&text, "7,8\n"), STATUS_OK);
    for (size_t k = 0; k < 2; k++) {
        struct reading r = read_bytes(text.data, text.len, &options[k], 1 << 16);
        assert_failed(&r, STATUS_BAD_INPUT, ", column 1: \"7\" is the first number of a column",
                      NULL);
        reading_free(&r);
        options[k].columns = "a,b";
        r = read_bytes(text.data, text.len, &options[k], 1 << 16);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.info->cells_per_line, 2);
        reading_free(&r);
    }
    bytes_free(&text);
}

TEST(lines_beyond_the_limit_are_refused)
{
    const struct table_options options = {.max_line_bytes = 1 << 17};
    struct bytes text = {0};
    for (int i = 0; i < 200000; i++) {
        assert_int_equal(bytes_printf(&text, "%d,", i % 10), STATUS_OK);
    }
    assert_int_equal(bytes_printf(&text, "1\n"), STATUS_OK);
    struct reading r = read_bytes(text.data, text.len, &options, 1 << 16);
    assert_failed(&r, STATUS_BAD_INPUT, "line 1: is longer than 131072 bytes",
                  "closed? If so, raise --memory");
    reading_free(&r);
    r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->cells_per_line, 200001);
    assert_int_equal(r.n_numbers, 200001);
    reading_free(&r);
    bytes_free(&text);
}

TEST(a_line_without_an_end_is_refused_as_soon_as_it_is_too_long)
{
    const struct table_options options = {.max_line_bytes = 1 << 17};
    struct bytes text = {0};
    assert_int_equal(bytes_printf(&text, "1,2\n"), STATUS_OK);
    append_lines(&text, "1,2,", 4 << 20);
    struct reading r = read_bytes(text.data, text.len, &options, 1 << 16);
    assert_failed(&r, STATUS_BAD_INPUT, "line 2: is longer than 131072 bytes", NULL);
    reading_free(&r);
    bytes_free(&text);
}

/* Of two columns the second holds words in all lines but every n-th. */
static struct reading read_wordy(int n)
{
    struct bytes text = {0};
    for (int i = 0; i < 140; i++) {
        assert_int_equal(i % n != n - 1 ? bytes_printf(&text, "%d,w\n", i)
                                        : bytes_printf(&text, "%d,%d\n", i, i),
                         STATUS_OK);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    bytes_free(&text);
    return r;
}

TEST(a_column_of_words_with_a_number_among_them_is_left_out)
{
    for (int n = 3; n < 90; n += 43) {
        struct reading r = read_wordy(n);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.n_numbers, 140);
        assert_int_equal(r.info->n_warnings, 1);
        assert_non_null(
            strstr(r.info->warnings[0], n == 89 ? "column 2 holds more words than numbers: left out"
                                                : "column 2 holds more words than numbers"));
        reading_free(&r);
    }
    struct reading r = read_wordy(2); /* as many numbers as words */
    assert_failed(&r, STATUS_BAD_INPUT, "column 2", "\"w\" is not a number");
    reading_free(&r);
}

TEST(lines_of_a_file_that_was_seen_whole_are_counted)
{
    static const char text[] = "a,b\n1,2\n\n# not 5\n\"3\",4\n,\nTotal,6\n5,6";
    struct reading r = read_bytes(text, sizeof text - 1, NULL, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->n_lines, 3);
    assert_int_equal(r.info->n_lines_estimate, 3);
    assert_int_equal(r.n_numbers, 6);
    reading_free(&r);
}

TEST(a_first_line_of_years_over_labels_is_pointed_out)
{
    static const char years[] = "name,2001,2002,2003,2004\na,1,2,4,3\nb,4,1,0,2\n";
    static const char *const others[] = {"c,2001,2002,2003,2005\na,1,2,2004,3\nb,4,1,0,2\n",
                                         "x,1,2,3\ny,2,1,5\nz,3,3,1\n",
                                         "d,2004,2003,2002,2001\na,1,2,2003,3\nb,4,1,0,2\n",
                                         "e,1.5,2.5,3.5,4.5\na,1,2,4,3\nb,4,1,0,2\n"};
    struct reading r = read_bytes(years, sizeof years - 1, NULL, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->n_warnings, 1);
    assert_non_null(
        strstr(r.info->warnings[0], "line 1 may be a header of numbers (2001 to 2004)"));
    reading_free(&r);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        r = read_text(others[i], NULL);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
}

TEST(lines_are_estimated_seldom_too_low)
{
    struct bytes text = {0};
    for (int i = 0; i < 50000; i++) {
        assert_int_equal(bytes_printf(&text, "%d,2.5\n", i), STATUS_OK);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_int_equal(r.info->n_lines, 0);
    assert_in_range(r.info->n_lines_estimate, 50000, 100000);
    reading_free(&r);
    bytes_free(&text);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
