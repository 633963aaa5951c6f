/*
 * counted_backend - the backend under test, counting what is allocated on it; an allocation can be
 * made to fail. counted_open and counted_close are a test's setup and teardown.
 */
#ifndef LEAT_TESTS_COUNTED_BACKEND_H
#define LEAT_TESTS_COUNTED_BACKEND_H

#include "stages/stage.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static struct {
    const struct backend_ops *real;
    struct backend_ops ops;
    struct backend *backend;
    struct queue *queue;
    size_t live, live_bytes, peak_bytes, allocs;
    size_t fail_at; /* the allocation that fails, from 1; 0: none */
} counted;

static inline enum status counted_alloc(struct queue *q, size_t bytes, struct span *out)
{
    counted.allocs++;
    if (counted.allocs == counted.fail_at) {
        *out = (struct span){0};
        return status_fail(STATUS_NO_MEMORY, "no %zu bytes, for a test", bytes);
    }
    const enum status st = counted.real->alloc(q, bytes, out);
    if (st == STATUS_OK) {
        counted.live++;
        counted.live_bytes += out->bytes;
        if (counted.live_bytes > counted.peak_bytes) {
            counted.peak_bytes = counted.live_bytes;
        }
    }
    return st;
}

static inline void counted_release(struct queue *q, struct span s)
{
    counted.live -= s.at != NULL; /* {NULL, 0} is no span, and may be given back */
    counted.live_bytes -= s.bytes;
    counted.real->release(q, s);
}

static inline int counted_open(void **state)
{
    (void)state;
    counted.queue = under_test_queue;
    counted.backend = under_test_queue->backend;
    counted.real = counted.backend->ops;
    counted.ops = *counted.real;
    counted.ops.alloc = counted_alloc;
    counted.ops.release = counted_release;
    counted.backend->ops = &counted.ops;
    return 0;
}

static inline int counted_close(void **state)
{
    (void)state;
    counted.backend->ops = counted.real;
    return counted.live == 0 ? 0 : -1;
}

enum { MOST_SPECS = 32 }; /* of a stage */

/* The values of a stage's parameters, at most MOST_SPECS: "key=value" each, NULL at the end;
 * defaults for the others. */
static inline void parse_params(const struct stage_ops *stage, const char *const *texts,
                                struct param_value *values)
{
    size_t found = 0, given = 0;
    assert_in_range(stage->n_specs, 0, MOST_SPECS);
    for (size_t k = 0; k < stage->n_specs; k++) {
        const struct param_spec *spec = &stage->specs[k];
        const size_t length = strlen(spec->key);
        const char *text = spec->text;
        for (const char *const *t = texts; *t != NULL; t++) {
            if (strncmp(*t, spec->key, length) == 0 && (*t)[length] == '=') {
                text = *t + length + 1;
                found++;
            }
        }
        assert_int_equal(stage_parse_param(spec, text, &values[k]), STATUS_OK);
    }
    while (texts[given] != NULL) {
        given++;
    }
    assert_int_equal(found, given);
}

#endif
