"""The library by ctypes and the command on the same series, points, nodes and maps: the same bits. c_library.py LIBRARY LEAT"""
import ctypes
import json
import os
import subprocess
import sys

import numpy as np

library, leat = ctypes.CDLL(sys.argv[1]), sys.argv[2]
u64, real, size, pointer = ctypes.c_uint64, ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p


class Array(ctypes.Structure):
    _fields_ = [("data", pointer), ("type", ctypes.c_int), ("rows", size), ("columns", size), ("row_bytes", size),
                ("memory", ctypes.c_int), ("stream", pointer)]


class Options(ctypes.Structure):
    _fields_ = [("size", size), ("k", size), ("k_last", size), ("n_init", size), ("seed", u64), ("max_iter", u64),
                ("tol", real), ("init", ctypes.c_int), ("scale", ctypes.c_int)]


class Result(ctypes.Structure):
    _fields_ = [("k", size), ("n", size), ("columns", size), ("centroids", ctypes.POINTER(real)),
                ("labels", ctypes.POINTER(ctypes.c_int32)), ("counts", ctypes.POINTER(u64)),
                ("within", ctypes.POINTER(real)), ("inertia", real), ("silhouette", real), ("n_iterations", u64),
                ("converged", ctypes.c_int)]


class Correlate(ctypes.Structure):
    _fields_ = [("size", size), ("method", ctypes.c_int), ("precision", ctypes.c_int), ("min_samples", size), ("top", size),
                ("without_r", ctypes.c_int)]


class Pair(ctypes.Structure):
    _fields_ = [("i", ctypes.c_uint32), ("j", ctypes.c_uint32), ("r", real)]


class Correlated(ctypes.Structure):
    _fields_ = [("n_series", size), ("n_samples", size),
                *((name, ctypes.POINTER(real)) for name in ("count", "mean", "m2", "min", "max", "lag1", "median_abs", "r")),
                ("pairs", ctypes.POINTER(Pair)), ("n_pairs", size), ("n_undefined", u64)]


class Landslide(ctypes.Structure):
    _fields_ = [("size", size), ("steps", u64), ("settle", u64), ("report_every", u64), ("epsilon", real), ("r", real),
                ("nodata", ctypes.c_int)]


class Report(ctypes.Structure):
    _fields_ = [("step", u64), ("on_map", real), ("lost_edge", real), ("lost_nodata", real), ("largest", real),
                ("n_active", u64)]


class Slid(ctypes.Structure):
    _fields_ = [("rows", size), ("columns", size), ("thickness", ctypes.POINTER(real)),
                ("max_thickness", ctypes.POINTER(real)), ("arrival", ctypes.POINTER(ctypes.c_int32)),
                ("reports", ctypes.POINTER(Report)), ("n_reports", size), ("settled", ctypes.c_int)]


def check(status, context):
    library.leat_error.restype = ctypes.c_char_p
    if status != 0:
        sys.exit("status %d: %s" % (status, library.leat_error(context).decode()))


random = np.random.default_rng(5)
context = pointer()
check(library.leat_open(None, ctypes.byref(context)), None)

x = random.normal(size=(40000, 4)) + 6 * random.integers(0, 3, (40000, 1)) * [1, 0, 2, 0]
np.save("a.points.npy", x)
for at, (options, settings) in enumerate([
        (Options(size=ctypes.sizeof(Options), k=3), ["k=3"]),
        (Options(size=ctypes.sizeof(Options), k=2, k_last=9, n_init=3, seed=11, scale=1),
         ["k=2-9", "n_init=3", "seed=11", "scale=unit"]),
        (Options(size=ctypes.sizeof(Options), k=12, init=1, tol=-1, max_iter=40, scale=2),
         ["k=12", "init=random", "tol=0", "max_iter=40", "scale=range"])]):
    points = Array(data=x.ctypes.data, type=0, rows=x.shape[0], columns=x.shape[1], row_bytes=0)
    made = ctypes.POINTER(Result)()
    check(library.leat_kmeans(context, ctypes.byref(points), ctypes.byref(options), ctypes.byref(made)), context)
    mine = made.contents
    subprocess.run([leat, "run", "-q", "-o", "out%d" % at, *sum((["-s", s] for s in settings), []), "a.points.npy"],
                   check=True)
    theirs = np.load("out%d/a/kmeans.npz" % at)
    k = mine.k
    assert k == len(theirs["counts"]), (k, settings)
    assert np.array_equal(np.ctypeslib.as_array(mine.centroids, (k, 4)), theirs["centroids"]), settings
    assert np.array_equal(np.ctypeslib.as_array(mine.labels, (40000,)), theirs["labels"]), settings
    assert np.array_equal(np.ctypeslib.as_array(mine.within, (k,)), theirs["within"]), settings
    assert mine.inertia == float(theirs["inertia"]) and mine.n_iterations == int(theirs["n_iterations"]), settings
    with open("out%d/a/result.json" % at) as text:
        summary = json.load(text)["summary"]
    assert (mine.silhouette, mine.converged) == (summary["silhouette"], summary["converged"]), settings
    library.leat_kmeans_free(made)

