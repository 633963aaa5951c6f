/*
 * sandbox - see sandbox.h. Landlock (landlock(7)) for files and connections, a filter of system
 * calls (seccomp(2)) for sockets and files' modes, which Landlock does not know, for programs, for
 * signals, which it knows since its version 6, and for other processes' memory, descriptors, limits
 * and scheduling.
 *
 * Both by their system calls: the numbers and structures are the kernel's promise, and its headers
 * may be older than the kernel.
 */
#include "pipeline/names/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- files and connections -------------------------------------------------------------------- */

enum {
    CREATE_RULESET = 444, /* landlock_create_ruleset, on every architecture */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1,  /* flag of the first */
    PATH_BENEATH = 1, /* kind of a rule */
    MOVES = 2,        /* the version from which files may be moved between folders at all */
    CUTS = 3,         /* that which knows that opening a file may cut it */
};

/* Rights, by their bits. */
enum {
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV, /* the rest is of folders alone */
};

static const uint64_t rights[] = {
    [SANDBOX_READ] = READ_FILE | READ_DIR,
    [SANDBOX_USE] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV,
    [SANDBOX_WRITE] = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE |
                      MAKE_DIR | MAKE_REG | REFER,
};

struct ruleset {
    uint64_t files, connections, scopes; /* what is refused unless a rule allows it */
};

struct path_rule {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

static long landlock_version(void)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    return version > 0 ? version : 0;
}

/* Which rights a version of Landlock knows: 13, with REFER, TRUNCATE and IOCTL_DEV later ones; TCP;
 * abstract Unix sockets and signals. */
static struct ruleset all_of(long version)
{
    const unsigned n_files = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    return (struct ruleset){.files = (UINT64_C(1) << n_files) - 1,
                            .connections = version >= 4 ? 3 : 0,
                            .scopes = version >= 6 ? 3 : 0};
}

static size_t size_of(long version)
{
    return version >= 6   ? sizeof(struct ruleset)
           : version >= 4 ? offsetof(struct ruleset, scopes)
                          : offsetof(struct ruleset, connections);
}

static enum status allow(int rules, const struct ruleset *all, int fd, enum sandbox_right right)
{
    struct stat st;
    if (fd < 0) {
        return STATUS_OK;
    }
    if (fstat(fd, &st) != 0) {
        return status_fail_errno(errno, "a place of the sandbox cannot be looked at");
    }
    const uint64_t fit = S_ISDIR(st.st_mode) ? UINT64_MAX : OF_FILES;
    const struct path_rule rule = {.rights = rights[right] & all->files & fit, .fd = fd};
    return syscall(ADD_RULE, rules, PATH_BENEATH, &rule, 0) == 0
               ? STATUS_OK
               : status_fail_errno(errno, "Landlock takes no rule");
}

static enum status allow_pattern(int rules, const struct ruleset *all, const char *pattern,
                                 enum sandbox_right right)
{
    glob_t found;
    enum status code = STATUS_OK;
    const int failed = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (failed == GLOB_NOSPACE) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the sandbox");
    }
    for (size_t i = 0; failed == 0 && i < found.gl_pathc && code == STATUS_OK; i++) {
        const int fd = open(found.gl_pathv[i], O_PATH | O_CLOEXEC);
        code = allow(rules, all, fd, right);
        if (fd >= 0) {
            close(fd);
        }
    }
    globfree(&found);
    return code;
}

