/*
 * hdf5_calls - HDF5, which is loaded when such a file is opened.
 *
 * It has one lock for all its calls, which GDAL's own of the same library take, too; another build
 * of it is refused.
 */
#ifndef LEAT_FORMATS_TABLE_HDF5_CALLS_H
#define LEAT_FORMATS_TABLE_HDF5_CALLS_H

#include "formats/base/module.h"
#include "formats/source/source.h"

#define H5_USE_110_API /* what later versions keep of 1.10 */
#include <hdf5.h>

#define HDF5_CALLS(CALL)                                                                           \
    CALL(H5, dont_atexit)                                                                          \
    CALL(H5, free_memory)                                                                          \
    CALL(H5, get_libversion)                                                                       \
    CALL(H5, is_library_threadsafe)                                                                \
    CALL(H5, open)                                                                                 \
    CALL(H5, Aexists)                                                                              \
    CALL(H5, Aget_space)                                                                           \
    CALL(H5, Aget_type)                                                                            \
    CALL(H5, Aopen)                                                                                \
    CALL(H5, Aread)                                                                                \
    CALL(H5, Dget_chunk_info_by_coord)                                                             \
    CALL(H5, Dget_create_plist)                                                                    \
    CALL(H5, Dget_offset)                                                                          \
    CALL(H5, Dget_space)                                                                           \
    CALL(H5, Dget_storage_size)                                                                    \
    CALL(H5, Dget_type)                                                                            \
    CALL(H5, Dopen2)                                                                               \
    CALL(H5, Dread)                                                                                \
    CALL(H5, Dread_chunk)                                                                          \
    CALL(H5, Eset_auto2)                                                                           \
    CALL(H5, Ewalk2)                                                                               \
    CALL(H5, FDregister)                                                                           \
    CALL(H5, Fopen)                                                                                \
    CALL(H5, Idec_ref)                                                                             \
    CALL(H5, Iget_type)                                                                            \
    CALL(H5, Literate)                                                                             \
    CALL(H5, Oopen)                                                                                \
    CALL(H5, P_CLS_FILE_ACCESS_ID_g)                                                               \
    CALL(H5, Pcreate)                                                                              \
    CALL(H5, Pfill_value_defined)                                                                  \
    CALL(H5, Pget_chunk)                                                                           \
    CALL(H5, Pget_chunk_opts)                                                                      \
    CALL(H5, Pget_external_count)                                                                  \
    CALL(H5, Pget_fill_value)                                                                      \
    CALL(H5, Pget_filter2)                                                                         \
    CALL(H5, Pget_layout)                                                                          \
    CALL(H5, Pget_nfilters)                                                                        \
    CALL(H5, Pset_driver)                                                                          \
    CALL(H5, Pset_fclose_degree)                                                                   \
    CALL(H5, Sget_simple_extent_dims)                                                              \
    CALL(H5, Sget_simple_extent_ndims)                                                             \
    CALL(H5, Sget_simple_extent_npoints)                                                           \
    CALL(H5, T_NATIVE_DOUBLE_g)                                                                    \
    CALL(H5, Tget_array_dims2)                                                                     \
    CALL(H5, Tget_array_ndims)                                                                     \
    CALL(H5, Tget_class)                                                                           \
    CALL(H5, Tget_fields)                                                                          \
    CALL(H5, Tget_member_name)                                                                     \
    CALL(H5, Tget_member_offset)                                                                   \
    CALL(H5, Tget_member_type)                                                                     \
    CALL(H5, Tget_nmembers)                                                                        \
    CALL(H5, Tget_order)                                                                           \
    CALL(H5, Tget_precision)                                                                       \
    CALL(H5, Tget_sign)                                                                            \
    CALL(H5, Tget_size)                                                                            \
    CALL(H5, Tget_super)                                                                           \
    CALL(H5, Tis_variable_str)

struct hdf5_calls {
    HDF5_CALLS(MODULE_MEMBER)
};

/* Once `hdf5_library` is loaded. */
extern struct hdf5_calls h5;
extern struct module_library hdf5_library;
const char *hdf5_version(void);

/* Opens the source's file, which is borrowed, for reading through its descriptor; whatever the file
 * says, no other is opened. `*out` closes all that is opened of it. STATUS_BAD_INPUT, _UNSUPPORTED
 * (the library's build). */
enum status hdf5_open_file(const struct source *s, hid_t *out) STATUS_MUST_CHECK;

/* How a dataset is stored: H5D_VIRTUAL, whatever way its numbers lie in other files;
 * H5D_LAYOUT_ERROR. */
H5D_layout_t hdf5_layout(hid_t dataset);
/* *alone: nothing in the file names another one, as far as it can be walked. The library is loaded
 * already. STATUS_BAD_INPUT, _UNSUPPORTED, _NO_MEMORY. */
enum status hdf5_is_alone(const struct source *s, bool *alone) STATUS_MUST_CHECK;

/* Closes what an id stands for, whatever that is; a negative one is none. */
void hdf5_drop(hid_t id);

/* This thread's errors are told to nobody but hdf5_fail. */
void hdf5_be_quiet(void);
/* STATUS_BAD_INPUT: "FILE: WHAT: " and what HDF5 has said of the call that failed last. */
enum status hdf5_fail(const struct source *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
