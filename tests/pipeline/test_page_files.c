/*
 * Lists of folders: what they have of a folder of more entries than are listed.
 */
#include "pipeline/page/page_files.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LISTED = 1000, MORE = 7 };

/* The later ones by name are older. */
static void a_list_has_the_newest_by_name_and_how_many_more_there_are(void **state)
{
    (void)state;
    struct page_files files;
    struct bytes text = {0};
    char name[32];
    assert_int_equal(mkdir("out", 0700), 0);
    for (int i = 0; i < LISTED + MORE; i++) {
        const struct timespec times[2] = {{.tv_sec = 1000000 - i}, {.tv_sec = 1000000 - i}};
        snprintf(name, sizeof(name), "out/%04d", (i + 500) % (LISTED + MORE));
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
    }
    assert_int_equal(page_files_open(".", "out", &files), STATUS_OK);
    assert_int_equal(page_files_list(&files, "results/", &text), STATUS_OK);
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    const char *html = (const char *)text.data, *at = html;
    assert_non_null(strstr(html, "and 7 more"));
    for (int i = 0; i < LISTED + MORE; i++) {
        const bool is_old = i >= 500 - MORE && i < 500; /* of all */
        snprintf(name, sizeof(name), ">%04d/<", i);
        const char *entry = strstr(html, name);
        assert_true((entry == NULL) == is_old);
        assert_true(is_old || entry > at);
        at = is_old ? at : entry;
    }
    bytes_free(&text);
    page_files_close(&files);
    assert_int_equal(system("rm -r out"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_the_newest_by_name_and_how_many_more_there_are),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
