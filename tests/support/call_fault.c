/*
 * call_fault - of `leat_faulty`'s own calls for memory or of the system, the K-th fails; by the
 * environment:
 *
 *   LEAT_FAULT="memory K"         K from 1; ENOMEM
 *   LEAT_FAULT="system K [ERRNO]" ERRNO: a number; without it, what is likely of that call
 *   LEAT_FAULT="death K"          before the K-th call of the system the process is killed
 *   LEAT_FAULT="always NAME ERRNO"  every call of that name fails (of renameat2, those with flags)
 *   LEAT_FAULT=count              none fails; LEAT_FAULT_LOG then says how many there were: "memory
 *                                 N system M"
 *   LEAT_FAULT=list               none fails; LEAT_FAULT_LOG has a line for each as it is made:
 *                                 "memory K", its name and the callers' addresses
 *   LEAT_FAULT=loop               likewise of calls that may wait for a disk, by the first thread
 *   LEAT_FAULT_IN=COMMAND         only in processes of `leat COMMAND`
 *   LEAT_FAULT_LOG=FILE           which call it was: its name and the callers' addresses in the
 *                                 program, for addr2line; must be given, but for "always". Where
 * the file holds something already nothing fails, so that one fault hits one process
 *
 * The linker leads calls here (--wrap) that the program's own objects make; libraries' own calls
 * are left alone, but for jansson's memory, which formats/json_read gives it.
 * Threads share one count: with several of them the K-th call is not the same one every time.
 *
 * tests/CMakeLists.txt finds the names to be wrapped in the lines that begin with MEMORY or SYSTEM.
 */
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fts.h>
#include <locale.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

enum { KINDS = 2, FRAMES = 16, LINE_BYTES = 1024 };
enum kind { MEMORY_CALL, SYSTEM_CALL };
static const char *const kind_names[KINDS] = {"memory", "system"};

static struct {
    bool counts; /* to say how many there were */
    int list_fd; /* where each is listed; 0: nowhere */
    bool loop;   /* those alone that hold up the first thread */
    bool kills;
    enum kind kind;
    char always[24];  /* the name of calls that fail; "": none */
    unsigned long at; /* 0: none */
    int error;        /* 0: what is likely */
    int log_fd;       /* open from the begin on, since a worker opens no such file */
    const char *log;
    atomic_ulong n[KINDS];
} fault;

extern char __executable_start;
int __real_open64(const char *path, int flags, ...);
int __real_openat64(int fd, const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t n);
int __real_flock(int fd, int how);
int __real_fstat64(int fd, struct stat *st);

/* Whether nobody has written to the file before. */
static bool write_log(const char *line, size_t n)
{
    struct stat st;
    const bool written = __real_flock(fault.log_fd, LOCK_EX) == 0 &&
                         __real_fstat64(fault.log_fd, &st) == 0 && st.st_size == 0 &&
                         __real_write(fault.log_fd, line, n) == (ssize_t)n;
    __real_flock(fault.log_fd, LOCK_UN);
    return written;
}

/* Appends to the n bytes of a line a call's name and the callers' addresses, from that on to which
 * the call returns. Returns the line's length. */
static size_t describe(const char *name, const void *caller, char line[LINE_BYTES], size_t n)
{
    void *frames[FRAMES];
    const int n_frames = backtrace(frames, FRAMES);
    int first = 0;
    while (first < n_frames && frames[first] != caller) {
        first++;
    }
    n += (size_t)snprintf(line + n, LINE_BYTES - n, "%s", name);
    for (int i = first; i < n_frames; i++) {
        n += (size_t)snprintf(line + n, LINE_BYTES - n, " %#tx",
                              (char *)frames[i] - &__executable_start);
    }
    line[n++] = '\n';
    return n;
}

static bool happens(const char *name, const void *caller)
{
    char line[LINE_BYTES];
    return write_log(line, describe(name, caller, line, 0));
}

