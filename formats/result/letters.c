/*
 * letters - FreeType reads the font that is linked into the program. Letters are drawn once for
 * each size and kept: small pictures are made by the thousand. cairo has a face of its own, since
 * it locks that itself.
 */
#include "formats/result/letters.h"

#include "formats/base/utf8.h"

#include <assert.h>
#include <ft2build.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include FT_FREETYPE_H

/* The file as it is: DejaVuSans.ttf, whose path the build knows. */
__asm__(".section .rodata\n"
        ".globl letters_font\n"
        "letters_font:\n"
        ".incbin \"" LEAT_FONT "\"\n"
        ".globl letters_font_end\n"
        "letters_font_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const FT_Byte letters_font[], letters_font_end[];

enum { MOST_CAPITAL = 64, KEPT = 96, FIRST = ' ', STEPS = 15 };

/* Of a capital letter, of the size; DejaVu Sans: 1493 of 2048. */
static const double capital_share = 1493.0 / 2048;

static FT_Library library;
static FT_Face face;
static cairo_font_face_t *for_cairo;
static double advance[KEPT];                  /* of ASCII, of the size */
static struct letter *kept[MOST_CAPITAL + 1]; /* [KEPT], of ASCII; NULL: none yet */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of library, face and kept */

static FT_Face new_face(void)
{
    FT_Face made = NULL;
    const FT_Long n = (FT_Long)(letters_font_end - letters_font);
    return FT_New_Memory_Face(library, letters_font, n, 0, &made) == 0 ? made : NULL;
}

static double advance_of(uint32_t point)
{
    const FT_Int32 how = FT_LOAD_NO_SCALE;
    return FT_Load_Char(face, point, how) == 0
               ? (double)face->glyph->metrics.horiAdvance / (double)face->units_per_EM
               : 0;
}

static void open_font(void)
{
    if (FT_Init_FreeType(&library) != 0) {
        return;
    }
    face = new_face();
    for (uint32_t k = 0; face != NULL && k < KEPT; k++) {
        advance[k] = advance_of(FIRST + k);
    }
}

static enum status need_font(void)
{
    pthread_once(&once, open_font);
    return face != NULL ? STATUS_OK
                        : status_fail(STATUS_NO_MEMORY, "no memory for the font of pictures");
}

static void open_for_cairo(void)
{
    pthread_mutex_lock(&lock);
    FT_Face other = new_face();
    pthread_mutex_unlock(&lock);
    if (other != NULL) {
        for_cairo = cairo.ft_font_face_create_for_ft_face(other, FT_LOAD_NO_HINTING);
    }
}

enum status letters_face(cairo_font_face_t **out)
{
    static pthread_once_t once_for_cairo = PTHREAD_ONCE_INIT;
    *out = NULL;
    STATUS_TRY(cairo_need());
    STATUS_TRY(need_font());
    pthread_once(&once_for_cairo, open_for_cairo);
    if (for_cairo == NULL || cairo.font_face_status(for_cairo) != CAIRO_STATUS_SUCCESS) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the font of pictures");
    }
    *out = for_cairo;
    return STATUS_OK;
}

double letters_size(double capital)
{
    return capital / capital_share;
}

bool letters_has(uint32_t point)
{
    if (need_font() != STATUS_OK) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const bool has = FT_Get_Char_Index(face, point) != 0;
    pthread_mutex_unlock(&lock);
    return has;
}

uint32_t letters_next(const char **text)
{
    const uint32_t point = utf8_next(text);
    if (point == 0) {
        return 0;
    }
    return point < ' ' || (point >= 0x7f && point < 0xa0) ? ' ' : point;
}

double letters_width(double capital, const char *text)
{
    double width = 0;
    if (need_font() != STATUS_OK) {
        return 0;
    }
    for (uint32_t point; (point = letters_next(&text)) != 0;) {
        if (point - FIRST < KEPT) {
            width += advance[point - FIRST];
        } else {
            pthread_mutex_lock(&lock);
            width += advance_of(point);
            pthread_mutex_unlock(&lock);
        }
    }
    return width * letters_size(capital);
}

/* Draws a letter in the size that is set; its pixels are the caller's. */
static enum status draw_letter(uint32_t point, struct letter *out)
{
    *out = (struct letter){.width = 0};
    if (FT_Load_Char(face, point, FT_LOAD_RENDER | FT_LOAD_TARGET_LIGHT) != 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a letter");
    }
    const struct FT_GlyphSlotRec_ *const slot = face->glyph;
    const size_t width = slot->bitmap.width, height = slot->bitmap.rows;
    uint8_t *const covered = malloc(width * height + 1);
    if (covered == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a letter");
    }
    for (size_t y = 0; y < height; y++) {
        const unsigned char *const row = slot->bitmap.buffer + (long)y * slot->bitmap.pitch;
        for (size_t x = 0; x < width; x++) {
            covered[y * width + x] = (uint8_t)((row[x] * STEPS + 127) / 255);
        }
    }
    *out = (struct letter){.covered = covered,
                           .left = slot->bitmap_left,
                           .top = slot->bitmap_top,
                           .width = (int)width,
                           .height = (int)height,
                           .advance = (double)slot->linearHoriAdvance / 65536};
    return STATUS_OK;
}

/* ASCII in that size. */
static enum status keep_size(int capital)
{
    struct letter *const all = calloc(KEPT, sizeof *all);
    enum status st =
        all != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for letters");
    for (uint32_t k = 0; st == STATUS_OK && k < KEPT - 1; k++) {
        st = draw_letter(FIRST + k, &all[k]);
    }
    if (st != STATUS_OK) {
        for (size_t k = 0; all != NULL && k < KEPT; k++) {
            free((void *)all[k].covered);
        }
        free(all);
        return st;
    }
    kept[capital] = all;
    return STATUS_OK;
}

static enum status each(int capital, const char *text,
                        void (*put)(void *context, const struct letter *letter, long x),
                        void *context)
{
    const FT_F26Dot6 size = (FT_F26Dot6)lround(letters_size(capital) * 64);
    double x = 0;
    if (FT_Set_Char_Size(face, size, size, 72, 72) != 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for letters");
    }
    if (kept[capital] == NULL) {
        STATUS_TRY(keep_size(capital));
    }
    for (uint32_t point; (point = letters_next(&text)) != 0;) {
        if (point - FIRST < KEPT - 1) {
            const struct letter *const letter = &kept[capital][point - FIRST];
            put(context, letter, lround(x));
            x += letter->advance;
        } else {
            struct letter letter;
            STATUS_TRY(draw_letter(point, &letter));
            put(context, &letter, lround(x));
            x += letter.advance;
            free((void *)letter.covered);
        }
    }
    return STATUS_OK;
}

enum status letters_each(int capital, const char *text,
                         void (*put)(void *context, const struct letter *letter, long x),
                         void *context)
{
    assert(capital > 0 && capital <= MOST_CAPITAL);
    STATUS_TRY(need_font());
    pthread_mutex_lock(&lock);
    const enum status st = each(capital, text, put, context);
    pthread_mutex_unlock(&lock);
    return st;
}
