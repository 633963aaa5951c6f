"""What the samples are shown to give, beside what pandas and NumPy say of them; LEAT_TEST_BACKEND chooses the backend.

Everything wanted is computed here: coefficients by DataFrame.corr() (pairwise, bound 1e-10), the pairs listed,
the anomalous series by the manual's rule; the landslide by the definition of
sciddicaT, all cells in every step (bit for bit: NumPy rounds every operation); the curves by Lagrange's formula in
fractions; of the clusters that they are a fixed point of Lloyd's algorithm, and silhouettes by their definition.
"""
# ctest: asan=soak tsan=soak
import csv
import gzip
import json
import math
import pathlib
import statistics
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "scenarios"))
from lib import BACKEND, LEAT, TREE, begin

begin("numpy", "pandas")
import numpy as np
import pandas as pd

samples, out = pathlib.Path(TREE, "samples"), pathlib.Path("out")
for names, *options in ((["*.clusters.*"],), (["slope.*"], "-s", "raster=asc.gz"),
                        (["runge.*", "beans.*"], "-c", samples / "demo.conf")):
    given = [file for name in names for file in sorted(samples.glob(name))]
    subprocess.run([LEAT, "run", "-q", "-b", BACKEND, "-o", out, *options, *given], check=True)


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def rows(path):
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def compare(name, frame):
    """`frame` holds a series a column."""
    result = np.load(out / name / "pearson.npz")
    manifest = json.loads((out / name / "result.json").read_text())
    n = frame.shape[1]
    want = frame.corr().to_numpy()
    upper = want[np.triu_indices(n, 1)]
    check(list(result["names"]) == list(map(str, frame.columns)), f"{name}: names {result['names']}")
    check(np.array_equal(result["count"], frame.count()), f"{name}: count")
    check(np.allclose(result["mean"], frame.mean(), rtol=1e-13, atol=0), f"{name}: mean")
    check(result["r"].shape == upper.shape, f"{name}: {result['r'].shape} coefficients")
    check(np.array_equal(np.isnan(result["r"]), np.isnan(upper)), f"{name}: NaN in other places than pandas")
    check(np.nanmax(np.abs(result["r"] - upper)) <= 1e-10, f"{name}: r differs from pandas")

    off = np.abs(np.where(np.eye(n, dtype=bool), np.nan, want))
    defined = ~np.isnan(off).all(axis=1)
    medians = np.full(n, np.nan)
    medians[defined] = np.nanmedian(off[defined], axis=1)
    z = np.arctanh(np.minimum(medians, 1 - 2.0**-53))
    middle, m = np.nanmedian(z), np.count_nonzero(defined)
    u, d = statistics.NormalDist().inv_cdf(1 - 0.005 / m), max(2, 0.37 * (m - 1))
    t = math.sqrt(d * math.expm1((d - 1.5) / (d - 1) ** 2 * u * u))
    away = np.maximum(1.4826 * np.nanmedian(np.abs(z - middle)) * t,
                      u / np.sqrt(frame.count() * frame.count().mean() / len(frame) - 3))
    strongest = np.nanmax(np.where(np.isnan(off), -1, off), axis=1)
    anomalous = [str(c) for c, b, limit in zip(frame.columns, strongest, np.tanh(middle - away)) if 0 <= b < limit]
    series = rows(out / name / "series.csv.gz")
    flagged = [row["name"] for row in series if row["anomaly"] == "1"]
    check(flagged == anomalous, f"{name}: anomalous {flagged}, not {anomalous}")
    check(manifest["summary"]["anomalous"]["names"] == anomalous, f"{name}: result.json's anomalous")

    pairs = rows(out / name / "pairs.csv.gz")
    n_defined = int(np.sum(~np.isnan(upper)))
    check(len(pairs) == min(1000, n_defined), f"{name}: {len(pairs)} pairs listed of {n_defined}")
    weakest = min(abs(float(row["r"])) for row in pairs)
    cut = np.sort(np.abs(upper[~np.isnan(upper)]))[-len(pairs)]
    check(abs(weakest - cut) <= 1e-10, f"{name}: weakest pair listed {weakest}, not {cut}")
    for row in pairs:
        check(abs(float(row["r"]) - want[int(row["i"]), int(row["j"])]) <= 1e-10, f"{name}: pair {row}")
    return manifest, anomalous


