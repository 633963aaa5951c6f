/*
 * service_given - the inside of a service: its settings, lists and inbox, and what a test adds.
 */
#ifndef LEAT_TESTS_SERVICE_GIVEN_H
#define LEAT_TESTS_SERVICE_GIVEN_H

#include "pipeline/service/service_state.h"
#include "tests/support/settings_given.h"

static struct service service;

/* `line`: of `leat watch`. */
static inline void begin_service(const char *line)
{
    struct service *s = &service;
    *s = (struct service){.settings = malloc(sizeof(*s->settings))};
    assert_non_null(s->settings);
    *s->settings = must_parse(line);
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        TAILQ_INIT(&s->lists[i]);
    }
    s->inbox = service_inbox_new(s->settings);
}

static inline void end_service(void)
{
    struct service *s = &service;
    service_jobs_free(s);
    service_status_free(s);
    service_inbox_free(s->inbox);
    settings_free(s->settings);
    free(s->settings);
}

#endif
