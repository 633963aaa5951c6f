/*
 * What the page's process can do once it is shut in: each in a process of its own.
 */
#include "pipeline/page/page_files.h"
#include "pipeline/page/page_sandbox.h"
#include "tests/support/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const folders[] = {"out", "out/a", "failed", "failed/1", "in"};
static const char *const names[] = {"out/a/result.json", "out/a/new", "failed/1/reason.json",
                                    "in/x"};
enum { FOLDERS = sizeof(folders) / sizeof(*folders), NAMES = sizeof(names) / sizeof(*names) };

static int make_spool(void **state)
{
    int failed = enter_folder(state);
    for (size_t i = 0; i < FOLDERS; i++) {
        failed |= mkdir(folders[i], 0700);
    }
    for (size_t i = 0; i < NAMES; i++) {
        const int fd = open(names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        failed |= fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0;
    }
    return failed;
}

static int remove_spool(void **state)
{
    for (size_t i = 0; i < NAMES; i++) {
        unlink(names[i]);
    }
    for (size_t i = FOLDERS; i > 0; i--) {
        rmdir(folders[i - 1]);
    }
    return leave_folder(state);
}

/* Which of the things it can do, a bit each. */
enum {
    READ_RESULT = 1,
    READ_REASON = 2,
    READ_OTHER = 4, /* not to be had from here on */
    SIGNAL_OTHER = 8,
    WRITE_RESULT = 16,
    MAKE_TCP = 32,
    START_PROGRAM = 64,
    MAKE_UNIX = 128,
};

static bool opens(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC) >= 0;
}

static bool is_refused(long answer)
{
    return answer < 0 && errno == EACCES;
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

static int what_it_can(void)
{
    struct page_files files;
    struct page_file file;
    if (page_files_open(".", "out", &files) != STATUS_OK ||
        page_sandbox_enter(files.results_fd, files.failed_fd) != STATUS_OK) {
        return -1;
    }
    int can = 0;
    can |= page_files_find(&files, "results/a/result.json", &file) == STATUS_OK ? READ_RESULT : 0;
    can |= page_files_find(&files, "failed/1/reason.json", &file) == STATUS_OK ? READ_REASON : 0;
    can |= opens("in/x", O_RDONLY) || opens("/etc/passwd", O_RDONLY) ? READ_OTHER : 0;
    can |= kill(getppid(), 0) == 0 || syscall(SYS_tgkill, getppid(), getppid(), 0) == 0
               ? SIGNAL_OTHER
               : 0;
    can |= reaches_into_others() ? SIGNAL_OTHER : 0;
    raise(SIGCHLD); /* to oneself it is none */
    can |= opens("out/a/new", O_WRONLY) ? WRITE_RESULT : 0;
    can |=
        socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_INET6, SOCK_DGRAM, 0) >= 0 ? MAKE_TCP : 0;
    can |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? MAKE_UNIX : 0;
    char *const arguments[] = {NULL}, *const environment[] = {NULL};
    execve("/bin/true", arguments, environment);
    return errno == EACCES ? can : can | START_PROGRAM;
}

static bool has_landlock(void)
{
    return syscall(444, NULL, 0, 1) >= 1;
}

static void it_reads_results_and_reasons_and_nothing_else(void **state)
{
    (void)state;
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int can = what_it_can();
        _exit(can < 0 ? 255 : can); /* the rights are in the status */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    const int can = WEXITSTATUS(status);
    if (!has_landlock()) {
        print_message("SKIPPED in part: this kernel has no Landlock\n");
        assert_int_equal(can & ~(READ_OTHER | WRITE_RESULT), READ_RESULT | READ_REASON | MAKE_UNIX);
        return;
    }
    assert_int_equal(can, READ_RESULT | READ_REASON | MAKE_UNIX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_results_and_reasons_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, make_spool, remove_spool);
}
