/*
 * xml_input - the elements of an XML text, one after the other: the part of XML 1.0 that programs
 * write documents in.
 *
 * UTF-8 without a document type: so there is no entity but XML's five and characters by number,
 * nothing is fetched, and nothing grows. Memory is that of the longest tag. Not checked: that an
 * end has the name of what it ends. Sequential; one thread at a time.
 */
#ifndef LEAT_FORMATS_SOURCE_XML_INPUT_H
#define LEAT_FORMATS_SOURCE_XML_INPUT_H

#include "formats/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum xml_event {
    XML_BEGIN, /* <name attributes>, or <name/>, which an end follows */
    XML_END,
    XML_TEXT, /* or a piece of it */
    XML_DONE
};

struct xml_span {
    const char *text; /* [n] */
    size_t n;
};

/* Zeroed but for the first three. */
struct xml_input {
    /* Up to cap bytes, *n = 0 only at the end. */
    enum status (*read)(void *user, void *dst, size_t cap, size_t *n);
    void *user;
    const char *where; /* what messages call it; borrowed */
    /* Of the event, until the next one: */
    struct xml_span name;    /* of an element, without its prefix */
    struct xml_span content; /* its attributes, or the text as it stands */
    /* xml_input's own: */
    struct bytes buffer;
    size_t at, depth;
    uint64_t offset; /* of the buffer */
    bool ended, is_empty;
};

void xml_input_free(struct xml_input *x);

/* The next event. STATUS_BAD_INPUT: no XML, or cut short; STATUS_UNSUPPORTED: a document type, a
 * tag of more than 4 MiB, elements too deep in each other; STATUS_NO_MEMORY, and what read() fails
 * with.
 */
enum status xml_next(struct xml_input *x, enum xml_event *event) STATUS_MUST_CHECK;

/* Whether the element that begins has the attribute: *value is it, as it stands. A name without a
 * prefix is sought behind any. */
bool xml_attribute(const struct xml_input *x, const char *name, struct xml_span *value);

/* Appends the characters that a text or an attribute's value stands for. STATUS_NO_MEMORY. */
enum status xml_append(struct bytes *out, struct xml_span text) STATUS_MUST_CHECK;

static inline bool xml_is(struct xml_span text, const char *word)
{
    return strlen(word) == text.n && memcmp(text.text, word, text.n) == 0;
}

#endif
