/*
 * Plots: ticks are round and within, numbers come to the pixel where they belong, and nothing is
 * drawn outside of the area.
 * ctest: link=PNG::PNG
 */
#include "formats/result/plot_axes.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/utf8.h"
#include "tests/support/png_support.h"
#include "tests/support/unit.h"

enum { WIDTH = 120, HEIGHT = 90, LEFT = 20, TOP = 10, AREA_WIDTH = 81, AREA_HEIGHT = 61 };

static struct plot_axes axes;
static struct dots dots; /* of the picture, once it is written */

static int open_plot(void **state)
{
    (void)state;
    axes = (struct plot_axes){.left = LEFT,
                              .top = TOP,
                              .width = AREA_WIDTH,
                              .height = AREA_HEIGHT,
                              .capital = 7,
                              .x = {0, 8},
                              .y = {-3, 3}};
    return figure_new(&(struct figure_choice){.format = FIGURE_PNG}, FIGURE_LINES, WIDTH, HEIGHT,
                      &axes.figure) == STATUS_OK
               ? 0
               : 1;
}

static int close_plot(void **state)
{
    (void)state;
    figure_free(axes.figure);
    free(dots.rgb);
    dots.rgb = NULL;
    return 0;
}

/* Writes the picture and reads it; what follows is drawn on another one. */
static void read_plot(void)
{
    struct bytes file = {0};
    assert_int_equal(figure_write(axes.figure, &file), STATUS_OK);
    figure_free(axes.figure);
    free(dots.rgb);
    dots = dots_read(file.data, file.len);
    bytes_free(&file);
    assert_int_equal(figure_new(&(struct figure_choice){.format = FIGURE_PNG}, FIGURE_LINES, WIDTH,
                                HEIGHT, &axes.figure),
                     STATUS_OK);
}

static uint32_t dot(long x, long y)
{
    return dots_at(&dots, (size_t)x, (size_t)y);
}

/* How many pixels are not white; fails where one lies outside of the area. */
static size_t count_ink(void)
{
    size_t n = 0;
    read_plot();
    for (long y = 0; y < HEIGHT; y++) {
        for (long x = 0; x < WIDTH; x++) {
            const bool inside =
                x >= LEFT && x < LEFT + AREA_WIDTH && y >= TOP && y < TOP + AREA_HEIGHT;
            n += dot(x, y) != 0xffffff;
            assert_true(inside || dot(x, y) == 0xffffff);
        }
    }
    return n;
}

/* Of a label, whose minus signs are U+2212. */
static double number_of(const char *label)
{
    char text[PLOT_LABEL];
    size_t n = 0;
    for (; *label != '\0'; label++) {
        if (*label != '\xe2' && *label != '\x88') {
            text[n++] = *label == '\x92' ? '-' : *label;
        }
    }
    text[n] = '\0';
    return strtod(text, NULL);
}

TEST(ticks_are_round_and_within_the_range)
{
    static const struct plot_range ranges[] = {
        {0, 1},         {-1, 1},     {0.1, 0.2},        {-3e-300, 5e-300}, {-1e300, 1e300},
        {1e9, 1e9 + 1}, {17, 17.03}, {-12345.6, 98765}, {-1, 1e-9},        {1e-5, 3e-5},
    };
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        for (size_t most = 2; most <= PLOT_TICKS; most++) {
            struct plot_ticks ticks;
            plot_ticks_of(ranges[k], most, &ticks);
            assert_in_range(ticks.n, most >= 5 ? 2 : 0, most);
            for (size_t i = 0; i < ticks.n; i++) {
                assert_true(ticks.at[i] >= ranges[k].low && ticks.at[i] <= ranges[k].high);
                assert_true(i == 0 || ticks.at[i] > ticks.at[i - 1]);
                /* a label reads back as the tick, to a hundredth of a step */
                const double step = ticks.n > 1 ? ticks.at[1] - ticks.at[0] : fabs(ticks.at[i]);
                assert_true(fabs(number_of(ticks.label[i]) - ticks.at[i]) <= step / 100);
            }
        }
    }
}

