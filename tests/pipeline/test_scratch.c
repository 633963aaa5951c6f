/*
 * Scratch files: where they lie, and whose room counts.
 */
#include "pipeline/engine/scratch.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <sys/statvfs.h>

static void scratch_file_has_the_room_of_where_it_lies(void **state)
{
    (void)state;
    struct statvfs st;
    assert_int_equal(statvfs("/proc", &st), 0);
    assert_int_equal(st.f_bavail, 0);
    int folder_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* holds none: /tmp */
    int fd;
    assert_true(folder_fd >= 0);
    assert_int_equal(scratch_file(folder_fd, &fd), STATUS_OK);
    close(folder_fd);
    assert_true(scratch_room(fd) > 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    assert_int_equal(scratch_file(-1, &fd), STATUS_OK);
    assert_true(scratch_room(fd) > 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_file_has_the_room_of_where_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
