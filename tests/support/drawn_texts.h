/*
 * drawn_texts - the texts of a picture, and where they stand, in a test that is linked with
 * --wrap=figure_text,--wrap=figure_text_up,--wrap=figure_text_turned. Pictures are drawn by one
 * thread.
 */
#ifndef LEAT_TESTS_DRAWN_TEXTS_H
#define LEAT_TESTS_DRAWN_TEXTS_H

#include "formats/result/figure.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN_MOST = 256 };

struct drawn_text {
    char text[160];
    double x, y; /* the middle of its line; a text upwards: of its column */
    double angle;
    bool is_up;
};

static struct drawn_text drawn_texts[DRAWN_MOST];
static bool drawn_is_on;
static size_t drawn_n;
static char drawn_all[DRAWN_MOST * 40]; /* all of them, a bar between each two */

/* From now on. */
static inline void drawn_begin(void)
{
    drawn_is_on = true;
    drawn_n = 0;
    drawn_all[0] = '\0';
}

static inline void drawn_end(void)
{
    drawn_is_on = false;
}

static inline void drawn_note(double x, double y, bool is_up, const char *text)
{
    if (!drawn_is_on) {
        return;
    }
    assert_true(drawn_n < DRAWN_MOST && strlen(drawn_all) + strlen(text) + 2 < sizeof drawn_all);
    struct drawn_text *const d = &drawn_texts[drawn_n++];
    *d = (struct drawn_text){.x = x, .y = y, .is_up = is_up};
    snprintf(d->text, sizeof d->text, "%s", text);
    strcat(drawn_all, drawn_n > 1 ? "|" : "");
    strcat(drawn_all, text);
}

void __real_figure_text(struct figure *f, double x, double y, double capital, uint32_t rgb,
                        const char *text);
void __wrap_figure_text(struct figure *f, double x, double y, double capital, uint32_t rgb,
                        const char *text);
void __wrap_figure_text(struct figure *f, double x, double y, double capital, uint32_t rgb,
                        const char *text)
{
    drawn_note(x + figure_text_width(capital, text) / 2, y + capital / 2, false, text);
    __real_figure_text(f, x, y, capital, rgb, text);
}

void __real_figure_text_up(struct figure *f, double x, double y, double capital, uint32_t rgb,
                           const char *text);
void __wrap_figure_text_up(struct figure *f, double x, double y, double capital, uint32_t rgb,
                           const char *text);
void __wrap_figure_text_up(struct figure *f, double x, double y, double capital, uint32_t rgb,
                           const char *text)
{
    drawn_note(x + capital / 2, y - figure_text_width(capital, text) / 2, true, text);
    __real_figure_text_up(f, x, y, capital, rgb, text);
}

void __real_figure_text_turned(struct figure *f, double x, double y, double capital, double angle,
                               uint32_t rgb, const char *text);
void __wrap_figure_text_turned(struct figure *f, double x, double y, double capital, double angle,
                               uint32_t rgb, const char *text);
void __wrap_figure_text_turned(struct figure *f, double x, double y, double capital, double angle,
                               uint32_t rgb, const char *text)
{
    drawn_note(x, y, false, text);
    drawn_texts[drawn_n > 0 ? drawn_n - 1 : 0].angle = angle;
    __real_figure_text_turned(f, x, y, capital, angle, rgb, text);
}

#endif
