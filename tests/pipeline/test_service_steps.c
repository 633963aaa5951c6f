/*
 * The service's steps: what becomes of files in in/ around a claim that did not succeed at once.
 * Nobody looks through the folder again by himself: what is not noticed waits for ever.
 * ctest: wrap=renameat2
 */
#include "tests/support/patience.h"
#include "tests/support/service_given.h"
#include "tests/support/spool_support.h"
#include "watch/arrival/watcher_state.h"

#include <errno.h>

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

static char root[32];
static int root_fd;
static int rename_error;       /* of every rename; 0: they succeed */
static const char *drop_after; /* dropped behind the next rename; NULL: nothing is */

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (rename_error != 0) {
        errno = rename_error;
        return -1;
    }
    const int result = __real_renameat2(from_fd, from, to_fd, to, flags);
    if (drop_after != NULL && put_file(root_fd, drop_after, "new")) {
        drop_after = NULL;
    }
    return result;
}

static int set_up(void **state)
{
    (void)state;
    char line[128];
    struct service *s = &service;
    rename_error = 0;
    drop_after = NULL;
    strcpy(root, "/tmp/leat-steps-XXXXXX");
    if (mkdtemp(root) == NULL || (root_fd = open(root, O_RDONLY | O_DIRECTORY)) < 0) {
        return 1;
    }
    snprintf(line, sizeof(line), "watch --spool %s --rescan 0 --settle 5e6", root);
    begin_service(line);
    s->gate.look_ms = UINT64_MAX;
    const struct spool_options options = {.root = root, .max_attempts = 3};
    return uv_loop_init(&s->loop) == 0 && spool_open(&options, &s->spool) == STATUS_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    struct service *s = &service;
    watcher_close(s->watcher, NULL, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    end_service();
    spool_close(s->spool);
    close(root_fd);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return uv_loop_close(&s->loop) == 0 ? system(command) : 1;
}

#define STEP_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void finish(void)
{
    while (service.step != NULL || service.readiness != NULL) {
        uv_run(&service.loop, UV_RUN_ONCE);
    }
}

/* The watcher tells of a path. */
static void tell(const char *path)
{
    char in[64];
    struct stat st = {0};
    struct watcher_file file = {.path = strdup(path)};
    struct watcher_findings findings = {.files = &file, .n_files = 1};
    snprintf(in, sizeof(in), "in/%s", path);
    (void)fstatat(root_fd, in, &st, AT_SYMLINK_NOFOLLOW);
    file.seen = ready_seen_of(&st);
    service_inbox_found(service.inbox, &findings, service_now(&service));
    free(file.path);
}

static void drop(const char *path)
{
    char in[64];
    snprintf(in, sizeof(in), "in/%s", path);
    assert_true(put_file(root_fd, in, "old"));
    tell(path);
}

static void look(void)
{
    readiness_batch_start(&service);
    finish();
}

/* Claims what is ready, which fails half way: recorded, and nothing taken. */
static void claim_in_vain(void)
{
    look();
    rename_error = EIO;
    service_step(&service);
    finish();
    rename_error = 0;
    struct service_job *job = TAILQ_FIRST(&service.lists[WAIT_CLAIM]);
    assert_non_null(job);
    assert_int_not_equal(job->spool->id[0], '\0');
    assert_int_equal(job->spool->outcome, SPOOL_TRANSIENT);
    assert_int_equal(service_inbox_count(service.inbox), 0);
    job->again_ms = 0;
}

STEP_TEST(claim_that_is_repeated_forgets_no_new_drop_of_its_name)
{
    drop("a.clusters.csv");
    claim_in_vain();
    drop_after = "in/a.clusters.csv";
    service_step(&service);
    for (const char *text = NULL; text == NULL || strcmp(text, "new") != 0;) {
        text = text_of(root_fd, "in/a.clusters.csv");
    }
    tell("a.clusters.csv"); /* before the loop is told that the step has ended */
    finish();
    assert_int_equal(service.n_listed[WAIT_CLAIM], 0);
    assert_string_equal(text_of(root_fd, "in/a.clusters.csv"), "new");
    assert_int_equal(service_inbox_count(service.inbox), 1);
    look();
    service_step(&service);
    finish();
    assert_int_equal(count_entries(root_fd, "in"), 0);
    assert_int_equal(service_inbox_count(service.inbox), 0);
}

static bool is_found;

static void on_found(void *user, struct watcher_findings *findings)
{
    (void)user;
    for (size_t i = 0; i < findings->n_files; i++) {
        is_found = is_found || strcmp(findings->files[i].path, "x.source.tif") == 0;
    }
}

static void on_trouble(void *user, const char *why, size_t n)
{
    (void)user;
    (void)n;
    fail_msg("%s", why);
}

static void on_late(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nobody looks for x.source.tif");
}

STEP_TEST(part_that_a_repeated_claim_leaves_is_looked_for)
{
    static uv_timer_t guard; /* closed by tear_down's turn of the loop */
    const struct watcher_options options = {.path = root,
                                            .folder_fd = spool_in_fd(service.spool),
                                            .poll_ms = 60000,
                                            .found = on_found,
                                            .trouble = on_trouble};
    drop("x.dem.tif");
    drop("x.source.tif");
    claim_in_vain();
    assert_int_equal(uv_timer_init(&service.loop, &guard), 0);
    uv_timer_start(&guard, on_late, UINT64_C(1000) * WAIT_S, 0);
    assert_int_equal(watcher_open(&service.loop, &options, &service.watcher), STATUS_OK);
    while (service.watcher->n_scans == 0) {
        uv_run(&service.loop, UV_RUN_ONCE);
    }
    assert_int_equal(unlinkat(root_fd, "in/x.dem.tif", 0), 0);
    is_found = false;
    service_step(&service);
    finish();
    assert_int_equal(service.n_listed[WAIT_CLAIM], 0);
    while (!is_found) {
        uv_run(&service.loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&guard, NULL);
}

/* It lies in in/ as before, of a job that goes on without it. */
STEP_TEST(what_came_late_and_cannot_be_moved_is_not_forgotten)
{
    static const char *const names[] = {"x.dem.asc"};
    struct spool_job *spool;
    struct stat st;
    assert_true(put_file(root_fd, "in/x.dem.asc", "old"));
    assert_int_equal(spool_job_new("", "x", names, 1, NULL, &spool), STATUS_OK);
    spool_claim(service.spool, &spool, 1);
    drop("x.dem.prj");
    struct service_job *const job = service_job_new(spool);
    assert_int_equal(fstatat(root_fd, "in/x.dem.prj", &st, 0), 0);
    spool_add_late(spool, "x.dem.prj", st.st_ino);
    service_inbox_take_late(service.inbox, "x.dem.prj", job);
    service_job_list(&service, job, WAIT_VERIFY);
    rename_error = EPERM;
    service_step(&service);
    finish();
    assert_int_equal(service.n_listed[WAIT_ATTEMPT], 1);
    assert_int_equal(spool->n_files, 1);
    assert_int_equal(service_inbox_count(service.inbox), 1);
}

/* 5e6 s are more milliseconds than 32 bits hold. */
STEP_TEST(settle_of_months_is_not_cut)
{
    json_t *list = json_array();
    assert_true(put_file(root_fd, "in/a.clusters.csv", "")); /* it could yet be filled */
    tell("a.clusters.csv");
    look();
    service_inbox_list(service.inbox, 0, 1, list);
    const char *why = json_string_value(json_object_get(json_array_get(list, 0), "reason"));
    assert_non_null(why);
    assert_string_equal(why, "is empty; must stand still for 5e+06 s");
    json_decref(list);
    const uint64_t due = service_inbox_next_due(service.inbox);
    assert_true(due > 4999000000 && due != UINT64_MAX);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
