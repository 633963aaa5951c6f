/*
 * inbox_given - the files in in/, as the watcher finds them and looks see them, without a disk.
 */
#ifndef LEAT_TESTS_INBOX_GIVEN_H
#define LEAT_TESTS_INBOX_GIVEN_H

#include "pipeline/service/service_inbox.h"
#include "tests/support/settings_given.h"

static struct settings settings;
static struct service_inbox *inbox;
static uint64_t now = 1000, found_ms;
static time_t written_s; /* the files' mtime */

static inline void close_inbox(void)
{
    service_inbox_free(inbox);
    settings_free(&settings);
    inbox = NULL;
    settings = (struct settings){0};
}

/* Grids wait for no .prj, unless the options say for how long. A test begins without options. */
static inline void open_inbox(const char *options)
{
    char line[256];
    close_inbox();
    snprintf(line, sizeof(line), "watch --spool /nowhere --settle 0 %s", options);
    settings = must_parse(line);
    inbox = service_inbox_new(&settings);
}

/* The watcher has found these, NULL at the end; `complete`: and nothing else. */
static inline void found(bool complete, const char *const paths[])
{
    struct watcher_file files[8];
    struct watcher_findings findings = {.files = files, .complete = complete};
    for (; paths[findings.n_files] != NULL; findings.n_files++) {
        const char *path = paths[findings.n_files];
        files[findings.n_files] =
            (struct watcher_file){.path = strdup(path),
                                  .seen = {.inode = strlen(path),
                                           .mtime_ns = written_s * INT64_C(1000000000),
                                           .ctime_ns = (int64_t)now * 1000000}};
    }
    service_inbox_found(inbox, &findings, now);
    for (size_t i = 0; i < findings.n_files; i++) {
        free(files[i].path);
    }
}

#define FOUND(...)        found(false, (const char *const[]){__VA_ARGS__, NULL})
#define ALL_THERE_IS(...) found(true, (const char *const[]){__VA_ARGS__, NULL})

/* Everything that is due is looked at; all have the same answer. */
static inline size_t look(enum ready_state state, const char *reason)
{
    struct service_look looks[8];
    size_t n = service_inbox_due(inbox, now, looks, 8);
    for (size_t i = 0; i < n; i++) {
        looks[i].answer =
            (struct ready_answer){.state = state,
                                  .again_ms = 500,
                                  .seen = {.inode = strlen(looks[i].path),
                                           .mtime_ns = written_s * INT64_C(1000000000),
                                           .ctime_ns = (int64_t)now * 1000000}};
        snprintf(looks[i].answer.reason, sizeof(looks[i].answer.reason), "%s", reason);
    }
    service_inbox_looked(inbox, looks, n, now);
    return n;
}

/* The watcher has found these, and they are complete. */
#define COMPLETE(...) (FOUND(__VA_ARGS__), (void)look(READY_YES, ""))

/* The reason why a path waits; "" when it does not. Valid until the next call. */
static inline const char *reason(const char *path)
{
    static char text[512];
    json_t *list = json_array(), *entry;
    size_t i;
    text[0] = '\0';
    service_inbox_list(inbox, 0, 100, list);
    json_array_foreach(list, i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "path")), path) == 0) {
            snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(entry, "reason")));
        }
    }
    json_decref(list);
    return text;
}

static inline void assert_waits(const char *path, const char *why)
{
    if (strstr(reason(path), why) == NULL) {
        fail_msg("'%s' waits because it '%s', not '%s'", path, reason(path), why);
    }
}

/* The next ready job has exactly these files; claimed or not. */
static inline void take(const char *folder, const char *stem, const char *names, bool claimed)
{
    char all[256] = "";
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_string_equal(job->folder, folder);
    assert_string_equal(job->stem, stem);
    for (size_t i = 0; i < job->n_files; i++) {
        strcat(strcat(all, i > 0 ? " " : ""), job->files[i].name);
    }
    assert_string_equal(all, names);
    if (claimed) {
        strcpy(job->id, "20261121-030441-123456");
    }
    job->outcome = claimed ? SPOOL_OK : SPOOL_GONE;
    service_inbox_settle(inbox, job, now);
    spool_job_free(job);
}

static inline int set_up(void **state)
{
    (void)state;
    open_inbox("");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    close_inbox();
    return 0;
}

#define INBOX_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

#endif
