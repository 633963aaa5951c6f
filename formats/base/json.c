/*
 * json - see json.h.
 */
#include "formats/base/json.h"

#include "formats/base/bytes.h"

#include <errno.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 14 };

enum status json_read(const void *text, size_t n, json_t **out)
{
    json_error_t error = {.line = 0};
    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    return *out != NULL
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "not JSON: line %d: %s", error.line, error.text);
}

static enum status read_text(int fd, size_t n_max, struct bytes *text)
{
    for (ssize_t n = 1; n != 0;) {
        STATUS_TRY(bytes_reserve(text, PIECE_BYTES));
        n = read(fd, text->data + text->len, text->cap - text->len);
        if (n < 0 && errno != EINTR) {
            return status_fail_errno(errno, "cannot be read");
        }
        text->len += n > 0 ? (size_t)n : 0;
        if (text->len > n_max) {
            return status_fail(STATUS_BAD_INPUT, "longer than %zu bytes", n_max);
        }
    }
    return STATUS_OK;
}

enum status json_read_fd(int fd, size_t n_max, json_t **out)
{
    struct bytes text = {0};
    *out = NULL;
    enum status status = read_text(fd, n_max, &text);
    if (status == STATUS_OK) {
        status = json_read(text.data, text.len, out);
    }
    bytes_free(&text);
    return status;
}
