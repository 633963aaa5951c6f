/*
 * What the service and its workers say to each other: lines over a socket, names that are bytes,
 * and parameters.
 */
#include "pipeline/worker/worker_protocol.h"
#include "tests/support/settings_given.h"

#include <fcntl.h>
#include <sys/socket.h>

/* --- the link --------------------------------------------------------------------------------- */

struct end {
    struct worker_link link;
    size_t n_messages, n_broken, n_closed;
    long long sum; /* of all numbers in "n" */
    size_t longest;
    char why[128];
};

static void on_message(void *user, const json_t *message)
{
    struct end *e = user;
    const char *text = json_string_value(json_object_get(message, "text"));
    e->n_messages++;
    e->sum += json_integer_value(json_object_get(message, "n"));
    if (text != NULL && strlen(text) > e->longest) {
        e->longest = strlen(text);
    }
    if (json_is_true(json_object_get(message, "close"))) {
        worker_link_close(&e->link);
    }
}

static void on_broken(void *user, const char *why)
{
    struct end *e = user;
    e->n_broken++;
    snprintf(e->why, sizeof(e->why), "%s", why);
    worker_link_close(&e->link);
}

static void on_closed(void *user)
{
    struct end *e = user;
    e->n_closed++;
}

static void open_end(uv_loop_t *loop, int fd, struct end *e)
{
    *e = (struct end){
        .link = {.message = on_message, .broken = on_broken, .closed = on_closed, .user = e}};
    uv_pipe_init(loop, &e->link.pipe, 0);
    assert_int_equal(uv_pipe_open(&e->link.pipe, fd), 0);
    assert_int_equal(worker_link_start(&e->link), STATUS_OK);
}

/* What is written to a link as it stands; then the other end closes. */
static void write_raw(const char *text, size_t n, struct end *e)
{
    uv_loop_t loop;
    int fds[2];
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    open_end(&loop, fds[0], e);
    for (size_t i = 0; i < n && e->n_broken == 0; i += 7) { /* a line comes in pieces */
        size_t k = n - i < 7 ? n - i : 7;
        assert_int_equal(write(fds[1], text + i, k), (ssize_t)k);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    close(fds[1]);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(e->n_closed, 1);
}

TEST(messages_arrive_whole_and_in_any_number)
{
    uv_loop_t loop;
    int fds[2];
    struct end a, b;
    enum { MANY = 5000, LONG = 300000 };
    static char text[LONG + 1];
    memset(text, 'x', LONG);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    open_end(&loop, fds[0], &a);
    open_end(&loop, fds[1], &b);
    for (int i = 1; i <= MANY; i++) {
        worker_link_send(&a.link, json_pack("{s:i}", "n", i));
    }
    worker_link_send(&a.link, json_pack("{s:s}", "text", text));
    worker_link_send(&b.link, json_pack("{s:i}", "n", -1));
    worker_link_send(&a.link, json_pack("{s:b}", "close", true));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(b.n_messages, MANY + 2);
    assert_int_equal(b.sum, (long long)MANY * (MANY + 1) / 2);
    assert_int_equal(b.longest, LONG);
    assert_int_equal(a.sum, -1);
    assert_int_equal(a.n_broken, 1); /* b has closed */
    assert_string_equal(a.why, "");
    assert_int_equal(b.n_broken, 0);
    worker_link_send(&a.link, json_pack("{s:i}", "n", 1)); /* nobody is there any more */
    worker_link_close(&a.link);
}

/* Of an archive. */
TEST(done_line_names_so_many_results_that_it_can_be_read)
{
    char name[600];
    memset(name, '\x01', sizeof(name) - 1); /* six bytes each as JSON */
    name[sizeof(name) - 1] = '\0';
    json_t *outputs = json_array(), *warnings = json_array();
    for (size_t i = 0; i <= WORKER_OUTPUTS_MAX; i++) {
        json_t *line = worker_pack_done("id", 1.5, 7, outputs, warnings);
        if (i == 3 || i == WORKER_OUTPUTS_MAX) {
            char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
            assert_int_equal(json_array_size(json_object_get(line, "outputs")), i);
            assert_true(strlen(text) < WORKER_LINE_BYTES_MAX);
            free(text);
        }
        json_decref(line);
        assert_int_equal(
            json_array_append_new(outputs, json_pack("{s:s, s:i}", "name", name, "bytes", 1)), 0);
    }
    json_t *line = worker_pack_done("id", 1.5, 7, outputs, warnings);
    assert_true(json_is_null(json_object_get(line, "outputs")));
    assert_int_equal(json_integer_value(json_object_get(line, "bytes")), 7);
    json_decref(line);
    json_decref(outputs);
    json_decref(warnings);
}

TEST(end_in_the_middle_of_a_line_is_the_end)
{
    static const char text[] = "{\"n\": 1}\n{\"n\": 20";
    struct end e;
    write_raw(text, sizeof(text) - 1, &e);
    assert_int_equal(e.n_messages, 1);
    assert_int_equal(e.n_broken, 1);
    assert_string_equal(e.why, "");
}

TEST(line_that_is_no_object_breaks_the_link)
{
    static const struct {
        const char *text;
        size_t n;
    } bad[] = {{"{\"n\": 1}\nnonsense\n{\"n\": 5}\n", 27},
               {"{\"n\": 1}\n[2]\n{\"n\": 5}\n", 22},
               {"{\"n\": 1}\n\n{\"n\": 5}\n", 19}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct end e;
        write_raw(bad[i].text, bad[i].n, &e);
        assert_int_equal(e.sum, 1);
        assert_int_equal(e.n_broken, 1);
        assert_non_null(strstr(e.why, "protocol"));
    }
}

/* --- codes ------------------------------------------------------------------------------------ */

TEST(codes_come_back_and_others_are_internal)
{
    assert_int_equal(worker_unpack_code(status_name(STATUS_OK)), STATUS_OK);
    assert_int_equal(worker_unpack_code(status_name(STATUS_BAD_INPUT)), STATUS_BAD_INPUT);
    assert_int_equal(worker_unpack_code(status_name(STATUS_DEVICE)), STATUS_DEVICE);
    assert_int_equal(worker_unpack_code("nonsense"), STATUS_INTERNAL);
    assert_int_equal(worker_unpack_code(NULL), STATUS_INTERNAL);
}

/* --- parameters ------------------------------------------------------------------------------- */

static void assert_same_after_the_way(const char *options, const char *path)
{
    char line[512];
    struct job_settings before, after;
    snprintf(line, sizeof(line), "run %s %s", options, path);
    struct settings s = must_parse(line);
    assert_int_equal(settings_resolve(&s, path, &before), STATUS_OK);
    json_t *packed = worker_pack_settings(&before);
    assert_non_null(packed);
    char *text = json_dumps(packed, JSON_COMPACT);
    json_t *again = json_loads(text, 0, NULL);
    assert_int_equal(worker_unpack_settings(again, "id", &after), STATUS_OK);
    assert_ptr_equal(after.stage, before.stage);
    assert_string_equal(after.stem, "id");
    for (size_t i = 0; i < before.stage->n_specs; i++) {
        assert_int_equal(after.params[i].index, before.params[i].index);
        assert_int_equal(after.params[i].count, before.params[i].count);
        assert_true(after.params[i].real == before.params[i].real);
    }
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        const char *given = table_option_get(&before.table, i);
        assert_int_equal(table_option_get(&after.table, i) != NULL, given != NULL);
        if (given != NULL) {
            assert_string_equal(table_option_get(&after.table, i), given);
        }
    }
    job_settings_free(&before);
    job_settings_free(&after);
    json_decref(packed);
    json_decref(again);
    free(text);
    settings_free(&s);
}

