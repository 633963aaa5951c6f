/*
 * settings - the table of long options, which are the keys of the configuration file too, what
 * their values may be, and lists of settings. Where they come from is in settings_options.c and
 * settings_config.c, what holds for one input in settings_resolve.c.
 */
#include "pipeline/settings/settings.h"

#include "formats/base/log.h"
#include "formats/base/text_hash.h"
#include "pipeline/names/text.h"
#include "pipeline/settings/settings_parts.h"
#include "watch/files/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELD(name) offsetof(struct settings, name)

/* Who knows a key: everybody; those who look at inputs; who compute, and who says whether they can;
 * who writes results; the commands on inputs that are named, and the one that computes; the
 * service, and who asks it. */
enum {
    F = SETTINGS_OF_FILE,
    SHOW = SETTINGS_OF_SHOW,
    LOOK = F | SETTINGS_OF_RUN | SETTINGS_OF_CHECK | SETTINGS_OF_WATCH,
    WORK = LOOK | SETTINGS_OF_DOCTOR,
    ALL = WORK | SHOW | SETTINGS_OF_STATUS | SETTINGS_OF_RETRY | SETTINGS_OF_HANDS,
    WRITE = F | SETTINGS_OF_RUN | SETTINGS_OF_WATCH,
    NAMED = F | SETTINGS_OF_RUN | SETTINGS_OF_CHECK,
    RUN = F | SETTINGS_OF_RUN,
    WATCH = F | SETTINGS_OF_WATCH,
    SPOOL = F | SETTINGS_OF_WATCH | SETTINGS_OF_STATUS | SETTINGS_OF_RETRY | SETTINGS_OF_HANDS
};

#define KEY(name, where, letter, kind, field, arg, help)                                           \
    {                                                                                              \
        name, where, letter, SETTINGS_##kind, FIELD(field), 0, 0, arg, help                        \
    }
#define COUNTED(name, where, letter, field, min, max, arg, help)                                   \
    {                                                                                              \
        name, where, letter, SETTINGS_COUNT, FIELD(field), min, max, arg, help                     \
    }
