/*
 * pull - a job's method, as the engine sees it: each call goes on with the stage's `run` until that
 * waits for what the call can bring, or has returned. Any of them but pull_free and those that ask
 * may return STATUS_START_OVER, once: the numbers have shown that the job must be planned
 * otherwise. The method is freed then, and all begins again with args->started_over.
 */
#ifndef LEAT_STAGES_BASE_PULL_H
#define LEAT_STAGES_BASE_PULL_H

#include "stages/stage.h"

struct pull;

/* Begins. Everything in `args` is borrowed. */
enum status pull_open(const struct stage_ops *stage, const struct stage_args *args,
                      struct pull **out) STATUS_MUST_CHECK;
/* The next numbers of a part (in its table's dtype, in memory from host_alloc). A part's numbers
 * come when all of the part before it are there. *ticket tells, through upload_wait, when the
 * memory may be reused. */
enum status pull_push(struct pull *p, size_t part, const struct table_chunk *chunk,
                      uint64_t *ticket) STATUS_MUST_CHECK;
/* After every push: what leaves, into `out`, which is zeroed or empty; there may be nothing. With
 * *more set (it is false) it is called again, before the next push, and the chunk stays as it is
 * until then. Pieces may be read, from any thread, until n_results more results with files have
 * been asked for. */
enum status pull_portion(struct pull *p, struct result *out, bool *more) STATUS_MUST_CHECK;
/* All numbers that were asked for are in: *part, which is none, becomes the part that is to come
 * once more, from its first number on; or stays. Chunks are cut at other places then, and have
 * neither labels nor n_missing nor lines. */
enum status pull_end_pass(struct pull *p, size_t *part) STATUS_MUST_CHECK;
/* No more passes: the next result, into `out`, which is empty. With *more set (it is false) it is
 * called again; the last one has shape, parameters, summary and warnings. */
enum status pull_finish(struct pull *p, struct result *out, bool *more) STATUS_MUST_CHECK;
/* Of a simulation: steps that are done, of so many at most; else both 0. */
void pull_progress(const struct pull *p, uint64_t *n_done, uint64_t *n_steps);
/* Before a push or finish: how many further queues, each on a device of its own, would make what is
 * left end sooner than it takes to open them; and brings some: devices once, other ranks once or
 * more. Those that help come first then, *n of them, and are there until pull_free. What comes out
 * is the same bits. */
size_t pull_helpers(const struct pull *p);
enum status pull_help(struct pull *p, struct queue **queues, size_t *n) STATUS_MUST_CHECK;
/* Whenever no call and no piece is under way; a method that waits is cancelled. NULL is fine. */
void pull_free(struct pull *p);

#endif
