/*
 * settings_config - the configuration file: INI through libinih.
 *
 * libinih is fed line by line, so that every message can name the line. Leading blanks are taken
 * away before it sees a line: an indented key is a key, not the continuation of the line above. A
 * comment begins with '#' or ';' at the start of a line, or with ';' after a blank.
 */
#include "pipeline/names/text.h"
#include "pipeline/settings/settings_parts.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libinih cuts longer section names and keys without a word. */
enum { LONGEST_NAME = 48 };

struct reading {
    struct settings *settings;
    FILE *file;
    int line;
    enum status status;
};

static char *next_line(char *text, int size, void *context)
{
    struct reading *r = context;
    const char *config = r->settings->config;
    if (r->status != STATUS_OK) {
        return NULL;
    }
    errno = 0;
    memset(text, '\n', (size_t)size);
    if (fgets(text, size, r->file) == NULL) {
        if (ferror(r->file)) {
            r->status = status_fail_errno(errno, "%s: cannot read", config);
        }
        return NULL;
    }
    r->line++;
    size_t n = strlen(text);
    /* Behind the end of a last line without a line feed stand those that were there before. */
    const bool is_whole = n > 0 && text[n - 1] == '\n';
    if (!is_whole && (!feof(r->file) || (n + 1 < (size_t)size && text[n + 1] != '\n'))) {
        r->status =
            n + 1 == (size_t)size
                ? status_fail(STATUS_BAD_ARGUMENT, "%s:%d: longer than %d bytes", config, r->line,
                              size - 2)
                : status_fail(STATUS_BAD_ARGUMENT, "%s:%d: not text: a zero byte", config, r->line);
        return NULL;
    }
    size_t blanks = strspn(text, " \t");
    memmove(text, text + blanks, n - blanks + 1);
    return text;
}

/* The section of that name, made where it is missing. */
static struct settings_section *find_section(struct settings_section **sections, size_t *n,
                                             const char *name, const char *origin)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp((*sections)[i].name, name) == 0) {
            return &(*sections)[i];
        }
    }
    *sections = xrealloc(*sections, *n + 1, sizeof(**sections));
    (*sections)[*n] = (struct settings_section){.name = xstrdup(name), .origin = xstrdup(origin)};
    return &(*sections)[(*n)++];
}

static enum status read_route_key(struct settings *s, const char *name, const char *key,
                                  const char *value, const char *origin)
{
    struct settings_section *route = find_section(&s->routes, &s->n_routes, name, origin);
    char **field = strcmp(key, "match") == 0      ? &route->match
                   : strcmp(key, "pipeline") == 0 ? &route->pipeline
                                                  : NULL;
    if (field == NULL) {
        settings_put(&route->set, key, value, origin);
        return STATUS_OK;
    }
    const struct stage_ops *stage;
    if (field == &route->pipeline && settings_find_stage(value, &stage) != STATUS_OK) {
        return settings_prefix_error(STATUS_BAD_ARGUMENT, origin);
    }
    if (*value == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: %s is empty", origin, key);
    }
    free(*field);
    *field = xstrdup(value);
    return STATUS_OK;
}

static enum status read_pipeline_key(struct settings *s, const char *name, const char *key,
                                     const char *value, const char *origin)
{
    const struct stage_ops *stage;
    enum status status = settings_find_stage(name, &stage);
    if (status == STATUS_OK) {
        status = settings_check_parameter(stage, key, value);
    }
    if (status != STATUS_OK) {
        return settings_prefix_error(status, origin);
    }
    struct settings_section *section = find_section(&s->pipelines, &s->n_pipelines, name, origin);
    settings_put(&section->set, key, value, origin);
    return STATUS_OK;
}