static void list(enum kind kind, unsigned long k, const char *name, const void *caller)
{
    char line[LINE_BYTES];
    const size_t n = (size_t)snprintf(line, sizeof line, "%s %lu ", kind_names[kind], k);
    if (__real_write(fault.list_fd, line, describe(name, caller, line, n)) < 0) {
        abort();
    }
}

/* But for what of it is used for pipes and sockets, too. */
__attribute__((noinline)) static bool is_of_disk(const char *name)
{
    static const char *const others[] = {"read",    "write",         "close",
                                         "socket",  "bind",          "connect",
                                         "syscall", "inotify_init1", "inotify_add_watch",
                                         "dlopen",  "getrandom",     "pthread_create"};
    bool is = true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        is = is && strcmp(name, others[i]) != 0;
    }
    return is;
}

static bool call_fails(enum kind kind, const char *name, int likely, const void *caller)
{
    const unsigned long k = atomic_fetch_add(&fault.n[kind], 1) + 1;
    const int before = errno;
    if (fault.list_fd > 0) {
        if (!fault.loop || (kind == SYSTEM_CALL && getpid() == gettid() && is_of_disk(name))) {
            list(kind, k, name, caller);
        }
        errno = before;
        return false;
    }
    if (fault.always[0] != '\0' && strcmp(name, fault.always) == 0) {
        errno = fault.error;
        return true;
    }
    if (fault.at != k || fault.kind != kind || !happens(name, caller)) {
        errno = before;
        return false;
    }
    if (fault.kills) {
        raise(SIGKILL);
    }
    errno = kind == SYSTEM_CALL && fault.error != 0 ? fault.error : likely;
    return true;
}

/* In what the linker leads a call to. */
#define fails(kind, name, likely) call_fails(kind, name, likely, __builtin_return_address(0))

#define WRAP(kind, name, likely, type, declared, passed, failed)                                   \
    type __real_##name declared;                                                                   \
    type __wrap_##name declared;                                                                   \
    type __wrap_##name declared                                                                    \
    {                                                                                              \
        return fails(kind, #name, likely) ? (failed) : __real_##name passed;                       \
    }
#define MEMORY(name, type, declared, passed, failed)                                               \
    WRAP(MEMORY_CALL, name, ENOMEM, type, declared, passed, failed)
#define SYSTEM(name, likely, type, declared, passed, failed)                                       \
    WRAP(SYSTEM_CALL, name, likely, type, declared, passed, failed)

/* --- memory ----------------------------------------------------------------------------------- */

MEMORY(malloc, void *, (size_t n), (n), NULL)
MEMORY(calloc, void *, (size_t n, size_t each), (n, each), NULL)
MEMORY(realloc, void *, (void *p, size_t n), (p, n), NULL)
MEMORY(reallocarray, void *, (void *p, size_t n, size_t each), (p, n, each), NULL)
MEMORY(aligned_alloc, void *, (size_t alignment, size_t n), (alignment, n), NULL)
MEMORY(strdup, char *, (const char *s), (s), NULL)
MEMORY(strndup, char *, (const char *s, size_t n), (s, n), NULL)
MEMORY(vasprintf, int, (char **out, const char *format, va_list list), (out, format, list), -1)
MEMORY(__vasprintf_chk, int, (char **out, int flag, const char *format, va_list list),
       (out, flag, format, list), -1)
MEMORY(mmap64, void *, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
       (at, n, prot, flags, fd, offset), MAP_FAILED)
MEMORY(fdopendir, DIR *, (int fd), (fd), NULL)
MEMORY(get_current_dir_name, char *, (void), (), NULL)
MEMORY(newlocale, locale_t, (int mask, const char *name, locale_t base), (mask, name, base), NULL)
MEMORY(tsearch, void *, (const void *key, void **root, int (*compare)(const void *, const void *)),
       (key, root, compare), NULL)
MEMORY(deflateInit2_, int,
       (z_streamp z, int level, int method, int bits, int effort, int strategy, const char *version,
        int size),
       (z, level, method, bits, effort, strategy, version, size), Z_MEM_ERROR)
MEMORY(inflateInit2_, int, (z_streamp z, int bits, const char *version, int size),
       (z, bits, version, size), Z_MEM_ERROR)
MEMORY(fts64_open, FTS *,
       (char *const *paths, int options, int (*compare)(const FTSENT **, const FTSENT **)),
       (paths, options, compare), NULL)

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = fails(MEMORY_CALL, "asprintf", ENOMEM) ? -1 : __real_vasprintf(out, format, list);
    va_end(list);
    return n;
}

