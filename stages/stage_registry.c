/*
 * stage_registry - every stage there is. A file of its own, so that a test may link another one.
 */
#include "stages/stage.h"

const struct stage_ops *const stage_registry[] = {STAGES(STAGE_IN_REGISTRY) NULL};
