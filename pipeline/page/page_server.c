/*
 * page_server - see page_server.h. libmicrohttpd reads requests and writes answers, on one thread;
 * answers are made on it, too, so what it alone uses needs no lock. Connections are noted in a
 * table of their own, since libmicrohttpd ends those that are silent, but not those whose request
 * comes too slowly.
 */
#include "pipeline/page/page_server.h"

#include "formats/base/log.h"
#include "pipeline/names/template.h"
#include "pipeline/names/text.h"
#include "pipeline/page/http_calls.h"
#include "pipeline/page/page_form.h"
#include "pipeline/page/page_html.h"
#include "pipeline/status/status_file.h"
#include "pipeline/status/status_text.h"
#include "watch/files/xalloc.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char cookie[] = "leat_token";

TEMPLATE_LINK_IN("page_style", "pipeline/page/page.css");
TEMPLATE_LINK_IN("page_script", "pipeline/page/page.js");
extern const char page_style[], page_script[];

struct connection {
    bool is_used, is_asked; /* asked: its request has come */
    int fd;
    uint64_t since_ms; /* it is open */
};

struct page_server {
    struct page_server_options options;
    struct MHD_Daemon *daemon;
    json_t *document;                   /* what the service said last; NULL: it gave no answer */
    char trouble[STATUS_MESSAGE_BYTES]; /* why */
    uint64_t asked_ms;                  /* 0: never */
    char key[PAGE_KEY_BYTES];           /* of forms */
    pthread_mutex_t lock;               /* of the connections and: */
    char notice[PAGE_NOTICE_BYTES];     /* what the service said last to a form; "": nothing */
    uint64_t notice_ms;                 /* when */
    struct connection connections[PAGE_CONNECTIONS];
};

