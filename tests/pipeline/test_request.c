/*
 * Requests as files: one that cannot be read now is not lost.
 */
#include "pipeline/status/request.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void a_request_that_cannot_be_opened_stays_however_old_it_is(void **state)
{
    char name[REQUEST_NAME_BYTES];
    struct rlimit files, none;
    (void)state;
    const int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(request_write(folder, "delete", "1-1", true, name), STATUS_OK);
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(folder, name, old, 0), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_null(request_read(folder, name));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    json_t *const request = request_read(folder, name);
    assert_string_equal(json_string_value(json_object_get(request, "do")), "delete");
    json_decref(request);
    assert_int_equal(request_answer(folder, name, true, "deleted"), STATUS_OK);
    assert_int_equal(utimensat(folder, name, old, 0), 0);
    assert_null(request_read(folder, name)); /* an answer that nobody fetches goes */
    assert_int_equal(faccessat(folder, name, F_OK, 0), -1);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_cannot_be_opened_stays_however_old_it_is),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
