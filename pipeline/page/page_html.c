/*
 * page_html - see page_html.h. What is shown stands in templates, index.html, folder.html and
 * metrics.txt; here the document gets what it lacks for that.
 */
#include "pipeline/page/page_html.h"

#include "formats/base/file_name.h"
#include "pipeline/names/template.h"
#include "pipeline/names/text.h"
#include "pipeline/status/status_text.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <string.h>

/* Of each list that many, the first of them at once and the others on demand; the numbers beside
 * the headings are of all. */
enum { SHOWN = 50, SHOWN_AT_ONCE = 8, FAILURES_AT_ONCE = 4, CHART_MINUTES = 60 };

TEMPLATE_LINK_IN("page_index", "pipeline/page/index.html");
TEMPLATE_LINK_IN("page_folder", "pipeline/page/folder.html");
TEMPLATE_LINK_IN("page_metrics", "pipeline/page/metrics.txt");
extern const char page_index[], page_folder[], page_metrics[];

/* --- lists ------------------------------------------------------------------------------------ */

/* As status_text_show, and where the list is folded. KEY_among: in how many of `total` the text was
 * looked for, if not in all. */
static void show_list(json_t *d, const char *key, const char *name, const char *search,
                      size_t at_once, json_int_t total)
{
    char among[32];
    json_t *const shown = status_text_show(d, key, name, search, SHOWN, total);
    json_t *const entries = json_object_get(shown, "entries");
    const size_t n = json_array_size(entries), n_all = json_array_size(json_object_get(d, key));
    json_object_set_new(json_array_get(entries, at_once), "fold",
                        json_integer((json_int_t)(n - at_once)));
    json_object_set_new(shown, "is_folded", json_boolean(n > at_once));
    if ((json_int_t)n_all < total) {
        snprintf(among, sizeof(among), "%s_among", key);
        json_object_set_new(d, among, json_integer((json_int_t)n_all));
    }
}

/* What cures a failure of that kind, before it is tried again. */
static const struct cure {
    const char *kind, *text;
    bool is_retried;
} cures[] = {
    {"bad-input", "Fix the file and drop it again.", false},
    {"bad-argument", "Fix the parameter in leat.conf, reload, and try it again:", true},
    {"unsupported", "Convert the file and drop it again.", false},
    {"too-large", "Give the service more memory (memory in leat.conf), and try it again:", true},
    {"no-memory", "Make room in memory, and try it again:", true},
    {"deadline", "Raise deadline in leat.conf if the job is right, and try it again:", true},
    {"device", "Look after the device (leat doctor), and try it again:", true},
    {"crash", "It ended its worker: the log says more. To try it again:", true},
    {"exhausted", "All its attempts were cut off: the log says more. To try it again:", true},
    {"foreign", "It was found in .work, where only leat puts things: drop it into in/.", false},
    {NULL, "To try it again:", true}};

static void complete_failure(json_t *job)
{
    const struct cure *cure = cures;
    while (cure->kind != NULL && strcmp(cure->kind, text_at(job, "kind")) != 0) {
        cure++;
    }
    json_object_set_new(job, "cure", json_string(cure->text));
    json_object_set_new(job, "is_retried", json_boolean(cure->is_retried));
}

/* Its report, or, of an archive, all; of the warnings the first, since the report has all. */
static void complete_result(json_t *job)
{
    const json_t *warnings = json_object_get(job, "warnings");
    const char *report = text_at(job, "report");
    json_object_set_new(job, "index", json_string(strchr(report, '/') == NULL ? report : ""));
    if (json_array_size(warnings) > 0) {
        json_object_set(job, "warning", json_array_get(warnings, 0));
        json_object_set_new(job, "more_warnings",
                            json_integer((json_int_t)json_array_size(warnings) - 1));
    }
}

/* A held job stands among those that are queued, where its button is, and is counted there. */
static void move_held(json_t *d)
{
    json_t *const waiting = json_object_get(d, "waiting"), *job;
    json_int_t n = 0;
    size_t i;
    json_array_foreach(json_object_get(d, "queued"), i, job)
    {
        const bool is_held = json_is_true(json_object_get(job, "held"));
        const char *const name = text_at(job, "name");
        size_t k = is_held ? 0 : json_array_size(waiting);
        while (k < json_array_size(waiting) &&
               strcmp(text_at(json_array_get(waiting, k), "path"), name) != 0) {
            k++;
        }
        n += json_array_remove(waiting, k) == 0;
    }
    json_object_set_new(d, "n_waiting", json_integer(text_count_at(d, "n_waiting") - n));
    json_object_set_new(d, "n_queued", json_integer(text_count_at(d, "n_queued") + n));
}

