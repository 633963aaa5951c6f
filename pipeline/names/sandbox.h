/*
 * sandbox - what a process that reads what others have made can do no more, whatever is in it: the
 * workers' and the page's.
 */
#ifndef LEAT_PIPELINE_NAMES_SANDBOX_H
#define LEAT_PIPELINE_NAMES_SANDBOX_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum sandbox_right {
    SANDBOX_READ,  /* files and folders */
    SANDBOX_USE,   /* devices, and files that are there: read, written to, ioctl(2) */
    SANDBOX_WRITE, /* made, written to, renamed and removed, too; no sockets, FIFOs or devices */
};

/* A folder with all beneath it, or a file. */
struct sandbox_place {
    enum sandbox_right right;
    const char *path; /* a pattern of glob(3), of which there may be none; NULL: fd */
    int fd;           /* -1: there is none */
};

/* From now on this process gets no further rights, has no capabilities, lets no other look into it,
 * and opens files in these places alone (landlock(7)). reads_all: it still reads what users keep to
 * themselves, if it had that right, as root has. Threads that were there before keep theirs.
 * STATUS_IO: the kernel refuses. What it lacks is passed over, see sandbox_examine. */
enum status sandbox_shut_files(const struct sandbox_place *places, size_t n_places,
                               bool reads_all) STATUS_MUST_CHECK;

/* From now on no thread of it starts a program, makes a socket, signals other processes, limits or
 * schedules them, reaches into them, or changes whose a file is, its mode, times or length by name
 * (seccomp(2)): calls that can do harm are refused, or all but those by which a server answers on
 * sockets and from files that it has. After sandbox_shut_files. STATUS_IO. */
enum sandbox_calls { SANDBOX_HARMLESS, SANDBOX_ANSWERS };
enum status sandbox_shut_calls(enum sandbox_calls calls) STATUS_MUST_CHECK;

/* For the process that starts those: nobody but root looks into it from now on, nor has what it
 * starts any capability from it; root's programs have all that root has, until they give it up.
 * Before there are threads. STATUS_IO. */
enum status sandbox_guard(void) STATUS_MUST_CHECK;

struct sandbox_means {
    long landlock;        /* its version; 0: none */
    bool filter;          /* of system calls */
    const char *lacks[2]; /* what therefore does not hold, in words; NULL: all holds */
};
void sandbox_examine(struct sandbox_means *out);

#endif
