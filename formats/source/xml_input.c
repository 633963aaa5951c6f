/*
 * xml_input - see xml_input.h.
 *
 * Source: Extensible Markup Language 1.0, fifth edition, sections 2.3 to 2.7, 3.1 and 4.1.
 */
#include "formats/source/xml_input.h"

#include "formats/base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 64 << 10,
    MOST_TAG_BYTES = 4 << 20,
    MOST_DEPTH = 64,
    MOST_REFERENCE = 12 /* bytes of &#x10FFFF; and any other */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void xml_input_free(struct xml_input *x)
{
    bytes_free(&x->buffer);
}

static enum status fail_at(const struct xml_input *x, enum status status, const char *what)
{
    return status_fail(status, "%s: byte %" PRIu64 ": %s", x->where, x->offset + x->at, what);
}

/* Reads on; what has been taken goes. */
static enum status read_more(struct xml_input *x)
{
    struct bytes *const b = &x->buffer;
    size_t n;
    if (x->at > 0) {
        memmove(b->data, b->data + x->at, b->len - x->at);
        b->len -= x->at;
        x->offset += x->at;
        x->at = 0;
    }
    if (b->len > MOST_TAG_BYTES) {
        return fail_at(x, STATUS_UNSUPPORTED, "a tag is longer than 4 MiB");
    }
    STATUS_TRY(bytes_reserve(b, PIECE_BYTES));
    STATUS_TRY(x->read(x->user, b->data + b->len, PIECE_BYTES, &n));
    b->len += n;
    x->ended = n == 0;
    return STATUS_OK;
}

static const char *begin_of(const struct xml_input *x)
{
    return (const char *)x->buffer.data + x->at;
}

static size_t left_of(const struct xml_input *x)
{
    return x->buffer.len - x->at;
}

/* The > that ends a tag, none within quotes; NULL: it is not there yet. */
static const char *find_tag_end(const char *p, size_t n)
{
    for (const char *const end = p + n; p < end; p++) {
        if (*p == '>') {
            return p;
        }
        if (*p == '"' || *p == '\'') {
            p = memchr(p + 1, *p, (size_t)(end - p - 1));
            if (p == NULL) {
                return NULL;
            }
        }
    }
    return NULL;
}

/* Reads until the markup at the front has ended, by those signs; "": a tag's. *n: its bytes. */
static enum status complete(struct xml_input *x, const char *ending, size_t *n)
{
    for (;;) {
        const char *const p = begin_of(x);
        const char *const end = *ending == '\0' ? find_tag_end(p, left_of(x))
                                                : memmem(p, left_of(x), ending, strlen(ending));
        if (end != NULL) {
            *n = (size_t)(end - p) + (*ending == '\0' ? 1 : strlen(ending));
            return STATUS_OK;
        }
        if (x->ended) {
            return fail_at(x, STATUS_BAD_INPUT, "the text ends within a tag");
        }
        STATUS_TRY(read_more(x));
    }
}

bool xml_attribute(const struct xml_input *x, const char *name, struct xml_span *value)
{
    const char *p = x->content.text;
    const char *const end = p + x->content.n;
    const size_t n_name = strlen(name);
    const bool has_prefix = strchr(name, ':') != NULL;
    for (;;) {
        while (p < end && is_blank(*p)) {
            p++;
        }
        const char *own = p;
        for (; p < end && *p != '=' && !is_blank(*p); p++) {
            own = *p == ':' && !has_prefix ? p + 1 : own;
        }
        const size_t n = (size_t)(p - own);
        while (p < end && (*p == '=' || is_blank(*p))) {
            p++;
        }
        const char *const quote = p;
        if (p == end || (*p != '"' && *p != '\'')) {
            return false;
        }
        for (p++; p < end && *p != *quote; p++) {
        }
        if (p == end) {
            return false;
        }
        if (n == n_name && memcmp(own, name, n) == 0) {
            *value = (struct xml_span){quote + 1, (size_t)(p - quote - 1)};
            return true;
        }
        p++;
    }
}

/* Passes what begins with <! or <?. */
static enum status pass_other(struct xml_input *x)
{
    const bool is_comment = memcmp(begin_of(x), "<!--", 4) == 0;
    size_t n;
    if (begin_of(x)[1] == '!' && !is_comment) {
        return fail_at(x, STATUS_UNSUPPORTED, "has a document type or CDATA, which are not read");
    }
    STATUS_TRY(complete(x, is_comment ? "-->" : "?>", &n));
    x->at += n;
    return STATUS_OK;
}

