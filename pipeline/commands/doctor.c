/*
 * doctor - see doctor.h.
 */
#include "pipeline/commands/doctor.h"

#include "kernels/self_test.h"
#include "pipeline/engine/crew.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <png.h>
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

const char *doctor_compiler(void)
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
static void examine_backend(const char *name, const struct backend_config *config,
                            struct doctor_backend *out)
{
    struct backend *b = NULL;
    char why[STATUS_MESSAGE_BYTES];
    uint64_t from = crew_now_ns();
    enum status status = backend_select(name, config, why, sizeof(why), &b);
    if (status == STATUS_OK && strcmp(name, "cpu") == 0) {
        status = self_test(b, b);
    }
    out->seconds = (double)(crew_now_ns() - from) * 1e-9;
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

static enum status examine_backends(const struct settings *s, struct doctor_report *r)
{
    struct crew *crew;
    enum status status = crew_new(r->threads, &crew);
    if (status != STATUS_OK) {
        return status;
    }
    struct backend_config config = {.executor = crew_executor(crew)};
    examine_backend("cpu", &config, &r->cpu);
    examine_backend("cuda", &config, &r->cuda);
    crew_free(crew);
    bool wants_cuda = strcmp(s->backend, "cuda") == 0;
    bool takes_cuda = strcmp(s->backend, "cpu") != 0 && r->cuda.works;
    if (takes_cuda) {
        r->chosen = &r->cuda;
    } else if (!wants_cuda && r->cpu.works) {
        r->chosen = &r->cpu;
    }
    return STATUS_OK;
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
    add_library(r, 3, "libpng", png_get_libpng_ver(NULL));
    add_library(r, 4, "jansson", jansson_version_str());
}

enum status doctor_examine(const struct settings *s, struct doctor_report *out)
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
    examine_folder(s->output, &out->output);
    return examine_backends(s, out);
}
