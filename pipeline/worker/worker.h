/*
 * worker - the process in which jobs of the service are computed.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_H
#define LEAT_PIPELINE_WORKER_WORKER_H

/* `leat worker`, which the service starts: argv from that name on; returns the exit status. */
int worker_run(int argc, char **argv);

#endif
