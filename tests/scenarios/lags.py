"""The lag of each pair's largest |r| and all results of it, against pandas by definition, through files.
LEAT_TEST_BACKEND chooses the backend."""
# ctest: tsan=no
import json
import os
import subprocess
import sys

from lib import BACKEND, LEAT, begin

begin("numpy", "pandas", "scipy")
import numpy as np
import pandas as pd
import scipy.stats
from scipy.spatial.distance import squareform

rng = np.random.default_rng(5)


def leat(path, *options):
    return subprocess.run([LEAT, "run", "-q", "--force", "-b", BACKEND, "-o", "out", path,
                           *(word for option in options for word in ("-s", option))],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


def run(path, *options):
    done = leat(path, *options)
    assert done.returncode == 0, done.stderr
    folder = os.path.join("out", path.split(".")[0])
    with open(os.path.join(folder, "result.json")) as f:
        return folder, np.load(os.path.join(folder, "pearson.npz")), json.load(f)


def refused(says, path, *options):
    done = leat(path, *options)
    assert done.returncode != 0 and says in done.stderr, (options, done.stderr)


def scaled(x):
    x = x.astype(np.longdouble)
    z = x - x.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where((x.max(axis=1) > x.min(axis=1))[:, None], z / np.sqrt((z * z).sum(axis=1, keepdims=True)), np.nan)


def by_definition(x, first, last):
    """r of each lag: [lag, i, j], j behind i: x_j[t + lag] with x_i[t]."""
    n = x.shape[1]
    r = [scaled(x[:, max(0, -lag):n - max(0, lag)]) @ scaled(x[:, max(0, lag):n - max(0, -lag)]).T for lag in range(first, last + 1)]
    for i, j, lag in ((0, 3, first), (4, 1, last)):
        want = pd.Series(x[j]).corr(pd.Series(x[i]).shift(lag))
        assert np.isclose(float(r[lag - first][i, j]), want, atol=1e-11), (i, j, lag)
    return np.array(r).astype(float)


def false_discoveries(p):
    order, q = np.argsort(p), np.empty(len(p))
    q[order] = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1].clip(max=1)
    return q


def compare(stem, path, x, first, last, *options, exact_q=True):
    m, n = x.shape
    n_lags = last - first + 1
    folder, got, manifest = run(path, f"lags={first}:{last}", "top_each=3", *options)
    r = by_definition(x, first, last)
    best = np.where(np.isnan(r), -1, np.abs(r)).max(axis=0)
    none, upper = np.isnan(r).all(axis=0), np.triu_indices(m, 1)
    lag, r_lag = got["lag"], got["r_lag"]
    assert lag.shape == r_lag.shape == (m, m) and lag.dtype == np.int32, stem
    assert (lag == -lag.T).all() and np.array_equal(r_lag, r_lag.T, equal_nan=True), stem
    r0 = squareform(got["r"])
    for i, j in zip(*upper):
        if none[i, j]:
            assert np.isnan(r_lag[i, j]) and lag[i, j] == 0, (stem, i, j)
            continue
        assert first <= lag[i, j] <= last, (stem, i, j, lag[i, j])
        there = r[lag[i, j] - first, i, j]
        assert abs(r_lag[i, j] - there) < 1e-11 and abs(abs(there) - best[i, j]) < 1e-11, (stem, i, j, there, r_lag[i, j])
    np.testing.assert_allclose(r0[upper], by_definition(x, 0, 0)[0][upper], atol=1e-11, err_msg=stem)
    defined = ~np.isnan(r_lag[upper])
    p = np.full((m, m), np.nan)
    i, j = upper[0][defined], upper[1][defined]
    overlap = n - np.abs(lag[i, j])
    t = r_lag[i, j] * np.sqrt((overlap - 2) / np.maximum((1 - r_lag[i, j]) * (1 + r_lag[i, j]), 1e-300))
    raw = 2 * scipy.stats.t.sf(np.abs(t), overlap - 2)
    p[i, j] = np.minimum(1, n_lags * raw)
    q = np.full((m, m), np.nan)
    q[i, j] = np.minimum(1, n_lags * false_discoveries(raw))
    pairs = pd.read_csv(os.path.join(folder, "pairs.csv.gz"), float_precision="round_trip")
    assert list(pairs)[4:9] == ["r", "lag", "r_lag0", "n", "r_low"], list(pairs)
    at = pairs["i"].to_numpy(), pairs["j"].to_numpy()
    assert len(pairs) > 0 and (np.diff(np.abs(pairs["r"])) <= 0).all(), stem
    np.testing.assert_array_equal(pairs["r"], r_lag[at])
    np.testing.assert_array_equal(pairs["r_lag0"], r0[at])
    np.testing.assert_array_equal(pairs["lag"], lag[at])
    np.testing.assert_array_equal(pairs["n"], n - np.abs(lag[at]))
    sure = (1 - np.abs(pairs["r"]) > 1e-9).to_numpy()  # beside 1 rounding decides
    np.testing.assert_allclose(pairs["p"][sure], p[at][sure], rtol=1e-6, err_msg=stem)
    ratio = (pairs["q"] / q[at])[sure]
    assert ratio.min() > 1 - 1e-6 and (ratio.max() < 1 + 1e-6 or not exact_q), (stem, ratio.min(), ratio.max())
    partners = pd.read_csv(os.path.join(folder, "partners.csv.gz"), float_precision="round_trip")
    at = partners["series"].to_numpy(), partners["partner"].to_numpy()
    np.testing.assert_array_equal(partners["lag"], lag[at])
    np.testing.assert_array_equal(partners["r"], r_lag[at])
    np.testing.assert_array_equal(partners["n"], n - np.abs(lag[at]))
    ends = np.isin(pairs["lag"], (first, last)).sum()
    warned = [w for w in manifest["warnings"] if "at an end of the lags" in w]
    assert len(warned) == (ends > 0 and first < last), (stem, ends, warned)
    assert not warned or warned[0].startswith(f"{ends} of {len(pairs)} pairs"), warned
    strongest = manifest["summary"]["strongest_pairs"][0]
    assert strongest["lag"] == pairs["lag"][0] and strongest["r_lag0"] == pairs["r_lag0"][0], strongest
    return folder, manifest, pairs


