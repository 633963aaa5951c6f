/*
 * registry - the pipelines of the program leat_faulty: those of leat, and those of the seams.
 */
#include "tests/seams/seams.h"

const struct stage_ops *const stage_registry[] = {STAGES(STAGE_IN_REGISTRY) STAGE_IN_REGISTRY(sums)
                                                      STAGE_IN_REGISTRY(scores) NULL};
