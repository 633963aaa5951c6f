/*
 * gdal_calls - see gdal_calls.h.
 */
#include "formats/table/gdal_calls.h"

#include "formats/base/excerpt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define LOOK_FOR_LEAKS(on) ((on) ? __lsan_enable() : __lsan_disable())
#else
#define LOOK_FOR_LEAKS(on) ((void)0)
#endif

static const char *const names[] = {GDAL_CALLS(MODULE_NAME) NULL};

struct gdal_calls gdal;
struct module_library gdal_library = {
    .module = {.name = "GDAL", .file = "leat_gdal.so", .missing = STATUS_UNSUPPORTED},
    .names = names,
    .calls = &gdal};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static long long cache_bytes = 1 << 20; /* for what is read before a file's share is known */

static void CPL_STDCALL say_nothing(CPLErr class, CPLErrorNum code, const char *text)
{
    (void)class;
    (void)code;
    (void)text;
}

static void *open_nothing(void *user, const char *name, const char *access)
{
    (void)user;
    (void)name;
    (void)access;
    return NULL;
}

/* Of GDAL's own file systems those stay that are of memory and of files. */
static void shut_network(void)
{
    static const char stay[] = "/vsimem/ /vsizip/ /vsigzip/ /vsitar/ /vsisubfile/ /vsisparse/";
    char **const prefixes = gdal.GetFileSystemsPrefixes();
    VSIFilesystemPluginCallbacksStruct *const none = gdal.AllocFilesystemPluginCallbacksStruct();
    none->open = open_nothing;
    for (char **p = prefixes; p != NULL && *p != NULL; p++) {
        if (strstr(stay, *p) == NULL) {
            (void)gdal.InstallPluginHandler(*p, none);
        }
    }
    (void)gdal.InstallPluginHandler("/vsicurl?", none); /* which is not listed */
    gdal.Destroy(prefixes);
}

/* --- SQLite, which GDAL brings for GeoPackages ------------------------------------------------ */

/* sqlite3.h has these numbers for good. */
enum { SQLITE_DENY = 1, SQLITE_RECURSIVE = 33, STEPS = 1 << 20, MOST_STEPS = 1 << 28 };
struct sqlite3;
typedef int authorizer(void *user, int action, const char *, const char *, const char *,
                       const char *);
static int (*set_authorizer)(struct sqlite3 *, authorizer *, void *user);
static void (*progress_handler)(struct sqlite3 *, int steps, int (*)(void *), void *user);
static _Thread_local struct gdal_words *words_now;
static _Thread_local int n_steps;

static int stop(const char *why)
{
    if (words_now != NULL && !words_now->is_stopped) {
        words_now->is_stopped = true;
        (void)snprintf(words_now->text, sizeof words_now->text, "%s", why);
    }
    return SQLITE_DENY;
}

static int refuse_recursion(void *user, int action, const char *a, const char *b, const char *c,
                            const char *d)
{
    (void)user, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_RECURSIVE ? stop("a view of its database is recursive, and may have no "
                                             "end")
                                      : 0;
}

static int count_steps(void *user)
{
    (void)user;
    n_steps += n_steps < MOST_STEPS ? STEPS : 0;
    return n_steps >= MOST_STEPS ? stop("a view of its database takes too long") : 0;
}

static int guard(struct sqlite3 *db, char **error, const void *calls)
{
    (void)error, (void)calls;
    (void)set_authorizer(db, refuse_recursion, NULL);
    progress_handler(db, STEPS, count_steps, NULL);
    return 0;
}

static void find(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

/* Every database that is opened from now on is guarded. */
static void guard_databases(void)
{
    void *const library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_NOLOAD);
    int (*extend)(int (*)(struct sqlite3 *, char **, const void *)) = NULL;
    if (library != NULL) {
        find(library, "sqlite3_set_authorizer", &set_authorizer);
        find(library, "sqlite3_progress_handler", &progress_handler);
        find(library, "sqlite3_auto_extension", &extend);
    }
    if (extend != NULL && set_authorizer != NULL && progress_handler != NULL) {
        (void)extend(guard);
    }
}

static void set_up(void)
{
    static const char *const options[][2] = {
        {"GDAL_DRIVER_PATH", "disable"}, /* plugins */
        {"GDAL_NUM_THREADS", "1"},
        {"GDAL_ERROR_ON_LIBJPEG_WARNING", "YES"}, /* which is of damage */
        {"GDAL_VRT_ENABLE_PYTHON", "NO"},
        {"VRT_SHARED_SOURCE", "0"}, /* each thread has files of its own */
        {"RAW_CHECK_FILE_SIZE", "YES"},
        {"OGR_GEOJSON_MAX_OBJ_SIZE", "512"}, /* MB that a feature takes: gdal_polygons counts it */
        {"GDAL_SKIP", "HTTP WMS WCS WMTS DAAS EEDAI NGW OGCAPI PLMOSAIC PLSCENES PostGISRaster "
                      "STACTA STACIT Rasterlite CAD PDF DERIVED CALS"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        gdal.SetConfigOption(options[i][0], options[i][1]);
    }
    (void)gdal.SetErrorHandler(say_nothing);
    LOOK_FOR_LEAKS(false); /* GDAL frees no file system that is replaced */
    gdal.AllRegister();
    shut_network();
    guard_databases();
    LOOK_FOR_LEAKS(true);
    gdal.SetCacheMax64(cache_bytes);
}

void gdal_set_up(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_up);
}

/* Warnings are of no interest, but for those of JPEG in a TIFF, which are of damage. */
static void CPL_STDCALL keep(CPLErr class, CPLErrorNum code, const char *text)
{
    struct gdal_words *const words = gdal.GetErrorHandlerUserData();
    const bool counts =
        class >= CE_Failure || (class == CE_Warning && strncmp(text, "JPEGLib", 7) == 0);
    if (counts && words->text[0] == '\0') {
        words->code = code;
        (void)snprintf(words->text, sizeof words->text, "%s", text);
    }
}

void gdal_begin(struct gdal_words *words)
{
    words->code = CPLE_None;
    words->text[0] = '\0';
    words->is_stopped = false;
    words->outside = words_now;
    words_now = words;
    gdal_go_on();
    gdal.PushErrorHandlerEx(keep, words);
}

void gdal_go_on(void)
{
    n_steps = 0;
}

void gdal_end(void)
{
    words_now = words_now->outside;
    gdal.PopErrorHandler();
}

enum status gdal_fail(const struct gdal_words *words, const char *format, ...)
{
    char what[STATUS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return status_fail(words->code == CPLE_OutOfMemory ? STATUS_NO_MEMORY : STATUS_BAD_INPUT,
                       "%s%s%s", what,
                       words->is_stopped        ? ": "
                       : words->text[0] != '\0' ? ": GDAL says: "
                                                : "",
                       excerpt_of(words->text, strlen(words->text)).text);
}

void gdal_add_cache(long long bytes)
{
    pthread_mutex_lock(&cache_lock);
    cache_bytes += bytes;
    gdal.SetCacheMax64(cache_bytes);
    pthread_mutex_unlock(&cache_lock);
}
