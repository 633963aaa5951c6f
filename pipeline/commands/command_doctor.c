/*
 * command_doctor - leat doctor: what works here and what does not, found out by trying it: backends
 * (opened, self-tested), the module for MPI (loaded), the output folder (a file made in it, unless
 * it is not there yet), limits, libraries. For people or (--json) for programs.
 */
#include "formats/base/status.h"
#include "formats/result/cairo_calls.h"
#include "kernels/backend.h"
#include "kernels/self_test.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/names/machine.h"
#include "pipeline/names/sandbox.h"
#include "pipeline/names/text.h"
#include "pipeline/page/http_calls.h"
#include "pipeline/ranks/ranks.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

struct doctor_backend {
    bool works;
    struct backend_info info;          /* when it works */
    char reason[STATUS_MESSAGE_BYTES]; /* when it does not */
    double seconds;                    /* that opening and testing it took */
};

struct doctor_mpi {
    bool works;
    char text[STATUS_MESSAGE_BYTES]; /* which MPI, or why it does not work */
};

struct doctor_folder {
    bool exists, writable;
    char where[4096]; /* absolute: the folder, or the nearest one above it that is there */
    char reason[STATUS_MESSAGE_BYTES]; /* when it is not writable */
    uint64_t free_bytes;
};

enum { DOCTOR_LIBRARIES = 6 };

struct doctor_report {
    char system[256]; /* "Linux 6.1.0 x86_64" */
    size_t cpus, threads;
    uint64_t memory_bytes, memory_bound; /* of the machine; of leat's bulk memory */
    struct machine_limits group;
    uint64_t open_files, locked_bytes; /* UINT64_MAX: no limit */
    struct doctor_backend cpu;
    struct doctor_backend cuda; /* the first device that works; else why none does */
    struct {
        int number;
        struct doctor_backend is;
    } devices[SETTINGS_MOST_DEVICES];
    size_t n_devices;
    const struct doctor_backend *chosen; /* what --backend gets; NULL: it does not work */
    struct doctor_mpi mpi;
    struct doctor_folder output;
    struct sandbox_means sandbox;
    struct {
        const char *name;
        char version[STATUS_MESSAGE_BYTES]; /* or why it does not work */
    } libraries[DOCTOR_LIBRARIES];
    bool draws; /* cairo works, without which the service does not begin */
};

/* Compiler that leat was built with: "gcc 12.2.0". */
static const char *compiler(void)
{
#ifdef __clang__
    return __VERSION__;
#else
    return "gcc " __VERSION__;
#endif
}

/* --- backends -------------------------------------------------------------------------------- */

/* Opening CUDA's backend includes its self-test; the CPU's is tested against itself, which shows
 * that the kernels run here and give the same bits twice. */
static void examine_backend(bool is_cpu, const struct backend_config *config,
                            struct doctor_backend *out)
{
    struct backend *b = NULL;
    uint64_t from = thread_pool_now_ns();
    enum status status = is_cpu ? backend_cpu.open(config, &b) : backend_open_cuda(config, &b);
    if (status == STATUS_OK && is_cpu) {
        status = self_test(b, b);
    }
    out->seconds = (double)(thread_pool_now_ns() - from) * 1e-9;
    out->works = status == STATUS_OK;
    if (out->works) {
        b->ops->describe(b, &out->info);
    } else {
        snprintf(out->reason, sizeof(out->reason), "%s", status_message());
    }
    if (b != NULL) {
        b->ops->close(b);
    }
}

/* All that --devices asks for. */
static enum status examine_devices(const struct settings *s, const struct backend_config *config,
                                   struct doctor_report *r)
{
    int numbers[SETTINGS_MOST_DEVICES];
    size_t n_there;
    STATUS_TRY(backend_count_cuda(&n_there));
    STATUS_TRY(settings_choose_devices(&s->devices, n_there, numbers, &r->n_devices));
    for (size_t i = 0; i < r->n_devices; i++) {
        struct backend_config this = *config;
        this.device = r->devices[i].number = numbers[i];
        examine_backend(false, &this, &r->devices[i].is);
        if (!r->cuda.works && (i == 0 || r->devices[i].is.works)) {
            r->cuda = r->devices[i].is;
        }
    }
    return STATUS_OK;
}

static enum status examine_backends(const struct settings *s, struct doctor_report *r)
{
    struct thread_pool *pool;
    STATUS_TRY(thread_pool_new(r->threads, &pool));
    struct backend_config config = {.executor = thread_pool_executor(pool)};
    examine_backend(true, &config, &r->cpu);
    if (examine_devices(s, &config, r) != STATUS_OK) {
        snprintf(r->cuda.reason, sizeof(r->cuda.reason), "%s", status_message());
        r->n_devices = 0;
    }
    thread_pool_free(pool);
    bool wants_cuda = strcmp(s->backend, "cuda") == 0;
    bool takes_cuda = strcmp(s->backend, "cpu") != 0 && r->cuda.works;
    if (takes_cuda) {
        r->chosen = &r->cuda;
    } else if (!wants_cuda && r->cpu.works) {
        r->chosen = &r->cpu;
    }
    return STATUS_OK;
}

