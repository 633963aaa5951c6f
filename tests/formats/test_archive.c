/*
 * test_archive - files come out of archives whole, under safe names, or not at all.
 */
#include "formats/source/archive_input.h"
#include "tests/support/archive_support.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const kind_names[] = {"x.tar",     "x.tar.gz", "x.tar.xz", "x.tar.zst",
                                         "x.tar.bz2", "x.zip",    "x.7z"};

static struct archive_input *open_until(const struct bytes *b, const atomic_bool *stop)
{
    struct archive_input *a;
    if (archive_input_open(memory_file(b->data, b->len), "in.x",
                           &(struct archive_input_options){.stop = stop}, &a) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    return a;
}

static struct archive_input *open_bytes(const struct bytes *b)
{
    return open_until(b, NULL);
}

static struct archive_input_entry next_entry(struct archive_input *a)
{
    struct archive_input_entry entry;
    bool end;
    if (archive_input_next(a, &entry, &end) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    assert_false(end);
    return entry;
}

static void assert_end(struct archive_input *a)
{
    struct archive_input_entry entry;
    bool end;
    assert_int_equal(archive_input_next(a, &entry, &end), STATUS_OK);
    assert_true(end);
}

static void assert_content(struct archive_input *a, const char *content)
{
    const int to = memfd_create("out", MFD_CLOEXEC);
    uint64_t bytes;
    char back[256] = {0};
    if (archive_input_copy(a, to, 200, &bytes) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    assert_int_equal(bytes, strlen(content));
    assert_int_equal(pread(to, back, sizeof back - 1, 0), bytes);
    assert_string_equal(back, content);
    close(to);
}

TEST(files_come_out_of_every_kind_of_archive)
{
    static const struct put puts[] = {
        {"deep", NULL, AE_IFDIR, NULL}, {"deep/./one//a.csv", "1,2\n", 0, NULL},
        {"passed.csv", "9\n", 0, NULL}, {"gr\xc3\xbc\xc3\x9f.csv", "3,4\n", 0, NULL},
        {"empty.csv", "", 0, NULL},
    };
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 5);
        struct archive_input *a = open_bytes(&b);
        bool seen[5] = {false};
        /* 7-Zip puts files without content last. */
        for (size_t i = 0; i < 4; i++) {
            const struct archive_input_entry entry = next_entry(a);
            if (entry.refused) {
                fail_msg("%s: %s: %s", kind_names[kind], entry.name, entry.refused);
            }
            if (strcmp(entry.name, "deep/one/a.csv") == 0) {
                seen[1] = true;
                assert_int_equal(entry.bytes, 4);
                assert_content(a, "1,2\n");
            } else if (strcmp(entry.name, "passed.csv") == 0) {
                seen[2] = true;
            } else if (strcmp(entry.name, puts[3].name) == 0) {
                seen[3] = true;
                assert_content(a, "3,4\n");
            } else if (strcmp(entry.name, "empty.csv") == 0) {
                seen[4] = true;
                assert_content(a, "");
            } else {
                fail_msg("%s: %s", kind_names[kind], entry.name);
            }
        }
        assert_true(seen[1] && seen[2] && seen[3] && seen[4]);
        assert_end(a);
        archive_input_free(a);
        bytes_free(&b);
    }
}

TEST(names_that_lead_elsewhere_are_refused)
{
    char part[257], path[1026], longest_part[256], longest[1025];
    memset(part, 'p', 256);
    part[256] = '\0';
    snprintf(longest_part, sizeof longest_part, "%.255s", part);
    for (size_t i = 0; i < 1024; i += 2) {
        memcpy(path + i, "d/", 2);
    }
    strcpy(path + 1024, "x");
    snprintf(longest, sizeof longest, "%.1022syz", path);
    const struct put puts[] = {
        {"../up.csv", "1", 0, NULL},
        {"a/../../up.csv", "1", 0, NULL},
        {"a/..", "1", 0, NULL},
        {"/etc/absolute.csv", "1", 0, NULL},
        {"line\nend.csv", "1", 0, NULL},
        {"escape\x1b[31m.csv", "1", 0, NULL},
        {"c1-of-latin-1-\x9b.csv", "1", 0, NULL},
        {"c1-\xc2\x9b.csv", "1", 0, NULL},
        {"./.", "1", 0, NULL},
        {part, "1", 0, NULL},
        {path, "1", 0, NULL},
        {"..good.csv", "1", 0, NULL},
        {longest_part, "1", 0, NULL},
        {longest, "1", 0, NULL},
    };
    const size_t n = sizeof puts / sizeof puts[0], n_good = 3;
    struct bytes b = make_archive(TAR, NULL, puts, n);
    struct archive_input *a = open_bytes(&b);
    for (size_t i = 0; i + n_good < n; i++) {
        const struct archive_input_entry entry = next_entry(a);
        if (!entry.refused) {
            fail_msg("taken: %s", entry.name);
        }
        for (const char *p = entry.name; *p; p++) {
            assert_true((unsigned char)*p >= 0x20);
        }
    }
    for (size_t i = n - n_good; i < n; i++) {
        const struct archive_input_entry good = next_entry(a);
        assert_null(good.refused);
        assert_string_equal(good.name, puts[i].name);
    }
    assert_end(a);
    archive_input_free(a);
    bytes_free(&b);
}

TEST(links_and_devices_are_refused)
{
    static const struct put puts[] = {
        {"a.csv", "1", 0, NULL},
        {"soft.csv", "", AE_IFLNK, "/etc/passwd"},
        {"hard.csv", "", 0, "a.csv"},
        {"pipe.csv", "", AE_IFIFO, NULL},
    };
    struct bytes b = make_archive(TAR, NULL, puts, 4);
    struct archive_input *a = open_bytes(&b);
    assert_null(next_entry(a).refused);
    assert_string_equal(next_entry(a).refused, "it is a link");
    assert_string_equal(next_entry(a).refused, "it is a link");
    assert_string_equal(next_entry(a).refused, "it is not a regular file");
    assert_end(a);
    archive_input_free(a);
    bytes_free(&b);
}

TEST(what_unpacks_to_too_much_is_stopped)
{
    char *content = malloc(500001);
    memset(content, '1', 500000);
    content[500000] = '\0';
    const struct put puts[] = {{"a.csv", content, 0, NULL}, {"b.csv", "2", 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 2);
        struct archive_input *a = open_bytes(&b);
        struct stat st;
        uint64_t bytes;
        const int to = memfd_create("out", MFD_CLOEXEC);
        (void)next_entry(a);
        assert_int_equal(archive_input_copy(a, to, 300001, &bytes), STATUS_TOO_LARGE);
        assert_non_null(strstr(status_message(), "in.x: a.csv: unpacks to more than 300001 bytes"));
        assert_int_equal(fstat(to, &st), 0);
        assert_int_equal(st.st_size, 300001);
        assert_string_equal(next_entry(a).name, "b.csv");
        assert_content(a, "2");
        close(to);
        archive_input_free(a);
        bytes_free(&b);
    }
    free(content);
}

TEST(a_name_that_was_there_before_is_refused)
{
    static const struct put puts[] = {
        {"d/a.csv", "1", 0, NULL}, {"b.csv", "2", 0, NULL}, {"./d//a.csv", "3", 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 3);
        struct archive_input *a = open_bytes(&b);
        assert_null(next_entry(a).refused);
        assert_null(next_entry(a).refused);
        const struct archive_input_entry entry = next_entry(a);
        assert_string_equal(entry.refused, "an entry before it has the same name");
        assert_string_equal(entry.name, "d/a.csv");
        assert_end(a);
        archive_input_free(a);
        bytes_free(&b);
    }
}

/* Many names of which each is there once and again. */
TEST(names_are_told_apart)
{
    enum { N = 1500 };
    static struct put puts[2 * N];
    static char names[N][16];
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%zu.csv", i);
        puts[i] = (struct put){names[i], "1", 0, NULL};
        puts[2 * N - 1 - i] = puts[i];
    }
    struct bytes b = make_archive(ZIP, NULL, puts, 2 * N);
    struct archive_input *a = open_bytes(&b);
    for (size_t i = 0; i < 2 * N; i++) {
        assert_int_equal(next_entry(a).refused != NULL, i >= N);
    }
    archive_input_free(a);
    bytes_free(&b);
}