TEST(labels_have_as_many_digits_as_tell_them_apart)
{
    struct plot_ticks ticks;
    plot_ticks_of((struct plot_range){-1, 1}, 5, &ticks);
    assert_int_equal(ticks.n, 5);
    assert_string_equal(ticks.label[0], "\xe2\x88\x92"
                                        "1.0");
    assert_string_equal(ticks.label[2], "0.0");
    assert_string_equal(ticks.label[3], "0.5");
    plot_ticks_of((struct plot_range){0, 3e7}, 4, &ticks);
    assert_int_equal(ticks.n, 4);
    assert_string_equal(ticks.label[0], "0");
    assert_string_equal(ticks.label[1], "1e7");
    plot_ticks_of((struct plot_range){-2e-8, 2e-8}, 5, &ticks);
    assert_string_equal(ticks.label[0], "\xe2\x88\x92"
                                        "2e\xe2\x88\x92"
                                        "8");
    assert_true(plot_ticks_width(&ticks, 20) > plot_ticks_width(&ticks, 10));
}

TEST(a_range_of_one_number_is_widened_and_one_that_is_not_finite_replaced)
{
    static const double numbers[] = {0, 5, -1e-300, 1e300, DBL_MAX, 17.3, DBL_TRUE_MIN};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const struct plot_range r = plot_range_of(numbers[k], numbers[k], 0.05);
        const double shown = fmin(numbers[k], 1e300);
        assert_true(r.low < shown && shown < r.high && isfinite(r.high - r.low));
    }
    const struct plot_range none = plot_range_of((double)NAN, 3, 0.1);
    assert_true(none.low == 0 && none.high == 1);
    const struct plot_range turned = plot_range_of(10, 0, 0.1);
    assert_true(turned.low == -1 && turned.high == 11);
    const struct plot_range all = plot_range_of(-DBL_MAX, DBL_MAX, 0.1);
    assert_true(isfinite(all.high - all.low));
}

TEST_BETWEEN(numbers_lie_where_they_belong, open_plot, close_plot)
{
    assert_true(plot_x(&axes, 0) == LEFT && plot_x(&axes, 8) == LEFT + AREA_WIDTH - 1);
    assert_true(plot_y(&axes, 3) == TOP && plot_y(&axes, -3) == TOP + AREA_HEIGHT - 1);
    assert_true(plot_x(&axes, 2) == LEFT + 20 && plot_y(&axes, 0) == TOP + 30);
}

TEST_BETWEEN(a_line_covers_its_pixels_and_has_gaps_where_numbers_are_missing, open_plot, close_plot)
{
    static const double x[] = {0, 2, 4, 6, 8};
    const double y[] = {0, 0, (double)NAN, 0, 0}; /* the middle of a pixel lies half a pixel on */
    plot_line(&axes, x, y, 5, 4, 0xff0000);
    count_ink();
    assert_int_equal(dot(LEFT, TOP + 30), 0xff0000);
    assert_int_equal(dot(LEFT + 10, TOP + 30), 0xff0000);
    assert_int_equal(dot(LEFT + 40, TOP + 30), 0xffffff);
    assert_int_equal(dot(LEFT + 70, TOP + 30), 0xff0000);
    assert_int_equal(dot(LEFT + 10, TOP + 34), 0xffffff);
}

TEST_BETWEEN(nothing_is_drawn_outside_of_the_area, open_plot, close_plot)
{
    static const double x[] = {-1e9, 3, 4, 4, 5, 1e300, -DBL_MAX, 8};
    const double y[] = {1e9, -1e300, DBL_MAX, (double)-INFINITY, 2, 1, (double)INFINITY, 3};
    plot_line(&axes, x, y, sizeof x / sizeof *x, 5, 0x0000ff);
    assert_true(count_ink() > 5 * AREA_HEIGHT); /* a wild line, of which some crosses the area */
    plot_band(&axes, -DBL_MAX, 3, 0xeeeeee);
    plot_band(&axes, 7, (double)INFINITY, 0xeeeeee);
    plot_band(&axes, 20, 30, 0);
    plot_band(&axes, (double)NAN, 3, 0);
    count_ink();
    assert_int_equal(dot(LEFT, TOP), 0xeeeeee);
    assert_int_equal(dot(LEFT + AREA_WIDTH - 1, TOP), 0xeeeeee);
}