/* asprintf, where it is compiled with _FORTIFY_SOURCE. */
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...);
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = fails(MEMORY_CALL, "asprintf", ENOMEM)
                      ? -1
                      : __real___vasprintf_chk(out, flag, format, list);
    va_end(list);
    return n;
}

/* --- the system ------------------------------------------------------------------------------- */

SYSTEM(read, EIO, ssize_t, (int fd, void *data, size_t n), (fd, data, n), -1)
SYSTEM(pread64, EIO, ssize_t, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1)
SYSTEM(write, ENOSPC, ssize_t, (int fd, const void *data, size_t n), (fd, data, n), -1)
SYSTEM(pwrite64, ENOSPC, ssize_t, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at),
       -1)
SYSTEM(copy_file_range, ENOSPC, ssize_t,
       (int from_fd, off_t *from, int to_fd, off_t *to, size_t n, unsigned flags),
       (from_fd, from, to_fd, to, n, flags), -1)
SYSTEM(ftruncate64, EIO, int, (int fd, off_t n), (fd, n), -1)
SYSTEM(lseek64, EIO, off_t, (int fd, off_t at, int whence), (fd, at, whence), -1)
SYSTEM(fstat64, EIO, int, (int fd, struct stat *out), (fd, out), -1)
SYSTEM(fstatat64, EIO, int, (int fd, const char *name, struct stat *out, int flags),
       (fd, name, out, flags), -1)
SYSTEM(stat64, EIO, int, (const char *path, struct stat *out), (path, out), -1)
SYSTEM(lstat64, EIO, int, (const char *path, struct stat *out), (path, out), -1)
SYSTEM(fstatfs64, EIO, int, (int fd, struct statfs *out), (fd, out), -1)
SYSTEM(fstatvfs64, EIO, int, (int fd, struct statvfs *out), (fd, out), -1)
SYSTEM(statvfs64, EIO, int, (const char *path, struct statvfs *out), (path, out), -1)
SYSTEM(mkdir, ENOSPC, int, (const char *path, mode_t mode), (path, mode), -1)
SYSTEM(mkdirat, ENOSPC, int, (int fd, const char *name, mode_t mode), (fd, name, mode), -1)
SYSTEM(mkostemp64, EMFILE, int, (char *path, int flags), (path, flags), -1)
SYSTEM(renameat, EIO, int, (int from_fd, const char *from, int to_fd, const char *to),
       (from_fd, from, to_fd, to), -1)
SYSTEM(linkat, ENOSPC, int, (int from_fd, const char *from, int to_fd, const char *to, int flags),
       (from_fd, from, to_fd, to, flags), -1)
SYSTEM(unlink, EIO, int, (const char *path), (path), -1)
SYSTEM(unlinkat, EIO, int, (int fd, const char *name, int flags), (fd, name, flags), -1)
SYSTEM(close, EIO, int, (int fd), (fd), (__real_close(fd), -1))
SYSTEM(fsync, EIO, int, (int fd), (fd), -1)
SYSTEM(syncfs, EIO, int, (int fd), (fd), -1)
SYSTEM(fchmod, EIO, int, (int fd, mode_t mode), (fd, mode), -1)
SYSTEM(flock, EIO, int, (int fd, int operation), (fd, operation), -1)
SYSTEM(readlink, EIO, ssize_t, (const char *path, char *out, size_t n), (path, out, n), -1)
SYSTEM(getrandom, EIO, ssize_t, (void *out, size_t n, unsigned flags), (out, n, flags), -1)
SYSTEM(fopen64, EMFILE, FILE *, (const char *path, const char *mode), (path, mode), NULL)
SYSTEM(opendir, EMFILE, DIR *, (const char *path), (path), NULL)
SYSTEM(readdir64, EIO, struct dirent *, (DIR * folder), (folder), NULL)
SYSTEM(fts64_read, EIO, FTSENT *, (FTS * walk), (walk), NULL)
SYSTEM(socket, EMFILE, int, (int domain, int type, int protocol), (domain, type, protocol), -1)
SYSTEM(bind, EIO, int, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n), -1)
SYSTEM(connect, EIO, int, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n),
       -1)
