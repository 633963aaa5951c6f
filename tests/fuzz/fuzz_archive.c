/*
 * fuzz_archive - any bytes as an archive, from a file and from a stream: names that come out stay
 * below their folder, and what comes out stays within the limits.
 */
#include "formats/base/excerpt.h"
#include "formats/source/archive_input.h"
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 20, MOST_ENTRIES = 50 };

struct left {
    const uint8_t *data;
    size_t size;
};

static enum status read_left(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    struct left *left = user;
    (void)stop;
    *n = cap < left->size ? cap : left->size;
    *n = *n < 777 ? *n : 777;
    memcpy(dst, left->data, *n);
    left->data += *n;
    left->size -= *n;
    return STATUS_OK;
}

static void close_left(void *user)
{
    (void)user;
}

static void check_name(const char *name)
{
    const size_t n = strlen(name);
    fuzz_require(n > 0 && n <= 3 * 1024 && name[0] != '/' && name[n - 1] != '/');
    fuzz_require(excerpt_is_clean(name, n));
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        const size_t len = strcspn(part, "/");
        fuzz_require(len > 0 && len <= 255);
        fuzz_require(!(len == 1 && part[0] == '.') && !(len == 2 && memcmp(part, "..", 2) == 0));
    }
}

static void walk(struct archive_input *a)
{
    struct archive_input_entry entry;
    unsigned char block[4096];
    uint64_t all = 0, n_entries = 0;
    for (bool end = false; archive_input_next(a, &entry, &end) == STATUS_OK && !end;) {
        fuzz_require(++n_entries <= MOST_ENTRIES);
        fuzz_require(entry.number > 0 && entry.number <= MOST_ENTRIES);
        if (entry.refused) {
            continue;
        }
        check_name(entry.name);
        for (size_t n = 1; n > 0;) {
            const enum status status = archive_input_read(a, block, sizeof block, &n);
            if (status != STATUS_OK) {
                break;
            }
            fuzz_require(n <= sizeof block);
            all += n;
            fuzz_require(all <= MOST_BYTES);
        }
    }
    archive_input_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct archive_input_options options = {
        .limits = {MOST_BYTES, 250}, .max_header_bytes = 16 << 20, .max_entries = MOST_ENTRIES};
    struct left left = {data, size};
    const struct source_stream stream = {.read = read_left, .close = close_left, .user = &left};
    struct archive_input *a;
    const int fd = memfd_create("input", MFD_CLOEXEC);
    fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (archive_input_open(fd, "input", &options, &a) == STATUS_OK) {
        walk(a);
    }
    if (archive_input_open_stream(&stream, "input", &options, &a) == STATUS_OK) {
        walk(a);
    }
    return 0;
}
