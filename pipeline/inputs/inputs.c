/*
 * inputs - see inputs.h.
 */
#include "pipeline/inputs/inputs.h"

#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/base/log.h"
#include "formats/base/text_hash.h"
#include "formats/source/archive_input.h"
#include "pipeline/engine/scratch.h"
#include "pipeline/inputs/input_walk.h"
#include "pipeline/inputs/parts.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Smaller members wait in scratch files, several at a time. */
static const uint64_t lend_bytes = UINT64_C(64) << 20;

struct inputs {
    const struct settings *settings;
    struct inputs_share share;
    int scratch_fd;
    struct stat output; /* the folder of results */
    atomic_bool stop;
    size_t next, next_source;      /* argument, and --source, to look at next */
    size_t n_foreign;              /* of the present argument: what no pipeline takes */
    size_t n_results;              /* of it: folders that are results of leat */
    const char *argument;          /* the present one */
    int first_fd;                  /* of inputs_open_archive, until it is opened; else -1 */
    char *found_at;                /* where that archive is opened once more */
    size_t n_taken;                /* of the present argument: inputs and failures */
    size_t n_all;                  /* of all arguments */
    FTS *walk;                     /* the folder being walked; NULL: none */
    struct archive_input *archive; /* being read; NULL: none */
    char *archive_path;
    bool archive_comes_once; /* from a pipe: nothing in it is found again */
    atomic_bool is_lent;     /* a job reads the archive's present member */
    struct parts *parts;     /* files whose job is not complete */
    char *leaving; /* the folder or archive that has ended: what waits in it is given up */
    char *sidecar; /* the first that was passed over */
    size_t n_sidecars;
};

/* --- shares ----------------------------------------------------------------------------------- */

/* A number for the result of that name, on every machine the same. */
static uint64_t hash(const char *name)
{
    const uint64_t h = text_hash_add(TEXT_HASH_OF_NONE, name);
    return h ^ h >> 32; /* its low bits alone depend on few of the text's */
}

static enum status find_in_shard(void *settings, uint64_t key, bool *own)
{
    const struct launcher_shard *shard = &((const struct settings *)settings)->shard;
    *own = shard->count == 0 || key % shard->count == shard->index;
    return STATUS_OK;
}

static enum status find_share(const struct inputs *in, const char *name, bool *own)
{
    return in->share.find(in->share.user, hash(name), own);
}

/* What is not this process's has been taken nevertheless: by another. */
static void leave_to_others(struct inputs *in)
{
    in->n_taken++;
    in->n_all++;
}

/* Whether this process says what all of them have met at the path. */
static bool speaks_of(const struct inputs *in, const char *path)
{
    bool own = true;
    return !in->share.joint || (find_share(in, path, &own) == STATUS_OK && own);
}

/* --- opening and closing ---------------------------------------------------------------------- */

enum status inputs_open(const struct settings *settings, const struct inputs_share *share,
                        int scratch_fd, struct inputs **out)
{
    struct inputs *in = calloc(1, sizeof(*in));
    *out = in;
    if (in == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the list of inputs");
    }
    in->settings = settings;
    in->first_fd = -1;
    in->share = share != NULL
                    ? *share
                    : (struct inputs_share){.find = find_in_shard, .user = (void *)settings};
    in->scratch_fd = scratch_fd;
    in->output = input_walk_output(settings->output);
    return parts_new(&in->parts);
}

