/*
 * Jobs whose files leave in one zip: what is in the folder then, and what is left when that fails
 * or is cancelled.
 * ctest: tsan=yes wrap=copy_file_range
 */
#include "tests/support/job_runner.h"

#include <errno.h>
#include <limits.h>

/* What becomes of the system's copies into the zip. */
static struct {
    int error;  /* they fail with it; 0: they do not */
    bool waits; /* the first, until its job has been cancelled */
    atomic_bool has_been_cancelled;
    atomic_int n_calls;
} copying;

ssize_t __real_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags)
{
    copying.n_calls++;
    for (size_t ms = 0; copying.waits && !atomic_load(&copying.has_been_cancelled); ms++) {
        assert_true(ms < PATIENCE_MS);
        usleep(1000);
    }
    if (copying.error != 0) {
        errno = copying.error;
        return -1;
    }
    return __real_copy_file_range(from, at, to, to_at, copying.waits ? 1 : n, flags);
}

static struct settings bundling(void)
{
    struct settings settings = small_settings();
    settings.bundle = true;
    return settings;
}

static json_t *manifest_of(const char *result)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/out/%s/result.json", folder, result);
    json_t *manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    return manifest;
}

/* The result is a zip of that name, whole, and a result.json that says so. */
static void expect_bundle(const char *result, const char *zip, size_t n_files)
{
    char path[400], command[1000];
    struct stat st;
    snprintf(path, sizeof(path), "%s/out/%s", folder, result);
    assert_int_equal(count_entries(path), 2);
    snprintf(path, sizeof(path), "%s/out/%s/%s", folder, result, zip);
    assert_int_equal(stat(path, &st), 0);
    json_t *manifest = manifest_of(result);
    const json_t *output = json_array_get(json_object_get(manifest, "outputs"), 0);
    assert_int_equal(json_array_size(json_object_get(manifest, "outputs")), 1);
    assert_string_equal(json_string_value(json_object_get(output, "name")), zip);
    assert_int_equal(json_integer_value(json_object_get(output, "bytes")), st.st_size);
    assert_int_equal(json_array_size(json_object_get(manifest, "bundled")), n_files);
    json_decref(manifest);
    snprintf(command, sizeof(command), "test \"$(unzip -tqq %s && unzip -Z -1 %s | wc -l)\" = %zu",
             path, path, n_files + 1);
    assert_int_equal(system(command), 0);
}

static int reset_all(void **state)
{
    copying.error = 0;
    copying.waits = false;
    copying.n_calls = 0;
    atomic_store(&copying.has_been_cancelled, false);
    return reset(state);
}

TEST_BETWEEN(files_of_all_results_leave_in_one_zip, reset_all, NULL)
{
    char *path = counting_csv("several.csv", 3, 3);
    const struct settings settings = bundling();
    fake.n_pieces = 50;
    fake.n_results = 9;
    assert_int_equal(run_jobs(path, 4, &settings).n_ok, 4);
    for (unsigned job = 1; job <= 4; job++) {
        char result[16], zip[24];
        snprintf(result, sizeof(result), "job%u", job);
        snprintf(zip, sizeof(zip), "job%u.zip", job);
        expect_bundle(result, zip, 7 * 3 + 1);
    }
    remove_output();
    free(path);
}

/* As in the service, which publishes it by a name of its own. */
TEST_BETWEEN(a_zip_in_a_given_folder_is_named_after_the_stem, reset_all, NULL)
{
    char *path = counting_csv("given.csv", 3, 3);
    const struct settings settings = bundling();
    fake.own_folder = true;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    expect_bundle(".given.part", "job1.zip", 3 + 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(a_zip_is_named_no_longer_than_a_name_may_be, reset_all, NULL)
{
    char *path = counting_csv("long.csv", 3, 3), stem[NAME_MAX + 1] = "", zip[NAME_MAX + 1] = "";
    const struct settings settings = bundling();
    memset(stem, 'n', NAME_MAX);
    memset(zip, 'n', NAME_MAX - strlen("….zip"));
    strcat(zip, "….zip");
    fake.own_folder = true;
    fake.stem = stem;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    expect_bundle(".given.part", zip, 3 + 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(a_file_that_grew_is_in_the_zip, reset_all, NULL)
{
    char *path = counting_csv("growing.csv", 60000, 7);
    const struct settings settings = bundling();
    fake.grows = true;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    expect_bundle("job1", "job1.zip", 1 + 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(a_zip_that_cannot_be_written_fails_its_job_and_leaves_nothing, reset_all, NULL)
{
    char *path = counting_csv("full.csv", 3, 3);
    const struct settings settings = bundling();
    copying.error = ENOSPC;
    const struct outcome o = run_jobs(path, 3, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_NO_SPACE);
    assert_non_null(strstr(o.message, "part0 into job"));
    assert_int_equal(entries_of_output(), 0);
    remove_output();
    free(path);
}

static void cancel_what_copies(struct running *r)
{
    if (copying.n_calls > 0 && !atomic_load(&copying.has_been_cancelled)) {
        assert_int_equal(r->engine.n_jobs, 1);
        job_cancel(job_in_flight(&r->engine, 0), STATUS_CANCELLED, "on purpose");
        atomic_store(&copying.has_been_cancelled, true);
    }
}

TEST_BETWEEN(a_job_that_is_cancelled_while_its_zip_is_made_leaves_nothing, reset_all, NULL)
{
    char *path = counting_csv("cancelled.csv", 3, 3);
    const struct settings settings = bundling();
    copying.waits = true;
    fake.look = cancel_what_copies;
    const struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_CANCELLED);
    assert_string_equal(o.message, "on purpose");
    assert_int_equal(copying.n_calls, 1);
    assert_int_equal(entries_of_output(), 0);
    remove_output();
    free(path);
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
