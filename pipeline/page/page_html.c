/*
 * page_html - see page_html.h. Each section is a function of what it shows; the script replaces
 * those that have changed (page.js), by their ids.
 */
#include "pipeline/page/page_html.h"

#include "formats/base/excerpt.h"
#include "pipeline/names/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of each list that many, the first of them at once and the others on demand; the numbers beside
 * the headings are of all. */
enum { SHOWN = 50, SHOWN_AT_ONCE = 8, FAILURES_AT_ONCE = 4, CHART_MINUTES = 60 };

struct writer {
    struct bytes *out;
    enum status code;
    const char *spool; /* of the document */
};

/* --- text ------------------------------------------------------------------------------------- */

static void put(struct writer *w, const char *text)
{
    bytes_put(w->out, text, strlen(text), &w->code);
}

static void put_escaped(struct writer *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *instead = text[i] == '<'    ? "&lt;"
                              : text[i] == '>'  ? "&gt;"
                              : text[i] == '&'  ? "&amp;"
                              : text[i] == '"'  ? "&quot;"
                              : text[i] == '\'' ? "&#39;"
                                                : NULL;
        if (instead != NULL) {
            put(w, instead);
        } else {
            bytes_put(w->out, text + i, 1, &w->code);
        }
    }
}

static void put_text(struct writer *w, const char *text)
{
    char shown[4];
    while (*text != '\0') {
        const size_t n = excerpt_escape_next(shown, &text);
        put_escaped(w, shown, n);
    }
}

enum status page_html_text(const char *text, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    put_text(&w, text);
    return w.code;
}

static void put_path(struct writer *w, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";
    for (; *path != '\0' && w->code == STATUS_OK; path++) {
        if (strchr(plain, *path) != NULL) {
            bytes_put(w->out, path, 1, &w->code);
        } else {
            w->code = bytes_printf(w->out, "%%%02X", (unsigned char)*path);
        }
    }
}

enum status page_html_path(const char *path, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    put_path(&w, path);
    return w.code;
}

static void put_count(struct writer *w, json_int_t n)
{
    if (w->code == STATUS_OK) {
        w->code = bytes_printf(w->out, "%lld", (long long)n);
    }
}

static void put_duration(struct writer *w, double seconds)
{
    char text[TEXT_NUMBER_BYTES];
    put(w, text_duration(text, seconds));
}

static void put_size(struct writer *w, double bytes)
{
    char text[TEXT_NUMBER_BYTES];
    put(w, text_size(text, bytes > 0 ? (uint64_t)bytes : 0));
}

static json_int_t count_at(const json_t *o, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(o, key));
    return n > 0 ? n : 0;
}

