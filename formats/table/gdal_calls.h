/*
 * gdal_calls - GDAL, which is loaded when a file is met that it reads: it brings a hundred other
 * libraries. Set up so that it has no threads of its own, and none of its file systems of the
 * network.
 */
#ifndef LEAT_FORMATS_TABLE_GDAL_CALLS_H
#define LEAT_FORMATS_TABLE_GDAL_CALLS_H

#include "formats/base/module.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <gdal_utils.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

#define GDAL_CALLS(CALL)                                                                           \
    CALL(CPL, DestroyXMLNode)                                                                      \
    CALL(CPL, GetErrorHandlerUserData)                                                             \
    CALL(CPL, ParseXMLString)                                                                      \
    CALL(CPL, PopErrorHandler)                                                                     \
    CALL(CPL, PushErrorHandlerEx)                                                                  \
    CALL(CPL, SerializeXMLTree)                                                                    \
    CALL(CPL, SetConfigOption)                                                                     \
    CALL(CPL, SetErrorHandler)                                                                     \
    CALL(CPL, SetThreadLocalConfigOption)                                                          \
    CALL(CPL, UnescapeString)                                                                      \
    CALL(CSL, Destroy)                                                                             \
    CALL(CSL, FetchNameValue)                                                                      \
    CALL(GDAL, AllRegister)                                                                        \
    CALL(GDAL, Close)                                                                              \
    CALL(GDAL, Create)                                                                             \
    CALL(GDAL, DatasetGetLayer)                                                                    \
    CALL(GDAL, DatasetGetLayerByName)                                                              \
    CALL(GDAL, DatasetGetLayerCount)                                                               \
    CALL(GDAL, GetBlockSize)                                                                       \
    CALL(GDAL, GetDataTypeSizeBytes)                                                               \
    CALL(GDAL, GetDatasetDriver)                                                                   \
    CALL(GDAL, GetDriverByName)                                                                    \
    CALL(GDAL, GetGeoTransform)                                                                    \
    CALL(GDAL, GetMaskBand)                                                                        \
    CALL(GDAL, GetMaskFlags)                                                                       \
    CALL(GDAL, GetMetadata)                                                                        \
    CALL(GDAL, GetMetadataItem)                                                                    \
    CALL(GDAL, GetRasterBand)                                                                      \
    CALL(GDAL, GetRasterColorInterpretation)                                                       \
    CALL(GDAL, GetRasterCount)                                                                     \
    CALL(GDAL, GetRasterDataType)                                                                  \
    CALL(GDAL, GetRasterNoDataValue)                                                               \
    CALL(GDAL, GetRasterNoDataValueAsInt64)                                                        \
    CALL(GDAL, GetRasterNoDataValueAsUInt64)                                                       \
    CALL(GDAL, GetRasterOffset)                                                                    \
    CALL(GDAL, GetRasterScale)                                                                     \
    CALL(GDAL, GetRasterUnitType)                                                                  \
    CALL(GDAL, GetRasterXSize)                                                                     \
    CALL(GDAL, GetRasterYSize)                                                                     \
    CALL(GDAL, GetSpatialRef)                                                                      \
    CALL(GDAL, IdentifyDriverEx)                                                                   \
    CALL(GDAL, OpenEx)                                                                             \
    CALL(GDAL, RasterIO)                                                                           \
    CALL(GDAL, SetCacheMax64)                                                                      \
    CALL(GDAL, SetGeoTransform)                                                                    \
    CALL(GDAL, SetMetadataItem)                                                                    \
    CALL(GDAL, SetSpatialRef)                                                                      \
    CALL(GDAL, VectorTranslate)                                                                    \
    CALL(GDAL, VectorTranslateOptionsFree)                                                         \
    CALL(GDAL, VectorTranslateOptionsNew)                                                          \
    CALL(GDAL, VersionInfo)                                                                        \
    CALL(OGR_, F_Destroy)                                                                          \
    CALL(OGR_, F_GetFID)                                                                           \
    CALL(OGR_, F_GetFieldAsDouble)                                                                 \
    CALL(OGR_, F_IsFieldSetAndNotNull)                                                             \
    CALL(OGR_, F_StealGeometry)                                                                    \
    CALL(OGR_, FD_GetFieldDefn)                                                                    \
    CALL(OGR_, FD_GetFieldIndex)                                                                   \
    CALL(OGR_, Fld_GetType)                                                                        \
    CALL(OGR_, G_DestroyGeometry)                                                                  \
    CALL(OGR_, G_ForceToMultiPolygon)                                                              \
    CALL(OGR_, G_GetGeometryCount)                                                                 \
    CALL(OGR_, G_GetGeometryName)                                                                  \
    CALL(OGR_, G_GetGeometryRef)                                                                   \
    CALL(OGR_, G_GetPoint)                                                                         \
    CALL(OGR_, G_GetPointCount)                                                                    \
    CALL(OGR_, L_GetExtent)                                                                        \
    CALL(OGR_, L_GetGeomType)                                                                      \
    CALL(OGR_, L_GetLayerDefn)                                                                     \
    CALL(OGR_, L_GetName)                                                                          \
    CALL(OGR_, L_GetNextFeature)                                                                   \
    CALL(OGR_, L_GetSpatialRef)                                                                    \
    CALL(OGR_, L_ResetReading)                                                                     \
    CALL(OSR, ExportToWkt)                                                                         \
    CALL(O, SRGetName)                                                                             \
    CALL(OSR, ImportFromEPSG)                                                                      \
    CALL(OSR, ImportFromESRI)                                                                      \
    CALL(OSR, IsGeographic)                                                                        \
    CALL(OSR, IsSameEx)                                                                            \
    CALL(OSR, NewSpatialReference)                                                                 \
    CALL(OSR, Release)                                                                             \
    CALL(OSR, SetAxisMappingStrategy)                                                              \
    CALL(OCT, DestroyCoordinateTransformation)                                                     \
    CALL(OCT, NewCoordinateTransformation)                                                         \
    CALL(OCT, Transform)                                                                           \
    CALL(VSI, AllocFilesystemPluginCallbacksStruct)                                                \
    CALL(VSI, FCloseL)                                                                             \
    CALL(VSI, FileFromMemBuffer)                                                                   \
    CALL(VSI, Free)                                                                                \
    CALL(VSI, GetFileSystemsPrefixes)                                                              \
    CALL(VSI, GetMemFileBuffer)                                                                    \
    CALL(VSI, InstallPluginHandler)                                                                \
    CALL(VSI, Unlink)                                                                              \
    CALL(, GDALGetDriverShortName)