def series(m, n):
    """Some follow others by a few samples, one does not vary but at its end, one not at all."""
    x = 1e4 + rng.normal(size=(m, n))
    for k in range(1, m // 2):
        x[k, k:] += (-1) ** k * 3 * (x[0, :n - k] - 1e4)
    x[m - 2, :-2], x[m - 1] = 7, 7
    return x


x = series(16, 60)
np.save("rows.clusters.npy", x)
for first, last in ((-9, 9), (0, 5), (2, 8), (-7, -1), (4, 4)):
    compare(f"rows {first}:{last}", "rows.clusters.npy", x, first, last, "series=rows")
folder, manifest, pairs = compare("rows", "rows.clusters.npy", x, -9, 9, "series=rows", "figure=svg", "order=cluster")
known = pairs[(pairs["i"] == 0) & (pairs["j"] < 8)]
assert (known["lag"] == known["j"]).all() and len(known) == 7, known
with open(os.path.join(folder, "heatmap.svg")) as f:
    assert "heatmap.svg" in os.listdir(folder) and f.read(), folder
compare("few listed", "rows.clusters.npy", x, -9, 9, "series=rows", "top=5", exact_q=False)
compare("min_samples", "rows.clusters.npy", x, -20, 30, "series=rows", "min_samples=30")
# Lags of the increments, and of columns of a text behind an index.
steps = np.diff(x[:12], axis=1)
np.save("steps.clusters.npy", x[:12])
compare("steps", "steps.clusters.npy", steps, -5, 5, "series=rows", "diff=step")
pd.DataFrame(x[:14].T, columns=[f"s{k}" for k in range(14)]).to_csv("text.clusters.csv", index_label="time")
compare("text", "text.clusters.csv", x[:14], -4, 6)
np.save("columns.clusters.npy", np.ascontiguousarray(x.T))
compare("columns", "columns.clusters.npy", x, -9, 9, "series=columns")
narrow = x.astype("f4")
np.save("narrow.clusters.npy", narrow)
_, manifest, _ = compare("narrow", "narrow.clusters.npy", narrow.astype(float), -3, 3, "series=rows", "precision=f32")
assert manifest["parameters"]["precision_used"] == "exact", manifest["parameters"]
# The lag is written as one number of -N to N; 0 is as ever.
_, got, _ = run("rows.clusters.npy", "series=rows", "lags=9")
assert got["lag"].max() <= 9 and got["lag"].min() < 0
_, got, _ = run("rows.clusters.npy", "series=rows", "lags=0")
assert "lag" not in got and "r_lag" not in got and "r" in got
folder, got, _ = run("rows.clusters.npy", "series=rows", "lags=9", "r=csv")
assert "lag" not in got, list(got)
square = pd.read_csv(os.path.join(folder, "r.csv.gz"), index_col=0).to_numpy()
np.testing.assert_allclose(square, np.where(np.eye(16) > 0, square, by_definition(x, 0, 0)[0]), atol=1e-11)
refused("lags=-58:58 leaves 2 of 60 samples, min_samples is 3; set lags to 57 or less", "rows.clusters.npy", "lags=58", "series=rows")
run("rows.clusters.npy", "series=rows", "lags=57")
refused("leaves 0 of 60 samples", "rows.clusters.npy", "lags=0:70", "series=rows")
refused("set method=pearson, or lags=0", "rows.clusters.npy", "lags=5", "method=spearman")
refused("neither a whole number", "rows.clusters.npy", "lags=5:1")
x[3, 7] = np.nan
np.save("gap.clusters.npy", x)
for missing in "reject", "pairwise":
    refused("series 'row 4' lacks 1 of 60 values, and lags are of complete series; fill them in, or set lags=0",
            "gap.clusters.npy", "lags=5", "series=rows", f"missing={missing}")
refused("of which missing=drop takes some out", "gap.clusters.npy", "lags=5", "series=rows", "missing=drop")
np.save("gap.targets.npy", x[:2])
done = subprocess.run([LEAT, "run", "-q", "-b", BACKEND, "-o", "out", "gap.clusters.npy", "gap.targets.npy", "-s", "targets=file", "-s", "lags=3"],
                      capture_output=True, text=True)
assert done.returncode != 0 and "set targets=none, or lags=0" in done.stderr, done.stderr
pd.DataFrame(x[:4].T).to_csv("hole.clusters.csv", index=False)
refused("value 8 is missing; fill it in\n", "hole.clusters.csv", "lags=5", "missing=reject")
print(f"lags as pandas has them on {BACKEND}")
