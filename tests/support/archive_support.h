/*
 * archive_support - archives and compressed bytes made in memory, for the tests of what reads them.
 */
#ifndef LEAT_TESTS_ARCHIVE_SUPPORT_H
#define LEAT_TESTS_ARCHIVE_SUPPORT_H

#include "formats/source/archive_input.h"
#include "tests/support/table_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

/* One entry to put into an archive; content NULL: not a regular file. */
struct put {
    const char *name, *content;
    mode_t type; /* 0: AE_IFREG */
    const char *link;
};

enum { TAR, TAR_GZ, TAR_XZ, TAR_ZST, TAR_BZ2, ZIP, SEVEN_ZIP, N_KINDS };

static inline void set_kind(struct archive *a, int kind)
{
    int result = ARCHIVE_OK;
    switch (kind) {
    case ZIP:
        result = archive_write_set_format_zip(a);
        break;
    case SEVEN_ZIP:
        result = archive_write_set_format_7zip(a);
        break;
    default:
        result = archive_write_set_format_pax_restricted(a);
        break;
    }
    assert_int_equal(result, ARCHIVE_OK);
    static int (*const filters[N_KINDS])(struct archive *) = {
        [TAR_GZ] = archive_write_add_filter_gzip,
        [TAR_XZ] = archive_write_add_filter_xz,
        [TAR_ZST] = archive_write_add_filter_zstd,
        [TAR_BZ2] = archive_write_add_filter_bzip2,
    };
    assert_int_equal(filters[kind] ? filters[kind](a) : ARCHIVE_OK, ARCHIVE_OK);
}

static inline void put_entry(struct archive *a, const struct put *p)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, p->name);
    archive_entry_set_filetype(e, p->type ? p->type : AE_IFREG);
    archive_entry_set_perm(e, 0644);
    if (p->link && p->type == AE_IFLNK) {
        archive_entry_set_symlink(e, p->link);
    } else if (p->link) {
        archive_entry_set_hardlink(e, p->link);
    }
    const size_t n = p->content && !p->link ? strlen(p->content) : 0;
    archive_entry_set_size(e, (la_int64_t)n);
    assert_in_range(archive_write_header(a, e) + 100, 100 + ARCHIVE_WARN, 100 + ARCHIVE_OK);
    if (n > 0) {
        assert_int_equal(archive_write_data(a, p->content, n), n);
    }
    archive_entry_free(e);
}

static inline struct bytes make_archive(int kind, const char *passphrase, const struct put *puts,
                                        size_t n)
{
    struct bytes out = {0};
    size_t used = 0;
    /* As a writer libarchive must know the letters in names; reading is to do without. */
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    struct archive *a = archive_write_new();
    assert_int_equal(bytes_reserve(&out, 2 << 20), STATUS_OK);
    set_kind(a, kind);
    if (passphrase) {
        assert_int_equal(archive_write_set_options(a, "zip:encryption=zipcrypt"), ARCHIVE_OK);
        assert_int_equal(archive_write_set_passphrase(a, passphrase), ARCHIVE_OK);
    }
    assert_int_equal(archive_write_open_memory(a, out.data, out.cap, &used), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++) {
        put_entry(a, &puts[i]);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    assert_non_null(setlocale(LC_CTYPE, "C"));
    out.len = used;
    return out;
}

/* What is compressed by that filter of libarchive; for bytes_free(). */
static inline struct bytes packed_by(int (*add_filter)(struct archive *), const void *data,
                                     size_t n)
{
    struct bytes out = {0};
    size_t used = 0;
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_int_equal(bytes_reserve(&out, n + n / 8 + 4096), STATUS_OK);
    assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
    assert_int_equal(add_filter(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_bytes_in_last_block(a, 1), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, out.data, out.cap, &used), ARCHIVE_OK);
    archive_entry_set_filetype(e, AE_IFREG);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, data, n), n);
    archive_entry_free(e);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    out.len = used;
    return out;
}

static inline struct bytes xzipped(const void *data, size_t n)
{
    return packed_by(archive_write_add_filter_xz, data, n);
}

static inline struct bytes zstded(const void *data, size_t n)
{
    return packed_by(archive_write_add_filter_zstd, data, n);
}

static inline struct bytes bzipped(const void *data, size_t n)
{
    return packed_by(archive_write_add_filter_bzip2, data, n);
}

/* Opens the archive and goes to its first entry. */
static inline enum status open_and_go(struct bytes *b, const struct archive_input_options *options,
                                      bool *refused)
{
    struct archive_input *a;
    struct archive_input_entry entry = {0};
    bool end;
    enum status status = archive_input_open(memory_file(b->data, b->len), "in.x", options, &a);
    if (status == STATUS_OK) {
        status = archive_input_next(a, &entry, &end);
        *refused = entry.refused != NULL;
        archive_input_free(a);
    }
    return status;
}

#endif
