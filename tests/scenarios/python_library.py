"""leat.py as it is installed: correlations, clusters, curves and landslides against NumPy, SciPy, scikit-learn and the
command; what it takes, errors, threads, cancelling."""
import os
import signal
import subprocess
import sys
import threading

from lib import LEAT, WAIT_S, WATCHED, begin, skip

if WATCHED:
    skip("a library with a sanitizer wants a program with one")
begin("numpy", "scipy", "sklearn")
with open("/proc/cpuinfo", encoding="utf-8") as f:
    if "avx2" in f.read():
        os.environ["OPENBLAS_CORETYPE"] = "Haswell"  # of the command, NumPy and the library alike
import numpy as np
from scipy.interpolate import BarycentricInterpolator, PchipInterpolator
from scipy.stats import spearmanr
from sklearn.cluster import KMeans

# LEAT_WHEEL: that of the wheel is under test, which this Python has
for component in () if "LEAT_WHEEL" in os.environ else ("leat", "library", "python"):
    subprocess.run(["cmake", "--install", os.path.dirname(LEAT) + "/..", "--prefix", "usr", "--component", component],
                   check=True, stdout=subprocess.DEVNULL)
sys.path.insert(0, "usr/lib/python3/dist-packages")
import leat

assert leat.__version__ in subprocess.run([LEAT, "--version"], capture_output=True, text=True, check=True).stdout
rng = np.random.default_rng(7)


