/*
 * clusters - how a program uses leat: three heaps of points, and a curve through nine nodes.
 *
 *   cc clusters.c -o clusters $(pkg-config --cflags --libs leat) -lm
 */
#include <leat.h>

#include <math.h>
#include <stdio.h>

enum { POINTS = 3000, NODES = 9 };

static int fail(struct leat_context *c)
{
    fprintf(stderr, "clusters: %s\n", leat_error(c));
    leat_close(c);
    return 1;
}

int main(void)
{
    static double points[POINTS][2];
    for (int i = 0; i < POINTS; i++) {
        points[i][0] = 10 * (i % 3) + cos(i);
        points[i][1] = 5 * (i % 3 == 1) + sin(0.37 * i);
    }
    struct leat_context *c;
    if (leat_open(NULL, &c) != LEAT_OK) {
        return fail(NULL);
    }
    printf("%s\n", leat_backend(c));

    const struct leat_array x = LEAT_ARRAY(points, LEAT_F8, POINTS, 2);
    struct leat_kmeans_options options = LEAT_KMEANS_DEFAULTS;
    options.k = 2;
    options.k_last = 6; /* the best of 2 to 6 */
    struct leat_kmeans_result *clusters;
    if (leat_kmeans(c, &x, &options, &clusters) != LEAT_OK) {
        return fail(c);
    }
    printf("%zu clusters, silhouette %.3f\n", clusters->k, clusters->silhouette);
    for (size_t k = 0; k < clusters->k; k++) {
        printf("%8.3f %8.3f  %llu points\n", clusters->centroids[2 * k],
               clusters->centroids[2 * k + 1], (unsigned long long)clusters->counts[k]);
    }
    leat_kmeans_free(clusters);

    double nodes[NODES], y[NODES], at[3] = {-0.5, 0, 0.25}, values[3];
    for (int i = 0; i < NODES; i++) {
        nodes[i] = cos((2 * i + 1) * 3.14159265358979323846 / (2 * NODES));
        y[i] = exp(nodes[i]);
    }
    struct leat_interpolant *p;
    if (leat_interpolant_new(c, nodes, y, NODES, 1, LEAT_BY_ITSELF, 3, &p) != LEAT_OK) {
        return fail(c);
    }
    if (leat_interpolant_evaluate(p, at, 3, values) != LEAT_OK) {
        leat_interpolant_free(p);
        return fail(c);
    }
    for (int i = 0; i < 3; i++) {
        printf("p(%5.2f) = %.6f\n", at[i], values[i]);
    }
    leat_interpolant_free(p);
    leat_close(c);
    return 0;
}
