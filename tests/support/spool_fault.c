/* spool_fault - see spool_fault.h. */
#include "tests/support/spool_fault.h"

#include "watch/files/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct spool_fault own;
struct spool_fault *spool_fault = &own;

void spool_fault_clear(void)
{
    struct spool_fault *f = spool_fault;
    f->die_before = f->die_after = f->fail_at = f->fail_many = f->fail_steps = f->n_changes = 0;
    f->die_soon = f->die_skips = f->shut_at = f->n_syncs = f->n_shut = 0;
    f->error = 0;
    f->fail_step[0] = f->without[0] = f->shut[0] = '\0';
    f->trace = NULL;
    f->notes_shared = false;
}

/* The numbers are XFS_FSOP_GOING_FLAGS_LOGFLUSH and _NOLOGFLUSH, and ext4's. */
bool spool_fault_shut_down(const char *path, bool keeps_log)
{
    const uint32_t flags = keeps_log ? 1 : 2;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0 && ioctl(fd, _IOR('X', 125, uint32_t), &flags) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

static void name_of(const struct fault_operation *o, char name[SPOOL_FAULT_NAME_BYTES])
{
    snprintf(name, SPOOL_FAULT_NAME_BYTES, "%s/%s", o->step, o->action);
}

/* Whether what the operation syncs lies on the file system that is to lose its disk. */
static bool is_on_shut(const struct fault_operation *o)
{
    struct stat at, shut;
    return spool_fault->shut[0] != '\0' && fstat(o->to_fd, &at) == 0 &&
           stat(spool_fault->shut, &shut) == 0 && at.st_dev == shut.st_dev;
}

static unsigned point_of(const char *name)
{
    unsigned i = 0;
    while (i < spool_fault->n_points && strcmp(spool_fault->points[i].name, name) != 0) {
        i++;
    }
    if (i == spool_fault->n_points && i < SPOOL_FAULT_POINTS_MAX - 1) {
        snprintf(spool_fault->points[i].name, SPOOL_FAULT_NAME_BYTES, "%s", name);
        spool_fault->n_points++;
    }
    return i;
}

static void print_place(int fd, const char *name)
{
    char link[40];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = fd >= 0 ? readlink(link, path, sizeof(path)) : 0;
    fprintf(spool_fault->trace, "\t%.*s%s%s", (int)(n > 0 ? n : 0), path, name != NULL ? "/" : "",
            name != NULL ? name : "");
}

/* A line: action, number of the inode, where from, where to, content in hex. */
static void print_change(const struct fault_operation *o)
{
    FILE *trace = spool_fault->trace;
    unsigned char text[8192];
    char link[40];
    struct stat st = {0};
    bool has_content = strcmp(o->action, "write") == 0 || strcmp(o->action, "truncate") == 0;
    if (o->to != NULL) {
        fstatat(o->to_fd, o->to, &st, AT_SYMLINK_NOFOLLOW);
    }
    fprintf(trace, "%s\t%llu", o->action, (unsigned long long)st.st_ino);
    print_place(o->from_fd, o->from);
    print_place(o->to_fd, o->to);
    fputc('\t', trace);
    if (has_content) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", o->to_fd);
        int fd = open(link, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
        for (ssize_t i = 0; i < n; i++) {
            fprintf(trace, "%02x", text[i]);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    fputc('\n', trace);
    fflush(trace);
}

int fault_before(const struct fault_operation *o)
{
    struct spool_fault *f = spool_fault;
    char name[SPOOL_FAULT_NAME_BYTES];
    name_of(o, name);
    unsigned point = point_of(name);
    unsigned long k = ++f->n_changes;
    f->points[point].n_seen++;
    if (f->notes_shared && k < SPOOL_FAULT_CHANGES_MAX) {
        f->is_shared[k] = strcmp(o->action, "syncfs") == 0;
    }
    const bool waits = strcmp(o->action, "fsync") == 0 || strcmp(o->action, "syncfs") == 0,
               syncs = waits || strcmp(o->action, "begin") == 0;
    if (waits && is_on_shut(o) && ++f->n_syncs == f->shut_at) {
        f->points[point].n_died++;
        f->n_shut += spool_fault_shut_down(f->shut, false);
    }
    if (k == f->die_before) {
        f->points[point].n_died++;
        _exit(SPOOL_FAULT_DIED);
    }
    if ((f->fail_at > 0 && k >= f->fail_at && k <= f->fail_at + f->fail_many) ||
        (f->fail_step[0] != '\0' && strcmp(f->fail_step, o->step) == 0)) {
        f->points[point].n_failed++;
        if (f->fail_steps > 0 && --f->fail_steps == 0) {
            f->fail_step[0] = '\0';
        }
        errno = f->error;
        return -1;
    }
    const bool is_left_out =
        (syncs && strcmp(f->without, "/sync") == 0) ||
        (f->without[0] != '\0' && strcmp(o->action, "create") != 0 &&
         (strcmp(f->without, name) == 0 || strcmp(f->without, strchr(name, '/')) == 0));
    if (is_left_out && f->die_soon > 0 && f->die_skips-- == 0) {
        f->die_after = k + f->die_soon;
        f->die_soon = 0;
    }
    return is_left_out ? 1 : 0;
}

void fault_after(const struct fault_operation *o)
{
    struct spool_fault *f = spool_fault;
    int error = errno;
    if (f->trace != NULL) {
        print_change(o);
    }
    if (f->n_changes == f->die_after) {
        char name[SPOOL_FAULT_NAME_BYTES];
        name_of(o, name);
        f->points[point_of(name)].n_died++;
        _exit(SPOOL_FAULT_DIED);
    }
    errno = error;
}

int fault_error(const char *step)
{
    return spool_fault->fail_step[0] != '\0' && strcmp(spool_fault->fail_step, step) == 0
               ? spool_fault->error
               : 0;
}
