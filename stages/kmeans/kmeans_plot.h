/*
 * kmeans_plot - the pictures of a k-means job, drawn and encoded when their pieces are read.
 */
#ifndef LEAT_STAGES_KMEANS_KMEANS_PLOT_H
#define LEAT_STAGES_KMEANS_KMEANS_PLOT_H

#include "formats/result/result.h"

struct kmeans_job;

enum {
    KMEANS_PLOT_WIDTH = 1240,
    KMEANS_PLOT_HEIGHT = 880,
    /* what drawing and encoding take: pixels, file */
    KMEANS_PLOT_BYTES = KMEANS_PLOT_WIDTH * KMEANS_PLOT_HEIGHT * 5
};

/* scatter.png (or .svg, .pdf, or none): a sample of the points, in the view. */
enum status kmeans_plot_scatter(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;
/* ks.png, likewise: inertia and silhouette by the number of clusters. */
enum status kmeans_plot_ks(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
