/*
 * sciddicat_relief - what the picture of a landslide shows, cell by cell: terrain as shaded relief,
 * debris, and where it was.
 *
 * Only the rectangle that holds cells with numbers is shown, and of one that is too large for the
 * picture the part around the debris: by half of its length, on each side. What is still too
 * large is reduced by a whole factor: altitudes are averaged, the thickest debris counts. The first
 * row is the northernmost, also if that is the grid's last one.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_RELIEF_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_RELIEF_H

#include "stages/sciddicat/sciddicat_job.h"

enum { RELIEF_SIDE = 1600 }; /* cells along a side at most */

/* Whether a cell was ever covered, or from the start. */
enum relief_covered { RELIEF_NEVER, RELIEF_LATER, RELIEF_START };

struct sciddicat_relief {
    size_t width, height; /* 1 to RELIEF_SIDE */
    size_t factor;        /* the grid's cells along a side of one */
    size_t row, column;   /* of the grid: the first of those shown */
    bool is_part;         /* the grid has numbers outside of what is shown */
    float *altitude;      /* NaN: NODATA */
    float *debris;        /* thickness at the end (m) */
    float *shade;         /* light from the north-west, 45 degrees high: 0 dark, 1 full */
    uint8_t *covered;     /* enum relief_covered */
};

/* Bytes at most for a grid of that shape. */
size_t sciddicat_relief_bytes(size_t rows, size_t columns);
enum status sciddicat_relief_new(const struct sciddicat_job *job,
                                 struct sciddicat_relief *out) STATUS_MUST_CHECK;
void sciddicat_relief_free(struct sciddicat_relief *relief);

#endif
