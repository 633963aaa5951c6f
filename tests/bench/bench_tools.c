/*
 * bench_tools - clock, quantiles, inputs, and other programs started and timed.
 */
#include "tests/bench/bench.h"

#include "formats/base/bytes.h"
#include "formats/result/result.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

double bench_now_s(void)
{
    return (double)thread_pool_now_ns() * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *v, size_t n, double at)
{
    if (n == 0) {
        return NAN;
    }
    qsort(v, n, sizeof *v, ascending);
    double position = at * (double)(n - 1);
    size_t below = (size_t)position;
    size_t above = below + 1 < n ? below + 1 : below;
    return v[below] + (position - (double)below) * (v[above] - v[below]);
}

/* SplitMix64's output function on a Weyl sequence (G. L. Steele, D. Lea, C. H. Flood, 2014). */
double bench_uniform(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed << 32) + i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

static enum status write_all(int fd, const unsigned char *data, size_t n)
{
    while (n > 0) {
        ssize_t did = write(fd, data, n);
        if (did < 0 && errno != EINTR) {
            return status_fail_errno(errno, "writing the bench's input");
        }
        data += did < 0 ? 0 : did;
        n -= did < 0 ? 0 : (size_t)did;
    }
    return STATUS_OK;
}

double bench_r(const double *x, const double *y, size_t n)
{
    long double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t t = 0; t < n; t++) {
        mx += x[t];
        my += y[t];
    }
    mx /= (long double)n;
    my /= (long double)n;
    for (size_t t = 0; t < n; t++) {
        const long double a = x[t] - mx, c = y[t] - my;
        xx += a * a;
        yy += c * c;
        xy += a * c;
    }
    return (double)(xy / sqrtl(xx * yy));
}

enum status bench_write_csv(int fd, uint64_t seed, size_t n_lines, size_t n_cells)
{
    struct bytes text = {0};
    enum status code = STATUS_OK;
    for (size_t line = 0; code == STATUS_OK && line < n_lines; line++) {
        bytes_clear(&text);
        for (size_t cell = 0; code == STATUS_OK && cell < n_cells; cell++) {
            if (cell > 0) {
                code = bytes_append(&text, ",", 1);
            }
            if (code == STATUS_OK) {
                code = result_put_f64(&text, 100 * bench_uniform(seed, line * n_cells + cell));
            }
        }
        if (code == STATUS_OK) {
            code = bytes_append(&text, "\n", 1);
        }
        if (code == STATUS_OK) {
            code = write_all(fd, text.data, text.len);
        }
    }
    bytes_free(&text);
    return code;
}

/* Reads the pipe to its end; keeps what fits. */
static void drain(int fd, char *said, size_t said_bytes)
{
    size_t len = 0;
    char dropped[4096];
    for (;;) {
        bool full = len + 1 >= said_bytes;
        ssize_t got =
            read(fd, full ? dropped : said + len, full ? sizeof dropped : said_bytes - 1 - len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        len += full ? 0 : (size_t)got;
    }
    said[len] = '\0';
}

enum status bench_spawn(const char *const *argv, char *said, size_t said_bytes)
{
    int ends[2] = {-1, -1};
    if (said != NULL && pipe2(ends, O_CLOEXEC) != 0) {
        return status_fail_errno(errno, "a pipe to %s", argv[0]);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (said != NULL) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    pid_t child = -1;
    int error = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (said != NULL) {
        close(ends[1]);
    }
    if (error == 0 && said != NULL) {
        drain(ends[0], said, said_bytes);
    }
    if (said != NULL) {
        close(ends[0]);
    }
    if (error != 0) {
        return status_fail_errno(error, "starting %s", argv[0]);
    }
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) {
        return STATUS_OK;
    }
    if (WIFEXITED(state) && (WEXITSTATUS(state) == 77 || WEXITSTATUS(state) == 127)) {
        return status_fail(STATUS_NOT_FOUND, "%s lacks something it needs", argv[0]);
    }
    return status_fail(STATUS_INTERNAL, "%s failed (wait status %d)", argv[0], state);
}

enum status bench_python(struct bench *b, double *seconds, const char *script, ...)
{
    char path[4200], said[256];
    snprintf(path, sizeof path, "%s/%s", b->scripts, script);
    const char *python = getenv("PYTHON");
    const char *argv[12] = {python != NULL ? python : "/usr/bin/python3", path};
    va_list arguments;
    va_start(arguments, script);
    for (size_t i = 2; i + 1 < sizeof argv / sizeof argv[0]; i++) {
        argv[i] = va_arg(arguments, const char *);
        if (argv[i] == NULL) {
            break;
        }
    }
    va_end(arguments);
    *seconds = NAN;
    STATUS_TRY(bench_spawn(argv, said, sizeof said));
    char *end = said;
    const double first = strtod(said, &end);
    if (end == said || !(first >= 0)) {
        return status_fail(STATUS_INTERNAL, "%s printed no seconds", script);
    }
    *seconds = first;
    return STATUS_OK;
}
