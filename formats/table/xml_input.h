/*
 * xml_input - the elements of an XML text, one after the other, by libxml2, which is loaded when a
 * spreadsheet is opened.
 *
 * A text with a document type is refused: so no entity is defined, and nothing is fetched or grows.
 * Memory is that of the longest tag or text, and those are bounded. Sequential; one thread at a
 * time.
 */
#ifndef LEAT_FORMATS_TABLE_XML_INPUT_H
#define LEAT_FORMATS_TABLE_XML_INPUT_H

#include "formats/base/module.h"

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
    struct xml_span name; /* of an element, without its prefix */
    struct xml_span text;
    /* xml_input's own: */
    struct _xmlTextReader *reader;
    const struct _xmlNode *node;
    size_t depth;
    uint64_t n_read, n_before; /* bytes; before the event that comes */
    enum status failed;        /* read() did */
    bool is_empty;
};

/* Before any other call. */
extern struct module_library xml_library;
const char *xml_version(void);

void xml_input_free(struct xml_input *x);

/* The next event. STATUS_BAD_INPUT: no XML, or cut short; STATUS_UNSUPPORTED: a document type, a
 * tag or a text of more than 1 MiB, elements too deep in each other; STATUS_NO_MEMORY, and what
 * read() fails with. Before XML_DONE all has been read.
 */
enum status xml_next(struct xml_input *x, enum xml_event *event) STATUS_MUST_CHECK;

/* Whether the element that begins has the attribute: *value is its value, until the next event. A
 * name without a prefix is sought behind any. */
bool xml_attribute(const struct xml_input *x, const char *name, struct xml_span *value);

static inline bool xml_is(struct xml_span text, const char *word)
{
    return strlen(word) == text.n && memcmp(text.text, word, text.n) == 0;
}

#endif
