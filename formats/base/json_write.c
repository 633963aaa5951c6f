/*
 * json_write - see json_write.h.
 */
#include "formats/base/json_write.h"

#include <stdlib.h>

char *json_write(const json_t *value, size_t flags)
{
    const size_t n = value != NULL ? json_dumpb(value, NULL, 0, flags) : 0;
    char *const text = n > 0 ? malloc(n + 1) : NULL;
    if (text != NULL && json_dumpb(value, text, n, flags) != n) {
        free(text);
        return NULL;
    }
    if (text != NULL) {
        text[n] = '\0';
    }
    return text;
}
