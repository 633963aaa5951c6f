#!/usr/bin/env python3
"""peer_kmeans.py POINTS.npy START.npy OURS.npy [torch|cupy]: what a user of k-means runs today.

Ten iterations from the given start: scikit-learn's `lloyd`, with labels and inertia, or on the device with PyTorch or
CuPy, as one writes it there, points and labels resident. Prints the seconds, without imports and a warm first run, and
how far OURS, our centroids after as many, lie from these. Exit status 77: no such module or no device; 1: they lie
apart. (PyTorch's distances are expanded squares, so a point between two clusters may go to the other one.)
"""

import sys
import time

N_ITERATIONS = 10


def scikit_learn(points, start):
    import sklearn.cluster

    def fit():
        kmeans = sklearn.cluster.KMeans(
            n_clusters=len(start), init=start, n_init=1, max_iter=N_ITERATIONS, tol=0, algorithm="lloyd"
        )
        return kmeans.fit(points)

    fit()
    begin = time.perf_counter()
    centroids = fit().cluster_centers_
    return time.perf_counter() - begin, centroids


def torch(points, start):
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no device")
    x = torch.from_numpy(points).cuda()

    def fit():
        c = torch.from_numpy(start).cuda()
        ones = torch.ones(len(x), dtype=x.dtype, device="cuda")
        for _ in range(N_ITERATIONS):
            label = torch.cdist(x, c).argmin(1)
            total = torch.zeros_like(c).index_add_(0, label, x)
            count = torch.zeros(len(c), dtype=x.dtype, device="cuda").index_add_(0, label, ones)
            c = total / count[:, None]
        torch.cuda.synchronize()
        return c

    fit()
    begin = time.perf_counter()
    centroids = fit()
    return time.perf_counter() - begin, centroids.cpu().numpy()


def cupy(points, start):
    import cupy

    x = cupy.asarray(points)

    def fit():
        c = cupy.asarray(start)
        for _ in range(N_ITERATIONS):
            best = cupy.full(len(x), cupy.inf)
            label = cupy.zeros(len(x), dtype=cupy.int64)
            for i in range(len(c)):
                d2 = ((x - c[i]) ** 2).sum(axis=1)
                nearer = d2 < best
                label[nearer] = i
                best = cupy.minimum(best, d2)
            count = cupy.bincount(label, minlength=len(c))
            c = cupy.stack([cupy.bincount(label, x[:, j], len(c)) for j in range(x.shape[1])], axis=1) / count[:, None]
        cupy.cuda.Device().synchronize()
        return c

    fit()
    begin = time.perf_counter()
    centroids = fit()
    return time.perf_counter() - begin, cupy.asnumpy(centroids)


try:
    import numpy

    POINTS, START, OURS = (numpy.load(path) for path in sys.argv[1:4])
    PEER = {"torch": torch, "cupy": cupy}[sys.argv[4]] if len(sys.argv) > 4 else scikit_learn
    SECONDS, CENTROIDS = PEER(POINTS, START)
except (ImportError, RuntimeError) as why:  # no module, no driver, no device: all mean that there is no peer here
    print(why, file=sys.stderr)
    sys.exit(77)

APART = numpy.abs(CENTROIDS - OURS).max() / numpy.abs(OURS).max()
print(SECONDS, "apart", APART)
if not APART <= (1e-6 if len(sys.argv) > 4 else 1e-9):
    sys.exit(f"the centroids lie {APART} apart")
