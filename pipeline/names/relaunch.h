/*
 * relaunch - the program begins again with an environment that makes it faster.
 */
#ifndef LEAT_PIPELINE_NAMES_RELAUNCH_H
#define LEAT_PIPELINE_NAMES_RELAUNCH_H

/* Where OpenBLAS has chosen badly (kernels/blas_core.h) and the user has not chosen, or where it
 * has threads of its own and addresses are limited (ulimit -v): the same process begins again with
 * that choice made, and one thread. OpenBLAS reads it when a program is loaded, and at no other
 * time, so this is main()'s first call: nothing is open and no thread runs. Returns where there is
 * nothing to be gained, or the program cannot be found again, which costs only speed: `leat doctor`
 * speaks of it. */
void relaunch_for_blas(char **argv);

#endif
