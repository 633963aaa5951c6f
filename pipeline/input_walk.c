/*
 * input_walk - see input_walk.h.
 */
#include "pipeline/input_walk.h"

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

bool input_walk_skips(const struct stat *output, const FTSENT *entry)
{
    return entry->fts_level > 0 &&
           (entry->fts_name[0] == '.' || is_output(output, entry) || is_result(output, entry));
}
