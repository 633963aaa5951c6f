/*
 * What systemd hears, on a socket of the test's own.
 * ctest: systemd
 */
#include "pipeline/service/notify.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/leat-test-notify-XXXXXX";
static char path[64];
static int fd = -1;

static int listen_to_it(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/notify", folder);
    memcpy(address.sun_path, path, sizeof(path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static int stop_listening(void **state)
{
    (void)state;
    close(fd);
    unlink(path);
    return rmdir(folder);
}

static void must_listen(void)
{
#ifndef LEAT_SYSTEMD
    print_message("built without libsystemd: nothing to hear\n");
    skip();
#endif
    assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
}

/* The next message; "" when there is none. */
static const char *heard(void)
{
    static char text[4096];
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

TEST(every_message_is_one_that_systemd_knows)
{
    must_listen();
    notify_ready();
    assert_string_equal(heard(), "READY=1");
    notify_stopping();
    assert_string_equal(heard(), "STOPPING=1");
    notify_watchdog();
    assert_string_equal(heard(), "WATCHDOG=1");
    notify_status("%d jobs", 3);
    assert_string_equal(heard(), "STATUS=3 jobs");
    notify_reloading();
    long long us = 0;
    char rest = 0;
    assert_int_equal(sscanf(heard(), "RELOADING=1\nMONOTONIC_USEC=%lld%c", &us, &rest), 1);
    assert_true(us > 0);
    assert_string_equal(heard(), "");
}

TEST(a_files_name_in_the_status_is_no_message_of_its_own)
{
    must_listen();
    notify_status("working on %s", "x\nMAINPID=1\x1b[2J\x7f.csv");
    assert_string_equal(heard(), "STATUS=working on x\\x0aMAINPID=1\\x1b[2J\\x7f.csv");
    char longer[5000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    notify_status("%s", longer);
    size_t n = strlen(heard());
    assert_true(n > 100 && n < 1000);
}

TEST(without_systemd_nothing_happens)
{
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    notify_ready();
    notify_status("x");
    notify_reloading();
    notify_stopping();
    notify_watchdog();
    assert_string_equal(heard(), "");
    assert_int_equal(setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1), 0);
    notify_ready();
    assert_string_equal(heard(), "");
}

int main(void)
{
    return unit_run(listen_to_it, stop_listening);
}
