/*
 * file_name - see file_name.h.
 */
#include "formats/base/file_name.h"

#include <string.h>
#include <strings.h>

bool file_name_ends(const char *name, const char *ending)
{
    const size_t len = strlen(name), n = strlen(ending);
    return len >= n && strcasecmp(name + len - n, ending) == 0;
}

size_t file_name_unpacked(const char *name, size_t n)
{
    static const char *const endings[] = {".gz", ".xz", ".zst", ".bz2"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t len = strlen(endings[i]);
        if (n > len && strncasecmp(name + n - len, endings[i], len) == 0) {
            return n - len;
        }
    }
    return n;
}

bool file_name_is_temporary(const char *path)
{
    static const char *const endings[] = {".part", ".tmp", ".filepart", ".crdownload", "~"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (file_name_ends(name, endings[i])) {
            return true;
        }
    }
    return name[0] == '.';
}
