/*
 * worker_reach - see worker_reach.h.
 */
#include "tests/support/worker_reach.h"

#include "formats/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[2048], record[4096]; /* the spool; the record of a job, a file of its own */

/* A path in the spool; of the last four that were asked for. */
static const char *in_spool(const char *path)
{
    static char paths[4][4096];
    static unsigned turn;
    char *const to = paths[turn++ % 4];
    snprintf(to, sizeof(paths[0]), "%s/%s", root, path);
    return to;
}

static void tell(const char *what, bool succeeds)
{
    log_info("reach: %s: %s", what, succeeds ? "DONE" : "refused");
}

static bool opens(const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* The first file of a folder, or of a job's folder in it. */
static bool find(const char *folder, const char *name, char *path, size_t size)
{
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *e; d != NULL && !found && (e = readdir(d)) != NULL;) {
        snprintf(path, size, "%s/%s/%s", folder, e->d_name, name);
        found = e->d_name[0] != '.' && access(path, F_OK) == 0;
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}

static void reach_into_the_service(void)
{
    char path[64];
    char byte = 0;
    const pid_t service = getppid();
    static const char *const files[] = {"mem", "environ", "maps", "fd/0", "root", "cwd/token"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char what[80];
        snprintf(path, sizeof(path), "/proc/%ld/%s", (long)service, files[i]);
        snprintf(what, sizeof(what), "the service's /proc %s", files[i]);
        tell(what, opens(path, O_RDONLY));
    }
    snprintf(path, sizeof(path), "/proc/%ld/mem", (long)service);
    tell("writing the service's memory", opens(path, O_RDWR));
    const struct iovec own = {&byte, 1}; /* there, it may be nothing's address */
    tell("process_vm_readv",
         process_vm_readv(service, &own, 1, &own, 1, 0) == 1 || errno == EFAULT);
    tell("ptrace", ptrace(PTRACE_SEIZE, service, NULL, NULL) == 0);
    tell("a signal to the service", kill(service, 0) == 0);
}

/* What changes nothing where it succeeds. */
static void limit_the_service(void)
{
    const pid_t service = getppid();
    const struct sched_param usual = {0};
    struct rlimit limit;
    cpu_set_t processors;
    tell("the service's limits", prlimit(service, RLIMIT_CPU, NULL, &limit) == 0);
    tell("the service's priority",
         setpriority(PRIO_PROCESS, (id_t)service, getpriority(PRIO_PROCESS, (id_t)service)) == 0);
    tell("the service's scheduling", sched_setscheduler(service, SCHED_OTHER, &usual) == 0);
    tell("the service's processors",
         sched_getaffinity(service, sizeof(processors), &processors) == 0 &&
             sched_setaffinity(service, sizeof(processors), &processors) == 0);
}

static void reach_into_the_spool(void)
{
    char reason[4096];
    tell("the token", opens(in_spool("../token"), O_RDONLY));
    tell("listing in/", opens(in_spool("in"), O_RDONLY | O_DIRECTORY));
    tell("reading in/", opens(in_spool("in/waits.md"), O_RDONLY));
    tell("writing in/", opens(in_spool("in/waits.md"), O_WRONLY));
    tell("a new file in in/", opens(in_spool("in/new.clusters.csv"), O_WRONLY | O_CREAT));
    tell("removing from in/", unlink(in_spool("in/waits.md")) == 0);
    tell("listing done/", opens(in_spool("done"), O_RDONLY | O_DIRECTORY));
    tell("reading done/", opens(in_spool("done/before.clusters.csv"), O_RDONLY));
    tell("writing done/", opens(in_spool("done/before.clusters.csv"), O_WRONLY));
    tell("removing from done/", unlink(in_spool("done/before.clusters.csv")) == 0);
    tell("writing the status", opens(in_spool("status/status.json"), O_WRONLY));
    tell("listing failed/", find(in_spool("failed"), "reason.json", reason, sizeof(reason)));
    tell("a new folder in failed/", mkdir(in_spool("failed/new"), 0700) == 0);
    tell("another mode of in/", chmod(in_spool("in"), 0700) == 0);
    tell("a file of elsewhere", opens("/etc/passwd", O_RDONLY));
    tell("a new file in /tmp", opens("/tmp", O_WRONLY | O_TMPFILE));
}

static void reach_into_records(void)
{
    const bool found = find(in_spool(".work"), "job", record, sizeof(record));
    tell("reading a record", found && opens(record, O_RDONLY)); /* it may: its own job's */
    tell("writing a record", opens(record, O_WRONLY));
    tell("a record's length", truncate(record, 1 << 20) == 0 || opens(record, O_RDONLY | O_TRUNC));
    tell("a link to a record", link(record, in_spool("out/linked")) == 0);
    tell("another mode of a record", chmod(record, 0600) == 0);
    tell("another time of a record", utimensat(AT_FDCWD, record, NULL, 0) == 0);
    tell("moving a record", rename(record, in_spool("out/moved")) == 0);
    tell("removing a record", unlink(record) == 0);
    tell("the lock", opens(in_spool(".work/lock"), O_RDWR));
    tell("a folder of requests", mkdir(in_spool(".work/requests"), 0700) == 0);
    tell("a request", opens(in_spool(".work/requests/new"), O_WRONLY | O_CREAT));
    tell("a new job", mkdir(in_spool(".work/20990101-000000-000000"), 0700) == 0);
}

static bool connects(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%.100s", path);
    const bool done = fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static void reach_over_sockets(void)
{
    char path[108];
    int ends[2];
    snprintf(path, sizeof(path), "%.80s/../http.sock", root);
    tell("the page's socket", connects(path));
    tell("a Unix socket", socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0);
    tell("a pair of sockets", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0);
    tell("a network", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
    tell("a network of version 6", socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0);
}

static bool runs_a_program(void)
{
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL};
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        execv(program, arguments);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void worker_reach(void)
{
    const char *spool = getenv("LEAT_REACH");
    snprintf(root, sizeof(root), "%s", spool != NULL ? spool : "");
    reach_into_the_service();
    limit_the_service();
    reach_into_the_spool();
    reach_into_records();
    reach_over_sockets();
    tell("a program", runs_a_program());
    log_info("reach: all is tried");
}
