/*
 * page_metrics - the status document as Prometheus reads it (text format 0.0.4).
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_METRICS_H
#define LEAT_PIPELINE_PAGE_PAGE_METRICS_H

#include "formats/base/bytes.h"

#include <jansson.h>

/* Appends the metrics of a status document (status_text.h). What the document lacks is left
 * out. */
void page_metrics(const json_t *document, struct bytes *out);

#endif
