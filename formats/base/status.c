/*
 * status - the descriptions of failures, one a thread.
 *
 * A description is formatted aside first, so that the last one may be an argument of the next.
 */
#include "formats/base/status.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char current[STATUS_MESSAGE_BYTES];

static const struct {
    const char *name, *text;
} codes[] = {
#define X(code, name, text) {name, text},
    STATUS_LIST(X)
#undef X
};

/* The length of text without a UTF-8 character that a cut left incomplete at its end. */
static size_t whole_characters(const char *text, size_t len)
{
    size_t tail = 0;
    while (tail < 3 && tail < len && ((unsigned char)text[len - 1 - tail] & 0xc0) == 0x80) {
        tail++;
    }
    if (tail == len) {
        return len;
    }
    const unsigned char lead = (unsigned char)text[len - 1 - tail];
    const size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    return tail < wanted ? len - 1 - tail : len;
}

/* Keeps text with control bytes spelt out, cut so that `suffix` still follows it. */
static void keep(const char *text, const char *suffix)
{
    static const char digits[] = "0123456789abcdef";
    const size_t suffix_len = strlen(suffix);
    assert(suffix_len < sizeof current / 2);
    const size_t room = sizeof current - 1 - suffix_len;
    size_t len = 0;
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (len + (c < 0x20 ? 4 : 1) > room) {
            len = whole_characters(current, len);
            break;
        }
        if (c < 0x20) {
            current[len++] = '\\';
            current[len++] = 'x';
            current[len++] = digits[c >> 4];
            current[len++] = digits[c & 15];
        } else {
            current[len++] = (char)c;
        }
    }
    memcpy(current + len, suffix, suffix_len + 1);
}

static void format_and_keep(const char *suffix, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void format_and_keep(const char *suffix, const char *format, va_list args)
{
    char text[STATUS_MESSAGE_BYTES + 1]; /* one more than is kept: keep() sees the cut */
    if (vsnprintf(text, sizeof text, format, args) < 0) {
        snprintf(text, sizeof text, "%s", format);
    }
    keep(text, suffix);
}

enum status status_fail(enum status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_and_keep("", format, args);
    va_end(args);
    return code;
}

enum status status_vfail(enum status code, const char *format, va_list args)
{
    format_and_keep("", format, args);
    return code;
}

enum status status_fail_errno(int error, const char *format, ...)
{
    char suffix[160], buffer[128];
    snprintf(suffix, sizeof suffix, ": %s", strerror_r(error, buffer, sizeof buffer)); /* GNU's */
    va_list args;
    va_start(args, format);
    format_and_keep(suffix, format, args);
    va_end(args);
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return STATUS_NO_SPACE;
    case ENOMEM:
        return STATUS_NO_MEMORY;
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EEXIST:
        return STATUS_EXISTS;
    default:
        return STATUS_IO;
    }
}

enum status status_set(enum status code, const char *message)
{
    char text[STATUS_MESSAGE_BYTES + 1];
    snprintf(text, sizeof text, "%s", message);
    keep(text, "");
    return code;
}

const char *status_message(void)
{
    return current;
}

const char *status_name(enum status code)
{
    const size_t index = (size_t)code;
    return index < sizeof codes / sizeof codes[0] ? codes[index].name : "unknown";
}

const char *status_text(enum status code)
{
    const size_t index = (size_t)code;
    return index < sizeof codes / sizeof codes[0] ? codes[index].text : "not a status code";
}
