/*
 * What the page makes of a status document: HTML in which no name is markup, and metrics that
 * Prometheus reads.
 * ctest: tree
 */
#include "formats/base/excerpt.h"
#include "pipeline/names/template.h"
#include "pipeline/page/page_html.h"

#include "tests/support/status_document.h"

/* All of the document. */
static void whole_page(const json_t *document, struct bytes *out)
{
    page_html(document, &(struct page_view){"", "", ""}, out);
}

/* Made by `make` from the document; for free(). */
static char *made(void (*make)(const json_t *, struct bytes *), json_t *document)
{
    struct bytes out = {0};
    assert_non_null(document);
    make(document, &out);
    template_put(&out, "", 1);
    json_decref(document);
    return (char *)out.data;
}

TEST(markup_controls_and_marks_in_text_are_spelt_out)
{
    static const char *const cases[][2] = {
        {"a <b> & \"c\" 'd'", "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"},
        {"line\nbreak\x1b[2J", "line\\x0abreak\\x1b[2J"},
        {"\xe2\x80\xaetxt", "\\xe2\\x80\\xaetxt"}, /* turns the direction of writing */
        {"caf\xc3\xa9 \xff", "caf\xc3\xa9 \\xff"},
        {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes text = {0};
        assert_int_equal(excerpt_html(cases[i][0], &text), STATUS_OK);
        template_put(&text, "", 1);
        assert_string_equal((char *)text.data, cases[i][1]);
        bytes_free(&text);
    }
}

TEST(bytes_that_mean_something_in_an_address_are_encoded)
{
    struct bytes path = {0};
    template_path("a b/c?d#e%f\"g\xc3\xa4-._~", &path);
    template_put(&path, "", 1);
    assert_string_equal((char *)path.data, "a%20b/c%3Fd%23e%25f%22g%C3%A4-._~");
    bytes_free(&path);
}

TEST(no_text_of_the_document_becomes_markup)
{
    static const char evil[] = "<script>alert(\"1\")</script>' onload='x";
    char *text = made(
        whole_page,
        json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:[{s:s, s:s, s:s, s:s, s:s}], s:[{s:s, "
                  "s:s}], s:[{s:s, s:s, s:s, s:s}], s:[{s:s, s:s, s:s, s:s, s:[s]}], s:[{s:s, s:s, "
                  "s:s, s:s}]}",
                  "state", evil, "ready", 1, "why", evil, "leat", evil, "spool", evil, "leases",
                  evil, "n_failed", 7, "in_flight", "name", evil, "pipeline", evil, "worker", evil,
                  "id", evil, "waits_for", evil, "waiting", "path", evil, "reason", evil, "failed",
                  "id", evil, "name", evil, "kind", evil, "text", evil, "done", "id", evil,
                  "result", evil, "picture", evil, "report", evil, "warnings", evil, "workers",
                  "name", evil, "state", evil, "device", evil, "why", evil));
    const char *script = strstr(text, "<script");
    assert_non_null(script); /* our own */
    assert_null(strstr(script + 1, "<script"));
    assert_null(strstr(text, "alert(\""));
    assert_null(strstr(text, "onload='"));
    assert_non_null(strstr(text, "and 6 more"));
    assert_non_null(strstr(text, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39; onload"));
    free(text);
}

TEST(a_document_that_lacks_everything_is_a_page_all_the_same)
{
    char *text = made(whole_page, json_object());
    assert_non_null(strstr(text, "not ready"));
    assert_non_null(strstr(text, "</html>"));
    free(text);
    text = made(whole_page,
                json_pack("{s:s, s:{}, s:[n, i, s], s:[[]], s:[{}], s:s}", "workers", "x", "rates",
                          "in_flight", 3, "y", "waiting", "done", "minutes", "z"));
    assert_non_null(strstr(text, "</html>"));
    free(text);
}

TEST(a_reason_names_its_cure)
{
    char *text = made(whole_page,
                      json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "spool", "/var/x", "failed",
                                "id", "1-2", "kind", "bad-input", "id", "3-4", "kind", "deadline"));
    assert_non_null(strstr(text, "Fix the file and drop it again."));
    assert_non_null(strstr(text, "leat retry --spool /var/x 3-4"));
    assert_null(strstr(text, "/var/x 1-2"));
    free(text);
}

/* As a shell takes it. */
TEST(a_command_holds_for_a_folder_with_blanks_in_its_name)
{
    char *text = made(whole_page, json_pack("{s:s, s:[{s:s, s:s}]}", "spool", "/var/my \"jobs\"'s",
                                            "failed", "id", "3-4", "kind", "crash"));
    assert_non_null(strstr(
        text, "leat retry --spool &#39;/var/my &quot;jobs&quot;&#39;\\&#39;&#39;s&#39; 3-4</pre>"));
    free(text);
}

TEST(buttons_take_the_place_of_commands_where_there_is_a_key)
{
    struct bytes out = {0};
    json_t *d = status_document();
    page_html(d, &(struct page_view){"", "00ff", "held <b>"}, &out);
    template_put(&out, "", 1);
    json_decref(d);
    const char *html = (const char *)out.data;
    assert_null(strstr(html, "<pre>"));
    assert_non_null(strstr(html, "held &lt;b&gt;"));
    assert_non_null(strstr(html, "name=\"key\" value=\"00ff\"><input type=\"hidden\" name=\"job\" "
                                 "value=\"20261121-030441-000003\">\n<button name=\"do\" "
                                 "value=\"retry\" aria-label=\"Retry f.clusters.csv\">"));
    assert_non_null(strstr(html, "value=\"release\""));
    assert_null(strstr(html, "value=\"hold\"")); /* the only one is held */
    bytes_free(&out);
}

/* One row a job, in a list whose number counts it; and what was done to it names it. */
TEST(a_held_job_stands_among_those_that_are_queued)
{
    struct bytes out = {0};
    json_t *d = status_document();
    json_array_append_new(json_object_get(d, "waiting"),
                          json_pack("{s:s, s:s, s:i}", "path", "q.clusters.csv", "reason",
                                    "held by the administrator", "since_s", 3));
    page_html(d, &(struct page_view){"", "00ff", "hold 20261121-030441-000009: held"}, &out);
    template_put(&out, "", 1);
    json_decref(d);
    const char *html = (const char *)out.data;
    assert_null(strstr(html, "held by the administrator"));
    assert_non_null(strstr(html, "Queued <span class=\"count\">6<"));
    assert_non_null(strstr(html, "Waiting <span class=\"count\">10<"));
    assert_non_null(strstr(html, ">hold q.clusters.csv: held</p>"));
    bytes_free(&out);
}

TEST(a_search_leaves_those_whose_names_hold_the_text)
{
    struct bytes out = {0};
    json_t *d = status_document();
    page_html(d, &(struct page_view){"C.CLUSTERS<", "", ""}, &out);
    template_put(&out, "", 1);
    assert_non_null(strstr((char *)out.data, "value=\"C.CLUSTERS&lt;\""));
    assert_null(strstr((char *)out.data, "<li><span class=\"name\">c.clusters.csv"));
    bytes_clear(&out);
    page_html(d, &(struct page_view){"C.CLUSTERS", "", ""}, &out);
    template_put(&out, "", 1);
    json_decref(d);
    assert_non_null(strstr((char *)out.data, "<span class=\"name\">c.clusters.csv"));
    assert_null(strstr((char *)out.data, "w.zip"));
    assert_null(strstr((char *)out.data, "f.clusters.csv"));
    assert_non_null(strstr((char *)out.data, "none of that name"));
    assert_null(strstr((char *)out.data, ">and 1")); /* what is left out is what was searched for */
    /* 4 of 5 are queued beside the one that is listed. */
    assert_non_null(strstr((char *)out.data, "none of that name among the first 1<"));
    bytes_free(&out);
}

TEST(page_and_metrics_are_what_the_document_holds)
{
    char *text = made(whole_page, status_document());
    status_document_is(text, LEAT_TREE "/tests/support/status_document.html");
    free(text);
    text = made(page_html_metrics, status_document());
    status_document_is(text, LEAT_TREE "/tests/support/status_document.metrics");
    free(text);
}

/* Of n entries eight are seen at once (of failures four), and fifty at all: it is said how many are
 * folded, and how many of all are left out. */
TEST(long_lists_are_cut_and_say_so)
{
    static const struct {
        const char *list, *total;
        int n, n_all, n_folded, n_left;
    } cases[] = {
        {"in_flight", "n_running", 8, 8, 0, 0},  {"in_flight", "n_running", 9, 9, 1, 0},
        {"waiting", "n_waiting", 50, 51, 42, 1}, {"waiting", "n_waiting", 100, 250, 42, 200},
        {"failed", "n_failed", 4, 5, 0, 1},      {"failed", "n_failed", 20, 20, 16, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char folded[64], left[64];
        json_t *list = json_array();
        for (int k = 0; k < cases[i].n; k++) {
            json_array_append_new(list, json_object());
        }
        char *text = made(whole_page, json_pack("{s:o, s:i}", cases[i].list, list, cases[i].total,
                                                cases[i].n_all));
        snprintf(folded, sizeof(folded), "<summary>%d more</summary>", cases[i].n_folded);
        snprintf(left, sizeof(left), ">and %d more<", cases[i].n_left);
        const bool is_right = (strstr(text, folded) != NULL) == (cases[i].n_folded > 0) &&
                              (strstr(text, "<summary>") != NULL) == (cases[i].n_folded > 0) &&
                              (strstr(text, left) != NULL) == (cases[i].n_left > 0) &&
                              (strstr(text, ">and ") != NULL) == (cases[i].n_left > 0);
        if (!is_right) {
            fail_msg("%s, case %zu:\n%s", cases[i].list, i, text);
        }
        free(text);
    }
}

TEST(labels_are_escaped_and_numbers_whole)
{
    char *text =
        made(page_html_metrics,
             json_pack("{s:b, s:f, s:[{s:s, s:I, s:i, s:I}], s:{s:[{s:f, s:i}], s:i, s:f}}",
                       "ready", 0, "uptime_s", 1.5, "pipelines", "pipeline", "a\"b\\c\nd", "done",
                       (json_int_t)123456789012, "failed", 0, "input_bytes", (json_int_t)1 << 50,
                       "latency", "buckets", "le_s", 0.05, "count", 3, "count", 4, "sum_s", 2.25));
    static const char *const lines[] = {
        "leat_ready 0\n",
        "leat_uptime_seconds 1.5\n",
        "leat_jobs_total{pipeline=\"a\\\"b\\\\c\\nd\",outcome=\"done\"} 123456789012\n",
        "leat_input_bytes_total{pipeline=\"a\\\"b\\\\c\\nd\"} 1.12589990684262e+15\n",
        "# TYPE leat_latency_seconds histogram\n",
        "leat_latency_seconds_bucket{le=\"0.05\"} 3\n",
        "leat_latency_seconds_bucket{le=\"+Inf\"} 4\nleat_latency_seconds_sum 2.25\n"
        "leat_latency_seconds_count 4\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        assert_non_null(strstr(text, lines[i]));
    }
    assert_null(strstr(text, "leat_worker_up"));
    free(text);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