# series, some with gaps, one constant, some far from 0
series = random.normal(size=(130, 300)).cumsum(1) + 1e3 * random.integers(0, 3, (130, 1))
series[7] = 3
gappy = np.where(random.uniform(size=series.shape) < 0.05, np.nan, series)
for name, x, options, settings in [
        ("whole", series[:40], Correlate(size=ctypes.sizeof(Correlate), top=1000), []),
        ("gaps", gappy, Correlate(size=ctypes.sizeof(Correlate), top=30, min_samples=20), ["top=30", "min_samples=20"]),
        ("ranks", gappy.round(), Correlate(size=ctypes.sizeof(Correlate), method=1, top=40), ["method=spearman", "top=40"]),
        ("small", series.astype("f4"), Correlate(size=ctypes.sizeof(Correlate), precision=1, top=12),
         ["precision=f32", "top=12"])]:
    x, made = np.ascontiguousarray(x), ctypes.POINTER(Correlated)()
    n = len(x)
    array = Array(data=x.ctypes.data, type=int(x.dtype == np.float32), rows=n, columns=300, row_bytes=0)
    check(library.leat_correlate(context, ctypes.byref(array), ctypes.byref(options), ctypes.byref(made)), context)
    mine = made.contents
    np.save(name + ".clusters.npy", x)
    subprocess.run([leat, "run", "-q", "-o", "r", "-s", "series=rows", *sum((["-s", s] for s in settings), []),
                    name + ".clusters.npy"], check=True)
    theirs = np.load("r/%s/pearson.npz" % name)
    for what in "count", "mean", "min", "max":
        assert np.array_equal(np.ctypeslib.as_array(getattr(mine, what), (n,)), theirs[what]), (name, what)
    assert np.allclose(np.ctypeslib.as_array(mine.m2, (n,)), theirs["std"] ** 2 * (theirs["count"] - 1), 1e-14, 0)
    assert np.array_equal(np.ctypeslib.as_array(mine.r, theirs["r"].shape), theirs["r"], equal_nan=True), name
    assert mine.n_undefined == np.isnan(theirs["r"]).sum() >= n - 1, name
    table = np.genfromtxt("r/%s/series.csv.gz" % name, delimiter=",", skip_header=1, usecols=(7, 8))
    assert np.array_equal(np.ctypeslib.as_array(mine.median_abs, (n,)), table[:, 0], equal_nan=True), name
    assert np.array_equal(np.ctypeslib.as_array(mine.lag1, (n,)), table[:, 1], equal_nan=True), name
    pairs = np.genfromtxt("r/%s/pairs.csv.gz" % name, delimiter=",", skip_header=1, usecols=(0, 1, 4))
    assert [[p.i, p.j, p.r] for p in mine.pairs[:mine.n_pairs]] == pairs.tolist() and len(pairs) > 10, name
    library.leat_correlate_free(made)

