/*
 * parts - files on their way to becoming jobs. A file that is only a part of its job (X.dem.asc)
 * waits here for the others (X.source.asc): they lie in the same folder and share the stem X. The
 * text of a .prj in an archive waits for its grid in the same way; which that is says projection.h.
 */
#ifndef LEAT_PIPELINE_INPUTS_PARTS_H
#define LEAT_PIPELINE_INPUTS_PARTS_H

#include "pipeline/engine/job.h"

#include <stdbool.h>

struct parts;

/* Open files that may wait at a time, since parts taken out of an archive hold one each; and as
 * many texts of .prj files. */
enum { PARTS_MAX_OPEN = 256 };

enum status parts_new(struct parts **out) STATUS_MUST_CHECK;
void parts_free(struct parts *p);

/* Takes a part with the settings that were resolved for it, both over in every case. *complete:
 * *out is a job, with the first part's settings and the texts that lie beside its parts.
 * STATUS_BAD_INPUT: the job has that part already, or too many open files wait; STATUS_NO_MEMORY. A
 * failure leaves the path in out->parts[0]. */
enum status parts_add(struct parts *p, struct job_part *part, struct job_settings *settings,
                      struct job_input *out, bool *complete) STATUS_MUST_CHECK;

/* Whether the file at `path` would complete its job. */
bool parts_would_complete(const struct parts *p, const char *path,
                          const struct job_settings *settings);

/* Takes the text (over, in every case) of the .prj at `path` for the job whose last part comes
 * after it. Too many, and those for which none comes, are warned of and not carried. */
enum status parts_add_projection(struct parts *p, const char *path, char *text) STATUS_MUST_CHECK;

/* Gives up one job that still waits and lies beneath `folder` ("": anywhere): STATUS_BAD_INPUT,
 * with the missing parts in the message and *out holding what came. STATUS_OK: none waits. */
enum status parts_give_up(struct parts *p, const char *folder,
                          struct job_input *out) STATUS_MUST_CHECK;

#endif