/* The bytes of a name that is not UTF-8: of code page 437 in zip, else Latin-1. */
TEST(names_of_old_code_pages_are_read)
{
    static const struct put zip = {"gr?n-?.csv", "1", 0, NULL};
    struct bytes b = make_archive(ZIP, NULL, &zip, 1);
    for (size_t i = 0; i + 10 < b.len; i++) { /* in both of its headers */
        if (memcmp(b.data + i, "gr?n-?.csv", 10) == 0) {
            b.data[i + 2] = 0x81;
            b.data[i + 5] = 0xe2;
        }
    }
    struct archive_input *a = open_bytes(&b);
    struct archive_input_entry entry = next_entry(a);
    assert_null(entry.refused);
    assert_string_equal(entry.name, "gr\xc3\xbcn-\xce\x93.csv");
    assert_string_equal(entry.raw, entry.name);
    archive_input_free(a);
    bytes_free(&b);

    static const struct put tar = {"gr\xfcn.csv", "1", 0, NULL};
    b = make_archive(TAR, NULL, &tar, 1);
    a = open_bytes(&b);
    entry = next_entry(a);
    assert_null(entry.refused);
    assert_string_equal(entry.name, "gr\xc3\xbcn.csv");
    archive_input_free(a);
    bytes_free(&b);
}

