/*
 * stages - every stage there is: the one list of them. A table that asks for no pipeline, and is
 * named itself, is for the first.
 *
 * To add a stage: its name here, and in the folder stages/NAME the table `stage_NAME` of the type
 * `struct stage_ops`.
 */
#ifndef LEAT_STAGES_STAGES_H
#define LEAT_STAGES_STAGES_H

#define STAGES(STAGE)                                                                              \
    STAGE(pearson)                                                                                 \
    STAGE(sciddicat)                                                                               \
    STAGE(interpolate)                                                                             \
    STAGE(kmeans)

#define STAGE(name) extern const struct stage_ops stage_##name;
STAGES(STAGE)
#undef STAGE
#define STAGE_IN_REGISTRY(name) &stage_##name,

#endif
