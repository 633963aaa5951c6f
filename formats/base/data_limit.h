/*
 * data_limit - the most memory that the system gives this process: the last bound, should a library
 * take what a file claims. RLIMIT_DATA counts private memory that can be written, used or not; not
 * the program itself, nor files and devices that are mapped.
 */
#ifndef LEAT_FORMATS_BASE_DATA_LIMIT_H
#define LEAT_FORMATS_BASE_DATA_LIMIT_H

#include <stdint.h>

/* From now on the process gets `more` bytes beyond what it has; who asks for more gets none (malloc
 * gives NULL). Nothing is limited where the system does not tell what it has, nor where a sanitizer
 * watches, which has memory of its own. */
void data_limit_set(uint64_t more);

/* What is taken between the two does not count. For one thread at a time. */
void data_limit_pause(void);
void data_limit_resume(void);

#endif
