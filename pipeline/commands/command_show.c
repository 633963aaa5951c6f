/*
 * command_show - leat show: what a result says, from its result.json; of a folder with results in
 * it the first figures of each; of anything else, what leat check says of it as an input.
 */
#include "formats/base/file_name.h"
#include "formats/base/json.h"
#include "formats/base/log.h"
#include "formats/source/zip_input.h"
#include "pipeline/commands/commands.h"
#include "pipeline/commands/runner.h"
#include "pipeline/engine/overview.h"
#include "pipeline/inputs/input_walk.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_WIDTH = 26, MOST_BYTES = 64 << 20 };

static const char file_name[] = "result.json";

/* Opens the result.json of a folder, or that file itself; -1: it is no result. */
static int open_result(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        const int fd = openat(folder, file_name, O_RDONLY | O_CLOEXEC);
        close(folder);
        return fd;
    }
    const char *const slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, file_name) == 0
               ? open(path, O_RDONLY | O_CLOEXEC)
               : -1;
}

/* Whether it is that of a job; else it is the index of an archive, as leat watch leaves it, of
 * which each job has a folder. */
static bool is_job(const json_t *result)
{
    return json_is_string(json_object_get(result, "pipeline"));
}

/* The index that leat watch leaves in the result of an archive. */
static bool is_archive(const json_t *result)
{
    return json_is_string(json_object_get(result, "archive"));
}

/* --- in a zip --------------------------------------------------------------------------------- */

static enum status read_member(struct zip_input *zip, const struct zip_input_member *member,
                               json_t **out)
{
    const size_t bytes = (size_t)member->bytes;
    size_t n = 0;
    char *const text = xmalloc(bytes + 1);
    enum status code = zip_input_begin(zip, member, file_name);
    code = code == STATUS_OK ? zip_input_read(zip, text, bytes + 1, &n) : code;
    code = code == STATUS_OK ? zip_input_end(zip) : code;
    code = code == STATUS_OK ? json_read(text, n, out) : code;
    free(text);
    return code;
}

/* It is the first member of what --bundle leaves. */
static enum status read_zip(struct zip_input *zip, json_t **out)
{
    struct zip_input_member member;
    bool is_end;
    STATUS_TRY(zip_input_next(zip, &member, &is_end));
    return !is_end && strcmp(member.name, file_name) == 0 && member.bytes <= MOST_BYTES
               ? read_member(zip, &member, out)
               : STATUS_OK;
}

static enum status open_and_read(int fd, const char *path, json_t **out)
{
    struct source *source;
    struct zip_input *zip = NULL;
    STATUS_TRY(source_open(fd, path, &source));
    enum status code = zip_input_open(source, &zip);
    code = code == STATUS_OK ? read_zip(zip, out) : code;
    zip_input_free(zip);
    source_free(source);
    return code;
}

/* A zip that is damaged or holds something else means no result: what it is check says. */
static enum status read_bundle(const char *path, json_t **out)
{
    const int fd = file_name_ends(path, ".zip")
                       ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
                       : -1;
    if (fd < 0) {
        return STATUS_OK;
    }
    const enum status code = open_and_read(fd, path, out);
    if (code == STATUS_OK && *out != NULL && !is_job(*out)) {
        json_decref(*out);
        *out = NULL;
    }
    return code == STATUS_IO || code == STATUS_NO_MEMORY ? code : STATUS_OK;
}

/* The result.json that a path means: a folder's, that file itself, or the one in the zip that
 * --bundle leaves; for json_decref(). *out NULL and STATUS_OK, with errno: the path means none.
 * STATUS_BAD_INPUT: one that leat has not written. */
static enum status read_result(const char *path, json_t **out)
{
    *out = NULL;
    const int fd = open_result(path);
    if (fd < 0) {
        const int error = errno;
        const enum status code = read_bundle(path, out);
        errno = error;
        return code;
    }
    enum status code = json_read_fd(fd, MOST_BYTES, out);
    close(fd);
    if (code == STATUS_OK && !is_job(*out) && !is_archive(*out)) {
        json_decref(*out);
        *out = NULL;
        code = status_fail(STATUS_BAD_INPUT, "it names no pipeline");
    }
    return code == STATUS_OK
               ? code
               : status_fail(code, "%s: is not a result of leat: %s", path, status_message());
}

/* --- what it says ----------------------------------------------------------------------------- */

/* Text and blanks up to a width; characters, not bytes, count. */
static void put_padded(const char *text, size_t width)
{
    size_t n = 0;
    text_put(stdout, text);
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    printf("%*s", n < width ? (int)(width - n) : 1, "");
}

static enum status print_item(void *to, enum overview_kind kind, size_t n, const char *const *texts)
{
    static const char *const before[] = {
        [OVERVIEW_TITLE] = "",    [OVERVIEW_FIGURE] = "picture: ", [OVERVIEW_SECTION] = "\n",
        [OVERVIEW_FACT] = "  ",   [OVERVIEW_HEAD] = "  ",          [OVERVIEW_ROW] = "  ",
        [OVERVIEW_NOTE] = "  - ", [OVERVIEW_CODE] = "  "};
    size_t *const n_shown = to;
    n = kind == OVERVIEW_FIGURE ? 1 : n; /* its name says it here */
    fputs(kind == OVERVIEW_TITLE && (*n_shown)++ > 0 ? "\n" : before[kind], stdout);
    for (size_t k = 0; k + 1 < n; k++) {
        put_padded(texts[k], kind == OVERVIEW_FACT ? NAME_WIDTH : NAME_WIDTH - 2);
    }
    text_put(stdout, texts[n - 1]);
    putchar('\n');
    return STATUS_OK;
}

