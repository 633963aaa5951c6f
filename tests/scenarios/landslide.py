"""The Tessina landslide against what the published programs give: hashes of the thickness, rasters in text and
as GDAL reads the others, balance and figures. Runs in the folder of the results.

usage: landslide.py STEPS
"""
import csv
import gzip
import hashlib
import json
import os
import sys

import numpy as np

STEPS = int(sys.argv[1])
QUARTER = STEPS // 4
SHAPE = (610, 496)
FNV = {1: 0x583AA41A823B32A0, 100: 0x4038A3F5050B199F, 1000: 0xA671E73729229C9F, 4000: 0xD1D2456AA3007824}
SHA256 = "7ac28d16b09b7aa841062aafe7c8e76d596bf0cf4ccbdbb0d8e780198ef76e46"
MD5 = "8ed78fa13180c12b4d8aeec7ce6a362a"


def text(path):
    with gzip.open(path, "rt") as f:
        head = [f.readline().split() for _ in range(5)]
        assert [h[0] for h in head] == ["ncols", "nrows", "xllcorner", "yllcorner", "cellsize"], head
        rest = f.read()
        keys = rest.split(None, 2)
        nodata = None
        if keys[0] == "NODATA_value":
            nodata, rest = float(keys[1]), rest.split("\n", 1)[1]
    return np.array(rest.split(), dtype=np.float64).reshape(SHAPE), nodata


def fnv(a):
    h = 1469598103934665603
    for b in a.astype("<f8").tobytes():
        h = ((h ^ b) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return h


def check(what, condition):
    if not condition:
        sys.exit(f"FAILED: {what}")


for steps in {1, 100, QUARTER} - {STEPS}:
    h, nodata = text(f"s{steps}/tessina/thickness.asc.gz")
    check("compat has no NODATA", nodata is None)
    check(f"hash after {steps} steps", steps not in FNV or fnv(h) == FNV[steps])

h, _ = text("asc/tessina/thickness.asc.gz")
check(f"hash after {STEPS} steps", fnv(h) == FNV[STEPS])
if STEPS == 4000:
    check("sha256", hashlib.sha256(h.astype("<f8").tobytes()).hexdigest() == SHA256)
    lines = "".join("".join("%f  " % x for x in row) + "\n" for row in h)
    check("md5 of the text", hashlib.md5(lines.encode()).hexdigest() == MD5)

largest, _ = text("asc/tessina/max_thickness.asc.gz")
arrival, never = text("asc/tessina/arrival.asc.gz")
check("arrival's NODATA", never == -1)
check("nothing is thicker than it ever was", (h <= largest).all())
check("arrivals", ((arrival >= 0) == (largest > 0.001)).all() and arrival.max() <= STEPS)

for policy in ("wall", "sink"):
    other, nodata = text(f"{policy}/tessina/thickness.asc.gz")
    check(f"{policy}: NODATA", nodata == -9999 and (other == nodata).sum() == 229801)
    check(f"{policy}: the same bits", np.array_equal(np.where(other == nodata, 0, other), h))

if os.path.exists("thickness.bin"):
    check("GeoTIFF", np.array_equal(np.fromfile("thickness.bin").reshape(SHAPE), h))
    check("max_thickness.tif", np.array_equal(np.fromfile("max_thickness.bin").reshape(SHAPE), largest))
    early, _ = text(f"s{QUARTER}/tessina/thickness.asc.gz")
    check("snapshot", np.array_equal(np.fromfile(f"{QUARTER:06d}.bin").reshape(SHAPE), early))

with gzip.open("one/tessina/mass.csv.gz", "rt") as f:
    balance = list(csv.DictReader(f))
check("balance", [int(b["step"]) for b in balance] == list(range(0, STEPS + 1, max(1, STEPS // 100))))
summary = json.load(open("one/tessina/result.json"))["summary"]
start, bound = summary["volume_start_m3"], summary["balance_bound_m3"]
check("start", start == 555700)
for b in balance:
    off = float(b["on_map_m3"]) + float(b["lost_edge_m3"]) + float(b["lost_nodata_m3"]) - start
    check("balance", abs(off) <= bound < 1e-3)
check("active cells", int(balance[-1]["active_cells"]) == (h > 0.001).sum() == summary["active_cells"])
check("thickest", float(balance[-1]["max_thickness_m"]) == h.max() == summary["max_thickness_m"])
check("thickest ever", summary["deepest_ever"]["thickness_m"] == largest.max())
check("covered", summary["covered_cells"] == (arrival >= 0).sum() and summary["covered_m2"] == 100 * (arrival >= 0).sum())
check("the steps went on", not summary["settled"] and summary["steps"] == STEPS)
