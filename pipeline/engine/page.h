/*
 * page - report.html, what a result says as a page for a browser, beside its figure.
 */
#ifndef LEAT_PIPELINE_ENGINE_PAGE_H
#define LEAT_PIPELINE_ENGINE_PAGE_H

#include "formats/base/bytes.h"

#include <jansson.h>

/* Appends the page of a result.json. Text from files is escaped. STATUS_NO_MEMORY. */
enum status page_make(const json_t *result, struct bytes *out) STATUS_MUST_CHECK;

#endif
