/*
 * Pictures: what is drawn is what libpng reads back, nothing is drawn outside, and the same calls
 * give the same file in every format.
 * ctest: link=PNG::PNG
 */
#include "formats/result/figure.h"
#include "formats/result/png_file.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/png_support.h"
#include "tests/support/unit.h"

static const enum figure_kind kinds[] = {FIGURE_CELLS, FIGURE_LINES};

static struct figure *open_figure(enum figure_format format, enum figure_kind kind, size_t width,
                                  size_t height)
{
    struct figure *f;
    assert_int_equal(figure_new(&(struct figure_choice){.format = format}, kind, width, height, &f),
                     STATUS_OK);
    return f;
}

/* Writes and frees it. */
static struct bytes close_figure(struct figure *f)
{
    struct bytes file = {0};
    assert_int_equal(figure_write(f, &file), STATUS_OK);
    figure_free(f);
    return file;
}

static struct dots close_png(struct figure *f)
{
    struct bytes file = close_figure(f);
    const struct dots d = dots_read(file.data, file.len);
    bytes_free(&file);
    return d;
}

TEST(a_new_picture_is_white)
{
    for (size_t k = 0; k < 2; k++) {
        struct dots d = close_png(open_figure(FIGURE_PNG, kinds[k], 33, 7));
        assert_int_equal(d.width, 33);
        assert_int_equal(d.height, 7);
        assert_int_equal(dots_count(&d, 0xffffff), 33 * 7);
        free(d.rgb);
    }
}

TEST(sides_outside_1_to_16384_are_refused)
{
    static const size_t bad[][2] = {{0, 1}, {1, 0}, {16385, 1}, {1, 16385}, {SIZE_MAX, SIZE_MAX}};
    struct figure *f;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(figure_new(&(struct figure_choice){.format = FIGURE_PNG}, FIGURE_CELLS,
                                    bad[k][0], bad[k][1], &f),
                         STATUS_BAD_ARGUMENT);
        assert_null(f);
    }
    figure_free(open_figure(FIGURE_PNG, FIGURE_LINES, 16384, 1));
    figure_free(NULL);
}

TEST(a_fill_is_clipped_to_the_picture)
{
    static const struct {
        double x, y, width, height;
        size_t dots;
    } cases[] = {{2, 3, 4, 5, 20},        {0, 0, 10, 10, 100}, {-2, -3, 4, 5, 4},
                 {8, 8, 100, 100, 4},     {10, 0, 1, 1, 0},    {-1, 0, 1, 1, 0},
                 {0, 0, 0, 5, 0},         {3, 3, -2, 2, 0},    {-1e6, -1e6, 1e5, 1e5, 0},
                 {-1, -1, 1e6, 1e6, 100}, {5, 5, 1e6, 1e6, 25}};
    for (size_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        struct figure *const f = open_figure(FIGURE_PNG, kinds[k % 2], 10, 10);
        figure_fill(f, cases[k / 2].x, cases[k / 2].y, cases[k / 2].width, cases[k / 2].height,
                    0x123456);
        struct dots d = close_png(f);
        assert_int_equal(dots_count(&d, 0x123456), cases[k / 2].dots);
        free(d.rgb);
    }
}

TEST(cells_lie_where_they_belong_in_both_kinds)
{
    uint32_t rgb[12];
    for (uint32_t k = 0; k < 12; k++) {
        rgb[k] = k * 0x151311;
    }
    for (size_t kind = 0; kind < 2; kind++) {
        struct figure *const f = open_figure(FIGURE_PNG, kinds[kind], 40, 30);
        figure_cells(f, 5, 3, 8, 6, 4, 3, rgb);
        struct dots d = close_png(f);
        for (size_t y = 0; y < 30; y++) {
            for (size_t x = 0; x < 40; x++) {
                const bool inside = x >= 5 && x < 37 && y >= 3 && y < 21;
                const unsigned there = inside ? rgb[(y - 3) / 6 * 4 + (x - 5) / 8] : 0xffffff;
                assert_int_equal(dots_at(&d, x, y), there);
            }
        }
        free(d.rgb);
    }
}

