/*
 * tiff_tags - see tiff_tags.h.
 */
#include "formats/geo/tiff_tags.h"

#include "formats/geo/grid.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS(tag, type, name)                                                                   \
    {                                                                                              \
        tag, TIFF_VARIABLE, TIFF_VARIABLE, type, FIELD_CUSTOM, 1, 1, (char *)(name)                \
    }
#define TEXT(tag, name)                                                                            \
    {                                                                                              \
        tag, TIFF_VARIABLE, TIFF_VARIABLE, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(name)          \
    }

static const TIFFFieldInfo tags[] = {
    NUMBERS(GRID_PIXEL_SCALE, TIFF_DOUBLE, "GeoPixelScale"),
    NUMBERS(GRID_TIEPOINT, TIFF_DOUBLE, "GeoTiePoints"),
    NUMBERS(GRID_TRANSFORMATION, TIFF_DOUBLE, "GeoTransformationMatrix"),
    NUMBERS(GRID_GEO_KEYS, TIFF_SHORT, "GeoKeyDirectory"),
    NUMBERS(GRID_GEO_DOUBLES, TIFF_DOUBLE, "GeoDoubleParams"),
    TEXT(GRID_GEO_ASCII, "GeoASCIIParams"),
    TEXT(TIFF_TAGS_METADATA, "GDALMetadata"),
    TEXT(TIFF_TAGS_NODATA, "GDALNoDataValue"),
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

bool tiff_tags_names_one(const char *text)
{
    bool names = false;
    for (size_t i = 0; i < N_TAGS; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "\"%s\"", tags[i].field_name);
        names = names || (tags[i].field_tag != TIFF_TAGS_METADATA && strstr(text, name) != NULL);
    }
    return names;
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