const struct settings_key settings_keys[] = {
    KEY("config", ALL & ~F, 'c', TEXT, config, "FILE", "Read settings from FILE"),
    KEY("set", (LOOK & ~F) | SHOW, 's', PARAMETER, set, "KEY=VALUE",
        "Set a parameter of the pipeline (repeatable)"),
    KEY("pipeline", LOOK | SHOW, 'p', PIPELINE, pipeline, "NAME",
        "What to compute (default: by route, sub-folder or file name)"),
    KEY("dem", (NAMED & ~F) | SHOW, 0, TEXT, dem, "FILE",
        "Altitudes for sciddicat, whatever the file's name is; with --source"),
    KEY("source", (NAMED & ~F) | SHOW, 0, PATHS, sources, "FILE",
        "Debris that lies in --dem (repeatable: a job each, named after this file)"),
    KEY("name", NAMED & ~F, 0, TEXT, name, "NAME",
        "Name of standard input, the INPUT '-': X.clusters.csv, X.tar (default stdin)"),
    KEY("output", WORK, 'o', TEXT, output, "DIR",
        "Folder for results (default leat-out; of a service SPOOL/out)"),
    COUNTED("level", WRITE, 0, level, 1, 9, "1-9", "Compression level of results (default 1)"),
    KEY("bundle", WRITE, 0, SWITCH, bundle, NULL,
        "Leave the files of each result in one .zip, beside its result.json"),
    KEY("force", RUN, 0, SWITCH, force, NULL,
        "Replace results that are there; with --resume, those that do not match"),
    KEY("resume", RUN, 0, SWITCH, resume, NULL,
        "Skip what is done: results that match inputs, parameters and version"),
    KEY("replace", WATCH, 0, SWITCH, replace, NULL,
        "Replace an earlier result of the same name, instead of naming the new one X~ID"),
    KEY("job_log", RUN & ~F, 0, TEXT, job_log, "FILE",
        "Append a line for each job: start, seconds, exit status, input (as GNU parallel does)"),
    KEY("backend", WORK, 'b', CHOICE, backend, "auto|cpu|cuda",
        "Where to compute (default auto: CUDA for large jobs when a device passes its self-test)"),
    KEY("devices", WORK, 0, DEVICES, devices, "all|N|LIST",
        "CUDA devices: the first N, or those of a list: 0,2 (default all)"),
    KEY("spread", WRITE, 0, SPREAD, spread, "auto|off|N",
        "Devices that one large job may use at a time (default auto: idle ones that help it)"),
    COUNTED("jobs", LOOK, 'j', jobs, 0, 4096, "N",
            "Jobs at a time (default 0: chosen from the threads)"),
    COUNTED("threads", WORK, 0, threads, 0, 4096, "N",
            "Computing threads (default 0: the CPUs that leat may use)"),
    KEY("memory", WORK, 0, SIZE, memory, "SIZE",
        "Bound on leat's own bulk memory: 4G, 4GB, 4GiB (default 0: half of the machine's)"),
    KEY("deadline", LOOK, 0, SECONDS, deadline_s, "SECONDS",
        "Give up a job that takes longer (default 0: never)"),
    KEY("max_unpacked", LOOK, 0, SIZE, unpack.max_bytes, "SIZE",
        "Refuse a compressed file or an archive that unpacks to more (default 1024G; 0: no limit)"),
    COUNTED("max_ratio", LOOK, 0, unpack.max_ratio, 0, 1000000000, "N",
            "Refuse one that unpacks to more than N times its size, and to more than 256M "
            "(default 250; 0: no limit)"),
    COUNTED("max_entries", LOOK, 0, max_entries, 0, 1000000000, "N",
            "Refuse an archive that has more entries (default 1000000; 0: no limit)"),
    KEY("shard", NAMED, 0, SHARD, shard, "I/N|auto",
        "Process the I-th of N shares of the inputs; auto: as Slurm or mpirun says"),
    KEY("mpi", NAMED & ~F, 0, SWITCH, mpi, NULL,
        "Share the inputs with the other ranks that mpirun or srun has started"),
    KEY("mpi_timeout", NAMED & ~F, 0, SECONDS, mpi_timeout_s, "SECONDS",
        "Give up when a rank has been silent that long (default 30; 0: never)"),
    KEY("spool", SPOOL, 0, TEXT, spool, "DIR",
        "The watched folder: drop files into DIR/in; they end in DIR/done or DIR/failed"),
    KEY("keep_inputs", WATCH, 0, SWITCH, keep_inputs, "yes|no",
        "Move processed inputs to DIR/done (default yes), or delete them"),
    KEY("keep_done", WATCH, 0, KEEP, keep_done, "AGE,SIZE",
        "Remove what is in DIR/done for longer, or beyond SIZE: 30d, 10G (default: nothing)"),
    KEY("keep_failed", WATCH, 0, KEEP, keep_failed, "AGE,SIZE",
        "The same of the jobs in DIR/failed (default: nothing)"),
    KEY("done_file", WATCH, 0, SWITCH, done_file, NULL,
        "Take X.csv only when X.csv.done is there, too"),
    KEY("settle", WATCH, 0, SECONDS, settle_s, "SECONDS",
        "Unchanged that long is complete, where the system does not tell (default 2)"),
    KEY("settle_always", WATCH, 0, SECONDS, settle_always_s, "SECONDS",
        "Take no file that has changed in the last so many seconds (default 0)"),
    KEY("rescan", WATCH, 0, SECONDS, rescan_s, "SECONDS",
        "Look at the whole folder again that often (default 60; 0: never)"),
    COUNTED("max_attempts", WATCH, 0, max_attempts, 1, 1000, "N",
            "Attempts at a job that crashes, stalls or takes too long (default 3)"),
    KEY("reserve", WATCH, 0, SIZE, reserve_bytes, "SIZE",
        "Pause when there is less room on the disks (default 256M)"),
    KEY("require_mount", WATCH, 0, TEXT, require_mount, "FILE",
        "Pause while the folder for results has no FILE: it is not mounted (default: none)"),
    KEY("drain", WATCH, 0, SECONDS, drain_s, "SECONDS",
        "When told to stop, let running jobs end for that long (default 60)"),
    KEY("status_group", WATCH, 0, TEXT, status_group, "GROUP",
        "Whose members may read the status, beside root and the service's user (default: none)"),
    KEY("on_done", WATCH, 0, COMMAND, on_done, "COMMAND",
        "Run for each job that is done, with its result's folder (default: nothing)"),
    KEY("on_failed", WATCH, 0, COMMAND, on_failed, "COMMAND",
        "Run for each job that has failed, with its folder in DIR/failed (default: nothing)"),
    KEY("hook_timeout", WATCH, 0, SECONDS, hook_timeout_s, "SECONDS",
        "Kill such a command when it takes longer (default 60; 0: never)"),
    KEY("http", WATCH, 0, TEXT, http, "ADDRESS",
        "Show a page and metrics at ADDRESS:PORT or unix:PATH (default: nowhere)"),
    KEY("http_token_file", WATCH, 0, TEXT, http_token_file, "FILE",
        "Show them to who has the token in FILE; a must where they are at an address"),
    KEY("failed", SETTINGS_OF_STATUS, 0, SWITCH, failed, NULL,
        "List the failed jobs, with reasons; needs no running service"),
    KEY("all", SETTINGS_OF_RETRY, 0, SWITCH, all, NULL, "Every failed job"),
    KEY("json", NAMED | SHOW | SETTINGS_OF_DOCTOR | SETTINGS_OF_STATUS, 0, SWITCH, json, NULL,
        "Print JSON on standard output"),
    KEY("quiet", ALL, 'q', SWITCH, quiet, NULL, "Only say what went wrong"),
    KEY("verbose", ALL, 'v', SWITCH, verbose, NULL, "Say more"),
};
const size_t settings_n_keys = sizeof(settings_keys) / sizeof(settings_keys[0]);