SYSTEM(inotify_init1, EMFILE, int, (int flags), (flags), -1)
SYSTEM(inotify_add_watch, ENOSPC, int, (int fd, const char *path, uint32_t mask), (fd, path, mask),
       -1)
SYSTEM(__openat64_2, EMFILE, int, (int fd, const char *path, int flags), (fd, path, flags), -1)
SYSTEM(pthread_create, EAGAIN, int,
       (pthread_t * out, const pthread_attr_t *how, void *(*run)(void *), void *argument),
       (out, how, run, argument), errno)
SYSTEM(dlopen, EMFILE, void *, (const char *path, int flags), (path, flags), NULL)

static mode_t mode_of(int flags, va_list list)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return fails(SYSTEM_CALL, "open64", EMFILE) ? -1 : __real_open64(path, flags, mode);
}

int __wrap_openat64(int fd, const char *path, int flags, ...);
int __wrap_openat64(int fd, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return fails(SYSTEM_CALL, "openat64", EMFILE) ? -1 : __real_openat64(fd, path, flags, mode);
}

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return fails(SYSTEM_CALL, flags != 0 ? "renameat2" : "renameat", EIO)
               ? -1
               : __real_renameat2(from_fd, from, to_fd, to, flags);
}

/* openat2 is called so. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[4];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    return fails(SYSTEM_CALL, number == SYS_openat2 ? "openat2" : "syscall", EMFILE)
               ? -1
               : __real_syscall(number, a[0], a[1], a[2], a[3]);
}

/* --- what is wanted --------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    const char *wanted = getenv("LEAT_FAULT"), *in = getenv("LEAT_FAULT_IN");
    char word[16];
    fault.log = getenv("LEAT_FAULT_LOG");
    if (wanted == NULL || (fault.log == NULL && strncmp(wanted, "always ", 7) != 0) ||
        (in != NULL && (argc < 2 || strcmp(argv[1], in) != 0))) {
        return;
    }
    if (sscanf(wanted, "always %23s %d", fault.always, &fault.error) == 2) {
        return;
    }
    fault.log_fd = __real_open64(fault.log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const int n = sscanf(wanted, "%15s %lu %d", word, &fault.at, &fault.error);
    fault.counts = strcmp(word, "count") == 0;
    fault.loop = strcmp(word, "loop") == 0;
    if (fault.loop || strcmp(word, "list") == 0) {
        fault.list_fd = fault.log_fd;
        return;
    }
    fault.kills = strcmp(word, "death") == 0;
    fault.kind =
        fault.kills || strcmp(word, kind_names[SYSTEM_CALL]) == 0 ? SYSTEM_CALL : MEMORY_CALL;
    if (!fault.counts && (n < 2 || (!fault.kills && strcmp(word, kind_names[fault.kind]) != 0))) {
        fprintf(stderr, "LEAT_FAULT is not understood: %s\n", wanted);
        abort();
    }
}

__attribute__((destructor)) static void end(void)
{
    char line[80];
    if (fault.counts) {
        const int n =
            snprintf(line, sizeof line, "memory %lu system %lu\n",
                     atomic_load(&fault.n[MEMORY_CALL]), atomic_load(&fault.n[SYSTEM_CALL]));
        write_log(line, (size_t)n);
    }
}
