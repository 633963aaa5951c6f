"""Clusters against those of scikit-learn's KMeans(algorithm="lloyd") from the same points, through files, whole program.
LEAT_TEST_BACKEND chooses the backend.

Labels and numbers of iterations must be equal, centroids within 1e-9 of the columns' ranges, inertia and silhouette
within 1e-9.
"""
# ctest: asan=soak tsan=no
import json
import os
import subprocess

from lib import BACKEND, LEAT, begin

begin("numpy", "sklearn")
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import silhouette_score

rng = np.random.default_rng(4)


def run(x, options):
    path, out = "x.points.npy", "out"
    np.save(path, x)
    command = [LEAT, "run", "-q", "--force", "-b", BACKEND, "-o", out, path]
    for option in options:
        command += ["-s", option]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    with open(os.path.join(out, "x", "result.json"), encoding="utf-8") as f:
        return np.load(os.path.join(out, "x", "kmeans.npz")), json.load(f)["summary"]


def scaled(x, scale):
    if scale == "unit":
        spread = x.std(axis=0)
    elif scale == "range":
        spread = np.ptp(x, axis=0)
    else:
        return x
    return x / np.where(spread > 0, spread, 1) * (spread > 0)


def check(name, x, k, scale="none", tol=1e-4, max_iter=300, weight=None):
    options = [f"k={k}", "init=first", f"scale={scale}", f"tol={tol}", f"max_iter={max_iter}"]
    if weight is None:
        z, told = run(x, options)
    else:  # in a column among the others
        z, told = run(np.insert(x, 1, weight, axis=1), [*options, "weight=2"])
    y = scaled(np.asarray(x, dtype=np.float64), scale)
    want = KMeans(k, init=y[:k], n_init=1, algorithm="lloyd", tol=tol, max_iter=max_iter).fit(y, sample_weight=weight)
    what = f"{name}, k = {k}, scale = {scale}, tol = {tol}"
    assert np.bincount(want.labels_, minlength=k).all(), f"{what}: scikit-learn leaves a cluster empty"
    assert np.array_equal(z["labels"], want.labels_), f"{what}: {(z['labels'] != want.labels_).sum()} labels differ"
    assert z["labels"].dtype == want.labels_.dtype, z["labels"].dtype
    assert told["n_iterations"] == want.n_iter_, f"{what}: {told['n_iterations']} iterations, not {want.n_iter_}"
    error = np.abs(z["centroids"] * z["scale"] - want.cluster_centers_ * (z["scale"] > 0))
    bound = 1e-9 * np.maximum(np.abs(y).max(axis=0), 1e-300)
    assert (error <= bound).all(), f"{what}: centroids differ by {error.max():.3g}"
    assert abs(told["inertia"] - want.inertia_) <= 1e-9 * want.inertia_, (what, told["inertia"], want.inertia_)
    if told["silhouette_points"] == len(x) and len(np.unique(want.labels_)) > 1:
        silhouette = silhouette_score(y, want.labels_)
        assert abs(told["silhouette"] - silhouette) <= 1e-9, (what, told["silhouette"], silhouette)
    print(f"{what}: {told['n_iterations']} iterations, centroids within {error.max():.2g}")


iris = rng.permutation(load_iris().data)
digits = rng.permutation(load_digits().data)
blobs = make_blobs(20000, 8, centers=12, random_state=7)[0]
noise = rng.normal(size=(5000, 3))
for scale in ("none", "unit", "range"):
    check("iris", iris, 3, scale)
    check("iris", iris, 8, scale)
    check("digits", digits, 10, scale)
    check("blobs", blobs, 12, scale)
check("iris", iris, 1)
check("iris in single precision", iris.astype(np.float32), 4)
check("digits", digits, 32)
check("blobs", blobs, 40)
check("blobs far away", blobs + 1e6, 12)
check("noise", noise, 6, tol=0)
check("noise", noise, 6, max_iter=7)
check("noise", noise, 2)
for scale in ("none", "unit"):
    check("iris, weighted", iris, 3, scale, weight=rng.uniform(0, 5, len(iris)))
    check("blobs, weighted", blobs, 12, scale, weight=rng.uniform(0, 1e-6, len(blobs)))
check("digits, of which half have no weight", digits, 10, weight=rng.integers(0, 2, len(digits)).astype(float))
check("noise, weighted", noise.astype(np.float32), 6, tol=0, weight=rng.exponential(size=len(noise)).astype(np.float32))


def predicted(name, x, y, k):
    """Points labelled by centroids of others."""
    fit = KMeans(k, n_init=1, random_state=3).fit(x)
    np.save("y.points.npy", y)
    np.save("y.centroids.npy", fit.cluster_centers_)
    subprocess.run([LEAT, "run", "-q", "--force", "-b", BACKEND, "-o", "out", "y.points.npy", "y.centroids.npy", "-s",
                    "centroids=file"], check=True, stdin=subprocess.DEVNULL)
    z = np.load("out/y/kmeans.npz")
    assert np.array_equal(z["labels"], fit.predict(y)), name
    assert np.isclose(z["inertia"], -fit.score(y), rtol=1e-9), name
    print(f"{name}: {len(y)} points labelled by {k} centroids, as scikit-learn's predict")


predicted("blobs", blobs[:9000], blobs[9000:], 12)
predicted("digits", digits[:900], digits[900:], 40)


def found(name, x, k):
    """With all defaults the runs of both find the same best clusters, up to their order."""
    z, told = run(x, [f"k={k}"])
    want = KMeans(k, n_init=10, random_state=1).fit(x)
    assert abs(told["inertia"] - want.inertia_) <= 1e-9 * want.inertia_, (name, told["inertia"], want.inertia_)
    assert len(set(zip(z["labels"].tolist(), want.labels_.tolist()))) == k, name
    print(f"{name}, k = {k}: inertia {told['inertia']:.6g}, as scikit-learn's best of ten")


for seed in range(4):
    grid = np.stack(np.divmod(np.arange(30), 6), axis=1) * 10.0
    found(f"30 blobs, {seed}", make_blobs(1500, centers=grid, cluster_std=1, random_state=seed)[0], 30)
found("far blobs", make_blobs(3000, centers=grid * 100 + 1e5, cluster_std=1, random_state=5)[0], 30)
