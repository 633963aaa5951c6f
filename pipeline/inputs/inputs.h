/*
 * inputs - what a command line's files, folders, archives and pipes come to, one job's input at a
 * time, so that memory does not grow with their number.
 *
 * The result of a file in a folder or an archive lies in the same folder beneath OUTPUT, that of
 * one in an archive in a folder in one that is called after the archive; that of a file which is
 * named itself lies in OUTPUT. In folders and archives only what a route takes is looked at; names
 * that begin with '.' and names of files that are still being written (.part .tmp .filepart
 * .crdownload ~) are left alone, as are the output folder and the results in it. What is named on
 * the command line itself must have a route, or hold something that has one, or be a file that is
 * kept beside a grid (X.dem.qml); those are passed over everywhere, in one line at the end, unless
 * nothing else was named. What else a folder or an archive holds that no pipeline takes is counted,
 * in one line when that ends. Standard input ("-") and named pipes are read as they come, and so
 * are large members of archives that are read forward: one at a time, which inputs_next waits for
 * (inputs_is_lent). Of the jobs that there are, those are given that are this process's (struct
 * inputs_share): the parts of a job are in one share, and so is what is to be said about them; a
 * member of an archive is not unpacked for others. Folders are walked in byte order of names, links
 * in them are not followed; a link in an archive, or a name that leads out of it, is a failure
 * where a pipeline would have taken the file.
 */
#ifndef LEAT_PIPELINE_INPUTS_INPUTS_H
#define LEAT_PIPELINE_INPUTS_INPUTS_H

#include "pipeline/engine/job.h"

#include <stdbool.h>

struct inputs;

/* Folders in one another, beneath what is given, that an input's result may lie in. */
enum { INPUTS_MAX_DEPTH = 32 };

/* Which jobs are this process's, of several that walk the same inputs. Jobs whose results have the
 * same name have the same key, so that one process has both, and refuses the second. */
struct inputs_share {
    bool (*find)(void *user, uint64_t key);
    void *user;
    /* What is wrong with an argument, a folder or an archive, which all of them meet, is given by
     * the one whose find() says so; else by each. */
    bool joint;
};

/* `settings` is borrowed; share NULL: settings->shard. `scratch_fd` is a folder on whose file
 * system members of archives are kept while they are processed, in files without a name; -1: /tmp.
 */
struct inputs *inputs_open(const struct settings *settings, const struct inputs_share *share,
                           int scratch_fd);
/* What is in one archive: `fd`, taken over, and opened by the first inputs_next. It
 * is called `path` (borrowed), beneath which routes find its members, and is opened once more at
 * `found_at`, for a job that starts over. */
struct inputs *inputs_open_archive(const struct settings *settings, const char *path,
                                   const char *found_at, int fd, int scratch_fd);
void inputs_free(struct inputs *in);
/* From any thread: inputs_next comes to its end soon, also while it unpacks an archive, and so does
 * inputs_total_bytes. */
void inputs_stop(struct inputs *in);

/* The next input, resolved. A failure concerns one input only (out->path names it): call again for
 * those after it. *end: there are no more. Used by one thread at a time; it reads folders and
 * unpacks archives. STATUS_CANCELLED: stopped within an archive. */
enum status inputs_next(struct inputs *in, struct job_input *out, bool *end) STATUS_MUST_CHECK;

/* A job reads from the archive that inputs_next is in: it must not be called until that has ended,
 * or been freed. From any thread. */
bool inputs_is_lent(const struct inputs *in);

/* How much of the archive that it is in has been read, packed as it is. From any thread. */
uint64_t inputs_archive_bytes(const struct inputs *in);

/* As input_walk_bytes, until inputs_stop. Also while another thread is in inputs_next. */
uint64_t inputs_total_bytes(const struct inputs *in);

#endif
