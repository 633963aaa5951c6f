/*
 * file_system - what kind of file system a folder lies on.
 */
#ifndef LEAT_FORMATS_BASE_FILE_SYSTEM_H
#define LEAT_FORMATS_BASE_FILE_SYSTEM_H

/* "NFS", "Lustre", ...: the file system of the open folder is one on which other machines change
 * files without this kernel's notice, and on which locks may hold for one machine alone. NULL: it
 * is not known to be one. */
const char *file_system_network(int fd);

#endif
