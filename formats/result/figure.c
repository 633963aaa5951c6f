/*
 * figure - cairo draws, but for PNGs of cells, which are made in the form in which they are
 * written: rows of palette indices, of which the first few are the steps from paper to ink that
 * letters need. Then a picture of a million pixels costs a millisecond.
 */
#include "formats/result/figure.h"

#include "formats/base/excerpt.h"
#include "formats/base/utf8.h"
#include "formats/result/letters.h"
#include "formats/result/palette.h"
#include "formats/result/png_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INK_STEPS = 15 }; /* the palette's first colours: paper, then so many up to ink */

static const double points = 0.75; /* a pixel's, in a PDF */

struct figure {
    enum figure_format format;
    size_t width, height; /* as it is drawn ... */
    double scale;         /* ... and what that is multiplied with in the file */
    size_t n_x, n_y;      /* pixels of a PNG */
    double dpi;
    const char *title;
    enum status failed;
    /* a PNG of cells */
    uint8_t *rows; /* height rows of a byte 0 and width indices; NULL: cairo draws */
    struct palette palette;
    /* else */
    cairo_surface_t *surface;
    cairo_t *cr;
    struct bytes file;  /* SVG and PDF, as cairo writes it */
    struct bytes texts; /* of an SVG: cairo would draw the outlines of letters */
};

void figure_name(char *out, size_t size, const char *name, enum figure_format format)
{
    static const char *const ends[] = {
        [FIGURE_PNG] = "png", [FIGURE_SVG] = "svg", [FIGURE_PDF] = "pdf", [FIGURE_NONE] = ""};
    snprintf(out, size, "%s.%s", name, ends[format]);
}

/* --- made and freed --------------------------------------------------------------------------- */

static enum status open_rows(struct figure *f)
{
    f->rows = calloc(f->height, f->width + 1);
    for (int k = 0; k <= INK_STEPS; k++) {
        palette_index(&f->palette, colours_mix(COLOURS_PAPER, COLOURS_INK, (double)k / INK_STEPS));
    }
    return f->rows != NULL ? STATUS_OK
                           : status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu x %zu",
                                         f->width, f->height);
}

static cairo_status_t take_bytes(void *context, const unsigned char *data, unsigned n)
{
    struct figure *const f = context;
    return bytes_append(&f->file, data, n) == STATUS_OK ? CAIRO_STATUS_SUCCESS
                                                        : CAIRO_STATUS_NO_MEMORY;
}

static cairo_surface_t *new_surface(struct figure *f)
{
    const double width = (double)f->width * f->scale, height = (double)f->height * f->scale;
    if (f->format == FIGURE_SVG) {
        cairo_surface_t *const s =
            cairo.svg_surface_create_for_stream(take_bytes, f, width, height);
        cairo.svg_surface_set_document_unit(s, CAIRO_SVG_UNIT_PX);
        return s;
    }
    if (f->format == FIGURE_PDF) {
        cairo_surface_t *const s =
            cairo.pdf_surface_create_for_stream(take_bytes, f, width * points, height * points);
        cairo.pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATE_DATE, ""); /* no clock */
        return s;
    }
    return cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)f->n_x, (int)f->n_y);
}

static enum status open_cairo(struct figure *f)
{
    cairo_font_face_t *face;
    STATUS_TRY(letters_face(&face));
    f->surface = new_surface(f);
    f->cr = cairo.create(f->surface);
    const double scale = f->scale * (f->format == FIGURE_PDF ? points : 1);
    cairo.scale(f->cr, scale, scale);
    cairo.set_font_face(f->cr, face);
    cairo_font_options_t *const options = cairo.font_options_create();
    cairo.font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo.font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo.set_font_options(f->cr, options);
    cairo.font_options_destroy(options);
    cairo.set_line_join(f->cr, CAIRO_LINE_JOIN_ROUND);
    cairo.set_line_cap(f->cr, CAIRO_LINE_CAP_ROUND);
    figure_fill(f, 0, 0, (double)f->width, (double)f->height, COLOURS_PAPER);
    return cairo.status(f->cr) == CAIRO_STATUS_SUCCESS
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "a picture of %zu x %zu: %s", f->width, f->height,
                             cairo.status_to_string(cairo.status(f->cr)));
}

static double dpi_of(const struct figure_choice *c)
{
    return c->format != FIGURE_PNG ? 96 : c->dpi > 0 ? c->dpi : FIGURE_DPI;
}

