/*
 * archive_member - see archive_member.h.
 */
#include "formats/source/archive_member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static enum status read_member(void *user, const atomic_bool *stop, void *dst, size_t cap,
                               size_t *n)
{
    (void)stop; /* which the archive looks at */
    return archive_input_read(user, dst, cap, n);
}

static void close_member(void *user)
{
    archive_input_free(user);
}

/* Goes to the entry of that number; false: it is another one. */
static enum status find(struct archive_input *a, uint64_t number, const char *member, bool *found,
                        struct archive_input_entry *entry)
{
    bool end = false;
    *found = false;
    while (!end && entry->number < number) {
        STATUS_TRY(archive_input_next(a, entry, &end));
    }
    const size_t n = end || entry->refused ? 0 : strlen(entry->name), all = strlen(member);
    *found = n > 0 && n < all && strcmp(member + all - n, entry->name) == 0;
    return STATUS_OK;
}

enum status archive_member_open(const char *path, uint64_t number, const char *member,
                                const struct archive_input_options *options,
                                struct source_stream *out)
{
    struct archive_input_entry entry = {0};
    struct archive_input *a;
    bool found;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *out = (struct source_stream){0};
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s' again", path);
    }
    STATUS_TRY(archive_input_open(fd, path, options, &a));
    enum status status = find(a, number, member, &found, &entry);
    if (!status && !found) {
        status = status_fail(STATUS_CHANGED, "'%s' changed while it was read", path);
    }
    if (status) {
        archive_input_free(a);
        return status;
    }
    *out = (struct source_stream){
        .read = read_member, .close = close_member, .user = a, .bytes = entry.bytes};
    return STATUS_OK;
}
