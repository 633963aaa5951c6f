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

const char *file_name_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Whether name[0 .. n) ends as one of the list, which NULL ends, in any case. */
static bool ends_in_one(const char *name, size_t n, const char *const *endings)
{
    for (; *endings != NULL; endings++) {
        const size_t len = strlen(*endings);
        if (n >= len && strncasecmp(name + n - len, *endings, len) == 0) {
            return true;
        }
    }
    return false;
}

bool file_name_is_temporary(const char *path)
{
    static const char *const endings[] = {".part", ".tmp", ".filepart", "~", NULL};
    const char *const name = file_name_last(path);
    return name[0] == '.' || ends_in_one(name, strlen(name), endings);
}

/* x.csv.1, x.csv.12: what logrotate and its kind keep. */
static bool is_rotated(const char *name, size_t n)
{
    size_t digits = 0;
    while (digits < n && name[n - digits - 1] >= '0' && name[n - digits - 1] <= '9') {
        digits++;
    }
    return (digits == 1 || digits == 2) && n > digits + 1 && name[n - digits - 1] == '.';
}

bool file_name_is_copy(const char *path)
{
    static const char *const endings[] = {
        ".partial", ".download", ".opdownload", ".aria2", ".crdownload",      ".bak",
        ".orig",    ".swp",      ".save",       ".old",   ":Zone.Identifier", NULL};
    const char *const name = file_name_last(path);
    const size_t n = file_name_unpacked(name, strlen(name));
    const bool is_marked = name[0] == '#' && n > 1 && name[n - 1] == '#';
    return file_name_is_temporary(name) || is_marked || strncmp(name, "~$", 2) == 0 ||
           is_rotated(name, n) || ends_in_one(name, n, endings);
}
