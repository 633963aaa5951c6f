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

static const char *const kind_names[] = {"x.tar", "x.tar.gz", "x.tar.xz", "x.zip", "x.7z"};

static struct archive_input *open_until(const struct bytes *b, const atomic_bool *stop)
{
    struct archive_input *a;
    if (archive_input_open(memory_file(b->data, b->len), "in.x", stop, &a) != STATUS_OK) {
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

static void files_come_out_of_every_kind_of_archive(void **state)
{
    (void)state;
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

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    char part[300], path[1200];
    memset(part, 'p', 256);
    part[256] = '\0';
    for (size_t i = 0; i < 1100; i += 2) {
        memcpy(path + i, "d/", 2);
    }
    path[1099] = '\0';
    const struct put puts[] = {
        {"../up.csv", "1", 0, NULL},
        {"a/../../up.csv", "1", 0, NULL},
        {"a/..", "1", 0, NULL},
        {"/etc/absolute.csv", "1", 0, NULL},
        {"line\nend.csv", "1", 0, NULL},
        {"escape\x1b[31m.csv", "1", 0, NULL},
        {"not-utf8-\xff.csv", "1", 0, NULL},
        {"c1-\xc2\x9b.csv", "1", 0, NULL},
        {"./.", "1", 0, NULL},
        {part, "1", 0, NULL},
        {path, "1", 0, NULL},
        {"..good.csv", "1", 0, NULL},
    };
    const size_t n = sizeof puts / sizeof puts[0];
    struct bytes b = make_archive(TAR, NULL, puts, n);
    struct archive_input *a = open_bytes(&b);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct archive_input_entry entry = next_entry(a);
        if (!entry.refused) {
            fail_msg("taken: %s", entry.name);
        }
        for (const char *p = entry.name; *p; p++) {
            assert_true((unsigned char)*p >= 0x20);
        }
    }
    const struct archive_input_entry good = next_entry(a);
    assert_null(good.refused);
    assert_string_equal(good.name, "..good.csv");
    assert_end(a);
    archive_input_free(a);
    bytes_free(&b);
}

static void links_and_devices_are_refused(void **state)
{
    (void)state;
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

static void what_unpacks_to_too_much_is_stopped(void **state)
{
    (void)state;
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

static void a_stop_ends_reading_and_skipping(void **state)
{
    (void)state;
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
    for (int kind = TAR; kind <= TAR_XZ; kind++) {
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

static void damaged_archives_and_other_files_are_refused(void **state)
{
    (void)state;
    char content[20001];
    uint32_t x = 1;
    for (size_t i = 0; i < 20000; i++) {
        x = x * 1664525u + 1013904223u;
        content[i] = (char)('0' + (x >> 24) % 10);
    }
    content[20000] = '\0';
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
static void no_flipped_byte_changes_what_comes_out(void **state)
{
    (void)state;
    static const struct put puts[] = {{"a.csv", "1,2,3\n4,5,7\n6,7,9\n", 0, NULL}};
    const size_t n = strlen(puts[0].content);
    for (int kind = TAR_GZ; kind < N_KINDS; kind++) {
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

static void what_the_system_cannot_read_is_told_with_its_reason(void **state)
{
    (void)state;
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

static void encrypted_entries_are_refused_in_plain_words(void **state)
{
    (void)state;
    static const struct put puts[] = {{"secret.csv", "1,2\n", 0, NULL}};
    struct bytes b = make_archive(ZIP, "word", puts, 1);
    struct archive_input *a = open_bytes(&b);
    const struct archive_input_entry entry = next_entry(a);
    assert_non_null(entry.refused);
    assert_non_null(strstr(entry.refused, "encrypted"));
    archive_input_free(a);
    bytes_free(&b);
}

static void archives_are_told_by_their_names(void **state)
{
    (void)state;
    static const char *const yes[] = {"a.zip", "a.TAR", "b/a.tar.gz", "a.Tgz", "a.tar.xz", "a.7z"};
    static const char *const no[] = {"a.csv", "a.csv.gz", "a.npz", ".zip",
                                     "zip",   "",         "a.xz",  "a.gz"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        assert_true(archive_input_named(yes[i]));
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        assert_false(archive_input_named(no[i]));
    }
    archive_input_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_out_of_every_kind_of_archive),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(links_and_devices_are_refused),
        cmocka_unit_test(what_unpacks_to_too_much_is_stopped),
        cmocka_unit_test(a_stop_ends_reading_and_skipping),
        cmocka_unit_test(damaged_archives_and_other_files_are_refused),
        cmocka_unit_test(no_flipped_byte_changes_what_comes_out),
        cmocka_unit_test(what_the_system_cannot_read_is_told_with_its_reason),
        cmocka_unit_test(encrypted_entries_are_refused_in_plain_words),
        cmocka_unit_test(archives_are_told_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
