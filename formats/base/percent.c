/*
 * percent - see percent.h.
 */
#include "formats/base/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *percent_encode(const char *name)
{
    char *text = malloc(3 * strlen(name) + 1);
    char *end = text;
    if (text == NULL) {
        return NULL;
    }
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) {
        if (*c < 0x20 || *c >= 0x7f || *c == '%') {
            end += sprintf(end, "%%%02X", *c);
        } else {
            *end++ = (char)*c;
        }
    }
    *end = '\0';
    return text;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

enum status percent_decode(const char *text, char **out)
{
    char *name = strdup(text), *end = name;
    *out = NULL;
    if (name == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a name");
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '%') {
            *end++ = *c;
            continue;
        }
        const int high = digit(c[1]), low = high >= 0 ? digit(c[2]) : -1;
        if (low < 0 || high + low == 0) {
            free(name);
            return status_fail(STATUS_BAD_INPUT, "a name has a wrong %%");
        }
        *end++ = (char)(high * 16 + low);
        c += 2;
    }
    *end = '\0';
    *out = name;
    return STATUS_OK;
}