/* Goes through all of it; the first failure. */
static enum status walk(const struct bytes *b, const struct archive_input_options *options,
                        int first, int *n_read)
{
    struct archive_input *a;
    struct archive_input_entry entry;
    bool end = false;
    uint64_t bytes;
    const int to = memfd_create("out", MFD_CLOEXEC);
    *n_read = 0;
    enum status status = archive_input_open(memory_file(b->data, b->len), "in.x", options, &a);
    while (!status && !end) {
        status = archive_input_next(a, &entry, &end);
        if (!status && !end && ++*n_read >= first) {
            status = archive_input_copy(a, to, UINT64_MAX, &bytes);
        }
    }
    close(to);
    archive_input_free(a);
    return status;
}

TEST(more_entries_than_the_limit_are_refused)
{
    static const struct put puts[] = {
        {"a.csv", "1", 0, NULL}, {"b.csv", "2", 0, NULL}, {"c.csv", "3", 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 3);
        int n;
        assert_int_equal(walk(&b, &(struct archive_input_options){.max_entries = 3}, 0, &n),
                         STATUS_OK);
        assert_int_equal(walk(&b, &(struct archive_input_options){.max_entries = 2}, 0, &n),
                         STATUS_TOO_LARGE);
        assert_int_equal(n, 2);
        assert_non_null(strstr(status_message(), "in.x: has more than 2 entries; raise max_ent"));
        bytes_free(&b);
    }
}

TEST(bytes_that_come_out_are_counted_over_all_entries)
{
    char *content = calloc(400001, 1);
    memset(content, '1', 400000);
    const struct put puts[] = {{"a.csv", content, 0, NULL}, {"b.csv", content, 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 2);
        struct archive_input_options options = {.limits.max_bytes = 900000};
        int n;
        assert_int_equal(walk(&b, &options, 0, &n), STATUS_OK);
        options.limits.max_bytes = 799999;
        assert_int_equal(walk(&b, &options, 0, &n), STATUS_TOO_LARGE);
        assert_non_null(strstr(status_message(), "unpacks to more than 799999 bytes"));
        bytes_free(&b);
    }
    free(content);
}

/* Digits that compress to some 45 %, and a NUL. */
static void fill_noise(char *to, size_t n)
{
    uint32_t x = 1;
    for (size_t i = 0; i + 1 < n; i++) {
        x = x * 1664525u + 1013904223u;
        to[i] = (char)('0' + (x >> 24) % 10);
    }
    to[n - 1] = '\0';
}

