/*
 * spool_power - what is on disk after the power was cut.
 *
 * A model of what POSIX promises, which is less than any journaling file system does: a name that
 * was made, moved or removed is sure to be so after an fsync of the folder it is in, or was removed
 * from; a file's content after an fsync of the file. Everything else happened, or did not:
 * changes are left out from some point on, or each by the toss of a coin, or all of them; contents
 * are there, cut short, or as they were before. A rename is never in neither place; a file may be
 * in both as long as the folder it was moved to has been put on disk and the one it was moved from
 * has not, as on btrfs, where an fsync writes the names of its own folder alone. OUT is on a file
 * system of its own: a syncfs of one promises nothing of the other. What lies in in/ at the start
 * has not been put on disk by anybody: a cut may take its content once a job is committed that was
 * made of it; before that the loss would be the user's own, and is not played.
 *
 * The changes come from a recording (spool_fault.c's trace) of a process that died, begun when the
 * tree was as spool_power_new saw it.
 */
#ifndef LEAT_TESTS_SPOOL_POWER_H
#define LEAT_TESTS_SPOOL_POWER_H

#include <stdbool.h>

struct spool_power;

/* Remembers the tree below root_fd: files up to 8 KiB and folders. NULL: it cannot be read. */
struct spool_power *spool_power_new(int root_fd);
void spool_power_free(struct spool_power *p);
/* Makes `root` what it might be after a cut that followed the recording. below(n) gives a number
 * in 0 .. n-1. False: the recording speaks of things that are not known. */
bool spool_power_cut(struct spool_power *p, const char *trace, const char *root,
                     unsigned (*below)(unsigned n));
/* Of jobs that wait after that cut: how many have been worked on more often than they are charged
 * with. One that brings the machine down would do so for ever. */
unsigned spool_power_uncharged(const struct spool_power *p);

#endif