/* What has become of a job by a form, with its name in the place of its id. */
static json_t *notice_of(const json_t *d, const char *notice)
{
    static const char *const lists[] = {"queued", "failed", "in_flight", "done"};
    size_t i;
    json_t *job;
    for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
        json_array_foreach(json_object_get(d, lists[k]), i, job)
        {
            const char *const id = text_at(job, "id"), *const at = strstr(notice, id);
            if (*id != '\0' && at != NULL) {
                return json_sprintf("%.*s%s%s", (int)(at - notice), notice, text_at(job, "name"),
                                    at + strlen(id));
            }
        }
    }
    return json_string_nocheck(notice);
}

static void complete_all(json_t *list, void (*complete)(json_t *entry))
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        complete(entry);
    }
}

/* --- figures over time ------------------------------------------------------------------------ */

static void complete_minutes(json_t *d)
{
    json_t *minutes = json_object_get(d, "minutes"), *m;
    json_int_t most = 0;
    size_t i;
    json_array_foreach(minutes, i, m)
    {
        const json_int_t n = text_count_at(m, "done") + text_count_at(m, "failed");
        most = n > most ? n : most;
        json_object_set_new(
            m, "x",
            json_integer((json_int_t)(CHART_MINUTES + i) - (json_int_t)json_array_size(minutes)));
    }
    json_object_set_new(d, "most", json_integer(most));
}

/* --- pages ------------------------------------------------------------------------------------ */

void page_html(const json_t *document, const struct page_view *view, struct bytes *out)
{
    const char *search = view->search;
    json_t *d = xalloc_checked(json_deep_copy(document));
    json_object_set_new(d, "search", json_string_nocheck(search));
    json_object_set_new(d, "key", json_string(view->key));
    json_object_set_new(d, "notice", notice_of(d, view->notice));
    json_object_set_new(d, "is_well", json_boolean(status_text_is_ready(d)));
    move_held(d);
    complete_minutes(d);
    status_text_complete(d);
    complete_all(json_object_get(d, "failed"), complete_failure);
    complete_all(json_object_get(d, "done"), complete_result);
    show_list(d, "in_flight", "name", search, SHOWN_AT_ONCE, text_count_at(d, "n_running"));
    /* Places that cannot be looked at are one entry, which is no file. */
    show_list(d, "waiting", "path", search, SHOWN_AT_ONCE,
              text_count_at(d, "n_waiting") + (text_count_at(d, "n_troubles") > 0));
    show_list(d, "queued", "name", search, SHOWN_AT_ONCE, text_count_at(d, "n_queued"));
    show_list(d, "failed", "name", search, FAILURES_AT_ONCE, text_count_at(d, "n_failed"));
    show_list(d, "done", "result", search, SHOWN, 0);
    template_fill(page_index, TEMPLATE_HTML, d, out);
}

void page_html_trouble(const char *text, struct bytes *out)
{
    template_fill(page_index, TEMPLATE_HTML, json_pack("{s:o}", "trouble", text_json(text)), out);
}

/* What its busy time has stands in the worker itself. */
static void complete_worker(json_t *worker)
{
    const char *const state = text_at(worker, "state");
    json_t *const busy = json_object_get(worker, "busy"), *lane;
    size_t i;
    json_object_set_new(worker, "is_up", json_boolean(strcmp(state, "ready") == 0));
    json_array_foreach(json_object_get(busy, "lanes"), i, lane)
    {
        json_object_set(lane, "name", json_object_get(worker, "name"));
    }
    json_object_update(worker, busy);
}

void page_html_metrics(const json_t *document, struct bytes *out)
{
    json_t *d = xalloc_checked(json_deep_copy(document));
    json_object_set_new(d, "is_well", json_boolean(status_text_is_ready(d)));
    json_object_set_new(d, "is_paused", json_boolean(strcmp(text_at(d, "state"), "paused") == 0));
    complete_all(json_object_get(d, "workers"), complete_worker);
    template_fill(page_metrics, TEMPLATE_METRICS, d, out);
}

/* --- folders ---------------------------------------------------------------------------------- */

json_t *page_html_entry(const char *name, bool is_folder, uint64_t bytes, time_t changed)
{
    const bool is_picture = !is_folder && file_name_ends_in(name, strlen(name), ".png .svg");
    char text[32];
    struct tm t;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&changed, &t));
    /* A name is bytes. */
    return json_pack("{s:o, s:b, s:b, s:I, s:s}", "name", json_string_nocheck(name), "is_folder",
                     is_folder, "is_picture", is_picture, "bytes", (json_int_t)bytes, "changed",
                     text);
}

void page_html_folder(const char *path, const char *search, json_t *entries, size_t n_more,
                      struct bytes *out)
{
    struct bytes up = {0};
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++) {
        template_put(&up, "../", 3);
    }
    template_put(&up, "", 1);
    json_t *d = json_pack("{s:o, s:o, s:o, s:o, s:I}", "path", json_string_nocheck(path), "search",
                          json_string_nocheck(search), "up", json_string((char *)up.data),
                          "entries", entries, "n_more", (json_int_t)n_more);
    bytes_free(&up);
    template_fill(page_folder, TEMPLATE_HTML, d, out);
}
