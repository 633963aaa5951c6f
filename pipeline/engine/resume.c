/*
 * resume - is the result that is there the one that this job would make? It is when its result.json
 * names the same version, pipeline, parameters as asked for and inputs, when its files are in one
 * zip or not as they are asked for, and have the lengths that result.json tells: after a power cut
 * they may not. An input is the same when its name, length, time of modification and inode are;
 * when only these two differ (or are not known, as of members of archives), its checksum decides.
 */
#include "pipeline/engine/resume.h"

#include "formats/base/json.h"
#include "pipeline/engine/manifest.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MAX_BYTES = 64 << 20 };

/* The earlier result, and what is found out about it. */
struct earlier {
    const struct job_input *input;
    const struct settings *settings;
    int fd;           /* its folder */
    json_t *manifest; /* NULL: there is none */
    char differs[96]; /* what makes it another job's; "": nothing */
};

/* --- the manifest ----------------------------------------------------------------------------- */

static enum status read_manifest(struct earlier *e)
{
    int fd = openat(e->fd, "result.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return STATUS_OK;
    }
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open the earlier result.json of '%s'",
                                 job_settings_result(&e->input->settings));
    }
    enum status code = json_read_fd(fd, MANIFEST_MAX_BYTES, &e->manifest);
    if (code == STATUS_BAD_INPUT) {
        snprintf(e->differs, sizeof(e->differs),
                 "its result.json is not whole, as after a power cut");
        code = STATUS_OK;
    }
    close(fd);
    return code;
}

/* --- what was asked for ----------------------------------------------------------------------- */

static bool is_text(const json_t *object, const char *key, const char *text)
{
    const char *there = json_string_value(json_object_get(object, key));
    return there != NULL && strcmp(there, text) == 0;
}

/* Whether a key is recorded that was not asked for now. */
static const char *find_unasked(const json_t *manifest, const json_t *asked)
{
    static const char *const places[] = {"requested", "reader"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(manifest, places[i]), key, value)
        {
            if (json_object_get(asked, key) == NULL) {
                return key;
            }
        }
    }
    return NULL;
}

