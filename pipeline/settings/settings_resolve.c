/*
 * settings_resolve - what holds for one input: its pipeline, every parameter, the result's name.
 *
 * The pipeline is that of --pipeline, else of the first matching route, else that of the deepest
 * sub-folder of the input named after one, else the one that the name asks for, else, of a table
 * that is an input itself, the first. A parameter is
 * taken from -s, else from the route, else from [pipeline NAME], else built in. A route counts only
 * for the pipeline that it (or its absence of one) leads to: --pipeline passes over routes to
 * another.
 */
#include "formats/base/file_name.h"
#include "formats/source/archive_input.h"
#include "formats/table/foreign.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/input_name.h"
#include "pipeline/settings/settings_parts.h"
#include "watch/files/xalloc.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A glob with a slash is held against the whole path, another one against its last component. In
 * both '*' also matches slashes. */
static bool route_matches(const struct settings_section *route, const char *path)
{
    if (route->match == NULL) {
        return true;
    }
    if (strchr(route->match, '/') == NULL) {
        return fnmatch(route->match, file_name_last(path), 0) == 0;
    }
    const char *whole = strncmp(path, "./", 2) == 0 ? path + 2 : path;
    const char *glob = strncmp(route->match, "./", 2) == 0 ? route->match + 2 : route->match;
    return fnmatch(glob, whole, 0) == 0;
}

static const struct settings_section *find_route(const struct settings *s, const char *path)
{
    for (size_t i = 0; i < s->n_routes; i++) {
        const struct settings_section *route = &s->routes[i];
        bool elsewhere = s->pipeline != NULL && route->pipeline != NULL &&
                         strcmp(s->pipeline, route->pipeline) != 0;
        if (!elsewhere && route_matches(route, path)) {
            return route;
        }
    }
    return NULL;
}

/* Where, in the path, the folders begin that may name a pipeline: at the last component of the
 * input that the path lies beneath; for an input that is the file itself, at the folder it is in;
 * for a path that is beneath no input, at its start. */
static size_t first_folder(const struct settings *s, const char *path)
{
    size_t longest = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        size_t n = strlen(s->inputs[i]);
        while (n > 0 && s->inputs[i][n - 1] == '/') {
            n--;
        }
        bool beneath = n > longest && strncmp(path, s->inputs[i], n) == 0;
        if (beneath && (path[n] == '/' || path[n] == '\0')) {
            longest = n;
        }
    }
    if (path[longest] == '\0') { /* step back over the file's own name */
        while (longest > 0 && path[longest - 1] != '/') {
            longest--;
        }
        longest -= longest > 0;
    }
    while (longest > 0 && path[longest - 1] != '/') {
        longest--;
    }
    return longest;
}

/* The stage that the deepest such folder is named after. */
static const struct stage_ops *find_by_folder(const struct settings *s, const char *path)
{
    const struct stage_ops *found = NULL;
    const char *slash;
    for (const char *at = path + first_folder(s, path); (slash = strchr(at, '/')) != NULL;
         at = slash + 1) {
        size_t n = (size_t)(slash - at);
        for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
            if (strlen((*stage)->name) == n && memcmp((*stage)->name, at, n) == 0) {
                found = *stage;
            }
        }
    }
    return found;
}

/* The number of the stage's part that the name asks for last, as its stem is what stands before
 * that (x.dem.source.asc is the source of x.dem); n_parts: none. A grid's name ends in one of the
 * known ways, since other files are kept beside it (.prj, .aux.xml, .tfw). */
static size_t find_part(const struct stage_ops *stage, const char *path)
{
    size_t found = stage->n_parts, longest = 0;
    for (size_t i = 0; i < stage->n_parts; i++) {
        const size_t n = input_name_asks_for(path, stage->parts[i].suffix);
        if (n > longest && (stage->parts[i].kind == STAGE_TABLE || input_name_is_grid(path))) {
            found = i;
            longest = n;
        }
    }
    return found;
}

static const struct stage_ops *find_by_name(const char *path)
{
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        if (find_part(*stage, path) < (*stage)->n_parts) {
            return *stage;
        }
    }
    return NULL;
}

/* Whether the path is an input itself (or what standard input is called), not something in one, and
 * a table, as standard input without a name is. */
