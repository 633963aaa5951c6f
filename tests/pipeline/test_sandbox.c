/*
 * What the page's process and a worker can do once they are shut in: each in a process of its own.
 * ctest: wrap=syscall
 */
#include "pipeline/names/sandbox.h"
#include "pipeline/page/page_files.h"
#include "pipeline/worker/worker_sandbox.h"
#include "tests/support/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static const char *const folders[] = {"out",      "out/a", "out/b", "failed",
                                      "failed/1", "in",    ".work", "cache"};
static const char *const names[] = {"out/a/result.json", "out/a/new", "failed/1/reason.json",
                                    "in/x", ".work/job"};
enum { FOLDERS = sizeof(folders) / sizeof(*folders), NAMES = sizeof(names) / sizeof(*names) };

/* As it was, whatever has become of it. */
static void make_spool(void)
{
    assert_int_equal(system("rm -rf out failed in .work cache"), 0);
    for (size_t i = 0; i < FOLDERS; i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
    }
    for (size_t i = 0; i < NAMES; i++) {
        const int fd = open(names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
    }
}

static int remove_spool(void **state)
{
    return system("rm -rf out failed in .work cache") == 0 ? leave_folder(state) : -1;
}

/* What the kernel is said to have; 0: what it has. */
static long version_at_most;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* One that is asked for the version of its Landlock is an older one. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    enum { CREATE_RULESET = 444 };
    const long answer = __real_syscall(number, a, b, c, d, e, f);
    return number == CREATE_RULESET && a == 0 && version_at_most > 0 && answer > version_at_most
               ? version_at_most
               : answer;
}

/* Which of the things it can do, a bit each. */
enum {
    READ_RESULT = 1 << 0,
    READ_REASON = 1 << 1,
    READ_WORK = 1 << 2,
    READ_LIBRARY = 1 << 3,
    READ_OTHER = 1 << 4,
    WRITE_RESULT = 1 << 5,
    MOVE_RESULT = 1 << 6, /* to another folder of results */
    WRITE_OTHER = 1 << 7,
    CHANGE_FILE = 1 << 8, /* its mode, owner, times, length */
    SIGNAL_OTHER = 1 << 9,
    REACH_INTO_OTHER = 1 << 10,
    MAKE_SOCKET = 1 << 11, /* other than a Unix one */
    MAKE_UNIX = 1 << 12,
    START_PROGRAM = 1 << 13,
    HAVE_RIGHTS = 1 << 14, /* capabilities, or ways to get them */
    BE_LOOKED_INTO = 1 << 15,
    WRITE_CACHE = 1 << 17, /* of the driver */
    USE_DEVICE = 1 << 18,
    READ_DRIVER = 1 << 19,      /* where one may be installed */
    ESCAPE_IN_THREAD = 1 << 16, /* in a thread that was there before calls were filtered */
    LIMIT_OTHER = 1 << 20,      /* and schedule it */
    LIMIT_ITSELF = 1 << 21,
    DO_MORE = 1 << 22, /* than a server needs; which does no harm */
    FAILED = 1 << 30,
};

static bool opens(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC, 0600) >= 0;
}

static bool is_refused(long answer)
{
    return answer < 0 && errno == EACCES;
}

/* As a kernel that has no such call: who can do without it does. */
static bool is_missing(long answer)
{
    return answer < 0 && errno == ENOSYS;
}

/* The memory and the descriptors of another process; by EACCES the filter of calls refuses,
 * whatever else would have. */
static bool reaches_into_others(void)
{
    char byte = 0;
    const struct iovec own = {&byte, 1};
    const pid_t other = getppid();
#ifndef __SANITIZE_ADDRESS__
    if (!is_refused(syscall(SYS_ptrace, 0, 0, NULL, NULL))) {
        return true;
    }
#endif
    return !is_refused(syscall(SYS_process_vm_readv, other, &own, 1UL, &own, 1UL, 0UL)) ||
           !is_refused(syscall(SYS_process_vm_writev, other, &own, 1UL, &own, 1UL, 0UL)) ||
           !is_refused(syscall(SYS_pidfd_getfd, -1, 0, 0));
}