TEST(every_printable_character_has_its_own_shape)
{
    struct dots shapes[95];
    for (int c = ' '; c <= '~'; c++) {
        const char text[] = {(char)c, '\0'};
        struct figure *const f = open_figure(FIGURE_PNG, FIGURE_CELLS, 30, 30);
        figure_text(f, 5, 8, 12, COLOURS_INK, text);
        shapes[c - ' '] = close_png(f);
        for (int other = ' '; other < c; other++) {
            assert_memory_not_equal(shapes[c - ' '].rgb, shapes[other - ' '].rgb, 30 * 30 * 3);
        }
    }
    for (size_t k = 0; k < 95; k++) {
        free(shapes[k].rgb);
    }
}

/* What of the picture is not white. */
static void find_ink(const struct dots *d, size_t *left, size_t *right, size_t *top, size_t *bottom)
{
    *left = d->width;
    *top = d->height;
    *right = *bottom = 0;
    for (size_t y = 0; y < d->height; y++) {
        for (size_t x = 0; x < d->width; x++) {
            if (dots_at(d, x, y) != 0xffffff) {
                *left = x < *left ? x : *left;
                *right = x + 1 > *right ? x + 1 : *right;
                *top = y < *top ? y : *top;
                *bottom = y + 1 > *bottom ? y + 1 : *bottom;
            }
        }
    }
}

TEST(text_is_where_and_as_large_as_told)
{
    static const char text[] = "H\xc3\x89\xce\xa9 10 H";
    assert_true(figure_text_width(12, "") == 0);
    const double width = figure_text_width(12, text);
    assert_true(fabs(figure_text_width(24, text) - 2 * width) < 1e-9);
    for (size_t k = 0; k < 4; k++) {
        struct figure *const f = open_figure(FIGURE_PNG, kinds[k % 2], 200, 200);
        size_t left, right, top, bottom;
        const bool up = k >= 2;
        (up ? figure_text_up : figure_text)(f, 50, 80, 12, COLOURS_INK, text);
        struct dots d = close_png(f);
        find_ink(&d, &left, &right, &top, &bottom);
        free(d.rgb);
        const size_t along = up ? 80 - top : right - 50, begins = up ? 80 - bottom : left - 50;
        assert_in_range(begins, 0, 3);
        assert_in_range(along, (size_t)width - 4, (size_t)width + 4); /* letters at whole pixels */
        assert_in_range(up ? right : bottom, (up ? 50 : 80) + 11, (up ? 50 : 80) + 14);
    }
}

TEST(text_outside_is_clipped)
{
    for (size_t kind = 0; kind < 2; kind++) {
        struct figure *const f = open_figure(FIGURE_PNG, kinds[kind], 20, 10);
        figure_text(f, -1000, 2, 8, COLOURS_INK, "left");
        figure_text(f, 1000, 2, 8, COLOURS_INK, "right");
        figure_text(f, 2, -30, 8, COLOURS_INK, "above");
        figure_text_up(f, 2, 1000, 8, COLOURS_INK, "below");
        struct dots d = close_png(f);
        assert_int_equal(dots_count(&d, 0xffffff), 200);
        free(d.rgb);
    }
}

/* Between a cell's colour and its own: nothing of the paper shines around it. */
TEST(text_on_a_cell_mixes_with_its_colour)
{
    static const uint32_t cells[] = {0x9c1b1e, 0xf7d9cb}, texts[] = {COLOURS_PAPER, COLOURS_INK};
    for (size_t k = 0; k < 4; k++) {
        const uint32_t cell = cells[k % 2], text = texts[k % 2];
        struct figure *const f = open_figure(FIGURE_PNG, kinds[k / 2], 60, 30);
        figure_fill(f, 0, 0, 60, 30, cell);
        figure_text(f, 10, 8, 12, text, "0.87");
        struct dots d = close_png(f);
        assert_true(dots_count(&d, text) > 20 && dots_count(&d, cell) > 60 * 30 / 2);
        for (size_t i = 0; i < (size_t)60 * 30; i++) {
            const unsigned green = dots_at(&d, i % 60, i / 60) >> 8 & 255;
            const unsigned of_cell = cell >> 8 & 255, of_text = text >> 8 & 255;
            assert_in_range(green, of_cell < of_text ? of_cell : of_text,
                            of_cell < of_text ? of_text : of_cell);
        }
        free(d.rgb);
    }
}

