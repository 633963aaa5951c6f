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

bool file_name_ends_in(const char *name, size_t n, const char *endings)
{
    for (size_t len; *endings != '\0'; endings += len + strspn(endings + len, " ")) {
        len = strcspn(endings, " ");
        if (n > len && strncasecmp(name + n - len, endings, len) == 0) {
            return true;
        }
    }
    return false;
}

bool file_name_is(const char *path, const char *endings)
{
    return file_name_ends_in(path, file_name_unpacked(path, strlen(path)), endings);
}

bool file_name_is_temporary(const char *path)
{
    const char *const name = file_name_last(path);
    return name[0] == '.' || strcmp(name, "~") == 0 ||
           file_name_ends_in(name, strlen(name), ".part .tmp .filepart ~");
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
    static const char endings[] = ".partial .download .opdownload .aria2 .crdownload .bak .orig "
                                  ".swp .save .old :Zone.Identifier";
    const char *const name = file_name_last(path);
    const size_t n = file_name_unpacked(name, strlen(name));
    const bool is_marked = name[0] == '#' && n > 1 && name[n - 1] == '#';
    return file_name_is_temporary(name) || is_marked || strncmp(name, "~$", 2) == 0 ||
           is_rotated(name, n) || file_name_ends_in(name, n, endings);
}
