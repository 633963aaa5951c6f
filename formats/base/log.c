/*
 * log - composes a whole line aside and hands it to write(2) at once, under one lock that also
 * guards the progress line.
 *
 * Source of the journal's rules: sd-daemon(3) for the prefixes, systemd.exec(5) for JOURNAL_STREAM.
 */
#include "formats/base/log.h"

#include "formats/base/excerpt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 4000, PROGRESS_BYTES = 512, LINE_BYTES = 4 * TEXT_BYTES + 64 };

static const struct {
    const char *journal, *plain, *coloured;
} prefixes[] = {
    [LOG_LEVEL_ERROR] = {"<3>", "leat: error: ", "leat: \033[1;31merror:\033[0m "},
    [LOG_LEVEL_WARNING] = {"<4>", "leat: warning: ", "leat: \033[33mwarning:\033[0m "},
    [LOG_LEVEL_INFO] = {"<6>", "leat: ", "leat: "},
    [LOG_LEVEL_DEBUG] = {"<7>", "leat: debug: ", "leat: debug: "},
};

static atomic_int max_level = LOG_LEVEL_INFO;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool to_journal, to_terminal, has_colours;
static char progress[4 * PROGRESS_BYTES + 1]; /* under lock: what stands in the last line */
static size_t progress_len;
static bool drops, is_socket;   /* where stderr does not take a line at once */
static int ready_fd = -1;       /* stderr once more, which does not block; -1: it cannot */
static unsigned long n_dropped; /* under lock */

static void probe_stderr(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t dev, ino;
    struct stat st;
    to_journal = stream != NULL && sscanf(stream, "%ju:%ju", &dev, &ino) == 2 &&
                 fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
    const char *term = getenv("TERM");
    to_terminal = !to_journal && isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
    const char *no_colour = getenv("NO_COLOR");
    has_colours = to_terminal && (no_colour == NULL || no_colour[0] == '\0');
}

static const char *prefix(enum log_level level)
{
    return to_journal    ? prefixes[level].journal
           : has_colours ? prefixes[level].coloured
                         : prefixes[level].plain;
}

static size_t put(char *dst, const char *text)
{
    const size_t n = strlen(text);
    memcpy(dst, text, n);
    return n;
}

/* Writes all; a failure cannot be reported. */
static void write_all(const char *data, size_t n)
{
    while (n > 0) {
        const ssize_t k = write(STDERR_FILENO, data, n);
        if (k > 0) {
            data += k;
            n -= (size_t)k;
        } else if (k == 0 || errno != EINTR) {
            return;
        }
    }
}

/* Writes a line if stderr takes it now. One of PIPE_BUF bytes is taken whole or not at all. */
static bool write_now(char *line, size_t n)
{
    if (n > PIPE_BUF) {
        n = PIPE_BUF - 1;
        while (n > 0 && ((unsigned char)line[n] & 0xc0) == 0x80) { /* not within a character */
            n--;
        }
        line[n++] = '\n';
    }
    ssize_t written;
    do {
        written = is_socket ? send(STDERR_FILENO, line, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                            : write(ready_fd >= 0 ? ready_fd : STDERR_FILENO, line, n);
    } while (written < 0 && errno == EINTR);
    return written >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* Whether lines get through again, if any were dropped. */
static bool report_dropped(void)
{
    char line[128];
    if (n_dropped == 0) {
        return true;
    }
    const int n =
        snprintf(line, sizeof line, "%s%lu lines of the log were dropped, since nobody read them\n",
                 prefix(LOG_LEVEL_WARNING), n_dropped);
    if (!write_now(line, (size_t)n)) {
        return false;
    }
    n_dropped = 0;
    return true;
}

static void print(enum log_level level, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void print(enum log_level level, const char *format, va_list args)
{
    if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed)) {
        return;
    }
    const int kept_errno = errno;
    char text[TEXT_BYTES], line[LINE_BYTES + sizeof progress];
    if (vsnprintf(text, sizeof text, format, args) < 0) {
        snprintf(text, sizeof text, "%s", format);
    }
    pthread_once(&once, probe_stderr);
    pthread_mutex_lock(&lock);
    size_t len = 0;
    if (progress_len > 0) {
        len += put(line + len, "\r\033[K");
    }
    len += put(line + len, prefix(level));
    len += excerpt_escape(line + len, text);
    line[len++] = '\n';
    memcpy(line + len, progress, progress_len);
    len += progress_len;
    if (!drops) {
        write_all(line, len);
    } else if (!report_dropped() || !write_now(line, len)) {
        n_dropped++;
    }
    pthread_mutex_unlock(&lock);
    errno = kept_errno;
}

void log_drop_when_blocked(void)
{
    struct stat st;
    const mode_t kind = fstat(STDERR_FILENO, &st) == 0 ? st.st_mode & S_IFMT : 0;
    is_socket = kind == S_IFSOCK;
    if (kind == S_IFIFO || kind == S_IFCHR) {
        /* A description of our own: O_NONBLOCK is not for others that write there. */
        ready_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    }
    drops = true;
}

void log_report_dropped(void)
{
    pthread_mutex_lock(&lock);
    report_dropped();
    pthread_mutex_unlock(&lock);
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

#define DEFINE_LOG(name, level)                                                                    \
    void log_##name(const char *format, ...)                                                       \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        print(level, format, args);                                                                \
        va_end(args);                                                                              \
    }
DEFINE_LOG(error, LOG_LEVEL_ERROR)
DEFINE_LOG(warning, LOG_LEVEL_WARNING)
DEFINE_LOG(info, LOG_LEVEL_INFO)
DEFINE_LOG(debug, LOG_LEVEL_DEBUG)

bool log_has_progress(void)
{
    pthread_once(&once, probe_stderr);
    return to_terminal;
}

/* How much of an escaped text fits the terminal: one column a UTF-8 character, one column left.
 * What does not fit ends before a comma or a bar, so that no number is cut. */
static size_t fit_width(const char *text, size_t len)
{
    struct winsize size;
    size_t columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
        columns = size.ws_col;
    }
    size_t at = 0;
    for (size_t used = 0; at < len; at++) {
        const bool starts = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (starts && ++used >= columns) {
            break;
        }
    }
    size_t end = at < len ? at : 0;
    while (end > 0 && text[end] != ',' && strncmp(text + end, " [", 2) != 0) {
        end--;
    }
    return end > 0 ? end : at;
}

void log_progress(const char *text)
{
    if (!log_has_progress()) {
        return;
    }
    const int kept_errno = errno;
    char head[PROGRESS_BYTES], line[sizeof progress + 16];
    snprintf(head, sizeof head, "%s", text != NULL ? text : "");
    pthread_mutex_lock(&lock);
    const size_t had = progress_len;
    progress_len = fit_width(progress, excerpt_escape(progress, head));
    size_t len = had > 0 || progress_len > 0 ? put(line, "\r\033[K") : 0;
    memcpy(line + len, progress, progress_len);
    write_all(line, len + progress_len);
    pthread_mutex_unlock(&lock);
    errno = kept_errno;
}
