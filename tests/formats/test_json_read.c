/*
 * JSON text is read whole, or refused for what is the matter.
 */
#include "formats/base/json.h"
#include "tests/support/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

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

static void text_is_written_as_it_was_read(void **state)
{
    static const char text[] = "{\"a\":[1,\"b\"],\"a key of some length\":{\"c\":null},\"d\":1.5}";
    json_t *o;
    (void)state;
    assert_int_equal(read_text(text, &o), STATUS_OK);
    char *const written = json_dumps(o, JSON_COMPACT);
    assert_string_equal(written, text);
    free(written);
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
        cmocka_unit_test(text_is_written_as_it_was_read),
        cmocka_unit_test(a_file_is_read_to_its_end_but_not_beyond_a_bound),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
