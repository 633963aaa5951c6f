/*
 * scratch - files without a name, for members of archives while they are processed: gone when their
 * last descriptor is closed, whatever happens to the process.
 */
#ifndef LEAT_PIPELINE_ENGINE_SCRATCH_H
#define LEAT_PIPELINE_ENGINE_SCRATCH_H

#include "formats/base/status.h"

#include <stdint.h>

/* An empty file in the folder `folder_fd`, or in /tmp (-1), open for reading and writing. */
enum status scratch_file(int folder_fd, int *fd) STATUS_MUST_CHECK;
/* Half of the bytes that are free where the scratch file lies: an archive that unpacks to more is
 * refused. */
uint64_t scratch_room(int fd);

#endif