table = pd.read_csv(samples / "greenhouse.clusters.csv", sep=";", decimal=",", comment="#")
manifest, anomalous = compare("greenhouse", table.drop(columns=["Date", "Time"]))
check(anomalous == ["north-5"], f"not the sensor that drifts stands out, but {anomalous}")
check(manifest["summary"]["degenerate"]["names"] == ["south-3"], "the sensor that is stuck is not found")
check(any("Date" in warning for warning in manifest["warnings"]), "no warning that Date was left out")

compare("wells", pd.read_csv(samples / "wells.clusters.csv", header=None, index_col=0).T)

def read_grid(path):
    """Keys and cells of an ESRI ASCII grid."""
    opener = gzip.open if path.suffix == ".gz" else open
    keys = {}
    with opener(path, "rt") as file:
        lines = file.read().splitlines()
    while lines[0][0].isalpha():
        key, value = lines.pop(0).split()
        keys[key.lower()] = float(value)
    cells = np.array(" ".join(lines).split(), dtype=np.float64)
    return keys, cells.reshape(int(keys["nrows"]), int(keys["ncols"]))


def step(z, h, epsilon, rate):
    """One step of sciddicaT (see kernels/sciddicat/sciddicat.h): the new thickness."""
    inner = (slice(1, -1), slice(1, -1))
    sides = {  # neighbour: what an inner cell sees there
        "N": (slice(0, -2), slice(1, -1)),
        "W": (slice(1, -1), slice(0, -2)),
        "E": (slice(1, -1), slice(2, None)),
        "S": (slice(2, None), slice(1, -1)),
    }
    emits = h[inner] > epsilon
    level = z + h
    u = [z[inner] + epsilon] + [level[s] for s in sides.values()]
    alive = [emits.copy() for _ in u]
    while True:
        average = h[inner] - epsilon
        for a, x in zip(alive, u):
            average = np.where(a, average + x, average)
        with np.errstate(divide="ignore", invalid="ignore"):
            average = average / np.sum(alive, axis=0)
        dies = [a & (average <= x) for a, x in zip(alive, u)]
        if not np.any(dies):
            break
        alive = [a & ~d for a, d in zip(alive, dies)]
    out = {}
    for name, a, x in zip(sides, alive[1:], u[1:]):
        out[name] = np.zeros_like(h)
        out[name][inner] = np.where(a, (average - x) * rate, 0)
    new = h.copy()
    t = h[inner]
    for name, back in zip(sides, "SEWN"):  # what the neighbour sent back this way, less what went there
        t = t + (out[back][sides[name]] - out[name][inner])
    new[inner] = t
    return new


keys, dem = read_grid(samples / "slope.dem.asc")
_, source = read_grid(samples / "slope.source.asc")
manifest = json.loads((out / "slope" / "result.json").read_text())
z, h = dem.copy(), source.copy()
z[1:-1, 1:-1] -= np.where(source > 0, source, 0)[1:-1, 1:-1]
peak, arrival = h.copy(), np.where(h > 0.001, 0, -1)
for number in range(1, manifest["summary"]["steps"] + 1):
    h = step(z, h, 0.001, 0.5)
    peak = np.maximum(peak, h)
    arrival = np.where((arrival < 0) & (h > 0.001), number, arrival)
for name, want in {"thickness": h, "max_thickness": peak, "arrival": arrival}.items():
    got_keys, got = read_grid(out / "slope" / f"{name}.asc.gz")
    check(np.array_equal(got, want), f"slope: {name} differs from NumPy in {np.sum(got != want)} cells")
    check(all(got_keys[k] == keys[k] for k in ("ncols", "nrows", "xllcorner", "yllcorner", "cellsize")), f"slope: {name}'s place")