/* In a zip a.csv, which compresses badly; bomb.npy, more zeros than are free, and then b.csv. */
static struct bytes make_bomb(int kind)
{
    static char zeros[1 << 20], noise[5 << 20];
    enum { PIECES = SOURCE_FREE_BYTES / sizeof zeros + 4 };
    struct bytes out = {0};
    size_t used = 0;
    struct archive *w = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_int_equal(bytes_reserve(&out, 4 << 20), STATUS_OK);
    set_kind(w, kind);
    static const char *const quick[N_KINDS] = {
        [TAR_GZ] = "gzip:compression-level=1",
        [TAR_ZST] = "zstd:compression-level=1",
        [ZIP] = "zip:compression-level=1",
        [SEVEN_ZIP] = "7zip:compression=deflate,7zip:compression-level=1",
    };
    assert_int_equal(archive_write_set_options(w, quick[kind]), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(w, out.data, out.cap, &used), ARCHIVE_OK);
    if (kind == ZIP) {
        fill_noise(noise, sizeof noise);
        put_entry(w, &(struct put){"a.csv", noise, 0, NULL});
    }
    archive_entry_set_pathname(e, "bomb.npy");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, PIECES * sizeof zeros);
    assert_int_equal(archive_write_header(w, e), ARCHIVE_OK);
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(archive_write_data(w, zeros, sizeof zeros), sizeof zeros);
    }
    archive_entry_free(e);
    put_entry(w, &(struct put){"b.csv", "1,2\n", 0, NULL});
    assert_int_equal(archive_write_close(w), ARCHIVE_OK);
    archive_write_free(w);
    out.len = used;
    return out;
}

/* What follows is reached where files are packed one by one, and named as not reached elsewhere. */
TEST(what_unpacks_to_many_times_its_size_is_stopped)
{
    static const int kinds[] = {TAR_GZ, TAR_ZST, ZIP, SEVEN_ZIP};
    const struct archive_input_options options = {.limits.max_ratio = 150};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct bytes b = make_bomb(kinds[i]);
        const int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct archive_input *a;
        uint64_t bytes = 0;
        enum status status = archive_input_open(memory_file(b.data, b.len), "in.x", &options, &a);
        if (!status) {
            assert_true(kinds[i] >= ZIP);
            if (kinds[i] == ZIP) {
                assert_string_equal(next_entry(a).name, "a.csv");
                assert_int_equal(archive_input_copy(a, to, UINT64_MAX, &bytes), STATUS_OK);
            }
            (void)next_entry(a);
            status = archive_input_copy(a, to, UINT64_MAX, &bytes);
            assert_in_range(bytes, SOURCE_FREE_BYTES - (1 << 20), SOURCE_FREE_BYTES);
        }
        assert_int_equal(status, STATUS_TOO_LARGE);
        assert_non_null(strstr(status_message(), "unpacks to more than 150 times its size"));
        if (kinds[i] == ZIP) {
            assert_string_equal(next_entry(a).name, "b.csv");
            assert_content(a, "1,2\n");
        } else if (kinds[i] == SEVEN_ZIP) {
            struct archive_input_entry entry;
            bool end;
            assert_int_equal(archive_input_next(a, &entry, &end), STATUS_TOO_LARGE);
            assert_non_null(strstr(status_message(), "in.x: what comes after 'bomb.npy'"));
        }
        close(to);
        archive_input_free(a);
        bytes_free(&b);
    }
}

/* A tar may say of a file that it is a hole. */
TEST(holes_count_as_what_comes_out)
{
    struct bytes out = {0};
    size_t used = 0;
    struct archive *w = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_int_equal(bytes_reserve(&out, 1 << 20), STATUS_OK);
    assert_int_equal(archive_write_set_format_pax(w), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(w, out.data, out.cap, &used), ARCHIVE_OK);
    archive_entry_set_pathname(e, "hole.csv");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (la_int64_t)10 << 30);
    archive_entry_sparse_add_entry(e, 0, 512);
    assert_int_equal(archive_write_header(w, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(w, out.data, 512), 512);
    archive_entry_free(e);
    archive_write_close(w);
    archive_write_free(w);
    out.len = used;

    const struct archive_input_options options = {.limits.max_ratio = 250};
    struct archive_input *a;
    uint64_t bytes;
    const int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(archive_input_open(memory_file(out.data, out.len), "in.x", &options, &a),
                     STATUS_OK);
    assert_string_equal(next_entry(a).name, "hole.csv");
    assert_int_equal(archive_input_copy(a, to, UINT64_MAX, &bytes), STATUS_TOO_LARGE);
    assert_in_range(bytes, 0, SOURCE_FREE_BYTES);
    close(to);
    archive_input_free(a);
    bytes_free(&out);
}

