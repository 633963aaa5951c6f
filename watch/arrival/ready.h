/*
 * ready - is a file complete, or is somebody still writing to it?
 *
 * A read lease (fcntl F_SETLEASE) is refused by the kernel while anybody has the file open for
 * writing: that is the answer, whatever the file's times say (`cp -p`, rename into place). Where
 * leases are not to be had - a file of somebody else, a network file system - size, mtime and
 * ctime must stand still for `settle_ms` instead; so must an empty file, since many programs make
 * the file first and open it again to fill it. Twice as long where a text's last line has no end.
 * `always_ms`: every file must stand still for that long, for writers that open it again and again.
 *
 * Does not wait, reads no content but, without leases, a last byte, follows no link. Safe from any
 * thread.
 */
#ifndef LEAT_WATCH_ARRIVAL_READY_H
#define LEAT_WATCH_ARRIVAL_READY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum ready_state {
    READY_YES,   /* complete */
    READY_LATER, /* not yet: look again after again_ms, or when there is an event */
    READY_GONE,  /* not there any more */
    READY_NEVER, /* nothing leat takes: link, FIFO, device, socket, folder, several hard links */
};

/* Which bytes lie under a name, as far as lstat tells; inode 0: none do. */
struct ready_seen {
    uint64_t inode;
    int64_t size, mtime_ns, ctime_ns;
};
struct ready_seen ready_seen_of(const struct stat *st);
bool ready_is_same(const struct ready_seen *a, const struct ready_seen *b);

/* What is remembered of a file between two looks; {0} before the first. */
struct ready_memory {
    struct ready_seen seen;
    uint64_t since_ms; /* stands still since then */
};

struct ready_answer {
    enum ready_state state;
    uint64_t again_ms;      /* READY_LATER: look again after that long */
    char reason[120];       /* READY_LATER, READY_NEVER: in words, after the file's name */
    struct ready_seen seen; /* except for READY_GONE, and where it cannot be opened */
};

/* Looks at folder_fd/path. now_ms is a clock that never goes back (uv_now, CLOCK_MONOTONIC); it and
 * `memory` must be the same ones at every look at a file. */
struct ready_answer ready_look(int folder_fd, const char *path, uint64_t now_ms, uint64_t settle_ms,
                               uint64_t always_ms, struct ready_memory *memory);

/* Whether this process may ask so about files of other users (CAP_LEASE). */
bool ready_has_leases(void);

enum ready_writer { READY_WRITER_NONE, READY_WRITER_OPEN, READY_WRITER_UNKNOWN };
/* Whether anybody has the open file open for writing; UNKNOWN where leases are not to be had. A
 * conflicting open() of somebody else waits for microseconds at most, and no signal that could end
 * the process is raised. */
enum ready_writer ready_writer(int fd);

#endif
