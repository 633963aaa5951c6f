/*
 * worker_protocol - see worker_protocol.h.
 */
#include "pipeline/worker/worker_protocol.h"

#include "formats/base/json.h"
#include "formats/base/percent.h"
#include "pipeline/engine/engine.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- the link --------------------------------------------------------------------------------- */

struct write_request {
    uv_write_t write;
    char *text;
};

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct worker_link *link = handle->data;
    if (xalloc_status(bytes_reserve(&link->unread, suggested)) == STATUS_OK) {
        buf->base = (char *)link->unread.data + link->unread.len;
        buf->len = link->unread.cap - link->unread.len;
    }
}

static void break_link(struct worker_link *link, const char *why)
{
    uv_read_stop((uv_stream_t *)&link->pipe);
    link->broken(link->user, why);
}

/* Hands out the whole lines; false: one is not a message. */
static bool read_lines(struct worker_link *link)
{
    size_t begin = 0;
    bool good = true;
    while (good && !link->closing) {
        const char *data = (const char *)link->unread.data;
        const char *end =
            link->unread.len > begin ? memchr(data + begin, '\n', link->unread.len - begin) : NULL;
        if (end == NULL) {
            break;
        }
        size_t n = (size_t)(end - data) - begin;
        json_t *message;
        good = json_read(data + begin, n, &message) == STATUS_OK && json_is_object(message);
        if (good) {
            link->message(link->user, message);
        }
        json_decref(message);
        begin += n + 1;
    }
    if (!link->closing) {
        memmove(link->unread.data, link->unread.data + begin, link->unread.len - begin);
        link->unread.len -= begin;
    }
    return good && link->unread.len <= WORKER_LINE_BYTES_MAX;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct worker_link *link = stream->data;
    (void)buf;
    if (n > 0) {
        link->unread.len += (size_t)n;
        if (!read_lines(link) && !link->closing) {
            break_link(link, "protocol error");
        }
    } else if (n < 0) {
        break_link(link, n == UV_EOF || n == UV_ECONNRESET ? "" : uv_strerror((int)n));
    }
}

enum status worker_link_start(struct worker_link *link)
{
    link->pipe.data = link;
    int failed = uv_read_start((uv_stream_t *)&link->pipe, give_room, on_read);
    return failed == 0 ? STATUS_OK
                       : status_fail(STATUS_IO, "cannot listen to the other process: %s",
                                     uv_strerror(failed));
}

static void on_sent(uv_write_t *write, int failed)
{
    struct write_request *request = (struct write_request *)write;
    (void)failed;
    free(request->text);
    free(request);
}

/* The other end would wait for what was lost: let both ends read that this is the end. */
static void hang_up(struct worker_link *link)
{
    uv_os_fd_t fd;
    if (!link->closing && uv_fileno((uv_handle_t *)&link->pipe, &fd) == 0) {
        shutdown(fd, SHUT_RDWR);
    }
}

void worker_link_send(struct worker_link *link, json_t *message)
{
    struct write_request *const request = xcalloc(1, sizeof(*request));
    char *const text = request->text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(message);
    if (text != NULL && !link->closing) {
        uv_buf_t buf = uv_buf_init(text, (unsigned)strlen(text) + 1);
        text[buf.len - 1] = '\n'; /* in the place of the NUL: the text is not a string any more */
        if (uv_write(&request->write, (uv_stream_t *)&link->pipe, &buf, 1, on_sent) == 0) {
            return;
        }
    }
    on_sent(&request->write, 0);
    hang_up(link);
}

static void on_closed(uv_handle_t *handle)
{
    struct worker_link *link = handle->data;
    bytes_free(&link->unread);
    if (link->closed != NULL) {
        link->closed(link->user);
    }
}