static enum status read_memory(void *user, const atomic_bool *stop, void *dst, size_t cap,
                               size_t *n)
{
    struct bytes *left = user; /* its data is not its own */
    (void)stop;
    *n = cap < left->len ? cap : left->len;
    *n = *n < 1000 ? *n : 1000; /* as a pipe does */
    memcpy(dst, left->data, *n);
    left->data += *n;
    left->len -= *n;
    return STATUS_OK;
}

static void close_memory(void *user)
{
    ((struct bytes *)user)->cap++;
}

TEST(a_tar_is_read_from_a_stream)
{
    static const struct put puts[] = {{"a.csv", "1,2\n", 0, NULL}, {"b.csv", "3,4\n", 0, NULL}};
    for (int kind = TAR; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 2), left = {b.data, b.len, 0};
        struct archive_input *a;
        const struct source_stream stream = {
            .read = read_memory, .close = close_memory, .user = &left};
        const enum status status = archive_input_open_stream(&stream, "in.x", NULL, &a);
        assert_int_equal(status, kind < ZIP ? STATUS_OK : STATUS_BAD_INPUT);
        if (kind < ZIP) {
            assert_string_equal(next_entry(a).name, "a.csv");
            assert_content(a, "1,2\n");
            assert_string_equal(next_entry(a).name, "b.csv");
            assert_content(a, "3,4\n");
            assert_end(a);
            archive_input_free(a);
        }
        assert_int_equal(left.cap, 1); /* closed once */
        bytes_free(&b);
    }
}

/* Reads all there is, the content to `back` unless NULL; the first failure. */
static enum status read_content(const struct bytes *b, struct bytes *back)
{
    struct archive_input *a;
    struct archive_input_entry entry;
    bool end = false;
    uint64_t bytes;
    enum status status = archive_input_open(memory_file(b->data, b->len), "in.x", NULL, &a);
    const int to = memfd_create("out", MFD_CLOEXEC);
    while (!status && !end) {
        status = archive_input_next(a, &entry, &end);
        if (!status && !end && !entry.refused) {
            status = archive_input_copy(a, to, 1 << 20, &bytes);
        }
    }
    struct stat st;
    assert_int_equal(fstat(to, &st), 0);
    if (back) {
        bytes_clear(back);
        assert_int_equal(bytes_reserve(back, (size_t)st.st_size + 1), STATUS_OK);
        back->len = (size_t)st.st_size;
        assert_int_equal(pread(to, back->data, back->len, 0), back->len);
    }
    close(to);
    archive_input_free(a);
    return status;
}

static enum status read_archive(const struct bytes *b)
{
    return read_content(b, NULL);
}

TEST(a_stop_ends_reading_and_skipping)
{
    static char content[1 << 20];
    memset(content, '1', sizeof content - 1);
    const struct put puts[] = {{"a.csv", content, 0, NULL}, {"b.csv", "2", 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 2);
        atomic_bool stop = false;
        struct archive_input *a = open_until(&b, &stop);
        uint64_t bytes;
        const int to = memfd_create("out", MFD_CLOEXEC);
        (void)next_entry(a);
        stop = true;
        assert_int_equal(archive_input_copy(a, to, UINT64_MAX, &bytes), STATUS_CANCELLED);
        assert_int_equal(bytes, 0);
        assert_non_null(strstr(status_message(), "stopped"));
        close(to);
        archive_input_free(a);
        bytes_free(&b);
    }
    /* Going to the second entry of a tar means to unpack the first; to the end, what follows. */
    for (int kind = TAR; kind < ZIP; kind++) {
        for (int n = 1; n <= (kind == TAR ? 1 : 2); n++) {
            struct bytes b = make_archive(kind, NULL, puts, 2);
            atomic_bool stop = false;
            struct archive_input *a = open_until(&b, &stop);
            struct archive_input_entry entry;
            bool end;
            for (int i = 0; i < n; i++) {
                (void)next_entry(a);
            }
            stop = true;
            assert_int_equal(archive_input_next(a, &entry, &end), STATUS_CANCELLED);
            assert_false(end);
            archive_input_free(a);
            bytes_free(&b);
        }
    }
}

