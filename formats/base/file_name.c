/*
 * file_name - what the name of a file says.
 */
#include "formats/base/file_name.h"

#include <stddef.h>
#include <string.h>

bool file_name_is_temporary(const char *path)
{
    static const char *const endings[] = {".part", ".tmp", ".filepart", ".crdownload", "~"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t n = strlen(endings[i]);
        if (len >= n && strcasecmp(name + len - n, endings[i]) == 0) {
            return true;
        }
    }
    return name[0] == '.';
}