static bool signals_others(void)
{
    const pid_t other = getppid();
    return !is_refused(syscall(SYS_kill, other, 0)) || !is_refused(syscall(SYS_tkill, other, 0)) ||
           !is_refused(syscall(SYS_tgkill, other, other, 0)) ||
           !is_refused(syscall(SYS_rt_sigqueueinfo, other, 0, NULL)) ||
           !is_refused(syscall(SYS_rt_tgsigqueueinfo, other, other, 0, NULL)) ||
           !is_refused(syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0)) ||
           !is_refused(syscall(SYS_fcntl, -1, F_SETOWN, other)) ||
           !is_refused(syscall(SYS_fcntl, -1, F_SETOWN_EX, NULL)) ||
           !is_refused(syscall(SYS_ioctl, -1, FIOSETOWN, NULL)) ||
           !is_refused(syscall(SYS_ioctl, -1, SIOCSPGRP, NULL)) || fcntl(0, F_GETFD) < 0;
}

static bool limits_others(void)
{
    const pid_t other = getppid();
    return !is_refused(syscall(SYS_prlimit64, other, RLIMIT_CPU, NULL, NULL)) ||
           !is_refused(syscall(SYS_sched_setaffinity, other, 0UL, NULL)) ||
           !is_refused(syscall(SYS_sched_setscheduler, other, -1, NULL)) ||
           !is_refused(syscall(SYS_sched_setparam, other, NULL)) ||
           !is_refused(syscall(SYS_sched_setattr, other, NULL, 0)) ||
           !is_refused(syscall(SYS_setpriority, -1, other, 0)) ||
           !is_refused(syscall(SYS_ioprio_set, -1, other, 0));
}

static bool limits_itself(void)
{
    struct rlimit limit;
    const struct sched_param usual = {0};
    cpu_set_t processors;
    return getrlimit(RLIMIT_DATA, &limit) == 0 && setrlimit(RLIMIT_DATA, &limit) == 0 &&
           sched_getaffinity(0, sizeof(processors), &processors) == 0 &&
           sched_setaffinity(0, sizeof(processors), &processors) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &usual) == 0;
}

static bool changes_a_file(const char *path)
{
    const int fd = open("out/a/result.json", O_RDONLY | O_CLOEXEC); /* -1: it cannot be read */
    return !is_refused(syscall(SYS_chmod, path, 0600)) ||
           !is_refused(syscall(SYS_fchmod, fd, 0600)) ||
           !is_refused(syscall(SYS_fchmodat, AT_FDCWD, path, 0600)) ||
           !is_refused(syscall(452, AT_FDCWD, path, 0600, 0)) || /* fchmodat2 */
           !is_refused(syscall(SYS_chown, path, -1, -1)) ||
           !is_refused(syscall(SYS_lchown, path, -1, -1)) ||
           !is_refused(syscall(SYS_fchown, fd, -1, -1)) ||
           !is_refused(syscall(SYS_fchownat, AT_FDCWD, path, -1, -1, 0)) ||
           !is_refused(syscall(SYS_utime, path, NULL)) ||
           !is_refused(syscall(SYS_utimes, path, NULL)) ||
           !is_refused(syscall(SYS_futimesat, AT_FDCWD, path, NULL)) ||
           !is_refused(syscall(SYS_utimensat, AT_FDCWD, path, NULL, 0)) ||
           !is_refused(syscall(SYS_setxattr, path, "user.a", "b", 1UL, 0)) ||
           !is_refused(syscall(SYS_lsetxattr, path, "user.a", "b", 1UL, 0)) ||
           !is_refused(syscall(SYS_fsetxattr, fd, "user.a", "b", 1UL, 0)) ||
           !is_refused(syscall(SYS_removexattr, path, "user.a")) ||
           !is_refused(syscall(SYS_lremovexattr, path, "user.a")) ||
           !is_refused(syscall(SYS_fremovexattr, fd, "user.a")) ||
           !is_refused(syscall(SYS_truncate, path, 0L));
}

