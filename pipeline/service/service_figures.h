/*
 * service_figures - what the service counts: jobs and their bytes, in all, by pipeline, and over
 * the last minute and hour; how long they took from drop to result; busy time; pauses by cause.
 *
 * Knows nothing of the service's jobs and lists. All counts are since the start.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_FIGURES_H
#define LEAT_PIPELINE_SERVICE_SERVICE_FIGURES_H

#include "pipeline/engine/engine.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FIGURES_PIPELINES = 16, /* as many as there may be, with "archive" and "other" */
    FIGURES_BUCKETS = 12,   /* of the latency; one more is for what takes longer */
    FIGURES_MINUTES = 60    /* and as many seconds of the last minute */
};

/* Why the service pauses. */
enum figures_cause {
    FIGURES_SPACE,  /* none on a disk, or a quota is used up */
    FIGURES_MEMORY, /* none */
    FIGURES_MOUNT,  /* require_mount asks for what is not there */
    FIGURES_OTHER,  /* a folder that is gone, an error of a disk */
    FIGURES_CAUSES
};

/* What the jobs of a worker have used, each job by itself: with several at once their sum grows
 * faster than time. In the order of worker_pack_busy. */
struct figures_busy {
    uint64_t ns[ENGINE_LANES + 4];
};

/* Jobs of a minute, or a second, since the start: those of a ring that are old are not counted. */
struct figures_count {
    uint64_t at, done, failed, input_bytes;
};

/* Zeroed at the start. */
struct service_figures {
    size_t n_done, n_failed, n_requeued;
    uint64_t input_bytes;
    struct {
        uint64_t done, failed, input_bytes;
    } pipelines[FIGURES_PIPELINES];
    uint64_t latency[FIGURES_BUCKETS + 1];
    double latency_s;
    uint64_t pauses[FIGURES_CAUSES], paused_ms;
    bool is_paused; /* when it was looked at last, at: */
    uint64_t looked_ms;
    struct figures_count minutes[FIGURES_MINUTES], seconds[FIGURES_MINUTES];
};

/* A job has ended. `pipeline` is what its parameters name, NULL for an archive. latency_s: from its
 * drop to its result; negative: not known. `second`: since the start. */
void service_figures_done(struct service_figures *f, const char *pipeline, uint64_t input_bytes,
                          double latency_s, uint64_t second);
void service_figures_failed(struct service_figures *f, const char *pipeline, uint64_t second);

/* A pause begins. Its cause is what the words say: by then nothing else is left of it. */
void service_figures_pause(struct service_figures *f, const char *why);
enum figures_cause service_figures_cause(const char *why);
/* Called now and then, with whether it is paused. */
void service_figures_tick(struct service_figures *f, bool is_paused, uint64_t now_ms);

/* Adds what a job has used, as worker_pack_busy says it; NULL, and what is not a positive number,
 * adds nothing. */
void service_figures_busy(struct figures_busy *busy, const json_t *list);

/* Adds the keys "totals", "rates", "pipelines", "latency", "minutes" (of the last hour, the present
 * one last), "pauses" and "paused_s" to the document. age_s: since the
 * start. */
void service_figures_put(const struct service_figures *f, double age_s, json_t *document);
/* {"lanes": [{"lane", "busy_s"}], "cpu_s", "device_s", "upload_s", "download_s"}. */
json_t *service_figures_pack_busy(const struct figures_busy *busy);

#endif
