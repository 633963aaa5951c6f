"""A real table as its authors publish it, the hourly sensors of UCI, with dates, decimal commas, empty columns and gaps written
as -200, against pandas. LEAT_TEST_BACKEND chooses the backend, AIRQUALITY names the table.

Bound (absolute error of r): 1e-10, since pandas' own sums are in double.
"""
# ctest: asan=soak
import json
import os
import subprocess
import sys

from lib import BACKEND, LEAT, TREE, begin, skip

begin("numpy", "pandas", "scipy")
import numpy as np
import pandas as pd
from scipy.spatial.distance import squareform

table = os.environ.get("AIRQUALITY", os.path.join(TREE, "../shared/data/airquality/airquality.clusters.csv"))
if not os.path.isfile(table):
    skip("no air quality table (AIRQUALITY=FILE names it)")
subprocess.run([LEAT, "run", "-q", "-b", BACKEND, "-o", "out", "-s", "missing_value=-200", table], check=True,
               stdin=subprocess.DEVNULL)
folder = "out/airquality"
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
pairs = pd.read_csv(os.path.join(folder, "pairs.csv.gz"))
present = frame.notna().to_numpy().T
if not np.array_equal(pairs["n"], (present[pairs["i"]] & present[pairs["j"]]).sum(axis=1)):
    sys.exit("pairs have another number of samples")

# Without missing_value the gaps are numbers, and one sentence says so of every sensor; check says it, too.
for command in (["run", "-q", "--json", "-o", "raw"], ["check", "--json"]):
    said = json.loads(subprocess.run([LEAT, *command, "-b", BACKEND, table], check=True, stdin=subprocess.DEVNULL,
                                     capture_output=True).stdout)["warnings"]
    codes = [w for w in said if "missing_value=-200" in w]
    if len(codes) != 1 or f"{len(frame.columns)} columns" not in codes[0]:
        sys.exit(f"{command[0]} does not say once that -200 is a code: {said}")
    if any("missing_value" in w for w in manifest["warnings"]):
        sys.exit("codes are found where they have been named")
print(f"{len(frame)} hours of {len(frame.columns)} sensors: largest error of r {error:.2g}")
