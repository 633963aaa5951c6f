/*
 * tiff_tags - see tiff_tags.h.
 */
#include "formats/geo/tiff_tags.h"

#include "formats/geo/grid.h"

#include <pthread.h>

enum { ANY_COUNT = TIFF_VARIABLE2 }; /* any number of values, which is told */

static const TIFFFieldInfo tags[] = {
    {GRID_PIXEL_SCALE, ANY_COUNT, ANY_COUNT, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
     (char *)"GeoTIFF Scale"},
    {GRID_TIEPOINT, ANY_COUNT, ANY_COUNT, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
     (char *)"GeoTIFF Tiepoint"},
    {GRID_TRANSFORMATION, ANY_COUNT, ANY_COUNT, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
     (char *)"GeoTIFF Transformation"},
    {GRID_GEO_KEYS, ANY_COUNT, ANY_COUNT, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)"GeoTIFF Keys"},
    {GRID_GEO_DOUBLES, ANY_COUNT, ANY_COUNT, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
     (char *)"GeoTIFF Doubles"},
    {GRID_GEO_ASCII, ANY_COUNT, ANY_COUNT, TIFF_ASCII, FIELD_CUSTOM, 1, 1, (char *)"GeoTIFF Text"},
    {TIFF_TAGS_METADATA, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)"GDAL_METADATA"},
    {TIFF_TAGS_NODATA, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)"GeoTIFF NODATA"},
};
enum { N_TAGS = sizeof tags / sizeof tags[0] };

static TIFFExtendProc before;

static void add(TIFF *tif)
{
    (void)TIFFMergeFieldInfo(tif, tags, N_TAGS);
    if (before != NULL) {
        before(tif);
    }
}

static void install(void)
{
    before = TIFFSetTagExtender(add);
}

void tiff_tags_know(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install);
}

bool tiff_tags_are_known(TIFF *tif)
{
    const TIFFField *const last = TIFFFindField(tif, TIFF_TAGS_NODATA, TIFF_ANY);
    return last != NULL && !TIFFFieldPassCount(last); /* else it is as libtiff makes it up */
}

bool tiff_tags_is_number(unsigned tag)
{
    for (size_t i = 0; i < N_TAGS; i++) {
        if (tags[i].field_tag == tag) {
            return tags[i].field_type != TIFF_ASCII;
        }
    }
    return false;
}
