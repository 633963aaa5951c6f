/*
 * spool_record - the two small JSON files in .work/ID: job, which is the job's record, and
 * reason.json.
 *
 * They are written by leat alone and yet never trusted: names are single components, numbers are
 * numbers, and whatever else is found is not a record. A name is bytes, JSON is UTF-8: a name that
 * is not UTF-8, or holds a '%', is percent-encoded. The text of a reason is for people: only
 * bytes that are not UTF-8 stand so there, and it is never read back.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/json.h"
#include "formats/base/percent.h"
#include "formats/base/utf8.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* leat 0.1.0 writes records of schema 1, with the commit in a file of its own. */
enum { SCHEMA_REASON = 1, SCHEMA = 2, RECORD_BYTES_MAX = 16 << 20, DUMP_FLAGS = JSON_INDENT(1) };

/* A string of a text for free(), which is UTF-8. */
static json_t *string_of(char *text)
{
    json_t *const string = xalloc_checked(json_string(xalloc_checked(text)));
    free(text);
    return string;
}

static json_t *encode(const char *name)
{
    json_t *text = json_string(name); /* NULL: it is not UTF-8 */
    if (text != NULL && strchr(name, '%') == NULL) {
        return text;
    }
    json_decref(text);
    return string_of(percent_encode(name));
}

/* As it stands, but for bytes that are not UTF-8. */
static json_t *encode_text(const char *text)
{
    char *escaped = xcalloc(strlen(text) + 1, 3);
    char *end = escaped;
    for (const char *c = text; *c != '\0';) {
        uint32_t point;
        const size_t n = utf8_decode(c, strnlen(c, 4), &point);
        if (point == UTF8_WRONG) {
            end += sprintf(end, "%%%02X", (unsigned char)*c++);
        } else {
            memcpy(end, c, n);
            end += n;
            c += n;
        }
    }
    return string_of(escaped);
}

/* STATUS_BAD_INPUT: no text, or not one of encode(). */
static enum status decode(const json_t *text, char **out)
{
    *out = NULL;
    return json_is_string(text) ? xalloc_status(percent_decode(json_string_value(text), out))
                                : status_fail(STATUS_BAD_INPUT, "a name is missing");
}

/* The text of an object, which is given away. */
static char *dump(json_t *object)
{
    char *text = xalloc_checked(json_dumps(xalloc_checked(object), DUMP_FLAGS));
    json_decref(object);
    return text;
}

static json_t *pack_files(const struct spool_job *job)
{
    json_t *list = xalloc_checked(json_array());
    for (size_t i = 0; i < job->n_files; i++) {
        const struct spool_file *f = &job->files[i];
        json_t *entry = json_pack("{s:o, s:I, s:I, s:I}", "name", encode(f->name), "inode",
                                  (json_int_t)f->inode, "bytes", (json_int_t)f->size, "mtime_ns",
                                  (json_int_t)f->mtime_ns);
        if (json_array_append_new(list, entry) != 0) { /* NULL is refused */
            xalloc_end();
        }
    }
    return list;
}

char *spool_record_job(const struct spool_job *job)
{
    json_t *const commit = job->is_committed
                               ? json_pack("{s:o, s:s, s:I, s:b}", "final", encode(job->published),
                                           "owner", job->owner, "part_inode",
                                           (json_int_t)job->part_inode, "replace", job->replace)
                               : NULL;
    return dump(json_pack("{s:i, s:s, s:o, s:o, s:o, s:O, s:i, s:I, s:b, s:o*}", "schema", SCHEMA,
                          "id", job->id, "folder", encode(job->folder), "stem", encode(job->stem),
                          "inputs", pack_files(job), "parameters", job->parameters, "attempts",
                          (int)job->n_attempts, "state_ns", (json_int_t)job->state_ns, "held",
                          job->held, "commit", commit));
}

