/*
 * service - `leat watch`: what is dropped into SPOOL/in becomes results in OUT, until told to stop.
 *
 *   in/ -- watcher --> inbox --> claim --> queue --> attempt --> worker --> finish --> done/
 *                                 ^                                 |
 *                                 +-------- requeue, charged or not +--> failed/
 *
 * One process decides, on one thread, a libuv loop: it parses no file of a user's and loads no
 * driver. Steps of the spool run on libuv's pool, one at a time, each with all jobs that stand at
 * it, since they share its fsyncs. The work is done by worker processes, one a device (worker.c).
 *
 * Blame. A worker that dies takes all jobs with it that it had begun. When that was one, it is
 * charged with an attempt. When they were several, nobody is, but they are suspects: from then on
 * each is tried in a process of its own, which is started for it beside the others and ends with
 * it, so that a poisonous file is charged for its own deaths and its neighbours for none. A job
 * that passes its deadline and does not stop is known by name, and is alone in being charged, as
 * long as its worker gives signs of life; so is one that is at work and does not move for ten
 * minutes. A worker that hangs as a whole counts as dead. Jobs that were not yet begun, as far as
 * is known, are sent back without a charge. A service that ends without warning leaves attempts
 * charged to jobs that were at its workers. That is seldom their fault: they are tried again, those
 * with two or more such attempts as suspects, and fail only when they are charged once more, or
 * when it goes on like that for long.
 *
 * No room (space, quota, memory, I/O errors on our side) is nobody's fault, and nothing is charged.
 * Two things follow from it. A gate: every second or, while all is well, every few, it is looked
 * whether the folders are where they were and have room; where not, nothing is begun until they
 * have. While it is the reserve alone that is missing, results that are made are put in place,
 * since that takes no room and may give some. And deferral: a job that meets what no look has found
 * waits, longer each time, up to a minute, and others go on; one that has met it twice is tried
 * beside no other such one, since together they may lack what each has. When eight jobs have met
 * it and none has ended, one job is begun every two seconds until one does; then all are tried
 * again. An error of a disk that only this job meets again, while others have been finished, is its
 * own after all, and charged; so is a want of memory, after ten minutes of it. At the start there
 * may be no room for the spool's folders: it is opened once there is.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_H

#include "pipeline/settings/settings.h"

/* From now on until service_run can heed it, SIGHUP waits, and is not the end of the process. */
void service_await_signals(void);
/* Runs until SIGTERM or SIGINT, and drains: running jobs may end for `drain` seconds. SIGHUP reads
 * the configuration again with argc and argv. The settings are taken over, in every case. Returns
 * the exit status: 0, or 2 when it could not start (told in the log). */
int service_run(int argc, char **argv, struct settings *settings);

#endif