static enum status restrict_files(const struct sandbox_place *places, size_t n_places)
{
    const long version = landlock_version();
    bool writes = false;
    for (size_t i = 0; i < n_places; i++) {
        writes = writes || places[i].right == SANDBOX_WRITE;
    }
    if (version < (writes ? MOVES : 1)) {
        return STATUS_OK;
    }
    const struct ruleset all = all_of(version);
    const int rules = (int)syscall(CREATE_RULESET, &all, size_of(version), 0);
    if (rules < 0) {
        return status_fail_errno(errno, "Landlock takes no rules");
    }
    enum status code = STATUS_OK;
    for (size_t i = 0; i < n_places && code == STATUS_OK; i++) {
        const struct sandbox_place *p = &places[i];
        code = p->path != NULL ? allow_pattern(rules, &all, p->path, p->right)
                               : allow(rules, &all, p->fd, p->right);
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* for a report at the end */
    if (code == STATUS_OK) {
        code = allow_pattern(rules, &all, "/proc", SANDBOX_READ);
    }
#endif
    if (code == STATUS_OK && syscall(RESTRICT_SELF, rules, 0) != 0) {
        code = status_fail_errno(errno, "Landlock does not restrict the process");
    }
    close(rules);
    return code;
}

/* --- capabilities ----------------------------------------------------------------------------- */

/* A unit may forbid capset(2); a process that has none needs none. */
static bool drop_capabilities(bool reads_all)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &head, sets) != 0) {
        return false;
    }
    const uint32_t kept = reads_all ? sets[0].effective & (1U << CAP_DAC_READ_SEARCH) : 0;
    if (sets[0].permitted == kept && sets[1].permitted == 0) {
        return true;
    }
    sets[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
    sets[1] = (struct __user_cap_data_struct){0};
    return syscall(SYS_capset, &head, sets) == 0;
}

enum status sandbox_guard(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                   prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0
               ? STATUS_OK
               : status_fail_errno(errno, "the process cannot be closed to others");
}

enum status sandbox_shut_files(const struct sandbox_place *places, size_t n_places, bool reads_all)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        !drop_capabilities(reads_all)) {
        return status_fail_errno(errno, "the process cannot give up its rights");
    }
    return restrict_files(places, n_places);
}

/* --- system calls ----------------------------------------------------------------------------- */

#ifdef __x86_64__
/* What workers may not do, whatever libraries and drivers do. */
static const int refused[] = {
    SYS_execve, SYS_execveat, SYS_io_uring_setup, /* which makes sockets, too */
    SYS_socket, SYS_socketpair,                   /* whose ends reach others as well */
    SYS_unshare, SYS_mount, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_pidfd_send_signal, SYS_setpriority, /* also of a group, and of all that the user has */
    SYS_ioprio_set,
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks by it, at the end */
    SYS_ptrace,
#endif
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_open_by_handle_at,
    /* What Landlock leaves to the owner of a file, or did before version CUTS. */
    SYS_chmod, SYS_fchmod, SYS_fchmodat, 452 /* fchmodat2 */, SYS_chown, SYS_fchown, SYS_lchown,
    SYS_fchownat, SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_truncate};

/* All that the page may do: to answer on one thread, from files. */
static const int allowed[] = {
    /* Connections. */
    SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_sendfile,
    SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt,
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */,
    SYS_eventfd2, SYS_poll, SYS_ppoll,
    /* Files; openat has a rule. */
    SYS_openat2, SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_close,
    SYS_getdents64, SYS_stat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_fadvise64,
    SYS_fcntl,
    /* Memory, threads, time, the end. */
    SYS_brk, SYS_mmap, SYS_mprotect, SYS_mremap, SYS_munmap, SYS_madvise, SYS_clone, SYS_clone3,
    SYS_set_robust_list, SYS_rseq, SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_getpid,
    SYS_gettid, SYS_prctl, SYS_capget, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_getrandom, SYS_clock_gettime, SYS_gettimeofday, SYS_time,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_restart_syscall, SYS_exit, SYS_exit_group};

#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
/* Goes on with the next statement if it is equal, or passes over one. */
#define IF_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ANSWER(what)    BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE          ANSWER(SECCOMP_RET_ERRNO | EACCES)
/* Allows the call with that first argument alone; passes over it for another call. */
#define ALLOW_CALL_WITH(number, value)                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[0]),                            \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), REFUSE, ANSWER(SECCOMP_RET_ALLOW)

/* Refuses the call with that second argument; passes over it else. */
#define REFUSE_CALL_WITH(number, value)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[1]), IF_EQUAL(value), REFUSE,   \
        LOAD(nr)

/* Refuses to cut a file that is opened for reading alone; passes over it for another call. */
#define REFUSE_CUT(number, flags)                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 5), LOAD(flags),                              \
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),                                  \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC | O_RDONLY, 0, 1), REFUSE,                     \
        ANSWER(SECCOMP_RET_ALLOW)