TEST(damaged_archives_and_other_files_are_refused)
{
    char content[20001];
    fill_noise(content, sizeof content);
    const struct put puts[] = {{"a.csv", content, 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 1);
        assert_int_equal(read_archive(&b), STATUS_OK);
        b.len = b.len / 3;
        assert_int_equal(read_archive(&b), STATUS_BAD_INPUT);
        assert_non_null(strstr(status_message(), "in.x: "));
        bytes_free(&b);
    }
    struct bytes text = {0};
    assert_int_equal(bytes_append(&text, "1,2\n3,4\n", 8), STATUS_OK);
    assert_int_equal(read_archive(&text), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "damaged or of another kind"));
    bytes_free(&text);
}

/* Every byte of an archive in turn: that it is damaged is told, or what comes out is what was put
 * in. A tar by itself has no checksum of contents. */
TEST(no_flipped_byte_changes_what_comes_out)
{
    static const struct put puts[] = {{"a.csv", "1,2,3\n4,5,7\n6,7,9\n", 0, NULL}};
    const size_t n = strlen(puts[0].content);
    for (int kind = TAR_GZ; kind < N_KINDS; kind++) {
        if (kind == TAR_ZST) { /* libarchive's writer leaves out the checksum */
            continue;
        }
        struct bytes b = make_archive(kind, NULL, puts, 1), back = {0};
        size_t n_refused = 0;
        for (size_t i = 0; i < b.len; i++) {
            b.data[i] ^= 0x10;
            const enum status status = read_content(&b, &back);
            b.data[i] ^= 0x10;
            n_refused += status != STATUS_OK;
            if (!status && back.len > 0 &&
                (back.len != n || memcmp(back.data, puts[0].content, n) != 0)) {
                fail_msg("%s: byte %zu of %zu: \"%.*s\"", kind_names[kind], i, b.len, (int)back.len,
                         (const char *)back.data);
            }
            if (i + 8 >= b.len && kind == TAR_GZ) { /* the trailer: before the first entry */
                struct archive_input *a;
                b.data[i] ^= 0x10;
                const int fd = memory_file(b.data, b.len);
                b.data[i] ^= 0x10;
                assert_int_equal(archive_input_open(fd, "in.x", NULL, &a), STATUS_BAD_INPUT);
                assert_non_null(strstr(status_message(), "in.x: compressed byte "));
            }
        }
        assert_true(n_refused > 8);
        bytes_free(&back);
        bytes_free(&b);
    }
}

/* The system refuses to go to a file's end, while it is asked to. */
static bool end_is_out_of_reach;

off_t lseek(int fd, off_t at, int whence)
{
    if (end_is_out_of_reach && whence == SEEK_END) {
        errno = EIO;
        return -1;
    }
    return (off_t)syscall(SYS_lseek, fd, at, whence);
}

TEST(what_the_system_cannot_read_is_told_with_its_reason)
{
    static const struct put puts[] = {{"a.csv", "1,2\n", 0, NULL}};
    struct archive_input *a;
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 1);
        end_is_out_of_reach = kind == ZIP;
        enum status code = read_archive(&b);
        end_is_out_of_reach = false;
        assert_int_equal(code, kind == ZIP ? STATUS_IO : STATUS_OK);
        assert_true(kind != ZIP || strstr(status_message(), strerror(EIO)) != NULL);
        bytes_free(&b);
    }
    assert_int_equal(archive_input_open(open("/dev/null", O_WRONLY), "in.x", NULL, &a), STATUS_IO);
    assert_non_null(strstr(status_message(), strerror(EBADF)));
}

