/*
 * template - a file of text with places in braces, filled from JSON.
 *
 *   {{KEY}}               the text or number at KEY, escaped for where it goes
 *   {{FORM KEY}}          as a path of an address, a size, a duration, an age, what is left, a
 *                         rate, a time, a word of a shell, a count (0 where there is none), the "s"
 *                         of words that are counted, or a number with all of its digits (NaN where
 *                         there is none)
 *   {{#KEY}} ... {{/KEY}} for each entry of an array; once, of an object; once, if it is true, a
 *                         number but 0, or a text but ""
 *   {{^KEY}} ... {{/KEY}} if it is none of those
 *   {{?KEY}} ... {{/KEY}} once, if there is anything at KEY but an empty array
 *
 * KEY is of the object that a section is of; "@KEY" of the whole document; "." the entry itself. A
 * line that is the begin or the end of a section, and nothing else, is not put. What is missing, or
 * of another type, is left out, or 0; null is "no limit". Texts are small: without memory for one
 * the process ends (xalloc.h).
 */
#ifndef LEAT_PIPELINE_NAMES_TEMPLATE_H
#define LEAT_PIPELINE_NAMES_TEMPLATE_H

#include "formats/base/bytes.h"

#include <jansson.h>
#include <stdio.h>

/* Links a file into the program, as a text; the build knows the folder of the sources. */
#define TEMPLATE_LINK_IN(symbol, file)                                                             \
    __asm__(".section .rodata\n"                                                                   \
            ".globl " symbol "\n" symbol ":\n"                                                     \
            ".incbin \"" LEAT_SOURCES "/" file "\"\n"                                              \
            ".byte 0\n"                                                                            \
            ".previous\n")

/* Where it goes: to browsers (excerpt_html), terminals (excerpt_escape), Prometheus. */
enum template_kind { TEMPLATE_HTML, TEMPLATE_TEXT, TEMPLATE_METRICS };

/* Appends the template, filled. The document is taken over. */
void template_fill(const char *text, enum template_kind kind, json_t *document, struct bytes *out);
/* Prints it, as TEMPLATE_TEXT. */
void template_print(FILE *out, const char *text, json_t *document);
/* Appends a path as a part of an address: bytes but letters, digits and -._~/ stand as %XX. */
void template_path(const char *path, struct bytes *out);
/* Appends n bytes. */
void template_put(struct bytes *out, const void *text, size_t n);

#endif
