/*
 * archive_member - one file in an archive as a stream, for who wants it once more.
 */
#ifndef LEAT_FORMATS_SOURCE_ARCHIVE_MEMBER_H
#define LEAT_FORMATS_SOURCE_ARCHIVE_MEMBER_H

#include "formats/source/archive_input.h"

/* Opens the archive at `path` and goes to the entry of that number (archive_input_entry), whose
 * name ends `member`. STATUS_CHANGED: it is not there any more; as archive_input_open. */
enum status archive_member_open(const char *path, uint64_t number, const char *member,
                                const struct archive_input_options *options,
                                struct source_stream *out) STATUS_MUST_CHECK;

#endif
