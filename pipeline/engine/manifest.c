/*
 * manifest - see the header.
 */
#include "pipeline/engine/manifest.h"

#include "formats/base/json.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <isa-l.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

json_t *manifest_time(struct timespec t)
{
    struct tm utc;
    char text[32];
    if (gmtime_r(&t.tv_sec, &utc) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        return json_string("");
    }
    return json_sprintf("%s.%09ldZ", text, t.tv_nsec);
}

json_t *manifest_crc(uint32_t crc)
{
    return json_sprintf("%08x", crc);
}

json_t *manifest_prj_crc(const char *prj)
{
    return manifest_crc(crc32_gzip_refl(0, (const unsigned char *)prj, strlen(prj)));
}

static json_t *pack_input(const struct manifest_of *job, size_t i)
{
    const struct job_part *part = &job->input->parts[i];
    const struct source *source = table_source(job->reading->tables[i]);
    const struct table_info *const info = table_info(job->reading->tables[i]);
    json_t *o = json_pack("{s:o, s:s, s:I, s:o}", "name", text_json(job_part_name(part)), "format",
                          info->sheet != NULL ? info->sheet_format : info->format, "bytes",
                          (json_int_t)source_file_bytes(source), "crc32",
                          manifest_crc(job->reading->crc[i]));
    if (info->sheet != NULL) {
        json_object_set_new(o, "sheet", text_json(info->sheet));
    }
    if (part->fd < 0 && !part->is_stream) { /* one of an archive was made just now */
        json_object_set_new(o, "modified", manifest_time(source_modified(source)));
        json_object_set_new(o, "inode", json_integer((json_int_t)source_inode(source)));
    }
    if (part->prj != NULL) {
        json_object_set_new(o, "prj_crc32", manifest_prj_crc(part->prj));
    }
    return o;
}

static json_t *pack_inputs(const struct manifest_of *job)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->input->n_parts; i++) {
        json_array_append_new(list, pack_input(job, i));
    }
    return list;
}

static json_t *output(const char *name, uint64_t bytes, uint32_t crc)
{
    return json_pack("{s:s, s:I, s:o}", "name", name, "bytes", (json_int_t)bytes, "crc32",
                     manifest_crc(crc));
}

void manifest_add_output(json_t *manifest, const char *name, uint64_t bytes, uint32_t crc)
{
    json_array_append_new(json_object_get(manifest, "outputs"), output(name, bytes, crc));
}

/* What the stage notices of the first part, all of which has been read. */
static enum status notice(const struct manifest_of *job, struct result *out)
{
    const struct stage_ops *const stage = job->input->settings.stage;
    struct stage_args args = memory_args(job->memory);
    struct table_info read = *args.inputs[job_input_stage_part(job->input, 0)].table;
    read.n_lines = (size_t)(job->reading->cells[0] / read.cells_per_line);
    args.inputs[job_input_stage_part(job->input, 0)].table = &read;
    return stage->notice != NULL ? stage->notice(&args, out) : STATUS_OK;
}

/* Adds what has been noticed of the numbers as they passed. */
static enum status add_noticed(const struct manifest_of *job, json_t *list)
{
    struct bytes codes = {0};
    struct result noticed = {0};
    enum status st = result_init(&noticed);
    st = st == STATUS_OK ? table_watch_codes(job->reading->watch, &codes) : st;
    st = st == STATUS_OK ? notice(job, &noticed) : st;
    for (size_t i = 0; i < codes.len && st == STATUS_OK;) {
        const char *const sentence = (const char *)codes.data + i;
        json_array_append_new(list, text_json(sentence));
        i += strlen(sentence) + 1;
    }
    json_array_extend(list, st == STATUS_OK ? noticed.warnings : NULL);
    bytes_free(&codes);
    result_free(&noticed);
    return st;
}

/* A warning of a table; the job is named after its first file, so that others are named here. */
static void add_table_warning(const struct manifest_of *job, size_t part, const char *text,
                              json_t *list)
{
    const char *const name = job_part_name(&job->input->parts[part]);
    char *const named = part > 0 ? xasprintf("%s: %s", name, text) : NULL;
    json_array_append_new(list, text_json(part > 0 ? named : text));
    free(named);
}

static enum status add_warnings(const struct manifest_of *job, json_t *list)
{
    for (size_t k = 0; k < job->input->n_parts; k++) {
        const struct table_info *info = table_info(job->reading->tables[k]);
        STATUS_TRY(table_end(job->reading->tables[k]));
        for (size_t i = 0; i < info->n_warnings; i++) {
            add_table_warning(job, k, info->warnings[i], list);
        }
    }
    STATUS_TRY(add_noticed(job, list));
    json_array_extend(list, job->result->warnings);
    return STATUS_OK;
}

/* An option of the tables, as text, but for a missing value that is one number. */
static json_t *option_json(const struct table_options *o, enum table_option option)
{
    const char *text = table_option_get(o, option);
    double number;
    return option == TABLE_MISSING_VALUE && text_parse_real(text, &number) ? json_real(number)
                                                                           : text_json(text);
}

