/*
 * test_zip_input - what a zip archive claims of itself is believed as far as its bytes go.
 */
#include "formats/source/zip_input.h"
#include "tests/support/table_support.h"

/* A stored member "abcdef" under a name of `n_name` bytes, with these extra bytes in its entry. */
enum { CONTENT = 6, LOCAL = 30, ENTRY = 46, END = 22 };

struct archive {
    struct bytes b;
    size_t entry, end; /* where they are */
};

static void put(struct bytes *b, uint64_t value, size_t n)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    assert_int_equal(bytes_append(b, bytes, n), STATUS_OK);
}

static void put_name(struct bytes *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(b, 'a' + i % 26, 1);
    }
}

static struct archive make(size_t n_name, const char *extra, size_t n_extra)
{
    struct archive a = {.entry = LOCAL + n_name + CONTENT};
    const uint32_t crc = (uint32_t)crc32_z(0, (const unsigned char *)"abcdef", CONTENT);
    put(&a.b, 0x04034b50, 4);
    put(&a.b, 20, 6);
    put(&a.b, 0, 4);
    put(&a.b, crc, 4);
    put(&a.b, CONTENT, 4);
    put(&a.b, CONTENT, 4);
    put(&a.b, n_name, 4);
    put_name(&a.b, n_name);
    assert_int_equal(bytes_append(&a.b, "abcdef", CONTENT), STATUS_OK);
    put(&a.b, 0x02014b50, 4);
    put(&a.b, 20, 8);
    put(&a.b, 0, 4);
    put(&a.b, crc, 4);
    put(&a.b, CONTENT, 4);
    put(&a.b, CONTENT, 4);
    put(&a.b, n_name, 2);
    put(&a.b, n_extra, 2);
    put(&a.b, 0, 6);
    put(&a.b, 0, 8);
    put_name(&a.b, n_name);
    assert_int_equal(bytes_append(&a.b, extra, n_extra), STATUS_OK);
    a.end = a.b.len;
    put(&a.b, 0x06054b50, 8);
    put(&a.b, 1 | 1 << 16, 4);
    put(&a.b, a.end - a.entry, 4);
    put(&a.b, a.entry, 4);
    put(&a.b, 0, 2);
    return a;
}

static void set(struct archive *a, size_t at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a->b.data[at + i] = (unsigned char)(value >> (8 * i));
    }
}

/* Reads the member whole; gives what the directory says of it. Takes the archive. */
static enum status read_all(struct archive *a, struct zip_input_member *m)
{
    struct source *s = memory_source(a->b.data, a->b.len);
    struct zip_input *z = NULL;
    char back[64];
    size_t n = 0;
    bool end = true;
    enum status status = zip_input_open(s, &z);
    if (!status) {
        status = zip_input_next(z, m, &end);
    }
    if (!status && !end) {
        status = zip_input_begin(z, m, "in.x: m");
    }
    if (!status && !end) {
        status = zip_input_read(z, back, sizeof back, &n);
    }
    if (!status && !end) {
        status = zip_input_end(z);
    }
    if (!status && !end) {
        assert_int_equal(n, CONTENT);
        assert_memory_equal(back, "abcdef", CONTENT);
        status = zip_input_next(z, m, &end);
        assert_true(status || end);
    }
    zip_input_free(z);
    source_free(s);
    bytes_free(&a->b);
    return status;
}

static void assert_refused(struct archive a, const char *text)
{
    struct zip_input_member m;
    assert_int_equal(read_all(&a, &m), STATUS_BAD_INPUT);
    if (!strstr(status_message(), text)) {
        fail_msg("no \"%s\" in: %s", text, status_message());
    }
}

TEST(a_member_is_read_back)
{
    struct zip_input_member m;
    static const size_t lengths[] = {0, 1, 510, 511, 512, 600, 65535};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct archive a = make(lengths[i], "", 0);
        struct source *s = memory_source(a.b.data, a.b.len);
        struct zip_input *z;
        bool end;
        assert_int_equal(zip_input_open(s, &z), STATUS_OK);
        assert_int_equal(zip_input_next(z, &m, &end), STATUS_OK);
        assert_int_equal(strlen(m.name), lengths[i] < 511 ? lengths[i] : 511);
        assert_int_equal(m.method, ZIP_INPUT_STORED);
        zip_input_free(z);
        source_free(s);
        assert_int_equal(read_all(&a, &m), STATUS_OK);
    }
}

TEST(an_end_that_lies_is_none)
{
    static const char none[] = "without a readable directory at its end";
    struct zip_input_member m;
    struct archive a = make(1, "", 0);
    const uint64_t at = a.entry, n = a.end - a.entry;
    set(&a, a.end + 16, at + 1, 4);
    assert_refused(a, none);
    a = make(1, "", 0);
    set(&a, a.end + 16, a.end + 1, 4);
    set(&a, a.end + 12, 0, 4);
    assert_refused(a, none);
    a = make(1, "", 0);
    set(&a, a.end + 12, n + 1, 4);
    assert_refused(a, none);
    a = make(1, "", 0);
    set(&a, a.end + 20, 1, 2); /* a comment that is not there */
    assert_refused(a, none);
    a = make(1, "", 0);
    set(&a, a.end + 20, 1, 2);
    put(&a.b, 'c', 1);
    assert_int_equal(read_all(&a, &m), STATUS_OK);
    a = make(1, "", 0);
    set(&a, a.end + 20, 0xffff, 2);
    for (int i = 0; i < 0xffff; i++) {
        put(&a.b, 0, 1);
    }
    assert_int_equal(read_all(&a, &m), STATUS_OK);
    a = make(1, "", 0);
    set(&a, a.end + 8, 0xffff | 0xffffu << 16, 4); /* so many, and no wide end */
    assert_refused(a, "its zip directory is damaged");
}