char *spool_record_reason(const struct spool_job *job, const struct spool_reason *reason)
{
    char text[32];
    struct tm t;
    time_t now = time(NULL);
    gmtime_r(&now, &t);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t);
    return dump(json_pack("{s:i, s:s, s:s, s:o, s:s, s:i, s:o, s:o, s:O}", "schema", SCHEMA_REASON,
                          "id", job->id, "kind", reason->kind, "reason", encode_text(reason->text),
                          "time", text, "attempts", (int)job->n_attempts, "folder",
                          encode(job->folder), "inputs", pack_files(job), "parameters",
                          job->parameters));
}

/* The object in a small regular file. */
static enum status read_object(int job_fd, const char *name, json_t **out)
{
    struct stat st;
    json_t *object;
    int fd;
    *out = NULL;
    enum status code = beneath_open_file(job_fd, name, &st, &fd);
    if (code != STATUS_OK) {
        return code == STATUS_UNSUPPORTED ? STATUS_BAD_INPUT : code;
    }
    code = xalloc_status(json_read_fd(fd, RECORD_BYTES_MAX, &object));
    close(fd);
    if (code != STATUS_OK) {
        return code;
    }
    const json_int_t schema = json_integer_value(json_object_get(object, "schema"));
    if (schema < 1 || schema > SCHEMA) {
        json_decref(object);
        return status_fail(STATUS_BAD_INPUT, "'%s' is not a record of this version of leat", name);
    }
    *out = object;
    return STATUS_OK;
}

static enum status read_files(struct spool_job *job, const json_t *list)
{
    for (size_t i = 0; i < job->n_files; i++) {
        const json_t *entry = json_array_get(list, i);
        const json_t *inode = json_object_get(entry, "inode");
        const json_t *bytes = json_object_get(entry, "bytes");
        const json_t *mtime = json_object_get(entry, "mtime_ns");
        struct spool_file *file = &job->files[i];
        *file =
            (struct spool_file){NULL, (uint64_t)json_integer_value(inode),
                                (uint64_t)json_integer_value(bytes), json_integer_value(mtime), 0};
        STATUS_TRY(decode(json_object_get(entry, "name"), &file->name));
        if (!beneath_is_name(file->name) || !json_is_integer(inode) || !json_is_integer(bytes) ||
            !json_is_integer(mtime)) {
            return status_fail(STATUS_BAD_INPUT, "an input of 'job' is not as leat writes it");
        }
    }
    return job->n_files > 0 ? STATUS_OK : status_fail(STATUS_BAD_INPUT, "'job' names no input");
}

static enum status take_commit(struct spool_job *job, const json_t *object)
{
    const json_t *inode = json_object_get(object, "part_inode");
    const char *owner = json_string_value(json_object_get(object, "owner"));
    STATUS_TRY(decode(json_object_get(object, "final"), &job->published));
    snprintf(job->owner, sizeof(job->owner), "%s", owner != NULL ? owner : "");
    job->part_inode = (uint64_t)json_integer_value(inode);
    job->replace = json_is_true(json_object_get(object, "replace"));
    job->is_committed = true;
    return beneath_is_path(job->published) && *job->published != '\0' && json_is_integer(inode) &&
                   (owner == NULL || spool_is_owner(owner))
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "the commit in 'job' is not as leat writes it");
}

static enum status take_job(struct spool_job *job, const char *id, const json_t *object)
{
    const char *own_id = json_string_value(json_object_get(object, "id"));
    const json_t *inputs = json_object_get(object, "inputs");
    json_t *parameters = json_object_get(object, "parameters");
    const json_int_t attempts = json_integer_value(json_object_get(object, "attempts"));
    snprintf(job->id, sizeof(job->id), "%s", id);
    job->n_attempts = attempts > 0 && attempts < INT_MAX ? (unsigned)attempts : 0;
    job->state_ns = json_integer_value(json_object_get(object, "state_ns"));
    job->held = json_is_true(json_object_get(object, "held"));
    job->parameters = json_is_object(parameters) ? json_incref(parameters) : NULL;
    job->files = xcalloc(json_array_size(inputs), sizeof(*job->files));
    job->n_files = json_array_size(inputs);
    STATUS_TRY(decode(json_object_get(object, "folder"), &job->folder));
    STATUS_TRY(decode(json_object_get(object, "stem"), &job->stem));
    STATUS_TRY(read_files(job, inputs));
    return own_id != NULL && strcmp(own_id, id) == 0 && beneath_is_path(job->folder) &&
                   beneath_is_name(job->stem) && job->parameters != NULL
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "'job' is not a record of leat");
}

