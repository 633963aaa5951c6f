/*
 * command_doctor - leat doctor: what works here and what does not, for people or (--json) for
 * programs. It says what was tried, not what ought to be.
 */
#include "pipeline/commands/commands.h"
#include "pipeline/commands/doctor.h"
#include "pipeline/names/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- for people ------------------------------------------------------------------------------ */

/* "  label        value" */
static void line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *format, ...)
{
    va_list args;
    printf("  %-14s ", label);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static const char *limit_text(char out[TEXT_NUMBER_BYTES], uint64_t bytes)
{
    return bytes == UINT64_MAX ? "no limit" : text_size(out, bytes);
}

static void print_backend(const char *name, const struct doctor_backend *b)
{
    char total[TEXT_NUMBER_BYTES], unused[TEXT_NUMBER_BYTES], took[TEXT_NUMBER_BYTES];
    if (!b->works) {
        line(name, "does not work: %s", b->reason);
        return;
    }
    line(name, "works: %s", b->info.device);
    line("", "%s", b->info.detail);
    if (b->info.advice[0] != '\0') {
        line("", "%s", b->info.advice);
    }
    if (b->info.memory_bytes > 0) {
        line("", "%zu multiprocessors, memory %s, %s of it free", b->info.n_threads,
             text_size(total, b->info.memory_bytes), text_size(unused, b->info.memory_free));
    } else {
        line("", "%zu thread%s", b->info.n_threads, b->info.n_threads == 1 ? "" : "s");
    }
    line("", "self-test passed; opening and testing took %s", text_duration(took, b->seconds));
}

static void print_output(const struct settings *s, const struct doctor_folder *f)
{
    char room[TEXT_NUMBER_BYTES];
    if (!f->writable) {
        line(s->output, "is not writable: %s", f->reason);
    } else if (f->exists) {
        line(s->output, "is writable (%s)", f->where);
    } else {
        line(s->output, "is not there yet; can be made beneath %s", f->where);
    }
    line("", "%s free", text_size(room, f->free_bytes));
}

static void print_limits(const struct doctor_report *r)
{
    char bytes[TEXT_NUMBER_BYTES];
    if (r->open_files == UINT64_MAX) {
        line("open files", "no limit");
    } else {
        line("open files", "%llu", (unsigned long long)r->open_files);
    }
    line("locked memory", "%s", limit_text(bytes, r->locked_bytes));
    line("group memory", "%s", limit_text(bytes, r->group.memory_bytes));
    if (r->group.cpu_milli == UINT64_MAX) {
        line("group CPUs", "no limit");
    } else {
        line("group CPUs", "%.2f", (double)r->group.cpu_milli / 1000);
    }
}

static void print_text(const struct settings *s, const struct doctor_report *r)
{
    char total[TEXT_NUMBER_BYTES], bound[TEXT_NUMBER_BYTES];
    printf("leat %s (%s)\n\nMachine\n", LEAT_VERSION, doctor_compiler());
    line("system", "%s", r->system);
    line("processors", "%zu usable, %zu computing thread%s", r->cpus, r->threads,
         r->threads == 1 ? "" : "s");
    line("memory", "%s, of which leat's own bulk memory may be %s",
         text_size(total, r->memory_bytes), text_size(bound, r->memory_bound));
    printf("\nBackends\n");
    print_backend("cpu", &r->cpu);
    print_backend("cuda", &r->cuda);
    line("--backend", "%s: %s", s->backend,
         r->chosen == NULL      ? "does not work"
         : r->chosen == &r->cpu ? "takes the CPU"
                                : "takes CUDA");
    printf("\nOutput\n");
    print_output(s, &r->output);
    printf("\nLimits\n");
    print_limits(r);
    printf("\nLibraries\n");
    for (size_t i = 0; i < DOCTOR_LIBRARIES; i++) {
        line(r->libraries[i].name, "%s", r->libraries[i].version);
    }
}

/* --- for programs ---------------------------------------------------------------------------- */

static json_t *limit(uint64_t value)
{
    return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *backend_object(const struct doctor_backend *b)
{
    if (!b->works) {
        return json_pack("{s:b, s:o}", "works", 0, "reason", text_json(b->reason));
    }
    return json_pack("{s:b, s:o, s:o, s:I, s:o, s:o, s:f}", "works", 1, "device",
                     text_json(b->info.device), "detail", text_json(b->info.detail), "threads",
                     (json_int_t)b->info.n_threads, "memory_bytes", limit(b->info.memory_bytes),
                     "memory_free", limit(b->info.memory_free), "test_s", b->seconds);
}

static json_t *output_object(const struct settings *s, const struct doctor_folder *f)
{
    json_t *o = json_pack("{s:o, s:b, s:b, s:o, s:o}", "folder", text_json(s->output), "exists",
                          f->exists, "writable", f->writable, "where", text_json(f->where),
                          "free_bytes", limit(f->free_bytes));
    if (o != NULL && !f->writable) {
        json_object_set_new(o, "reason", text_json(f->reason));
    }
    return o;
}

static json_t *report_object(const struct settings *s, const struct doctor_report *r)
{
    json_t *libraries = json_object();
    for (size_t i = 0; i < DOCTOR_LIBRARIES; i++) {
        json_object_set_new(libraries, r->libraries[i].name, text_json(r->libraries[i].version));
    }
    json_t *machine =
        json_pack("{s:o, s:I, s:I, s:o, s:o}", "system", text_json(r->system), "processors",
                  (json_int_t)r->cpus, "threads", (json_int_t)r->threads, "memory_bytes",
                  limit(r->memory_bytes), "memory_bound", limit(r->memory_bound));
    json_t *limits =
        json_pack("{s:o, s:o, s:o, s:o}", "open_files", limit(r->open_files), "locked_bytes",
                  limit(r->locked_bytes), "group_memory_bytes", limit(r->group.memory_bytes),
                  "group_cpu_milli", limit(r->group.cpu_milli));
    return json_pack("{s:b, s:s, s:s, s:o, s:s, s:s?, s:{s:o, s:o}, s:o, s:o, s:o}", "works",
                     r->chosen != NULL, "version", LEAT_VERSION, "compiler", doctor_compiler(),
                     "machine", machine, "backend_asked", s->backend, "backend",
                     r->chosen == NULL      ? NULL
                     : r->chosen == &r->cpu ? "cpu"
                                            : "cuda",
                     "backends", "cpu", backend_object(&r->cpu), "cuda", backend_object(&r->cuda),
                     "output", output_object(s, &r->output), "limits", limits, "libraries",
                     libraries);
}

static enum status print_json(const struct settings *s, const struct doctor_report *r)
{
    json_t *o = report_object(s, r);
    if (o == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the report");
    }
    json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
    return STATUS_OK;
}

enum status command_doctor(const struct settings *s, int *exit_status)
{
    struct doctor_report *r = malloc(sizeof(*r));
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the report");
    }
    enum status status = doctor_examine(s, r);
    if (status == STATUS_OK && s->json) {
        status = print_json(s, r);
    } else if (status == STATUS_OK) {
        print_text(s, r);
    }
    *exit_status = r->chosen != NULL ? 0 : 2;
    free(r);
    return status;
}
