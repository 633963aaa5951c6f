/*
 * A job of the service: what it is called, how long it may take, and which failures are its own.
 * ctest: wrap=uv_now,percent_encode
 */
#include "pipeline/service/service_state.h"
#include "watch/files/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t __wrap_uv_now(const uv_loop_t *loop);
char *__wrap_percent_encode(const char *name);
char *__real_percent_encode(const char *name);

static uint64_t now_ms;
static const char *unpackable; /* a name for which there is no memory; NULL: none */

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return now_ms;
}

char *__wrap_percent_encode(const char *name)
{
    return unpackable != NULL && strcmp(name, unpackable) == 0 ? NULL : __real_percent_encode(name);
}

static struct service_job *new_job(const char *folder, size_t n_files)
{
    static const char *const names[] = {"x.dem.asc", "x.source.asc"};
    struct spool_job *spool;
    assert_int_equal(spool_job_new(folder, "x", names, 2, NULL, &spool), STATUS_OK);
    while (spool->n_files > n_files) { /* as recovery leaves a folder that holds none */
        struct spool_file *last = &spool->files[--spool->n_files];
        free(last->name);
        last->name = NULL;
    }
    struct service_job *job = service_job_new(spool);
    assert_non_null(job);
    return job;
}

static void job_is_called_by_its_first_file_or_without_one_by_its_stem(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *name;
        size_t n_files;
    } cases[] = {{"", "in/x.dem.asc", 2}, {"a/b", "in/a/b/x.dem.asc", 1}, {"", "in/x", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct service_job *job = new_job(cases[i].folder, cases[i].n_files);
        assert_string_equal(job->name, cases[i].name);
        service_job_free(job);
    }
}

/* The one job "a" of a service, at its worker. */
static struct service_job *new_job_at(struct service_worker *w)
{
    struct service_job *job = new_job("", 2);
    strcpy(job->spool->id, "a");
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        TAILQ_INIT(&w->service->lists[i]);
    }
    job->worker = w;
    service_job_list(w->service, job, WAIT_RESULT);
    now_ms = 1000;
    return job;
}

static void tell_begun(struct service_worker *w, const char *id, bool waits, double deadline_s)
{
    json_t *message = json_pack("{s:s, s:s, s:b, s:f}", "is", "begun", "id", id, "waits", waits,
                                "deadline_s", deadline_s);
    assert_non_null(message);
    service_jobs_at_workers.message(w, message);
    json_decref(message);
}

static void tell_member(struct service_worker *w, const char *is, const char *member,
                        double deadline_s)
{
    json_t *message = json_pack("{s:s, s:s, s:s, s:b, s:f}", "is", is, "id", "a", "member", member,
                                "waits", false, "deadline_s", deadline_s);
    assert_non_null(message);
    service_jobs_at_workers.message(w, message);
    json_decref(message);
}

/* Whether the worker is killed for a deadline, once `seconds` more have gone by. */
static bool is_late_after(struct service_worker *w, unsigned seconds)
{
    now_ms += 1000 * (uint64_t)seconds;
    service_check_deadlines(w->service);
    return w->is_late;
}

/* A worker says "begun" anew when the job begins to wait for memory, without a deadline, and when
 * it has it. */
static void deadline_does_not_run_while_the_job_waits_for_memory(void **state)
{
    (void)state;
    static struct service service;
    struct service_worker worker = {.service = &service};
    struct service_job *job = new_job_at(&worker);
    tell_begun(&worker, "a", false, 10);
    assert_false(job->waits);
    assert_false(is_late_after(&worker, 9));
    tell_begun(&worker, "a", true, 0);
    assert_true(job->waits);
    assert_false(is_late_after(&worker, 100000));
    tell_begun(&worker, "a", false, 10);
    assert_false(job->waits);
    assert_false(is_late_after(&worker, 9));
    assert_true(is_late_after(&worker, 100));
    assert_ptr_equal(worker.overdue, job);
    service_job_unlist(&service, job);
    service_job_free(job);
}

/* And the archive has none of its own, however many there are. */
static void deadline_of_an_archive_is_that_of_each_file_in_it(void **state)
{
    (void)state;
    static struct service service;
    struct service_worker worker = {.service = &service, .n_jobs = 1, .exit_text = "signal 9"};
    struct service_job *job = new_job_at(&worker);
    tell_begun(&worker, "a", false, 0);
    assert_false(is_late_after(&worker, 100000));
    for (int i = 0; i < 100; i++) {
        tell_member(&worker, "begun", "in/a.tar/%C3%BC.csv", 10);
        assert_false(is_late_after(&worker, 9));
        tell_member(&worker, "ended", "in/a.tar/%C3%BC.csv", 0);
    }
    tell_member(&worker, "begun", "in/a.tar/%C3%BC.csv", 10);
    tell_member(&worker, "begun", "in/a.tar/waits.csv", 0);
    assert_false(is_late_after(&worker, 9));
    tell_member(&worker, "begun", "in/a.tar/later.csv", 10);
    assert_true(is_late_after(&worker, 6));
    assert_ptr_equal(worker.overdue, job);
    assert_true(service_jobs_at_workers.ended(&worker));
    assert_int_equal(job->list, WAIT_REQUEUE);
    assert_true(job->charge);
    assert_string_equal(job->kind, "deadline");
    assert_string_equal(job->text, "'in/a.tar/\xC3\xBC.csv' took longer than its deadline, and did "
                                   "not stop when told to");
    service_job_unlist(&service, job);
    service_job_free(job);
}

