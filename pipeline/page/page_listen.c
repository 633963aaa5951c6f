/*
 * page_listen - see page_listen.h.
 */
#include "pipeline/page/page_listen.h"

#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, FIRST_PASSED = 3 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

/* --- addresses -------------------------------------------------------------------------------- */

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET) {
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    }
    const struct in6_addr *v6 = &a->v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/* ADDRESS:PORT, [ADDRESS]:PORT. */
static bool parse(const char *text, union address *out, socklen_t *n)
{
    char host[INET6_ADDRSTRLEN] = "";
    const char *colon = strrchr(text, ':');
    uint64_t port;
    const bool has_brackets = *text == '[' && colon != NULL && colon > text && colon[-1] == ']';
    const size_t length = colon != NULL ? (size_t)(colon - text) - (has_brackets ? 2 : 0) : 0;
    if (colon == NULL || length >= sizeof(host) || !text_parse_count(colon + 1, &port) ||
        port > UINT16_MAX) {
        return false;
    }
    memcpy(host, text + has_brackets, length);
    *out = (union address){0};
    if (has_brackets) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *n = sizeof(out->v6);
        return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    *n = sizeof(out->v4);
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &out->v4.sin_addr) == 1;
}

/* What it is called: with the port that the kernel has chosen. */
static void describe(struct page_listener *l, const union address *a, socklen_t n)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (a->any.sa_family == AF_UNIX) {
        const size_t most = n - offsetof(struct sockaddr_un, sun_path);
        snprintf(l->address, sizeof(l->address), "unix:%.*s", (int)most, a->local.sun_path);
        return;
    }
    const bool is_v6 = a->any.sa_family == AF_INET6;
    inet_ntop(a->any.sa_family, is_v6 ? (const void *)&a->v6.sin6_addr : &a->v4.sin_addr, host,
              sizeof(host));
    snprintf(l->address, sizeof(l->address), is_v6 ? "http://[%s]:%u/" : "http://%s:%u/", host,
             ntohs(is_v6 ? a->v6.sin6_port : a->v4.sin_port));
}

static enum status find_out(struct page_listener *l)
{
    union address a = {0};
    socklen_t n = sizeof(a);
    if (getsockname(l->fd, &a.any, &n) != 0) {
        return status_fail_errno(errno, "cannot find out where the page's socket listens");
    }
    const int family = a.any.sa_family;
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "the socket that systemd passes is neither of TCP nor a Unix socket: "
                           "set ListenStream= in its unit");
    }
    l->is_loopback = family != AF_UNIX && is_loopback(&a);
    describe(l, &a, n);
    return STATUS_OK;
}

/* Whoever can connect could read all results: on this machine, every user. */
static enum status must_have_token(const char *address)
{
    return status_fail(STATUS_BAD_ARGUMENT,
                       "--http: whoever can connect to '%s' may read all results, also users of "
                       "this machine: an address needs a token, set http_token_file; or listen at "
                       "a Unix socket, unix:/run/leat/http.sock",
                       address);
}

/* --- a socket with a name in the file system -------------------------------------------------- */

/* The address of that path. */
static enum status make_address(const char *path, struct sockaddr_un *out)
{
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(out->sun_path)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s': a socket's name has at most %zu bytes, not %zu: give another "
                           "with --http",
                           path, sizeof(out->sun_path) - 1, n);
    }
    memcpy(out->sun_path, path, n);
    return STATUS_OK;
}

/* The socket's folder: made (0700) where it is missing, and one in which no other user can replace
 * the socket. */
static enum status make_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    snprintf(folder, sizeof(folder), "%.*s",
             slash == NULL   ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash == NULL ? "." : path);
    struct stat st;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return status_fail_errno(errno, "'%s': cannot make the folder of the page's socket",
                                 folder);
    }
    if (stat(folder, &st) != 0) {
        return status_fail_errno(errno, "'%s': cannot look at the folder of the page's socket",
                                 folder);
    }
    bool ours = st.st_uid == geteuid() || st.st_uid == 0;
    bool shared = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0;
    if (!ours || shared) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s': others may write to the folder of the page's socket: give "
                           "another with --http",
                           folder);
    }
    return STATUS_OK;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes what a dead service left. */
static enum status clear_name(const struct sockaddr_un *address)
{
    const char *path = address->sun_path;
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? STATUS_OK : status_fail_errno(errno, "'%s'", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return status_fail(STATUS_EXISTS, "'%s' exists and is not a socket", path);
    }
    int fd = new_socket();
    if (fd < 0) {
        return status_fail_errno(errno, "'%s': cannot make a socket", path);
    }
    int error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
    close(fd);
    if (error == ENOENT) {
        return STATUS_OK;
    }
    if (error != ECONNREFUSED) {
        return status_fail(STATUS_EXISTS,
                           "'%s': a running service answers there: stop it, or give another with "
                           "--http",
                           path);
    }
    return unlink(path) == 0 || errno == ENOENT
               ? STATUS_OK
               : status_fail_errno(errno, "'%s': cannot remove the socket of a dead service", path);
}

/* The socket gets its mode before it gets its name (on Linux bind() takes over the mode of the
 * descriptor), so there is no moment in which others could connect. */
