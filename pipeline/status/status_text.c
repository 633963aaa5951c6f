/*
 * status_text - see status_text.h. What is printed stands in templates, status.txt and failed.txt;
 * here the document gets what it lacks for that.
 */
#include "pipeline/status/status_text.h"

#include "pipeline/names/template.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <string.h>

/* Of each list that many lines; the document (--json) has more. */
enum { SHOWN = 8 };

TEMPLATE_LINK_IN("status_page", "pipeline/status/status.txt");
TEMPLATE_LINK_IN("status_failed", "pipeline/status/failed.txt");
extern const char status_page[], status_failed[];

json_t *status_text_show(json_t *d, const char *key, const char *name, const char *search,
                         size_t most, json_int_t total)
{
    json_t *const entries = json_array(), *entry, *list = NULL;
    char shown[32];
    size_t i, n = 0;
    json_array_foreach(json_object_get(d, key), i, entry)
    {
        if (n < most && strcasestr(text_at(entry, name), search) != NULL) {
            json_array_append(entries, entry);
            n++;
        }
    }
    total = total > (json_int_t)i ? total : (json_int_t)i;
    const json_int_t left = *search == '\0' ? total - (json_int_t)n : 0;
    if (n > 0 || left > 0) {
        list = json_pack("{s:O, s:I}", "entries", entries, "n_left", left);
        snprintf(shown, sizeof(shown), "%s_shown", key);
        json_object_set_new(d, shown, list);
    }
    json_decref(entries);
    return list;
}

static void complete_job(json_t *job)
{
    const json_int_t attempt = text_count_at(job, "attempt");
    const bool in_steps = text_count_at(job, "total_steps") > 0;
    const double done = (double)text_count_at(job, in_steps ? "steps" : "bytes"),
                 all = (double)text_count_at(job, in_steps ? "total_steps" : "total_bytes");
    json_object_set_new(job, "again", json_integer(attempt > 1 ? attempt : 0));
    if (in_steps && done > 0) {
        const double for_s = json_number_value(json_object_get(job, "for_s"));
        json_object_set_new(job, "left_s", json_real(for_s / done * (all - done)));
    }
    if (all > 0) {
        json_object_set_new(job, "percent",
                            json_sprintf("%.0f", done < all ? 100 * done / all : 100));
    }
}

void status_text_complete(json_t *d)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(d, "in_flight"), i, job)
    {
        complete_job(job);
    }
}

/* What stands before the first ones of a list, and blanks before the others. */
static void show_labelled(json_t *d, const char *key, const char *label)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(status_text_show(d, key, "", "", SHOWN, 0), "entries"), i,
                       entry)
    {
        json_object_set_new(entry, "label", json_sprintf("%-10s", i == 0 ? label : ""));
    }
}

static json_t *sum_is_some(const json_t *o, const char *a, const char *b, const char *c)
{
    return json_boolean(text_count_at(o, a) + text_count_at(o, b) + text_count_at(o, c) > 0);
}

/* Of the last jobs that are done those with warnings, the last one first, a line a sentence. */
static json_t *list_warnings(const json_t *done)
{
    size_t i, k;
    json_t *list = json_array(), *job, *text;
    json_array_foreach(done, i, job)
    {
        json_array_foreach(json_object_get(job, "warnings"), k, text)
        {
            json_array_append_new(
                list, json_pack("{s:O*, s:O}", "name", json_object_get(job, "name"), "text", text));
        }
    }
    return list;
}

void status_text_print_failed(FILE *out, const json_t *failed, size_t most, size_t total,
                              const char *spool)
{
    json_t *const d = json_pack("{s:O*, s:O*, s:o}", "failed", failed, "last",
                                json_array_get(failed, 0), "spool", json_string_nocheck(spool));
    status_text_show(d, "failed", "", "", most, (json_int_t)total);
    template_print(out, status_failed, d);
}

void status_text_print(FILE *out, const json_t *document)
{
    json_t *const d = xalloc_checked(json_deep_copy(document));
    json_t *const hooks = json_object_get(d, "hooks"), *const removed =
                                                           json_object_get(d, "removed");
    const json_t *failed = json_object_get(document, "failed");
    status_text_complete(d);
    show_labelled(d, "workers", "workers");
    show_labelled(d, "in_flight", "at work");
    /* Places that cannot be looked at are one entry, which is no file. */
    status_text_show(d, "waiting", "", "", SHOWN,
                     text_count_at(d, "n_waiting") + (text_count_at(d, "n_troubles") > 0));
    json_object_set_new(hooks, "are_used", sum_is_some(hooks, "run", "waiting", "dropped"));
    json_object_set_new(removed, "are_some", sum_is_some(removed, "inputs", "jobs", ""));
    json_object_set_new(d, "warnings", list_warnings(json_object_get(d, "done")));
    status_text_show(d, "warnings", "", "", SHOWN, 0);
    template_print(out, status_page, d);
    if (json_array_size(failed) > 0) {
        fputs("Last failures\n", out);
        status_text_print_failed(out, failed, SHOWN, (size_t)text_count_at(document, "n_failed"),
                                 text_at(document, "spool"));
    }
}

bool status_text_is_ready(const json_t *document)
{
    return json_is_true(json_object_get(document, "ready")) &&
           strcmp(text_at(document, "state"), "running") == 0;
}
