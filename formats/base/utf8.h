/*
 * utf8 - code points from bytes that claim to be UTF-8.
 */
#ifndef LEAT_FORMATS_BASE_UTF8_H
#define LEAT_FORMATS_BASE_UTF8_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { UTF8_WRONG = 0x110000, UTF8_MOST = 4 /* bytes of a character */ };

/* Decodes the character at text[0 .. n), n > 0: no overlong forms, no surrogates, nothing beyond
 * U+10FFFF. Returns its bytes. Where there is none *point is UTF8_WRONG, and the bytes are those of
 * the longest run that begins a character, at least 1. */
size_t utf8_decode(const void *text, size_t n, uint32_t *point);

/* Writes a code point, which is no surrogate and not beyond U+10FFFF; returns its bytes. */
size_t utf8_encode(uint32_t point, unsigned char out[UTF8_MOST]);

/* Whether all of text[0 .. n) is UTF-8. */
bool utf8_is_valid(const void *text, size_t n);

/* Writes text[0 .. n) in Windows-1252, which has what Latin-1 has, as UTF-8 to dst[3 * n]; returns
 * its bytes. The five bytes that mean nothing there become U+FFFD. */
size_t utf8_from_windows_1252(const void *text, size_t n, void *dst);

/* The code point at *text, which is moved past it; 0, unmoved, at the final NUL. Each longest run
 * of bytes that begins a character but does not complete it is one U+FFFD, as is any other wrong
 * byte (Unicode 15, 3.9: substitution of maximal subparts, as Python and browsers do it). */
uint32_t utf8_next(const char **text);

/* Appends the text with U+FFFD in the place of what is not UTF-8; no NUL. STATUS_NO_MEMORY. */
enum status utf8_append_valid(struct bytes *out, const char *text) STATUS_MUST_CHECK;
/* The same of names: one that takes more than `most` bytes, 3 or more, is cut at a character's end
 * and ends with U+2026 ("...") within them; nothing longer is made on the way. */
enum status utf8_append_cut(struct bytes *out, const char *text, size_t most,
                            bool *is_cut) STATUS_MUST_CHECK;

#endif