/* A bit of everything. */
static struct bytes draw_all(enum figure_format format, enum figure_kind kind)
{
    static const uint32_t rgb[] = {0xff0000, 0x00ff00, 0x0000ff, 0x123456};
    struct figure *const f = open_figure(format, kind, 320, 200);
    figure_cells(f, 10, 10, 20, 30, 2, 2, rgb);
    figure_fill(f, 60, 10, 20, 20, 0xabcdef);
    figure_text(f, 100, 20, 12, COLOURS_INK,
                "<b>&\"'\xce\xbc \xe6\x97\xa5 \xff\xfe \x01\x1b[31m \xed\xa0\x80");
    figure_text_up(f, 90, 180, 9, COLOURS_INK, "]]>--%PDF endobj");
    if (kind == FIGURE_LINES) {
        figure_clip(f, 100, 100, 100, 50);
        figure_from(f, 0, 0);
        figure_to(f, 320, 200);
        figure_line(f, 3, 0x808080, 0.5);
        figure_unclip(f);
        figure_disc(f, 250, 150, 20, 0x990000, 1);
        figure_ring(f, 250, 150, 30, 4, 0x990000, 0.4);
    }
    return close_figure(f);
}

/* Rows of one pixel side by side, a line and the edges: none lets paper through, or is lost. */
TEST(a_chosen_size_is_that_of_the_longer_side_without_seams)
{
    static const double mm[] = {25.4, 8, 60};
    for (size_t k = 0; k < 6; k++) {
        const struct figure_choice choice = {.size_mm = mm[k % 3], .dpi = 100};
        const size_t side = (size_t)lround(mm[k % 3] / 25.4 * 100);
        struct figure *f;
        assert_int_equal(figure_new(&choice, kinds[k / 3], 150, 110, &f), STATUS_OK);
        assert_int_equal(figure_width(f), 150);
        for (int y = 0; y < 110; y++) {
            figure_fill(f, 0, y, 150, 1, 0x336699);
        }
        figure_fill(f, 75, 0, 1, 110, 0x000000);
        struct dots d = close_png(f);
        assert_int_equal(d.width, side);
        assert_int_equal(d.height, lround((double)side * 110 / 150));
        const size_t lines = dots_count(&d, 0x000000);
        assert_true(lines >= d.height && lines % d.height == 0);
        assert_int_equal(lines + dots_count(&d, 0x336699), d.width * d.height);
        free(d.rgb);
    }
}

TEST(the_same_calls_give_the_same_file_however_many_were_drawn)
{
    for (enum figure_format format = FIGURE_PNG; format < FIGURE_NONE; format++) {
        for (size_t kind = 0; kind < 2; kind++) {
            struct bytes first = draw_all(format, kinds[kind]);
            for (int k = 0; k < 3; k++) {
                struct bytes again = draw_all(format, kinds[kind]);
                assert_int_equal(again.len, first.len);
                assert_memory_equal(again.data, first.data, first.len);
                bytes_free(&again);
            }
            bytes_free(&first);
        }
    }
}

TEST(a_file_is_what_its_name_says)
{
    static const char *const begins[] = {"\x89PNG\r\n\x1a\n", "<?xml version", "%PDF-"};
    static const char *const names[] = {"a.png", "a.svg", "a.pdf"};
    for (enum figure_format format = FIGURE_PNG; format < FIGURE_NONE; format++) {
        char name[16];
        struct bytes file = draw_all(format, FIGURE_LINES);
        assert_memory_equal(file.data, begins[format], strlen(begins[format]));
        figure_name(name, sizeof name, "a", format);
        assert_string_equal(name, names[format]);
        assert_null(memmem(file.data, file.len, "CreationDate", 12));
        bytes_free(&file);
    }
}

