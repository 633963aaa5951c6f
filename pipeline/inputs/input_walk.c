/*
 * input_walk - see input_walk.h.
 */
#include "pipeline/inputs/input_walk.h"

#include "watch/files/publish.h"
#include "watch/files/xalloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

FTS *input_walk_start(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    return fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
}

struct stat input_walk_output(const char *output)
{
    struct stat st;
    return stat(output, &st) == 0 ? st : (struct stat){0};
}

static bool is_output(const struct stat *output, const FTSENT *entry)
{
    return output->st_ino != 0 && entry->fts_ino == output->st_ino &&
           entry->fts_dev == output->st_dev;
}

/* A result, at whatever depth in the output folder, which is among those that are walked. */
static bool is_result(const struct stat *output, const FTSENT *entry)
{
    const FTSENT *above = entry;
    do {
        above = above->fts_parent;
    } while (above->fts_level > 0 && !is_output(output, above));
    return is_output(output, above) && publish_find(AT_FDCWD, entry->fts_accpath) > 0;
}

bool input_walk_is_result(const char *path)
{
    enum { HEAD_BYTES = 64 }; /* "schema" and "leat" come first in what leat writes */
    char head[HEAD_BYTES + 1], *const name = xasprintf("%s/result.json", path);
    const int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    free(name);
    const ssize_t n = fd >= 0 ? read(fd, head, HEAD_BYTES) : 0;
    if (fd >= 0) {
        close(fd);
    }
    head[n > 0 ? n : 0] = '\0';
    return strstr(head, "\"schema\"") != NULL && strstr(head, "\"leat\"") != NULL;
}

bool input_walk_skips(const struct stat *output, const FTSENT *entry)
{
    return entry->fts_level > 0 &&
           (entry->fts_name[0] == '.' || is_output(output, entry) || is_result(output, entry) ||
            input_walk_is_result(entry->fts_accpath));
}

static bool is_wanted(const struct settings *settings, const FTSENT *entry)
{
    const enum input_kind kind = settings_input_kind(settings, entry->fts_path);
    return entry->fts_level == 0 || kind == INPUT_ARCHIVE || kind == INPUT_OF_JOB;
}

uint64_t input_walk_bytes(const struct settings *settings, const struct stat *output,
                          const atomic_bool *stop)
{
    uint64_t total = 0;
    for (size_t i = 0; i < settings->n_inputs && !atomic_load(stop); i++) {
        FTS *walk = input_walk_start(settings->inputs[i]);
        FTSENT *entry;
        /* at least one entry: fts_close() leaks a walk that was never read */
        while (walk != NULL && (entry = fts_read(walk)) != NULL && !atomic_load(stop)) {
            if (entry->fts_info == FTS_D && input_walk_skips(output, entry)) {
                fts_set(walk, entry, FTS_SKIP);
            } else if (entry->fts_info == FTS_F && is_wanted(settings, entry)) {
                total += (uint64_t)entry->fts_statp->st_size;
            }
        }
        if (walk != NULL) {
            fts_close(walk);
        }
    }
    struct stat st;
    for (size_t i = 0; i < settings->n_sources && !atomic_load(stop); i++) {
        total += stat(settings->dem, &st) == 0 ? (uint64_t)st.st_size : 0;
        total += stat(settings->sources[i], &st) == 0 ? (uint64_t)st.st_size : 0;
    }
    return total;
}