static void job_is_sent_with_the_names_of_all_its_files_or_not_at_all(void **state)
{
    (void)state;
    static struct service service;
    struct service_worker worker = {.service = &service,
                                    .state = WORKER_READY,
                                    .capacity = 1,
                                    .link = {.closing = true}}; /* what is sent is lost */
    struct service_job *job = new_job_at(&worker);
    int status;
    service.workers[0] = &worker;
    service.n_workers = service.n_all = 1;
    service_job_list(&service, job, WAIT_WORKER);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        unpackable = job->spool->files[0].name;
        service_dispatch(&service);
        _exit(job->list == WAIT_RESULT ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), XALLOC_EXIT);
    service_dispatch(&service);
    assert_int_equal(job->list, WAIT_RESULT);
    service_job_unlist(&service, job);
    service_job_free(job);
}

/* The job is at the worker, and fails there; whether it is charged with that. */
static bool meet(struct service_worker *w, struct service_job *job, enum status code)
{
    json_t *message = json_pack("{s:s, s:s, s:s, s:s}", "is", "failed", "id", "a", "code",
                                status_name(code), "text", "by the test");
    assert_non_null(message);
    job->worker = w;
    service_job_list(w->service, job, WAIT_RESULT);
    service_jobs_at_workers.message(w, message);
    json_decref(message);
    assert_int_equal(job->list, WAIT_REQUEUE);
    return job->charge;
}

/* The same, after another job has been done. */
static bool meet_after_another(struct service_worker *w, struct service_job *job, enum status code)
{
    w->service->figures.n_done++;
    return meet(w, job, code);
}

static void error_of_a_disk_is_the_jobs_own_when_only_it_meets_the_same_again(void **state)
{
    (void)state;
    static struct service service;
    struct service_worker worker = {.service = &service};
    struct service_job *job = new_job_at(&worker);
    service.figures.n_done = 5;
    assert_false(meet(&worker, job, STATUS_IO));
    assert_false(meet(&worker, job, STATUS_IO));
    assert_int_equal(job->n_deferrals, 2);
    assert_true(meet_after_another(&worker, job, STATUS_IO));
    assert_int_equal(job->n_deferrals, 2);
    assert_false(meet(&worker, job, STATUS_IO)); /* none was done since */
    assert_false(meet_after_another(&worker, job, STATUS_NO_SPACE));
    assert_false(meet_after_another(&worker, job, STATUS_NO_SPACE));
    assert_false(meet_after_another(&worker, job, STATUS_IO));
    assert_true(meet_after_another(&worker, job, STATUS_IO));
    service_job_unlist(&service, job);
    service_job_free(job);
}

static void want_of_memory_is_the_jobs_own_after_ten_minutes(void **state)
{
    (void)state;
    static const enum status codes[] = {STATUS_NO_MEMORY, STATUS_TOO_LARGE};
    for (size_t i = 0; i < 2; i++) {
        struct service service = {.figures = {.n_done = 5}};
        struct service_worker worker = {.service = &service, .has_part = true};
        struct service_job *job = new_job_at(&worker);
        assert_false(meet(&worker, job, STATUS_IO));
        now_ms += 3600000; /* of another cause */
        assert_false(meet_after_another(&worker, job, codes[i]));
        now_ms += 599999;
        assert_false(meet_after_another(&worker, job, codes[i]));
        now_ms++;
        assert_false(meet(&worker, job, codes[i])); /* nobody has any */
        assert_true(meet_after_another(&worker, job, codes[i]));
        service_job_unlist(&service, job);
        service_job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_is_called_by_its_first_file_or_without_one_by_its_stem),
        cmocka_unit_test(deadline_does_not_run_while_the_job_waits_for_memory),
        cmocka_unit_test(deadline_of_an_archive_is_that_of_each_file_in_it),
        cmocka_unit_test(job_is_sent_with_the_names_of_all_its_files_or_not_at_all),
        cmocka_unit_test(error_of_a_disk_is_the_jobs_own_when_only_it_meets_the_same_again),
        cmocka_unit_test(want_of_memory_is_the_jobs_own_after_ten_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
