/*
 * pearson_heatmap - the matrix as a picture: heatmap.png.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_HEATMAP_H
#define LEAT_STAGES_PEARSON_PEARSON_HEATMAP_H

#include "formats/result/result.h"

struct pearson_job;

/* Adds the picture; it is drawn and encoded when its piece is asked for. */
enum status pearson_heatmap(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