/* The first figures of a result that is one of several. */
struct brief {
    const char *path;
    const json_t *result;
    size_t n_facts;
};

enum { FACTS_LISTED = 3 };

static enum status print_brief(void *to, enum overview_kind kind, size_t n,
                               const char *const *texts)
{
    struct brief *const b = to;
    if (kind == OVERVIEW_TITLE) {
        const size_t n_warnings = json_array_size(json_object_get(b->result, "warnings"));
        text_put(stdout, b->path);
        fputs(": ", stdout);
        text_put(stdout, texts[0]);
        if (n > 1) {
            fputs(" of ", stdout);
            text_put(stdout, texts[n - 1]);
        }
        if (n_warnings > 0) {
            printf(", %zu warning%s", n_warnings, n_warnings == 1 ? "" : "s");
        }
        putchar('\n');
    } else if (kind == OVERVIEW_SECTION && b->n_facts > 0) {
        b->n_facts = FACTS_LISTED; /* those that follow are no figures */
    } else if (kind == OVERVIEW_FACT && b->n_facts < FACTS_LISTED) {
        b->n_facts++;
        fputs("  ", stdout);
        put_padded(texts[0], NAME_WIDTH);
        text_put(stdout, texts[n - 1]);
        putchar('\n');
    }
    return STATUS_OK;
}

/* A result among others; *is_whole: what lies in its folder is part of it. */
static enum status list_result(const struct settings *s, const char *path, bool *is_whole)
{
    json_t *result = NULL;
    enum status st = read_result(path, &result);
    if (st == STATUS_OK && result == NULL) {
        st = status_fail_errno(errno, "%s: cannot read its result.json", path);
    }
    *is_whole = st == STATUS_OK && is_job(result);
    if (*is_whole) {
        struct brief brief = {path, result, 0};
        if (s->json) {
            runner_print_json(result);
        } else {
            st = overview_tell(result, print_brief, &brief);
        }
    }
    json_decref(result);
    return st;
}

/* The results in a folder, by name; *n: how many there are. */
static enum status list_results(const struct settings *s, const char *path, size_t *n)
{
    FTS *const walk = input_walk_start(path);
    enum status st = walk != NULL ? STATUS_OK : status_fail_errno(errno, "cannot read '%s'", path);
    FTSENT *entry = NULL;
    while (st == STATUS_OK && (errno = 0, entry = fts_read(walk)) != NULL) {
        bool is_whole = false;
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
            st = status_fail_errno(entry->fts_errno, "cannot read '%s'", entry->fts_path);
        } else if (entry->fts_info != FTS_D || entry->fts_level == 0) {
            continue;
        } else if (entry->fts_name[0] == '.') {
            fts_set(walk, entry, FTS_SKIP);
        } else if (input_walk_is_result(entry->fts_accpath)) {
            st = list_result(s, entry->fts_path, &is_whole);
            *n += is_whole;
        }
        if (is_whole) {
            fts_set(walk, entry, FTS_SKIP);
        }
    }
    if (st == STATUS_OK && errno != 0) {
        st = status_fail_errno(errno, "the folder '%s' cannot be read to its end", path);
    }
    if (walk != NULL) {
        fts_close(walk);
    }
    return st;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A result that was named; that of an archive is the list of those in it. */
static enum status print_result(const struct settings *s, const char *path, const json_t *result,
                                size_t *n_shown)
{
    if (s->json) {
        (*n_shown)++;
        runner_print_json(result);
        return STATUS_OK;
    }
    if (is_job(result)) {
        return overview_tell(result, print_item, n_shown);
    }
    return is_folder(path)
               ? list_results(s, path, n_shown)
               : status_fail(STATUS_BAD_ARGUMENT,
                             "%s: lists the jobs of an archive; give the folder it is in", path);
}

/* What is no result is an input: all of these are looked at together, as they may be parts of one
 * job. */
static enum status check_rest(const struct settings *s, char **rest, size_t n, int *exit_status)
{
    struct settings inputs = *s;
    inputs.inputs = rest;
    inputs.n_inputs = n;
    return n > 0 ? command_check(&inputs, exit_status) : STATUS_OK;
}

/* What is neither a result nor a folder with some is left to check: *is_rest. */
static enum status show_one(const struct settings *s, const char *path, size_t *n_shown,
                            bool *is_rest)
{
    json_t *result;
    size_t n_listed = 0;
    enum status st = read_result(path, &result);
    const bool is_result = result != NULL;
    if (is_result) {
        st = print_result(s, path, result, n_shown);
    } else if (st == STATUS_OK && is_folder(path)) {
        st = list_results(s, path, &n_listed);
    }
    json_decref(result);
    *is_rest = !is_result && n_listed == 0 && st == STATUS_OK;
    *n_shown += n_listed;
    return st;
}

enum status command_show(const struct settings *s, int *exit_status)
{
    char **const rest = xcalloc(s->n_inputs, sizeof *rest);
    size_t n = 0, n_shown = 0, n_failed = 0;
    *exit_status = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        bool is_rest;
        if (show_one(s, s->inputs[i], &n_shown, &is_rest) != STATUS_OK) {
            log_error("%s", status_message());
            n_failed++;
        }
        if (is_rest) {
            rest[n++] = s->inputs[i];
        }
    }
    const enum status st = check_rest(s, rest, n, exit_status);
    free(rest);
    if (n_failed > 0 && *exit_status == 0) {
        *exit_status = n_shown + n > 0 ? 1 : 2;
    } else if (*exit_status == 2 && n_shown > 0) {
        *exit_status = 1;
    }
    return st;
}
