/*
 * publish - a result gets its name in the output folder OUT: FOLDER/NAME, of safe components.
 *
 * A part is made in OUT itself, under a hidden name that ends in ".part"; one rename gives it its
 * name. Any number of processes may do so in one OUT, on one machine or on many: of those that make
 * the same result one does, also where the file system knows no flags of renameat2, since a rename
 * never replaces a folder that holds files. No result lies in another, and nothing is looked at or
 * made through a link. Nothing here is put on disk; that is for who has more than one step to take.
 *
 * All return 0 or a descriptor, or -1 with errno.
 */
#ifndef LEAT_WATCH_FILES_PUBLISH_H
#define LEAT_WATCH_FILES_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

/* What the path, from `at_fd`, leads to: 1: a folder that leat made, one that holds a result.json;
 * 0: something else; -1: nothing, or that cannot be seen. */
int publish_find(int at_fd, const char *path);

/* How many bytes of FOLDER/NAME are FOLDER; 0: the result lies in OUT itself. */
size_t publish_folder_bytes(const char *result);
/* NAME of FOLDER/NAME. */
const char *publish_last_name(const char *result);
/* Opens the first n bytes of the path, a folder in OUT. */
int publish_open_above(int out_fd, const char *path, size_t n, int flags);

/* Opens FOLDER, with O_PATH; with `make` what is missing of it is made. On failure *at is how many
 * bytes of the result lead to what is in the way: EEXIST: that is a result itself; ENOTDIR, ELOOP:
 * a file or a link; ENOENT: it is not there. */
int publish_enter(int out_fd, const char *result, bool make, size_t *at);
/* Whether the error of publish_enter says that FOLDER cannot hold results, and never will. */
bool publish_is_in_the_way(int error);

/* Whether an earlier result, which is open with O_PATH, may be replaced: 0; EEXIST: it may not;
 * another errno: that cannot be told now. */
typedef int publish_may_replace(void *user, int earlier_fd);

/* Gives OUT/PART the name FOLDER/NAME, in a FOLDER that is there. EEXIST: the name is taken, by
 * something that is no result, or may not be replaced (`may` NULL: none may); EAGAIN: what has it
 * comes and goes; and what `may` returns. An earlier result that was replaced is called PART then,
 * or, where names cannot be exchanged in one step, PART with the ending ".old": the caller removes
 * it. Between those two steps there is no result of that name; where the second fails the earlier
 * one has its name again. */
int publish_give_name(int out_fd, const char *part, const char *result, publish_may_replace *may,
                      void *user);
/* PART with the ending ".old". */
void publish_old_name(const char *part, char *old, size_t bytes);

#endif