static double number_at(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* <TAG class="CLASS">escaped text</TAG> */
static void put_in(struct writer *w, const char *tag, const char *class, const char *text)
{
    put(w, "<");
    put(w, tag);
    put(w, " class=\"");
    put(w, class);
    put(w, "\">");
    put_text(w, text);
    put(w, "</");
    put(w, tag);
    put(w, ">");
}

/* --- frames ----------------------------------------------------------------------------------- */

/* `up`: the way to the page's own files. */
static void put_head(struct writer *w, const char *title, const char *up, bool refreshes)
{
    put(w, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_text(w, title);
    put(w, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"");
    put(w, up);
    put(w, "page.css\">\n");
    if (refreshes) {
        put(w, "<script src=\"page.js\" defer></script>\n"
               "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n");
    }
    put(w, "</head>\n<body>\n");
}

static void put_end(struct writer *w)
{
    put(w, "</body>\n</html>\n");
}

/* Begins a section; n < 0: its heading has no number. */
static void begin_section(struct writer *w, const char *id, const char *heading, json_int_t n)
{
    put(w, "<section id=\"");
    put(w, id);
    put(w, "\">\n<h2>");
    put(w, heading);
    if (n >= 0) {
        put(w, " <span class=\"count\">");
        put_count(w, n);
        put(w, "</span>");
    }
    put(w, "</h2>\n");
}

/* Of what is not shown; n <= 0: nothing is. */
static void put_number_left_out(struct writer *w, json_int_t n)
{
    if (n > 0) {
        put(w, "<p class=\"note\">and ");
        put_count(w, n);
        put(w, " more</p>\n");
    }
}

/* Ends it; of `total` things it shows `shown`. */
static void end_section(struct writer *w, size_t shown, json_int_t total)
{
    put_number_left_out(w, total - (json_int_t)shown);
    put(w, "</section>\n");
}

/* --- the state -------------------------------------------------------------------------------- */

static void put_state(struct writer *w, const json_t *d)
{
    const bool ready = json_is_true(json_object_get(d, "ready"));
    const char *state = text_at(d, "state");
    const bool is_well = ready && strcmp(state, "running") == 0;
    put(w, "<header id=\"state\">\n<h1>leat</h1>\n<p class=\"state ");
    put(w, is_well ? "well\">" : "ill\">");
    put_text(w, state);
    put(w, ready ? ", ready" : ", not ready");
    put(w, "</p>\n");
    if (*text_at(d, "why") != '\0') {
        put_in(w, "p", "why", text_at(d, "why"));
        put(w, "\n");
    }
    put(w, "<p class=\"about\">version ");
    put_text(w, text_at(d, "leat"));
    put(w, ", up for ");
    put_duration(w, number_at(d, "uptime_s"));
    put(w, ", watches ");
    put_in(w, "span", "path", text_at(d, "spool"));
    if (*text_at(d, "leases") != '\0') {
        put(w, "; ");
        put_text(w, text_at(d, "leases"));
    }
    put(w, "</p>\n</header>\n");
}

/* --- figures over time ------------------------------------------------------------------------ */

static void put_figure(struct writer *w, const char *name, double value, const char *unit)
{
    char text[32];
    snprintf(text, sizeof(text), value >= 100 || value == 0 ? "%.0f" : "%.3g", value);
    put(w, "<div><dt>");
    put(w, name);
    put(w, "</dt><dd>");
    put(w, text);
    put(w, unit);
    put(w, "</dd></div>\n");
}

static double most_of(const json_t *minutes)
{
    double most = 0;
    size_t i;
    json_t *m;
    json_array_foreach(minutes, i, m)
    {
        const double n = number_at(m, "done") + number_at(m, "failed");
        most = n > most ? n : most;
    }
    return most;
}

/* A bar a minute: what is done stands on what has failed. */
static void put_bar(struct writer *w, size_t at, const json_t *m, double most)
{
    const double failed = 60 * number_at(m, "failed") / most,
                 done = 60 * number_at(m, "done") / most;
    if (w->code == STATUS_OK && done > 0) {
        w->code = bytes_printf(
            w->out, "<rect class=\"done\" x=\"%zu\" y=\"%.2f\" width=\"8\" height=\"%.2f\"/>",
            10 * at, 60 - failed - done, done);
    }
    if (w->code == STATUS_OK && failed > 0) {
        w->code = bytes_printf(
            w->out, "<rect class=\"failed\" x=\"%zu\" y=\"%.2f\" width=\"8\" height=\"%.2f\"/>",
            10 * at, 60 - failed, failed);
    }
}

static void put_chart(struct writer *w, const json_t *minutes)
{
    const size_t n = json_array_size(minutes);
    const double most = most_of(minutes);
    char text[128];
    if (n == 0 || most <= 0) {
        return;
    }
    snprintf(text, sizeof(text), "Jobs a minute in the last hour, %.0f at most", most);
    put(w, "<figure><svg viewBox=\"0 0 600 61\" preserveAspectRatio=\"none\" role=\"img\" "
           "aria-label=\"");
    put(w, text);
    put(w, "\"><line class=\"axis\" x1=\"0\" y1=\"60.5\" x2=\"600\" y2=\"60.5\"/>");
    for (size_t i = n > CHART_MINUTES ? n - CHART_MINUTES : 0; i < n; i++) {
        put_bar(w, CHART_MINUTES - (n - i), json_array_get(minutes, i), most);
    }
    put(w, "</svg><figcaption>");
    put(w, text);
    put(w, "; now is on the right</figcaption></figure>\n");
}

static void put_rates(struct writer *w, const json_t *d)
{
    const json_t *rates = json_object_get(d, "rates"), *totals = json_object_get(d, "totals");
    begin_section(w, "rates", "Rates", -1);
    put(w, "<dl class=\"figures\">\n");
    put_figure(w, "jobs/s, last minute", number_at(rates, "jobs_per_s_1min"), "");
    put_figure(w, "jobs/s, 15 minutes", number_at(rates, "jobs_per_s_15min"), "");
    put_figure(w, "input, last minute", number_at(rates, "bytes_per_s_1min") / (1 << 20), " MiB/s");
    put_figure(w, "done", number_at(totals, "done"), "");
    put_figure(w, "failed", number_at(totals, "failed"), "");
    put_figure(w, "queued", number_at(d, "n_queued"), "");
    put(w, "</dl>\n");
    put_chart(w, json_object_get(d, "minutes"));
    end_section(w, 0, 0);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void put_progress(struct writer *w, const json_t *job)
{
    const double total = number_at(job, "total_bytes"), bytes = number_at(job, "bytes");
    const double share = total > 0 && bytes > 0 ? (bytes < total ? bytes / total : 1) : 0;
    if (w->code == STATUS_OK) {
        w->code = bytes_printf(
            w->out, "<progress max=\"100\" value=\"%.0f\" aria-label=\"read\">%.0f %%</progress>",
            100 * share, 100 * share);
    }
}

/* An entry of a list of class jobs begins with its name; `more` is what is said of it. */
static void begin_entry(struct writer *w, const char *name)
{
    put(w, "<li>");
    put_in(w, "span", "name", name);
}

static void begin_more(struct writer *w)
{
    put(w, "<span class=\"more\">");
}

static void end_entry(struct writer *w)
{
    put(w, "</span></li>\n");
}

static void put_job(struct writer *w, const json_t *job)
{
    begin_entry(w, text_at(job, "name"));
    put_progress(w, job);
    begin_more(w);
    put_text(w, text_at(job, "pipeline"));
    put(w, " at ");
    put_text(w, text_at(job, "worker"));
    put(w, ", ");
    put_size(w, number_at(job, "bytes"));
    put(w, " of ");
    put_size(w, number_at(job, "total_bytes"));
    put(w, " read, for ");
    put_duration(w, number_at(job, "for_s"));
    if (count_at(job, "attempt") > 1) {
        put(w, ", attempt ");
        put_count(w, count_at(job, "attempt"));
    }
    if (*text_at(job, "waits_for") != '\0') {
        put(w, ", waits for ");
        put_text(w, text_at(job, "waits_for"));
    }
    end_entry(w);
}

static void put_waiting(struct writer *w, const json_t *job)
{
    begin_entry(w, text_at(job, "path"));
    begin_more(w);
    put_text(w, text_at(job, "reason"));
    put(w, ", for ");
    put_duration(w, number_at(job, "since_s"));
    end_entry(w);
}

/* What mends a failure of that kind, before it is tried again. */
static const char *mending(const char *kind)
{
    static const struct {
        const char *kind, *text;
    } words[] = {
        {"bad-input", "Mend the file and drop it again."},
        {"bad-argument", "Mend the parameter in leat.conf, reload, and try it again:"},
        {"unsupported", "Convert the file and drop it again."},
        {"too-large", "Give the service more memory (memory in leat.conf), and try it again:"},
        {"no-memory", "Make room in memory, and try it again:"},
        {"deadline", "Raise deadline in leat.conf if the job is right, and try it again:"},
        {"device", "Look after the device (leat doctor), and try it again:"},
        {"crash", "It ended its worker: the log says more. To try it again:"},
        {"exhausted", "All its attempts were cut off: the log says more. To try it again:"},
        {"foreign", "It was found in .work, where only leat puts things: drop it into in/."},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(kind, words[i].kind) == 0) {
            return words[i].text;
        }
    }
    return "To try it again:";
}

static void put_failure(struct writer *w, const json_t *job)
{
    const char *text = mending(text_at(job, "kind"));
    begin_entry(w, text_at(job, "name"));
    put_in(w, "span", "kind", text_at(job, "kind"));
    put_in(w, "p", "why", text_at(job, "text"));
    put_in(w, "p", "mend", text);
    if (text[strlen(text) - 1] == ':') {
        put(w, "<pre>leat retry --spool ");
        put_text(w, w->spool);
        put(w, " ");
        put_text(w, text_at(job, "id"));
        put(w, "</pre>");
    }
    put(w, "<p class=\"more\"><a href=\"failed/");
    put_path(w, text_at(job, "id"));
    put(w, "/reason.json\">reason.json</a> ");
    put_text(w, text_at(job, "ended"));
    put(w, "</p></li>\n");
}

/* The address of a file of a result. */
static void put_address(struct writer *w, const json_t *job, const char *name)
{
    put(w, "results/");
    put_path(w, text_at(job, "result"));
    put(w, "/");
    put_path(w, name);
}

/* The first; its report has all. */
static void put_warnings(struct writer *w, const json_t *warnings)
{
    const char *first = json_string_value(json_array_get(warnings, 0));
    const size_t n = json_array_size(warnings);
    if (first != NULL) {
        put_in(w, "p", "warning", first);
    }
    if (first != NULL && n > 1) {
        put(w, "<p class=\"note\">and ");
        put_count(w, (json_int_t)n - 1);
        put(w, n > 2 ? " more warnings</p>" : " more warning</p>");
    }
}

static void put_result(struct writer *w, const json_t *job)
{
    const char *picture = text_at(job, "picture"), *report = text_at(job, "report");
    put(w, "<li>");
    put(w, "<a class=\"whole\" href=\"");
    put_address(w, job, strchr(report, '/') == NULL ? report : ""); /* of an archive: all */
    put(w, "\">");
    if (*picture != '\0') { /* the job's number is in it, since a result may be replaced */
        put(w, "<img alt=\"\" src=\"");
        put_address(w, job, picture);
        put(w, "?");
        put_path(w, text_at(job, "id"));
        put(w, "\">");
    }
    put_in(w, "span", "name", text_at(job, "result"));
    put(w, "</a><p class=\"more\">");
    put_text(w, text_at(job, "pipeline"));
    put(w, ", ");
    put_duration(w, number_at(job, "seconds"));
    put(w, ", <a href=\"");
    put_address(w, job, "");
    put(w, "\">files</a></p>");
    put_warnings(w, json_object_get(job, "warnings"));
    put(w, "</li>\n");
}

static void put_worker(struct writer *w, const json_t *worker)
{
    begin_entry(w, text_at(worker, "name"));
    begin_more(w);
    put_text(w, text_at(worker, "state"));
    if (*text_at(worker, "device") != '\0') {
        put(w, ", ");
        put_text(w, text_at(worker, "device"));
    }
    if (count_at(worker, "deaths") > 0) {
        put(w, ", deaths: ");
        put_count(w, count_at(worker, "deaths"));
    }
    if (*text_at(worker, "why") != '\0') {
        put(w, ": ");
        put_text(w, text_at(worker, "why"));
    }
    end_entry(w);
}

/* A list, of whose entries `at_once` are seen at once; `nothing` stands in its place when it is
 * empty. Returns how many there are. */
static size_t put_list(struct writer *w, const char *class, const json_t *list, size_t at_once,
                       const char *nothing, void (*entry)(struct writer *, const json_t *))
{
    const size_t n = json_array_size(list) < SHOWN ? json_array_size(list) : SHOWN;
    if (n == 0) {
        put_in(w, "p", "note", nothing);
        put(w, "\n");
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (i == at_once) {
            put(w, "</ul>\n<details><summary>");
            put_count(w, (json_int_t)(n - at_once));
            put(w, " more</summary>\n");
        }
        if (i == 0 || i == at_once) {
            put(w, "<ul class=\"");
            put(w, class);
            put(w, "\">\n");
        }
        entry(w, json_array_get(list, i));
    }
    put(w, n > at_once ? "</ul>\n</details>\n" : "</ul>\n");
    return n;
}

enum status page_html(const json_t *d, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK, .spool = text_at(d, "spool")};
    const json_t *list = json_object_get(d, "in_flight");
    char title[128];
    snprintf(title, sizeof(title), "leat: %.40s, %lld at work", text_at(d, "state"),
             (long long)count_at(d, "n_running"));
    put_head(&w, title, "", true);
    put_state(&w, d);
    put(&w, "<main>\n");
    put_rates(&w, d);
    begin_section(&w, "work", "At work", count_at(d, "n_running"));
    size_t n = put_list(&w, "jobs", list, SHOWN_AT_ONCE, "nothing", put_job);
    end_section(&w, n, count_at(d, "n_running"));
    list = json_object_get(d, "waiting");
    begin_section(&w, "waiting", "Waiting", count_at(d, "n_waiting"));
    n = put_list(&w, "jobs", list, SHOWN_AT_ONCE, "nothing", put_waiting);
    /* Places that cannot be looked at are one entry, which is no file. */
    end_section(&w, n, count_at(d, "n_waiting") + (count_at(d, "n_troubles") > 0));
    list = json_object_get(d, "failed");
    begin_section(&w, "failures", "Failures", count_at(d, "n_failed"));
    n = put_list(&w, "failures", list, FAILURES_AT_ONCE, "none", put_failure);
    end_section(&w, n, count_at(d, "n_failed"));
    begin_section(&w, "results", "Last results", -1);
    put_list(&w, "results", json_object_get(d, "done"), SHOWN, "none yet", put_result);
    put(&w, "<p class=\"more\"><a href=\"results/\">All results</a></p>\n");
    end_section(&w, 0, 0);
    begin_section(&w, "workers", "Workers", -1);
    put_list(&w, "jobs", json_object_get(d, "workers"), SHOWN, "none", put_worker);
    end_section(&w, 0, 0);
    put(&w,
        "</main>\n<footer><a href=\"metrics\">metrics</a> <a href=\"healthz\">health</a></footer>"
        "\n");
    put_end(&w);
    return w.code;
}

enum status page_html_trouble(const char *title, const char *text, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    put_head(&w, title, "", false);
    put(&w, "<main>\n<h1>");
    put_text(&w, title);
    put(&w, "</h1>\n");
    put_in(&w, "p", "why", text);
    put(&w, "\n</main>\n");
    put_end(&w);
    return w.code;
}

/* --- folders ---------------------------------------------------------------------------------- */

enum status page_html_begin_list(const char *path, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    char *up = NULL;
    size_t n_up = 0;
    FILE *to = open_memstream(&up, &n_up);
    for (const char *at = path; to != NULL && (at = strchr(at, '/')) != NULL; at++) {
        fputs("../", to);
    }
    if (to == NULL || fclose(to) != 0) {
        free(up);
        return status_fail(STATUS_NO_MEMORY, "no memory for a page");
    }
    put_head(&w, path, up, false);
    put(&w, "<header><h1>");
    put_text(&w, path);
    put(&w, "</h1>\n<p class=\"about\"><a href=\"");
    put(&w, up);
    put(&w, "\">the service</a> <a href=\"../\">one folder up</a></p></header>\n<main>\n<ul "
            "class=\"jobs\">\n");
    free(up);
    return w.code;
}

enum status page_html_entry(const char *name, bool is_folder, uint64_t bytes, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    put(&w, "<li><a href=\"./");
    put_path(&w, name);
    put(&w, is_folder ? "/\">" : "\">");
    put_text(&w, name);
    put(&w, is_folder ? "/</a>" : "</a> <span class=\"more\">");
    if (!is_folder) {
        put_size(&w, (double)bytes);
        put(&w, "</span>");
    }
    put(&w, "</li>\n");
    return w.code;
}

enum status page_html_end_list(size_t n_more, struct bytes *out)
{
    struct writer w = {.out = out, .code = STATUS_OK};
    put(&w, "</ul>\n");
    put_number_left_out(&w, (json_int_t)n_more);
    put(&w, "</main>\n");
    put_end(&w);
    return w.code;
}
