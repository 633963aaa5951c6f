/*
 * The status socket: one document for whoever may ask, whatever others do with their connections.
 */
#include "pipeline/status/status_socket.h"
#include "tests/support/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BYTES_OF_A_LARGE_DOCUMENT = 4 << 20,
    BYTES_THAT_MUST_WAIT = 1 << 20 /* more than a socket holds; soon made, for many */
};

static char folder[] = "/tmp/leat-test-status-XXXXXX";
static char path[64]; /* FOLDER/run/status.sock: the folder "run" is made by the socket */

/* Nobody is dropped before; timers count whole ms. */
static const uint64_t slow_ns = (uint64_t)(STATUS_SOCKET_SLOW_MS - 1) * 1000000;

struct service {
    uv_loop_t loop;
    struct status_socket *socket;
    unsigned n_made;
    size_t bytes; /* of the text in the document */
};

static json_t *make(void *user)
{
    struct service *s = user;
    s->n_made++;
    char *text = malloc(s->bytes + 1);
    assert_non_null(text);
    memset(text, 'x', s->bytes);
    text[s->bytes] = '\0';
    json_t *document = json_pack("{s:i, s:s}", "n", (int)s->n_made, "text", text);
    free(text);
    return document;
}

static int make_names(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/run/status.sock", folder);
    return 0;
}

static int remove_names(void **state)
{
    (void)state;
    char run[64];
    snprintf(run, sizeof(run), "%s/run", folder);
    rmdir(run);
    return rmdir(folder);
}

static void start(struct service *s, size_t bytes)
{
    *s = (struct service){.bytes = bytes};
    assert_int_equal(uv_loop_init(&s->loop), 0);
    if (status_socket_open(&s->loop, path, NULL, make, s, &s->socket) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
}

/* Everything is given back: no handle is left in the loop. */
static void stop(struct service *s)
{
    status_socket_close(s->socket);
    assert_int_equal(uv_run(&s->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    struct stat st;
    assert_int_equal(lstat(path, &st), -1);
}

static int connect_to_it(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static bool is_dropped(int fd)
{
    struct pollfd p = {.fd = fd};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* Bytes up to the end of the stream, with the loop running meanwhile. */
static size_t read_all(struct service *s, int fd)
{
    char buffer[65536];
    size_t n_bytes = 0;
    for (;;) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
        ssize_t n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return n_bytes;
        }
        n_bytes += n > 0 ? (size_t)n : 0;
    }
}

/* An asking thread beside the loop. */
struct asking {
    uv_async_t done;
    json_t *document;
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
};

static void *ask(void *user)
{
    struct asking *a = user;
    a->status = status_socket_ask(path, &a->document);
    if (a->status != STATUS_OK) {
        snprintf(a->message, sizeof(a->message), "%s", status_message());
    }
    uv_async_send(&a->done);
    return NULL;
}

static void close_it(uv_async_t *async)
{
    uv_close((uv_handle_t *)async, NULL);
    uv_stop(async->loop);
}

static void ask_beside(struct service *s, struct asking *a)
{
    pthread_t thread;
    memset(a, 0, sizeof(*a));
    assert_int_equal(uv_async_init(&s->loop, &a->done, close_it), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask, a), 0);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(pthread_join(thread, NULL), 0);
    uv_run(&s->loop, UV_RUN_NOWAIT);
}

/* Again where the machine was so slow that who asked was dropped. */
static void ask_in_time(struct service *s, struct asking *a)
{
    uint64_t begin;
    int tries = 0;
    do {
        begin = uv_hrtime();
        ask_beside(s, a);
    } while (a->status != STATUS_OK && uv_hrtime() - begin >= slow_ns && ++tries < 20);
    if (a->status != STATUS_OK) {
        fail_msg("%s", a->message);
    }
}

static void who_asks_gets_one_document_however_large(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 16384, BYTES_OF_A_LARGE_DOCUMENT};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct service s;
        struct asking a;
        start(&s, sizes[i]);
        for (int k = 0; k < 2; k++) {
            ask_in_time(&s, &a);
            assert_int_equal(json_integer_value(json_object_get(a.document, "n")), s.n_made);
            assert_int_equal(json_string_length(json_object_get(a.document, "text")), sizes[i]);
            json_decref(a.document);
        }
        stop(&s);
    }
}

