/*
 * command_doctor - leat doctor: what works here and what does not, found out by trying it: backends
 * (opened, self-tested), the module for MPI (loaded), the output folder (a file made in it, unless
 * it is not there yet), limits, libraries. What is found is a document for programs (--json), from
 * which people are told.
 */
#include "formats/base/status.h"
#include "formats/result/cairo_calls.h"
#include "formats/table/foreign.h"
#include "kernels/backend.h"
#include "kernels/self_test.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/names/machine.h"
#include "pipeline/names/sandbox.h"
#include "pipeline/names/template.h"
#include "pipeline/names/text.h"
#include "pipeline/page/http_calls.h"
#include "pipeline/ranks/ranks.h"
#include "watch/files/xalloc.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

TEMPLATE_LINK_IN("doctor_page", "pipeline/commands/doctor.txt");
extern const char doctor_page[];

/* Compiler that leat was built with: "gcc 12.2.0". */
static const char *compiler(void)
{
#ifdef __clang__
    return __VERSION__;
#else
    return "gcc " __VERSION__;
#endif
}

static json_t *does_not_work(void)
{
    return json_pack("{s:b, s:o}", "works", 0, "reason", text_json(status_message()));
}

static bool works(const json_t *part)
{
    return json_is_true(json_object_get(part, "works"));
}

