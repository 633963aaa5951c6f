/*
 * interpolate_pieces - the cubics between the nodes of a curve.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_PIECES_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_PIECES_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Doubles of scratch memory a node. */
enum { INTERPOLATE_PIECES_ROOM = 4 };

/* Of n nodes in ascending order, finite as their whole length is: the pieces of struct
 * interpolate_cells, double [n][6], with the slopes of SciPy's CubicSpline (not-a-knot) or
 * PchipInterpolator. `room`: [INTERPOLATE_PIECES_ROOM n]. STATUS_BAD_INPUT: the curve is steeper
 * than a double holds. */
enum status interpolate_pieces(bool is_spline, size_t n, const double *x, const double *y,
                               double *room, double *piece) STATUS_MUST_CHECK;

#endif
