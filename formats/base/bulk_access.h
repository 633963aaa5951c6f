/*
 * bulk_access - functions that go through text byte by byte, and the thread sanitizer.
 *
 * It looks at each access, which in these functions takes most of a test's time. They are left out
 * (BULK_ACCESS), and say what they have read or written as a whole: the same races are found. In
 * other builds nothing of this is there.
 */
#ifndef LEAT_FORMATS_BASE_BULK_ACCESS_H
#define LEAT_FORMATS_BASE_BULK_ACCESS_H

#include <stddef.h>

#ifdef __SANITIZE_THREAD__
#ifdef __cplusplus
extern "C" {
#endif
void __tsan_read_range(void *p, long n_bytes);
void __tsan_write_range(void *p, long n_bytes);
#ifdef __cplusplus
}
#endif
#define BULK_ACCESS              __attribute__((no_sanitize_thread))
#define BULK_READ(p, n_bytes)    __tsan_read_range((void *)(p), (long)(n_bytes))
#define BULK_WRITTEN(p, n_bytes) __tsan_write_range((void *)(p), (long)(n_bytes))
#else
#define BULK_ACCESS
#define BULK_READ(p, n_bytes)    ((void)(p), (void)(n_bytes))
#define BULK_WRITTEN(p, n_bytes) ((void)(p), (void)(n_bytes))
#endif

#endif