/* null: no limit. */
static json_t *amount(uint64_t value)
{
    return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

/* --- backends -------------------------------------------------------------------------------- */

/* Opening CUDA's backend includes its self-test; the CPU's is tested against itself, which shows
 * that the kernels run here and give the same bits twice. */
static json_t *examine_backend(bool is_cpu, const struct backend_config *config)
{
    struct backend *b = NULL;
    struct backend_info info = {0};
    json_t *report;
    const uint64_t from = thread_pool_now_ns();
    enum status status = is_cpu ? backend_cpu.open(config, &b) : backend_open_cuda(config, &b);
    if (status == STATUS_OK && is_cpu) {
        status = self_test(b, b);
    }
    const double seconds = (double)(thread_pool_now_ns() - from) * 1e-9;
    if (status == STATUS_OK) {
        b->ops->describe(b, &info);
        char *const detail = xasprintf("%s%s", info.detail, info.products);
        report = json_pack("{s:b, s:o, s:o, s:o*, s:I, s:o, s:o, s:f}", "works", 1, "device",
                           text_json(info.device), "detail", text_json(detail), "advice",
                           info.advice[0] != '\0' ? text_json(info.advice) : NULL, "threads",
                           (json_int_t)info.n_threads, "memory_bytes", amount(info.memory_bytes),
                           "memory_free", amount(info.memory_free), "test_s", seconds);
        free(detail);
    } else {
        report = does_not_work();
    }
    if (b != NULL) {
        b->ops->close(b);
    }
    return report;
}

/* All devices that --devices asks for, into the list; the first that works, else why none does. */
static json_t *examine_devices(const struct settings *s, const struct backend_config *config,
                               json_t *list)
{
    int numbers[SETTINGS_MOST_DEVICES];
    size_t n_there, n;
    json_t *cuda = NULL;
    if (backend_count_cuda(&n_there) != STATUS_OK ||
        settings_choose_devices(&s->devices, n_there, numbers, &n) != STATUS_OK) {
        return does_not_work();
    }
    for (size_t i = 0; i < n; i++) {
        struct backend_config this = *config;
        this.device = numbers[i];
        json_t *const device = examine_backend(false, &this);
        if (cuda == NULL || (!works(cuda) && works(device))) {
            json_decref(cuda);
            cuda = json_copy(device);
        }
        json_object_set_new(device, "number", json_integer(numbers[i]));
        json_array_append_new(list, device);
    }
    return cuda;
}

static enum status examine_backends(const struct settings *s, size_t n_threads, json_t **cpu,
                                    json_t **cuda, json_t *devices)
{
    struct thread_pool *pool;
    STATUS_TRY(thread_pool_new(n_threads, &pool));
    const struct backend_config config = {.executor = thread_pool_executor(pool)};
    *cpu = examine_backend(true, &config);
    *cuda = examine_devices(s, &config, devices);
    thread_pool_free(pool);
    return STATUS_OK;
}

/* MPI itself is not begun: only mpirun and its like know how that goes. */
static json_t *examine_mpi(void)
{
    const struct rank_transport *transport;
    char mpi[STATUS_MESSAGE_BYTES];
    if (ranks_load(&transport) != STATUS_OK) {
        return does_not_work();
    }
    transport->describe(mpi, sizeof(mpi));
    return json_pack("{s:b, s:o}", "works", 1, "library", text_json(mpi));
}

/* --- the rest -------------------------------------------------------------------------------- */

/* The folder itself, or the nearest existing one above it, for free(). Ends at "/" or ".". */
static char *find_existing(const char *path)
{
    char *at = xstrdup(path);
    while (access(at, F_OK) != 0 && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *const above = xstrdup(dirname(at));
        free(at);
        at = above;
    }
    return at;
}

static enum status try_writing(const char *folder)
{
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    int error = errno;
    if (fd < 0 && (error == EOPNOTSUPP || error == EISDIR || error == EINVAL)) {
        char *const path = xasprintf("%s/.leat.%ld.tmp", folder, (long)getpid());
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        error = errno;
        if (fd >= 0) {
            unlink(path);
        }
        free(path);
    }
    if (fd < 0) {
        return status_fail_errno(error, "%s: cannot write", folder);
    }
    close(fd);
    return STATUS_OK;
}

static json_t *examine_folder(const char *path)
{
    struct statvfs fs;
    const bool exists = access(path, F_OK) == 0;
    char *const near = find_existing(path), *const whole = realpath(near, NULL);
    const bool is_writable = try_writing(near) == STATUS_OK;
    json_t *const report = json_pack(
        "{s:o, s:b, s:b, s:o, s:o, s:o*}", "folder", text_json(path), "exists", exists, "writable",
        is_writable, "where", text_json(whole != NULL ? whole : near), "free_bytes",
        amount(statvfs(near, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0), "reason",
        is_writable ? NULL : text_json(status_message()));
    free(near);
    free(whole);
    return report;
}

static json_t *read_limit(__rlimit_resource_t which)
{
    struct rlimit limit;
    return amount(getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
                      ? UINT64_MAX
                      : limit.rlim_cur);
}

static json_t *examine_limits(void)
{
    struct machine_limits group;
    machine_read_limits(&group);
    return json_pack("{s:o, s:o, s:o, s:o}", "open_files", read_limit(RLIMIT_NOFILE),
                     "locked_bytes", read_limit(RLIMIT_MEMLOCK), "group_memory_bytes",
                     amount(group.memory_bytes), "group_cpu_milli", amount(group.cpu_milli));
}

static json_t *examine_sandbox(void)
{
    struct sandbox_means means;
    json_t *lacks = json_array();
    sandbox_examine(&means);
    for (size_t i = 0; i < sizeof(means.lacks) / sizeof(*means.lacks); i++) {
        if (means.lacks[i] != NULL) {
            json_array_append_new(lacks, json_string(means.lacks[i]));
        }
    }
    return json_pack("{s:I, s:b, s:o}", "landlock", (json_int_t)means.landlock, "filter",
                     means.filter, "lacks", lacks);
}

/* draws: cairo works, without which the service does not begin. */
static json_t *examine_libraries(bool *draws)
{
    const char *const blank = strrchr(archive_version_string(), ' '); /* "libarchive 3.6.2" */
    *draws = cairo_need() == STATUS_OK;
    json_t *const cairo_is = text_json(*draws ? cairo.version_string() : status_message());
    json_t *const all =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:s}", "libuv", uv_version_string(), "zlib",
                  zlibVersion(), "libarchive", blank != NULL ? blank + 1 : archive_version_string(),
                  "cairo", cairo_is, "libmicrohttpd",
                  text_json(http_need() == STATUS_OK ? http.get_version() : status_message()),
                  "jansson", jansson_version_str());
    for (enum foreign_module m = FOREIGN_NONE + 1; m < FOREIGN_N_MODULES; m++) {
        const char *version;
        const bool is_there = foreign_module_need(m, &version) == STATUS_OK;
        json_object_set_new(all, foreign_module_package(m),
                            text_json(is_there ? version : status_message()));
    }
    return all;
}

static json_t *examine_machine(const struct settings *s, size_t n_threads)
{
    struct utsname u;
    char *const system =
        uname(&u) == 0 ? xasprintf("%s %s %s", u.sysname, u.release, u.machine) : xstrdup("");
    const uint64_t memory_bytes = machine_memory();
    json_t *const report = json_pack(
        "{s:o, s:I, s:I, s:o, s:o}", "system", text_json(system), "processors",
        (json_int_t)machine_cpus(), "threads", (json_int_t)n_threads, "memory_bytes",
        amount(memory_bytes), "memory_bound", amount(s->memory > 0 ? s->memory : memory_bytes / 2));
    free(system);
    return report;
}

