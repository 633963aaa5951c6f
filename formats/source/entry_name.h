/*
 * entry_name - what an archive calls a file, made a name that stays below the folder it is put in,
 * or refused with a sentence.
 */
#ifndef LEAT_FORMATS_SOURCE_ENTRY_NAME_H
#define LEAT_FORMATS_SOURCE_ENTRY_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ENTRY_NAME_BYTES = 1024,                    /* the longest name believed; a part of it: 255 */
    ENTRY_NAME_ROOM = 3 * ENTRY_NAME_BYTES + 1, /* for such a one from an old code page */
};

/* The name as UTF-8: as it is where it is that already, else read as code page 437 (dos: what zip
 * has without a flag that says UTF-8) or Latin-1. Too long a one stays as it is. Returns dst or
 * raw. */
const char *entry_name_decode(const char *raw, bool dos, char dst[ENTRY_NAME_ROOM]);

/* Copies a checked form to dst: parts joined by single slashes, without "." parts. Returns what is
 * wrong with the name; NULL: nothing. */
const char *entry_name_clean(const char *name, char dst[ENTRY_NAME_ROOM]);

#endif