static bool is_named_table(const struct settings *s, const char *path)
{
    bool is_input = false, is_stdin = false;
    for (size_t i = 0; i < s->n_inputs; i++) {
        is_input |= strcmp(s->inputs[i], path) == 0;
        is_stdin |= settings_is_stdin(s->inputs[i]);
    }
    if (is_stdin && s->name == NULL && strcmp(path, SETTINGS_STDIN) == 0) {
        return true;
    }
    is_stdin = s->name != NULL && strcmp(s->name, path) == 0;
    return (is_input || is_stdin) && input_name_is_table(path) && !settings_asks_for_grid(path);
}

/* NULL when no pipeline takes it. *route is the route that counts, NULL when none does. */
static const struct stage_ops *find_stage(const struct settings *s, const char *path,
                                          const struct settings_section **route)
{
    *route = find_route(s, path);
    if (s->pipeline != NULL) {
        return stage_find(s->pipeline);
    }
    if (*route != NULL && (*route)->pipeline != NULL) {
        return stage_find((*route)->pipeline);
    }
    const struct stage_ops *stage = find_by_folder(s, path);
    stage = stage != NULL ? stage : find_by_name(path);
    return stage == NULL && is_named_table(s, path) ? stage_registry[0] : stage;
}

static bool routes(const struct settings *s, const char *path)
{
    const struct settings_section *route;
    const struct stage_part *parts[STAGE_MAX_PARTS];
    const struct stage_ops *stage = find_stage(s, path, &route);
    bool by_glob =
        s->pipeline == NULL && route != NULL && route->pipeline != NULL && route->match != NULL;
    return stage != NULL && (by_glob || find_part(stage, path) < stage->n_parts ||
                             (stage_parts(stage, NULL, parts) == 1 && input_name_is_table(path)));
}

/* `all`: also parts that a parameter asks for. */
static const char *names_of(const struct stage_ops *stage, bool all, char out[SETTINGS_NAMES_BYTES])
{
    char asks[STAGE_INSTEAD_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < stage->n_parts && n < SETTINGS_NAMES_BYTES; i++) {
        const struct stage_part *const part = &stage->parts[i];
        const bool may_lack = part->unless != NULL;
        if (!all && *stage_asks(stage, part, asks) != '\0') {
            continue;
        }
        n +=
            (size_t)snprintf(out + n, SETTINGS_NAMES_BYTES - n, "%s%s%sX.%s.%s%s", i > 0 ? " " : "",
                             may_lack ? "[" : "", i > 0 ? "+ " : "", part->suffix,
                             part->kind == STAGE_GRID ? "tif" : "csv", may_lack ? "]" : "");
    }
    return out;
}

const char *settings_names_of(const struct stage_ops *stage, char out[SETTINGS_NAMES_BYTES])
{
    return names_of(stage, true, out);
}

const char *settings_names(char out[SETTINGS_NAMES_BYTES])
{
    char names[SETTINGS_NAMES_BYTES];
    size_t n = 0;
    out[0] = '\0';
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        if (n < SETTINGS_NAMES_BYTES) {
            n += (size_t)snprintf(out + n, SETTINGS_NAMES_BYTES - n, "%s%s (%s)", n > 0 ? ", " : "",
                                  names_of(*stage, false, names), (*stage)->name);
        }
    }
    return out;
}

/* Whether the name asks for a pipeline as one of its grids, whatever it ends in: X.dem.nc. */
bool settings_asks_for_grid(const char *path)
{
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        for (size_t i = 0; i < (*stage)->n_parts; i++) {
            const struct stage_part *const part = &(*stage)->parts[i];
            if (part->kind == STAGE_GRID && input_name_asks_for(path, part->suffix) > 0) {
                return true;
            }
        }
    }
    return false;
}

/* What leat does not read, by its name; NULL: it does, or the name does not say. */
static const struct foreign *unread(const char *path)
{
    return foreign_is_read(path, settings_asks_for_grid(path)) ? NULL : foreign_named(path);
}

static bool asks_for_pipeline(const struct settings *s, const char *path)
{
    const struct settings_section *route;
    return find_stage(s, path, &route) != NULL || settings_asks_for_grid(path);
}

bool settings_fails_by_name(const struct settings *s, const char *path)
{
    return asks_for_pipeline(s, path) && !foreign_is_a_part(unread(path));
}

/* A shapefile's are so where it is a part of a job; else its table is a file that nobody reads. */
static bool is_sidecar(const char *path)
{
    return input_name_is_sidecar(path) &&
           (!file_name_is(path, ".shx .dbf ") || file_name_ends(path, ".vat.dbf") ||
            settings_asks_for_grid(path));
}