TEST(parameters_come_back_to_the_bit)
{
    assert_same_after_the_way("", "x.clusters.csv");
    assert_same_after_the_way("", "x.dem.tif");
    assert_same_after_the_way(
        "-s series=rows -s r=none -s top=17 -s threshold=0.1234567890123456789", "x.clusters.csv");
    assert_same_after_the_way(
        "-s columns=3-9,T,RH -s missing_value=-999.9000000000001,ERR -s skip=3 -s header=0 "
        "-s sep=tab -s decimal=, -s thousands=apostrophe -s unreadable=missing -s sums=data",
        "x.clusters.csv");
    assert_same_after_the_way("-s p_r=0.30000000000000004 -s steps=123 -s nodata=sink",
                              "x.dem.tif");
}

/* A record of a job is written several times: it does not repeat some twenty defaults. */
TEST(parameters_that_have_their_default_are_not_packed)
{
    static const char *const paths[] = {"x.clusters.csv", "x.dem.tif", "x.source.csv",
                                        "x.points.csv"};
    for (size_t i = 0; i <= sizeof(paths) / sizeof(*paths); i++) {
        const char *const path = i > 0 ? paths[i - 1] : "x.clusters.csv";
        struct job_settings resolved;
        struct settings s = must_parse(i > 0 ? "run x" : "run -s top=17 -s r=upper x");
        assert_int_equal(settings_resolve(&s, path, &resolved), STATUS_OK);
        json_t *const packed = worker_pack_settings(&resolved);
        const json_t *const set = json_object_get(packed, "set");
        assert_string_equal(json_string_value(json_object_get(packed, "pipeline")),
                            resolved.stage->name);
        assert_int_equal(json_object_size(set), i == 0);
        assert_true(i > 0 || strcmp(json_string_value(json_object_get(set, "top")), "17") == 0);
        json_decref(packed);
        job_settings_free(&resolved);
        settings_free(&s);
    }
}

TEST(parameters_of_another_version_are_refused)
{
    static const char *const bad[] = {"{}", "{\"pipeline\": \"nonsense\", \"set\": {}}",
                                      "{\"pipeline\": \"pearson\", \"set\": {\"nonsense\": \"1\"}}",
                                      "{\"pipeline\": \"pearson\", \"set\": {\"top\": 1}}",
                                      "{\"pipeline\": \"pearson\", \"set\": {\"top\": \"-\"}}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct job_settings out;
        json_t *packed = json_loads(bad[i], 0, NULL);
        assert_int_equal(worker_unpack_settings(packed, "id", &out), STATUS_BAD_ARGUMENT);
        assert_null(out.params);
        json_decref(packed);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
