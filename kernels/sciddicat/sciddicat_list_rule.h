/*
 * sciddicat_list_rule - how many blocks make a step over a list of tiles (cuda_sciddicat_sweep): as
 * many as the device holds at a time. One more would begin when the others have ended, and take as
 * long.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_LIST_RULE_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_LIST_RULE_H

#include <stddef.h>

/* Of a block: shared memory; of a multiprocessor: what its registers allow. */
enum { SCIDDICAT_LIST_BYTES = 17128, SCIDDICAT_LIST_BLOCKS = 12 };

/* shared, reserved: bytes of shared memory of a multiprocessor, and what a block takes besides. */
static inline unsigned sciddicat_list_blocks(size_t multiprocessors, size_t shared, size_t reserved)
{
    const size_t fit = shared / (SCIDDICAT_LIST_BYTES + reserved), most = SCIDDICAT_LIST_BLOCKS;
    return (unsigned)(multiprocessors * (fit < most ? fit : most));
}

#endif
