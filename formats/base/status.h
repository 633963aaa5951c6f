/*
 * status - how a function says that it failed, and why.
 *
 * Every function that can fail returns an `enum status`. The place that detects an error describes
 * it once with status_fail(); callers pass the code up. The description is kept per thread: whoever
 * moves an error to another thread copies it with status_message() at the end of the failing call.
 */
#ifndef LEAT_FORMATS_BASE_STATUS_H
#define LEAT_FORMATS_BASE_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* code, short name (used in result.json and --json), meaning */
#define STATUS_LIST(X)                                                                             \
    X(STATUS_OK, "ok", "success")                                                                  \
    X(STATUS_BAD_INPUT, "bad-input", "the input's content is not valid")                           \
    X(STATUS_BAD_ARGUMENT, "bad-argument", "an option or parameter is not valid")                  \
    X(STATUS_NOT_FOUND, "not-found", "something named does not exist")                             \
    X(STATUS_UNSUPPORTED, "unsupported", "valid, but not something leat can do")                   \
    X(STATUS_TOO_LARGE, "too-large", "does not fit the memory bound")                              \
    X(STATUS_NO_MEMORY, "no-memory", "the system has no memory left")                              \
    X(STATUS_NO_SPACE, "no-space", "no space or quota left on the output file system")             \
    X(STATUS_CHANGED, "changed", "the input changed while it was being read")                      \
    X(STATUS_IO, "io", "the system could not read or write")                                       \
    X(STATUS_EXISTS, "exists", "a result of that name is already there")                           \
    X(STATUS_SKIPPED, "skipped", "the result is already there and matches")                        \
    X(STATUS_NO_BACKEND, "no-backend", "the backend asked for is not available")                   \
    X(STATUS_DEVICE, "device", "the device reported an error")                                     \
    X(STATUS_CANCELLED, "cancelled", "stopped on request")                                         \
    X(STATUS_DEADLINE, "deadline", "took longer than its deadline")                                \
    X(STATUS_START_OVER, "start-over", "the inputs are wanted once more, from the beginning")      \
    X(STATUS_INTERNAL, "internal", "a fault in leat itself")

enum status {
#define X(code, name, text) code,
    STATUS_LIST(X)
#undef X
};

#define STATUS_MUST_CHECK __attribute__((warn_unused_result))

/* Leaves the function with the status of a call that failed. */
#define STATUS_TRY(...)                                                                            \
    do {                                                                                           \
        const enum status status_ = (__VA_ARGS__);                                                 \
        if (status_ != STATUS_OK) {                                                                \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

/* The longest description kept, with its final NUL. */
enum { STATUS_MESSAGE_BYTES = 1024 };

/* Describes a failure for this thread and returns `code`. The text says what, where (file, line,
 * column or byte offset) and what to do; no newline, no capital, no final stop. Bytes below 0x20 in
 * it are shown as \xNN. */
enum status status_fail(enum status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with the arguments as a list. */
enum status status_vfail(enum status code, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* As status_fail with ": " and strerror(error) added; ENOSPC and EDQUOT give STATUS_NO_SPACE,
 * ENOMEM STATUS_NO_MEMORY, ENOENT STATUS_NOT_FOUND, EEXIST STATUS_EXISTS, others STATUS_IO. */
enum status status_fail_errno(int error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces this thread's description by one moved from another thread; returns `code`. */
enum status status_set(enum status code, const char *message);

/* This thread's last description; "" before the first. Valid until this thread fails again. */
const char *status_message(void);

/* The short name ("bad-input") and the meaning of a code. Never NULL. */
const char *status_name(enum status code);
const char *status_text(enum status code);

#ifdef __cplusplus
}
#endif

#endif