TEST(a_png_says_how_large_it_is_printed)
{
    static const char dots[] =
        "\0\0\0\x09pHYs\0\0\x1d\x87\0\0\x1d\x87\x01"; /* 7559 a metre: 192 dpi */
    for (size_t kind = 0; kind < 2; kind++) {
        struct bytes file = draw_all(FIGURE_PNG, kinds[kind]);
        assert_memory_equal(file.data + 33, dots, sizeof dots - 1); /* behind IHDR */
        bytes_free(&file);
    }
}

/* Text can be found and copied, is no markup, and stands where it does in a PNG. */
TEST(text_of_an_svg_is_text)
{
    struct bytes file = draw_all(FIGURE_SVG, FIGURE_LINES);
    assert_int_equal(bytes_append(&file, "", 1), STATUS_OK);
    const char *const svg = (const char *)file.data;
    assert_non_null(strstr(svg, ">&lt;b&gt;&amp;&quot;&#39;\xce\xbc \xe6\x97\xa5 "));
    assert_non_null(strstr(svg, "translate(100.00 32.00) rotate(0.00)"));
    assert_non_null(strstr(svg, "translate(99.00 180.00) rotate(-90.00)"));
    assert_non_null(strstr(svg, ">]]&gt;--%PDF endobj</text>\n</svg>\n"));
    assert_null(strstr(svg, "<glyph"));
    assert_null(strchr(svg, '\x1b'));
    bytes_free(&file);
}

/* A line upwards to the right, and a text along it. */
TEST(turned_text_lies_about_its_middle)
{
    struct figure *const f = open_figure(FIGURE_PNG, FIGURE_LINES, 200, 200);
    size_t left, right, top, bottom;
    figure_text_turned(f, 100, 90, 12, -M_PI / 4, COLOURS_INK, "H 1000 H");
    struct dots d = close_png(f);
    find_ink(&d, &left, &right, &top, &bottom);
    const double half = figure_text_width(12, "H 1000 H") / 2 * M_SQRT1_2 + 6 * M_SQRT1_2;
    assert_true(fabs((double)(left + right) / 2 - 100) < 2);
    assert_true(fabs((double)(top + bottom) / 2 - 90) < 2);
    assert_true(fabs((double)(right - left) / 2 - half) < 3);
    for (size_t y = 40; y < 70; y++) { /* nothing at the upper left */
        for (size_t x = 50; x < 80; x++) {
            assert_int_equal(dots_at(&d, x, y), 0xffffff);
        }
    }
    free(d.rgb);
}

TEST(writing_appends)
{
    struct bytes file = {0};
    struct figure *const f = open_figure(FIGURE_PNG, FIGURE_CELLS, 10, 10);
    assert_int_equal(bytes_append(&file, "before", 6), STATUS_OK);
    assert_int_equal(figure_write(f, &file), STATUS_OK);
    assert_memory_equal(file.data, "before\x89PNG", 10);
    figure_free(f);
    bytes_free(&file);
}

TEST(few_colours_become_a_palette_and_all_read_back)
{
    static const size_t shapes[][3] = {{1, 1, 1},        {16, 16, 256}, {17, 17, 257},
                                       {300, 1, 256},    {1, 300, 300}, {31, 33, 900},
                                       {640, 480, 9999}, {16384, 2, 7}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const size_t width = shapes[k][0], height = shapes[k][1], colours = shapes[k][2];
        uint32_t *const pixels = malloc(width * height * sizeof *pixels);
        struct bytes file = {0};
        uint32_t *const used = malloc(width * height * sizeof *used);
        assert_non_null(pixels);
        assert_non_null(used);
        for (size_t i = 0; i < width * height; i++) {
            pixels[i] = used[i] = (uint32_t)(i % colours) * 2654435761U >> 8 | 0xff000000;
        }
        assert_int_equal(
            png_file_colours((unsigned char *)used, width * 4, width, height, 192, &file),
            STATUS_OK);
        assert_int_equal(file.data[25], colours <= 256 ? 3 : 2); /* a palette, or not */
        struct dots d = dots_read(file.data, file.len);
        for (size_t i = 0; i < width * height; i++) {
            assert_int_equal(dots_at(&d, i % width, i / width), pixels[i] & 0xffffff);
        }
        free(d.rgb);
        free(pixels);
        free(used);
        bytes_free(&file);
    }
}

