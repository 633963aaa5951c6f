/*
 * registry - the pipelines of the program leat_faulty: those of leat, and those of the seams.
 */
#include "tests/seams/seams.h"

const struct stage_ops *const stage_registry[] = {&stage_pearson,
                                                  &stage_sciddicat,
                                                  &stage_interpolate,
                                                  &stage_kmeans,
                                                  &stage_sums,
                                                  &stage_scores,
                                                  NULL};