nodes = np.cos((2 * np.arange(40) + 1) * np.pi / 80)
y = np.ascontiguousarray([np.exp(nodes), np.sin(9 * nodes)])
queries = random.uniform(-1, 1, 5000)
np.save("b.nodes.npy", np.column_stack([nodes, *y]))
np.save("b.query.npy", queries)
subprocess.run([leat, "run", "-q", "-o", "curves", "b.nodes.npy", "b.query.npy"], check=True)
theirs = np.load("curves/b/curve.npz")
values, curve = np.empty((5000, 2)), pointer()
check(library.leat_interpolant_new(context, pointer(nodes.ctypes.data), pointer(y.ctypes.data), size(40), size(2), 0,
                                   u64(5000), ctypes.byref(curve)), context)
check(library.leat_interpolant_evaluate(curve, pointer(queries.ctypes.data), size(5000), pointer(values.ctypes.data)),
      context)
assert np.array_equal(values.T, theirs["y"])
library.leat_interpolant_free(curve)


def array_of(x):
    return Array(data=x.ctypes.data, type=0, rows=x.shape[0], columns=x.shape[1], row_bytes=0)


def slide(at, name, inputs, dem, source, options, settings):
    """By both; `settings`: what the options are to the command."""
    made = ctypes.POINTER(Slid)()
    check(library.leat_landslide(context, ctypes.byref(array_of(dem)), ctypes.byref(array_of(source)),
                                 ctypes.byref(options), ctypes.byref(made)), context)
    mine, folder, masked = made.contents, "slides%d/%s" % (at, name), np.isnan(dem)
    subprocess.run([leat, "run", "-q", "-o", "slides%d" % at, *sum((["-s", s] for s in settings), []), "-s", "raster=asc.gz",
                    *inputs], check=True)
    for what, none in ("thickness", -9999), ("max_thickness", -9999), ("arrival", -1):
        theirs = np.loadtxt("%s/%s.asc.gz" % (folder, what), comments=list("ncxyN"))  # its head
        ours = np.ctypeslib.as_array(getattr(mine, what), dem.shape)
        assert np.array_equal(ours[~masked], theirs[~masked]), (name, what)
        assert (theirs[masked] == none).all() and (np.isnan(ours) if none < -1 else ours == -1)[masked].all(), name
    rows = np.loadtxt(folder + "/mass.csv.gz", delimiter=",", skiprows=1)
    area = rows[0, 1] / mine.reports[0].on_map
    assert area > 0 and len(rows) == mine.n_reports
    for row, report in zip(rows, mine.reports[:mine.n_reports]):
        assert row[0] == report.step and row[4] == report.n_active and row[5] == report.largest, name
        assert np.allclose(row[1:4], area * np.array([report.on_map, report.lost_edge, report.lost_nodata]), 1e-14, 0)
    library.leat_landslide_free(made)


down, across = np.mgrid[0:90, 0:70]
dem = 900 - 3.0 * down + 0.2 * (across % 23 - 11) ** 2 + random.uniform(0, 1, (90, 70))
dem[40:43, 10:60] = np.nan
source = np.where((down % 30 > 4) & (down % 30 < 12) & (across % 23 > 7) & (across % 23 < 15), 4.0, 0)
source[down == 60] = np.nan
np.save("c.dem.npy", dem)
np.save("c.source.npy", source)
for at, (options, settings) in enumerate([
        (Landslide(size=ctypes.sizeof(Landslide), steps=700), ["steps=700"]),
        (Landslide(size=ctypes.sizeof(Landslide), steps=301, report_every=50, epsilon=0.05, r=0.25, nodata=1),
         ["steps=301", "report_every=50", "p_epsilon=0.05", "p_r=0.25", "nodata=sink"]),
        (Landslide(size=ctypes.sizeof(Landslide), steps=4000, settle=10, epsilon=2), ["settle=10", "p_epsilon=2"])]):
    slide(at, "c", ["c.dem.npy", "c.source.npy"], dem, source, options, settings)
tessina = sys.argv[3]
if os.path.isdir(tessina):
    dem, source = (np.loadtxt("%s/tessina.%s.asc" % (tessina, what), skiprows=6) for what in ("dem", "source"))
    slide(3, "tessina", [tessina], dem, source, Landslide(size=ctypes.sizeof(Landslide)), ["nodata=compat"])
else:
    print("NOT SHOWN here: the Tessina landslide, neither LEAT_TESSINA nor " + tessina)
library.leat_close(context)
print("the same bits by the library and by the command")
