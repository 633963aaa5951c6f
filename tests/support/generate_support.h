/*
 * generate_support - what the tests of generated tables share.
 */
#ifndef LEAT_TESTS_GENERATE_SUPPORT_H
#define LEAT_TESTS_GENERATE_SUPPORT_H

#include "pipeline/generate/generate_table.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline void run_backwards(void *context, size_t n, void (*body)(void *arg, size_t index),
                                 void *arg)
{
    (void)context;
    for (size_t i = n; i-- > 0;) {
        body(arg, i);
    }
}

static const struct executor backwards = {.n_threads = 3, .run = run_backwards};

/* A whole file, which is then removed. */
static inline struct bytes take_file(const char *name)
{
    struct bytes b = {0};
    struct stat st;
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(bytes_reserve(&b, (size_t)st.st_size + 1), STATUS_OK);
    b.len = (size_t)st.st_size;
    assert_int_equal(read(fd, b.data, b.len), st.st_size);
    b.data[b.len] = '\0';
    close(fd);
    assert_int_equal(unlink(name), 0);
    return b;
}

static inline uint32_t crc_of_file(const char *name)
{
    struct bytes b = take_file(name);
    const uint32_t crc = (uint32_t)crc32(0, b.data, (uInt)b.len);
    bytes_free(&b);
    return crc;
}

#endif
