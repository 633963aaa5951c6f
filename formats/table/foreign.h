/*
 * foreign - formats that leat does not read, so that a message can call one by its name and say
 * what converts it. Looks at names and first bytes alone.
 */
#ifndef LEAT_FORMATS_TABLE_FOREIGN_H
#define LEAT_FORMATS_TABLE_FOREIGN_H

#include "formats/base/status.h"
#include "formats/geo/grid.h"

#include <stdbool.h>
#include <stddef.h>

struct foreign;

/* Texts of grids that are known by more than their first bytes. */
extern const struct foreign foreign_comma_grid, foreign_utf16_grid, foreign_xyz_grid,
    foreign_printed;

enum { FOREIGN_HEAD_BYTES = 512 };

/* The format that the name's ending says, in any case, also with .gz .xz .zst .bz2 behind it; NULL:
 * it says none of these, which is so of all that leat reads. */
const struct foreign *foreign_named(const char *path);

/* The format of what begins with head[0 .. n), of which foreign_named() says more where formats
 * begin alike; NULL: none that is known here. Wants FOREIGN_HEAD_BYTES, or all there is. */
const struct foreign *foreign_of(const char *path, const unsigned char *head, size_t n);

/* Whether a command makes a grid, a table or an archive of it. */
bool foreign_converts(const struct foreign *f);

/* Whether other files belong to each file of it: the parts of a shapefile or a split archive. */
bool foreign_is_a_part(const struct foreign *f);

/* "is NetCDF, which leat does not read; convert it: gdal_translate x.nc x.tif". The command says
 * `path` as it is where there is such a file here, else its last component. Owned by the caller;
 * NULL: no memory. */
char *foreign_sentence(const struct foreign *f, const char *path, bool for_grid);
/* Fails with `code`, saying so of the file. */
enum status foreign_fail(enum status code, const struct foreign *f, const char *path,
                         bool for_grid) STATUS_MUST_CHECK;
/* Fails with `code`: "x.tif: WHAT: gdal_translate x.tif x.new.tif". The command is a template: the
 * word IN stands for the file, and OUT for its name without its ending. */
enum status foreign_fail_with(enum status code, const char *path, const char *what,
                              const char *command) STATUS_MUST_CHECK;
/* Refuses a grid whose cells without a number are told by a mask, `which`, with the command that
 * writes it into the grid as NODATA, and what to do `first`: "unpack it, then ", or "".
 * STATUS_UNSUPPORTED. */
enum status foreign_refuse_mask(const struct grid *g, const char *path, const char *which,
                                const char *first) STATUS_MUST_CHECK;

#endif