struct gdal_calls {
    GDAL_CALLS(MODULE_MEMBER)
};

/* After gdal_set_up, which is to be called once gdal_library is loaded. Any thread. */
extern struct gdal_calls gdal;
extern struct module_library gdal_library;
void gdal_set_up(void);

/* What GDAL says while it is called by this thread, between begin and end: its first error. */
struct gdal_words {
    CPLErrorNum code; /* CPLE_None: nothing */
    char text[400];
    bool is_stopped;            /* a database was asked for more than gdal_begin lets it do */
    struct gdal_words *outside; /* of this thread, from before */
};
/* A view of a database may work without end: a recursive one is not read, and SQLite ends with an
 * error what takes it 2^28 steps since gdal_begin or gdal_go_on. */
void gdal_begin(struct gdal_words *words);
void gdal_go_on(void);
void gdal_end(void);
/* The status for a call that failed: `what` is a file's name and place. STATUS_BAD_INPUT,
 * STATUS_NO_MEMORY. */
enum status gdal_fail(const struct gdal_words *words, const char *format, ...) STATUS_MUST_CHECK
    __attribute__((format(printf, 2, 3)));

/* Memory for blocks, which GDAL keeps in common for all files: so much more, or less. */
void gdal_add_cache(long long bytes);

#endif
