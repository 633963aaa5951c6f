/*
 * inputs - see inputs.h.
 */
#include "pipeline/inputs.h"

#include "formats/archive_input.h"
#include "formats/log.h"
#include "pipeline/input_name.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct inputs {
    const struct settings *settings;
    int scratch_fd;
    struct stat output; /* the folder of results */
    atomic_bool stop;
    size_t next;                   /* argument to look at next */
    size_t n_taken;                /* of the present argument: inputs, and failures told */
    FTS *walk;                     /* the folder being walked; NULL: none */
    struct archive_input *archive; /* being read; NULL: none */
    char *archive_path;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *start_walk(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    return fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
}

/* Zeroes, which are no folder's numbers, when it is not there. */
static struct stat look_at_output(const struct settings *settings)
{
    struct stat st;
    return stat(settings->output, &st) == 0 ? st : (struct stat){0};
}

static bool is_output(const struct stat *output, const FTSENT *entry)
{
    return output->st_ino != 0 && entry->fts_ino == output->st_ino &&
           entry->fts_dev == output->st_dev;
}

/* A folder in the output folder is a result when it holds what every result holds. */
static bool is_result(const struct stat *output, const FTSENT *entry)
{
    char *path;
    bool is = is_output(output, entry->fts_parent) &&
              asprintf(&path, "%s/result.json", entry->fts_accpath) >= 0;
    if (is) {
        is = access(path, F_OK) == 0;
        free(path);
    }
    return is;
}

/* Folders beneath an input that are not gone into. */
static bool is_passed_over(const struct stat *output, const FTSENT *entry)
{
    return entry->fts_level > 0 &&
           (entry->fts_name[0] == '.' || is_output(output, entry) || is_result(output, entry));
}

enum status inputs_open(const struct settings *settings, int scratch_fd, struct inputs **out)
{
    struct inputs *in = calloc(1, sizeof(*in));
    *out = in;
    if (in == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of inputs");
    }
    in->settings = settings;
    in->scratch_fd = scratch_fd;
    in->output = look_at_output(settings);
    return STATUS_OK;
}

void inputs_stop(struct inputs *in)
{
    atomic_store(&in->stop, true);
}

static bool is_stopped(const struct inputs *in)
{
    return atomic_load(&in->stop);
}

static void close_archive(struct inputs *in)
{
    archive_input_free(in->archive);
    in->archive = NULL;
    free(in->archive_path);
    in->archive_path = NULL;
}

void inputs_free(struct inputs *in)
{
    if (in != NULL) {
        if (in->walk != NULL) {
            fts_close(in->walk);
        }
        close_archive(in);
        free(in);
    }
}

/* Names the input and resolves its settings. */
static enum status take_input(const struct inputs *in, const char *path, int fd,
                              struct job_input *out)
{
    out->fd = fd;
    out->path = strdup(path);
    if (out->path == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    return settings_resolve(in->settings, path, &out->settings);
}

/* --- archives --------------------------------------------------------------------------------- */

static enum status open_archive(struct inputs *in, const char *path)
{
    struct stat st;
    enum status code;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s'", path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return status_fail(STATUS_BAD_INPUT, "'%s' is no regular file", path);
    }
    code = archive_input_open(fd, path, &in->archive);
    if (code == STATUS_OK) {
        archive_input_stop_at(in->archive, &in->stop);
        in->archive_path = strdup(path);
        if (in->archive_path == NULL) {
            close_archive(in);
            code = status_fail(STATUS_NO_MEMORY, "no memory for a path");
        }
    }
    return code;
}

/* A file without a name; gone when its last descriptor is closed. */
static enum status scratch_file(const struct inputs *in, int *fd)
{
    *fd = in->scratch_fd >= 0 ? openat(in->scratch_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                              : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char name[] = "/tmp/leat-XXXXXX";
        *fd = mkostemp(name, O_CLOEXEC);
        if (*fd >= 0) {
            unlink(name);
        }
    }
    return *fd >= 0 ? STATUS_OK : status_fail_errno(errno, "cannot make a scratch file");
}

