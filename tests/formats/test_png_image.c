/*
 * Pictures: what is drawn is what libpng reads back, nothing is drawn outside.
 */
#include "formats/result/png_image.h"

#include <limits.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct reading {
    const unsigned char *at, *end;
};

static void give(png_structp png, png_bytep data, size_t n)
{
    struct reading *r = png_get_io_ptr(png);
    if (n > (size_t)(r->end - r->at)) {
        png_error(png, "end");
    }
    memcpy(data, r->at, n);
    r->at += n;
}

/* Fails unless the file is a PNG of exactly these dots; gives its colour type. */
static int assert_png_holds(const struct bytes *file, const struct png_image *image)
{
    struct reading r = {.at = file->data, .end = file->data + file->len};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    assert_non_null(png);
    png_infop info = png_create_info_struct(png);
    assert_non_null(info);
    png_set_read_fn(png, &r, give);
    png_read_info(png, info);
    const int type = png_get_color_type(png, info);
    assert_int_equal(png_get_image_width(png, info), image->width);
    assert_int_equal(png_get_image_height(png, info), image->height);
    assert_int_equal(png_get_bit_depth(png, info), 8);
    png_set_palette_to_rgb(png);
    png_read_update_info(png, info);
    assert_int_equal(png_get_rowbytes(png, info), 3 * image->width);
    png_bytep row = malloc(3 * image->width);
    assert_non_null(row);
    for (size_t y = 0; y < image->height; y++) {
        png_read_row(png, row, NULL);
        assert_memory_equal(row, image->rgb + 3 * y * image->width, 3 * image->width);
    }
    png_read_end(png, info);
    png_time *modified;
    assert_int_equal(png_get_tIME(png, info, &modified), 0);
    assert_ptr_equal(r.at, r.end);
    free(row);
    png_destroy_read_struct(&png, &info, NULL);
    return type;
}

