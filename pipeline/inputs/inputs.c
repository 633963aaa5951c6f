/*
 * inputs - see inputs.h. Arguments, and the walk through folders; archives are in inputs_archive.c.
 */
#include "formats/base/file_name.h"
#include "formats/base/log.h"
#include "pipeline/inputs/input_walk.h"
#include "pipeline/inputs/inputs_state.h"
#include "pipeline/names/input_name.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- shares ----------------------------------------------------------------------------------- */

static bool find_in_shard(void *settings, uint64_t key)
{
    const struct launcher_shard *shard = &((const struct settings *)settings)->shard;
    return shard->count == 0 || key % shard->count == shard->index;
}

/* --- opening and closing ---------------------------------------------------------------------- */

struct inputs *inputs_open(const struct settings *settings, const struct inputs_share *share,
                           int scratch_fd)
{
    struct inputs *const in = xcalloc(1, sizeof(*in));
    in->settings = settings;
    in->first_fd = -1;
    in->share = share != NULL
                    ? *share
                    : (struct inputs_share){.find = find_in_shard, .user = (void *)settings};
    in->scratch_fd = scratch_fd;
    in->output = input_walk_output(settings->output);
    in->parts = parts_new();
    return in;
}

struct inputs *inputs_open_archive(const struct settings *settings, const char *path,
                                   const char *found_at, int fd, int scratch_fd)
{
    struct inputs *const in = inputs_open(settings, NULL, scratch_fd);
    in->found_at = xstrdup(found_at);
    in->next = settings->n_inputs;
    in->argument = path;
    in->first_fd = fd;
    return in;
}

void inputs_stop(struct inputs *in)
{
    atomic_store(&in->stop, true);
}

bool inputs_is_lent(const struct inputs *in)
{
    return atomic_load(&in->is_lent);
}

uint64_t inputs_archive_bytes(const struct inputs *in)
{
    return atomic_load(&in->archive_bytes);
}

void inputs_free(struct inputs *in)
{
    if (in != NULL) {
        if (in->walk != NULL) {
            fts_close(in->walk);
        }
        inputs_archive_close(in);
        if (in->first_fd >= 0) {
            close(in->first_fd);
        }
        parts_free(in->parts);
        free(in->found_at);
        free(in->leaving);
        free(in->unread);
        free(in->sidecar);
        free(in);
    }
}

static void tell_sidecars(struct inputs *in)
{
    if (in->n_sidecars > 0 && inputs_take_speaks(in, in->sidecar != NULL ? in->sidecar : "")) {
        log_info("%zu sidecar file%s of grids and tables ignored, '%s' first; GDAL may use those "
                 "of the grids that it reads",
                 in->n_sidecars, in->n_sidecars == 1 ? "" : "s",
                 in->sidecar != NULL ? in->sidecar : "");
        in->n_sidecars = 0;
    }
}

/* --- folders ---------------------------------------------------------------------------------- */

/* A file in a folder. *got when it is an input; an archive is opened instead. */
static enum status take_file(struct inputs *in, const FTSENT *entry, struct job_input *out,
                             bool *got)
{
    const enum input_kind kind = settings_input_kind(in->settings, entry->fts_path);
    *got = false;
    if (kind == INPUT_ARCHIVE) {
        return inputs_take_about_walk(in, out, entry->fts_path,
                                      inputs_archive_open_file(in, entry->fts_path));
    }
    if (kind == INPUT_OF_JOB) {
        return inputs_take_file(in, entry->fts_path, out, got);
    }
    inputs_take_pass_over(in, entry->fts_path);
    return STATUS_OK;
}

static void pass_over_link(struct inputs *in, const FTSENT *entry)
{
    if (settings_input_kind(in->settings, entry->fts_path) != INPUT_OF_JOB) {
        log_debug("'%s': is a link, skipped", entry->fts_path);
    } else if (inputs_take_speaks(in, entry->fts_path)) {
        log_warning("'%s': is a link, and links in folders are not followed; name it to have it "
                    "processed",
                    entry->fts_path);
    }
}

/* Goes on to the next file in the folder that makes a job (*got), to an archive, or to the end of a
 * folder. */