static json_t *pack_reader(const struct manifest_of *job)
{
    const struct table_options *o = &job->input->settings.table;
    json_t *reader = json_object();
    for (enum table_option k = 0; k < TABLE_N_OPTIONS; k++) {
        bool used = false; /* some part's format looks at it */
        for (size_t i = 0; i < job->input->n_parts; i++) {
            const bool own = k == TABLE_COLUMNS && job->input->settings.parts[i]->columns;
            used = used || (table_info(job->reading->tables[i])->used[k] && !own);
        }
        if (used) {
            json_object_set_new(reader, table_option_key(k), option_json(o, k));
        }
    }
    return reader;
}

static double cpu_of(const struct manifest_of *job, enum engine_lane lane)
{
    return seconds(atomic_load(&job->tasks->accounts[lane].cpu_ns));
}

/* Reading and writing are busy in calls to files; what else their tasks do is CPU time. */
static json_t *pack_lanes(const struct manifest_of *job, const struct efficiency_times *times)
{
    json_t *lanes = json_object();
    for (enum engine_lane i = 0; i < ENGINE_LANES; i++) {
        const double busy = i == LANE_READ ? times->disk_in_s
                            : i == LANE_WRITE
                                ? times->disk_out_s
                                : seconds(atomic_load(&job->tasks->accounts[i].busy_ns));
        json_object_set_new(lanes, engine_lane_names[i],
                            json_pack("{s:I, s:f, s:f}", "bytes",
                                      (json_int_t)job->tasks->lane_bytes[i], "busy_s", busy,
                                      "cpu_s", cpu_of(job, i)));
    }
    return lanes;
}

/* What the tasks of the job used of each resource. */
static struct efficiency_times times_of(const struct manifest_of *job, double *cpu_s)
{
    const struct engine *e = job->tasks->engine;
    const uint64_t now = thread_pool_now_ns();
    struct disk_meter *disks = &job->tasks->disks;
    double compute = cpu_of(job, LANE_DECODE) + cpu_of(job, LANE_ENCODE);
    compute += place_device(job->place)->on_cpu ? cpu_of(job, LANE_DEVICE) : 0;
    *cpu_s = 0;
    for (enum engine_lane i = 0; i < ENGINE_LANES; i++) {
        *cpu_s += cpu_of(job, i);
    }
    return (struct efficiency_times){.cpu_s = meter_cpu_s(compute, e->n_threads, *cpu_s, e->n_cpus),
                                     .device_s = job->place->busy.device_s,
                                     .upload_s = job->place->busy.upload_s,
                                     .download_s = job->place->busy.download_s,
                                     .disk_in_s = meter_s(&disks->in, now),
                                     .disk_out_s = meter_s(&disks->out, now)};
}

static json_t *pack_device(const struct manifest_of *job)
{
    const struct queue_busy *b = &job->place->busy;
    return json_pack("{s:f, s:f, s:f, s:I, s:I}", "device_s", b->device_s, "upload_s", b->upload_s,
                     "download_s", b->download_s, "upload_bytes", (json_int_t)b->upload_bytes,
                     "download_bytes", (json_int_t)b->download_bytes);
}

static json_t *pack_timing(const struct manifest_of *job)
{
    const double wall_s = seconds(thread_pool_now_ns() - job->started_ns);
    double cpu_s;
    const struct efficiency_times times = times_of(job, &cpu_s);
    json_t *lanes = pack_lanes(job, &times);
    struct efficiency e = meter_efficiency(&times, wall_s);
    return json_pack("{s:f, s:f, s:f, s:s, s:o, s:o}", "wall_s", wall_s, "cpu_s", cpu_s,
                     "efficiency", e.value, "bound_by", e.bound_by, "lanes", lanes, "device",
                     pack_device(job));
}

/* check: the shape from the table alone, since no stage was run. */
static json_t *pack_checked_shape(const struct manifest_of *job)
{
    const struct table_info *info = table_info(job->reading->tables[0]);
    return json_pack("{s:I, s:I}", "lines",
                     (json_int_t)(job->reading->cells[0] / info->cells_per_line), "cells_per_line",
                     (json_int_t)info->cells_per_line);
}

static json_t *asked_parameters(const struct job_settings *s)
{
    json_t *list = json_object();
    for (size_t i = 0; i < s->stage->n_specs; i++) {
        json_object_set_new(list, s->stage->specs[i].key,
                            stage_param_json(&s->stage->specs[i], &s->params[i]));
    }
    return list;
}

json_t *manifest_asked(const struct job_settings *settings)
{
    const struct table_options *o = &settings->table;
    json_t *list = asked_parameters(settings);
    for (enum table_option k = 0; k < TABLE_N_OPTIONS; k++) {
        if (table_option_get(o, k) != NULL) {
            json_object_set_new(list, table_option_key(k), option_json(o, k));
        }
    }
    return list;
}