struct filter {
    struct sock_filter all[512];
    unsigned short n;
};

static void put(struct filter *f, const struct sock_filter *statements, size_t n)
{
    memcpy(f->all + f->n, statements, n * sizeof(*statements));
    f->n = (unsigned short)(f->n + n);
}

static void put_calls(struct filter *f, const int *calls, size_t n, unsigned answer)
{
    for (size_t i = 0; i < n; i++) {
        put(f, (const struct sock_filter[]){IF_EQUAL((unsigned)calls[i]), ANSWER(answer)}, 2);
    }
}

static void put_rules(struct filter *f)
{
    enum { X32 = 0x40000000 };
    const long version = landlock_version();
    /* A filter does not see its flags; openat(2) takes its place. */
    const unsigned unseen = version > 0 && version < CUTS ? SYS_openat2 : UINT32_MAX;
    const struct sock_filter rules[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        REFUSE,
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1), /* the same calls by other numbers */
        REFUSE,
        /* Whom the kernel signals when there is something to read. */
        REFUSE_CALL_WITH(SYS_fcntl, F_SETOWN),
        REFUSE_CALL_WITH(SYS_fcntl, F_SETOWN_EX),
        REFUSE_CALL_WITH(SYS_ioctl, FIOSETOWN),
        REFUSE_CALL_WITH(SYS_ioctl, SIOCSPGRP),
        IF_EQUAL(unseen),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        REFUSE_CUT(SYS_open, args[1]),
        REFUSE_CUT(SYS_openat, args[2]),
        ALLOW_CALL_WITH(SYS_tgkill, (unsigned)getpid()), /* by which a process aborts */
        /* 0: of itself. A limit of processor time would end another. */
        ALLOW_CALL_WITH(SYS_prlimit64, 0),
        ALLOW_CALL_WITH(SYS_sched_setaffinity, 0),
        ALLOW_CALL_WITH(SYS_sched_setscheduler, 0),
        ALLOW_CALL_WITH(SYS_sched_setparam, 0),
        ALLOW_CALL_WITH(SYS_sched_setattr, 0),
    };
    put(f, rules, sizeof(rules) / sizeof(*rules));
}
#endif

enum status sandbox_shut_calls(enum sandbox_calls calls)
{
#ifdef __x86_64__
    struct filter f = {.n = 0};
    put_rules(&f);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* they do more at the end */
    calls = SANDBOX_HARMLESS;
#endif
    if (calls == SANDBOX_ANSWERS) {
        put_calls(&f, allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW);
    }
    put_calls(&f, refused, sizeof(refused) / sizeof(*refused), SECCOMP_RET_ERRNO | EACCES);
    /* A newer C library that meets a kernel without a call takes an older one. */
    put(&f,
        (const struct sock_filter[]){
            ANSWER(calls == SANDBOX_ANSWERS ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_ALLOW)},
        1);
    const struct sock_fprog program = {.len = f.n, .filter = f.all};
    const long failed =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (failed > 0 || (failed < 0 && errno != EINVAL && errno != ENOSYS && errno != EPERM)) {
        return status_fail_errno(failed > 0 ? ESRCH : errno,
                                 "the kernel takes no filter of system calls");
    }
#endif
    return STATUS_OK;
}

/* --- what there is ---------------------------------------------------------------------------- */

void sandbox_examine(struct sandbox_means *out)
{
    const uint32_t action = SECCOMP_RET_ERRNO;
    size_t n = 0;
    *out = (struct sandbox_means){.landlock = landlock_version()};
#ifdef __x86_64__
    out->filter = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#endif
    if (out->landlock == 0) {
        out->lacks[n++] = "there is no Landlock here: workers and the page may read, and workers "
                          "write, all that the service's user may";
    } else if (out->landlock < MOVES) {
        out->lacks[n++] = "this kernel's Landlock is too old for workers (Linux 5.19 has what they "
                          "need): they may read and write all that the service's user may";
    }
    if (!out->filter) {
        out->lacks[n] = "system calls cannot be filtered here: workers and the page may open "
                        "sockets, start programs, and end and read processes of the service's user";
    }
}