area = keys["cellsize"] ** 2
check(abs(manifest["summary"]["volume_end_m3"] - h.sum() * area) <= 1e-9 * h.sum() * area, "slope: the volume")
check(manifest["summary"]["active_cells"] == np.sum(h > 0.001), "slope: the active cells")

walks = np.load(samples / "walks.clusters.npy").astype(np.float64)
manifest, _ = compare("walks", pd.DataFrame(walks.T, columns=[f"row {i + 1}" for i in range(len(walks))]))
check(any("random walks" in warning for warning in manifest["warnings"]), "no warning about random walks")


nodes = [[Fraction(cell) for cell in line] for line in pd.read_csv(samples / "runge.nodes.csv", float_precision="round_trip").to_numpy().tolist()]
queries = pd.read_csv(samples / "runge.query.csv", float_precision="round_trip")["x"].to_numpy()
weights = []
for j, (x, *_) in enumerate(nodes):
    weights.append(Fraction(1))
    for i, (other, *_) in enumerate(nodes):
        weights[j] /= x - other if i != j else 1
with np.load(out / "runge" / "curve.npz") as curve:
    check(np.array_equal(curve["x"], queries), "runge: the queries")
    got = curve["y"]
check(got.shape == (2, len(queries)), f"runge: {got.shape} values")
worst = 0
for q, query in enumerate(map(Fraction, queries.tolist())):
    hit = [line for line in nodes if line[0] == query]
    product = Fraction(1)
    for x, *_ in nodes:
        product *= query - x
    for c in range(2):
        if hit:
            check(got[c, q] == hit[0][1 + c], f"runge: a node's value at {queries[q]}")
            continue
        terms = [product * w / (query - x) * values[c] for w, (x, *values) in zip(weights, nodes)]
        worst = max(worst, abs(Fraction(got[c, q].item()) - sum(terms)) / sum(map(abs, terms)))
check(worst <= Fraction(50, 2**53), f"runge: {float(worst * 2**53):.1f} u from the polynomial")

table = pd.read_csv(samples / "beans.points.csv")
manifest = json.loads((out / "beans" / "result.json").read_text())
with np.load(out / "beans" / "kmeans.npz") as z:
    kmeans = dict(z)
points = table.to_numpy() / table.std(ddof=0).to_numpy()
centroids, labels = kmeans["centroids"] / table.std(ddof=0).to_numpy(), kmeans["labels"]
k = len(centroids)
d2 = ((points[:, None] - centroids) ** 2).sum(axis=2)
check(k == 4 and manifest["summary"]["k"] == 4, f"beans: {k} clusters")
check(np.array_equal(d2.argmin(axis=1), labels), "beans: a point is not of the nearest cluster")
check(np.array_equal(np.bincount(labels), kmeans["counts"]), "beans: counts")
means = np.array([table.to_numpy()[labels == c].mean(axis=0) for c in range(k)])
check(np.allclose(means, kmeans["centroids"], rtol=1e-13, atol=0), "beans: a centroid is not the mean of its points")
check(np.isclose(d2.min(axis=1).sum(), manifest["summary"]["inertia"], rtol=1e-12), "beans: inertia")
far = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
near = np.array([far[:, labels == c].sum(axis=1) for c in range(k)])
size = np.bincount(labels)
own = near[labels, np.arange(len(points))] / (size[labels] - 1)
other = np.where(np.arange(k)[:, None] == labels, np.inf, near / size[:, None]).min(axis=0)
silhouette = ((other - own) / np.maximum(other, own)).mean()
check(abs(silhouette - manifest["summary"]["silhouette"]) <= 1e-10, f"beans: silhouette {silhouette}")
text = rows(out / "beans" / "labels.csv.gz")
check([int(row["cluster"]) for row in text] == labels.tolist(), "beans: labels as text")