TEST(entries_beyond_the_directory_are_damage)
{
    static const char damaged[] = "its zip directory is damaged";
    struct archive a = make(1, "", 0);
    set(&a, a.end + 12, ENTRY - 1, 4);
    assert_refused(a, damaged);
    a = make(1, "", 0);
    set(&a, a.end + 12, ENTRY, 4); /* without its name */
    assert_refused(a, damaged);
    static const size_t lengths[] = {28, 30, 32}; /* name, extra field, comment */
    for (size_t i = 0; i < 3; i++) {
        a = make(1, "", 0);
        set(&a, a.entry + lengths[i], 2, 2);
        assert_refused(a, damaged);
    }
    a = make(1, "", 0);
    set(&a, a.entry, 0, 1);
    assert_refused(a, damaged);
    a = make(1, "", 0);
    set(&a, a.end + 10, 2, 2); /* two entries */
    assert_refused(a, damaged);
}

TEST(a_header_that_differs_from_the_directory_is_damage)
{
    static const char damaged[] = "its header there is damaged, or cut short";
    static const struct {
        size_t at, n;
        uint64_t value;
    } lies[] = {{0, 1, 0},  {8, 2, 8},    {14, 4, 1}, {18, 4, 7},
                {22, 4, 7}, {28, 2, 200}, {26, 2, 71}}; /* the last two: it begins beyond the end */
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct archive a = make(1, "", 0);
        set(&a, lies[i].at, lies[i].value, lies[i].n);
        assert_refused(a, damaged);
    }
    struct archive a =
        make(1, "", 0); /* as many bytes as there are behind the header, and one more */
    const size_t most = a.b.len - LOCAL - 1;
    bytes_free(&a.b);
    for (size_t i = 0; i < 2; i++) {
        a = make(1, "", 0);
        for (size_t k = 0; k < 2; k++) {
            set(&a, 18 + 4 * k, most + i, 4);
            set(&a, a.entry + 20 + 4 * k, most + i, 4);
        }
        assert_refused(a, i == 0 ? "CRC-32" : damaged);
    }
    a = make(1, "", 0);
    set(&a, a.entry + 42, a.b.len - LOCAL + 1, 4);
    assert_refused(a, damaged);
    a = make(1, "", 0);
    set(&a, a.entry + 42, a.b.len + 1, 4);
    assert_refused(a, damaged);
    a = make(1, "", 0);
    set(&a, 8, 12, 2);
    set(&a, a.entry + 10, 12, 2);
    assert_refused(a, "(method 12); pack it by deflate");
}

TEST(wide_fields_end_with_their_field)
{
    static const struct {
        const char *extra;
        size_t n;
        uint64_t bytes, packed;
    } cases[] = {
        {"\1\0\20\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0", 20, 6, 6},
        {"\1\0\10\0\6\0\0\0\0\0\0\0", 12, 6, 0xffffffff},          /* only one */
        {"\1\0\7\0\6\0\0\0\0\0\0", 11, 0xffffffff, 0xffffffff},    /* less than one */
        {"\1\0\20\0\6\0\0\0\0\0\0\0", 12, 0xffffffff, 0xffffffff}, /* cut short */
        {"\2\0\20\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0", 20, 0xffffffff, 0xffffffff},
        {"\2\0\1\0x\1\0\20\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0", 25, 6, 6},
        {"\1\0\20", 3, 0xffffffff, 0xffffffff},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zip_input_member m = {.bytes = 0};
        struct archive a = make(1, cases[i].extra, cases[i].n);
        set(&a, a.entry + 20, UINT64_MAX, 8);
        const bool whole = cases[i].bytes == 6 && cases[i].packed == 6;
        struct source *s = memory_source(a.b.data, a.b.len);
        struct zip_input *z;
        bool end;
        assert_int_equal(zip_input_open(s, &z), STATUS_OK);
        assert_int_equal(zip_input_next(z, &m, &end), STATUS_OK);
        assert_true(m.bytes == cases[i].bytes && m.packed_bytes == cases[i].packed);
        zip_input_free(z);
        source_free(s);
        assert_int_equal(read_all(&a, &m), whole ? STATUS_OK : STATUS_BAD_INPUT);
    }
}

TEST(a_member_that_was_not_read_to_its_end_is_not_right)
{
    struct archive a = make(1, "", 0);
    set(&a, 14, 0, 4); /* the CRC-32 of nothing */
    set(&a, a.entry + 16, 0, 4);
    struct source *s = memory_source(a.b.data, a.b.len);
    struct zip_input *z;
    struct zip_input_member m;
    bool end;
    assert_int_equal(zip_input_open(s, &z), STATUS_OK);
    assert_int_equal(zip_input_next(z, &m, &end), STATUS_OK);
    assert_int_equal(zip_input_begin(z, &m, "in.x: m"), STATUS_OK);
    assert_int_equal(zip_input_end(z), STATUS_BAD_INPUT);
    zip_input_free(z);
    source_free(s);
    bytes_free(&a.b);
    zip_input_free(NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