enum input_kind settings_input_kind(const struct settings *s, const char *path)
{
    return s->done_file && file_name_ends(path, ".done") ? INPUT_MARKER
           : beside_is_projection(path)                  ? INPUT_PROJECTION
           : file_name_ends(path, INPUT_NAME_MASK)       ? INPUT_MASK
           : is_sidecar(path)                            ? INPUT_SIDECAR
           : file_name_is_copy(path)                     ? INPUT_COPY
           : archive_input_named(path)                   ? INPUT_ARCHIVE
           : *file_name_last(path) && routes(s, path)    ? INPUT_OF_JOB
           : unread(path) != NULL                        ? INPUT_FOREIGN
                                                         : INPUT_UNKNOWN;
}

char *settings_conversion(const char *path)
{
    const struct foreign *const foreign = unread(path);
    return foreign != NULL && foreign_converts(foreign)
               ? xalloc_checked(foreign_sentence(foreign, path, settings_asks_for_grid(path)))
               : NULL;
}

/* A folder or a name is no cure of what is foreign. */
static char *refuse_unrouted(const struct settings *s, const char *path)
{
    char names[SETTINGS_NAMES_BYTES];
    const struct foreign *const foreign = unread(path);
    const bool in_folder = asks_for_pipeline(s, path);
    if (foreign == NULL) {
        return xasprintf("no pipeline takes it: %s%s%sgive it a name like %s",
                         in_folder ? "" : "put it into a folder named ",
                         in_folder ? "" : stage_registry[0]->name, in_folder ? "" : ", or ",
                         settings_names(names));
    }
    char *const what = xalloc_checked(foreign_sentence(foreign, path, false));
    char *const text = xasprintf("no pipeline takes it: it %s", what);
    free(what);
    return text;
}

char *settings_refusal(const struct settings *s, const char *path)
{
    const enum input_kind kind = settings_input_kind(s, path);
    char *const conversion =
        kind == INPUT_FOREIGN ? settings_conversion(file_name_last(path)) : NULL;
    return conversion != NULL      ? conversion
           : kind == INPUT_SIDECAR ? xstrdup("is a sidecar file of a grid or a table, ignored")
           : kind == INPUT_COPY    ? xstrdup("is called as an unfinished or kept copy, which is "
                                                "never an input; rename it or remove it")
                                   : refuse_unrouted(s, path);
}

/* The name's ending may say that no reader knows the file, whatever pipeline is named. Any other
 * name says nothing: formats are recognized by content. */
static enum status refuse_path(const char *path)
{
    const struct foreign *const foreign = unread(path);
    if (foreign != NULL) {
        return foreign_fail(STATUS_BAD_ARGUMENT, foreign, path, settings_asks_for_grid(path));
    }
    char names[SETTINGS_NAMES_BYTES];
    const struct stage_ops *first = stage_registry[0];
    return status_fail(
        STATUS_BAD_ARGUMENT,
        "%s: no pipeline takes this: name one with --pipeline %s (or a [route] of the "
        "configuration), put it into a folder named %s, or give it a name that says it: %s",
        path, first->name, first->name, settings_names(names));
}

static enum status refuse_part(const char *path, const struct stage_part *part,
                               const struct job_settings *j)
{
    char names[SETTINGS_NAMES_BYTES] = "", instead[STAGE_INSTEAD_BYTES];
    if (part != NULL) {
        if (*stage_asks(j->stage, part, instead) != '\0') {
            return status_fail(
                STATUS_BAD_ARGUMENT,
                "%s: X.%s.* goes with the parameter %s; set that, or remove the file", path,
                part->suffix, instead);
        }
        return status_fail(
            STATUS_BAD_ARGUMENT,
            "%s: the parameter %s ('%.64s') takes the place of X.%s.*; leave out %s, "
            "or remove the file",
            path, part->unless, stage_text(j->stage, j->params, part->unless), part->suffix,
            part->unless);
    }
    for (size_t i = 0, n = 0; i < j->n_parts && n < sizeof names; i++) {
        n += (size_t)snprintf(names + n, sizeof names - n, "%sX.%s.%s", i > 0 ? " and " : "",
                              j->parts[i]->suffix, j->parts[i]->kind == STAGE_GRID ? "tif" : "csv");
    }
    stage_instead(j->stage, j->parts[j->n_parts - 1], instead);
    return status_fail(
        STATUS_BAD_ARGUMENT, "%s: pipeline %s takes %zu files a job; name them %s%s%s%s%s", path,
        j->stage->name, j->n_parts, names, j->parts[0]->kind == STAGE_GRID ? " (or .asc)" : "",
        *instead != '\0' ? ", or set " : "", instead,
        *instead != '\0' ? " in place of the last" : "");
}

