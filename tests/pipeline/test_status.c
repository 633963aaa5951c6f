/*
 * Statuses, growable bytes and the log: what is kept, what is escaped, what is cut.
 * ctest: tsan=yes
 */
#include "formats/base/bytes.h"
#include "formats/base/log.h"
#include "formats/base/status.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(a_failure_returns_its_code_and_keeps_its_text)
{
    assert_int_equal(status_fail(STATUS_BAD_INPUT, "%s, line %d", "a.csv", 7), STATUS_BAD_INPUT);
    assert_string_equal(status_message(), "a.csv, line 7");
}

TEST(a_message_may_be_an_argument_of_the_next)
{
    status_fail(STATUS_IO, "inner");
    status_fail(STATUS_IO, "outer: %s", status_message());
    assert_string_equal(status_message(), "outer: inner");
    assert_int_equal(status_set(STATUS_DEVICE, status_message()), STATUS_DEVICE);
    assert_string_equal(status_message(), "outer: inner");
}

TEST(control_bytes_in_a_message_are_spelt_out)
{
    status_fail(STATUS_IO, "a\nb\x1b[2J\tc %s", "\x01");
    assert_string_equal(status_message(), "a\\x0ab\\x1b[2J\\x09c \\x01");
    status_set(STATUS_IO, "x\ry");
    assert_string_equal(status_message(), "x\\x0dy");
}

TEST(errno_chooses_the_code_and_ends_the_message)
{
    static const struct {
        int error;
        enum status code;
    } cases[] = {{ENOSPC, STATUS_NO_SPACE},  {EDQUOT, STATUS_NO_SPACE}, {ENOMEM, STATUS_NO_MEMORY},
                 {ENOENT, STATUS_NOT_FOUND}, {EEXIST, STATUS_EXISTS},   {EIO, STATUS_IO},
                 {EACCES, STATUS_IO}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[200];
        assert_int_equal(status_fail_errno(cases[i].error, "cannot open %s", "x"), cases[i].code);
        snprintf(expected, sizeof expected, "cannot open x: %s", strerror(cases[i].error));
        assert_string_equal(status_message(), expected);
    }
}

TEST(a_long_message_is_cut_but_keeps_its_reason)
{
    char name[3 * STATUS_MESSAGE_BYTES];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    status_fail_errno(EIO, "cannot read %s", name);
    const char *const message = status_message();
    const char *const reason = strerror(EIO);
    assert_true(strlen(message) < STATUS_MESSAGE_BYTES);
    assert_string_equal(message + strlen(message) - strlen(reason), reason);
}

TEST(a_cut_never_splits_a_character)
{
    char name[2 * STATUS_MESSAGE_BYTES];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(name, 'n', shift);
        for (size_t i = shift; i + 4 < sizeof name; i += 4) {
            memcpy(name + i, "\xf0\x9f\x8c\x8a", 5);
        }
        status_fail(STATUS_IO, "%s", name);
        const size_t len = strlen(status_message());
        assert_true(len > STATUS_MESSAGE_BYTES - 16);
        assert_int_equal((len - shift) % 4, 0);
    }
}

static void *fail_elsewhere(void *arg)
{
    status_fail(STATUS_IO, "elsewhere");
    return strcmp(status_message(), "elsewhere") == 0 ? arg : NULL;
}

TEST(each_thread_has_its_own_message)
{
    pthread_t thread;
    int done;
    void *result;
    status_fail(STATUS_IO, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &done), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &done);
    assert_string_equal(status_message(), "here");
}

TEST(every_code_has_a_name_and_a_text)
{
    assert_string_equal(status_name(STATUS_OK), "ok");
    assert_string_equal(status_name(STATUS_BAD_INPUT), "bad-input");
    assert_string_equal(status_name(STATUS_INTERNAL), "internal");
    assert_string_equal(status_text(STATUS_OK), "success");
    const volatile int beyond = STATUS_INTERNAL + 1;
    assert_non_null(status_name((enum status)beyond));
    assert_non_null(status_text((enum status)beyond));
}

TEST(bytes_grow_and_keep_what_they_hold)
{
    struct bytes b = {.len = 0};
    for (unsigned i = 0; i < 5000; i++) {
        const unsigned char c = (unsigned char)(i * 7);
        assert_int_equal(bytes_append(&b, &c, 1), STATUS_OK);
    }
    assert_int_equal(b.len, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(b.data[i], (unsigned char)(i * 7));
    }
    const size_t cap = b.cap;
    bytes_clear(&b);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.cap, cap);
    bytes_free(&b);
    assert_null(b.data);
    assert_int_equal(b.cap, 0);
}

TEST(appending_nothing_to_empty_bytes_is_fine)
{
    struct bytes b = {.len = 0};
    assert_int_equal(bytes_append(&b, NULL, 0), STATUS_OK);
    assert_int_equal(b.len, 0);
    bytes_free(&b);
}

TEST(bytes_that_cannot_be_had_are_an_error_and_change_nothing)
{
    struct bytes b = {.len = 0};
    assert_int_equal(bytes_append(&b, "x", 1), STATUS_OK);
    assert_int_equal(bytes_reserve(&b, SIZE_MAX), STATUS_NO_MEMORY);
    assert_int_equal(bytes_reserve(&b, (size_t)PTRDIFF_MAX), STATUS_NO_MEMORY);
    assert_int_equal(b.len, 1);
    assert_int_equal(b.data[0], 'x');
    bytes_free(&b);
}