enum status inputs_open_archive(const struct settings *settings, const char *path,
                                const char *found_at, int fd, int scratch_fd, struct inputs **out)
{
    enum status code = inputs_open(settings, NULL, scratch_fd, out);
    if (code == STATUS_OK) {
        (*out)->found_at = strdup(found_at);
        code =
            (*out)->found_at != NULL ? code : status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    if (*out == NULL) {
        close(fd);
        return code;
    }
    (*out)->next = settings->n_inputs;
    (*out)->argument = path;
    (*out)->first_fd = fd;
    return code;
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
    free(in->leaving);
    in->leaving = in->archive_path;
    in->archive_path = NULL;
}

void inputs_free(struct inputs *in)
{
    if (in != NULL) {
        if (in->walk != NULL) {
            fts_close(in->walk);
        }
        close_archive(in);
        if (in->first_fd >= 0) {
            close(in->first_fd);
        }
        parts_free(in->parts);
        free(in->found_at);
        free(in->leaving);
        free(in->sidecar);
        free(in);
    }
}

/* --- pipes ------------------------------------------------------------------------------------ */

/* Copies what is left of the stream, which is closed then, into a scratch file. */
static enum status copy_stream(struct inputs *in, const char *name,
                               const struct source_stream *stream, int *fd)
{
    static const size_t block_bytes = 256 << 10;
    const struct source_limits limits = {.max_bytes = in->settings->unpack.max_bytes};
    unsigned char *block = malloc(block_bytes);
    enum status code = scratch_file(in->scratch_fd, fd);
    if (block == NULL) {
        code = status_fail(STATUS_NO_MEMORY, "no memory to read '%s'", name);
    }
    const uint64_t room = code == STATUS_OK ? scratch_room(*fd) : 0;
    uint64_t bytes = 0;
    for (size_t n = 1; code == STATUS_OK && n > 0; bytes += n) {
        code = stream->read(stream->user, &in->stop, block, block_bytes, &n);
        if (code == STATUS_OK && bytes + n > room) {
            code = status_fail(STATUS_NO_SPACE, "'%s': there is no room to keep it", name);
        }
        if (code == STATUS_OK) {
            code = source_check_limits(&limits, name, 0, bytes + n);
        }
        if (code == STATUS_OK && !io_watch_write_all(*fd, block, n)) {
            code = status_fail_errno(errno, "cannot keep '%s'", name);
        }
    }
    stream->close(stream->user);
    free(block);
    if (code != STATUS_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

/* The ending, without that of a compression, is one of the list's. */
static bool ends_in(const char *path, const char *const *endings)
{
    const size_t n = file_name_unpacked(path, strlen(path));
    for (; *endings != NULL; endings++) {
        const size_t len = strlen(*endings);
        if (n > len && strncasecmp(path + n - len, *endings, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Files of that name are read at any place. */
static bool needs_seek(const char *path)
{
    return ends_in(path, (const char *const[]){".npz", ".tif", ".tiff", NULL});
}

/* Files of that name are read from front to back. */
static bool is_read_forward(const char *path)
{
    return ends_in(path, (const char *const[]){".csv", ".tsv", ".txt", ".npy", ".asc", NULL});
}

/* --- files ------------------------------------------------------------------------------------ */

/* Resolves the file's settings. Where it is not *own, they are empty, and a failure that all
 * processes meet is for the one to report whose it is. */
static enum status resolve_input(struct inputs *in, const char *path, struct job_settings *out,
                                 bool *own)
{
    const enum status code = settings_resolve(in->settings, path, out);
    if (code == STATUS_NO_MEMORY) { /* of this process */
        *own = true;
        return code;
    }
    const enum status found =
        find_share(in, code == STATUS_OK ? out->stem : input_name_last(path), own);
    if (*own && found == STATUS_OK) {
        return code;
    }
    if (!*own) {
        leave_to_others(in);
    }
    job_settings_free(out);
    return found;
}

/* *got when the file makes a job: else it waits for other parts. `from` is what it is read from;
 * that and `settings` are taken over. */
static enum status take_part(struct inputs *in, const char *path, const struct job_part *from,
                             struct job_settings *settings, struct job_input *out, bool *got)
{
    struct job_part part = *from;
    *got = false;
    part.path = strdup(path);
    if (part.path == NULL) {
        if (part.fd >= 0) {
            close(part.fd);
        }
        job_part_free(&part);
        job_settings_free(settings);
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    if (settings->n_parts > 1) {
        return parts_add(in->parts, &part, settings, out, got);
    }
    out->parts[0] = part;
    out->settings = *settings;
    out->n_parts = 1;
    *got = true;
    return STATUS_OK;
}

/* The code as it is; a failure gets the path that it is about. */
static enum status about(struct job_input *out, const char *path, enum status code)
{
    if (code != STATUS_OK) {
        out->parts[0] = (struct job_part){.fd = -1, .path = strdup(path)};
    }
    return code;
}

/* The same where not a job has failed, but the walk: something that all processes meet. */
static enum status about_walk(struct inputs *in, struct job_input *out, const char *path,
                              enum status code)
{
    if (code != STATUS_OK && !speaks_of(in, path)) {
        leave_to_others(in);
        return STATUS_OK;
    }
    return about(out, path, code);
}

/* A file that is named, or in a folder. */
static enum status take_input(struct inputs *in, const char *path, struct job_input *out, bool *got)
{
    struct job_settings settings;
    bool own;
    *got = false;
    const enum status code = resolve_input(in, path, &settings, &own);
    if (code != STATUS_OK) {
        return about(out, path, code);
    }
    return own ? take_part(in, path, &(struct job_part){.fd = -1}, &settings, out, got) : STATUS_OK;
}

/* A file from a stream, which is taken over. */
static enum status take_stream(struct inputs *in, const char *path,
                               const struct source_stream *stream, struct job_input *out, bool *got)
{
    struct job_settings settings;
    struct job_part part = {.fd = -1, .is_stream = true, .stream = *stream};
    bool own;
    *got = false;
    enum status code = resolve_input(in, path, &settings, &own);
    if (code == STATUS_OK && own && needs_seek(path)) {
        part = (struct job_part){.fd = -1};
        code = copy_stream(in, path, stream, &part.fd);
        if (code == STATUS_OK) {
            return take_part(in, path, &part, &settings, out, got);
        }
        job_settings_free(&settings);
    } else if (code == STATUS_OK && own) {
        return take_part(in, path, &part, &settings, out, got);
    } else {
        stream->close(stream->user);
    }
    return about(out, path, code);
}

/* A file that is not an input; sidecar files are reported at the end, in one line. */
static void pass_over(struct inputs *in, const char *path)
{
    log_debug("'%s': no pipeline takes it, skipped", path);
    if (!input_name_is_sidecar(path)) {
        in->n_foreign++;
    } else if (!projection_named(path)) {
        in->sidecar = in->n_sidecars++ == 0 ? strdup(path) : in->sidecar;
    }
}

static void tell_sidecars(struct inputs *in)
{
    if (in->n_sidecars > 0 && speaks_of(in, in->sidecar != NULL ? in->sidecar : "")) {
        log_info("%zu sidecar file%s of grids and tables ignored, '%s' first", in->n_sidecars,
                 in->n_sidecars == 1 ? "" : "s", in->sidecar != NULL ? in->sidecar : "");
        in->n_sidecars = 0;
    }
}

/* --- archives --------------------------------------------------------------------------------- */

/* The file or, where there is none (fd -1), the stream is taken over. */
static enum status open_archive(struct inputs *in, const char *path, int fd,
                                const struct source_stream *stream)
{
    const struct archive_input_options options = {.stop = &in->stop,
                                                  .limits = in->settings->unpack,
                                                  .max_entries = in->settings->max_entries};
    in->archive_comes_once = stream != NULL;
    if (stream != NULL && !archive_input_streams(path)) {
        STATUS_TRY(copy_stream(in, path, stream, &fd));
    }
    enum status code = fd >= 0 ? archive_input_open(fd, path, &options, &in->archive)
                               : archive_input_open_stream(stream, path, &options, &in->archive);
    if (code == STATUS_OK && (in->archive_path = strdup(path)) == NULL) {
        close_archive(in);
        code = status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    return code;
}

static enum status open_file(const char *path, struct stat *st, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, st) != 0) {
        const enum status code = status_fail_errno(errno, "cannot open '%s'", path);
        if (*fd >= 0) {
            close(*fd);
        }
        return code;
    }
    return STATUS_OK;
}

/* An archive in a folder, or one that is named. */
static enum status open_archive_file(struct inputs *in, const char *path)
{
    struct stat st;
    int fd;
    STATUS_TRY(open_file(path, &st, &fd));
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return status_fail(STATUS_BAD_INPUT, "'%s' is not a regular file", path);
    }
    return open_archive(in, path, fd, NULL);
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

enum member_kind { MEMBER_PASSED_OVER, MEMBER_OF_JOB, MEMBER_PROJECTION, MEMBER_ARCHIVE };

/* What a folder of such files would do with the member at `path`; `name` is its part in the
 * archive. */
static enum member_kind judge_member(struct inputs *in, const char *name, const char *path)
{
    if (!is_hidden(name) && !file_name_is_temporary(name) && archive_input_named(name)) {
        return MEMBER_ARCHIVE;
    }
    if (!is_hidden(name) && settings_routes(in->settings, path)) {
        return MEMBER_OF_JOB;
    }
    if (!is_hidden(name) && projection_named(name)) {
        return MEMBER_PROJECTION;
    }
    pass_over(in, path);
    return MEMBER_PASSED_OVER;
}

/* Unpacks the member into a scratch file. */
static enum status unpack_member(struct inputs *in, int *fd)
{
    uint64_t bytes;
    STATUS_TRY(scratch_file(in->scratch_fd, fd));
    const uint64_t room = scratch_room(*fd);
    enum status code = archive_input_copy(in->archive, *fd, room, &bytes);
    if (code == STATUS_TOO_LARGE && bytes == room) { /* which is not the archive's fault */
        code = status_fail(STATUS_NO_SPACE, "%s: there is no room for more", status_message());
    }
    if (code != STATUS_OK) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

static enum status take_projection(struct inputs *in, const char *path)
{
    char *text = NULL;
    int fd;
    STATUS_TRY(unpack_member(in, &fd));
    const enum status code = projection_read(fd, path, &text);
    close(fd);
    return code == STATUS_OK ? parts_add_projection(in->parts, path, text) : code;
}

static enum status refuse_member(const struct archive_input_entry *entry, const char *path)
{
    return status_fail(STATUS_BAD_INPUT, "'%s' is not taken out of its archive: %s", path,
                       entry->refused);
}

static enum status take_member_projection(struct inputs *in,
                                          const struct archive_input_entry *entry, const char *path,
                                          struct job_input *out)
{
    const char *name = input_name_last(path);
    char *stem = strndup(name, projection_stem(path) - (size_t)(name - path));
    bool own = true;
    enum status code = stem != NULL ? find_share(in, stem, &own)
                                    : status_fail(STATUS_NO_MEMORY, "no memory for a name");
    free(stem);
    if (own && code == STATUS_OK) {
        code = entry->refused != NULL ? refuse_member(entry, path) : take_projection(in, path);
    }
    if (code != STATUS_OK && code != STATUS_BAD_INPUT) {
        close_archive(in); /* its grid must not be processed without it */
    }
    return about(out, path, code);
}

static enum status refuse_nested(struct inputs *in, const char *path, struct job_input *out)
{
    bool own = true;
    enum status code = find_share(in, input_name_last(path), &own);
    if (!own && code == STATUS_OK) {
        leave_to_others(in);
        return STATUS_OK;
    }
    return about(out, path,
                 code != STATUS_OK
                     ? code
                     : status_fail(STATUS_BAD_INPUT,
                                   "'%s' is an archive in an archive, and these are not unpacked; "
                                   "give it by itself",
                                   path));
}

static enum status read_lent(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    struct inputs *in = user;
    *n = 0;
    return stop != NULL && atomic_load(stop)
               ? status_fail(STATUS_CANCELLED, "%s: stopped", in->archive_path)
               : archive_input_read(in->archive, dst, cap, n);
}

static void give_back(void *user)
{
    atomic_store(&((struct inputs *)user)->is_lent, false);
}

/* A large member that is read forward is unpacked as its job reads it, when it has all other parts.
 * Meanwhile there is no next one. */
static bool may_lend(const struct inputs *in, const struct archive_input_entry *entry,
                     const char *path, const struct job_settings *settings)
{
    return entry->bytes >= lend_bytes && !in->settings->resume && is_read_forward(path) &&
           parts_would_complete(in->parts, path, settings);
}

static enum status lend_member(struct inputs *in, const struct archive_input_entry *entry,
                               struct job_part *part)
{
    *part = (struct job_part){.fd = -1, .is_stream = true, .entry = entry->number};
    const char *found_at = in->found_at != NULL ? in->found_at : in->archive_path;
    if (!in->archive_comes_once && (part->archive = strdup(found_at)) == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    part->stream = (struct source_stream){
        .read = read_lent, .close = give_back, .user = in, .bytes = entry->bytes};
    atomic_store(&in->is_lent, true);
    return STATUS_OK;
}

bool inputs_is_lent(const struct inputs *in)
{
    return atomic_load(&in->is_lent);
}

/* Makes the member an input, or a part of one. */
static enum status take_member(struct inputs *in, const struct archive_input_entry *entry,
                               const char *path, struct job_input *out, bool *got)
{
    struct job_settings settings;
    struct job_part part = {.fd = -1};
    bool own;
    enum status code = resolve_input(in, path, &settings, &own);
    if (own && entry->refused != NULL) {
        code = refuse_member(entry, path);
    }
    if (own && code == STATUS_OK) {
        code = may_lend(in, entry, path, &settings) ? lend_member(in, entry, &part)
                                                    : unpack_member(in, &part.fd);
        if (code == STATUS_OK) {
            return take_part(in, path, &part, &settings, out, got);
        }
    }
    job_settings_free(&settings);
    return about(out, path, code);
}

/* Goes on to the next member that a pipeline takes, or to the archive's end; *got when that makes a
 * job. There is no going on after a failure to find one. */
static enum status next_member(struct inputs *in, struct job_input *out, bool *got)
{
    struct archive_input_entry entry;
    bool end;
    enum status code = archive_input_next(in->archive, &entry, &end);
    char *raw_path = NULL, *path = NULL;
    if (code != STATUS_OK || end) {
        code = about_walk(in, out, in->archive_path, code);
        close_archive(in);
        return code;
    }
    if (asprintf(&raw_path, "%s/%s", in->archive_path, entry.raw) < 0 ||
        asprintf(&path, "%s/%s", in->archive_path, entry.name) < 0) {
        code = about(out, in->archive_path, status_fail(STATUS_NO_MEMORY, "no memory for a path"));
        close_archive(in);
        free(raw_path);
        return code;
    }
    switch (judge_member(in, entry.raw, raw_path)) {
    case MEMBER_OF_JOB:
        code = take_member(in, &entry, path, out, got);
        break;
    case MEMBER_PROJECTION:
        code = take_member_projection(in, &entry, path, out);
        break;
    case MEMBER_ARCHIVE:
        code = refuse_nested(in, path, out);
        break;
    case MEMBER_PASSED_OVER:
        break;
    }
    free(raw_path);
    free(path);
    return code;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* A file in a folder. *got when it is an input; an archive is opened instead. */
static enum status take_file(struct inputs *in, const FTSENT *entry, struct job_input *out,
                             bool *got)
{
    *got = false;
    if (file_name_is_temporary(entry->fts_name)) {
        return STATUS_OK;
    }
    if (archive_input_named(entry->fts_name)) {
        return about_walk(in, out, entry->fts_path, open_archive_file(in, entry->fts_path));
    }
    if (settings_routes(in->settings, entry->fts_path)) {
        return take_input(in, entry->fts_path, out, got);
    }
    pass_over(in, entry->fts_path);
    return STATUS_OK;
}

static void pass_over_link(struct inputs *in, const FTSENT *entry)
{
    if (!settings_routes(in->settings, entry->fts_path)) {
        log_debug("'%s': is a link, skipped", entry->fts_path);
    } else if (speaks_of(in, entry->fts_path)) {
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
    while (!is_stopped(in) && in->archive == NULL && in->leaving == NULL &&
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
            return about_walk(
                in, out, entry->fts_path,
                status_fail_errno(entry->fts_errno, "cannot read '%s'", entry->fts_path));
        case FTS_DP:
            in->leaving = strdup(entry->fts_path);
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
        const int error = is_stopped(in) ? 0 : errno; /* none where all has been seen */
        fts_close(in->walk);
        in->walk = NULL;
        if (error != 0) {
            return about_walk(in, out, in->argument,
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
        return about_walk(in, out, path, code);
    }
    return archive_input_named(path)
               ? about_walk(in, out, path, open_archive(in, path, -1, &stream))
               : take_stream(in, path, &stream, out, got);
}

/* Standard input under its name, as it comes, also where it is a file. */
static enum status take_stdin(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->settings->name != NULL ? in->settings->name : "stdin";
    const int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) {
        return about_walk(in, out, path, status_fail_errno(errno, "cannot read standard input"));
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
        return about(out, path,
                     status_fail(STATUS_BAD_ARGUMENT,
                                 "'%s' is a pipe, which cannot be combined with --resume", path));
    }
    const enum status code = open_file(path, &st, &fd);
    return code != STATUS_OK ? about_walk(in, out, path, code) : take_pipe(in, path, fd, out, got);
}

/* Opens the next argument; *got when it is a file that makes a job. */
static enum status next_argument(struct inputs *in, struct job_input *out, bool *got)
{
    const char *path = in->argument = in->settings->inputs[in->next++];
    struct stat st;
    in->n_taken = in->n_foreign = in->n_results = 0;
    if (settings_is_stdin(path)) {
        return take_stdin(in, out, got);
    }
    if (stat(path, &st) != 0) {
        return about_walk(in, out, path, status_fail_errno(errno, "cannot find '%s'", path));
    }
    if (S_ISDIR(st.st_mode) && input_walk_is_result(path)) {
        return about_walk(in, out, path,
                          status_fail(STATUS_BAD_ARGUMENT,
                                      "'%s' is a result of leat, not an input; leat show '%s' says "
                                      "what it holds; give the files that it was made from",
                                      path, path));
    }
    if (S_ISDIR(st.st_mode)) {
        in->walk = input_walk_start(path);
        return in->walk != NULL
                   ? STATUS_OK
                   : about_walk(in, out, path, status_fail_errno(errno, "cannot read '%s'", path));
    }
    if (is_pipe(st.st_mode)) {
        return take_named_pipe(in, path, out, got);
    }
    if (archive_input_named(path)) {
        return about_walk(in, out, path, open_archive_file(in, path));
    }
    if (!input_name_is_sidecar(path)) {
        return take_input(in, path, out, got);
    }
    pass_over(in, path); /* a shell's X.* */
    return STATUS_OK;
}

static void tell_foreign(const struct inputs *in, const char *path)
{
    if (in->n_foreign > 0 && speaks_of(in, path)) {
        log_info("%zu file%s in '%s' left alone: no pipeline takes %s (-v: which)", in->n_foreign,
                 in->n_foreign == 1 ? "" : "s", path, in->n_foreign == 1 ? "it" : "them");
    }
}

/* The next --source, with --dem. */
static enum status next_source(struct inputs *in, struct job_input *out, bool *got)
{
    const char *source = in->settings->sources[in->next_source++];
    struct job_settings settings;
    bool own = true;
    enum status code = settings_resolve_source(in->settings, source, &settings);
    if (code == STATUS_OK) {
        code = find_share(in, settings.stem, &own);
    }
    if (!own) {
        leave_to_others(in);
    }
    if (code != STATUS_OK || !own) {
        job_settings_free(&settings);
        return about_walk(in, out, source, code);
    }
    out->settings = settings;
    out->n_parts = 2;
    out->parts[0] = (struct job_part){.fd = -1, .path = strdup(in->settings->dem)};
    out->parts[1] = (struct job_part){.fd = -1, .path = strdup(source)};
    *got = out->parts[0].path != NULL && out->parts[1].path != NULL;
    return *got ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a path");
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
        return about_walk(in, out, path,
                          status_fail(STATUS_BAD_ARGUMENT,
                                      "'%s' holds results of leat (%zu) and no input; leat show "
                                      "'%s' lists them; give the files that they were made from",
                                      path, in->n_results, path));
    }
    const bool named = in->settings->pipeline != NULL;
    char names[SETTINGS_NAMES_BYTES];
    return about_walk(in, out, path,
                      status_fail(STATUS_BAD_ARGUMENT,
                                  "'%s' holds no file that %s takes; give them names like %s%s%s",
                                  path, named ? in->settings->pipeline : "a pipeline",
                                  settings_names(names), named ? "" : ", or give --pipeline ",
                                  named ? "" : stage_registry[0]->name));
}

/* What waits in a folder that has ended lacks its other parts: one of them. */
static enum status give_up(struct inputs *in, struct job_input *out)
{
    STATUS_TRY(parts_give_up(in->parts, in->leaving, out));
    free(in->leaving);
    in->leaving = NULL;
    return STATUS_OK;
}

/* Only sidecar files were named. */
static enum status only_sidecars(struct inputs *in, struct job_input *out)
{
    const char *path = in->settings->inputs[0];
    in->n_sidecars = 0;
    return about_walk(
        in, out, path,
        status_fail(STATUS_BAD_ARGUMENT,
                    "'%s' is a sidecar file of a grid or a table, not an input; name that", path));
}

/* One step to the next input; *end: there is none. */
static enum status advance(struct inputs *in, struct job_input *out, bool *got, bool *end)
{
    if (in->leaving != NULL) {
        return give_up(in, out);
    }
    if (in->archive != NULL) {
        return next_member(in, out, got);
    }
    if (in->first_fd >= 0) {
        const int fd = in->first_fd;
        in->first_fd = -1;
        return about_walk(in, out, in->argument, open_archive(in, in->argument, fd, NULL));
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
    enum status code = parts_give_up(in->parts, "", out);
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
        if (is_stopped(in)) {
            *end = true;
            break;
        }
        bool within = in->leaving != NULL || in->archive != NULL || in->walk != NULL;
        code = advance(in, out, &got, end);
        in->n_taken += got || code != STATUS_OK;
        in->n_all += got || code != STATUS_OK;
        if (within && in->leaving == NULL && in->archive == NULL && in->walk == NULL &&
            code == STATUS_OK && !got && !is_stopped(in)) {
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
