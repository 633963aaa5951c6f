/*
 * scratch_folder - a folder of the test program's own to work in, as a group's setup and teardown.
 */
#ifndef LEAT_TESTS_SCRATCH_FOLDER_H
#define LEAT_TESTS_SCRATCH_FOLDER_H

#include "tests/support/unit.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_folder[] = "/tmp/leat-test-XXXXXX";

static inline int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(scratch_folder) != NULL ? chdir(scratch_folder) : -1;
}

/* Fails when a test has left something behind. */
static inline int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(scratch_folder) : -1;
}

/* How many files and folders there are in a folder. */
static inline size_t count_entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(d);
    return n;
}

#endif