static enum status put_text(char **field, const char *value, const char *origin)
{
    if (*value == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: the value is empty", origin);
    }
    free(*field);
    *field = xstrdup(value);
    return STATUS_OK;
}

/* "no" takes an earlier one back. */
static enum status put_command(char **field, const char *value, const char *origin)
{
    char **words;
    if (strcmp(value, "no") == 0) {
        free(*field);
        *field = NULL;
        return STATUS_OK;
    }
    const enum status code = text_split(value, &words);
    if (code != STATUS_OK) {
        return settings_prefix_error(code, origin);
    }
    free(words);
    return put_text(field, value, origin);
}

static enum status put_parameter(struct setting_list *list, const char *text, const char *origin)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' is not KEY=VALUE without blanks, such as method=spearman",
                           origin, text);
    }
    char *const key = xstrndup(text, (size_t)(equals - text));
    settings_put(list, key, equals + 1, origin);
    free(key);
    return STATUS_OK;
}

/* The first n characters; "" where there is no room for so many, as for no number. Returns out. */
static const char *cut(char *out, size_t size, const char *text, size_t n)
{
    snprintf(out, size, "%.*s", n < size ? (int)n : 0, text);
    return out;
}

/* Whether it is what may follow the letter of a size: "", "B", "iB". */
static bool ends_size(const char *text)
{
    return *text == '\0' || strcasecmp(text, "B") == 0 || strcasecmp(text, "iB") == 0;
}

/* A number, and K, M, G or T behind it for a power of 1024, also as KB or KiB. */
static enum status put_size(uint64_t *field, const char *value, const char *origin)
{
    static const char suffixes[] = "KMGT";
    const size_t n = strspn(value, "0123456789.");
    const char *suffix =
        n > 0 && value[n] != '\0' ? memchr(suffixes, value[n] & ~0x20, sizeof(suffixes) - 1) : NULL;
    const unsigned shift = suffix != NULL ? 10u * ((unsigned)(suffix - suffixes) + 1) : 0;
    const bool ends = shift > 0 ? ends_size(value + n + 1) : value[n] == '\0';
    char number[32];
    uint64_t whole;
    double real;
    if (text_parse_count(cut(number, sizeof(number), value, ends ? n : 0), &whole) &&
        whole <= UINT64_MAX >> shift) {
        *field = whole << shift;
        return STATUS_OK;
    }
    if (shift > 0 && strchr(number, '.') != NULL && text_parse_real(number, &real) &&
        ldexp(real, (int)shift) < 0x1p63) {
        *field = (uint64_t)ldexp(real, (int)shift);
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_ARGUMENT, "%s: '%s' is not a size (write 256M, 4GB, 1.5GiB)",
                       origin, value);
}

