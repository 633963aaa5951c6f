/*
 * Lists of folders: what they have of a folder of more entries than are listed.
 * ctest: wrap=readdir64
 */
#include "pipeline/page/page_files.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED = 1000, MORE = 1007, ALL = LISTED + MORE };

/* In which order a folder is read. */
static enum { AS_IT_IS, FORWARD, BACKWARD } order;

struct dirent64 *__real_readdir64(DIR *folder);
struct dirent64 *__wrap_readdir64(DIR *folder);

static int by_name(const struct dirent64 **a, const struct dirent64 **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* All that there is, one after the other in that order; at its end it begins again. */
struct dirent64 *__wrap_readdir64(DIR *folder)
{
    static struct dirent64 **all;
    static int n, i;
    if (order == AS_IT_IS) {
        return __real_readdir64(folder);
    }
    if (all == NULL) {
        n = scandir64("out", &all, NULL, by_name);
        assert_int_equal(n, ALL + 2);
    }
    if (i == n) {
        i = 0;
        return NULL;
    }
    i++;
    return all[order == FORWARD ? i - 1 : n - i];
}

/* Folders 0000 to 2006; the oldest are those before number `first`, which is the newest. */
static void make_folders(int first)
{
    char name[32];
    for (int i = 0; i < ALL; i++) {
        const struct timespec times[2] = {{.tv_sec = 1000000 - i}, {.tv_sec = 1000000 - i}};
        snprintf(name, sizeof(name), "out/%04d", (i + first) % ALL);
        assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
        assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
    }
}

static void list_all_but_those_before(int first)
{
    struct page_files files;
    struct bytes text = {0};
    char name[32];
    assert_int_equal(page_files_open(".", "out", &files), STATUS_OK);
    assert_int_equal(page_files_list(&files, "results/", "", &text), STATUS_OK);
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    const char *html = (const char *)text.data, *at = html;
    size_t n = 0;
    assert_non_null(strstr(html, "and 1007 more"));
    for (int i = 0; i < ALL; i++) {
        snprintf(name, sizeof(name), "\n%04d/<", i);
        if ((i - first + ALL) % ALL < LISTED) { /* one of the newest, by name */
            at = strstr(at, name);
            assert_non_null(at);
        }
    }
    for (at = html; (at = strstr(at, "<li>")) != NULL; at++) {
        n++;
    }
    assert_int_equal(n, LISTED);
    bytes_free(&text);
    page_files_close(&files);
}

/* Those that come later are older than the ones before, or newer, or both. */
TEST(a_list_has_the_newest_by_name_and_how_many_more_there_are)
{
    const int firsts[] = {500, ALL};
    assert_int_equal(mkdir("out", 0700), 0);
    for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
        make_folders(firsts[i]);
        for (order = AS_IT_IS; order <= BACKWARD; order++) {
            list_all_but_those_before(firsts[i]);
        }
        order = AS_IT_IS;
    }
    assert_int_equal(system("rm -r out"), 0);
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
