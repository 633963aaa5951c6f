/*
 * test_archive_layer - one layer of compression is taken off and no second one; a stop soon ends
 * what is made of a file that never ends, whatever comes out of it: zeros, nothing, padding.
 * ctest: wrap=pread64 link=PkgConfig::MINIZIP
 */
#include "formats/source/archive_input.h"
#include "tests/support/archive_support.h"

enum { FEW_READS = 3, MANY_READS = 100 };

/* What every file holds while `is_endless`: the head, then the unit again and again. With the last
 * of FEW_READS reads comes the stop; after MANY_READS more the file ends. */
static bool is_endless;
static struct bytes head, unit;
static atomic_bool stop;
static size_t n_before, n_after;

ssize_t __real_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at)
{
    if (!is_endless) {
        return __real_pread64(fd, data, n, at);
    }
    if (n > 65536) { /* the looks at how it begins are not counted */
        n_after += stop;
        n_before += !stop;
        stop = n_before >= FEW_READS;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t k = (size_t)at + i;
        ((unsigned char *)data)[i] =
            k < head.len ? head.data[k] : unit.data[(k - head.len) % unit.len];
    }
    return n_after < MANY_READS ? (ssize_t)n : 0;
}

/* Takes `first` and `again`. */
static void assert_stopped(struct bytes first, struct bytes again)
{
    struct archive_input *a;
    const int fd = memfd_create("endless", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    head = first;
    unit = again;
    n_before = n_after = 0;
    stop = false;
    is_endless = true;
    const enum status status =
        archive_input_open(fd, "in.x", &(struct archive_input_options){.stop = &stop}, &a);
    is_endless = false;
    assert_int_equal(status, STATUS_CANCELLED);
    assert_null(a);
    assert_non_null(strstr(status_message(), "in.x: stopped"));
    assert_int_equal(n_before, FEW_READS);
    assert_in_range(n_after, 0, 1);
    bytes_free(&head);
    bytes_free(&unit);
}

TEST(endless_zeros_are_left_at_a_stop)
{
    static const char zeros[16384];
    assert_stopped(gzipped(zeros, 512), gzipped(zeros, sizeof zeros));
    assert_stopped(xzipped(zeros, 512), xzipped(zeros, sizeof zeros));
    assert_stopped(zstded(zeros, 512), zstded(zeros, sizeof zeros));
}

TEST(endless_members_of_nothing_are_left_at_a_stop)
{
    assert_stopped(gzipped("a", 1), gzipped("", 0));
    assert_stopped(xzipped("a", 1), xzipped("", 0));
    assert_stopped(zstded("a", 1), zstded("", 0));
}

TEST(endless_padding_is_left_at_a_stop)
{
    for (int kind = 0; kind < 2; kind++) {
        struct bytes zeros = {0};
        assert_int_equal(bytes_append(&zeros, "\0\0\0\0", 4), STATUS_OK);
        assert_stopped(kind ? xzipped("a", 1) : gzipped("a", 1), zeros);
    }
}

static enum status open_and_close(const struct bytes *b)
{
    struct archive_input *a;
    const enum status status = archive_input_open(memory_file(b->data, b->len), "in.x", NULL, &a);
    archive_input_free(a);
    return status;
}

TEST(one_layer_of_compression_is_taken_off)
{
    static const struct put puts[] = {{"a.csv", "1,2\n", 0, NULL}};
    static struct bytes (*const wrap[])(const void *, size_t) = {gzipped, xzipped, zstded, bzipped};
    static const char *const names[] = {"gzip", "xz", "zstd", "bzip2"};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct bytes inner = make_archive(kind, NULL, puts, 1);
        for (size_t i = 0; i < 4; i++) {
            struct bytes b = wrap[i](inner.data, inner.len);
            assert_int_equal(open_and_close(&b), kind == TAR ? STATUS_OK : STATUS_BAD_INPUT);
            if (kind > TAR && kind < ZIP) {
                char text[32];
                snprintf(text, sizeof text, "%s within %s", names[kind - TAR_GZ], names[i]);
                assert_non_null(strstr(status_message(), "in.x: is compressed twice ("));
                if (!strstr(status_message(), text)) {
                    fail_msg("no \"%s\" in: %s", text, status_message());
                }
            }
            bytes_free(&b);
        }
        bytes_free(&inner);
    }
}

/* Opens a compressed tar of one file, lets `damage` change its bytes, and unpacks the file.
 * content: [n + 1], with a NUL at its end. */
static enum status unpack(int kind, const char *content, bool damage, int to)
{
    const struct put put = {"a.csv", content, 0, NULL};
    struct archive_input *a;
    struct archive_input_entry entry;
    bool end;
    uint64_t bytes;
    struct bytes b = make_archive(kind, NULL, &put, 1);
    const int fd = memory_file(b.data, b.len);
    assert_int_equal(archive_input_open(fd, "in.x", NULL, &a), STATUS_OK);
    if (damage) {
        b.data[b.len - 50] ^= 1;
        assert_int_equal(pwrite(fd, b.data, b.len, 0), b.len);
    }
    enum status status = archive_input_next(a, &entry, &end);
    if (!status) {
        status = archive_input_copy(a, to, UINT64_MAX, &bytes);
    }
    if (!status) {
        status = archive_input_next(a, &entry, &end);
        assert_true(status || end);
    }
    archive_input_free(a);
    bytes_free(&b);
    return status;
}

/* n bytes that do not compress, and a NUL; for free(). */
static char *make_noise(size_t n)
{
    char *const noise = calloc(n + 1, 1);
    uint32_t x = 1;
    assert_non_null(noise);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        noise[i] = (char)(x >> 24 | 1);
    }
    return noise;
}

TEST(a_layer_gives_what_was_put_in)
{
    enum { N = 300000 };
    char *const content = make_noise(N), *const back = malloc(N);
    for (int kind = TAR; kind < ZIP; kind++) {
        const int to = memfd_create("out", MFD_CLOEXEC);
        assert_int_equal(unpack(kind, content, false, to), STATUS_OK);
        assert_int_equal(pread(to, back, N, 0), N);
        assert_memory_equal(back, content, N);
        close(to);
    }
    free(back);
    free(content);
}

/* What was whole when it was checked, and is not any more when it is read. */
TEST(a_file_that_changes_after_the_check_is_refused)
{
    char *const noise = make_noise(2 << 20);
    for (int kind = TAR_GZ; kind < ZIP; kind++) {
        if (kind == TAR_ZST) { /* libarchive's writer leaves out the checksum */
            continue;
        }
        const int to = memfd_create("out", MFD_CLOEXEC);
        assert_int_equal(unpack(kind, noise, true, to), STATUS_BAD_INPUT);
        close(to);
    }
    free(noise);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
