/*
 * generate_request - the command line of leat generate.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_REQUEST_H
#define LEAT_PIPELINE_GENERATE_GENERATE_REQUEST_H

#include "pipeline/generate/generate.h"

#include <stdbool.h>
#include <stdint.h>

struct generate_request {
    enum generate_kind {
        GENERATE_CLUSTERS,
        GENERATE_DEM,
        GENERATE_NODES,
        GENERATE_POINTS,
        GENERATE_KINDS /* none of them */
    } kind;
    const char *backend;
    const char *path;               /* of a table: "-" is standard output; NULL: no table */
    uint64_t threads;               /* 0: as many as there are CPUs */
    struct generate_order clusters; /* of that kind, and so on */
    struct generate_dem_order dem;  /* its pair is the one below */
    struct generate_pair pair;
    struct generate_nodes_order nodes;
    struct generate_points_order points;
};

/* Fills *r, which borrows from argv; *done: help has been printed, and that was all.
 * STATUS_BAD_ARGUMENT. */
enum status generate_request_parse(int argc, char **argv, struct generate_request *r,
                                   bool *done) STATUS_MUST_CHECK;
/* Fine after a failure. */
void generate_request_free(struct generate_request *r);

#endif
