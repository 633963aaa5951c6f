/*
 * failed_jobs - see failed_jobs.h.
 */
#include "pipeline/status/failed_jobs.h"

#include "formats/base/json.h"
#include "formats/base/percent.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_routes.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* leat writes no longer reason.json. */
enum { LONGEST_REASON = 1 << 20 };

/* What a record has as %XX, as JSON that may be shown. */
static json_t *plain(const char *text)
{
    char *bytes;
    const enum status status = xalloc_status(percent_decode(text, &bytes));
    json_t *const shown = text_json(status == STATUS_OK ? bytes : text);
    free(bytes);
    return shown;
}

static const char *text_of(const json_t *record, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text != NULL ? text : otherwise;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A name in ID/in, where no record has one. */
static json_t *name_in(int failed_fd, const char *id)
{
    char path[300];
    struct dirent **entries = NULL;
    json_t *shown = NULL;
    snprintf(path, sizeof(path), "%s/in", id);
    int fd = beneath_open(failed_fd, path, O_RDONLY | O_DIRECTORY);
    int n = fd >= 0 ? scandirat(fd, ".", &entries, is_shown, alphasort) : 0;
    shown = n > 0 ? text_json(entries[0]->d_name) : json_string("(no input)");
    for (int i = 0; i < n; i++) {
        free(entries[i]);
    }
    free(entries);
    beneath_close(fd);
    return shown;
}

/* in/FOLDER/NAME of the first input. */
static json_t *name_of(int failed_fd, const char *id, const json_t *record)
{
    const char *folder = text_of(record, "folder", "");
    const char *name = text_of(json_array_get(json_object_get(record, "inputs"), 0), "name", NULL);
    if (name == NULL) {
        return name_in(failed_fd, id);
    }
    char *const path = xasprintf("in/%s%s%s", folder, *folder != '\0' ? "/" : "", name);
    json_t *shown = plain(path);
    free(path);
    return shown;
}

/* The object in ID/NAME. */
static enum status read_record(int failed_fd, const char *id, const char *name, json_t **out)
{
    char path[300];
    struct stat st;
    int fd;
    *out = NULL;
    snprintf(path, sizeof(path), "%s/%s", id, name);
    STATUS_TRY(beneath_open_file(failed_fd, path, &st, &fd));
    const enum status status = json_read_fd(fd, LONGEST_REASON, out);
    close(fd);
    return status;
}

/* Without a reason, what it is about is in the job's record, which has the same keys for that. */
static json_t *describe(int failed_fd, const char *id)
{
    json_t *record;
    const enum status status = read_record(failed_fd, id, "reason.json", &record);
    char *const otherwise = status == STATUS_NOT_FOUND
                                ? xstrdup("there is no reason.json")
                                : xasprintf("reason.json: %s", status_message());
    if (status != STATUS_OK) {
        (void)!read_record(failed_fd, id, "job", &record);
    }
    const char *const pipeline = worker_pipeline_of(json_object_get(record, "parameters"));
    json_t *const described = json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:I}", "id", text_json(id),
                                        "name", name_of(failed_fd, id, record), "pipeline",
                                        pipeline != NULL ? pipeline : "archive", "ended",
                                        plain(text_of(record, "time", "")), "kind",
                                        plain(text_of(record, "kind", "unknown")), "text",
                                        text_json(text_of(record, "reason", otherwise)), "attempts",
                                        json_integer_value(json_object_get(record, "attempts")));
    free(otherwise);
    json_decref(record);
    return described;
}

/* Ids begin with the time: the newest first. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

enum status failed_jobs_list(const char *spool, size_t most, json_t **out, size_t *n_all)
{
    struct dirent **entries = NULL;
    int n = -1;
    *out = NULL;
    *n_all = 0;
    int root_fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed_fd =
        root_fd >= 0 ? openat(root_fd, "failed", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (failed_fd >= 0) {
        n = scandirat(failed_fd, ".", &entries, is_shown, by_name);
    }
    const enum status status =
        n >= 0 ? STATUS_OK
        : errno == ENOENT
            ? status_fail(STATUS_NOT_FOUND,
                          "no service has watched '%s' yet; name the watched folder with --spool",
                          spool)
            : status_fail_errno(errno, "'%s/failed': cannot be listed", spool);
    if (n >= 0) {
        *out = json_array();
        *n_all = (size_t)n;
    }
    for (int i = 0; i < n; i++) {
        if ((size_t)i < most) {
            json_array_append_new(*out, describe(failed_fd, entries[i]->d_name));
        }
        free(entries[i]);
    }
    free(entries);
    beneath_close(failed_fd);
    beneath_close(root_fd);
    return status;
}

bool failed_jobs_has(const char *spool, const char *id)
{
    char path[PATH_MAX];
    struct stat st;
    const int n = snprintf(path, sizeof(path), "%s/failed/%s", spool, id);
    return strchr(id, '/') == NULL && *id != '.' && n > 0 && n < PATH_MAX &&
           (stat(path, &st) == 0 || errno == EACCES);
}
