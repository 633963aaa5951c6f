/*
 * JSON text is read whole, or refused for what is the matter, and written whole or not at all: also
 * when the k-th of jansson's calls for memory fails, for every k.
 * ctest: wrap=malloc
 */
#include "formats/base/json.h"
#include "tests/support/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

/* The linker leads formats/' malloc() here. */
static unsigned long fails_at; /* 0: none */
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    if (fails_at > 0 && --fails_at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_malloc(n);
}

static enum status read_text(const char *text, json_t **out)
{
    return json_read(text, strlen(text), out);
}

static void an_object_is_read(void **state)
{
    json_t *o;
    (void)state;
    assert_int_equal(read_text("{\"a\": [1, \"b\"]}", &o), STATUS_OK);
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "a"), 1)), "b");
    json_decref(o);
}

static void what_is_no_object_is_refused_with_its_place(void **state)
{
    static const char *const bad[] = {"",         "{",  "{\"a\": 1, \"a\": 2}", "{} {}", "nonsense",
                                      "\"\x80\"", "17", "{\"a\": 1e999}"};
    json_t *o;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(read_text(bad[i], &o), STATUS_BAD_INPUT);
        assert_null(o);
    }
    assert_int_equal(read_text("{\n\"a\": ?}", &o), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "line 2"));
}

static void want_of_memory_is_no_fault_of_the_text(void **state)
{
    static const char text[] =
        "{\"message\": \"a text that is longer than a first buffer has room for, \\u00e4 too\","
        " \"numbers\": [1.25, 1234567890123], \"nested\": {\"a key of some length\": null}}";
    json_t *whole, *o;
    unsigned long k = 1, n_refused = 0;
    (void)state;
    assert_int_equal(read_text(text, &whole), STATUS_OK);
    for (bool failed = true; failed; k++) {
        fails_at = k;
        const enum status status = read_text(text, &o);
        failed = fails_at == 0;
        fails_at = 0;
        assert_int_equal(status, failed ? STATUS_NO_MEMORY : STATUS_OK);
        assert_int_equal(o == NULL, failed);
        assert_true(failed || json_equal(o, whole));
        n_refused += failed ? 1 : 0;
        json_decref(o);
    }
    assert_true(n_refused > 20);
    json_decref(whole);
}

static void text_is_written_whole_or_not_at_all(void **state)
{
    static const char text[] = "{\"a\":[1,\"b\"],\"a key of some length\":{\"c\":null},\"d\":1.5}";
    json_t *o;
    unsigned long n_refused = 0;
    (void)state;
    assert_null(json_write(NULL, JSON_COMPACT));
    assert_int_equal(read_text(text, &o), STATUS_OK);
    for (bool failed = true; failed; n_refused++) {
        fails_at = n_refused + 1;
        char *written = json_write(o, JSON_COMPACT);
        failed = fails_at == 0;
        fails_at = 0;
        if (failed) {
            assert_null(written);
        } else {
            assert_string_equal(written, text);
        }
        free(written);
    }
    assert_true(n_refused > 1);
    json_decref(o);
}

static void a_file_is_read_to_its_end_but_not_beyond_a_bound(void **state)
{
    enum { LONG = 100000 };
    static char text[LONG];
    json_t *o;
    (void)state;
    memset(text, ' ', LONG);
    text[0] = '[';
    text[LONG - 1] = ']';
    const int fd = open("f", O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, text, LONG), LONG);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(json_read_fd(fd, LONG, &o), STATUS_OK);
    assert_true(json_is_array(o));
    json_decref(o);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(json_read_fd(fd, LONG - 1, &o), STATUS_BAD_INPUT);
    assert_null(o);
    close(fd);
    assert_int_equal(json_read_fd(fd, LONG, &o), STATUS_IO);
    unlink("f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_read),
        cmocka_unit_test(what_is_no_object_is_refused_with_its_place),
        cmocka_unit_test(want_of_memory_is_no_fault_of_the_text),
        cmocka_unit_test(text_is_written_whole_or_not_at_all),
        cmocka_unit_test(a_file_is_read_to_its_end_but_not_beyond_a_bound),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