/* An answer that is being made. */
struct answer {
    struct page_server *server;
    struct MHD_Connection *connection;
    const char *path; /* without the first slash */
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- what the service says -------------------------------------------------------------------- */

/* The service's document, not older than PAGE_FRESH_MS; NULL: it gives no answer. */
static const json_t *ask(struct page_server *s)
{
    if (s->asked_ms != 0 && now_ms() - s->asked_ms < PAGE_FRESH_MS) {
        return s->document;
    }
    json_decref(s->document);
    s->document = NULL;
    if (status_file_read_at(s->options.files.status_fd, &s->document) != STATUS_OK) {
        snprintf(s->trouble, sizeof(s->trouble), "%s", status_message());
    }
    s->asked_ms = now_ms();
    return s->document;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* What browsers may do with our pages, and with files that leat or others have made: no script of
 * elsewhere, none at all in files. */
static const char page_policy[] =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
static const char file_policy[] = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' "
                                  "data:; base-uri 'none'; form-action 'none'; frame-ancestors "
                                  "'none'";

static enum MHD_Result send_response(const struct answer *a, unsigned code,
                                     struct MHD_Response *response, const char *type,
                                     const char *policy)
{
    if (response == NULL) {
        return MHD_NO;
    }
    http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    http.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    http.add_response_header(response, "X-Content-Type-Options", "nosniff");
    /* With "no-referrer" browsers do not say whose page posts a form. */
    http.add_response_header(response, "Referrer-Policy", "same-origin");
    http.add_response_header(response, "Content-Security-Policy", policy);
    const enum MHD_Result result = http.queue_response(a->connection, code, response);
    http.destroy_response(response);
    return result;
}

/* Takes the text over. */
static enum MHD_Result send_bytes(const struct answer *a, unsigned code, struct bytes *text,
                                  const char *type)
{
    struct MHD_Response *response =
        http.create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        bytes_free(text);
        return MHD_NO;
    }
    *text = (struct bytes){0};
    http.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return send_response(a, code, response, type, page_policy);
}

/* Constant text. */
static struct MHD_Response *text_response(const char *text)
{
    return http.create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
}

static const char plain[] = "text/plain; charset=utf-8";

/* With one header more. */
static enum MHD_Result send_with(const struct answer *a, unsigned code, const char *text,
                                 const char *header, const char *value)
{
    struct MHD_Response *response = text_response(text);
    if (response != NULL) {
        http.add_response_header(response, header, value);
    }
    return send_response(a, code, response, plain, page_policy);
}

static enum MHD_Result send_text(const struct answer *a, unsigned code, const char *text)
{
    return send_response(a, code, text_response(text), plain, page_policy);
}

static const char html[] = "text/html; charset=utf-8";

static const char *value_of(const struct answer *a, enum MHD_ValueKind kind, const char *key)
{
    return http.lookup_connection_value(a->connection, kind, key);
}

/* What names are to hold; "": any do. */
static const char *search_of(const struct answer *a)
{
    const char *search = value_of(a, MHD_GET_ARGUMENT_KIND, "q");
    return search != NULL ? search : "";
}

/* What the service has said to a form, for a while. */
static const char *notice_of(struct page_server *s, char out[PAGE_NOTICE_BYTES])
{
    pthread_mutex_lock(&s->lock);
    const bool is_new = now_ms() - s->notice_ms < PAGE_NOTICE_MS;
    snprintf(out, PAGE_NOTICE_BYTES, "%s", is_new ? s->notice : "");
    pthread_mutex_unlock(&s->lock);
    return out;
}

static enum MHD_Result send_page(const struct answer *a)
{
    struct bytes text = {0};
    const json_t *document = ask(a->server);
    const unsigned code = document != NULL ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    char notice[PAGE_NOTICE_BYTES];
    const struct page_view view = {.search = search_of(a),
                                   .key = a->server->options.token != NULL ? a->server->key : "",
                                   .notice = notice_of(a->server, notice)};
    if (document != NULL) {
        page_html(document, &view, &text);
    } else {
        page_html_trouble(a->server->trouble, &text);
    }
    return send_bytes(a, code, &text, html);
}

static enum MHD_Result send_metrics(const struct answer *a)
{
    struct bytes text = {0};
    const json_t *document = ask(a->server);
    if (document == NULL) {
        return send_text(a, MHD_HTTP_SERVICE_UNAVAILABLE, "The service gives no answer.\n");
    }
    page_html_metrics(document, &text);
    return send_bytes(a, MHD_HTTP_OK, &text, "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result send_health(const struct answer *a)
{
    struct bytes text = {0};
    const json_t *document = ask(a->server);
    const char *const why = text_at(document, "why");
    if (document != NULL && status_text_is_ready(document)) {
        return send_text(a, MHD_HTTP_OK, "ready\n");
    }
    (void)!xalloc_status(document == NULL
                             ? bytes_printf(&text, "no answer: %s\n", a->server->trouble)
                             : bytes_printf(&text, "%s%s%s\n", text_at(document, "state"),
                                            *why != '\0' ? ": " : "", why));
    return send_bytes(a, MHD_HTTP_SERVICE_UNAVAILABLE, &text, plain);
}

/* What the page asks for: constant text. */
static enum MHD_Result send_asset(const struct answer *a, const char *text, const char *type)
{
    struct MHD_Response *response = text_response(text);
    if (response != NULL) {
        http.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    }
    return send_response(a, MHD_HTTP_OK, response, type, page_policy);
}

static enum MHD_Result send_style(const struct answer *a)
{
    return send_asset(a, page_style, "text/css; charset=utf-8");
}

static enum MHD_Result send_script(const struct answer *a)
{
    return send_asset(a, page_script, "text/javascript; charset=utf-8");
}

/* --- files ------------------------------------------------------------------------------------ */

static enum MHD_Result send_file(const struct answer *a, const struct page_file *file)
{
    struct MHD_Response *response = http.create_response_from_fd64(file->bytes, file->fd);
    if (response == NULL) {
        close(file->fd);
        return MHD_NO;
    }
    http.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "private, max-age=60");
    if (!file->is_shown) {
        http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, "attachment");
    }
    return send_response(a, MHD_HTTP_OK, response, file->type, file_policy);
}

/* A folder's address ends in a slash, or its list's addresses lead elsewhere. */
static enum MHD_Result send_folder(const struct answer *a)
{
    const size_t n = strlen(a->path);
    struct bytes text = {0};
    if (n > 0 && a->path[n - 1] == '/') {
        return page_files_list(&a->server->options.files, a->path, search_of(a), &text) == STATUS_OK
                   ? send_bytes(a, MHD_HTTP_OK, &text, html)
                   : send_text(a, MHD_HTTP_NOT_FOUND, "There is no such page.\n");
    }
    const char *slash = strrchr(a->path, '/');
    template_path(slash != NULL ? slash + 1 : a->path, &text);
    template_put(&text, "/", 2); /* with its end */
    const enum MHD_Result result =
        send_with(a, MHD_HTTP_FOUND, "", MHD_HTTP_HEADER_LOCATION, (const char *)text.data);
    bytes_free(&text);
    return result;
}

static enum MHD_Result send_below(const struct answer *a)
{
    struct page_file file;
    const size_t n = strlen(a->path);
    if (n > 0 && a->path[n - 1] == '/') {
        return send_folder(a);
    }
    switch (page_files_find(&a->server->options.files, a->path, &file)) {
    case STATUS_OK:
        return send_file(a, &file);
    case STATUS_EXISTS:
        return send_folder(a);
    default:
        return send_text(a, MHD_HTTP_NOT_FOUND, "There is no such file.\n");
    }
}

/* --- who may ask ------------------------------------------------------------------------------ */

static bool is_token(const struct page_server *s, const char *text)
{
    return page_form_is_secret(text, s->options.token);
}

static bool has_token(const struct answer *a)
{
    static const char bearer[] = "Bearer ";
    const char *said = value_of(a, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (said != NULL && strncasecmp(said, bearer, sizeof(bearer) - 1) == 0 &&
        is_token(a->server, said + sizeof(bearer) - 1)) {
        return true;
    }
    return is_token(a->server, value_of(a, MHD_COOKIE_KIND, cookie));
}

static enum MHD_Result count_host(void *n, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    (void)kind;
    (void)value;
    *(size_t *)n += strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0;
    return MHD_YES;
}

/* Whether the request says once at most, and rightly, whom it is for: a name or an address, and
 * perhaps a port (RFC 9112, 3.2). *host is all before the port, n bytes; NULL: not said, so this is
 * no browser. */
static bool find_host(const struct answer *a, const char **host, size_t *n)
{
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-._~%!$&'()*+,;=",
                      in_brackets[] = "0123456789abcdefABCDEF:.";
    size_t n_hosts = 0;
    http.get_connection_values(a->connection, MHD_HEADER_KIND, count_host, &n_hosts);
    const char *const text = *host = value_of(a, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    *n = 0;
    if (text == NULL) {
        return n_hosts == 0;
    }
    *n = *text == '[' ? 1 + strspn(text + 1, in_brackets) : strspn(text, in_names);
    if (*text == '[' && text[(*n)++] != ']') {
        return false;
    }
    const char *const after = text + *n;
    const size_t n_port = *after == ':' ? 1 + strspn(after + 1, "0123456789") : 0;
    return n_hosts == 1 && after[n_port] == '\0';
}

/* Whether that is a name of this machine. */
static bool is_ours(const char *host, size_t n)
{
    static const char *const names[] = {"localhost", "[::1]"};
    for (size_t i = 0; i < 2; i++) {
        if (n == strlen(names[i]) && strncasecmp(host, names[i], n) == 0) {
            return true;
        }
    }
    return host == NULL || (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n);
}

/* The token becomes a cookie, and leaves the address. */
static enum MHD_Result send_cookie(const struct answer *a)
{
    char text[512];
    struct MHD_Response *response = text_response("");
    snprintf(text, sizeof(text), "%s=%s; HttpOnly; SameSite=Strict; Path=/", cookie,
             a->server->options.token);
    if (response != NULL) {
        http.add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, text);
        http.add_response_header(response, MHD_HTTP_HEADER_LOCATION, "./");
    }
    return send_response(a, MHD_HTTP_SEE_OTHER, response, plain, page_policy);
}

static enum MHD_Result send_method(const struct answer *a)
{
    return send_with(a, MHD_HTTP_METHOD_NOT_ALLOWED,
                     "GET and HEAD alone, but for the forms of a page that has a token.\n",
                     MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
}

/* Whether it is answered with no more than a refusal, which is queued then. */
static bool is_refused(const struct answer *a, enum MHD_Result *result)
{
    const struct page_server_options *options = &a->server->options;
    const char *host;
    size_t n_host;
    if (!find_host(a, &host, &n_host)) {
        *result = send_text(a, MHD_HTTP_BAD_REQUEST, "One name, and perhaps a port, in Host.\n");
    } else if (options->token != NULL && !has_token(a)) {
        *result = is_token(a->server, value_of(a, MHD_GET_ARGUMENT_KIND, "token"))
                      ? send_cookie(a)
                      : send_with(a, MHD_HTTP_UNAUTHORIZED,
                                  "A token is needed: Authorization: Bearer TOKEN, or once "
                                  "/?token=TOKEN.\n",
                                  MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    } else if (options->is_loopback && !is_ours(host, n_host)) {
        *result = send_text(a, MHD_HTTP_BAD_REQUEST, "Ask by localhost or 127.0.0.1.\n");
    } else {
        return false;
    }
    return true;
}

static enum MHD_Result send_asked(const struct answer *a)
{
    static const struct {
        const char *path;
        enum MHD_Result (*send)(const struct answer *);
    } pages[] = {{"", send_page},
                 {"page.css", send_style},
                 {"page.js", send_script},
                 {"metrics", send_metrics},
                 {"healthz", send_health}};
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        if (strcmp(a->path, pages[i].path) == 0) {
            return pages[i].send(a);
        }
    }
    return send_below(a);
}

/* --- forms ------------------------------------------------------------------------------------ */

/* Whether another site's page asks: browsers say whose page it is. */
static bool is_of_another_site(const struct answer *a)
{
    const char *origin = value_of(a, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    const char *host = value_of(a, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const char *name = origin != NULL ? strstr(origin, "://") : NULL;
    return origin != NULL && (name == NULL || host == NULL || strcasecmp(name + 3, host) != 0);
}

/* A form is on its way; what may not ask is told so at once. */
static enum MHD_Result begin_form(const struct answer *a, struct page_form **form)
{
    enum MHD_Result refusal;
    if (*a->path != '\0' || a->server->options.token == NULL) {
        return send_method(a);
    }
    if (is_refused(a, &refusal)) {
        return refusal;
    }
    if (is_of_another_site(a)) {
        return send_text(a, MHD_HTTP_FORBIDDEN, "Another site's page asks.\n");
    }
    *form = page_form_new(a->connection);
    return *form != NULL ? MHD_YES : send_text(a, MHD_HTTP_BAD_REQUEST, "That is no form.\n");
}

/* The service is told, which says later what became of it (page_server_tell). */
static enum MHD_Result send_done(const struct answer *a, const struct page_form *form)
{
    if (!page_form_has_key(form, a->server->key)) {
        return send_text(a, MHD_HTTP_FORBIDDEN, "This form is not of the page: load it again.\n");
    }
    char *ask = page_form_ask(form);
    const bool is_sent = ask != NULL && send(a->server->options.service_fd, ask, strlen(ask),
                                             MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)strlen(ask);
    free(ask);
    if (!is_sent) {
        return send_text(a, MHD_HTTP_SERVICE_UNAVAILABLE, "The service takes no requests now.\n");
    }
    return send_with(a, MHD_HTTP_SEE_OTHER, "", MHD_HTTP_HEADER_LOCATION, "./");
}

/* --- connections ------------------------------------------------------------------------------ */

static void set_asked(struct page_server *s, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *c = info != NULL ? info->socket_context : NULL;
    if (c != NULL) {
        pthread_mutex_lock(&s->lock);
        c->is_asked = true;
        pthread_mutex_unlock(&s->lock);
    }
}

/* Called when a request's head has come, then for each piece of its body, and once it is whole; the
 * body of a form alone is waited for. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **own)
{
    struct page_server *s = user;
    const struct answer a = {s, connection, *url == '/' ? url + 1 : url};
    struct page_form *form = *own;
    enum MHD_Result refusal;
    (void)version;
    if (form != NULL && *n_upload > 0) {
        page_form_take(form, upload, *n_upload);
        *n_upload = 0;
        return MHD_YES;
    }
    if (*url == '/' && form == NULL && strcmp(method, MHD_HTTP_METHOD_POST) == 0) {
        const enum MHD_Result result = begin_form(&a, &form);
        *own = form;
        return result;
    }
    set_asked(s, connection);
    if (form != NULL) {
        return send_done(&a, form);
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return send_method(&a);
    }
    if (*url != '/') {
        return send_text(&a, MHD_HTTP_BAD_REQUEST, "No such address.\n");
    }
    return is_refused(&a, &refusal) ? refusal : send_asked(&a);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **own,
                         enum MHD_RequestTerminationCode how)
{
    (void)user;
    (void)connection;
    (void)how;
    page_form_free(*own);
    *own = NULL;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode what)
{
    struct page_server *s = user;
    const union MHD_ConnectionInfo *info =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    pthread_mutex_lock(&s->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *own = NULL;
        for (size_t i = 0; i < PAGE_CONNECTIONS && *own == NULL && info != NULL; i++) {
            if (!s->connections[i].is_used) {
                s->connections[i] = (struct connection){
                    .is_used = true, .fd = info->connect_fd, .since_ms = now_ms()};
                *own = &s->connections[i];
            }
        }
    } else if (*own != NULL) {
        *(struct connection *)*own = (struct connection){0}; /* before its descriptor is closed */
        *own = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

void page_server_tell(struct page_server *s, const char *notice)
{
    pthread_mutex_lock(&s->lock);
    snprintf(s->notice, sizeof(s->notice), "%s", notice);
    s->notice_ms = now_ms();
    pthread_mutex_unlock(&s->lock);
}

void page_server_look(struct page_server *s)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t now = now_ms(); /* not before a connection's that was noted meanwhile */
    for (size_t i = 0; i < PAGE_CONNECTIONS; i++) {
        const struct connection *c = &s->connections[i];
        if (c->is_used && !c->is_asked && now - c->since_ms > (uint64_t)PAGE_REQUEST_S * 1000) {
            shutdown(c->fd, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* What clients do wrong is no news. */
static void on_log(void *user, const char *format, va_list arguments)
{
    char text[256];
    (void)user;
    vsnprintf(text, sizeof(text), format, arguments);
    log_debug("the page: %.*s", (int)strcspn(text, "\n"), text);
}

enum status page_server_start(const struct page_server_options *options, struct page_server **out)
{
    struct page_server *s = xcalloc(1, sizeof(*s));
    *out = NULL;
    s->options = *options;
    page_form_make_key(s->key);
    pthread_mutex_init(&s->lock, NULL);
    s->daemon = http.start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
        options->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)PAGE_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PAGE_SILENT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)PAGE_HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
    if (s->daemon == NULL) {
        pthread_mutex_destroy(&s->lock);
        free(s);
        return status_fail(STATUS_IO, "the server cannot be started");
    }
    *out = s;
    return STATUS_OK;
}

void page_server_stop(struct page_server *s)
{
    if (s == NULL) {
        return;
    }
    http.quiesce_daemon(s->daemon); /* else it would shut the socket down, which is only lent */
    http.stop_daemon(s->daemon);
    pthread_mutex_destroy(&s->lock);
    json_decref(s->document);
    free(s);
}
