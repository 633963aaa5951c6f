/*
 * result_names - see result_names.h. The folders above results are in the tree, too.
 */
#include "pipeline/inputs/result_names.h"
#include "watch/files/xalloc.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct result_name {
    char *name;
    char *path; /* of the input that it is the result of, or above the result of; NULL: reserved */
    bool is_folder;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct result_name *)a)->name, ((const struct result_name *)b)->name);
}

static void free_name(void *entry)
{
    struct result_name *e = entry;
    free(e->name);
    free(e->path);
    free(e);
}

/* The entry of the first n bytes of `name`, which is made where there is none: *fresh. */
static const struct result_name *get(struct result_names *names, const char *name, size_t n,
                                     const char *path, bool is_folder, bool *fresh)
{
    struct result_name *e = xcalloc(1, sizeof(*e)), **found;
    e->name = xstrndup(name, n);
    e->path = path != NULL ? xstrdup(path) : NULL;
    e->is_folder = is_folder;
    found = xalloc_checked(tsearch(e, &names->tree, by_name));
    *fresh = *found == e;
    if (!*fresh) {
        free_name(e);
    }
    return *found;
}

/* What is wrong with a result that another input's stands in the way of. */
static enum status refuse(const struct job_input *input, const struct result_name *other)
{
    const char *path = input->parts[0].path, *result = job_settings_result(&input->settings);
    if (other->path == NULL) {
        return status_fail(STATUS_EXISTS,
                           "'%s': its result would be '%s', and '%s' is another; "
                           "rename it",
                           path, result, other->name);
    }
    if (strlen(other->name) < strlen(result)) {
        return status_fail(STATUS_EXISTS,
                           "'%s': its result would be '%s', within that of '%s'; rename one of "
                           "them",
                           path, result, other->path);
    }
    if (other->is_folder) {
        return status_fail(STATUS_EXISTS,
                           "'%s': its result would be '%s', in which that of '%s' lies; rename one "
                           "of them",
                           path, result, other->path);
    }
    return strcmp(other->path, path) == 0 && input->n_parts == 1
               ? status_fail(STATUS_EXISTS, "'%s' is named twice in this run", path)
               : status_fail(STATUS_EXISTS,
                             "'%s': its result would be '%s', as that of '%s'; rename one of them, "
                             "or give a folder that holds both in folders of their own",
                             path, result, other->path);
}

enum status result_names_add(struct result_names *names, const struct job_input *input)
{
    const char *result = job_settings_result(&input->settings), *path = input->parts[0].path;
    bool fresh;
    for (const char *slash = result; (slash = strchr(slash, '/')) != NULL; slash++) {
        const struct result_name *above =
            get(names, result, (size_t)(slash - result), path, true, &fresh);
        if (!above->is_folder) {
            return refuse(input, above);
        }
    }
    const struct result_name *own = get(names, result, strlen(result), path, false, &fresh);
    return fresh ? STATUS_OK : refuse(input, own);
}

void result_names_reserve(struct result_names *names, const char *name)
{
    bool fresh;
    (void)get(names, name, strlen(name), NULL, false, &fresh);
}

void result_names_free(struct result_names *names)
{
    tdestroy(names->tree, free_name);
    names->tree = NULL;
}