/* --- colours ---------------------------------------------------------------------------------- */

static unsigned red(uint32_t rgb)
{
    return rgb >> 16 & 255;
}

static unsigned blue(uint32_t rgb)
{
    return rgb & 255;
}

/* Relative luminance of sRGB (IEC 61966-2-1). */
static double luminance(uint32_t rgb)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double c = (rgb >> (8 * k) & 255) / 255.0;
        sum += weights[k] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

enum { STEPS = 112 }; /* of a side of the scale */

TEST(diverging_scales_darken_to_a_cold_and_to_a_warm_colour)
{
    for (size_t choice = 0; choice < COLOURS_CHOICES; choice++) {
        const uint32_t middle = colours_diverging(choice, 0);
        assert_int_equal(middle, 0xf7f7f7);
        assert_int_equal(colours_diverging(choice, -0.0), middle);
        for (int k = 1; k <= STEPS; k++) {
            const double value = (double)k / STEPS, before = (double)(k - 1) / STEPS;
            const uint32_t plus = colours_diverging(choice, value);
            const uint32_t minus = colours_diverging(choice, -value);
            assert_true(red(plus) >= blue(plus));
            assert_true(blue(minus) >= red(minus));
            assert_true(luminance(plus) < luminance(colours_diverging(choice, before)));
            assert_true(luminance(minus) < luminance(colours_diverging(choice, -before)));
            /* equal strength looks equally dark: both sides of leat's own run between colours of
             * equal lightness, but on different ways; a twentieth of the range is far less than
             * one sees apart */
            assert_true(choice > 0 || fabs(luminance(plus) - luminance(minus)) < 0.05);
        }
    }
    assert_int_equal(colours_diverging(1, 1), 0x67001f); /* the ends of matplotlib's RdBu_r */
    assert_int_equal(colours_diverging(1, -1), 0x053061);
}

TEST(sequential_scales_darken_and_sets_have_no_colour_twice)
{
    for (size_t choice = 0; choice < COLOURS_CHOICES; choice++) {
        for (int k = 1; k <= STEPS; k++) {
            assert_true(luminance(colours_sequential(choice, (double)k / STEPS)) <
                        luminance(colours_sequential(choice, (double)(k - 1) / STEPS)));
        }
        for (size_t k = 0; k < COLOURS_SET; k++) {
            for (size_t other = 0; other < k; other++) {
                assert_int_not_equal(colours_of(choice, k), colours_of(choice, other));
            }
        }
    }
}

/* By the contrast of WCAG 2. */
TEST(text_on_a_colour_is_legible)
{
    for (size_t choice = 0; choice < COLOURS_CHOICES; choice++) {
        for (int k = -STEPS; k <= STEPS; k++) {
            const uint32_t ground = colours_diverging(choice, (double)k / STEPS);
            const double a = luminance(ground) + 0.05;
            const double b = luminance(colours_ink_on(ground)) + 0.05;
            assert_true((a > b ? a / b : b / a) >= 3.9);
        }
    }
}

TEST(values_beyond_the_scale_are_clipped_and_nan_is_grey)
{
    assert_int_equal(colours_diverging(0, 1.0000001), colours_diverging(0, 1));
    assert_int_equal(colours_diverging(0, HUGE_VAL), colours_diverging(0, 1));
    assert_int_equal(colours_diverging(0, -HUGE_VAL), colours_diverging(0, -1));
    const uint32_t grey = colours_diverging(0, (double)NAN);
    assert_int_equal(red(grey), blue(grey));
    for (int k = -STEPS; k <= STEPS; k++) {
        assert_int_not_equal(colours_diverging(0, (double)k / STEPS), grey);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
