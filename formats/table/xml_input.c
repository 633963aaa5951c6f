/*
 * xml_input - see xml_input.h.
 */
#include "formats/table/xml_input.h"

#include "formats/base/excerpt.h"

#include <inttypes.h>
#include <libxml/xmlreader.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_BYTES = 1 << 20, /* of a tag: libxml2 compares each attribute with each other */
    MOST_DEPTH = 64
};

#define XML_CALLS(CALL)                                                                            \
    CALL(xml, FreeTextReader)                                                                      \
    CALL(xml, GetLastError)                                                                        \
    CALL(xml, InitParser)                                                                          \
    CALL(xml, ReaderForIO)                                                                         \
    CALL(xml, SetStructuredErrorFunc)                                                              \
    CALL(xml, TextReaderCurrentNode)                                                               \
    CALL(xml, TextReaderIsEmptyElement)                                                            \
    CALL(xml, TextReaderNodeType)                                                                  \
    CALL(xml, TextReaderRead)                                                                      \
    CALL(__xml, ParserVersion)

static const char *const names[] = {XML_CALLS(MODULE_NAME) NULL};

static struct xml_calls {
    XML_CALLS(MODULE_MEMBER)
} xml;
struct module_library xml_library = {
    .module = {.name = "XML", .file = "leat_xlsx.so", .missing = STATUS_UNSUPPORTED},
    .names = names,
    .calls = &xml};

const char *xml_version(void)
{
    static char text[40];
    const int n = atoi(*xml.ParserVersion()); /* 20914, and more */
    (void)snprintf(text, sizeof text, "%d.%d.%d", n / 10000, n / 100 % 100, n % 100);
    return text;
}

void xml_input_free(struct xml_input *x)
{
    if (x->reader != NULL) {
        xml.FreeTextReader(x->reader);
        x->reader = NULL;
    }
}

static enum status refuse(const struct xml_input *x, const char *what)
{
    return status_fail(STATUS_UNSUPPORTED, "%s: byte %" PRIu64 ": %s", x->where, x->n_before, what);
}

static void say_nothing(void *user, xmlErrorPtr error)
{
    (void)user;
    (void)error;
}

/* libxml2's: how many bytes, or -1. */
static int read_some(void *user, char *dst, int cap)
{
    struct xml_input *const x = user;
    size_t n = 0;
    xml.SetStructuredErrorFunc(NULL, say_nothing); /* of this thread; fail() tells the last one */
    if (x->failed == STATUS_OK) {
        x->failed = x->n_read - x->n_before > MOST_BYTES
                        ? refuse(x, "a tag or a text is longer than 1 MiB")
                        : x->read(x->user, dst, (size_t)cap, &n);
    }
    x->n_read += n;
    return x->failed == STATUS_OK ? (int)n : -1;
}

static enum status fail(const struct xml_input *x)
{
    const xmlError *const error = xml.GetLastError();
    if (error == NULL || error->code == XML_ERR_NO_MEMORY) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to read its XML", x->where);
    }
    const char *const text = error->code == XML_ERR_DOCUMENT_END && x->depth > 0
                                 ? "it ends within an element"
                             : error->message != NULL ? error->message
                                                      : "no reason";
    return status_fail(STATUS_BAD_INPUT, "%s: line %d: is no XML: %s", x->where, error->line,
                       excerpt_of(text, strcspn(text, "\n")).text);
}

static enum status open_reader(struct xml_input *x)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, xml.InitParser);
    x->reader = xml.ReaderForIO(read_some, NULL, x, NULL, NULL,
                                XML_PARSE_NONET | XML_PARSE_NOCDATA | XML_PARSE_COMPACT);
    return x->reader != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "%s: no memory to read its XML", x->where);
}

static struct xml_span span_of(const xmlChar *text)
{
    return (struct xml_span){(const char *)text, strlen((const char *)text)};
}

static struct xml_span without_prefix(const xmlChar *name)
{
    const char *const colon = strchr((const char *)name, ':'); /* a prefix that is not declared */
    return span_of(colon != NULL ? (const xmlChar *)colon + 1 : name);
}

enum status xml_next(struct xml_input *x, enum xml_event *event)
{
    if (x->is_empty) {
        x->is_empty = false;
        x->depth--;
        *event = XML_END;
        return STATUS_OK;
    }
    STATUS_TRY(x->reader != NULL ? STATUS_OK : open_reader(x));
    for (;;) {
        x->n_before = x->n_read;
        const int got = xml.TextReaderRead(x->reader);
        STATUS_TRY(x->failed);
        if (got != 1) {
            *event = XML_DONE;
            return got == 0 ? STATUS_OK : fail(x);
        }
        x->node = xml.TextReaderCurrentNode(x->reader);
        switch (xml.TextReaderNodeType(x->reader)) {
        case XML_READER_TYPE_ELEMENT:
            *event = XML_BEGIN;
            x->name = without_prefix(x->node->name);
            x->is_empty = xml.TextReaderIsEmptyElement(x->reader) == 1;
            return x->depth++ < MOST_DEPTH
                       ? STATUS_OK
                       : refuse(x, "more than 64 elements lie within each other");
        case XML_READER_TYPE_END_ELEMENT:
            *event = XML_END;
            x->name = without_prefix(x->node->name);
            x->depth--;
            return STATUS_OK;
        case XML_READER_TYPE_TEXT:
        case XML_READER_TYPE_CDATA:
        case XML_READER_TYPE_WHITESPACE:
        case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
            *event = XML_TEXT;
            x->text = span_of(x->node->content);
            return STATUS_OK;
        case XML_READER_TYPE_DOCUMENT_TYPE:
            return refuse(x, "has a document type, which is not read");
        default:
            break;
        }
    }
}

bool xml_attribute(const struct xml_input *x, const char *name, struct xml_span *value)
{
    const char *const colon = strchr(name, ':');
    const size_t n_prefix = colon != NULL ? (size_t)(colon - name) : 0;
    for (const xmlAttr *a = x->node->properties; a != NULL; a = a->next) {
        const char *const own = (const char *)a->name;
        const char *const prefix = a->ns != NULL ? (const char *)a->ns->prefix : NULL;
        const bool is_it = colon == NULL    ? xml_is(without_prefix(a->name), name)
                           : prefix == NULL ? strcmp(own, name) == 0
                                            : strlen(prefix) == n_prefix &&
                                                  memcmp(prefix, name, n_prefix) == 0 &&
                                                  strcmp(own, colon + 1) == 0;
        if (is_it) {
            *value = span_of(a->children != NULL ? a->children->content : (const xmlChar *)"");
            return true;
        }
    }
    return false;
}