/* A pixel as drawn is one of a PNG, or 1/96 of an inch. */
static double scale_of(const struct figure_choice *c, double longer)
{
    const double as_drawn = c->format == FIGURE_PNG ? FIGURE_DPI : 96;
    return c->size_mm > 0 ? c->size_mm / 25.4 * dpi_of(c) / longer : dpi_of(c) / as_drawn;
}

size_t figure_bytes(const struct figure_choice *c)
{
    enum { LONGEST = 2400, PIXEL_BYTES = 8 }; /* a picture as drawn; pixels, what is written */
    const double side = LONGEST * scale_of(c, LONGEST);
    const bool is_drawn = c->format != FIGURE_PNG || scale_of(c, LONGEST) == 1;
    return is_drawn ? 0 : (size_t)(side * side) * PIXEL_BYTES;
}

enum status figure_new(const struct figure_choice *choice, enum figure_kind kind, size_t width,
                       size_t height, struct figure **out)
{
    const double scale = scale_of(choice, (double)(width > height ? width : height));
    const size_t n_x = (size_t)fmax(round((double)width * scale), width > 0),
                 n_y = (size_t)fmax(round((double)height * scale), height > 0);
    *out = NULL;
    if (n_x < 1 || n_x > FIGURE_MAX_SIDE || n_y < 1 || n_y > FIGURE_MAX_SIDE) {
        return status_fail(STATUS_BAD_ARGUMENT, "a picture of %zu x %zu pixels; sides are 1 to %d",
                           n_x, n_y, FIGURE_MAX_SIDE);
    }
    struct figure *const f = calloc(1, sizeof *f);
    if (f == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture");
    }
    *f = (struct figure){.format = choice->format,
                         .width = width,
                         .height = height,
                         .scale = scale,
                         .n_x = n_x,
                         .n_y = n_y,
                         .dpi = dpi_of(choice),
                         .title = choice->title != NULL ? choice->title : ""};
    const bool is_rows = f->format == FIGURE_PNG && kind == FIGURE_CELLS && scale == 1;
    const enum status st = is_rows ? open_rows(f) : open_cairo(f);
    if (st != STATUS_OK) {
        figure_free(f);
        return st;
    }
    *out = f;
    return STATUS_OK;
}

void figure_free(struct figure *f)
{
    if (f != NULL) {
        if (f->surface != NULL) {
            cairo.destroy(f->cr);
            cairo.surface_destroy(f->surface);
        }
        bytes_free(&f->file);
        bytes_free(&f->texts);
        free(f->rows);
        free(f);
    }
}

/* --- rectangles and cells --------------------------------------------------------------------- */

/* The part of [at, at + n), rounded, that lies in [0, limit), as first and end. */
static void clip(double at, double n, size_t limit, size_t *first, size_t *end)
{
    const double most = (double)limit, from = fmin(fmax(at, 0), most);
    const double to = n > 0 ? fmin(fmax(at + n, 0), most) : from;
    *first = (size_t)lround(from);
    *end = (size_t)lround(to);
}

/* A colour's index; of more than there is room for the last one. */
static uint8_t index_of(struct figure *f, uint32_t rgb)
{
    const size_t index = palette_index(&f->palette, rgb);
    return (uint8_t)(index < PALETTE_COLOURS ? index : PALETTE_COLOURS - 1);
}

static uint8_t *row_at(struct figure *f, size_t y)
{
    return f->rows + y * (f->width + 1) + 1;
}

