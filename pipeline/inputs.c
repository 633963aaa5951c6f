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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct inputs {
    const struct settings *settings;
    int scratch_fd;
    size_t next;                   /* argument to look at next */
    FTS *walk;                     /* the folder being walked; NULL: none */
    struct archive_input *archive; /* being read; NULL: none */
    char *archive_path;
    size_t archive_jobs; /* members of it that became jobs */
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

enum status inputs_open(const struct settings *settings, int scratch_fd, struct inputs **out)
{
    struct inputs *in = calloc(1, sizeof(*in));
    *out = in;
    if (in == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of inputs");
    }
    in->settings = settings;
    in->scratch_fd = scratch_fd;
    return STATUS_OK;
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s'", path);
    }
    in->archive_jobs = 0;
    in->archive_path = strdup(path);
    return archive_input_open(fd, path, &in->archive);
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

/* The next member that a pipeline takes, or that must be told about; NULL at the archive's end. */
static enum status next_routed(struct inputs *in, struct archive_input_entry *entry, char **path)
{
    for (;;) {
        bool end;
        *path = NULL;
        enum status code = archive_input_next(in->archive, entry, &end);
        if (code != STATUS_OK || end) {
            return code;
        }
        if (asprintf(path, "%s/%s", in->archive_path, entry->name) < 0) {
            *path = NULL;
            return status_fail(STATUS_NO_MEMORY, "no memory for a path");
        }
        if (entry->refused != NULL || (!input_name_is_passing(input_name_last(entry->name)) &&
                                       settings_routes(in->settings, *path))) {
            return STATUS_OK;
        }
        log_debug("'%s': no pipeline takes it, skipped", *path);
        free(*path);
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
    if (path != NULL) {
        in->archive_jobs++;
        if (entry.refused != NULL) {
            out->path = strdup(path);
            code = status_fail(STATUS_BAD_INPUT, "'%s' is not taken out of its archive: %s", path,
                               entry.refused);
        } else {
            code = take_member(in, path, out);
        }
        free(path);
    } else if (code == STATUS_OK && in->archive_jobs == 0) {
        code = status_fail(STATUS_BAD_INPUT,
                           "'%s' holds no file that a pipeline takes; name them X.clusters.csv or "
                           "give --pipeline",
                           in->archive_path);
    }
    return code;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* The next file in the folder that has a route; *got is false at its end. */
static enum status next_in_folder(struct inputs *in, struct job_input *out, bool *got)
{
    FTSENT *entry;
    *got = true;
    while (errno = 0, (entry = fts_read(in->walk)) != NULL) {
        switch (entry->fts_info) {
        case FTS_D:
            if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
                fts_set(in->walk, entry, FTS_SKIP);
            }
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            out->path = strdup(entry->fts_path);
            return status_fail_errno(entry->fts_errno, "cannot read '%s'", entry->fts_path);
        case FTS_F:
            if (input_name_is_passing(entry->fts_name)) {
                break;
            }
            if (archive_input_named(entry->fts_name)) {
                enum status code = open_archive(in, entry->fts_path);
                if (code != STATUS_OK) {
                    out->path = strdup(entry->fts_path);
                    return code;
                }
                *got = false;
                return STATUS_OK;
            }
            if (settings_routes(in->settings, entry->fts_path)) {
                return take_input(in, entry->fts_path, -1, out);
            }
            log_debug("'%s': no pipeline takes it, skipped", entry->fts_path);
            break;
        default:
            break;
        }
    }
    *got = false;
    fts_close(in->walk);
    in->walk = NULL;
    return STATUS_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Opens the next argument; *got when it is a file and so an input itself. */
static enum status next_argument(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->settings->inputs[in->next++];
    struct stat st;
    *got = true;
    if (stat(path, &st) != 0) {
        int error = errno;
        out->path = strdup(path);
        return status_fail_errno(error, "cannot find '%s'", path);
    }
    if (S_ISDIR(st.st_mode)) {
        in->walk = start_walk(path);
        *got = false;
        return in->walk != NULL ? STATUS_OK : status_fail_errno(errno, "cannot read '%s'", path);
    }
    if (archive_input_named(path)) {
        enum status code = open_archive(in, path);
        *got = false;
        if (code != STATUS_OK) {
            out->path = strdup(path);
        }
        return code;
    }
    return take_input(in, path, -1, out);
}

enum status inputs_next(struct inputs *in, struct job_input *out, bool *end)
{
    *out = (struct job_input){.fd = -1};
    *end = false;
    bool got = false;
    enum status code = STATUS_OK;
    while (code == STATUS_OK && !got && !*end) {
        if (in->archive != NULL) {
            code = next_member(in, out, &got);
            if (!got) {
                if (code != STATUS_OK && out->path == NULL) {
                    out->path = strdup(in->archive_path);
                }
                close_archive(in);
            }
        } else if (in->walk != NULL) {
            code = next_in_folder(in, out, &got);
        } else if (in->next < in->settings->n_inputs) {
            code = next_argument(in, out, &got);
        } else {
            *end = true;
        }
    }
    return code;
}

uint64_t inputs_total_bytes(const struct settings *settings)
{
    uint64_t total = 0;
    for (size_t i = 0; i < settings->n_inputs; i++) {
        FTS *walk = start_walk(settings->inputs[i]);
        FTSENT *entry;
        while (walk != NULL && (entry = fts_read(walk)) != NULL) {
            if (entry->fts_info == FTS_F &&
                (entry->fts_level == 0 || !input_name_is_passing(entry->fts_name))) {
                total += (uint64_t)entry->fts_statp->st_size;
            }
        }
        if (walk != NULL) {
            fts_close(walk);
        }
    }
    return total;
}
