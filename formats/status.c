/*
 * status - the descriptions of failures, one a thread.
 *
 * A description is formatted aside first, so that the last one may be an argument of the next.
 */
#include "formats/status.h"

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

/* Copies text with control bytes spelt out; cuts what does not fit. */
static void keep(const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;
    for (; *text != '\0' && len + 4 < sizeof current; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c >= 0x20) {
            current[len++] = (char)c;
        } else {
            current[len++] = '\\';
            current[len++] = 'x';
            current[len++] = digits[c >> 4];
            current[len++] = digits[c & 15];
        }
    }
    current[whole_characters(current, len)] = '\0';
}

static void format_and_keep(const char *suffix, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The suffix is what explains the failure: a long description is cut, never the suffix. */
static void format_and_keep(const char *suffix, const char *format, va_list args)
{
    char text[STATUS_MESSAGE_BYTES];
    size_t room = sizeof text;
    const size_t suffix_len = strlen(suffix);
    if (suffix_len + 2 < sizeof text / 2) {
        room -= suffix_len;
    }
    if (vsnprintf(text, room, format, args) < 0) {
        snprintf(text, room, "%s", format);
    }
    const size_t len = whole_characters(text, strlen(text));
    snprintf(text + len, sizeof text - len, "%s", suffix);
    keep(text);
}

enum status status_fail(enum status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_and_keep("", format, args);
    va_end(args);
    return code;
}

enum status status_fail_errno(int error, const char *format, ...)
{
    char suffix[160], buffer[128];
    snprintf(suffix, sizeof suffix, ": %s", strerror_r(error, buffer, sizeof buffer));
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
    char text[STATUS_MESSAGE_BYTES];
    snprintf(text, sizeof text, "%s", message);
    keep(text);
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
