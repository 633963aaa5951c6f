/*
 * settings_resolve - what holds for one input: its pipeline, every parameter, the result's name.
 *
 * The pipeline is that of --pipeline, else of the first matching route, else that of the deepest
 * sub-folder of the input named after one, else the one that the name asks for. A parameter is
 * taken from -s, else from the route, else from [pipeline NAME], else built in. A route counts only
 * for the pipeline that it (or its absence of one) leads to: --pipeline passes over routes to
 * another.
 */
#include "pipeline/input_name.h"
#include "pipeline/settings_parts.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* A glob with a slash is held against the whole path, another one against its last component. In
 * both '*' also matches slashes. */
static bool route_matches(const struct settings_route *route, const char *path)
{
    if (route->match == NULL) {
        return true;
    }
    if (strchr(route->match, '/') == NULL) {
        return fnmatch(route->match, input_name_last(path), 0) == 0;
    }
    const char *whole = strncmp(path, "./", 2) == 0 ? path + 2 : path;
    const char *glob = strncmp(route->match, "./", 2) == 0 ? route->match + 2 : route->match;
    return fnmatch(glob, whole, 0) == 0;
}

static const struct settings_route *find_route(const struct settings *s, const char *path)
{
    for (size_t i = 0; i < s->n_routes; i++) {
        const struct settings_route *route = &s->routes[i];
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

static const struct stage_ops *find_by_name(const char *path)
{
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        if (input_name_asks_for(path, (*stage)->suffix)) {
            return *stage;
        }
    }
    return NULL;
}

/* NULL when there is no way. *route is the route that counts, NULL when none does. */
static const struct stage_ops *find_stage(const struct settings *s, const char *path,
                                          const struct settings_route **route)
{
    *route = find_route(s, path);
    if (s->pipeline != NULL) {
        return stage_find(s->pipeline);
    }
    if (*route != NULL && (*route)->pipeline != NULL) {
        return stage_find((*route)->pipeline);
    }
    const struct stage_ops *stage = find_by_folder(s, path);
    return stage != NULL ? stage : find_by_name(path);
}

bool settings_routes(const struct settings *s, const char *path)
{
    if (*input_name_last(path) == '\0' || input_name_is_passing(path)) {
        return false;
    }
    const struct settings_route *route;
    const struct stage_ops *stage = find_stage(s, path, &route);
    bool by_glob =
        s->pipeline == NULL && route != NULL && route->pipeline != NULL && route->match != NULL;
    return stage != NULL &&
           (by_glob || input_name_asks_for(path, stage->suffix) || input_name_is_table(path));
}

static enum status no_way(const char *path)
{
    const struct stage_ops *first = stage_registry[0];
    return status_fail(
        STATUS_BAD_ARGUMENT,
        "%s: no pipeline takes this: name one with --pipeline %s (or a [route] of the "
        "configuration), put it into a folder named %s, or name it X.%s.csv",
        path, first->name, first->name, first->suffix);
}

/* The lists that may hold a parameter, strongest first; n of them. */
static size_t gather(const struct settings *s, const struct settings_route *route,
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

static enum status resolve_parameters(const struct settings *s, const struct settings_route *route,
                                      struct job_settings *j)
{
    const struct setting_list *lists[3];
    size_t n = gather(s, route, j->stage, lists);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < j->stage->n_specs && status == STATUS_OK; i++) {
        status = stage_parse_param(&j->stage->specs[i], j->stage->specs[i].text, &j->params[i]);
    }
    while (n-- > 0) { /* weakest first */
        for (size_t k = 0; k < lists[n]->n && status == STATUS_OK; k++) {
            const struct setting *set = &lists[n]->at[k];
            status = settings_take_parameter(j, set->key, set->value);
            if (status != STATUS_OK) {
                status = settings_blame(status, set->origin);
            }
        }
    }
    return status;
}

enum status settings_resolve(const struct settings *s, const char *path, struct job_settings *out)
{
    memset(out, 0, sizeof(*out));
    const struct settings_route *route;
    out->stage = find_stage(s, path, &route);
    if (out->stage == NULL) {
        return no_way(path);
    }
    enum status status = input_name_stem(path, out->stage->suffix, &out->stem);
    if (status != STATUS_OK) {
        return status;
    }
    out->params = calloc(out->stage->n_specs + 1, sizeof(*out->params));
    status = out->params != NULL ? resolve_parameters(s, route, out)
                                 : status_fail(STATUS_NO_MEMORY, "no memory for parameters");
    if (status != STATUS_OK) {
        job_settings_free(out);
    }
    return status;
}

void job_settings_free(struct job_settings *j)
{
    free(j->params);
    free(j->stem);
    memset(j, 0, sizeof(*j));
}