TEST(formatted_text_of_any_length_is_appended_without_a_nul)
{
    char long_text[1000];
    memset(long_text, 'z', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    for (int len = 0; len < (int)sizeof long_text; len++) {
        struct bytes b = {.len = 0};
        assert_int_equal(bytes_printf(&b, "%.*s", len, long_text), STATUS_OK);
        assert_int_equal(bytes_printf(&b, "%d", 42), STATUS_OK);
        assert_int_equal(b.len, len + 2);
        assert_memory_equal(b.data + len, "42", 2);
        bytes_free(&b);
    }
}

/* What `act` makes the log write; the log looks at stderr once, so each runs in a child. */
static char *log_of(void (*act)(void), bool as_journal)
{
    static char text[1 << 16];
    char name[] = "/tmp/leat-log-XXXXXX";
    const int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        struct stat st;
        char stream[64];
        dup2(fd, STDERR_FILENO);
        unsetenv("JOURNAL_STREAM");
        if (as_journal && fstat(STDERR_FILENO, &st) == 0) {
            snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
            setenv("JOURNAL_STREAM", stream, 1);
        }
        act();
        _exit(0);
    }
    int wait_status = -1;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_int_equal(wait_status, 0);
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    return text;
}

static void log_one_of_each(void)
{
    log_error("e %d", 1);
    log_warning("w");
    log_info("i");
    log_debug("d");
    log_progress("half way");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("d");
    log_set_level(LOG_LEVEL_ERROR);
    log_warning("w");
    log_error("e");
}

TEST(the_log_prints_what_its_level_allows_a_line_each)
{
    assert_string_equal(log_of(log_one_of_each, false),
                        "leat: error: e 1\nleat: warning: w\nleat: i\nleat: debug: d\n"
                        "leat: error: e\n");
}

TEST(the_journal_gets_priorities)
{
    assert_string_equal(log_of(log_one_of_each, true), "<3>e 1\n<4>w\n<6>i\n<7>d\n<3>e\n");
}

TEST(progress_gives_way_to_lines_on_a_terminal)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    const struct winsize narrow = {.ws_row = 24, .ws_col = 11};
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &narrow), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(terminal, STDERR_FILENO);
        unsetenv("JOURNAL_STREAM");
        setenv("TERM", "xterm", 1);
        log_progress("12345\xc3\xa9"
                     "7890123");
        log_info("line");
        log_progress(NULL);
        log_info("end");
        _exit(log_has_progress() ? 0 : 1);
    }
    int wait_status = -1;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_int_equal(wait_status, 0);
    close(terminal);
    /* The kernel hands over what was written a part at a time; EIO is the end. */
    char text[256];
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n<sizeof text - 1; n += got> 0 ? (size_t)got : 0) {
        got = read(master, text + n, sizeof text - 1 - n);
    }
    text[n] = '\0';
    assert_string_equal(text, "\r\033[K12345\xc3\xa9"
                              "7890"
                              "\r\033[Kleat: line\r\n12345\xc3\xa9"
                              "7890"
                              "\r\033[Kleat: end\r\n");
    close(master);
}

static void log_something_nasty(void)
{
    errno = EIO;
    log_info("name: %s", "a\nleat: forged\x1b[31m\x7f");
    if (errno != EIO) {
        _exit(1);
    }
}

TEST(a_file_name_cannot_forge_a_line)
{
    assert_string_equal(log_of(log_something_nasty, false),
                        "leat: name: a\\x0aleat: forged\\x1b[31m\\x7f\n");
}

static void log_what_turns_a_line(void)
{
    log_info("name: %s",
             "gr\xc3\xbc\xc3\x9f "
             "\xc2\xa0\xe2\x80\xa6\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa\xf0\x9f\x98\x80");
    log_info("\xc2\x9b\xc2\x80 \xe2\x80\xa8\xe2\x80\xa9 \xe2\x80\xae \xe2\x81\xa6\xe2\x81\xa9 "
             "\xe2\x80\x8e");
    log_info("b\xffq \xe2\x82 \xed\xa0\x80 \xc3");
}

TEST(the_log_spells_out_what_is_no_plain_text)
{
    assert_string_equal(log_of(log_what_turns_a_line, false),
                        "leat: name: gr\xc3\xbc\xc3\x9f "
                        "\xc2\xa0\xe2\x80\xa6\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa\xf0\x9f\x98\x80\n"
                        "leat: \\xc2\\x9b\\xc2\\x80 \\xe2\\x80\\xa8\\xe2\\x80\\xa9 \\xe2\\x80\\xae "
                        "\\xe2\\x81\\xa6\\xe2\\x81\\xa9 \\xe2\\x80\\x8e\n"
                        "leat: b\\xffq \\xe2\\x82 \\xed\\xa0\\x80 \\xc3\n");
}

static void *log_many(void *arg)
{
    for (int i = 0; i < 200; i++) {
        log_info("%s%s", (const char *)arg, (const char *)arg);
    }
    return NULL;
}

static void log_from_two_threads(void)
{
    static char a[] = "aaaaaaaaaaaaaaaaaaaa", b[] = "bbbbbbbbbbbbbbbbbbbb";
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, log_many, a) != 0 ||
        pthread_create(&threads[1], NULL, log_many, b) != 0) {
        _exit(1);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

TEST(lines_of_two_threads_are_never_torn)
{
    const char *line = log_of(log_from_two_threads, false);
    size_t n_lines = 0;
    for (; *line != '\0'; line += 47, n_lines++) {
        assert_memory_equal(line, "leat: ", 6);
        for (size_t i = 7; i < 46; i++) {
            assert_int_equal(line[i], line[6]);
        }
        assert_int_equal(line[46], '\n');
    }
    assert_int_equal(n_lines, 400);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
