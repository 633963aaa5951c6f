/*
 * test_archive - files come out of archives whole, under safe names, or not at all.
 */
#include "formats/archive_input.h"
#include "tests/table_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One entry to put into an archive; content NULL: not a regular file. */
struct put {
    const char *name, *content;
    mode_t type; /* 0: AE_IFREG */
    const char *link;
};

enum { TAR, TAR_GZ, TAR_XZ, ZIP, SEVEN_ZIP, N_KINDS };
static const char *const kind_names[] = {"x.tar", "x.tar.gz", "x.tar.xz", "x.zip", "x.7z"};

static void set_kind(struct archive *a, int kind)
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
    if (kind == TAR_GZ) {
        assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    } else if (kind == TAR_XZ) {
        assert_int_equal(archive_write_add_filter_xz(a), ARCHIVE_OK);
    }
}

static void put_entry(struct archive *a, const struct put *p)
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

static struct bytes make_archive(int kind, const char *passphrase, const struct put *puts, size_t n)
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

static struct archive_input *open_bytes(const struct bytes *b)
{
    struct archive_input *a;
    if (archive_input_open(memory_file(b->data, b->len), "in.x", &a) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    return a;
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
    assert_string_equal(next_entry(a).refused, "it is no regular file");
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

/* Reads all there is; the first failure. */
static enum status read_archive(const struct bytes *b)
{
    struct archive_input *a;
    struct archive_input_entry entry;
    bool end = false;
    uint64_t bytes;
    enum status status = archive_input_open(memory_file(b->data, b->len), "in.x", &a);
    const int to = memfd_create("out", MFD_CLOEXEC);
    while (!status && !end) {
        status = archive_input_next(a, &entry, &end);
        if (!status && !end && !entry.refused) {
            status = archive_input_copy(a, to, 1 << 20, &bytes);
        }
    }
    close(to);
    archive_input_free(a);
    return status;
}

static void a_stop_ends_reading_and_skipping(void **state)
{
    (void)state;
    static char content[1 << 20];
    memset(content, '1', sizeof content - 1);
    const struct put puts[] = {{"a.csv", content, 0, NULL}, {"b.csv", "2", 0, NULL}};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes b = make_archive(kind, NULL, puts, 2);
        struct archive_input *a = open_bytes(&b);
        atomic_bool stop = false;
        uint64_t bytes;
        const int to = memfd_create("out", MFD_CLOEXEC);
        archive_input_stop_at(a, &stop);
        (void)next_entry(a);
        stop = true;
        assert_int_equal(archive_input_copy(a, to, UINT64_MAX, &bytes), STATUS_CANCELLED);
        assert_int_equal(bytes, 0);
        assert_non_null(strstr(status_message(), "stopped"));
        close(to);
        archive_input_free(a);
        bytes_free(&b);
    }
    /* Going to the second entry of a tar means to unpack the first. */
    struct bytes b = make_archive(TAR, NULL, puts, 2);
    struct archive_input *a = open_bytes(&b);
    struct archive_input_entry entry;
    bool end;
    atomic_bool stop = false;
    archive_input_stop_at(a, &stop);
    (void)next_entry(a);
    stop = true;
    assert_int_equal(archive_input_next(a, &entry, &end), STATUS_CANCELLED);
    archive_input_free(a);
    bytes_free(&b);
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
    assert_int_equal(archive_input_open(open("/dev/null", O_WRONLY), "in.x", &a), STATUS_IO);
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
        cmocka_unit_test(what_the_system_cannot_read_is_told_with_its_reason),
        cmocka_unit_test(encrypted_entries_are_refused_in_plain_words),
        cmocka_unit_test(archives_are_told_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
