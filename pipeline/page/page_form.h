/*
 * page_form - what a page's buttons ask for: a form that is posted to "/".
 *
 *   key   of this process, which our pages have in their forms, and those of other sites cannot
 * read do    "hold", "release", "delete" or "retry" job   the ID of a job
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_FORM_H
#define LEAT_PIPELINE_PAGE_PAGE_FORM_H

#include "pipeline/page/http_calls.h"

#include <stdbool.h>

enum { PAGE_KEY_BYTES = 33 };

/* A random one. */
void page_form_make_key(char key[PAGE_KEY_BYTES]);

/* Whether the two are equal: in the same time for all texts of one length. */
bool page_form_is_secret(const char *text, const char *secret);

/* A form that is on its way. NULL: the request holds none that can be read. */
struct page_form *page_form_new(struct MHD_Connection *connection);
void page_form_free(struct page_form *form);
/* Takes a piece of it. */
void page_form_take(struct page_form *form, const char *data, size_t n);
/* Once it is whole: whether it has the key. */
bool page_form_has_key(const struct page_form *form, const char *key);
/* What the service is told, {"do": ..., "job": ...}, which judges it; for free(). NULL: nothing
 * that can be told. */
char *page_form_ask(const struct page_form *form);

#endif
