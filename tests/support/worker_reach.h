/*
 * worker_reach - what a worker that somebody else's file has taken over might try.
 */
#ifndef LEAT_TESTS_WORKER_REACH_H
#define LEAT_TESTS_WORKER_REACH_H

/* Tries all of it in the spool that LEAT_REACH names, beside which lie `token` and the sockets, and
 * logs what was refused and what was not, a line each. */
void worker_reach(void);

#endif
