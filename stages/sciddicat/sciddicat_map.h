/*
 * sciddicat_map - map.png: shaded relief, the debris over it, its scales.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_MAP_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_MAP_H

#include "stages/sciddicat/sciddicat_job.h"

/* Host memory that drawing takes, at most, for a grid of that shape. */
size_t sciddicat_map_bytes(size_t rows, size_t columns);

/* Adds map.png; it is drawn when its piece is asked for. The run is over. */
enum status sciddicat_map(struct sciddicat_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
