/*
 * figure - a picture that is drawn once and written as PNG, SVG or PDF (cairo). Knows nothing of
 * what it draws. Text is text in SVG and PDF; in an SVG it lies over all else.
 *
 * Places are pixels from the left and the top; a PDF's are 3/4 of a point. The same calls give the
 * same bytes. Nothing fails while drawing: figure_write tells what has.
 */
#ifndef LEAT_FORMATS_RESULT_FIGURE_H
#define LEAT_FORMATS_RESULT_FIGURE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/result/colours.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum figure_format { FIGURE_PNG, FIGURE_SVG, FIGURE_PDF, FIGURE_NONE };

/* FIGURE_CELLS: filled rectangles of up to 240 colours and text, nothing else, at whole pixels:
 * such a PNG takes a tenth of the time. Text on paper is in COLOURS_INK; on another colour it takes
 * two more of them. */
enum figure_kind { FIGURE_CELLS, FIGURE_LINES };

enum { FIGURE_MAX_SIDE = 16384 };

/* What a user asks of all pictures of a job. */
struct figure_choice {
    enum figure_format format;
    const char *title; /* borrowed; NULL or "": what the picture says by itself */
    size_t colours;    /* which scale or set of colours.h */
    double size_mm;    /* the longer side; 0: as it is drawn */
    double dpi;        /* pixels an inch, of a PNG; 0: FIGURE_DPI */
};

enum { FIGURE_DPI = 192 }; /* as drawn: 1300 pixels are as wide as A4's text */

struct figure;

/* "NAME.png" by the format, which is not FIGURE_NONE. */
void figure_name(char *out, size_t size, const char *name, enum figure_format format);
/* White; each side 1..FIGURE_MAX_SIDE, also of what the choice makes of it: all is drawn as if it
 * had these sides. STATUS_BAD_ARGUMENT, STATUS_NO_MEMORY. */
enum status figure_new(const struct figure_choice *choice, enum figure_kind kind, size_t width,
                       size_t height, struct figure **out) STATUS_MUST_CHECK;
/* Memory that the choice makes a picture need beside that of one as drawn. */
size_t figure_bytes(const struct figure_choice *choice);
/* NULL is fine. */
void figure_free(struct figure *f);

/* A rectangle, clipped to the picture. */
void figure_fill(struct figure *f, double x, double y, double width, double height, uint32_t rgb);
/* n_x times n_y cells of `width` times `height` pixels, row by row, within the picture; once in it.
 * The colours are borrowed for the call. */
void figure_cells(struct figure *f, long x, long y, long width, long height, size_t n_x, size_t n_y,
                  const uint32_t *rgb);
/* Text (UTF-8) of which capital letters are `capital` pixels high, with the top left of the first
 * one at x, y. */
void figure_text(struct figure *f, double x, double y, double capital, uint32_t rgb,
                 const char *text);
/* The same upwards: x, y is the bottom left. */
void figure_text_up(struct figure *f, double x, double y, double capital, uint32_t rgb,
                    const char *text);
/* Of FIGURE_LINES: the same with its middle at x, y, turned clockwise by an angle. */
void figure_text_turned(struct figure *f, double x, double y, double capital, double angle,
                        uint32_t rgb, const char *text);
size_t figure_width(const struct figure *f);
/* As chosen; "": the picture has its own. */
const char *figure_title(const struct figure *f);
double figure_text_width(double capital, const char *text);

/* Of FIGURE_LINES. Nothing is drawn outside of such a rectangle until figure_unclip. */
void figure_clip(struct figure *f, double x, double y, double width, double height);
void figure_unclip(struct figure *f);
/* A path: from, to, and through all of it a line. Coordinates up to 1e6 in size. */
void figure_from(struct figure *f, double x, double y);
void figure_to(struct figure *f, double x, double y);
void figure_line(struct figure *f, double thick, uint32_t rgb, double opacity);
/* The same without round ends. */
void figure_bar(struct figure *f, double thick, uint32_t rgb, double opacity);
/* Fills what the path goes around. */
void figure_shape(struct figure *f, uint32_t rgb, double opacity);
/* A disc; a ring, `thick` within the radius. */
void figure_disc(struct figure *f, double x, double y, double radius, uint32_t rgb, double opacity);
void figure_ring(struct figure *f, double x, double y, double radius, double thick, uint32_t rgb,
                 double opacity);

/* Ends the drawing and appends the file, once. STATUS_NO_MEMORY. */
enum status figure_write(struct figure *f, struct bytes *out) STATUS_MUST_CHECK;

#endif
