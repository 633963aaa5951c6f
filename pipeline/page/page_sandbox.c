/*
 * page_sandbox - see page_sandbox.h. Landlock (landlock(7)) for files and connections, a filter of
 * system calls (seccomp(2)) for sockets, which Landlock does not know, for programs, for signals,
 * which it knows since its version 6, and for other processes' memory and descriptors.
 *
 * Both by their system calls: the numbers and structures are the kernel's promise, and its headers
 * may be older than the kernel.
 */
#include "pipeline/page/page_sandbox.h"

#include "formats/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- files and connections -------------------------------------------------------------------- */

enum {
    CREATE_RULESET = 444, /* landlock_create_ruleset, on every architecture */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1,  /* flag of the first */
    PATH_BENEATH = 1, /* kind of a rule */
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
};

struct ruleset {
    uint64_t files, connections, scopes; /* rights that are had by rules alone */
};

struct path_rule {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

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

static enum status allow(int rules, int folder)
{
    const struct path_rule rule = {.rights = READ_FILE | READ_DIR, .fd = folder};
    return folder < 0 || syscall(ADD_RULE, rules, PATH_BENEATH, &rule, 0) == 0
               ? STATUS_OK
               : status_fail_errno(errno, "Landlock takes no rule");
}

/* What a sanitizer's report at the end needs; nothing in other builds. */
static enum status allow_sanitizer(int rules)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const enum status code = allow(rules, fd);
    close(fd);
    return code;
#else
    (void)rules;
    return STATUS_OK;
#endif
}

static enum status restrict_files(int results_fd, int failed_fd)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    if (version < 1) {
        log_warning("the page: there is no Landlock here (%s): its process may read all that the "
                    "service's user may",
                    strerror(errno));
        return STATUS_OK;
    }
    const struct ruleset all = all_of(version);
    const int rules = (int)syscall(CREATE_RULESET, &all, size_of(version), 0);
    if (rules < 0) {
        return status_fail_errno(errno, "Landlock takes no rules");
    }
    enum status code = allow(rules, results_fd);
    if (code == STATUS_OK) {
        code = allow(rules, failed_fd);
    }
    if (code == STATUS_OK) {
        code = allow_sanitizer(rules);
    }
    if (code == STATUS_OK && syscall(RESTRICT_SELF, rules, 0) != 0) {
        code = status_fail_errno(errno, "Landlock does not restrict the process");
    }
    close(rules);
    return code;
}

/* --- sockets and programs --------------------------------------------------------------------- */

#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
/* Goes on with the next statement if it is equal, or passes over one. */
#define IF_EQUAL(value)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ANSWER(what)        BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE              ANSWER(SECCOMP_RET_ERRNO | EACCES)
#define REFUSE_CALL(number) IF_EQUAL(number), REFUSE

static enum status restrict_calls(void)
{
#ifdef __x86_64__
    enum { X32 = 0x40000000 };
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        REFUSE,
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1), /* the same calls by other numbers */
        REFUSE,
        REFUSE_CALL(SYS_execve),
        REFUSE_CALL(SYS_execveat),
        REFUSE_CALL(SYS_io_uring_setup), /* which makes sockets, too */
        REFUSE_CALL(SYS_unshare),
        REFUSE_CALL(SYS_mount),
        REFUSE_CALL(SYS_kill),
        REFUSE_CALL(SYS_tkill),
        REFUSE_CALL(SYS_rt_sigqueueinfo),
        REFUSE_CALL(SYS_rt_tgsigqueueinfo),
        REFUSE_CALL(SYS_pidfd_send_signal),
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks by it, at the end */
        REFUSE_CALL(SYS_ptrace),
#endif
        REFUSE_CALL(SYS_process_vm_readv),
        REFUSE_CALL(SYS_process_vm_writev),
        REFUSE_CALL(SYS_pidfd_getfd),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4), /* by which a process aborts */
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 1, 0),
        REFUSE,
        ANSWER(SECCOMP_RET_ALLOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        REFUSE,
        ANSWER(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        if (errno == EINVAL || errno == ENOSYS) {
            log_warning(
                "the page: this kernel has no filter of system calls: its process may open "
                "sockets, start programs, and end and read processes of the service's user");
            return STATUS_OK;
        }
        return status_fail_errno(errno, "the kernel takes no filter of system calls");
    }
#endif
    return STATUS_OK;
}

enum status page_sandbox_enter(int results_fd, int failed_fd)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return status_fail_errno(errno, "the process cannot give up its rights");
    }
    STATUS_TRY(restrict_files(results_fd, failed_fd));
    return restrict_calls();
}
