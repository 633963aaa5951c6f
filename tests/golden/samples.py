"""samples.py SAMPLES OUT: reads the samples in pandas' own way and compares with leat's results in OUT.

Everything wanted is computed here: coefficients by DataFrame.corr() (pairwise, bound 1e-10), the pairs listed,
the anomalous series by the rule of 3.5 scaled median absolute deviations.
"""

import csv
import gzip
import json
import pathlib
import sys

import numpy as np
import pandas as pd

samples, out = map(pathlib.Path, sys.argv[1:])


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
    middle = np.nanmedian(medians)
    mad = 1.4826 * np.nanmedian(np.abs(medians - middle))
    anomalous = [str(c) for c, m in zip(frame.columns, medians) if m < middle - 3.5 * mad]
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
check("north-5" in anomalous, "the sensor that drifts is not found")
check(manifest["summary"]["degenerate"]["names"] == ["south-3"], "the sensor that is stuck is not found")
check(any("Date" in warning for warning in manifest["warnings"]), "no warning that Date was left out")

compare("wells", pd.read_csv(samples / "wells.clusters.csv", header=None, index_col=0).T)

walks = np.load(samples / "walks.clusters.npy").astype(np.float64)
manifest, _ = compare("walks", pd.DataFrame(walks.T, columns=[f"row {i + 1}" for i in range(len(walks))]))
check(any("random walks" in warning for warning in manifest["warnings"]), "no warning about random walks")