/* MPI itself is not begun: only mpirun and its like know how that goes. */
static void examine_mpi(struct doctor_mpi *out)
{
    const struct rank_transport *transport;
    out->works = ranks_load(&transport) == STATUS_OK;
    if (out->works) {
        transport->describe(out->text, sizeof(out->text));
    } else {
        snprintf(out->text, sizeof(out->text), "%s", status_message());
    }
}

/* --- folders --------------------------------------------------------------------------------- */

/* The folder itself, or the nearest existing one above it. Ends at "/" or ".". */
static void find_existing(const char *path, char *where, size_t size, bool *exists)
{
    struct stat st;
    snprintf(where, size, "%s", path);
    *exists = stat(where, &st) == 0;
    bool there = *exists;
    while (!there) {
        size_t n = strlen(where);
        while (n > 1 && where[n - 1] == '/') {
            where[--n] = '\0';
        }
        char *slash = strrchr(where, '/');
        if (slash == NULL) {
            snprintf(where, size, ".");
            return;
        }
        slash[slash == where ? 1 : 0] = '\0';
        there = stat(where, &st) == 0 || strcmp(where, "/") == 0;
    }
}

static enum status try_writing(const char *folder)
{
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/.leat.%ld.tmp", folder, (long)getpid());
        if (n < 0 || (size_t)n >= sizeof(path)) {
            return status_fail(STATUS_BAD_ARGUMENT, "%s: the name is too long", folder);
        }
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            unlink(path);
        }
    }
    if (fd < 0) {
        return status_fail_errno(errno, "%s: cannot write", folder);
    }
    close(fd);
    return STATUS_OK;
}

static void examine_folder(const char *path, struct doctor_folder *out)
{
    char near[PATH_MAX], whole[PATH_MAX];
    find_existing(path, near, sizeof(near), &out->exists);
    snprintf(out->where, sizeof(out->where), "%s", realpath(near, whole) != NULL ? whole : near);
    out->writable = try_writing(near) == STATUS_OK;
    if (!out->writable) {
        snprintf(out->reason, sizeof(out->reason), "%s", status_message());
    }
    struct statvfs fs;
    if (statvfs(near, &fs) == 0) {
        out->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    }
}

/* --- the rest -------------------------------------------------------------------------------- */

static uint64_t read_limit(__rlimit_resource_t which)
{
    struct rlimit limit;
    return getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
                                                                            : limit.rlim_cur;
}

static void add_library(struct doctor_report *r, size_t index, const char *name,
                        const char *version)
{
    r->libraries[index].name = name;
    snprintf(r->libraries[index].version, sizeof(r->libraries[index].version), "%s", version);
}

static void list_libraries(struct doctor_report *r)
{
    const char *blank = strrchr(archive_version_string(), ' '); /* "libarchive 3.6.2" */
    add_library(r, 0, "libuv", uv_version_string());
    add_library(r, 1, "zlib", zlibVersion());
    add_library(r, 2, "libarchive", blank != NULL ? blank + 1 : archive_version_string());
    r->draws = cairo_need() == STATUS_OK;
    add_library(r, 3, "cairo", r->draws ? cairo.version_string() : status_message());
    add_library(r, 4, "libmicrohttpd",
                http_need() == STATUS_OK ? http.get_version() : status_message());
    add_library(r, 5, "jansson", jansson_version_str());
}

/* Fails only because of insufficient memory or threads; what does not work is in the report. */
static enum status examine(const struct settings *s, struct doctor_report *out)
{
    memset(out, 0, sizeof(*out));
    struct utsname u;
    if (uname(&u) == 0) {
        snprintf(out->system, sizeof(out->system), "%s %s %s", u.sysname, u.release, u.machine);
    }
    out->cpus = machine_cpus();
    out->threads = s->threads > 0 ? s->threads : out->cpus;
    out->memory_bytes = machine_memory();
    out->memory_bound = s->memory > 0 ? s->memory : out->memory_bytes / 2;
    machine_read_limits(&out->group);
    out->open_files = read_limit(RLIMIT_NOFILE);
    out->locked_bytes = read_limit(RLIMIT_MEMLOCK);
    list_libraries(out);
    examine_mpi(&out->mpi);
    examine_folder(s->output, &out->output);
    sandbox_examine(&out->sandbox);
    return examine_backends(s, out);
}

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
    line("", "%s%s", b->info.detail, b->info.products);
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