TEST_BETWEEN(markers_are_drawn_where_their_middle_lies_in_the_area, open_plot, close_plot)
{
    for (int marker = PLOT_DISC; marker <= PLOT_SQUARE; marker++) {
        plot_mark(&axes, 9, 0, (enum plot_marker)marker, 9, 1, 0);
        plot_mark(&axes, 4, (double)NAN, (enum plot_marker)marker, 9, 1, 0);
        plot_mark(&axes, (double)INFINITY, 0, (enum plot_marker)marker, 9, 1, 0);
    }
    assert_int_equal(count_ink(), 0);
    plot_mark(&axes, 4, 0, PLOT_DISC, 9, 1, 0x123456);
    assert_in_range(count_ink(), 45, 90); /* pi 4.5^2, and the edge */
    assert_int_equal(dot(LEFT + 40, TOP + 30), 0x123456);
    plot_mark(&axes, 2, 0, PLOT_RING, 9, 1, 0);
    plot_mark(&axes, 6, 0, PLOT_SQUARE, 5, 0.5, 0);
    plot_mark(&axes, 6, 2, PLOT_CROSS, 9, 1, 0);
    read_plot();
    assert_int_equal(dot(LEFT + 20, TOP + 30), 0xffffff);
    assert_in_range(dot(LEFT + 60, TOP + 30) & 255, 0x7f, 0x80);
    assert_true(dot(LEFT + 60, TOP + 10) < 0x808080);
    plot_mark(&axes, 0, 3, PLOT_CROSS, 200, 1, 0); /* larger than the picture */
    read_plot();
}

TEST(names_are_shown_without_what_cannot_be)
{
    char out[PLOT_NAME];
    (void)plot_name("H\xc3\xb6he\t1", 12, 900, out);
    assert_string_equal(out, "H\xc3\xb6he?1");
    (void)plot_name("\xff\xe6\x97\xa5\x1b[31m\xc2\x85", 12, 900,
                    out); /* U+65E5 is not in the font */
    assert_string_equal(out, "??\?[31m?");
    (void)plot_name("", 12, 900, out);
    assert_string_equal(out, "");
    plot_named(&(struct plot_named){"H\xc3\xb6he", "series", 3}, 12, 900, out);
    assert_string_equal(out, "H\xc3\xb6he");
    plot_named(&(struct plot_named){"\xe6\x97\xa5 1", "series", 3}, 12, 900, out);
    assert_string_equal(out, "series 3: ? 1");
}

TEST(a_name_that_is_too_wide_keeps_its_beginning_and_its_end)
{
    static const char name[] = "station 17/north wall/sensor bay 12/temperature/mean of 10 min";
    const double whole = figure_text_width(12, name);
    char out[PLOT_NAME], other[PLOT_NAME], many[4 * PLOT_NAME];
    assert_true(plot_name(name, 12, whole, out));
    assert_string_equal(out, name);
    for (int step = 0; 40 + 7 * step < (int)whole; step++) {
        const double width = 40 + 7 * step;
        (void)plot_name(name, 12, width, out);
        const char *const cut = strstr(out, "\xe2\x80\xa6");
        assert_non_null(cut);
        assert_int_equal(strncmp(out, name, (size_t)(cut - out)), 0);
        assert_string_equal(cut + 3, name + strlen(name) - strlen(cut + 3));
        assert_true(figure_text_width(12, out) <= width);
        assert_true(figure_text_width(12, out) > width - 40); /* two letters, and what they leave */
    }
    assert_false(plot_name("station 17/north wall/1", 12, 120, out));
    assert_false(plot_name("station 17/north wall/2", 12, 120, other));
    assert_string_not_equal(out, other);
    plot_named(&(struct plot_named){name, "curve", 7}, 12, 200, out);
    assert_int_equal(strncmp(out, "curve 7: stat", 13), 0);
    assert_in_range(lround(figure_text_width(12, out)), 170, 200);
    (void)plot_name(name, 12, 1, out);
    assert_string_equal(out, "\xe2\x80\xa6");
    memset(many, 0xcc, sizeof many); /* U+0301, which has no width, over and over */
    for (size_t i = 1; i < sizeof many; i += 2) {
        many[i] = (char)0x81;
    }
    many[sizeof many - 2] = '\0';
    (void)plot_name(many, 12, 300, out);
    assert_in_range(strlen(out), 400, PLOT_NAME - 1);
    assert_true(utf8_is_valid(out, strlen(out)));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