static bool has_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    const uint32_t reads = 1U << CAP_DAC_READ_SEARCH; /* root's worker keeps this one */
    enum { X32 = 0x40000000 };
    return !is_refused(syscall(SYS_unshare, 0)) ||
           !is_refused(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)) ||
           !is_refused(syscall(SYS_open_by_handle_at, -1, NULL, 0)) ||
           !is_refused(syscall(X32 | SYS_getpid)) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
           syscall(SYS_capget, &head, sets) != 0 || (sets[0].permitted & ~reads) != 0 ||
           sets[1].permitted != 0;
}

static bool starts_a_program(void)
{
    char *const arguments[] = {NULL}, *const environment[] = {NULL};
    return !is_refused(execve("/bin/true", arguments, environment)) ||
           !is_refused(syscall(SYS_execveat, -1, "/bin/true", arguments, environment, 0));
}

static int what_it_can(void)
{
    int can = 0;
    can |= opens("out/a/result.json", O_RDONLY) ? READ_RESULT : 0;
    can |= opens("failed/1/reason.json", O_RDONLY) ? READ_REASON : 0;
    can |= opens(".work/job", O_RDONLY) ? READ_WORK : 0;
    can |= opens("/usr/bin/env", O_RDONLY) ? READ_LIBRARY : 0;
    can |= opens("in/x", O_RDONLY) || opens("/etc/passwd", O_RDONLY) ? READ_OTHER : 0;
    can |= opens("out/a/new", O_WRONLY) ? WRITE_RESULT : 0;
    can |= rename("out/a/new", "out/b/new") == 0 && rename("out/b/new", "out/a/new") == 0
               ? MOVE_RESULT
               : 0;
    can |= opens(".work/job", O_WRONLY) || opens(".work/job", O_RDONLY | O_TRUNC) ||
                   opens("/dev/urandom", O_WRONLY) || opens("/usr/bin/env", O_WRONLY) ||
                   opens(".work/new", O_WRONLY | O_CREAT) || unlink(".work/job") == 0 ||
                   rename(".work/job", "out/a/job") == 0 || link(".work/job", "out/a/job") == 0 ||
                   mkdir("in/new", 0700) == 0 || rename("out/a/new", "in/new") == 0 ||
                   symlink("x", "out/a/link") == 0 || mkfifo("out/a/fifo", 0600) == 0
               ? WRITE_OTHER
               : 0;
    can |= opens("cache/new", O_WRONLY | O_CREAT) ? WRITE_CACHE : 0;
    can |= opens("/dev/null", O_RDWR) ? USE_DEVICE : 0;
    can |= opens("/opt", O_RDONLY | O_DIRECTORY) ? READ_DRIVER : 0;
    can |= changes_a_file("in/x") ? CHANGE_FILE : 0;
    can |= signals_others() ? SIGNAL_OTHER : 0;
    raise(SIGCHLD); /* to oneself it is none */
    can |= limits_others() ? LIMIT_OTHER : 0;
    can |= limits_itself() ? LIMIT_ITSELF : 0;
    can |= !is_missing(syscall(SYS_inotify_init1, 0)) ||
                   !is_missing(syscall(SYS_bind, -1, NULL, 0)) ||
                   !is_missing(syscall(SYS_memfd_create, "", 0)) ||
                   !is_missing(syscall(439 /* faccessat2 */, -1, "", 0, 0)) ||
                   !is_missing(syscall(449 /* futex_waitv */, NULL, 0, 0, NULL, 0))
               ? DO_MORE
               : 0;
    can |= reaches_into_others() ? REACH_INTO_OTHER : 0;
    int ends[2];
    can |= socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_INET6, SOCK_DGRAM, 0) >= 0 ||
                   socket(AF_NETLINK, SOCK_RAW, 0) >= 0 ||
                   !is_refused(syscall(SYS_io_uring_setup, 1, NULL))
               ? MAKE_SOCKET
               : 0;
    can |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0
               ? MAKE_UNIX
               : 0;
    can |= has_rights() ? HAVE_RIGHTS : 0;
    can |= prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ? BE_LOOKED_INTO : 0;
    return starts_a_program() ? can | START_PROGRAM : can;
}

/* --- the page --------------------------------------------------------------------------------- */

