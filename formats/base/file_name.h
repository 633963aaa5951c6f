/*
 * file_name - what the name of a file says, whatever it holds.
 */
#ifndef LEAT_FORMATS_BASE_FILE_NAME_H
#define LEAT_FORMATS_BASE_FILE_NAME_H

#include <stdbool.h>

/* Whether the name ends so, in any case of letters. */
bool file_name_ends(const char *name, const char *ending);

/* Whether a program that still writes the file calls it so: begins with '.' or ends in .part .tmp
 * .filepart .crdownload ~, in any case. Looks at the last component. */
bool file_name_is_temporary(const char *path);

#endif
