/*
 * pearson_heatmap - heatmap.png: cells of the averaged matrix, with a title, the numbers of the
 * first and last series on both axes, and a legend of colours.
 *
 * Small matrices are drawn with large cells, so that the picture can be looked at as it is.
 */
#include "stages/pearson/pearson_report.h"

#include "formats/result/png_image.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MOST = 768,   /* cells along a side */
    SIDE_PIXELS = 192, /* at least so many pixels along a side */
    GLYPH = 7,         /* height of a character */
    GAP = 6,           /* between parts of the picture */
    WIDE_GAP = 2 * GAP,
    TITLE = GLYPH + WIDE_GAP,
    LEFT = 48, /* room for the numbers of series */
    BAR = 12,  /* width of the legend's bar */
    LEGEND_TEXT = 30,
    INK = 0x202020
};

struct heatmap {
    size_t side, cell_px;
    size_t n_series;
    char title[160];
    float cells[]; /* side * side */
};

/* Draws the cells: each row of them once, then copied downwards. */
static void draw_cells(struct png_image *image, const struct heatmap *map, size_t left, size_t top)
{
    const size_t stride = image->width * 3, run = map->side * map->cell_px * 3;
    for (size_t a = 0; a < map->side; a++) {
        uint8_t *row = image->rgb + (top + a * map->cell_px) * stride + left * 3;
        uint8_t *pixel = row;
        for (size_t b = 0; b < map->side; b++) {
            const uint32_t rgb = png_image_diverging((double)map->cells[a * map->side + b]);
            for (size_t k = 0; k < map->cell_px; k++, pixel += 3) {
                pixel[0] = (uint8_t)(rgb >> 16);
                pixel[1] = (uint8_t)(rgb >> 8);
                pixel[2] = (uint8_t)rgb;
            }
        }
        for (size_t k = 1; k < map->cell_px; k++) {
            memcpy(row + k * stride, row, run);
        }
    }
}

/* A bar of all colours, +1 at the top, and the colour of no coefficient below it. */
static void draw_legend(struct png_image *image, long left, long top, long height)
{
    static const struct {
        const char *text;
        double at; /* of the bar's height */
    } marks[] = {{"+1", 0}, {"0", 0.5}, {"-1", 1}};
    const long bar = height - GLYPH - WIDE_GAP, text_left = left + BAR + 4;
    for (long y = 0; y < bar; y++) {
        const double r = 1 - 2 * (double)y / (double)(bar - 1);
        png_image_fill(image, left, top + y, BAR, 1, png_image_diverging(r));
    }
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        const long y = top + (long)(marks[k].at * (double)(bar - GLYPH));
        png_image_text(image, text_left, y, 1, INK, marks[k].text);
    }
    png_image_fill(image, left, top + height - GLYPH, BAR, GLYPH, png_image_diverging((double)NAN));
    png_image_text(image, text_left, top + height - GLYPH, 1, INK, "none");
}

static void draw_axes(struct png_image *image, const struct heatmap *map, long side)
{
    char last[24];
    snprintf(last, sizeof last, "%zu", map->n_series);
    const long below = TITLE + side + 3;
    png_image_text(image, LEFT - GAP - png_image_text_width(1, "1"), TITLE, 1, INK, "1");
    png_image_text(image, LEFT, below, 1, INK, "1");
    if (map->n_series > 1) {
        const long width = png_image_text_width(1, last);
        png_image_text(image, LEFT - GAP - width, TITLE + side - GLYPH, 1, INK, last);
        png_image_text(image, LEFT + side - width, below, 1, INK, last);
    }
    png_image_text(image, LEFT - GAP - png_image_text_width(1, "series"),
                   TITLE + side / 2 - GLYPH / 2, 1, INK, "series");
    png_image_text(image, LEFT + side / 2 - png_image_text_width(1, "series") / 2, below, 1, INK,
                   "series");
}

static enum status heatmap_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct heatmap *map = context;
    const size_t side = map->side * map->cell_px;
    struct png_image image;
    (void)index; /* there is one */
    STATUS_TRY(png_image_new(LEFT + side + WIDE_GAP + BAR + LEGEND_TEXT,
                             TITLE + side + GLYPH + WIDE_GAP, &image));
    png_image_text(&image, GAP, GAP, 1, INK, map->title);
    draw_cells(&image, map, LEFT, TITLE);
    draw_axes(&image, map, (long)side);
    draw_legend(&image, (long)(LEFT + side + WIDE_GAP), TITLE, (long)side);
    const enum status st = png_image_encode(&image, out);
    png_image_release(&image);
    return st;
}

/* "pearson r of 64 series, 255 increments each" */
static void set_title(struct heatmap *map, const struct pearson_job *job)
{
    static const char *const whats[] = {"samples", "increments", "log increments"};
    const enum pearson_diff diff = job->choice.diff;
    const char *what = whats[diff == PEARSON_DIFF_NONE ? 0 : diff == PEARSON_DIFF_STEP ? 1 : 2];
    snprintf(map->title, sizeof map->title, "pearson r, %zu series, %zu %s", job->n_series,
             job->n_samples, what);
}

enum status pearson_heatmap(struct pearson_job *job, struct result *out)
{
    const size_t side = job->n_series < SIDE_MOST ? job->n_series : SIDE_MOST;
    struct result_file *f = NULL;
    STATUS_TRY(result_add_file(out, "heatmap.png", PACK_RAW, &f));
    struct heatmap *map = malloc(sizeof *map + side * side * sizeof *map->cells);
    if (map == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu cells", side * side);
    }
    map->side = side;
    map->cell_px = (SIDE_PIXELS + side - 1) / side;
    map->n_series = job->n_series;
    set_title(map, job);
    const enum status st = job->ops->matrix->heatmap(job->queue, &job->matrix, side, map->cells);
    if (st != STATUS_OK) {
        free(map);
        return st;
    }
    return result_add_member(f, NULL, 1, heatmap_piece, map, free);
}
