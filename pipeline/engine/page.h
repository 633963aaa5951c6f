/*
 * page - report.html, what a result says as a page for a browser, with its figure.
 */
#ifndef LEAT_PIPELINE_ENGINE_PAGE_H
#define LEAT_PIPELINE_ENGINE_PAGE_H

#include "formats/base/bytes.h"

#include <jansson.h>

/* A larger picture would make a page that is slow to open; it is linked. */
enum { PAGE_PICTURE_MOST = 8 << 20 };

/* Appends the page of a result.json, whose pictures lie in `folder`. Text from files is escaped.
 * STATUS_NO_MEMORY, STATUS_IO. */
enum status page_make(const json_t *result, int folder, struct bytes *out) STATUS_MUST_CHECK;

#endif