static int what_the_page_can(void)
{
    struct page_files files;
    struct page_file file;
    if (page_files_open(".", "out", &files) != STATUS_OK) {
        return FAILED;
    }
    const struct sandbox_place places[] = {{.right = SANDBOX_READ, .fd = files.results_fd},
                                           {.right = SANDBOX_READ, .fd = files.failed_fd},
                                           {.right = SANDBOX_READ, .fd = -1}};
    if (sandbox_shut_files(places, 3, false) != STATUS_OK ||
        sandbox_shut_calls(SANDBOX_ANSWERS) != STATUS_OK ||
        page_files_find(&files, "results/a/result.json", &file) != STATUS_OK ||
        page_files_find(&files, "failed/1/reason.json", &file) != STATUS_OK) {
        return FAILED;
    }
    return what_it_can();
}

/* --- a worker --------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

/* Is there before the filter, as an engine's thread is. */
static void *try_in_a_thread(void *result)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    *(int *)result = what_it_can();
    return NULL;
}

static int what_it_can_as_a_worker(bool has_devices)
{
    const int work_fd = open(".work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int out_fd = open("out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pthread_t thread;
    int in_thread = FAILED;
    pthread_barrier_init(&barrier, NULL, 2);
    if (work_fd < 0 || out_fd < 0 || worker_shut_files(work_fd, out_fd, has_devices) != STATUS_OK ||
        pthread_create(&thread, NULL, try_in_a_thread, &in_thread) != 0) {
        return FAILED;
    }
    pthread_barrier_wait(&barrier);
    const enum status code = worker_shut_calls();
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    const int can = code == STATUS_OK ? what_it_can() : FAILED;
    return can | (in_thread != can ? ESCAPE_IN_THREAD : 0);
}

static int what_a_worker_can(void)
{
    return what_it_can_as_a_worker(false);
}

static int what_a_worker_with_devices_can(void)
{
    return what_it_can_as_a_worker(true);
}

/* --- in processes of their own ---------------------------------------------------------------- */

static int ask_a_child(int (*what)(void))
{
    int status;
    int *can = mmap(NULL, sizeof(*can), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(can != MAP_FAILED);
    *can = FAILED;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        *can = what();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const int found = *can;
    munmap(can, sizeof(*can));
    return found;
}

/* As far as a kernel can: without that version of Landlock it keeps a process from no file. */
static void expect(int (*what)(void), int rights, long version)
{
    enum {
        BY_LANDLOCK = READ_RESULT | READ_REASON | READ_WORK | READ_LIBRARY | READ_OTHER |
                      WRITE_RESULT | MOVE_RESULT | WRITE_OTHER | WRITE_CACHE | USE_DEVICE |
                      READ_DRIVER
    };
    struct sandbox_means means;
    make_spool();
    sandbox_examine(&means);
    if (means.landlock < version) {
        if (version_at_most == 0) {
            print_message("SKIPPED in part: this kernel's Landlock is of version %ld\n",
                          means.landlock);
        }
        assert_int_equal(ask_a_child(what) & ~BY_LANDLOCK, rights & ~BY_LANDLOCK);
        return;
    }
    assert_int_equal(ask_a_child(what), rights);
}

TEST(the_page_reads_results_and_reasons_and_nothing_else)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { MORE = DO_MORE };
#else
    enum { MORE = 0 };
#endif
    for (version_at_most = 6; version_at_most >= 0; version_at_most--) {
        expect(what_the_page_can, READ_RESULT | READ_REASON | LIMIT_ITSELF | MORE, 1);
    }
}

TEST(a_worker_reads_work_and_libraries_and_writes_results)
{
    enum {
        CAN = READ_RESULT | READ_WORK | READ_LIBRARY | WRITE_RESULT | MOVE_RESULT | USE_DEVICE |
              LIMIT_ITSELF | DO_MORE
    };
    const int driver = access("/opt", F_OK) == 0 ? READ_DRIVER : 0;
    assert_int_equal(setenv("CUDA_CACHE_PATH", "cache", 1), 0);
    for (version_at_most = 6; version_at_most >= 0; version_at_most--) {
        expect(what_a_worker_can, CAN, 2);
        expect(what_a_worker_with_devices_can, CAN | WRITE_CACHE | driver, 2);
    }
}

int main(void)
{
    return unit_run(enter_folder, remove_spool);
}
