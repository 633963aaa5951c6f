/*
 * shown_result - see shown_result.h.
 */
#include "pipeline/commands/shown_result.h"

#include "formats/base/file_name.h"
#include "formats/base/json.h"
#include "formats/source/zip_input.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20 };

static const char file_name[] = "result.json";

/* Opens the result.json of a folder, or that file itself; -1: it is no result. */
static int open_result(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        const int fd = openat(folder, file_name, O_RDONLY | O_CLOEXEC);
        close(folder);
        return fd;
    }
    const char *const slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, file_name) == 0
               ? open(path, O_RDONLY | O_CLOEXEC)
               : -1;
}

bool shown_result_is_job(const json_t *result)
{
    return json_is_string(json_object_get(result, "pipeline"));
}

/* The index that leat watch leaves in the result of an archive. */
static bool is_archive(const json_t *result)
{
    return json_is_string(json_object_get(result, "archive"));
}

/* --- in a zip --------------------------------------------------------------------------------- */

static enum status read_member(struct zip_input *zip, const struct zip_input_member *member,
                               json_t **out)
{
    const size_t bytes = (size_t)member->bytes;
    size_t n = 0;
    char *const text = xmalloc(bytes + 1);
    enum status code = zip_input_begin(zip, member, file_name);
    code = code == STATUS_OK ? zip_input_read(zip, text, bytes + 1, &n) : code;
    code = code == STATUS_OK ? zip_input_end(zip) : code;
    code = code == STATUS_OK ? json_read(text, n, out) : code;
    free(text);
    return code;
}

/* It is the first member of what --bundle leaves. */
static enum status read_zip(struct zip_input *zip, json_t **out)
{
    struct zip_input_member member;
    bool is_end;
    STATUS_TRY(zip_input_next(zip, &member, &is_end));
    return !is_end && strcmp(member.name, file_name) == 0 && member.bytes <= MOST_BYTES
               ? read_member(zip, &member, out)
               : STATUS_OK;
}

static enum status open_and_read(int fd, const char *path, json_t **out)
{
    struct source *source;
    struct zip_input *zip = NULL;
    STATUS_TRY(source_open(fd, path, &source));
    enum status code = zip_input_open(source, &zip);
    code = code == STATUS_OK ? read_zip(zip, out) : code;
    zip_input_free(zip);
    source_free(source);
    return code;
}

/* A zip that is damaged or holds something else means no result: what it is check says. */
static enum status read_bundle(const char *path, json_t **out)
{
    const int fd = file_name_ends(path, ".zip")
                       ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
                       : -1;
    if (fd < 0) {
        return STATUS_OK;
    }
    const enum status code = open_and_read(fd, path, out);
    if (code == STATUS_OK && *out != NULL && !shown_result_is_job(*out)) {
        json_decref(*out);
        *out = NULL;
    }
    return code == STATUS_IO || code == STATUS_NO_MEMORY ? code : STATUS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

enum status shown_result_read(const char *path, json_t **out)
{
    *out = NULL;
    const int fd = open_result(path);
    if (fd < 0) {
        const int error = errno;
        const enum status code = read_bundle(path, out);
        errno = error;
        return code;
    }
    enum status code = json_read_fd(fd, MOST_BYTES, out);
    close(fd);
    if (code == STATUS_OK && !shown_result_is_job(*out) && !is_archive(*out)) {
        json_decref(*out);
        *out = NULL;
        code = status_fail(STATUS_BAD_INPUT, "it names no pipeline");
    }
    return code == STATUS_OK
               ? code
               : status_fail(code, "%s: is not a result of leat: %s", path, status_message());
}