/* A number of s, min, h, d or w. */
static bool take_age(const char *text, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}};
    enum { MOST = 1000000000 };
    char number[16];
    const size_t n = strspn(text, "0123456789");
    uint64_t count;
    const bool is_count = text_parse_count(cut(number, sizeof(number), text, n), &count);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && is_count; i++) {
        if (strcmp(text + n, units[i].name) == 0 && count > 0 && count <= MOST) {
            *out = count * units[i].seconds;
            return true;
        }
    }
    return false;
}

/* "no", or an age, a size, or both in any order. A size has a suffix, so that none is taken for the
 * other; "m" alone could be either. */
static enum status put_keep(struct settings_keep *out, const char *value, const char *origin)
{
    struct settings_keep keep = {0};
    bool right = true;
    static const char blanks[] = " \t", ends[] = ", \t";
    for (const char *at = value; right && *at != '\0' && strcmp(value, "no") != 0;) {
        char word[32];
        const size_t n = strcspn(at, ends);
        cut(word, sizeof(word), at, n);
        const size_t n_digits = strspn(word, "0123456789.");
        const bool is_size =
            n_digits > 0 && word[n_digits] != '\0' && strcmp(word + n_digits, "m") != 0;
        right = keep.age_s == 0 && take_age(word, &keep.age_s);
        if (!right && is_size && keep.bytes == 0) {
            right = put_size(&keep.bytes, word, origin) == STATUS_OK && keep.bytes > 0;
        }
        at += n;
        at += strspn(at, blanks);
        if (*at == ',' && right) {
            at++;
            at += strspn(at, blanks);
            right = *at != '\0';
        }
    }
    if (!right || *value == '\0') {
        return status_fail(
            STATUS_BAD_ARGUMENT,
            "%s: '%s' does not say what is kept; write an age (30d; s, min, h, d, w), "
            "a size (10G), both (30d, 10G), or no for no limit",
            origin, value);
    }
    *out = keep;
    return STATUS_OK;
}

static bool has_device(const struct settings_devices *devices, uint64_t number)
{
    for (size_t i = 0; i < devices->n; i++) {
        if (devices->at[i] == (int)number) {
            return true;
        }
    }
    return false;
}

/* Numbers with a comma behind each, but for the last unless it is the only one: "2," is device 2.
 */
static bool take_group(struct settings_devices *devices, char *group)
{
    bool right = strchr(group, ',') != NULL;
    for (char *text; right && (text = strsep(&group, ",")) != NULL;) {
        uint64_t number;
        if (*text == '\0' && group == NULL) {
            break;
        }
        right = strlen(text) < 8 && text_parse_count(text, &number) && number < 4096 &&
                devices->n < SETTINGS_MOST_DEVICES && !has_device(devices, number);
        if (right) {
            devices->at[devices->n++] = (int)number;
        }
    }
    if (right) {
        devices->ends[devices->n - 1] = true;
    }
    return right;
}

/* all, N, or groups with blanks between them. */
static enum status put_devices(struct settings_devices *out, const char *value, const char *origin)
{
    struct settings_devices devices = {.is_list = strchr(value, ',') != NULL};
    uint64_t number = 0;
    bool right = true;
    if (!devices.is_list && strcmp(value, "all") != 0) {
        right = text_parse_count(value, &number) && number > 0 && number <= SETTINGS_MOST_DEVICES;
        devices.n = (size_t)number;
    }
    char *const copy = xstrdup(value), *rest = copy;
    for (char *group; devices.is_list && right && (group = strsep(&rest, " \t")) != NULL;) {
        right = *group == '\0' || take_group(&devices, group);
    }
    free(copy);
    if (!right) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' does not say which devices; write all, how many, or a list "
                           "such as 0,2 (2, with a comma for that one alone); for workers with "
                           "several, such lists with blanks between them",
                           origin, value);
    }
    *out = devices;
    return STATUS_OK;
}

