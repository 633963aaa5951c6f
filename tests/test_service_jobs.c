/*
 * A job of the service: what it is called.
 */
#include "pipeline/service_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_is_called_by_its_first_file_or_without_one_by_its_stem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
