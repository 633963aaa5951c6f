/*
 * no_module - a module that cannot be loaded, as a group's setup and teardown: what is refused, or
 * named, where it is not installed.
 */
#ifndef LEAT_TESTS_NO_MODULE_H
#define LEAT_TESTS_NO_MODULE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char no_module_folder[] = "/tmp/leat-none-XXXXXX", no_module_file[64];

/* It is found first, and is no library. */
static inline int hide_gdal(void **state)
{
    (void)state;
    if (mkdtemp(no_module_folder) == NULL) {
        return -1;
    }
    (void)snprintf(no_module_file, sizeof no_module_file, "%s/leat_gdal.so", no_module_folder);
    const int fd = open(no_module_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0 ? setenv("LEAT_MODULE_DIR", no_module_folder, 1) : -1;
}

static inline int show_gdal(void **state)
{
    (void)state;
    return unlink(no_module_file) == 0 && rmdir(no_module_folder) == 0 ? unsetenv("LEAT_MODULE_DIR")
                                                                       : -1;
}

#endif