static uint32_t dot(const struct png_image *image, size_t x, size_t y)
{
    const uint8_t *p = image->rgb + 3 * (y * image->width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static size_t count_dots(const struct png_image *image, uint32_t rgb)
{
    size_t n = 0;
    for (size_t y = 0; y < image->height; y++) {
        for (size_t x = 0; x < image->width; x++) {
            n += dot(image, x, y) == rgb;
        }
    }
    return n;
}

static struct png_image new_image(size_t width, size_t height)
{
    struct png_image image;
    assert_int_equal(png_image_new(width, height, &image), STATUS_OK);
    return image;
}

static void a_new_picture_is_white(void **state)
{
    (void)state;
    struct png_image image = new_image(33, 7);
    assert_int_equal(count_dots(&image, 0xffffff), 33 * 7);
    png_image_release(&image);
    assert_null(image.rgb);
    png_image_release(&image);
}

static void sides_outside_1_to_16384_are_refused(void **state)
{
    static const size_t bad[][2] = {{0, 1}, {1, 0}, {16385, 1}, {1, 16385}, {SIZE_MAX, SIZE_MAX}};
    (void)state;
    struct png_image image;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(png_image_new(bad[k][0], bad[k][1], &image), STATUS_BAD_ARGUMENT);
        assert_null(image.rgb);
    }
    image = new_image(16384, 1);
    png_image_release(&image);
}

static void a_fill_is_clipped_to_the_picture(void **state)
{
    static const struct {
        long x, y, width, height;
        size_t dots;
    } cases[] = {{2, 3, 4, 5, 20},
                 {0, 0, 10, 10, 100},
                 {-2, -3, 4, 5, 4},
                 {8, 8, 100, 100, 4},
                 {10, 0, 1, 1, 0},
                 {-1, 0, 1, 1, 0},
                 {0, 0, 0, 5, 0},
                 {3, 3, -2, 2, 0},
                 {LONG_MIN, LONG_MIN, LONG_MAX, LONG_MAX, 0},
                 {-1, -1, LONG_MAX, LONG_MAX, 100},
                 {5, 5, LONG_MAX, LONG_MAX, 25},
                 {LONG_MAX, LONG_MAX, LONG_MAX, LONG_MAX, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct png_image image = new_image(10, 10);
        png_image_fill(&image, cases[k].x, cases[k].y, cases[k].width, cases[k].height, 0x123456);
        assert_int_equal(count_dots(&image, 0x123456), cases[k].dots);
        png_image_release(&image);
    }
}

static void every_printable_character_has_its_own_shape(void **state)
{
    (void)state;
    struct png_image shapes[95];
    for (int c = ' '; c <= '~'; c++) {
        const char text[] = {(char)c, '\0'};
        struct png_image *const shape = &shapes[c - ' '];
        *shape = new_image(7, 9);
        png_image_text(shape, 1, 1, 1, 0, text);
        for (size_t x = 0; x < 7; x++) { /* keeps within 5 x 7 */
            assert_int_equal(dot(shape, x, 0), 0xffffff);
            assert_int_equal(dot(shape, x, 8), 0xffffff);
        }
        for (int other = ' '; other < c; other++) {
            assert_memory_not_equal(shape->rgb, shapes[other - ' '].rgb, (size_t)7 * 9 * 3);
        }
    }
    for (size_t k = 0; k < 95; k++) {
        png_image_release(&shapes[k]);
    }
}

static void text_grows_with_its_scale_and_is_as_wide_as_told(void **state)
{
    (void)state;
    assert_int_equal(png_image_text_width(1, ""), 0);
    assert_int_equal(png_image_text_width(1, "H"), 5);
    assert_int_equal(png_image_text_width(3, "HH"), 33);
    struct png_image one = new_image(64, 16), three = new_image(192, 48);
    png_image_text(&one, 1, 1, 1, 0, "Hg@|");
    png_image_text(&three, 3, 3, 3, 0, "Hg@|");
    for (size_t y = 0; y < three.height; y++) {
        for (size_t x = 0; x < three.width; x++) {
            assert_int_equal(dot(&three, x, y), dot(&one, x / 3, y / 3));
        }
    }
    png_image_release(&one);
    png_image_release(&three);
}

static void text_outside_is_clipped_and_foreign_letters_are_question_marks(void **state)
{
    (void)state;
    struct png_image image = new_image(20, 10), same = new_image(20, 10);
    png_image_text(&image, -1000, 2, 1, 0, "left");
    png_image_text(&image, 1000, 2, 1, 0, "right");
    png_image_text(&image, 2, -7, 1, 0, "above");
    png_image_text(&image, 2, 10, 1, 0, "below");
    assert_int_equal(count_dots(&image, 0xffffff), 200);
    png_image_text(&image, 1, 1, 1, 0, "\xe9\t\x7f");
    png_image_text(&same, 1, 1, 1, 0, "???");
    assert_memory_equal(image.rgb, same.rgb, 600);
    png_image_release(&image);
    png_image_release(&same);
}

static void few_colours_become_a_palette_and_read_back(void **state)
{
    (void)state;
    for (unsigned n_colours = 1; n_colours <= 257; n_colours += n_colours == 2 ? 253 : 1) {
        struct png_image image = new_image(61, 43);
        struct bytes file = {.len = 0};
        for (unsigned k = 0; k < 61 * 43; k++) {
            png_image_fill(&image, k % 61, k / 61, 1, 1, (k % n_colours) * 0x010305 + 0x400000);
        }
        assert_int_equal(png_image_encode(&image, &file), STATUS_OK);
        assert_int_equal(assert_png_holds(&file, &image),
                         n_colours <= 256 ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB);
        bytes_free(&file);
        png_image_release(&image);
    }
}

static void pictures_of_every_shape_read_back(void **state)
{
    static const size_t shapes[][2] = {{1, 1},   {1, 300},   {300, 1},
                                       {31, 33}, {640, 480}, {16384, 2}};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        struct png_image image = new_image(shapes[k][0], shapes[k][1]);
        struct bytes file = {.len = 0};
        uint32_t x = 1;
        for (size_t i = 0; i < 3 * image.width * image.height; i++) {
            x = x * 1664525 + 1013904223;
            image.rgb[i] = (uint8_t)(x >> 24);
        }
        assert_int_equal(png_image_encode(&image, &file), STATUS_OK);
        assert_png_holds(&file, &image);
        bytes_free(&file);
        png_image_release(&image);
    }
}

static void encoding_appends_and_is_the_same_every_time(void **state)
{
    (void)state;
    struct png_image image = new_image(100, 80);
    struct bytes file = {.len = 0};
    png_image_text(&image, 3, 3, 2, 0x990000, "again");
    assert_int_equal(bytes_append(&file, "before", 6), STATUS_OK);
    assert_int_equal(png_image_encode(&image, &file), STATUS_OK);
    const size_t n = file.len - 6;
    assert_int_equal(png_image_encode(&image, &file), STATUS_OK);
    assert_int_equal(file.len, 6 + 2 * n);
    assert_memory_equal(file.data, "before", 6);
    assert_memory_equal(file.data + 6, file.data + 6 + n, n);
    bytes_free(&file);
    png_image_release(&image);
}

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

static void the_scale_darkens_evenly_to_blue_and_to_red(void **state)
{
    (void)state;
    const uint32_t middle = png_image_diverging(0);
    assert_int_equal(middle, 0xf7f7f7);
    assert_int_equal(png_image_diverging(-0.0), middle);
    for (int k = 1; k <= 120; k++) {
        const double value = k / 120.0;
        const uint32_t plus = png_image_diverging(value), minus = png_image_diverging(-value);
        assert_true(red(plus) > blue(plus));
        assert_true(blue(minus) > red(minus));
        assert_true(luminance(plus) < luminance(png_image_diverging((k - 1) / 120.0)));
        assert_true(luminance(minus) < luminance(png_image_diverging((1 - k) / 120.0)));
        /* equal strength looks equally dark: both sides run between colours of equal lightness, but
         * on different ways; a twentieth of the range is far less than one sees apart */
        assert_true(fabs(luminance(plus) - luminance(minus)) < 0.05);
    }
}

static void values_beyond_the_scale_are_clipped_and_nan_is_grey(void **state)
{
    (void)state;
    assert_int_equal(png_image_diverging(1.0000001), png_image_diverging(1));
    assert_int_equal(png_image_diverging(HUGE_VAL), png_image_diverging(1));
    assert_int_equal(png_image_diverging(-HUGE_VAL), png_image_diverging(-1));
    const uint32_t grey = png_image_diverging((double)NAN);
    assert_int_equal(red(grey), blue(grey));
    for (int k = -120; k <= 120; k++) {
        assert_int_not_equal(png_image_diverging(k / 120.0), grey);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_picture_is_white),
        cmocka_unit_test(sides_outside_1_to_16384_are_refused),
        cmocka_unit_test(a_fill_is_clipped_to_the_picture),
        cmocka_unit_test(every_printable_character_has_its_own_shape),
        cmocka_unit_test(text_grows_with_its_scale_and_is_as_wide_as_told),
        cmocka_unit_test(text_outside_is_clipped_and_foreign_letters_are_question_marks),
        cmocka_unit_test(few_colours_become_a_palette_and_read_back),
        cmocka_unit_test(pictures_of_every_shape_read_back),
        cmocka_unit_test(encoding_appends_and_is_the_same_every_time),
        cmocka_unit_test(the_scale_darkens_evenly_to_blue_and_to_red),
        cmocka_unit_test(values_beyond_the_scale_are_clipped_and_nan_is_grey),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