/* Takes the tag at the front. */
static enum status take_tag(struct xml_input *x, enum xml_event *event)
{
    size_t n;
    STATUS_TRY(complete(x, "", &n));
    const char *p = begin_of(x) + 1, *end = p + n - 2;
    *event = *p == '/' ? XML_END : XML_BEGIN;
    p += *event == XML_END;
    x->is_empty = *event == XML_BEGIN && end > p && end[-1] == '/';
    end -= x->is_empty;
    const char *after = p, *name = p;
    while (after < end && !is_blank(*after)) {
        name = *after == ':' ? after + 1 : name;
        after++;
    }
    x->name = (struct xml_span){name, (size_t)(after - name)};
    x->content = (struct xml_span){after, (size_t)(end - after)};
    if (x->name.n == 0 || (*event == XML_END && x->depth == 0)) {
        return fail_at(x, STATUS_BAD_INPUT, "is no XML");
    }
    if (*event == XML_BEGIN && x->depth == MOST_DEPTH) {
        return fail_at(x, STATUS_UNSUPPORTED, "more than 64 elements lie within each other");
    }
    x->depth = *event == XML_BEGIN ? x->depth + 1 : x->depth - 1;
    x->at += n;
    return STATUS_OK;
}

/* Takes the text at the front, as far as it is there; no & is parted from its ;. */
static void take_text(struct xml_input *x)
{
    const char *const p = begin_of(x);
    const char *const tag = memchr(p, '<', left_of(x));
    size_t n = tag != NULL ? (size_t)(tag - p) : left_of(x);
    const char *const open = tag != NULL || x->ended ? NULL : memrchr(p, '&', n);
    const size_t n_open = open != NULL ? (size_t)(p + n - open) : 0;
    if (n_open > 0 && n_open < MOST_REFERENCE && memchr(open, ';', n_open) == NULL) {
        n -= n_open;
    }
    x->content = (struct xml_span){p, n};
    x->at += n;
}

enum status xml_next(struct xml_input *x, enum xml_event *event)
{
    enum { LOOK = 4 }; /* bytes that say what markup is */
    if (x->is_empty) {
        x->is_empty = false;
        x->depth--;
        *event = XML_END;
        return STATUS_OK;
    }
    for (;;) {
        while (!x->ended && left_of(x) < LOOK) {
            STATUS_TRY(read_more(x));
        }
        if (left_of(x) == 0) {
            *event = XML_DONE;
            return x->depth == 0 ? STATUS_OK
                                 : fail_at(x, STATUS_BAD_INPUT, "the text ends within an element");
        }
        const char *const p = begin_of(x);
        if (*p == '<' && (left_of(x) < LOOK || (p[1] != '!' && p[1] != '?'))) {
            return take_tag(x, event);
        }
        if (*p == '<') {
            STATUS_TRY(pass_other(x));
            continue;
        }
        take_text(x);
        STATUS_TRY(x->content.n > 0 ? STATUS_OK : read_more(x));
        if (x->content.n > 0 && x->depth > 0) {
            *event = XML_TEXT;
            return STATUS_OK;
        }
    }
}

/* The code point that &NAME; or &#N; stands for, between these signs; 0: none. */
static uint32_t reference(const char *p)
{
    static const char *const names[] = {"lt;", "gt;", "amp;", "quot;", "apos;"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(p, names[i], strlen(names[i])) == 0) {
            return (unsigned char)"<>&\"'"[i];
        }
    }
    char *end;
    const bool is_hex = p[0] == '#' && p[1] == 'x';
    const unsigned long point = *p == '#' ? strtoul(p + 1 + is_hex, &end, is_hex ? 16 : 10) : 0;
    return point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) || *end != ';'
               ? 0
               : (uint32_t)point;
}

enum status xml_append(struct bytes *out, struct xml_span text)
{
    const char *p = text.text, *const end = p + text.n;
    while (p < end) {
        const char *const sign = memchr(p, '&', (size_t)(end - p));
        const char *const to = sign != NULL ? sign : end;
        STATUS_TRY(bytes_append(out, p, (size_t)(to - p)));
        p = to;
        if (sign == NULL) {
            continue;
        }
        const size_t left = (size_t)(end - p);
        const char *const close = memchr(p, ';', left < MOST_REFERENCE ? left : MOST_REFERENCE);
        const uint32_t point = close != NULL ? reference(p + 1) : 0;
        unsigned char encoded[UTF8_MOST] = {'&'}; /* which stands for itself where it is wrong */
        STATUS_TRY(
            bytes_append(out, encoded, point != 0 ? utf8_encode(point, encoded) : (size_t)1));
        p = point != 0 ? close + 1 : p + 1;
    }
    return STATUS_OK;
}
