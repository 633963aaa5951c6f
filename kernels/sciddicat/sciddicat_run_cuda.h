/*
 * sciddicat_run_cuda - a run of the automaton on the device: its memory, and what is done to it by
 * the files that advance it, report it, and make it a member of several.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RUN_CUDA_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RUN_CUDA_H

#include "kernels/sciddicat/sciddicat_cuda.h"

/* Of the map. */
struct cuda_sciddicat_answer {
    double mass, lost_edge, lost_nodata, largest;
    unsigned long long n_active;
    struct sciddicat_progress progress;
};

struct cuda_sciddicat_run {
    struct sciddicat_params p;
    struct sciddicat_map map;
    struct sciddicat_lists lists;
    struct sciddicat_row_figures *figures; /* a row; on the device, as what follows */
    struct cuda_sciddicat_answer *answer;
    unsigned *busy; /* see cuda_sciddicat_busy() */
    struct span memory;
    double *h[2]; /* of even and odd steps, when swept */
    uint64_t step;
    uint64_t target; /* where it is to be when it reports */
    size_t cells;
    size_t tiles;
    size_t first, last; /* the rows that it owns */
    int cluster_size;
    bool sweeping; /* both copies of h are the same but where listed */
};

/* The copy of h that holds the present state. */
static inline double *cuda_sciddicat_present(const struct cuda_sciddicat_run *r)
{
    return r->sweeping ? r->h[r->step % 2] : r->h[0];
}

/* From now on the run owns rows [first, last); the lists are not right until they are begun. */
void cuda_sciddicat_own(struct cuda_sciddicat_run *r, size_t first, size_t last);

/* Finds the hot tiles among those in which a step looks, anew: rows have been set. */
enum status cuda_sciddicat_find_hot(struct cuda_sciddicat_run *r,
                                    cudaStream_t stream) STATUS_MUST_CHECK;
/* From here on by lists, and the present state is that after `step`: both copies of h become the
 * same, and the hot tiles are listed. */
enum status cuda_sciddicat_begin_lists(struct cuda_sciddicat_run *r, uint64_t step,
                                       cudaStream_t stream) STATUS_MUST_CHECK;
/* n_steps more steps by lists. */
enum status cuda_sciddicat_steps(const struct cuda_backend *b, struct cuda_sciddicat_run *r,
                                 uint64_t n_steps, cudaStream_t stream) STATUS_MUST_CHECK;

/* cuda_sciddicat_figures: makes figures[] right for the rows that the run owns, and the answer from
 * those of all. */
enum status cuda_sciddicat_figures(struct cuda_sciddicat_run *r,
                                   cudaStream_t stream) STATUS_MUST_CHECK;
enum status cuda_sciddicat_answer_of(struct cuda_sciddicat_run *r,
                                     cudaStream_t stream) STATUS_MUST_CHECK;

extern const struct sciddicat_member_kernels cuda_sciddicat_member;

#endif