static void socket_and_folder_are_the_users_own(void **state)
{
    (void)state;
    struct service s;
    struct stat st;
    char run[64];
    mode_t before = umask(0);
    start(&s, 1);
    umask(before);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(run, sizeof(run), "%s/run", folder);
    assert_int_equal(stat(run, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    stop(&s);
}

static void a_folder_that_others_write_to_is_refused(void **state)
{
    (void)state;
    uv_loop_t loop;
    struct status_socket *socket;
    char run[64];
    snprintf(run, sizeof(run), "%s/run", folder);
    mkdir(run, 0700);
    assert_int_equal(chmod(run, 0777), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(status_socket_open(&loop, path, NULL, make, NULL, &socket),
                     STATUS_BAD_ARGUMENT);
    assert_null(socket);
    assert_int_equal(chmod(run, 01777), 0); /* as /tmp: nobody may remove what is another's */
    assert_int_equal(status_socket_open(&loop, path, NULL, make, NULL, &socket), STATUS_OK);
    status_socket_close(socket);
    assert_int_equal(chmod(run, 0700), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_dead_services_socket_is_replaced_and_a_living_ones_is_not(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) { /* dies with its socket in place */
        uv_loop_t loop;
        struct status_socket *socket;
        _exit(uv_loop_init(&loop) == 0 &&
                      status_socket_open(&loop, path, NULL, make, NULL, &socket) == STATUS_OK
                  ? 0
                  : 1);
    }
    int how;
    struct stat st;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(lstat(path, &st), 0);
    json_t *document;
    assert_int_equal(status_socket_ask(path, &document), STATUS_NOT_FOUND);
    assert_null(document);

    struct service s;
    start(&s, 1);
    struct status_socket *second;
    assert_int_equal(status_socket_open(&s.loop, path, NULL, make, &s, &second), STATUS_EXISTS);
    assert_null(second);
    struct asking a;
    ask_beside(&s, &a);
    assert_int_equal(a.status, STATUS_OK);
    json_decref(a.document);
    stop(&s);
    assert_int_equal(status_socket_ask(path, &document), STATUS_NOT_FOUND);
}

static void what_is_no_socket_is_left_alone(void **state)
{
    (void)state;
    char run[64];
    snprintf(run, sizeof(run), "%s/run", folder);
    mkdir(run, 0700);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    uv_loop_t loop;
    struct status_socket *socket;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(status_socket_open(&loop, path, NULL, make, NULL, &socket), STATUS_EXISTS);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(unlink(path), 0);
    char longer[256];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(status_socket_open(&loop, longer, NULL, make, NULL, &socket),
                     STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "--status-socket"));
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void who_does_not_read_holds_up_nobody_and_is_dropped(void **state)
{
    (void)state;
    struct service s;
    start(&s, BYTES_OF_A_LARGE_DOCUMENT);
    uint64_t before = uv_hrtime();
    int slow = connect_to_it();
    uv_run(&s.loop, UV_RUN_NOWAIT);
    assert_int_equal(s.n_made, 1);
    struct asking a;
    ask_in_time(&s, &a);
    json_decref(a.document);
    assert_true(!is_dropped(slow) || uv_hrtime() - before >= slow_ns);
    while (!is_dropped(slow) && uv_hrtime() - before < WAIT_S * UINT64_C(1000000000)) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
        usleep(10000);
    }
    assert_true(is_dropped(slow) && uv_hrtime() - before >= slow_ns);
    assert_true(read_all(&s, slow) < BYTES_OF_A_LARGE_DOCUMENT);
    close(slow);
    stop(&s);
}

static void who_is_one_too_many_waits_for_a_place(void **state)
{
    (void)state;
    struct service s;
    int fds[STATUS_SOCKET_CLIENTS + 3], tries = 0;
    enum { ALL = sizeof(fds) / sizeof(fds[0]) };
    bool in_time;
    do { /* again where the machine was so slow that some had been dropped meanwhile */
        start(&s, BYTES_THAT_MUST_WAIT);
        const uint64_t before = uv_hrtime();
        for (size_t i = 0; i < ALL; i++) {
            fds[i] = connect_to_it();
            uv_run(&s.loop, UV_RUN_NOWAIT);
            uv_run(&s.loop, UV_RUN_NOWAIT);
        }
        bool is_right = s.n_made == STATUS_SOCKET_CLIENTS;
        for (size_t i = 0; i < ALL; i++) {
            is_right = read_all(&s, fds[i]) > BYTES_THAT_MUST_WAIT && is_right;
            close(fds[i]);
        }
        in_time = uv_hrtime() - before < slow_ns;
        assert_true((is_right && s.n_made == ALL) || !in_time);
        stop(&s);
    } while (!in_time && ++tries < 20);
    assert_true(in_time);
}

static void who_waits_is_dropped_when_the_service_ends(void **state)
{
    (void)state;
    struct service s;
    int fds[STATUS_SOCKET_CLIENTS + 3];
    enum { ALL = sizeof(fds) / sizeof(fds[0]) };
    start(&s, BYTES_THAT_MUST_WAIT);
    for (size_t i = 0; i < ALL; i++) {
        fds[i] = connect_to_it();
        uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    stop(&s);
    for (size_t i = 0; i < ALL; i++) {
        assert_true(is_dropped(fds[i]));
        close(fds[i]);
    }
}

static void closing_drops_who_is_being_answered(void **state)
{
    (void)state;
    struct service s;
    start(&s, BYTES_OF_A_LARGE_DOCUMENT);
    int fd = connect_to_it();
    uv_run(&s.loop, UV_RUN_NOWAIT);
    assert_int_equal(s.n_made, 1);
    int gone = connect_to_it();
    close(gone);
    uv_run(&s.loop, UV_RUN_NOWAIT);
    stop(&s);
    close(fd);
    status_socket_close(NULL);
}

/* What a process of that user and group is told, while the service runs: STATUS_OK, or STATUS_IO
 * when it may not ask; 98: anything else, or 99: it could not become that user. */
static int ask_as(struct service *s, uid_t user, gid_t group)
{
    pid_t child = fork();
    if (child == 0) {
        json_t *document = NULL;
        if (setgroups(0, NULL) != 0 || setgid(group) != 0 || setuid(user) != 0) {
            _exit(99);
        }
        enum status code = status_socket_ask(path, &document);
        json_decref(document);
        const bool refused =
            strstr(status_message(), "its own user and its status_group may") != NULL;
        _exit(code == STATUS_OK || (code == STATUS_IO && refused) ? (int)code : 98);
    }
    int how = 0;
    while (waitpid(child, &how, WNOHANG) == 0) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void start_for_group(struct service *s, const char *group)
{
    *s = (struct service){.bytes = 1};
    assert_int_equal(uv_loop_init(&s->loop), 0);
    if (status_socket_open(&s->loop, path, group, make, s, &s->socket) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
}

static void must_be_root(void)
{
    if (geteuid() != 0) {
        print_message("only root can become another user: not tested\n");
        skip();
    }
    assert_int_equal(chmod(folder, 0755), 0);
}

enum { OTHER = 65534, ANOTHER = 65533 };

/* As nobody (65534). */
static void another_user_gets_nothing(void **state)
{
    (void)state;
    struct service s;
    char run[64];
    must_be_root();
    snprintf(run, sizeof(run), "%s/run", folder);
    start(&s, 1);
    assert_int_equal(chmod(run, 0755), 0);
    assert_int_equal(ask_as(&s, OTHER, OTHER), STATUS_IO);
    assert_int_equal(s.n_made, 0);
    stop(&s);
    assert_int_equal(chmod(run, 0700), 0);
}

/* Also where the umask takes the group's rights away; and the folder that is made is theirs to
 * enter. */
static void members_of_the_group_are_answered_and_others_are_not(void **state)
{
    (void)state;
    struct service s;
    char run[64];
    must_be_root();
    const struct group *const group = getgrgid(OTHER);
    assert_non_null(group);
    snprintf(run, sizeof(run), "%s/run", folder);
    rmdir(run);
    const mode_t before = umask(077);
    start_for_group(&s, group->gr_name);
    umask(before);
    assert_int_equal(ask_as(&s, OTHER, OTHER), STATUS_OK);
    assert_int_equal(ask_as(&s, OTHER, ANOTHER), STATUS_IO);
    assert_int_equal(s.n_made, 1);
    assert_int_equal(chmod(run, 0755), 0); /* the folder lets all in: the socket does not */
    assert_int_equal(ask_as(&s, OTHER, ANOTHER), STATUS_IO);
    assert_int_equal(s.n_made, 1);
    stop(&s);
    rmdir(run);
}

/* A folder that was there keeps its rights: who cannot enter it is told about in the log. */
static void a_group_that_cannot_be_served_leaves_the_socket_to_its_user(void **state)
{
    (void)state;
    struct service s;
    struct stat st;
    start_for_group(&s, "no-such-group-of-leat");
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    stop(&s);
}

/* --- the control socket */

struct control {
    struct service service; /* its loop and its socket */
    unsigned n_taken;
    struct status_request from[4];
};

static void take(void *user, const json_t *request, const struct status_request *from)
{
    struct control *c = user;
    assert_true(json_is_object(request));
    assert_true(c->n_taken < 4);
    c->from[c->n_taken++] = *from;
}

static void start_control(struct control *c)
{
    *c = (struct control){0};
    assert_int_equal(uv_loop_init(&c->service.loop), 0);
    if (status_socket_open_control(&c->service.loop, path, take, c, &c->service.socket) !=
        STATUS_OK) {
        fail_msg("%s", status_message());
    }
}

static void send_text(struct control *c, int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    for (int i = 0; i < 5; i++) {
        uv_run(&c->service.loop, UV_RUN_NOWAIT);
    }
}

/* What comes, up to the end of the stream; "": nothing. Valid until the next call. */
static const char *answer_of(struct control *c, int fd)
{
    static char text[256];
    size_t n = 0;
    for (;;) {
        uv_run(&c->service.loop, UV_RUN_NOWAIT);
        const ssize_t got = recv(fd, text + n, sizeof(text) - 1 - n, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            text[n] = '\0';
            close(fd);
            return text;
        }
        n += got > 0 ? (size_t)got : 0;
    }
}

static void a_request_is_answered_at_once_or_later(void **state)
{
    (void)state;
    struct control c;
    struct stat st;
    start_control(&c);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    const int first = connect_to_it(), second = connect_to_it();
    send_text(&c, first, "{\"n\":");
    send_text(&c, second, "{\"n\":2}\n");
    assert_int_equal(c.n_taken, 1);
    send_text(&c, first, "1}\n and more");
    assert_int_equal(c.n_taken, 2);
    status_request_answer(&c.from[1], json_pack("{s:i}", "n", 1));
    status_request_answer(&c.from[0], json_pack("{s:i}", "n", 2));
    assert_string_equal(answer_of(&c, first), "{\"n\":1}");
    assert_string_equal(answer_of(&c, second), "{\"n\":2}");
    stop(&c.service);
}

static void an_answer_reaches_nobody_else_when_who_asked_has_gone(void **state)
{
    (void)state;
    struct control c;
    start_control(&c);
    const int gone = connect_to_it();
    send_text(&c, gone, "{}\n");
    assert_int_equal(c.n_taken, 1);
    status_request_answer(&c.from[0], json_object());
    assert_string_equal(answer_of(&c, gone), "{}");
    const int other = connect_to_it(); /* in the same place */
    send_text(&c, other, "{\"x\":1}\n");
    assert_int_equal(c.n_taken, 2);
    assert_int_equal(c.from[1].place, c.from[0].place);
    status_request_answer(&c.from[0], json_pack("{s:s}", "for", "another"));
    status_request_answer(&c.from[1], json_pack("{s:s}", "for", "it"));
    assert_string_equal(answer_of(&c, other), "{\"for\":\"it\"}");
    stop(&c.service);
}

static void what_is_no_request_is_not_answered(void **state)
{
    (void)state;
    static const char *const texts[] = {"\n", "[]\n", "{\n", "7\n", "{} {}\n"};
    static char longest[STATUS_REQUEST_BYTES + 2];
    struct control c;
    start_control(&c);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const int fd = connect_to_it();
        send_text(&c, fd, texts[i]);
        assert_string_equal(answer_of(&c, fd), "");
    }
    memset(longest, 'x', sizeof(longest) - 1);
    int fd = connect_to_it();
    send_text(&c, fd, longest);
    assert_string_equal(answer_of(&c, fd), "");
    fd = connect_to_it();
    send_text(&c, fd, "{}"); /* without its end */
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_string_equal(answer_of(&c, fd), "");
    assert_int_equal(c.n_taken, 0);
    stop(&c.service);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as main does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_gets_one_document_however_large),
        cmocka_unit_test(socket_and_folder_are_the_users_own),
        cmocka_unit_test(a_folder_that_others_write_to_is_refused),
        cmocka_unit_test(a_dead_services_socket_is_replaced_and_a_living_ones_is_not),
        cmocka_unit_test(what_is_no_socket_is_left_alone),
        cmocka_unit_test(who_does_not_read_holds_up_nobody_and_is_dropped),
        cmocka_unit_test(who_is_one_too_many_waits_for_a_place),
        cmocka_unit_test(who_waits_is_dropped_when_the_service_ends),
        cmocka_unit_test(closing_drops_who_is_being_answered),
        cmocka_unit_test(another_user_gets_nothing),
        cmocka_unit_test(members_of_the_group_are_answered_and_others_are_not),
        cmocka_unit_test(a_request_is_answered_at_once_or_later),
        cmocka_unit_test(an_answer_reaches_nobody_else_when_who_asked_has_gone),
        cmocka_unit_test(what_is_no_request_is_not_answered),
        cmocka_unit_test(a_group_that_cannot_be_served_leaves_the_socket_to_its_user),
    };
    return cmocka_run_group_tests(tests, make_names, remove_names);
}
