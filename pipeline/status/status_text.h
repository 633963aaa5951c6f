/*
 * status_text - what the service does, for people: its status document as a page.
 *
 * The document has the keys
 *   schema 1, written (status_file.h), leat, pid, spool, output, since, uptime_s,
 *   state "starting" | "running" | "paused" | "draining" | "silent", ready, why ("" or words),
 * watching, n_waiting, waiting [{path, reason, since_s}] (the first hundred), n_troubles, n_queued,
 *   queued [{id, name, held}] (the first hundred),
 *   n_running, oldest_queued_s, oldest_part_s,
 *   in_flight [{id, name, pipeline, worker, attempt, bytes, total_bytes, steps, total_steps (of a
 *   simulation; else 0), for_s, waits_for "memory" | ""}],
 *   done [{id, name, pipeline, ended, result, picture, report, seconds, warnings}],
 *   n_failed, failed (failed_jobs.h) (the last twenty each, newest first), totals {done, failed,
 * requeued, input_bytes}, rates {jobs_per_s_1min, jobs_per_s_15min, bytes_per_s_1min}, hooks
 * {waiting, running, run, failed, dropped}, removed {inputs, jobs, bytes, why}, page {address, pid,
 * restarts, why} or null, and those of service_figures.h; workers [{name, device, pid, state,
 * deaths, again_in_s, why, busy}], a worker's state being "starting" | "ready" | "retiring" |
 * "backing off" | "out". What is missing or of another type is left out of the page, never trusted.
 */
#ifndef LEAT_PIPELINE_STATUS_STATUS_TEXT_H
#define LEAT_PIPELINE_STATUS_STATUS_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints the page. All text of the document is escaped (template.h). */
void status_text_print(FILE *out, const json_t *document);
/* Prints the first `most` failures, how many of all `total` are left out (the list may end before),
 * and the command that tries again, with this spool ("": none) as a shell understands it: entries
 * {id, name, kind, text}. */
void status_text_print_failed(FILE *out, const json_t *failed, size_t most, size_t total,
                              const char *spool);
/* For a template. Sets KEY_shown, unless there is nothing to show, and returns it, borrowed:
 * `entries`, of the list at KEY the first `most` whose text at `name` holds `search`, and `n_left`,
 * how many of all `total` that leaves out ("": any; else 0). */
json_t *status_text_show(json_t *document, const char *key, const char *name, const char *search,
                         size_t most, json_int_t total);
/* For a template: adds to jobs in flight `again`, their attempt but for the first, `left_s`, of a
 * simulation, and the text `percent`. */
void status_text_complete(json_t *document);
/* Whether the service is running and ready. */
bool status_text_is_ready(const json_t *document);

#endif
