/*
 * stage_registry - every stage there is. A file of its own, so that a test may link another one.
 */
#include "stages/stage.h"

const struct stage_ops *const stage_registry[] = {&stage_pearson, &stage_sciddicat,
                                                  &stage_interpolate, &stage_kmeans, NULL};
