/*
 * manifest - result.json: what was computed from what, with what, how well, and how fast.
 */
#ifndef LEAT_PIPELINE_ENGINE_MANIFEST_H
#define LEAT_PIPELINE_ENGINE_MANIFEST_H

#include "pipeline/engine/memory.h"

#include <jansson.h>

/* A job that has computed all. */
struct manifest_of {
    const struct job_input *input;
    struct job_tasks *tasks;
    const struct place *place;
    const struct reading *reading;
    const struct memory *memory;
    const struct result *result; /* the last one */
    bool is_check;               /* nothing was computed */
    uint64_t started_ns;
};

/* A new reference in *out; no outputs are in it yet. */
enum status manifest_make(const struct manifest_of *job, json_t **out) STATUS_MUST_CHECK;
/* Adds a file to its list of outputs. */
void manifest_add_output(json_t *manifest, const char *name, uint64_t bytes, uint32_t crc);
/* Has it name as output the file of that name alone, in which those are that were named before, and
 * tell the time until now. */
void manifest_set_bundle(const struct manifest_of *job, json_t *manifest, const char *name,
                         uint64_t bytes, uint32_t crc);
/* Whether it does so. */
bool manifest_is_bundled(const json_t *manifest);
/* What of it every run of the job tells: no times, memory, inodes, processor; a new reference. */
json_t *manifest_lasting(json_t *manifest);
/* The text of a file, for free(). */
char *manifest_text(const json_t *manifest);
/* How it writes some things; new references, NULL when there is no memory: for the next call. */
json_t *manifest_time(struct timespec t);
json_t *manifest_crc(uint32_t crc);
json_t *manifest_prj_crc(const char *prj);
/* Every parameter as it was asked for, and what the readers are told. */
json_t *manifest_asked(const struct job_settings *settings);
/* What a manifest says was asked for by that key; borrowed, NULL: nothing. */
const json_t *manifest_recorded(const json_t *manifest, const char *key);

#endif
