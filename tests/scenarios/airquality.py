"""Runs leat on the air quality table of UCI (hourly sensors, gaps written as -200) and compares it with pandas.

usage: airquality.py LEAT SCRATCH_FOLDER TABLE

Bound (absolute error of r): 1e-10, since pandas' own sums are in double.
"""
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
from scipy.spatial.distance import squareform

leat, scratch, table = sys.argv[1:4]
backend = os.environ.get("LEAT_TEST_BACKEND", "cpu")
out = os.path.join(scratch, "out")
subprocess.run([leat, "run", "-q", "-b", backend, "-o", out, "-s", "missing_value=-200", table], check=True,
               stdin=subprocess.DEVNULL)
folder = os.path.join(out, "airquality")
got = np.load(os.path.join(folder, "pearson.npz"))
with open(os.path.join(folder, "result.json")) as f:
    manifest = json.load(f)

frame = pd.read_csv(table, sep=";", decimal=",").dropna(how="all").dropna(axis=1, how="all")
frame = frame.drop(columns=["Date", "Time"]).replace(-200, np.nan).astype(float)
if list(got["names"]) != list(frame.columns) or manifest["shape"]["n_samples"] != len(frame):
    sys.exit(f"{list(got['names'])}, {manifest['shape']}")
warnings = " ".join(manifest["warnings"])
if not all(word in warnings for word in ("Date", "Time", "16", "17")):
    sys.exit(f"the columns left out are not named: {warnings}")
error = np.abs(squareform(got["r"]) + np.eye(len(frame.columns)) - frame.corr().to_numpy()).max()
if not error <= 1e-10:  # also when it is NaN
    sys.exit(f"error {error:.3g}")
print(f"{len(frame)} hours of {len(frame.columns)} sensors: largest error of r {error:.2g}")
