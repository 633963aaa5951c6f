/*
 * spool_fixture - a spool for a test, in a folder that goes away: put files into it, walk jobs
 * through its steps, look where they lie.
 */
#ifndef LEAT_TESTS_SPOOL_FIXTURE_H
#define LEAT_TESTS_SPOOL_FIXTURE_H

#include "tests/support/patience.h"
#include "tests/support/spool_fault.h"
#include "tests/support/spool_support.h"
#include "tests/support/unit.h"
#include "watch/spool/spool.h"

#include <stddef.h>
#include <stdint.h>

#define OWNER "0123abcd" /* of its parts */

static char root[28];
static int root_fd;
static struct spool *s;
static struct spool_options options;

static inline int set_up_in(const char *folder)
{
    snprintf(root, sizeof(root), "%s/leat-spool-XXXXXX", folder);
    options = (struct spool_options){.root = root, .max_attempts = 3};
    spool_fault_clear();
    s = NULL;
    if (mkdtemp(root) == NULL || (root_fd = open(root, O_RDONLY | O_DIRECTORY)) < 0) {
        return 1;
    }
    return put_file(root_fd, ".work/lock", OWNER "\n") && spool_open(&options, &s) == STATUS_OK ? 0
                                                                                                : 1;
}

/* For thousands of files, which a disk takes seconds to make and to remove. */
static inline int set_up_in_memory(void **state)
{
    (void)state;
    return set_up_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

/* On a disk, but where a sanitizer watches, as in lib.sh of the scenarios. */
static inline int set_up(void **state)
{
    return patience() > 1 ? set_up_in_memory(state) : set_up_in("/tmp");
}

static inline int tear_down(void **state)
{
    (void)state;
    char command[128];
    spool_fault_clear();
    spool_close(s);
    close(root_fd);
    snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", root, root);
    return system(command);
}

#define SPOOL_TEST(name)           TEST_BETWEEN(name, set_up, tear_down)
#define SPOOL_TEST_IN_MEMORY(name) TEST_BETWEEN(name, set_up_in_memory, tear_down)

/* As after a restart. */
static inline void recover(struct spool_recovery *r)
{
    spool_close(s);
    if (spool_open(&options, &s) != STATUS_OK || spool_recover(s, r) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static inline void put(const char *path, const char *text)
{
    assert_true(put_file(root_fd, path, text));
}

static inline void holds(const char *path, const char *text)
{
    const char *found = text_of(root_fd, path);
    if (found == NULL) {
        fail_msg("%s is not there", path);
    }
    assert_string_equal(found, text);
}

static inline void is_empty(const char *path)
{
    assert_int_equal(count_entries(root_fd, path), 0);
}

static inline void nothing_but_the_lock_is_left(void)
{
    assert_int_equal(count_entries(root_fd, ".work"), 1);
}

static inline void nothing_is_left_over(void)
{
    nothing_but_the_lock_is_left();
    is_empty("in");
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Of one file, or (b not NULL) of two. */
static inline struct spool_job *new_job(const char *folder, const char *stem, const char *a,
                                        const char *b)
{
    const char *const names[] = {a, b};
    struct spool_job *job;
    assert_int_equal(spool_job_new(folder, stem, names, b != NULL ? 2 : 1, NULL, &job), STATUS_OK);
    return job;
}

static inline void expect(const struct spool_job *job, enum spool_outcome outcome,
                          enum spool_state state)
{
    if (job->outcome != outcome || job->state != state) {
        fail_msg("outcome %d, state %d: %s", (int)job->outcome, (int)job->state,
                 job->message != NULL ? job->message : "");
    }
}

/* From claimed and verified to the worker's end. */
static inline void attempt(struct spool_job *job)
{
    expect(job, SPOOL_OK, SPOOL_QUEUED);
    spool_attempt(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_WORKING);
    assert_true(make_result(s, job));
}

/* From claimed and verified to archived. */
static inline void work_on(struct spool_job *job)
{
    attempt(job);
    spool_finish(s, &job, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
}

/* The job "a" of in/FOLDER/a.csv, which holds "1", up to the worker's end. */
static inline struct spool_job *new_worked_job(const char *folder)
{
    char path[128];
    snprintf(path, sizeof(path), "in/%s/a.csv", folder);
    put(path, "1");
    struct spool_job *job = new_job(folder, "a", "a.csv", NULL);
    spool_claim(s, &job, 1);
    attempt(job);
    return job;
}

static inline void run_job(const char *folder, const char *stem, const char *name)
{
    struct spool_job *job = new_job(folder, stem, name, NULL);
    spool_claim(s, &job, 1);
    work_on(job);
    spool_job_free(job);
}

static inline void fail_job(struct spool_job *job, const char *kind, const char *text)
{
    const struct spool_reason reason = {kind, text};
    spool_fail(s, &job, &reason, 1);
    expect(job, SPOOL_OK, SPOOL_ENDED);
}

/* failed/NAME, taken up again. */
static inline struct spool_job *retry(const char *name)
{
    struct spool_job *job;
    if (spool_retry(s, name, &job) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    assert_int_equal(job->state, SPOOL_UNVERIFIED);
    return job;
}

static inline enum status refused_retry(const char *name)
{
    struct spool_job *job;
    const enum status code = spool_retry(s, name, &job);
    assert_null(job);
    return code;
}

#endif