const json_t *manifest_recorded(const json_t *manifest, const char *key)
{
    static const char *const places[] = {"requested", "parameters", "reader"};
    const json_t *value = NULL;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && value == NULL; i++) {
        value = json_object_get(json_object_get(manifest, places[i]), key);
    }
    return value;
}

/* What was asked for where that is not what the rest of the manifest says. */
static json_t *pack_requested(const struct manifest_of *job, const json_t *manifest)
{
    json_t *list = json_object(), *asked = manifest_asked(&job->input->settings), *value;
    const char *key;
    json_object_foreach(asked, key, value)
    {
        const json_t *recorded = manifest_recorded(manifest, key);
        if (recorded == NULL || !json_equal(recorded, value)) {
            json_object_set_new(list, key, json_incref(value));
        }
    }
    json_decref(asked);
    return list;
}

/* As they were asked for, and over them what the stage has made of them: check runs no stage. */
static json_t *pack_parameters(const struct manifest_of *job)
{
    json_t *list = asked_parameters(&job->input->settings);
    json_object_update(list, job->result->parameters);
    return list;
}

static json_t *shared(json_t *object)
{
    return object != NULL ? json_incref(object) : json_object();
}

/* What has multiplied is named, too: the CPU's products are a library's. */
static json_t *pack_detail(const struct manifest_of *job)
{
    const struct engine_device *d = place_device(job->place);
    struct backend_info info = d->info;
    char text[sizeof(info.detail) + sizeof(info.products)];
    if (!d->on_cpu || !job->input->settings.stage->multiplies || job->is_check ||
        backend_load_products(0) != STATUS_OK) {
        return text_json(info.detail);
    }
    d->backend->ops->describe(d->backend, &info);
    snprintf(text, sizeof(text), "%s%s", info.detail, info.products);
    return text_json(text);
}

enum status manifest_make(const struct manifest_of *job, json_t **out)
{
    const struct backend_info *info = &place_device(job->place)->info;
    const bool check = job->is_check;
    json_t *const warnings = json_array();
    json_t *const m =
        json_pack("{s:i, s:s, s:s*, s:s, s:o, s:o, s:o, s:{s:s, s:o, s:o}}", "schema", 1, "leat",
                  LEAT_VERSION, "job", job->input->id, "pipeline", job->input->settings.stage->name,
                  "parameters", pack_parameters(job), "reader", pack_reader(job), "inputs",
                  pack_inputs(job), "backend", "name", info->name, "device",
                  text_json(info->device), "detail", pack_detail(job));
    *out = m;
    json_object_set_new(m, "shape", check ? pack_checked_shape(job) : shared(job->result->shape));
    json_object_set_new(m, "warnings", warnings);
    STATUS_TRY(add_warnings(job, warnings));
    json_object_set_new(m, "memory",
                        json_pack("{s:I, s:I}", "backend_bytes",
                                  (json_int_t)job->memory->need.memory_bytes, "host_bytes",
                                  (json_int_t)job->memory->need.host_bytes));
    if (!check) {
        json_object_set_new(m, "requested", pack_requested(job, m));
        json_object_set_new(m, "summary", shared(job->result->summary));
        json_object_set_new(m, "timing", pack_timing(job));
        json_object_set_new(m, "outputs", json_array());
    }
    return STATUS_OK;
}

void manifest_set_bundle(const struct manifest_of *job, json_t *manifest, const char *name,
                         uint64_t bytes, uint32_t crc)
{
    json_object_set_new(manifest, "bundled", json_incref(json_object_get(manifest, "outputs")));
    json_object_set_new(manifest, "outputs", json_pack("[o]", output(name, bytes, crc)));
    json_object_set_new(manifest, "timing", pack_timing(job));
}

bool manifest_is_bundled(const json_t *manifest)
{
    return json_object_get(manifest, "bundled") != NULL;
}

/* The object without two of its keys. */
static json_t *without(json_t *object, const char *a, const char *b)
{
    json_t *o = json_object(), *value;
    const char *key;
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, a) != 0 && strcmp(key, b) != 0) {
            json_object_set_new(o, key, json_incref(value));
        }
    }
    return o;
}

json_t *manifest_lasting(json_t *manifest)
{
    json_t *m = without(manifest, "timing", "memory"), *inputs = json_array(), *input;
    size_t i;
    json_array_foreach(json_object_get(manifest, "inputs"), i, input)
    {
        json_array_append_new(inputs, without(input, "modified", "inode"));
    }
    json_object_del(m, "job");
    json_object_set_new(m, "inputs", inputs);
    json_object_set_new(m, "backend",
                        without(json_object_get(manifest, "backend"), "device", "detail"));
    return m;
}

char *manifest_text(const json_t *manifest)
{
    return xalloc_checked(json_dumps(manifest, JSON_INDENT(2) | JSON_REAL_PRECISION(17)));
}
