/*
 * sciddicat_choice - what the user chose for a landslide, and what a job of that shape needs.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_CHOICE_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_CHOICE_H

#include "formats/result/raster.h"
#include "kernels/sciddicat/sciddicat.h"
#include "stages/stage.h"

enum sciddicat_part { SCIDDICAT_DEM, SCIDDICAT_SOURCE, SCIDDICAT_N_PARTS };

enum { SCIDDICAT_N_SPECS = 9 };
extern const struct param_spec sciddicat_specs[SCIDDICAT_N_SPECS];

struct sciddicat_choice {
    uint64_t steps;
    double epsilon, r;
    enum sciddicat_nodata nodata;
    uint64_t settle;         /* steps between checks whether any cell still moves; 0: never */
    uint64_t snapshot_every; /* 0: none */
    uint64_t report_every;   /* >= 1 */
    enum raster_format format;
    enum raster_type type; /* of thicknesses */
};

void sciddicat_choose(const struct stage_args *args, struct sciddicat_choice *out);

/* The grid of a part: as its file says; without a georeference if the file is of another format.
 * STATUS_BAD_INPUT (not known how many lines it has), STATUS_NO_MEMORY. */
enum status sciddicat_grid(const struct stage_args *args, enum sciddicat_part part,
                           struct grid **out) STATUS_MUST_CHECK;

/* For the kernels; the DEM's shape has been checked. */
struct sciddicat_params sciddicat_kernel_params(const struct sciddicat_choice *choice,
                                                const struct grid *dem);

/* How thicknesses (type: as chosen) and arrivals (RASTER_I32) are written; NODATA is not set yet.
 */
struct raster sciddicat_raster(const struct sciddicat_choice *choice, const struct grid *dem,
                               enum raster_type type);

/* Reports at most. */
uint64_t sciddicat_n_reports(const struct sciddicat_choice *choice);

/* Can it be done, and what does it take? STATUS_BAD_INPUT, _BAD_ARGUMENT, _TOO_LARGE. */
enum status sciddicat_need(const struct stage_args *args, const struct sciddicat_choice *choice,
                           const struct grid *dem, const struct grid *source,
                           struct stage_need *out) STATUS_MUST_CHECK;

#endif
