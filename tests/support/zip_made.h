/*
 * zip_made - a zip archive of members that a test gives, by minizip; wants link=PkgConfig::MINIZIP.
 */
#ifndef LEAT_TESTS_ZIP_MADE_H
#define LEAT_TESTS_ZIP_MADE_H

#include "tests/support/table_support.h"

#include <minizip/zip.h>

struct zip_member {
    const char *name;
    struct bytes content;
    bool stored, zip64;
};

/* A zip archive of these members, which are freed. */
static inline struct bytes zip_file(struct zip_member *members, size_t n)
{
    char path[] = "/tmp/leat_test_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
    assert_non_null(zip);
    for (size_t i = 0; i < n; i++) {
        struct zip_member *const m = &members[i];
        assert_int_equal(zipOpenNewFileInZip64(zip, m->name, NULL, NULL, 0, NULL, 0, NULL,
                                               m->stored ? 0 : Z_DEFLATED, 6, m->zip64),
                         ZIP_OK);
        assert_int_equal(zipWriteInFileInZip(zip, m->content.data, (unsigned)m->content.len),
                         ZIP_OK);
        assert_int_equal(zipCloseFileInZip(zip), ZIP_OK);
        bytes_free(&m->content);
    }
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    struct bytes out = {0};
    unsigned char piece[4096];
    for (ssize_t got; (got = read(fd, piece, sizeof piece)) > 0;) {
        assert_int_equal(bytes_append(&out, piece, (size_t)got), STATUS_OK);
    }
    close(fd);
    unlink(path);
    return out;
}

static inline struct bytes text_member(const char *text)
{
    struct bytes b = {0};
    assert_int_equal(bytes_append(&b, text, strlen(text)), STATUS_OK);
    return b;
}

#endif
