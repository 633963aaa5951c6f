/*
 * job_bundle - a result's files in one zip.
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_BUNDLE_H
#define LEAT_PIPELINE_ENGINE_JOB_BUNDLE_H

#include "formats/base/bytes.h"

#include <jansson.h>

struct job_bundle {
    int folder;        /* of the result */
    const char *stem;  /* its name */
    int level;         /* of deflate */
    const int *stop;   /* set: it ends soon */
    struct bytes name; /* of the zip, made: */
    uint64_t bytes;
    uint32_t crc;
};

/* On a lane: puts all files that the manifest names, and a result.json that names them, into
 * NAME.zip. The caller frees the name in any case. */
enum status job_bundle_make(struct job_bundle *to, json_t *manifest) STATUS_MUST_CHECK;

#endif