static enum status put_spread(size_t *out, const char *value, const char *origin)
{
    uint64_t number = 0;
    if (strcmp(value, "off") == 0) {
        number = 1;
    } else if (strcmp(value, "auto") != 0 && (!text_parse_count(value, &number) || number < 1 ||
                                              number > SETTINGS_MOST_DEVICES)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' is not a number of devices; write auto, off, or 1 to %d",
                           origin, value, SETTINGS_MOST_DEVICES);
    }
    *out = (size_t)number;
    return STATUS_OK;
}

enum status settings_choose_devices(const struct settings_devices *devices, size_t n_there,
                                    int numbers[SETTINGS_MOST_DEVICES], size_t *n)
{
    *n = devices->n > 0 ? devices->n : n_there;
    if (!devices->is_list && *n > n_there) {
        return status_fail(STATUS_NO_BACKEND, "devices: %zu are asked for, %zu %s here", *n,
                           n_there, n_there == 1 ? "is" : "are");
    }
    *n = *n < SETTINGS_MOST_DEVICES ? *n : SETTINGS_MOST_DEVICES;
    for (size_t i = 0; i < *n; i++) {
        numbers[i] = devices->is_list ? devices->at[i] : (int)i;
        if ((size_t)numbers[i] >= n_there) {
            return status_fail(STATUS_NO_BACKEND,
                               "devices: there is no CUDA device %d; they are 0 to %zu", numbers[i],
                               n_there - 1);
        }
    }
    return STATUS_OK;
}

static enum status put_shard(struct launcher_shard *shard, const char *value, const char *origin)
{
    enum { MOST = 1 << 20 };
    const size_t n = strspn(value, "0123456789");
    char first[16];
    uint64_t index, count;
    if (strcmp(value, "auto") == 0) {
        *shard = (struct launcher_shard){.is_said_by_launcher = true};
        return STATUS_OK;
    }
    if (!text_parse_count(cut(first, sizeof(first), value, value[n] == '/' ? n : 0), &index) ||
        !text_parse_count(value + n + 1, &count) || index < 1 || index > count || count > MOST) {
        return status_fail(
            STATUS_BAD_ARGUMENT,
            "%s: '%s' is not a share; write I/N, with I from 1 to N (N up to %d), or auto", origin,
            value, MOST);
    }
    *shard = (struct launcher_shard){(size_t)index - 1, (size_t)count, false};
    return STATUS_OK;
}

enum status settings_apply(struct settings *s, const struct settings_key *key, const char *value,
                           const char *origin)
{
    void *field = (char *)s + key->offset;
    const bool is_count = key->kind == SETTINGS_COUNT;
    const struct param_spec spec = {
        .key = origin,
        .kind = is_count ? PARAM_COUNT : PARAM_CHOICE,
        .choices = key->kind == SETTINGS_SWITCH ? "no|yes|false|true|off|on|0|1" : key->arg,
        .min = (double)key->min,
        .max = (double)key->max};
    struct param_value parsed;
    const struct stage_ops *stage;
    enum status status = STATUS_OK;
    if (is_count || key->kind == SETTINGS_CHOICE || key->kind == SETTINGS_SWITCH) {
        status = settings_suggest(stage_parse_param(&spec, value, &parsed), &spec, value);
    } else if (key->kind == SETTINGS_PIPELINE) {
        status = settings_prefix_error(settings_find_stage(value, &stage), origin);
    }
    if (status != STATUS_OK) {
        return status;
    }
    switch (key->kind) {
    case SETTINGS_TEXT:
    case SETTINGS_PIPELINE:
    case SETTINGS_CHOICE:
        return put_text(field, value, origin);
    case SETTINGS_COMMAND:
        return put_command(field, value, origin);
    case SETTINGS_COUNT:
        if (key->offset == FIELD(level)) {
            *(int *)field = (int)parsed.count;
        } else {
            *(size_t *)field = (size_t)parsed.count;
        }
        return STATUS_OK;
    case SETTINGS_SWITCH:
        *(bool *)field = parsed.index % 2 == 1;
        return STATUS_OK;
    case SETTINGS_SIZE:
        return put_size(field, value, origin);
    case SETTINGS_KEEP:
        return put_keep(field, value, origin);
    case SETTINGS_DEVICES:
        return put_devices(field, value, origin);
    case SETTINGS_SPREAD:
        return put_spread(field, value, origin);
    case SETTINGS_SHARD:
        return put_shard(field, value, origin);
    case SETTINGS_SECONDS: {
        double seconds;
        if (!text_parse_real(value, &seconds) || !(seconds >= 0 && seconds <= 1e9)) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "%s: '%s' is not a number of seconds from 0 to 1e9", origin, value);
        }
        *(double *)field = seconds;
        return STATUS_OK;
    }
    case SETTINGS_PARAMETER:
        return put_parameter(field, value, origin);
    case SETTINGS_PATHS:
        settings_append(field, (size_t *)((char ***)field + 1), value);
        return STATUS_OK;
    }
    return status_fail(STATUS_INTERNAL, "%s: key without a kind", origin);
}

