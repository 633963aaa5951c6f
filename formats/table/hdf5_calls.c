/*
 * hdf5_calls - see hdf5_calls.h. HDF5 reads by a driver of ours (a virtual file driver, H5FD),
 * which has the one file: so neither external links nor virtual datasets open another.
 */
#include "formats/table/hdf5_calls.h"

#include "formats/base/excerpt.h"
#include "formats/base/io_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {HDF5_CALLS(MODULE_NAME) NULL};

struct hdf5_calls h5;
struct module_library hdf5_library = {
    .module = {.name = "HDF5", .file = "leat_hdf5.so", .missing = STATUS_UNSUPPORTED},
    .names = names,
    .calls = &h5};

/* --- the driver ------------------------------------------------------------------------------- */

struct file {
    H5FD_t base;
    const struct source *source;
    haddr_t end;
};

/* What this thread is opening; taken by the driver once. */
static _Thread_local const struct source *opening;

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    struct file *const f = opening != NULL ? calloc(1, sizeof *f) : NULL;
    (void)name;
    (void)flags;
    (void)access;
    (void)most;
    if (f != NULL) {
        f->source = opening;
        opening = NULL;
    }
    return (H5FD_t *)f;
}

static herr_t close_file(H5FD_t *f)
{
    free(f);
    return 0;
}

static haddr_t get_end(const H5FD_t *f, H5FD_mem_t type)
{
    (void)type;
    return ((const struct file *)f)->end;
}

static herr_t set_end(H5FD_t *f, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((struct file *)f)->end = end;
    return 0;
}

static haddr_t get_length(const H5FD_t *f, H5FD_mem_t type)
{
    (void)type;
    return source_file_bytes(((const struct file *)f)->source);
}

/* Beyond the file's end there are zeros, as with HDF5's own drivers. */
static herr_t read_file(H5FD_t *f, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n, void *dst)
{
    int error;
    (void)type;
    (void)transfer;
    if (at > INT64_MAX) {
        return -1;
    }
    const size_t got =
        io_watch_pread_all(source_fd(((const struct file *)f)->source), dst, n, at, &error);
    memset((char *)dst + got, 0, n - got);
    return error == 0 ? 0 : -1;
}

static herr_t refuse_write(H5FD_t *f, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n,
                           const void *src)
{
    (void)f;
    (void)type;
    (void)transfer;
    (void)at;
    (void)n;
    (void)src;
    return -1;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION /* since 1.14 */
    .version = H5FD_CLASS_VERSION,
    .value = H5_VFD_RESERVED,
#endif
    .name = "leat",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = open_file,
    .close = close_file,
    .get_eoa = get_end,
    .set_eoa = set_end,
    .get_eof = get_length,
    .read = read_file,
    .write = refuse_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY};

static hid_t driver = H5I_INVALID_HID;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Before any other call. */
static void begin(void)
{
    (void)h5.dont_atexit(); /* threads may be within it then */
    driver = h5.open() >= 0 ? h5.FDregister(&driver_class) : H5I_INVALID_HID;
}

const char *hdf5_version(void)
{
    static char text[40];
    unsigned major = 0, minor = 0, release = 0;
    (void)pthread_once(&once, begin);
    (void)h5.get_libversion(&major, &minor, &release);
    (void)snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}

enum { READ_ONLY = 0 }; /* H5F_ACC_RDONLY, whose macro calls the library */

enum status hdf5_open_file(const struct source *s, hid_t *out)
{
    hbool_t is_safe = false;
    (void)pthread_once(&once, begin);
    hdf5_be_quiet();
    if (h5.is_library_threadsafe(&is_safe) < 0 || !is_safe) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: this build of HDF5 (%s) is not for several threads", source_name(s),
                           hdf5_version());
    }
    const hid_t access = h5.Pcreate(*h5.P_CLS_FILE_ACCESS_ID_g);
    opening = s;
    const bool is_set = access >= 0 && h5.Pset_driver(access, driver, NULL) >= 0 &&
                        h5.Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0;
    *out = is_set ? h5.Fopen("leat", READ_ONLY, access) : H5I_INVALID_HID;
    const enum status status = *out < 0 ? hdf5_fail(s, "it cannot be opened as HDF5") : STATUS_OK;
    opening = NULL;
    hdf5_drop(access);
    return status;
}

H5D_layout_t hdf5_layout(hid_t dataset)
{
    const hid_t plist = h5.Dget_create_plist(dataset);
    const H5D_layout_t layout = plist < 0                            ? H5D_LAYOUT_ERROR
                                : h5.Pget_external_count(plist) != 0 ? H5D_VIRTUAL
                                                                     : h5.Pget_layout(plist);
    hdf5_drop(plist);
    return layout;
}

void hdf5_drop(hid_t id)
{
    if (id >= 0) {
        (void)h5.Idec_ref(id);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

void hdf5_be_quiet(void)
{
    (void)h5.Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* The first one is where it was found. */
static herr_t take_error(unsigned n, const H5E_error2_t *error, void *user)
{
    const char **const first = user;
    if (n == 0 && error->desc != NULL) {
        *first = error->desc;
    }
    return 0;
}

enum status hdf5_fail(const struct source *s, const char *format, ...)
{
    char what[STATUS_MESSAGE_BYTES];
    const char *why = "no reason";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)h5.Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_error, &why);
    return status_fail(STATUS_BAD_INPUT, "%s: %s: HDF5 says: %s", source_name(s), what,
                       excerpt_of(why, strlen(why)).text);
}