static enum status listen_local(const char *path, struct page_listener *out)
{
    enum { MODE = 0660 };
    struct sockaddr_un address;
    struct stat st;
    STATUS_TRY(make_address(path, &address));
    STATUS_TRY(make_folder(path));
    STATUS_TRY(clear_name(&address));
    out->fd = new_socket();
    /* The umask may have taken rights away from the name's mode, but has given none. */
    if (out->fd < 0 || fchmod(out->fd, MODE) != 0 ||
        bind(out->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        chmod(path, MODE) != 0) {
        return status_fail_errno(errno, "'%s': cannot make the page's socket", path);
    }
    if (lstat(path, &st) != 0) {
        return status_fail_errno(errno, "'%s': cannot look at the page's socket", path);
    }
    out->name = xstrdup(path);
    out->device = st.st_dev;
    out->inode = st.st_ino;
    return STATUS_OK;
}

/* If it is still that socket's. */
static void remove_name(struct page_listener *listener)
{
    struct stat st;
    if (listener->name != NULL && lstat(listener->name, &st) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode) {
        unlink(listener->name);
    }
    free(listener->name);
    listener->name = NULL;
}

/* --- listening -------------------------------------------------------------------------------- */

static enum status listen_tcp(const char *http, bool has_token, struct page_listener *out)
{
    union address a;
    socklen_t n;
    const int one = 1;
    if (!parse(http, &a, &n)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--http: '%s' is not an address; write 127.0.0.1:9464, [::1]:9464, or "
                           "unix:/run/leat/http.sock",
                           http);
    }
    if (!has_token) {
        return must_have_token(http);
    }
    out->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0 || setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(out->fd, &a.any, n) != 0) {
        return status_fail_errno(errno, "--http: cannot listen at '%s'", http);
    }
    return STATUS_OK;
}

enum status page_listen(const char *http, bool has_token, struct page_listener *out)
{
    static const char local[] = "unix:";
    *out = (struct page_listener){.fd = -1};
    enum status code = strncmp(http, local, sizeof(local) - 1) == 0
                           ? listen_local(http + sizeof(local) - 1, out)
                           : listen_tcp(http, has_token, out);
    if (code == STATUS_OK && listen(out->fd, BACKLOG) != 0) {
        code = status_fail_errno(errno, "--http: cannot listen at '%s'", http);
    }
    if (code == STATUS_OK) {
        code = find_out(out);
    }
    if (code != STATUS_OK) {
        page_listen_close(out);
    }
    return code;
}

/* How many sockets are passed to this very process. */
static uint64_t count_passed(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    uint64_t number, count;
    return pid != NULL && n != NULL && text_parse_count(pid, &number) &&
                   number == (uint64_t)getpid() && text_parse_count(n, &count)
               ? count
               : 0;
}

static enum status take_passed(bool has_token, struct page_listener *out)
{
    int listens = 0;
    socklen_t n = sizeof(listens);
    const int flags = fcntl(out->fd, F_GETFL);
    if (flags < 0 || fcntl(out->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(out->fd, F_SETFD, FD_CLOEXEC) != 0 ||
        getsockopt(out->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) != 0 || listens == 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "what systemd passes is not a socket that listens: its unit needs "
                           "ListenStream= and Accept=no");
    }
    STATUS_TRY(find_out(out));
    const bool is_tcp = strncmp(out->address, "http:", 5) == 0;
    return is_tcp && !has_token ? must_have_token(out->address) : STATUS_OK;
}

enum status page_listen_passed(bool has_token, struct page_listener *out)
{
    *out = (struct page_listener){.fd = -1};
    const uint64_t n = count_passed();
    if (n == 0) {
        return status_fail(STATUS_NOT_FOUND, "systemd passes no socket");
    }
    if (n > 1) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "systemd passes %llu sockets, and the page takes one: leave one "
                           "ListenStream= in the socket's unit",
                           (unsigned long long)n);
    }
    out->fd = FIRST_PASSED;
    const enum status code = take_passed(has_token, out);
    if (code != STATUS_OK) {
        out->fd = -1; /* it may be anything */
    }
    return code;
}

void page_listen_close(struct page_listener *listener)
{
    if (listener->fd >= 0) {
        close(listener->fd);
    }
    listener->fd = -1;
    remove_name(listener);
}

/* --- the token -------------------------------------------------------------------------------- */

enum status page_listen_token(const char *path, char **out)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    char text[PAGE_TOKEN_MOST + 2] = "";
    struct stat st;
    *out = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd >= 0 && fstat(fd, &st) == 0 ? read(fd, text, sizeof(text) - 1) : -1;
    const int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        status_fail_errno(error, "http_token_file: cannot read '%s'", path);
        return status_set(STATUS_BAD_ARGUMENT, status_message());
    }
    if ((st.st_mode & S_IRWXO) != 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "http_token_file: others may read '%s': chmod o= it", path);
    }
    text[strcspn(text, "\r\n")] = '\0';
    const size_t length = strlen(text);
    if (length < PAGE_TOKEN_LEAST || length > PAGE_TOKEN_MOST ||
        text[strspn(text, letters)] != '\0') {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "http_token_file: the first line of '%s' is not a token: %d to %d "
                           "letters, digits and -._~ (openssl rand -hex 24 makes one)",
                           path, PAGE_TOKEN_LEAST, PAGE_TOKEN_MOST);
    }
    *out = xstrdup(text);
    return STATUS_OK;
}