TEST(encrypted_entries_are_refused_in_plain_words)
{
    static const struct put puts[] = {{"secret.csv", "1,2\n", 0, NULL}};
    struct bytes b = make_archive(ZIP, "word", puts, 1);
    struct archive_input *a = open_bytes(&b);
    const struct archive_input_entry entry = next_entry(a);
    assert_non_null(entry.refused);
    assert_non_null(strstr(entry.refused, "encrypted"));
    archive_input_free(a);
    bytes_free(&b);
}

/* What LZMA, xz and PPMd in a zip read back from is as large as the zip says: up to 4 GiB. */
TEST(members_that_are_packed_in_windows_of_any_size_are_refused)
{
    static const unsigned char methods[] = {14, 95, 98};
    const struct put one = {.name = "x.clusters.csv", .content = "1,2\n3,5\n"};
    struct bytes b = make_archive(ZIP, NULL, &one, 1);
    bool refused;
    assert_int_equal(open_and_go(&b, NULL, &refused), STATUS_OK);
    assert_false(refused);
    unsigned char *const directory = memmem(b.data, b.len, "PK\1\2", 4);
    for (size_t i = 0; i < sizeof methods; i++) {
        b.data[8] = directory[10] = methods[i];
        assert_int_equal(open_and_go(&b, NULL, &refused), STATUS_OK);
        assert_true(refused);
    }
    bytes_free(&b);
}

TEST(what_is_said_of_entries_is_bounded)
{
    enum { N = 4000 };
    static char names[N][80];
    static struct put all[N];
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%070zu.csv", i);
        all[i] = (struct put){.name = names[i], .content = ""};
    }
    static const struct {
        int kind;
        uint64_t times; /* the bound */
    } kinds[] = {{ZIP, 1}, {SEVEN_ZIP, 16}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct bytes b = make_archive(kinds[i].kind, NULL, all, N);
        bool refused;
        const struct archive_input_options few = {.max_header_bytes = kinds[i].times * 256 << 10},
                                           many = {.max_header_bytes = kinds[i].times * 2 << 20};
        assert_int_equal(open_and_go(&b, &few, &refused), STATUS_TOO_LARGE);
        assert_non_null(strstr(status_message(), "its list of files is larger than 256 KiB; raise "
                                                 "--memory, or unpack it and give the folder"));
        assert_int_equal(open_and_go(&b, &many, &refused), STATUS_OK);
        bytes_free(&b);
    }
}

TEST(archives_are_told_by_their_names)
{
    static const struct {
        const char *name, *stem; /* stem NULL: it is no archive */
        bool streams;
    } cases[] = {{"a.zip", "a", false},       {"a.TAR", "a", true},     {"a.tar.gz", "a", true},
                 {"a.Tgz", "a", true},        {"a.tar.xz", "a", true},  {"a.7z", "a", false},
                 {"a.tar.ZST", "a", true},    {"a.tar.bz2", "a", true}, {"a.txz", "a", true},
                 {"a.tbz2", "a", true},       {"a.tbz", "a", true},     {"a.tzst", "a", true},
                 {"a.b.tar.gz", "a.b", true}, {"a.csv", NULL, false},   {"a.csv.gz", NULL, false},
                 {"a.npz", NULL, false},      {".zip", NULL, false},    {"zip", NULL, false},
                 {"", NULL, false},           {"a.xz", NULL, false},    {"a.gz", NULL, false},
                 {".tar", NULL, false},       {".tar.gz", NULL, false}, {"a.zip.gz", NULL, false},
                 {".tgz", NULL, false},       {".7z", NULL, false},     {"atar", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *stem = NULL;
        if (archive_input_named(cases[i].name) != (cases[i].stem != NULL) ||
            archive_input_streams(cases[i].name) != cases[i].streams) {
            fail_msg("%s", cases[i].name);
        }
        if (cases[i].stem != NULL) {
            assert_int_equal(archive_input_stem(cases[i].name, &stem), STATUS_OK);
            assert_string_equal(stem, cases[i].stem);
        }
        free(stem);
    }
    archive_input_free(NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