void worker_link_close(struct worker_link *link)
{
    if (!link->closing) {
        link->closing = true;
        link->pipe.data = link;
        uv_close((uv_handle_t *)&link->pipe, on_closed);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

json_t *worker_pack_done(const char *id, double seconds, uint64_t input_bytes, json_t *outputs,
                         json_t *warnings)
{
    /* What more there is, its result.json names. */
    json_t *const named = json_array_size(outputs) <= WORKER_OUTPUTS_MAX ? outputs : NULL;
    return json_pack("{s:s, s:s, s:f, s:I, s:O?, s:O}", "is", "done", "id", id, "seconds", seconds,
                     "bytes", (json_int_t)input_bytes, "outputs", named, "warnings", warnings);
}

static void append_ns(json_t *list, const json_t *of, const char *key)
{
    const double s = json_number_value(json_object_get(of, key));
    json_array_append_new(list, json_integer((json_int_t)(s * 1e9 + 0.5)));
}

json_t *worker_pack_busy(const json_t *timing)
{
    const json_t *const lanes = json_object_get(timing, "lanes");
    const json_t *const device = json_object_get(timing, "device");
    if (timing == NULL) {
        return NULL;
    }
    json_t *const list = json_array();
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        append_ns(list, json_object_get(lanes, engine_lane_names[i]), "busy_s");
    }
    append_ns(list, timing, "cpu_s");
    append_ns(list, device, "device_s");
    append_ns(list, device, "upload_s");
    append_ns(list, device, "download_s");
    return list;
}

/* --- parameters ------------------------------------------------------------------------------- */

/* As text: as it was given, where that is kept; a count and a real number come back to the bit. */
static json_t *pack_value(const struct param_spec *spec, const struct param_value *value)
{
    if (value->text != NULL) {
        return json_string(value->text);
    }
    if (spec->kind == PARAM_COUNT) {
        return json_sprintf("%llu", (unsigned long long)value->count);
    }
    if (spec->kind == PARAM_REAL) {
        return json_sprintf("%.17g", value->real);
    }
    return stage_param_json(spec, value);
}

/* Whether it packs as `text` and has its default. */
static bool is_default(const struct param_spec *spec, const struct param_value *value,
                       const char *text)
{
    struct param_value usual;
    return spec->kind == PARAM_REAL && value->text == NULL
               ? stage_parse_param(spec, spec->text, &usual) == STATUS_OK &&
                     usual.real == value->real
               : text != NULL && strcmp(text, spec->text) == 0;
}

json_t *worker_pack_settings(const struct job_settings *settings)
{
    const struct stage_ops *stage = settings->stage;
    json_t *set = json_object();
    bool good = true; /* UTF-8 */
    for (size_t i = 0; i < stage->n_specs; i++) {
        const struct param_spec *const spec = &stage->specs[i];
        json_t *const value = pack_value(spec, &settings->params[i]);
        if (is_default(spec, &settings->params[i], json_string_value(value))) {
            json_decref(value);
        } else {
            good = json_object_set_new(set, spec->key, value) == 0 && good;
        }
    }
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        const char *text = table_option_get(&settings->table, i);
        good = (text == NULL ||
                json_object_set_new(set, table_option_key(i), json_string(text)) == 0) &&
               good;
    }
    json_t *const packed = json_pack("{s:s, s:o}", "pipeline", stage->name, "set", set);
    if (!good) {
        json_decref(packed);
    }
    return good ? packed : NULL;
}

json_t *worker_pack_refusal(const char *why)
{
    return json_pack("{s:o}", "refused", worker_pack_name(why));
}

enum status worker_unpack_settings(const json_t *packed, const char *stem, struct job_settings *out)
{
    const char *const name = text_at(packed, "pipeline");
    json_t *value;
    const char *key;
    char *const refused = worker_unpack_name(json_object_get(packed, "refused"));
    *out = (struct job_settings){.stage = stage_find(name)};
    if (refused != NULL) {
        (void)status_fail(STATUS_BAD_INPUT, "%s", refused);
        free(refused);
        return STATUS_BAD_INPUT;
    }
    if (out->stage == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "there is no pipeline '%s' in this version of leat",
                           name);
    }
    out->stem = xstrdup(stem);
    enum status code = settings_take_defaults(out);
    json_object_foreach(json_object_get(packed, "set"), key, value)
    {
        if (code == STATUS_OK) {
            code = json_is_string(value)
                       ? settings_take_parameter(out, key, json_string_value(value))
                       : status_fail(STATUS_BAD_ARGUMENT, "parameter '%s' is not text", key);
        }
    }
    if (code != STATUS_OK) {
        job_settings_free(out);
        return code;
    }
    out->n_parts = stage_parts(out->stage, out->params, out->parts);
    return code;
}

/* --- names and codes -------------------------------------------------------------------------- */

json_t *worker_pack_name(const char *name)
{
    char *text = xalloc_checked(percent_encode(name));
    json_t *packed = json_string(text);
    free(text);
    return packed;
}

char *worker_unpack_name(const json_t *packed)
{
    char *name;
    return json_is_string(packed) &&
                   xalloc_status(percent_decode(json_string_value(packed), &name)) == STATUS_OK
               ? name
               : NULL;
}

enum status worker_unpack_code(const char *name)
{
    static const enum status codes[] = {
#define X(code, text, meaning) code,
        STATUS_LIST(X)
#undef X
    };
    for (size_t i = 0; name != NULL && i < sizeof(codes) / sizeof(*codes); i++) {
        if (strcmp(status_name(codes[i]), name) == 0) {
            return codes[i];
        }
    }
    return STATUS_INTERNAL;
}
