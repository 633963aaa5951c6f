/*
 * Requests as files: one that cannot be read now is not lost; several are on disk before an answer
 * is waited for.
 */
#include "pipeline/status/request.h"
#include "pipeline/status/status_file.h"
#include "tests/support/scratch_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

TEST(a_request_that_cannot_be_opened_stays_however_old_it_is)
{
    char name[REQUEST_NAME_BYTES];
    struct rlimit files, none;
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

enum { SEVERAL = 3 };

static int is_request(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A service that comes to none of the requests before there are SEVERAL; no to the second. */
static void *answer_all(void *user)
{
    struct dirent **found;
    int folder, n;
    (void)user;
    assert_int_equal(request_open_folder(".", &folder), STATUS_OK);
    while ((n = scandirat(folder, ".", &found, is_request, alphasort)) < SEVERAL) {
        for (int i = 0; i < n; i++) {
            free(found[i]);
        }
        free(found);
        sched_yield();
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(request_answer(folder, found[i]->d_name, i != 1, "seen"), STATUS_OK);
        free(found[i]);
    }
    free(found);
    close(folder);
    return NULL;
}

static void note_answer(void *user, const char *job, bool done, const char *text)
{
    char *const answers = user;
    assert_string_equal(text, "seen");
    strcat(answers, job);
    strcat(answers, done ? " yes," : " no,");
}

TEST(all_requests_are_on_disk_before_an_answer_is_waited_for)
{
    static const char *const jobs[SEVERAL] = {"a", "b", "c"};
    struct status_file lives = {.spool = (char *)".", .folder_fd = -1, .lock_fd = -1};
    char answers[64] = "";
    pthread_t service;
    assert_int_equal(mkdir(".work", 0700), 0);
    assert_int_equal(status_file_open(&lives), STATUS_OK);
    assert_int_equal(pthread_create(&service, NULL, answer_all, NULL), 0);
    assert_int_equal(request_ask(".", "retry", jobs, SEVERAL, note_answer, answers), STATUS_OK);
    assert_int_equal(pthread_join(service, NULL), 0);
    assert_string_equal(answers, "a yes,b no,c yes,");
    status_file_close(&lives);
    assert_int_equal(system("rm -r .work status"), 0);
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
