/*
 * manifest - result.json: what was computed from what, with what, how well, and how fast.
 */
#include "pipeline/efficiency.h"
#include "pipeline/job_state.h"
#include "pipeline/text.h"

#include <math.h>
#include <string.h>

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static json_t *crc_text(uint32_t crc)
{
    return json_sprintf("%08x", crc);
}

static json_t *pack_inputs(const struct job *job)
{
    struct source *source = table_source(job->table);
    const char *name = strrchr(job->input.path, '/');
    return json_pack("[{s:o, s:s, s:I, s:o}]", "name",
                     text_json(name != NULL ? name + 1 : job->input.path), "format",
                     table_info(job->table)->format, "bytes", (json_int_t)source_file_bytes(source),
                     "crc32", crc_text(job->crc));
}

static json_t *pack_outputs(const struct job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->result.n_files; i++) {
        json_array_append_new(list, json_pack("{s:s, s:I, s:o}", "name", job->result.files[i].name,
                                              "bytes", (json_int_t)job->outputs[i].bytes, "crc32",
                                              crc_text(job->outputs[i].crc)));
    }
    return list;
}

static json_t *pack_warnings(const struct job *job)
{
    const struct table_info *info = table_info(job->table);
    json_t *list = json_array();
    for (size_t i = 0; i < info->n_warnings; i++) {
        json_array_append_new(list, text_json(info->warnings[i]));
    }
    if (job->result.warnings != NULL) {
        json_array_extend(list, job->result.warnings);
    }
    return list;
}

static json_t *pack_reader(const struct job *job)
{
    const struct table_options *o = &job->input.settings.table;
    json_t *reader = json_object();
    if (o->columns != NULL) {
        json_object_set_new(reader, "columns", text_json(o->columns));
    }
    if (o->member != NULL) {
        json_object_set_new(reader, "member", text_json(o->member));
    }
    if (o->has_missing_value) {
        /* JSON has no NaN or infinity; such a value is one that the formats call missing anyway. */
        json_object_set_new(reader, "missing_value",
                            isfinite(o->missing_value) ? json_real(o->missing_value) : json_null());
    }
    return reader;
}

static json_t *pack_lanes(const struct job *job, double *cpu_s)
{
    json_t *lanes = json_object();
    *cpu_s = 0;
    for (int i = 0; i < ENGINE_LANES; i++) {
        double cpu = seconds(atomic_load(&job->accounts[i].cpu_ns));
        *cpu_s += cpu;
        json_object_set_new(lanes, engine_lane_names[i],
                            json_pack("{s:I, s:f, s:f}", "bytes", (json_int_t)job->lane_bytes[i],
                                      "busy_s", seconds(atomic_load(&job->accounts[i].busy_ns)),
                                      "cpu_s", cpu));
    }
    return lanes;
}

static json_t *pack_device(const struct job *job)
{
    const struct queue_busy *b = &job->busy;
    return json_pack("{s:f, s:f, s:f, s:I, s:I}", "device_s", b->device_s, "upload_s", b->upload_s,
                     "download_s", b->download_s, "upload_bytes", (json_int_t)b->upload_bytes,
                     "download_bytes", (json_int_t)b->download_bytes);
}

static json_t *pack_timing(const struct job *job)
{
    double cpu_s, wall_s = seconds(job->wall_ns);
    json_t *lanes = pack_lanes(job, &cpu_s);
    struct efficiency_times times = {
        .cpu_s = cpu_s / (double)job->engine->n_threads,
        .device_s = job->busy.device_s,
        .upload_s = job->busy.upload_s,
        .download_s = job->busy.download_s,
        .disk_in_s = seconds(atomic_load(&job->accounts[LANE_READ].busy_ns)),
        .disk_out_s = seconds(atomic_load(&job->accounts[LANE_WRITE].busy_ns))};
    struct efficiency e = efficiency_of(&times, wall_s);
    return json_pack("{s:f, s:f, s:f, s:s, s:o, s:o}", "wall_s", wall_s, "cpu_s", cpu_s,
                     "efficiency", e.value, "bound_by", e.bound_by, "lanes", lanes, "device",
                     pack_device(job));
}

/* check: the shape from the table alone, since no stage was run. */
static json_t *pack_checked_shape(const struct job *job)
{
    const struct table_info *info = table_info(job->table);
    return json_pack("{s:I, s:I}", "lines", (json_int_t)(job->cells / info->cells_per_line),
                     "cells_per_line", (json_int_t)info->cells_per_line);
}

static json_t *parameter(const struct param_spec *spec, const struct param_value *value)
{
    if (spec->kind == PARAM_COUNT) {
        return json_integer((json_int_t)value->count);
    }
    if (spec->kind == PARAM_REAL) {
        return json_real(value->real);
    }
    const char *choice = spec->choices;
    for (size_t i = 0; i < value->index; i++) {
        choice += strcspn(choice, "|") + 1;
    }
    return json_stringn(choice, strcspn(choice, "|"));
}

/* check: the parameters as they were asked for, since no stage has settled what they come to. */
static json_t *pack_asked_parameters(const struct job *job)
{
    const struct job_settings *s = &job->input.settings;
    json_t *list = json_object();
    for (size_t i = 0; i < s->stage->n_specs; i++) {
        json_object_set_new(list, s->stage->specs[i].key,
                            parameter(&s->stage->specs[i], &s->params[i]));
    }
    return list;
}

static json_t *shared(json_t *object)
{
    return object != NULL ? json_incref(object) : json_object();
}

enum status manifest_make(const struct job *job, json_t **out)
{
    const struct backend_info *info = &job->engine->info;
    bool check = job->context.check_only;
    json_t *m =
        json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:{s:s, s:o, s:o}}", "schema", 1, "leat",
                  LEAT_VERSION, "pipeline", job->input.settings.stage->name, "parameters",
                  check ? pack_asked_parameters(job) : shared(job->result.parameters), "reader",
                  pack_reader(job), "inputs", pack_inputs(job), "backend", "name", info->name,
                  "device", text_json(info->device), "detail", text_json(info->detail));
    if (m != NULL) {
        json_object_set_new(m, "shape",
                            check ? pack_checked_shape(job) : shared(job->result.shape));
        json_object_set_new(m, "warnings", pack_warnings(job));
        json_object_set_new(m, "memory",
                            json_pack("{s:I, s:I}", "backend_bytes",
                                      (json_int_t)job->need.memory_bytes, "host_bytes",
                                      (json_int_t)job->need.host_bytes));
        if (!check) {
            json_object_set_new(m, "summary", shared(job->result.summary));
            json_object_set_new(m, "timing", pack_timing(job));
            json_object_set_new(m, "outputs", pack_outputs(job));
        }
    }
    *out = m;
    return m != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for result.json");
}