def raises(kind, says, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as e:
        assert says in str(e), (says, str(e))
    else:
        sys.exit(f"no {kind.__name__}: {says}")


# --- against others
x = rng.normal(size=(60, 200)).cumsum(1)
got = leat.correlate(x, top=5)
assert np.allclose(got.matrix(), np.corrcoef(x), 0, 1e-12) and got.n_undefined == 0
assert np.allclose(got.std, x.std(1, ddof=1), 1e-13, 0) and np.allclose(got.mean, x.mean(1), 1e-12, 1e-12)
assert got.pairs.shape == (5,) and got.pairs["r"][0] == got.r[np.abs(got.r).argmax()]
assert got.matrix()[got.pairs["i"][4], got.pairs["j"][4]] == got.pairs["r"][4]
assert np.allclose(leat.correlate(x, "spearman").matrix(), spearmanr(x, axis=1).statistic, 0, 1e-12)
assert np.allclose(leat.correlate(x, precision="f32").r, got.r, 0, 1e-6)
only = leat.correlate(x, r=False, top=3)
assert only.r is None and np.array_equal(only.pairs["r"], got.pairs["r"][:3])
assert leat.correlate(x).pairs is None or len(leat.correlate(x).pairs) == 0

lagged = leat.correlate(x, lags=(-3, 5), top=4, precision="f32")
shifted = {lag: np.corrcoef(x[:, max(lag, 0):200 + min(lag, 0)], x[:, max(-lag, 0):200 - max(lag, 0)])[60:, :60]
           for lag in range(-3, 6)}  # [i, j]: of j, `lag` samples later
best = np.stack([shifted[lag] for lag in range(-3, 6)])
upper = np.triu_indices(60, 1)
assert np.allclose(np.abs(lagged.r), np.abs(best).max(0)[upper], 0, 1e-12) and lagged.lag.dtype == np.int32
assert np.allclose(lagged.r, best[(lagged.lag + 3, *upper)], 0, 1e-12) and set(lagged.lag) == set(range(-3, 6))
assert np.array_equal(lagged.lag_matrix(), -lagged.lag_matrix().T) and lagged.lag_matrix()[upper].tolist() == lagged.lag.tolist()
assert lagged.pairs["r"][0] == lagged.r[np.abs(lagged.r).argmax()] and got.lag is None
assert np.array_equal(leat.correlate(x, lags=4).lag, leat.correlate(x, lags=(-4, 4), r=False).lag)

points = np.vstack([rng.normal(c, 1, size=(300, 3)) for c in (0, 8, [3, 9, 0], -7)])
rng.shuffle(points)
theirs = KMeans(4, init=points[:4], n_init=1, algorithm="lloyd").fit(points)
mine = leat.kmeans(points, 4, init="first", n_init=1)
assert np.array_equal(mine.labels, theirs.labels_) and mine.n_iterations == theirs.n_iter_ and mine.converged is True
assert np.allclose(mine.centroids, theirs.cluster_centers_, 1e-12, 1e-12) and mine.counts.sum() == len(points)
assert len(leat.kmeans(points, (2, 7)).centroids) == 4
longest = [leat.kmeans(points, 9, tol=t, n_init=1, seed=3).n_iterations for t in (1e-4, 0)]
assert longest[1] > longest[0], longest

nodes = np.cos((2 * np.arange(30) + 1) * np.pi / 60)
y = np.column_stack([np.exp(nodes), np.sin(5 * nodes)])
queries = rng.uniform(-1, 1, (4, 25))
curve = leat.Interpolant(nodes, y)
assert curve(queries).shape == (4, 25, 2) and np.allclose(curve(queries), BarycentricInterpolator(nodes, y)(queries), 0, 1e-13)
assert np.array_equal(leat.Interpolant(nodes, y[:, 1])(queries), curve(queries)[..., 1]) and curve(0.5).shape == (2,)
assert 1 < curve.lebesgue < 4 and curve([]).shape == (0, 2) and np.isnan(curve(np.nan)).all()
at = np.sort(nodes)
assert np.allclose(leat.Interpolant(at, np.abs(at), "pchip")(queries), PchipInterpolator(at, np.abs(at))(queries), 0, 1e-14)

# --- what it takes, with the same bits: strides, types, lists, masks
wide = np.zeros((120, 500))
wide[::2, 100:300] = x
for given in wide[::2, 100:300], x.tolist(), np.asfortranarray(x), x.astype(">f8"), x[::-1][::-1], np.ma.masked_array(x):
    assert np.array_equal(leat.correlate(given).r, got.r)
array, kept = leat._matrix("x", wide[::2, 100:300])
assert array.data == wide[:, 100:].ctypes.data and kept.base is wide, "a copy"
small = x.astype(np.float32)
assert leat._matrix("x", small)[1] is small
assert np.allclose(leat.correlate(small).r, np.corrcoef(small)[np.triu_indices(60, 1)], 0, 1e-6)
assert np.array_equal(leat.correlate(np.broadcast_to(x[0], (2, 200))).r, leat.correlate(x[[0, 0]]).r)
whole = rng.integers(0, 9, (40, 3))
assert np.array_equal(leat.kmeans(whole, 3).labels, leat.kmeans(whole.astype(float), 3).labels)
gaps = np.where(rng.uniform(size=x.shape) < 0.1, np.nan, x)
assert np.array_equal(leat.correlate(np.ma.masked_invalid(gaps)).r, leat.correlate(gaps).r)
assert np.isnan(leat.correlate(gaps, min_samples=190).r).all()

# --- the command, with the same bits
down, across = np.mgrid[0:90, 0:300]
dem = 900 - 3.0 * down + 0.2 * (across % 23 - 11) ** 2 + rng.uniform(0, 1, down.shape)
dem[40:43, 10:60] = np.nan
source = np.where((down % 30 > 4) & (down % 30 < 12) & (across % 23 > 7), 4.0, 0)
slide = leat.landslide(dem, source, 200, nodata="sink", epsilon=0.05, r=0.25)
for name, grid in ("s.dem.npy", dem), ("s.source.npy", source), ("x.clusters.npy", x), ("p.points.npy", points):
    np.save(name, grid)
told = leat.run("s.dem.npy", "s.source.npy", steps=200, nodata="sink", p_epsilon=0.05, p_r=0.25, output="out")
for name in "thickness", "max_thickness", "arrival":
    assert np.array_equal(told[name], getattr(slide, name), equal_nan=name != "arrival"), name
assert told["summary"]["steps"] == 200 and told["pipeline"] == "sciddicat" and not slide.settled
assert np.array_equal(told["mass"]["active_cells"], slide.reports["n_active"])
written = leat.run("s.dem.npy", "s.source.npy", steps=200, nodata="sink", p_epsilon=0.05, p_r=0.25, raster_type="f32")
assert np.array_equal(written["thickness"], slide.thickness.astype("f4"), equal_nan=True)
subprocess.run([LEAT, "run", "-q", "-s", "steps=200", "-s", "nodata=sink", "-s", "p_epsilon=0.05", "-s", "p_r=0.25", "-s",
                "raster=asc.gz", "-o", "text", "s.dem.npy", "s.source.npy"], check=True)
for name, none in ("thickness", -9999), ("arrival", -1):  # as other readers see it
    text = np.loadtxt(f"text/s/{name}.asc.gz", comments=list("ncxyN"))
    assert np.array_equal(np.where(np.isnan(dem), none, told[name]), text), name
assert np.array_equal(leat.run("x.clusters.npy", pipeline="pearson", series="rows")["r"], got.r)
told = leat.run("x.clusters.npy", pipeline="pearson", series="rows", lags="-3:5")
assert np.array_equal(told["r_lag"][upper], lagged.r) and np.array_equal(told["lag"], lagged.lag_matrix())
several = leat.run("p.points.npy", "x.clusters.npy", options=["--threads", "2"], figure="none", tables=False)
assert set(several) == {"p", "x"} and "pairs" not in several["x"] and "labels" in several["p"]
assert np.array_equal(several["p"]["labels"], leat.kmeans(points).labels)
with open("names.clusters.csv", "w", encoding="utf-8") as f:
    f.write('"a, b",c,d\n1,2,9\n2,1,4\n4,3,1\n')
told = leat.run("names.clusters.csv")
assert list(told["series"]["name"]) == ["a, b", "c", "d"] and told["pairs"]["n"].dtype == np.float64
assert leat.load("out/s")["summary"] == leat.load("out/s", tables=False)["summary"]

# --- errors
raises(leat.BadArgument, "lags: (3, 1); give a whole number", leat.correlate, x, lags=(3, 1))
raises(leat.BadInput, "row 0 (the first is 0) has missing", leat.correlate, np.where(x == x[0, 5], np.nan, x), lags=2)
raises(leat.BadArgument, "fewer than min_samples", leat.correlate, x, lags=198)
raises(leat.BadArgument, "give one of pearson, spearman", leat.correlate, x, "kendall")
raises(leat.BadArgument, "2 to 2^24 of them", leat.correlate, x[:1])
raises(ValueError, "3 dimensions; give 2", leat.correlate, np.zeros((2, 2, 2)))
raises(leat.BadArgument, "complex", leat.correlate, x * 1j)
raises(leat.BadInput, "row 3 (the first is 0) has infinite", leat.correlate, np.where(np.arange(60)[:, None] == 3, np.inf, x))
raises(leat.BadInput, "row 1, column 2", leat.kmeans, [[1, 2, 3], [1, 2, np.nan]], 1)
raises(leat.BadArgument, "at most as many clusters", leat.kmeans, points[:3], 4)
raises(leat.BadArgument, "n_init: 0;", leat.kmeans, points, n_init=0)
raises(leat.BadArgument, "k: 2.5;", leat.kmeans, points, 2.5)
raises(leat.BadInput, "", leat.Interpolant, [1, 1, 2], [1, 2, 3])
raises(leat.BadArgument, "shapes (3,) and (2,)", leat.Interpolant, [1, 2, 3], [1, 2])
raises(leat.BadArgument, "", leat.landslide, dem, source[1:])
raises(leat.BadInput, "thickness in m", leat.landslide, dem, source - 5)
raises(leat.BadArgument, "r: 0;", leat.landslide, dem, source, r=0)
raises(MemoryError, "raise `memory`", leat.correlate, x, context=leat.Context(memory=1000))
raises(leat.BadArgument, "threads", leat.Context, threads=5000)
raises(leat.Error, "", leat.Context, "abacus")
raises(leat.BadInput, "p.points.npy", leat.run, "p.points.npy", k=5000)
raises(leat.Error, "did you mean 'top'", leat.run, "p.points.npy", nope=1)
raises(leat.Error, "nowhere.csv", leat.run, "nowhere.csv")


class There(np.ndarray):
    """As an array that lies in a device's memory."""

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


raises(leat.BadArgument, 'backend "cuda"', leat.correlate, x.view(There), context=leat.Context())
raises(leat.BadArgument, "<i8 is not read", leat.kmeans, whole.view(There), context=leat.Context())
raises(leat.BadArgument, "contiguous", leat.correlate, x.view(There)[::2], context=leat.Context())
raises(leat.BadArgument, 'backend "cuda"', curve, queries.view(There))
raises(leat.BadArgument, "give float64", curve, queries.astype("f4").view(There))
with leat.Context(threads=2) as two:
    assert "2 threads" in two.backend
    own = leat.Interpolant(nodes, y, context=two)
    kept = leat.correlate(x, context=two).r
raises(ValueError, "closed", leat.correlate, x, context=two)
raises(ValueError, "closed", own, 0.5)
del own, two
assert np.array_equal(kept, got.r)  # results outlive it

# --- threads of Python, one context and several
answers = []
one = leat.Context(threads=2)


def answer(c):
    answers.append((leat.correlate(x, context=c).r, leat.Interpolant(nodes, y, context=c)(queries)))


threads = [threading.Thread(target=answer, args=[c]) for c in [one, one, one, leat.Context(threads=1), None]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(answers) == 5 and all(np.array_equal(r, got.r) and np.array_equal(v, curve(queries)) for r, v in answers)
child = os.fork()  # has no threads, and opens its own
if child == 0:
    os._exit(0 if np.array_equal(leat.correlate(x).r, got.r) else 1)
assert os.waitpid(child, 0)[1] == 0

# --- progress and cancelling
seen = []
with leat.Context(progress=seen.append) as c:
    leat.landslide(dem, source, 500, context=c)
assert seen and seen == sorted(seen) and 0 <= seen[0] and seen[-1] <= 1, seen
asked = [True, False]
c = leat.Context(progress=lambda share: asked[0])
raises(leat.Cancelled, "cancelled", leat.landslide, dem, source, 10**9, context=c)
asked[0] = False
assert np.array_equal(leat.correlate(x, context=c).r, got.r)  # it goes on


def fails(share):
    raise KeyError("mine")


raises(KeyError, "mine", leat.landslide, dem, source, 10**9, context=leat.Context(progress=fails))
c = leat.Context(progress=lambda share: c.cancel())
raises(leat.Cancelled, "", leat.landslide, dem, source, 10**9, context=c)
c.cancel()  # nothing is under way


def interrupt(share):
    if not asked[1]:
        asked[1] = True
        os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGINT, signal.default_int_handler)
signal.alarm(WAIT_S)  # else it would compute for days
c = leat.Context(progress=interrupt)
raises(KeyboardInterrupt, "", leat.landslide, dem, source, 10**9, context=c)
assert np.array_equal(leat.landslide(dem, source, 200, nodata="sink", epsilon=0.05, r=0.25, context=c).arrival, slide.arrival)
print("the same numbers as by NumPy, SciPy, scikit-learn and the command")