static void print_sandbox(const struct sandbox_means *m)
{
    if (m->landlock > 0) {
        line("Landlock", "version %ld", m->landlock);
    } else {
        line("Landlock", "none");
    }
    line("system calls", m->filter ? "can be filtered" : "cannot be filtered");
    for (size_t i = 0; i < sizeof(m->lacks) / sizeof(*m->lacks); i++) {
        if (m->lacks[i] != NULL) {
            line("", "%s", m->lacks[i]);
        }
    }
}

static void print_text(const struct settings *s, const struct doctor_report *r)
{
    char total[TEXT_NUMBER_BYTES], bound[TEXT_NUMBER_BYTES];
    printf("leat %s (%s)\n\nMachine\n", LEAT_VERSION, compiler());
    line("system", "%s", r->system);
    line("processors", "%zu usable, %zu computing thread%s", r->cpus, r->threads,
         r->threads == 1 ? "" : "s");
    line("memory", "%s, of which leat's own bulk memory may be %s",
         text_size(total, r->memory_bytes), text_size(bound, r->memory_bound));
    printf("\nBackends\n");
    print_backend("cpu", &r->cpu);
    for (size_t i = 0; i < r->n_devices; i++) {
        char name[24];
        snprintf(name, sizeof(name), "cuda:%d", r->devices[i].number);
        print_backend(name, &r->devices[i].is);
    }
    if (r->n_devices == 0) {
        print_backend("cuda", &r->cuda);
    }
    line("--backend", "%s: %s", s->backend,
         r->chosen == NULL                 ? "does not work"
         : r->chosen == &r->cpu            ? "takes the CPU"
         : strcmp(s->backend, "auto") == 0 ? "takes CUDA for large jobs, the CPU for small ones"
                                           : "takes CUDA");
    printf("\nSeveral nodes\n");
    line("--mpi", "%s: %s", r->mpi.works ? "can be used" : "does not work", r->mpi.text);
    printf("\nOutput\n");
    print_output(s, &r->output);
    printf("\nLimits\n");
    print_limits(r);
    printf("\nSandbox of workers\n");
    print_sandbox(&r->sandbox);
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
    char detail[sizeof(b->info.detail) + sizeof(b->info.products)];
    snprintf(detail, sizeof(detail), "%s%s", b->info.detail, b->info.products);
    return json_pack("{s:b, s:o, s:o, s:I, s:o, s:o, s:f}", "works", 1, "device",
                     text_json(b->info.device), "detail", text_json(detail), "threads",
                     (json_int_t)b->info.n_threads, "memory_bytes", limit(b->info.memory_bytes),
                     "memory_free", limit(b->info.memory_free), "test_s", b->seconds);
}

static json_t *devices_object(const struct doctor_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n_devices; i++) {
        json_t *device = backend_object(&r->devices[i].is);
        json_object_set_new(device, "number", json_integer(r->devices[i].number));
        json_array_append_new(list, device);
    }
    return list;
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

static json_t *sandbox_object(const struct sandbox_means *m)
{
    json_t *lacks = json_array();
    for (size_t i = 0; i < sizeof(m->lacks) / sizeof(*m->lacks); i++) {
        if (m->lacks[i] != NULL) {
            json_array_append_new(lacks, json_string(m->lacks[i]));
        }
    }
    return json_pack("{s:I, s:b, s:o}", "landlock", (json_int_t)m->landlock, "filter", m->filter,
                     "lacks", lacks);
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
    return json_pack(
        "{s:b, s:s, s:s, s:o, s:s, s:s?, s:{s:o, s:o}, s:o, s:{s:b, s:o}, s:o, s:o, s:o, s:o}",
        "works", r->chosen != NULL && r->draws, "version", LEAT_VERSION, "compiler", compiler(),
        "machine", machine, "backend_asked", s->backend, "backend",
        r->chosen == NULL      ? NULL
        : r->chosen == &r->cpu ? "cpu"
                               : "cuda",
        "backends", "cpu", backend_object(&r->cpu), "cuda", backend_object(&r->cuda), "devices",
        devices_object(r), "mpi", "works", r->mpi.works, r->mpi.works ? "library" : "reason",
        text_json(r->mpi.text), "output", output_object(s, &r->output), "limits", limits, "sandbox",
        sandbox_object(&r->sandbox), "libraries", libraries);
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
    enum status status = examine(s, r);
    if (status == STATUS_OK && s->json) {
        status = print_json(s, r);
    } else if (status == STATUS_OK) {
        print_text(s, r);
    }
    *exit_status = r->chosen != NULL && r->draws ? 0 : 2;
    free(r);
    return status;
}