/* What --backend gets; NULL: it does not work. */
static const char *choose(const struct settings *s, const json_t *cpu, const json_t *cuda)
{
    return strcmp(s->backend, "cpu") != 0 && works(cuda)   ? "cuda"
           : strcmp(s->backend, "cuda") != 0 && works(cpu) ? "cpu"
                                                           : NULL;
}

/* Fails only because of insufficient threads; what does not work is in the report. */
static enum status examine(const struct settings *s, json_t **out)
{
    const size_t n_threads = s->threads > 0 ? s->threads : machine_cpus();
    json_t *cpu, *cuda, *const devices = json_array();
    bool draws;
    const enum status code = examine_backends(s, n_threads, &cpu, &cuda, devices);
    if (code != STATUS_OK) {
        json_decref(devices);
        return code;
    }
    const char *const chosen = choose(s, cpu, cuda);
    json_t *const libraries = examine_libraries(&draws);
    *out = json_pack("{s:b, s:s, s:s, s:o, s:s, s:s?, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "works", chosen != NULL && draws, "version", LEAT_VERSION, "compiler",
                     compiler(), "machine", examine_machine(s, n_threads), "backend_asked",
                     s->backend, "backend", chosen, "backends", "cpu", cpu, "cuda", cuda, "devices",
                     devices, "mpi", examine_mpi(), "output", examine_folder(s->output), "limits",
                     examine_limits(), "sandbox", examine_sandbox(), "libraries", libraries);
    return STATUS_OK;
}

/* --- for people ------------------------------------------------------------------------------ */

/* What stands before the others of a line. */
static void set_label(json_t *o, const char *text)
{
    json_object_set_new(o, "label", json_sprintf("%-14s", text));
}

static json_t *list_backends(json_t *report)
{
    json_t *const backends = json_object_get(report, "backends"),
                  *const devices = json_object_get(report, "devices"), *device;
    json_t *const list = json_pack("[O]", json_object_get(backends, "cpu"));
    size_t i;
    set_label(json_array_get(list, 0), "cpu");
    json_array_foreach(devices, i, device)
    {
        char name[32];
        snprintf(name, sizeof(name), "cuda:%lld", text_count_at(device, "number"));
        set_label(device, name);
        json_array_append(list, device);
    }
    if (json_array_size(devices) == 0) {
        set_label(json_object_get(backends, "cuda"), "cuda");
        json_array_append(list, json_object_get(backends, "cuda"));
    }
    return list;
}

static const char *what_it_takes(const char *asked, const char *chosen)
{
    return *chosen == '\0'              ? "does not work"
           : strcmp(chosen, "cpu") == 0 ? "takes the CPU"
           : strcmp(asked, "auto") == 0 ? "takes CUDA for large jobs, the CPU for small ones"
                                        : "takes CUDA";
}

/* By doctor.txt; the report gets what it lacks for that. */
static void print_text(json_t *report)
{
    json_t *const output = json_object_get(report, "output"), *const named = json_array(), *version;
    json_t *const limits = json_object_get(report, "limits");
    const json_t *const milli = json_object_get(limits, "group_cpu_milli");
    const char *const takes =
        what_it_takes(text_at(report, "backend_asked"), text_at(report, "backend"));
    const char *name;
    json_object_foreach(json_object_get(report, "libraries"), name, version)
    {
        json_t *const library = json_pack("{s:O}", "version", version);
        set_label(library, name);
        json_array_append_new(named, library);
    }
    json_object_set_new(
        limits, "group_cpus",
        json_is_null(milli) ? json_null() : json_sprintf("%.2f", json_number_value(milli) / 1000));
    set_label(output, text_at(output, "folder"));
    json_object_set_new(report, "shown", list_backends(report));
    json_object_set_new(report, "takes", json_string(takes));
    json_object_set_new(report, "named", named);
    template_print(stdout, doctor_page, json_incref(report));
}

enum status command_doctor(const struct settings *s, int *exit_status)
{
    json_t *report;
    STATUS_TRY(examine(s, &report));
    if (s->json) {
        json_dumpf(report, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_text(report);
    }
    *exit_status = works(report) ? 0 : 2;
    json_decref(report);
    return STATUS_OK;
}