static void free_setting(struct setting *at)
{
    free(at->key);
    free(at->value);
    free(at->origin);
}

void settings_put(struct setting_list *list, const char *key, const char *value, const char *origin)
{
    size_t i = 0;
    while (i < list->n && strcmp(list->at[i].key, key) != 0) {
        i++;
    }
    if (i < list->n) {
        free_setting(&list->at[i]);
    } else {
        list->at = xrealloc(list->at, ++list->n, sizeof(*list->at));
    }
    list->at[i] = (struct setting){xstrdup(key), xstrdup(value), xstrdup(origin)};
}

void settings_append(char ***list, size_t *n, const char *text)
{
    *list = xrealloc(*list, *n + 1, sizeof(**list));
    (*list)[(*n)++] = xstrdup(text);
}

static void free_strings(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i]);
    }
    free(list);
}

static void free_list(struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free_setting(&list->at[i]);
    }
    free(list->at);
}

static void free_sections(struct settings_section *sections, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(sections[i].name);
        free(sections[i].origin);
        free(sections[i].match);
        free(sections[i].pipeline);
        free_list(&sections[i].set);
    }
    free(sections);
}

void settings_free(struct settings *s)
{
    for (size_t i = 0; i < settings_n_keys; i++) {
        const enum settings_kind kind = settings_keys[i].kind;
        if (kind == SETTINGS_TEXT || kind == SETTINGS_PIPELINE || kind == SETTINGS_CHOICE ||
            kind == SETTINGS_COMMAND) {
            free(*(char **)((char *)s + settings_keys[i].offset));
        }
    }
    free_list(&s->set);
    free_sections(s->routes, s->n_routes);
    free_sections(s->pipelines, s->n_pipelines);
    free_strings(s->inputs, s->n_inputs);
    free_strings(s->sources, s->n_sources);
    memset(s, 0, sizeof(*s));
}

void settings_set_log_level(const struct settings *s)
{
    log_set_level(s->quiet ? LOG_LEVEL_WARNING : s->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
}

/* --- the digest ------------------------------------------------------------------------------- */

static uint64_t add_list(uint64_t h, const struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        h = text_hash_add(h, list->at[i].key);
        h = text_hash_add(h, list->at[i].value);
    }
    return text_hash_add(h, NULL);
}

static uint64_t add_sections(uint64_t h, const struct settings_section *sections, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = text_hash_add(h, sections[i].name);
        h = text_hash_add(h, sections[i].match);
        h = text_hash_add(h, sections[i].pipeline);
        h = add_list(h, &sections[i].set);
    }
    return text_hash_add(h, NULL);
}

uint64_t settings_digest(const struct settings *s)
{
    char numbers[64];
    snprintf(numbers, sizeof(numbers), "%d %d %d %d %a", s->force, s->resume, s->bundle, s->level,
             s->deadline_s);
    uint64_t h = text_hash_add(TEXT_HASH_OF_NONE, numbers);
    h = text_hash_add(h, s->pipeline);
    h = text_hash_add(h, s->output);
    h = add_list(h, &s->set);
    h = add_sections(h, s->routes, s->n_routes);
    h = add_sections(h, s->pipelines, s->n_pipelines);
    for (size_t i = 0; i < s->n_inputs; i++) {
        h = text_hash_add(h, s->inputs[i]);
    }
    h = text_hash_add(h, s->dem);
    for (size_t i = 0; i < s->n_sources; i++) {
        h = text_hash_add(h, s->sources[i]);
    }
    return h;
}