static void compare_request(struct earlier *e)
{
    json_t *asked = manifest_asked(&e->input->settings), *value;
    const char *key, *other = find_unasked(e->manifest, asked), *how = "with another";
    if (!is_text(e->manifest, "leat", LEAT_VERSION)) {
        snprintf(e->differs, sizeof(e->differs), "another version of leat made it");
    } else if (!is_text(e->manifest, "pipeline", e->input->settings.stage->name)) {
        snprintf(e->differs, sizeof(e->differs), "another pipeline made it");
    } else {
        json_object_foreach(asked, key, value)
        {
            const json_t *recorded = manifest_recorded(e->manifest, key);
            if (recorded == NULL || !json_equal(recorded, value)) {
                other = key;
                how = recorded == NULL ? "without" : "with another";
            }
        }
        const bool is_bundled = manifest_is_bundled(e->manifest);
        if (other != NULL) {
            snprintf(e->differs, sizeof(e->differs), "it was made %s %s", how, other);
        } else if (is_bundled != e->settings->bundle) {
            snprintf(e->differs, sizeof(e->differs), "it was made %s --bundle",
                     is_bundled ? "with" : "without");
        }
    }
    json_decref(asked);
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* Whether the object has that value, whose reference is taken over. */
static bool has(const json_t *object, const char *key, json_t *value)
{
    const bool same = json_equal(json_object_get(object, key), xalloc_checked(value));
    json_decref(value);
    return same;
}

static bool same_prj(const json_t *there, const char *prj)
{
    return prj == NULL ? json_object_get(there, "prj_crc32") == NULL
                       : has(there, "prj_crc32", manifest_prj_crc(prj));
}

static enum status same_content(const json_t *there, const struct job_part *part,
                                struct source *source, bool *same)
{
    uint32_t crc;
    *same = has(there, "bytes", json_integer((json_int_t)source_file_bytes(source)));
    const bool is_untouched = *same && part->fd < 0 &&
                              has(there, "inode", json_integer((json_int_t)source_inode(source))) &&
                              has(there, "modified", manifest_time(source_modified(source)));
    if (*same && !is_untouched) {
        STATUS_TRY(source_crc(source, &crc));
        *same = has(there, "crc32", manifest_crc(crc));
    }
    return STATUS_OK;
}

static enum status compare_input(struct earlier *e, size_t i)
{
    const struct job_part *part = &e->input->parts[i];
    const json_t *there = json_array_get(json_object_get(e->manifest, "inputs"), i);
    const char *name = job_part_name(part);
    bool same = has(there, "name", text_json(name)) && same_prj(there, part->prj);
    if (same) {
        struct source *source;
        STATUS_TRY(job_part_open(part, &source));
        const enum status code = same_content(there, part, source, &same);
        source_free(source);
        STATUS_TRY(code);
    }
    if (!same) {
        snprintf(e->differs, sizeof(e->differs), "it was made from another '%.48s'", name);
    }
    return STATUS_OK;
}

static enum status compare_inputs(struct earlier *e)
{
    const size_t n = e->input->n_parts;
    if (json_array_size(json_object_get(e->manifest, "inputs")) != n) {
        snprintf(e->differs, sizeof(e->differs), "it was made from other files");
    }
    for (size_t i = 0; i < n && e->differs[0] == '\0'; i++) {
        STATUS_TRY(compare_input(e, i));
    }
    return STATUS_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

/* Whether every file is there with its length. */
static bool is_whole(const struct earlier *e)
{
    const json_t *outputs = json_object_get(e->manifest, "outputs");
    const json_t *output;
    size_t i;
    json_array_foreach((json_t *)outputs, i, output)
    {
        struct stat st;
        const char *name = json_string_value(json_object_get(output, "name"));
        if (name == NULL || fstatat(e->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            st.st_size != json_integer_value(json_object_get(output, "bytes"))) {
            return false;
        }
    }
    return json_is_array(outputs);
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum status compare(struct earlier *e, bool *damaged)
{
    *damaged = false;
    if (e->differs[0] == '\0') {
        compare_request(e);
    }
    if (e->differs[0] == '\0') {
        STATUS_TRY(compare_inputs(e));
    }
    *damaged = e->differs[0] == '\0' && !is_whole(e);
    return STATUS_OK;
}

/* What the job makes of what was found. */
static enum status decide(const struct earlier *e, bool damaged, struct resume *out)
{
    struct stat st;
    const char *result = job_settings_result(&e->input->settings);
    if (damaged || (e->settings->force && e->differs[0] != '\0')) {
        if (fstat(e->fd, &st) != 0) {
            return status_fail_errno(errno, "cannot look at the earlier result '%s'", result);
        }
        *out = (struct resume){true, {st.st_dev, st.st_ino}};
        return STATUS_OK;
    }
    return e->differs[0] == '\0'
               ? status_fail(STATUS_SKIPPED, "the result '%s' is there", result)
               : status_fail(STATUS_EXISTS,
                             "a result named '%s' is in the output folder, but %s; --force "
                             "replaces it",
                             result, e->differs);
}

/* *gone: there is no manifest, since this is no result, or another process has replaced it. */
static enum status look(struct earlier *e, struct resume *out, bool *gone)
{
    bool damaged;
    enum status code = read_manifest(e);
    *gone = code == STATUS_OK && e->manifest == NULL && e->differs[0] == '\0';
    if (code == STATUS_OK && !*gone) {
        code = compare(e, &damaged);
        code = code == STATUS_OK ? decide(e, damaged, out) : code;
    }
    json_decref(e->manifest);
    return code;
}

enum status resume_look(const struct job_input *input, const struct settings *settings, int out_fd,
                        struct resume *out)
{
    enum { MOST_TRIES = 16 };
    const char *result = job_settings_result(&input->settings);
    bool gone = true;
    *out = (struct resume){.replaces = false};
    for (int i = 0; gone && i < MOST_TRIES; i++) {
        struct earlier e = {
            .input = input, .settings = settings, .fd = publish_open_result(out_fd, result)};
        if (e.fd < 0) {
            break;
        }
        const enum status code = look(&e, out, &gone);
        close(e.fd);
        if (!gone) {
            return code;
        }
    }
    return publish_vacant(out_fd, result, true);
}
