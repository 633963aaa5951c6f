/*
 * Scratch files: where they lie, and whose room counts.
 * ctest: wrap=openat64
 */
#include "pipeline/engine/scratch.h"
#include "tests/support/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool without_tmpfile;

int __real_openat64(int at_fd, const char *path, int flags, ...);
int __wrap_openat64(int at_fd, const char *path, int flags, ...);

/* A file system that has no files without a name. */
int __wrap_openat64(int at_fd, const char *path, int flags, ...)
{
    if (without_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_openat64(at_fd, path, flags, 0600);
}

TEST_BETWEEN(scratch_file_lies_in_its_folder_without_a_name, enter_folder, leave_folder)
{
    for (int i = 0; i < 2; i++) {
        struct stat st, folder;
        int fd, folder_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(folder_fd >= 0);
        without_tmpfile = i == 1;
        assert_int_equal(scratch_file(folder_fd, &fd), STATUS_OK);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(fstat(folder_fd, &folder), 0);
        assert_int_equal(st.st_dev, folder.st_dev);
        assert_int_equal(st.st_nlink, 0);
        assert_int_equal(write(fd, "abc", 3), 3);
        assert_true(scratch_room(fd) > 0);
        close(fd);
        close(folder_fd);
    }
    without_tmpfile = false;
}

TEST(scratch_file_has_the_room_of_where_it_lies)
{
    int fd;
    assert_int_equal(scratch_file(-1, &fd), STATUS_OK);
    assert_true(scratch_room(fd) > 0);
    close(fd);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
