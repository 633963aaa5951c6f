/*
 * foreign - formats of other programs: which module reads one; of those that leat does not read,
 * the name and what converts it, for messages. Looks at names and first bytes alone.
 *
 * A module that reads some brings the library for them (struct table_format: library, version). It
 * has a line in `modules` of foreign.c, and its formats name it there: for_table, for_grid. Whether
 * a table or a grid is wanted says table_options.for_grid. Its words for the user are options of
 * table_options.h, e.g. `dataset`.
 */
#ifndef LEAT_FORMATS_TABLE_FOREIGN_H
#define LEAT_FORMATS_TABLE_FOREIGN_H

#include "formats/base/module.h"
#include "formats/geo/grid.h"

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct foreign;
struct table_format;

/* Modules, by number; all are listed, also those that this leat was built without. */
enum foreign_module { FOREIGN_NONE, FOREIGN_GDAL, FOREIGN_HDF5, FOREIGN_XLSX, FOREIGN_N_MODULES };
/* "leat-hdf5" */
const char *foreign_module_package(enum foreign_module m);
/* As module_find and module_need. *version is the library's. STATUS_UNSUPPORTED, too, where leat
 * was built without it. */
enum status foreign_module_find(enum foreign_module m,
                                char path[MODULE_PATH_BYTES]) STATUS_MUST_CHECK;
enum status foreign_module_need(enum foreign_module m, const char **version) STATUS_MUST_CHECK;

/* What converts HDF5, as a template of foreign_fail_with. */
extern const char foreign_hdf5_to_npz[];
/* GeoJSON as a GeoPackage in the coordinate system of g, appended to *out; GDAL has been needed. */
enum status foreign_write_geopackage(const struct bytes *geojson, const struct grid *g,
                                     struct bytes *out) STATUS_MUST_CHECK;
/* The reader of grids by GDAL, loaded; NULL: it is not there. */
const struct table_format *foreign_gdal(void);

/* Texts of grids that are known by more than their first bytes. */
extern const struct foreign foreign_comma_grid, foreign_utf16_grid, foreign_xyz_grid,
    foreign_printed;

enum { FOREIGN_HEAD_BYTES = 512 };

/* The format that the name's ending says, in any case, also with .gz .xz .zst .bz2 behind it; NULL:
 * it says none of these, which is so of all that the program reads without a module. */
const struct foreign *foreign_named(const char *path);
/* Whether a module, installed or not, reads what is called so as a table, or as a grid. */
bool foreign_is_read(const char *path, bool for_grid);

/* The format of what begins with head[0 .. n), of which foreign_named() says more where formats
 * begin alike; NULL: none that is known here. Wants FOREIGN_HEAD_BYTES, or all there is. */
const struct foreign *foreign_of(const char *path, const unsigned char *head, size_t n);

/* What reads it, its library loaded. STATUS_UNSUPPORTED: nothing does, or its module is not
 * there; says what converts it, and which package has the module. */
enum status foreign_reader(const struct foreign *f, const char *path, bool for_grid,
                           const struct table_format **out) STATUS_MUST_CHECK;

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
