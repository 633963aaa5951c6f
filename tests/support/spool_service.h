/*
 * spool_service - a service in small, for the harness: takes what lies in in/, "works" by copying
 * the inputs into the result, and goes on until nothing is left to do.
 */
#ifndef LEAT_TESTS_SPOOL_SERVICE_H
#define LEAT_TESTS_SPOOL_SERVICE_H

#include "watch/spool/spool.h"

struct spool_service_options {
    struct spool_options spool;
    size_t batch; /* jobs at once */
    /* How many of them are claimed, attempted, made durable, and committed to archived together. */
    size_t claims, attempts, durable, ends;
    bool keeps_going; /* does not end when in/ is empty */
};

/* Every file is a job named after the first component of its name; X.dem.* and X.source.* are one.
 * Jobs named "bad", and what is no file, fail; one named "again" is worked on twice. False: the
 * spool could not be opened or recovered. */
bool spool_service_run(const struct spool_service_options *options);

#endif