/* The commit that the record holds, or what has been beside it since leat 0.1.0. */
static enum status read_commit(int job_fd, struct spool_job *job, const json_t *object)
{
    json_t *commit = json_incref(json_object_get(object, "commit"));
    enum status code = STATUS_OK;
    if (json_integer_value(json_object_get(object, "schema")) < SCHEMA) {
        code = read_object(job_fd, "commit", &commit);
    }
    if (code == STATUS_OK && commit != NULL) {
        code = take_commit(job, commit);
    }
    json_decref(commit);
    return code == STATUS_NOT_FOUND ? STATUS_OK : code;
}

enum status spool_read_job(int job_fd, const char *id, struct spool_job **out)
{
    json_t *object;
    *out = NULL;
    STATUS_TRY(read_object(job_fd, "job", &object));
    struct spool_job *job = xcalloc(1, sizeof(*job));
    enum status code = take_job(job, id, object);
    code = code == STATUS_OK ? read_commit(job_fd, job, object) : code;
    json_decref(object);
    if (code != STATUS_OK) {
        spool_job_free(job);
        return code;
    }
    *out = job;
    return STATUS_OK;
}

bool spool_has_reason(int work_fd, const char *id)
{
    json_t *object;
    bool whole = read_object(work_fd, spool_path(id, "reason.json").text, &object) == STATUS_OK &&
                 json_is_string(json_object_get(object, "reason"));
    json_decref(object);
    return whole;
}

char *spool_read_reason(int work_fd, const char *id)
{
    json_t *object;
    const enum status code = read_object(work_fd, spool_path(id, "reason.json").text, &object);
    return code == STATUS_OK ? dump(object) : NULL;
}

struct spool_job *spool_job_make(const char *id, const char *folder, const char *stem,
                                 const char *const names[], size_t n_names, json_t *parameters)
{
    struct spool_job *job = xcalloc(1, sizeof(*job));
    snprintf(job->id, sizeof(job->id), "%s", id);
    job->folder = xstrdup(folder);
    job->stem = xstrdup(stem);
    job->files = xcalloc(n_names, sizeof(*job->files));
    job->n_files = n_names;
    job->parameters = parameters != NULL ? json_incref(parameters) : xalloc_checked(json_object());
    for (size_t i = 0; i < n_names; i++) {
        job->files[i].name = xstrdup(names[i]);
    }
    return job;
}

enum status spool_job_new(const char *folder, const char *stem, const char *const names[],
                          size_t n_names, json_t *parameters, struct spool_job **out)
{
    *out = NULL;
    bool good = n_names > 0 && beneath_is_path(folder) && beneath_is_name(stem) && stem[0] != '.';
    for (size_t i = 0; i < n_names; i++) {
        good = good && beneath_is_name(names[i]);
    }
    if (!good) {
        return status_fail(STATUS_BAD_ARGUMENT, "'%s' in '%s' cannot be a job's name", stem,
                           folder);
    }
    *out = spool_job_make("", folder, stem, names, n_names, parameters);
    return STATUS_OK;
}

void spool_job_free(struct spool_job *job)
{
    if (job == NULL) {
        return;
    }
    for (size_t i = 0; i < job->n_files; i++) {
        free(job->files[i].name);
    }
    spool_forget_late(job);
    free(job->files);
    free(job->folder);
    free(job->stem);
    free(job->published);
    free(job->message);
    free(job->reason);
    json_decref(job->parameters);
    json_decref(job->outputs);
    free(job);
}
