/*
 * parts - files on their way to becoming jobs. A file that is only a part of its job (X.dem.asc)
 * waits here for the others (X.source.asc), and a grid for the text of the .prj that its archive is
 * known to hold; which belong together says group.h.
 */
#ifndef LEAT_PIPELINE_INPUTS_PARTS_H
#define LEAT_PIPELINE_INPUTS_PARTS_H

#include "pipeline/engine/job.h"

#include <stdbool.h>

struct parts;

/* Open files that may wait at a time, since parts taken out of an archive hold one each; and as
 * many texts of .prj files. */
enum { PARTS_MAX_OPEN = 256 };

struct parts *parts_new(void);
void parts_free(struct parts *p);

/* Takes a part with the settings that were resolved for it, both over in every case. *complete:
 * *out is a job, with the first part's settings and the texts that lie beside its parts.
 * STATUS_BAD_INPUT: the job has that part already, or too many open files wait. A failure leaves
 * the path in out->parts[0]. */
enum status parts_add(struct parts *p, struct job_part *part, struct job_settings *settings,
                      struct job_input *out, bool *complete) STATUS_MUST_CHECK;

/* Whether the file at `path` would complete its job. */
bool parts_would_complete(const struct parts *p, const char *path,
                          const struct job_settings *settings);

/* The .prj at `path` is going to come: the job of a part that it lies beside, which comes before,
 * waits for it. */
void parts_expect(struct parts *p, const char *path);

/* Takes the text (over) of the .prj at `path` for the job of the part that it lies beside. True: it
 * is complete with it, and *out. Too many, and those that no part came for, are warned of and not
 * carried. */
bool parts_add_projection(struct parts *p, const char *path, char *text, struct job_input *out);

/* Gives up one job that still waits and lies beneath `folder` ("": anywhere): STATUS_BAD_INPUT,
 * with the missing parts in the message and *out holding what came; or *complete: only a .prj did
 * not come, and *out is the job without it. STATUS_OK and not *complete: none waits. */
enum status parts_give_up(struct parts *p, const char *folder, struct job_input *out,
                          bool *complete) STATUS_MUST_CHECK;

#endif