static enum status next_in_folder(struct inputs *in, struct job_input *out, bool *got)
{
    FTSENT *entry;
    while (!inputs_is_stopped(in) && in->archive == NULL && in->leaving == NULL &&
           (errno = 0, entry = fts_read(in->walk)) != NULL) {
        enum status code = STATUS_OK;
        switch (entry->fts_info) {
        case FTS_D:
            if (input_walk_skips(&in->output, entry)) {
                in->n_results += input_walk_is_result(entry->fts_accpath);
                fts_set(in->walk, entry, FTS_SKIP);
            }
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            return inputs_take_about_walk(
                in, out, entry->fts_path,
                status_fail_errno(entry->fts_errno, "cannot read '%s'", entry->fts_path));
        case FTS_DP:
            in->leaving = xstrdup(entry->fts_path);
            break;
        case FTS_SL:
        case FTS_SLNONE:
            pass_over_link(in, entry);
            break;
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
    if (in->archive == NULL && in->leaving == NULL) {
        const int error = inputs_is_stopped(in) ? 0 : errno; /* none where all has been seen */
        fts_close(in->walk);
        in->walk = NULL;
        if (error != 0) {
            return inputs_take_about_walk(
                in, out, in->argument,
                status_fail_errno(error, "the folder cannot be read to its end"));
        }
    }
    return STATUS_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* An argument that is no file and no folder; fd is taken over. */
static enum status take_pipe(struct inputs *in, const char *path, int fd, struct job_input *out,
                             bool *got)
{
    struct source_stream stream;
    const enum status code = source_stream_of(fd, path, &stream);
    if (code != STATUS_OK) {
        return inputs_take_about_walk(in, out, path, code);
    }
    return archive_input_named(path)
               ? inputs_take_about_walk(in, out, path, inputs_archive_open(in, path, -1, &stream))
               : inputs_take_stream(in, path, &stream, out, got);
}

/* Standard input under its name, as it comes, also where it is a file. */
static enum status take_stdin(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->settings->name != NULL ? in->settings->name : SETTINGS_STDIN;
    const int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) {
        return inputs_take_about_walk(in, out, path,
                                      status_fail_errno(errno, "cannot read standard input"));
    }
    return take_pipe(in, path, fd, out, got);
}

static bool is_pipe(mode_t mode)
{
    return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISSOCK(mode);
}

static enum status take_named_pipe(struct inputs *in, const char *path, struct job_input *out,
                                   bool *got)
{
    struct stat st;
    int fd;
    if (in->settings->resume) {
        return inputs_take_about(
            out, path,
            status_fail(STATUS_BAD_ARGUMENT,
                        "'%s' is a pipe, which cannot be combined with --resume", path));
    }
    const enum status code = inputs_take_open(path, &st, &fd);
    return code != STATUS_OK ? inputs_take_about_walk(in, out, path, code)
                             : take_pipe(in, path, fd, out, got);
}

/* Opens the next argument; *got when it is a file that makes a job. */
static enum status next_argument(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->argument = in->settings->inputs[in->next++];
    struct stat st;
    in->n_taken = in->n_foreign = in->n_results = 0;
    free(in->unread);
    in->unread = NULL;
    if (settings_is_stdin(path)) {
        return take_stdin(in, out, got);
    }
    if (stat(path, &st) != 0) {
        return inputs_take_about_walk(in, out, path,
                                      status_fail_errno(errno, "cannot find '%s'", path));
    }
    if (S_ISDIR(st.st_mode) && input_walk_is_result(path)) {
        return inputs_take_about_walk(
            in, out, path,
            status_fail(STATUS_BAD_ARGUMENT,
                        "'%s' is a result of leat, not an input; leat show '%s' says "
                        "what it holds; give the files that it was made from",
                        path, path));
    }
    if (S_ISDIR(st.st_mode)) {
        in->walk = input_walk_start(path);
        return in->walk != NULL
                   ? STATUS_OK
                   : inputs_take_about_walk(in, out, path,
                                            status_fail_errno(errno, "cannot read '%s'", path));
    }
    if (is_pipe(st.st_mode)) {
        return take_named_pipe(in, path, out, got);
    }
    if (archive_input_named(path)) {
        return inputs_take_about_walk(in, out, path, inputs_archive_open_file(in, path));
    }
    if (!input_name_is_sidecar(path) || settings_input_kind(in->settings, path) == INPUT_FOREIGN) {
        return inputs_take_file(in, path, out, got);
    }
    inputs_take_pass_over(in, path); /* a shell's X.* */
    return STATUS_OK;
}

static void tell_foreign(const struct inputs *in, const char *path)
{
    if (in->n_foreign > 0 && inputs_take_speaks(in, path)) {
        log_info("%zu file%s in '%s' left alone: no pipeline takes %s (-v: which)%s%s",
                 in->n_foreign, in->n_foreign == 1 ? "" : "s", path,
                 in->n_foreign == 1 ? "it" : "them", in->unread != NULL ? "; " : "",
                 in->unread != NULL ? in->unread : "");
    }
}

/* The next --source, with --dem. */
static enum status next_source(struct inputs *in, struct job_input *out, bool *got)
{
    const char *source = in->settings->sources[in->next_source++];
    struct job_settings settings;
    const enum status code = settings_resolve_source(in->settings, source, &settings);
    const bool own = code != STATUS_OK || inputs_take_share(in, settings.stem);
    if (!own) {
        inputs_take_leave(in);
    }
    if (code != STATUS_OK || !own) {
        job_settings_free(&settings);
        return inputs_take_about_walk(in, out, source, code);
    }
    out->settings = settings;
    out->n_parts = 2;
    out->parts[0] = (struct job_part){.fd = -1, .path = xstrdup(in->settings->dem)};
    out->parts[1] = (struct job_part){.fd = -1, .path = xstrdup(source)};
    *got = true;
    return STATUS_OK;
}

/* A folder or an archive that was given has come to its end. */
static enum status end_argument(struct inputs *in, struct job_input *out)
{
    const char *path = in->argument;
    if (in->n_taken > 0) {
        tell_foreign(in, path);
        return STATUS_OK;
    }
    if (in->n_results > 0) {
        return inputs_take_about_walk(
            in, out, path,
            status_fail(STATUS_BAD_ARGUMENT,
                        "'%s' holds results of leat (%zu) and no input; leat show "
                        "'%s' lists them; give the files that they were made from",
                        path, in->n_results, path));
    }
    if (in->unread != NULL) {
        return inputs_take_about_walk(in, out, path,
                                      status_fail(STATUS_BAD_ARGUMENT,
                                                  "'%s' holds no file that a pipeline takes; %s",
                                                  path, in->unread));
    }
    const bool named = in->settings->pipeline != NULL;
    char names[SETTINGS_NAMES_BYTES];
    return inputs_take_about_walk(
        in, out, path,
        status_fail(STATUS_BAD_ARGUMENT, "'%s' holds no file that %s takes: name files like %s%s%s",
                    path, named ? in->settings->pipeline : "a pipeline", settings_names(names),
                    named ? "" : ", or give --pipeline ", named ? "" : stage_registry[0]->name));
}

/* What waits in a folder that has ended lacks its other parts: one of them. */
static enum status give_up(struct inputs *in, struct job_input *out, bool *got)
{
    STATUS_TRY(parts_give_up(in->parts, in->leaving, out, got));
    if (*got) {
        return STATUS_OK; /* there may be more */
    }
    free(in->leaving);
    in->leaving = NULL;
    return STATUS_OK;
}

/* Only sidecar files were named. */
static enum status only_sidecars(struct inputs *in, struct job_input *out)
{
    const char *path = in->settings->inputs[0];
    in->n_sidecars = 0;
    return inputs_take_about_walk(
        in, out, path,
        status_fail(STATUS_BAD_ARGUMENT,
                    "'%s' is a sidecar file of a grid or a table, not an input; name that", path));
}

/* One step to the next input; *end: there is none. */
static enum status advance(struct inputs *in, struct job_input *out, bool *got, bool *end)
{
    if (in->leaving != NULL) {
        return give_up(in, out, got);
    }
    if (in->archive != NULL) {
        return inputs_archive_next(in, out, got);
    }
    if (in->first_fd >= 0) {
        const int fd = in->first_fd;
        in->first_fd = -1;
        return inputs_take_about_walk(in, out, in->argument,
                                      inputs_archive_open(in, in->argument, fd, NULL));
    }
    if (in->walk != NULL) {
        return next_in_folder(in, out, got);
    }
    if (in->next < in->settings->n_inputs) {
        return next_argument(in, out, got);
    }
    if (in->next_source < in->settings->n_sources) {
        return next_source(in, out, got);
    }
    *end = true;
    enum status code = parts_give_up(in->parts, "", out, got);
    if (code == STATUS_OK && in->n_all == 0) {
        return only_sidecars(in, out);
    }
    tell_sidecars(in);
    return code;
}

enum status inputs_next(struct inputs *in, struct job_input *out, bool *end)
{
    *out = (struct job_input){0};
    *end = false;
    bool got = false;
    enum status code = STATUS_OK;
    while (code == STATUS_OK && !got && !*end) {
        if (inputs_is_stopped(in)) {
            *end = true;
            break;
        }
        bool within = in->leaving != NULL || in->archive != NULL || in->walk != NULL;
        code = advance(in, out, &got, end);
        in->n_taken += got || code != STATUS_OK;
        in->n_all += got || code != STATUS_OK;
        if (within && in->leaving == NULL && in->archive == NULL && in->walk == NULL &&
            code == STATUS_OK && !got && !inputs_is_stopped(in)) {
            code = end_argument(in, out);
            in->n_all += code != STATUS_OK;
        }
    }
    return code;
}

uint64_t inputs_total_bytes(const struct inputs *in)
{
    return input_walk_bytes(in->settings, &in->output, &in->stop);
}