static enum status read_top_key(struct settings *s, const char *key, const char *value,
                                const char *origin)
{
    struct text_near near = {.word = key};
    for (size_t i = 0; i < settings_n_keys; i++) {
        if ((settings_keys[i].where & SETTINGS_OF_FILE) == 0) {
            continue;
        }
        if (strcmp(settings_keys[i].name, key) == 0) {
            char whole[STATUS_MESSAGE_BYTES];
            snprintf(whole, sizeof(whole), "%s: %s", origin, key);
            return settings_apply(s, &settings_keys[i], value, whole);
        }
        text_near_offer(&near, settings_keys[i].name);
    }
    if (settings_is_parameter(key)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' is a pipeline's parameter: put it under [pipeline NAME] or "
                           "[route NAME]",
                           origin, key);
    }
    return near.best != NULL
               ? status_fail(STATUS_BAD_ARGUMENT, "%s: unknown key '%s': did you mean '%s'?",
                             origin, key, near.best)
               : status_fail(STATUS_BAD_ARGUMENT, "%s: unknown key '%s'", origin, key);
}

/* "route  x" -> the kind's length, and the name after it. */
static const char *section_name(const char *section, size_t *n_kind)
{
    *n_kind = strcspn(section, " \t");
    return section + *n_kind + strspn(section + *n_kind, " \t");
}

static enum status read_key(struct settings *s, const char *section, const char *key,
                            const char *value, const char *origin)
{
    if (strlen(section) > LONGEST_NAME || strlen(key) > LONGEST_NAME) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: the name is longer than %d bytes", origin,
                           LONGEST_NAME);
    }
    if (*section == '\0') {
        return read_top_key(s, key, value, origin);
    }
    size_t n;
    const char *name = section_name(section, &n);
    bool route = n == 5 && memcmp(section, "route", n) == 0;
    bool pipeline = n == 8 && memcmp(section, "pipeline", n) == 0;
    if (!route && !pipeline) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: unknown section [%s]: there is [route NAME] and [pipeline NAME]",
                           origin, section);
    }
    if (*name == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: section [%s] needs a name: [%s NAME]", origin,
                           section, section);
    }
    return route ? read_route_key(s, name, key, value, origin)
                 : read_pipeline_key(s, name, key, value, origin);
}

static int handle(void *context, const char *section, const char *key, const char *value)
{
    struct reading *r = context;
    if (r->status == STATUS_OK) {
        char origin[STATUS_MESSAGE_BYTES / 2];
        snprintf(origin, sizeof(origin), "%s:%d", r->settings->config, r->line);
        r->status = read_key(r->settings, section, key, value, origin);
    }
    return r->status == STATUS_OK;
}

/* What can only be judged once a route's pipeline is known. */
static enum status check_routes(const struct settings *s)
{
    for (size_t i = 0; i < s->n_routes; i++) {
        const struct settings_section *route = &s->routes[i];
        const struct stage_ops *stage =
            route->pipeline != NULL ? stage_find(route->pipeline) : NULL;
        STATUS_TRY(settings_check_parameters(stage, &route->set));
        if (route->match == NULL) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "%s: [route %s] matches nothing: add match = GLOB", route->origin,
                               route->name);
        }
    }
    return STATUS_OK;
}

/* The file's own `pipeline` key is weaker than every route: it becomes the last one, with a name
 * that no section has. */
static void add_default_route(struct settings *s)
{
    if (s->pipeline != NULL) {
        find_section(&s->routes, &s->n_routes, "", s->config)->pipeline = s->pipeline;
        s->pipeline = NULL;
    }
}

enum status settings_read_config(struct settings *s)
{
    struct reading r = {.settings = s, .file = fopen(s->config, "re")};
    if (r.file == NULL) {
        return status_fail_errno(errno, "%s: cannot open the configuration", s->config);
    }
    int bad_line = ini_parse_stream(next_line, &r, handle, &r);
    fclose(r.file);
    if (bad_line > 0 && (r.status == STATUS_OK || bad_line < r.line)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s:%d: neither [section] nor key = value nor # comment", s->config,
                           bad_line);
    }
    if (r.status != STATUS_OK) {
        return r.status;
    }
    STATUS_TRY(check_routes(s));
    add_default_route(s);
    return STATUS_OK;
}