/* Which part of its job the file is: the only one, or that which its name says. */
static enum status resolve_part(const char *path, struct job_settings *j)
{
    const size_t found = j->stage->n_parts > 1 ? find_part(j->stage, path) : 0;
    const struct stage_part *const named =
        found < j->stage->n_parts ? &j->stage->parts[found] : NULL;
    j->n_parts = stage_parts(j->stage, j->params, j->parts);
    for (j->part = 0; j->part < j->n_parts; j->part++) {
        if (j->parts[j->part] == named || (named == NULL && j->n_parts == 1)) {
            return STATUS_OK;
        }
    }
    return refuse_part(path, named, j);
}

/* The lists that may hold a parameter, strongest first; n of them. */
static size_t gather(const struct settings *s, const struct settings_section *route,
                     const struct stage_ops *stage, const struct setting_list *lists[3])
{
    size_t n = 0;
    lists[n++] = &s->set;
    if (route != NULL) {
        lists[n++] = &route->set;
    }
    for (size_t i = 0; i < s->n_pipelines; i++) {
        if (strcmp(s->pipelines[i].name, stage->name) == 0) {
            lists[n++] = &s->pipelines[i].set;
        }
    }
    return n;
}

static enum status resolve_parameters(const struct settings *s,
                                      const struct settings_section *route, struct job_settings *j)
{
    const struct setting_list *lists[3];
    size_t n = gather(s, route, j->stage, lists);
    STATUS_TRY(settings_take_defaults(j));
    while (n-- > 0) { /* weakest first */
        for (size_t k = 0; k < lists[n]->n; k++) {
            const struct setting *set = &lists[n]->at[k];
            STATUS_TRY(settings_prefix_error(settings_take_parameter(j, set->key, set->value),
                                             set->origin));
        }
    }
    return STATUS_OK;
}

static enum status resolve(const struct settings *s, const char *path, struct job_settings *j)
{
    const struct settings_section *route;
    j->stage = find_stage(s, path, &route);
    if (j->stage == NULL) {
        return refuse_path(path);
    }
    STATUS_TRY(resolve_parameters(s, route, j));
    STATUS_TRY(resolve_part(path, j));
    return input_name_stem(path, j->parts[j->part]->suffix, &j->stem);
}

static enum status resolved(enum status status, struct job_settings *j)
{
    if (status != STATUS_OK) {
        job_settings_free(j);
    }
    return status;
}

enum status settings_resolve(const struct settings *s, const char *path, struct job_settings *out)
{
    *out = (struct job_settings){0};
    return resolved(resolve(s, path, out), out);
}

/* The stage one of whose parts has that suffix, which there is. */
static const struct stage_ops *find_by_part(const char *suffix, size_t *part)
{
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        for (*part = 0; *part < (*stage)->n_parts; ++*part) {
            if (strcmp((*stage)->parts[*part].suffix, suffix) == 0) {
                return *stage;
            }
        }
    }
    return NULL;
}

static enum status resolve_source(const struct settings *s, const char *source,
                                  struct job_settings *j)
{
    const struct settings_section *route = find_route(s, source);
    size_t part = 0;
    j->stage = find_by_part("source", &part);
    if (j->stage == NULL || (s->pipeline != NULL && stage_find(s->pipeline) != j->stage)) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: pipeline %s takes no --dem and --source",
                           source, s->pipeline != NULL ? s->pipeline : "");
    }
    const bool is_other =
        route != NULL && route->pipeline != NULL && stage_find(route->pipeline) != j->stage;
    STATUS_TRY(resolve_parameters(s, is_other ? NULL : route, j));
    j->n_parts = stage_parts(j->stage, j->params, j->parts);
    if (j->n_parts > 2) {
        char instead[STAGE_INSTEAD_BYTES];
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: --dem and --source are two files, and the job takes X.%s.*, too: "
                           "call them X.dem.*, X.source.* and so on, and give their folder, or set "
                           "%s",
                           source, j->parts[2]->suffix,
                           stage_instead(j->stage, j->parts[2], instead));
    }
    return input_name_stem(source, "source", &j->stem);
}

enum status settings_resolve_source(const struct settings *s, const char *source,
                                    struct job_settings *out)
{
    *out = (struct job_settings){0};
    return resolved(resolve_source(s, source, out), out);
}

void job_settings_free(struct job_settings *j)
{
    free(j->params);
    free(j->stem);
    free(j->result);
    memset(j, 0, sizeof(*j));
}