/* Half of what is free where members are kept: an archive that unpacks to more is refused. */
static uint64_t scratch_room(const struct inputs *in)
{
    struct statvfs st;
    if (in->scratch_fd >= 0 ? fstatvfs(in->scratch_fd, &st) != 0 : statvfs("/tmp", &st) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)st.f_bavail * st.f_frsize / 2;
}

/* Whether a folder of the member's name begins with a dot; ".." is not hidden but refused. */
static bool is_hidden(const char *name)
{
    const char *slash;
    for (; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        size_t n = (size_t)(slash - name);
        if (name[0] == '.' && n > 1 && !(n == 2 && name[1] == '.')) {
            return true;
        }
    }
    return false;
}

/* Whether a folder of such files would give the member to a pipeline. */
static enum status judge_member(const struct inputs *in, const char *name, bool *routed)
{
    char *path;
    *routed = false;
    if (asprintf(&path, "%s/%s", in->archive_path, name) < 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    *routed = !is_hidden(name) && settings_routes(in->settings, path);
    if (!*routed) {
        log_debug("'%s': no pipeline takes it, skipped", path);
    }
    free(path);
    return STATUS_OK;
}

/* The next member that a pipeline takes, or would take were it not refused; NULL at the archive's
 * end. */
static enum status next_routed(struct inputs *in, struct archive_input_entry *entry, char **path)
{
    *path = NULL;
    for (;;) {
        bool end, routed;
        enum status code = archive_input_next(in->archive, entry, &end);
        if (code != STATUS_OK || end) {
            return code;
        }
        code = judge_member(in, entry->raw, &routed);
        if (code != STATUS_OK) {
            return code;
        }
        if (routed) {
            if (asprintf(path, "%s/%s", in->archive_path, entry->name) < 0) {
                *path = NULL;
                return status_fail(STATUS_NO_MEMORY, "no memory for a path");
            }
            return STATUS_OK;
        }
    }
}

/* Unpacks the member into a scratch file and makes it an input. */
static enum status take_member(struct inputs *in, const char *path, struct job_input *out)
{
    uint64_t bytes;
    int fd = -1;
    enum status code = scratch_file(in, &fd);
    if (code == STATUS_OK) {
        code = archive_input_copy(in->archive, fd, scratch_room(in), &bytes);
    }
    if (code != STATUS_OK) {
        if (fd >= 0) {
            close(fd);
        }
        out->path = strdup(path);
        return code;
    }
    return take_input(in, path, fd, out);
}

/* *got is false at the archive's end, and when there is no going on after a failure. */
static enum status next_member(struct inputs *in, struct job_input *out, bool *got)
{
    struct archive_input_entry entry;
    char *path;
    enum status code = next_routed(in, &entry, &path);
    *got = path != NULL;
    if (path == NULL) {
        if (code != STATUS_OK) {
            out->path = strdup(in->archive_path);
        }
        close_archive(in);
    } else if (entry.refused != NULL) {
        out->path = strdup(path);
        code = status_fail(STATUS_BAD_INPUT, "'%s' is not taken out of its archive: %s", path,
                           entry.refused);
    } else {
        code = take_member(in, path, out);
    }
    free(path);
    return code;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* A file in a folder. *got when it is an input; an archive is opened instead. */
static enum status take_file(struct inputs *in, const FTSENT *entry, struct job_input *out,
                             bool *got)
{
    enum status code = STATUS_OK;
    *got = false;
    if (input_name_is_passing(entry->fts_name)) {
        return code;
    }
    if (archive_input_named(entry->fts_name)) {
        code = open_archive(in, entry->fts_path);
        if (code != STATUS_OK) {
            out->path = strdup(entry->fts_path);
        }
    } else if (settings_routes(in->settings, entry->fts_path)) {
        *got = true;
        code = take_input(in, entry->fts_path, -1, out);
    } else {
        log_debug("'%s': no pipeline takes it, skipped", entry->fts_path);
    }
    return code;
}

/* Goes on to the next file in the folder that has a route (*got), to an archive, or to the folder's
 * end. */
static enum status next_in_folder(struct inputs *in, struct job_input *out, bool *got)
{
    FTSENT *entry;
    while (!is_stopped(in) && in->archive == NULL && (entry = fts_read(in->walk)) != NULL) {
        enum status code = STATUS_OK;
        switch (entry->fts_info) {
        case FTS_D:
            if (is_passed_over(&in->output, entry)) {
                fts_set(in->walk, entry, FTS_SKIP);
            }
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            out->path = strdup(entry->fts_path);
            return status_fail_errno(entry->fts_errno, "cannot read '%s'", entry->fts_path);
        case FTS_F:
            code = take_file(in, entry, out, got);
            if (code != STATUS_OK || *got) {
                return code;
            }
            break;
        default:
            break;
        }
    }
    if (in->archive == NULL) {
        fts_close(in->walk);
        in->walk = NULL;
    }
    return STATUS_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Opens the next argument; *got when it is a file and so an input itself. */
static enum status next_argument(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->settings->inputs[in->next++];
    struct stat st;
    enum status code = STATUS_OK;
    in->n_taken = 0;
    if (stat(path, &st) != 0) {
        code = status_fail_errno(errno, "cannot find '%s'", path);
    } else if (S_ISDIR(st.st_mode)) {
        in->walk = start_walk(path);
        if (in->walk == NULL) {
            code = status_fail_errno(errno, "cannot read '%s'", path);
        }
    } else if (archive_input_named(path)) {
        code = open_archive(in, path);
    } else {
        *got = true;
        return take_input(in, path, -1, out);
    }
    if (code != STATUS_OK) {
        out->path = strdup(path);
    }
    return code;
}

/* A folder or an archive that was given has come to its end. */
static enum status end_argument(struct inputs *in, struct job_input *out)
{
    const char *path = in->settings->inputs[in->next - 1];
    if (in->n_taken > 0) {
        return STATUS_OK;
    }
    out->path = strdup(path);
    return status_fail(STATUS_BAD_ARGUMENT,
                       "'%s' holds no file that a pipeline takes; name them X.%s.csv or give "
                       "--pipeline %s",
                       path, stage_registry[0]->suffix, stage_registry[0]->name);
}

enum status inputs_next(struct inputs *in, struct job_input *out, bool *end)
{
    *out = (struct job_input){.fd = -1};
    *end = false;
    bool got = false;
    enum status code = STATUS_OK;
    while (code == STATUS_OK && !got) {
        bool within = in->archive != NULL || in->walk != NULL;
        *end = is_stopped(in) || (!within && in->next == in->settings->n_inputs);
        if (*end) {
            break;
        }
        if (in->archive != NULL) {
            code = next_member(in, out, &got);
        } else if (in->walk != NULL) {
            code = next_in_folder(in, out, &got);
        } else {
            code = next_argument(in, out, &got);
        }
        in->n_taken += got || code != STATUS_OK;
        if (within && in->archive == NULL && in->walk == NULL && code == STATUS_OK && !got &&
            !is_stopped(in)) {
            code = end_argument(in, out);
        }
    }
    return code;
}

static bool is_wanted(const struct settings *settings, const FTSENT *entry)
{
    return entry->fts_level == 0 ||
           (!input_name_is_passing(entry->fts_name) &&
            (archive_input_named(entry->fts_name) || settings_routes(settings, entry->fts_path)));
}

uint64_t inputs_total_bytes(const struct settings *settings)
{
    const struct stat output = look_at_output(settings);
    uint64_t total = 0;
    for (size_t i = 0; i < settings->n_inputs; i++) {
        FTS *walk = start_walk(settings->inputs[i]);
        FTSENT *entry;
        while (walk != NULL && (entry = fts_read(walk)) != NULL) {
            if (entry->fts_info == FTS_D && is_passed_over(&output, entry)) {
                fts_set(walk, entry, FTS_SKIP);
            } else if (entry->fts_info == FTS_F && is_wanted(settings, entry)) {
                total += (uint64_t)entry->fts_statp->st_size;
            }
        }
        if (walk != NULL) {
            fts_close(walk);
        }
    }
    return total;
}