static void set_colour(struct figure *f, uint32_t rgb, double opacity)
{
    cairo.set_source_rgba(f->cr, (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                          (double)(rgb & 255) / 255, opacity);
}

/* To whole pixels of a scaled PNG, one at least: what lies side by side would leave seams. */
static void snap(const struct figure *f, double *at, double *n)
{
    if (f->format == FIGURE_PNG && f->scale != 1 && *n > 0) {
        const double from = round(*at * f->scale);
        *n = fmax(round((*at + *n) * f->scale) - from, 1) / f->scale;
        *at = from / f->scale;
    }
}

void figure_fill(struct figure *f, double x, double y, double width, double height, uint32_t rgb)
{
    if (f->rows == NULL) {
        snap(f, &x, &width);
        snap(f, &y, &height);
        set_colour(f, rgb, 1);
        cairo.rectangle(f->cr, x, y, fmax(width, 0), fmax(height, 0));
        cairo.fill(f->cr);
        return;
    }
    size_t left, right, top, bottom;
    clip(x, width, f->width, &left, &right);
    clip(y, height, f->height, &top, &bottom);
    for (size_t k = top; k < bottom && left < right; k++) {
        memset(row_at(f, k) + left, index_of(f, rgb), right - left);
    }
}

/* Each row of cells once, then copied downwards. */
static void put_cells(struct figure *f, size_t x, size_t y, size_t width, size_t height, size_t n_x,
                      size_t n_y, const uint32_t *rgb)
{
    for (size_t i = 0; i < n_y; i++) {
        uint8_t *const first = row_at(f, y + i * height) + x;
        for (size_t j = 0; j < n_x; j++) {
            memset(first + j * width, index_of(f, rgb[i * n_x + j]), width);
        }
        for (size_t k = 1; k < height; k++) {
            memcpy(first + k * (f->width + 1), first, n_x * width);
        }
    }
}

void figure_cells(struct figure *f, long x, long y, long width, long height, size_t n_x, size_t n_y,
                  const uint32_t *rgb)
{
    if (f->rows != NULL) {
        assert(x >= 0 && y >= 0 && width > 0 && height > 0);
        assert((size_t)x + (size_t)width * n_x <= f->width);
        assert((size_t)y + (size_t)height * n_y <= f->height);
        put_cells(f, (size_t)x, (size_t)y, (size_t)width, (size_t)height, n_x, n_y, rgb);
        return;
    }
    cairo_surface_t *const cells = cairo.image_surface_create_for_data(
        (unsigned char *)rgb, CAIRO_FORMAT_RGB24, (int)n_x, (int)n_y, (int)(n_x * sizeof *rgb));
    cairo.save(f->cr);
    cairo.translate(f->cr, (double)x, (double)y);
    cairo.scale(f->cr, (double)width, (double)height);
    cairo.set_source_surface(f->cr, cells, 0, 0);
    const bool is_reduced = f->scale * (double)(width < height ? width : height) < 1;
    cairo.pattern_set_filter(cairo.get_source(f->cr),
                             is_reduced ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
    cairo.paint(f->cr);
    cairo.restore(f->cr);
    cairo.surface_finish(cells); /* what still needs the colours copies them */
    cairo.surface_destroy(cells);
}

/* --- text ------------------------------------------------------------------------------------- */

struct line {
    struct figure *f;
    long x, y; /* of its first point */
    bool up;
    uint32_t rgb;
    uint8_t under;       /* the colour before ... */
    uint16_t blended[4]; /* ... and 1 + what has become of it; 0: not yet */
};

/* The index of a colour that a letter covers by so many thirds. */
static uint8_t blend(struct line *line, uint8_t under, int thirds)
{
    if (under != line->under) {
        line->under = under;
        memset(line->blended, 0, sizeof line->blended);
    }
    if (line->blended[thirds] == 0) {
        const uint32_t rgb = colours_mix(line->f->palette.colours[under], line->rgb, thirds / 3.0);
        line->blended[thirds] = (uint16_t)(index_of(line->f, rgb) + 1);
    }
    return (uint8_t)(line->blended[thirds] - 1);
}

/* Puts a letter; of what it covers of paper already the darker one stays. */
static void put_letter(void *context, const struct letter *letter, long along)
{
    struct line *const line = context;
    struct figure *const f = line->f;
    for (int i = 0; i < letter->height; i++) {
        for (int j = 0; j < letter->width; j++) {
            const long right = along + letter->left + j, down = i - letter->top;
            const long x = line->x + (line->up ? down : right);
            const long y = line->y + (line->up ? -right : down);
            const uint8_t covered = letter->covered[i * letter->width + j];
            if (covered > 0 && x >= 0 && y >= 0 && x < (long)f->width && y < (long)f->height) {
                uint8_t *const pixel = row_at(f, (size_t)y) + x;
                *pixel = *pixel > INK_STEPS ? blend(line, *pixel, (covered + 2) / 5)
                         : *pixel < covered ? covered
                                            : *pixel;
            }
        }
    }
}

static void put_line(struct figure *f, double x, double y, double capital, bool up, uint32_t rgb,
                     const char *text)
{
    struct line line = {f, lround(x), lround(y), up, rgb, 0, {0}};
    const enum status st = letters_each((int)lround(capital), text, put_letter, &line);
    f->failed = f->failed == STATUS_OK ? st : f->failed;
}

/* An element of SVG, as wide as it is measured whatever font is there. */
static enum status put_element(struct figure *f, double x, double y, double capital, double angle,
                               uint32_t rgb, const char *text)
{
    char begin[256];
    const int n = snprintf(
        begin, sizeof begin,
        "<text transform=\"translate(%.2f %.2f) rotate(%.2f)\" font-family=\"DejaVu Sans, Verdana, "
        "sans-serif\" font-size=\"%.2f\" fill=\"#%06x\" textLength=\"%.2f\">",
        x, y, angle * 180 / M_PI, letters_size(capital), (unsigned)rgb,
        letters_width(capital, text));
    STATUS_TRY(bytes_append(&f->texts, begin, (size_t)n));
    STATUS_TRY(excerpt_html(text, &f->texts));
    return bytes_append(&f->texts, "</text>\n", 8);
}

/* From the left end of its line. cairo takes only text that is as it should be. */
static void show_text(struct figure *f, double x, double y, double capital, double angle,
                      uint32_t rgb, const char *text)
{
    struct bytes shown = {0};
    enum status st = utf8_append_valid(&shown, text);
    st = st == STATUS_OK ? bytes_append(&shown, "", 1) : st;
    for (unsigned char *at = shown.data; st == STATUS_OK && *at != '\0'; at++) {
        *at = *at < ' ' || *at == 0x7f ? ' ' : *at;
    }
    if (st == STATUS_OK && f->format == FIGURE_SVG && shown.len > 1) {
        st = put_element(f, x, y, capital, angle, rgb, (const char *)shown.data);
    } else if (st == STATUS_OK) {
        set_colour(f, rgb, 1);
        cairo.save(f->cr);
        cairo.translate(f->cr, x, y);
        cairo.rotate(f->cr, angle);
        cairo.set_font_size(f->cr, letters_size(capital));
        cairo.move_to(f->cr, 0, 0);
        cairo.show_text(f->cr, (const char *)shown.data);
        cairo.restore(f->cr);
        cairo.new_path(f->cr);
    }
    f->failed = f->failed == STATUS_OK ? st : f->failed;
    bytes_free(&shown);
}

void figure_text(struct figure *f, double x, double y, double capital, uint32_t rgb,
                 const char *text)
{
    if (f->rows != NULL) {
        put_line(f, x, y + capital, capital, false, rgb, text);
    } else {
        show_text(f, x, y + capital, capital, 0, rgb, text);
    }
}

void figure_text_up(struct figure *f, double x, double y, double capital, uint32_t rgb,
                    const char *text)
{
    if (f->rows != NULL) {
        put_line(f, x + capital, y, capital, true, rgb, text);
    } else {
        show_text(f, x + capital, y, capital, -M_PI_2, rgb, text);
    }
}

void figure_text_turned(struct figure *f, double x, double y, double capital, double angle,
                        uint32_t rgb, const char *text)
{
    const double along = letters_width(capital, text) / 2, below = capital / 2;
    show_text(f, x - along * cos(angle) - below * sin(angle),
              y - along * sin(angle) + below * cos(angle), capital, angle, rgb, text);
}

size_t figure_width(const struct figure *f)
{
    return f->width;
}

const char *figure_title(const struct figure *f)
{
    return f->title;
}

double figure_text_width(double capital, const char *text)
{
    return letters_width(capital, text);
}

/* --- lines ------------------------------------------------------------------------------------ */

void figure_clip(struct figure *f, double x, double y, double width, double height)
{
    cairo.save(f->cr);
    cairo.rectangle(f->cr, x, y, width, height);
    cairo.clip(f->cr);
}

void figure_unclip(struct figure *f)
{
    cairo.restore(f->cr);
}

void figure_from(struct figure *f, double x, double y)
{
    cairo.move_to(f->cr, x, y);
}

void figure_to(struct figure *f, double x, double y)
{
    cairo.line_to(f->cr, x, y);
}

void figure_line(struct figure *f, double thick, uint32_t rgb, double opacity)
{
    set_colour(f, rgb, opacity);
    cairo.set_line_width(f->cr, thick);
    cairo.stroke(f->cr);
}

void figure_bar(struct figure *f, double thick, uint32_t rgb, double opacity)
{
    cairo.set_line_cap(f->cr, CAIRO_LINE_CAP_BUTT);
    figure_line(f, thick, rgb, opacity);
    cairo.set_line_cap(f->cr, CAIRO_LINE_CAP_ROUND);
}

void figure_shape(struct figure *f, uint32_t rgb, double opacity)
{
    set_colour(f, rgb, opacity);
    cairo.close_path(f->cr);
    cairo.fill(f->cr);
}

void figure_disc(struct figure *f, double x, double y, double radius, uint32_t rgb, double opacity)
{
    set_colour(f, rgb, opacity);
    cairo.arc(f->cr, x, y, radius, 0, 2 * M_PI);
    cairo.fill(f->cr);
}

void figure_ring(struct figure *f, double x, double y, double radius, double thick, uint32_t rgb,
                 double opacity)
{
    cairo.new_sub_path(f->cr);
    cairo.arc(f->cr, x, y, radius - thick / 2, 0, 2 * M_PI);
    figure_line(f, thick, rgb, opacity);
}

/* --- the file --------------------------------------------------------------------------------- */

/* cairo numbers surfaces and images through the life of the process: without these numbers the same
 * picture is the same file. Each stands for one thing, since cells are drawn once. Their edges stay
 * sharp. */
static enum status put_svg(const struct bytes *file, const struct bytes *texts, double scale,
                           struct bytes *out)
{
    char group[64];
    const int n_group = snprintf(group, sizeof group, "<g transform=\"scale(%.6f)\">\n", scale);
    static const struct {
        const char *mark, *instead;
    } numbered[] = {{"<image id=\"image", "<image style=\"image-rendering:pixelated\" id=\"image"},
                    {"#image", "#image"},
                    {"<g id=\"surface", "<g id=\"surface"}};
    static const char last[] = "</svg>\n";
    const char *at = (const char *)file->data, *const end = at + file->len - strlen(last);
    assert(memcmp(end, last, strlen(last)) == 0);
    while (at < end) {
        const char *const line_end = memchr(at, '\n', (size_t)(end - at));
        const char *const next = line_end != NULL ? line_end + 1 : end;
        for (size_t k = 0; k < sizeof numbered / sizeof *numbered; k++) {
            const size_t n = strlen(numbered[k].mark);
            const char *const found = memmem(at, (size_t)(next - at), numbered[k].mark, n);
            if (found != NULL) {
                STATUS_TRY(bytes_append(out, at, (size_t)(found - at)));
                STATUS_TRY(bytes_append(out, numbered[k].instead, strlen(numbered[k].instead)));
                at = found + n;
                while (at < next && *at >= '0' && *at <= '9') {
                    at++;
                }
            }
        }
        STATUS_TRY(bytes_append(out, at, (size_t)(next - at)));
        at = next;
    }
    STATUS_TRY(bytes_append(out, group, scale != 1 ? (size_t)n_group : 0));
    STATUS_TRY(bytes_append(out, texts->data, texts->len));
    STATUS_TRY(bytes_append(out, "</g>\n", scale != 1 ? 5 : 0));
    return bytes_append(out, last, strlen(last));
}

static enum status put_image(const struct figure *f, struct bytes *out)
{
    return png_file_colours(cairo.image_surface_get_data(f->surface),
                            (size_t)cairo.image_surface_get_stride(f->surface), f->n_x, f->n_y,
                            f->dpi, out);
}

enum status figure_write(struct figure *f, struct bytes *out)
{
    STATUS_TRY(f->failed);
    if (f->rows != NULL) {
        return png_file_indices(f->rows, f->width, f->height, f->palette.colours, f->palette.n,
                                f->dpi, out);
    }
    cairo.show_page(f->cr);
    if (f->format == FIGURE_PNG) {
        cairo.surface_flush(f->surface);
    } else {
        cairo.surface_finish(f->surface);
    }
    const cairo_status_t drawn = cairo.status(f->cr), written = cairo.surface_status(f->surface);
    if (drawn != CAIRO_STATUS_SUCCESS || written != CAIRO_STATUS_SUCCESS) {
        const cairo_status_t first = drawn != CAIRO_STATUS_SUCCESS ? drawn : written;
        return status_fail(STATUS_NO_MEMORY, "cannot write a picture: %s",
                           cairo.status_to_string(first));
    }
    return f->format == FIGURE_PNG   ? put_image(f, out)
           : f->format == FIGURE_SVG ? put_svg(&f->file, &f->texts, f->scale, out)
                                     : bytes_append(out, f->file.data, f->file.len);
}
