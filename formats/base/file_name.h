/*
 * file_name - what the name of a file says, whatever it holds.
 */
#ifndef LEAT_FORMATS_BASE_FILE_NAME_H
#define LEAT_FORMATS_BASE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The last component of a path; "" when the path ends in '/'. */
const char *file_name_last(const char *path);

/* Whether the name ends so, in any case of letters. */
bool file_name_ends(const char *name, const char *ending);

/* Whether name[0 .. n) ends as one of the list, ".a .b .c", in any case, with something before it.
 */
bool file_name_ends_in(const char *name, size_t n, const char *endings);
/* The same of what is left without .gz and its kind. */
bool file_name_is(const char *path, const char *endings);

/* Length of name[0 .. n) without .gz, .xz, .zst or .bz2, in any case, where something stands before
 * it; n where it ends otherwise. */
size_t file_name_unpacked(const char *name, size_t n);

/* Whether a program that still writes the file calls it so: begins with '.' or ends in .part .tmp
 * .filepart ~, in any case. Looks at the last component. */
bool file_name_is_temporary(const char *path);
/* Whether it is called so, or as downloads that have not ended and as copies that programs keep:
 * #x#, ~$x, x.bak .orig .swp .save .old .1 .partial .download .opdownload .aria2 .crdownload
 * x:Zone.Identifier, in any case, also with .gz .xz .zst .bz2 behind it. That is never an input. */
bool file_name_is_copy(const char *path);

#endif
