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

TEST(an_object_is_read)
{
    json_t *o;
    assert_int_equal(read_text("{\"a\": [1, \"b\"]}", &o), STATUS_OK);
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "a"), 1)), "b");
    json_decref(o);
}

TEST(what_is_no_object_is_refused_with_its_place)
{
    static const char *const bad[] = {"",         "{",  "{\"a\": 1, \"a\": 2}", "{} {}", "nonsense",
                                      "\"\x80\"", "17", "{\"a\": 1e999}"};
    json_t *o;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(read_text(bad[i], &o), STATUS_BAD_INPUT);
        assert_null(o);
    }
    assert_int_equal(read_text("{\n\"a\": ?}", &o), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "line 2"));
}

TEST(text_is_written_as_it_was_read)
{
    static const char text[] = "{\"a\":[1,\"b\"],\"a key of some length\":{\"c\":null},\"d\":1.5}";
    json_t *o;
    assert_int_equal(read_text(text, &o), STATUS_OK);
    char *const written = json_dumps(o, JSON_COMPACT);
    assert_string_equal(written, text);
    free(written);
    json_decref(o);
}

TEST(a_file_is_read_to_its_end_but_not_beyond_a_bound)
{
    enum { LONG = 100000 };
    static char text[LONG];
    json_t *o;
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
    return unit_run(enter_folder, leave_folder);
}
