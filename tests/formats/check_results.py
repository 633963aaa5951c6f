#!/usr/bin/python3
"""Reads what test_result wrote with the readers that users have: numpy.load, pandas.read_csv,
zipfile, gzip -t and zipinfo. check_results.py FOLDER; fails with an exception."""

import os
import shutil
import subprocess
import sys
import warnings
import zipfile

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas as pd

N_ROWS = 50000
NAMES = ["plain", "a,b", 'say "so"', "höhe", "two\nlines"]


def check_npz(path):
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        for info in z.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0), info
            assert info.compress_type == zipfile.ZIP_DEFLATED, info
    for tool in (["zipinfo", path], ["unzip", "-tqq", path]):
        if shutil.which(tool[0]):
            subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)

    with np.load(path, allow_pickle=False) as npz:
        arrays = {name: npz[name] for name in npz.files}
    expected = {
        "names": np.array(["a", "", "höhe", "\U0001f30a", "x\ufffd y"]),
        "f4": np.array([[0.5, -1.25, 3], [4, 5, 6]], dtype="f4"),
        "i8": np.array([-(2**63), -1, 0, 2**63 - 1]),
        "u1": np.array([0, 1, 255], dtype="u1"),
        "scalar": np.array(0.1),
        "none": np.zeros(0),
        "large": np.arange(300000.0),
        "tall": np.arange(300000.0).reshape(100000, 3),
    }
    assert list(arrays) == list(expected), list(arrays)
    for name, value in expected.items():
        got = arrays[name]
        assert got.dtype == value.dtype and got.shape == value.shape, name
        assert got.flags.c_contiguous and np.array_equal(got, value), name


def check_csv(folder):
    for name in ("rows.csv.gz", "empty.csv.gz"):
        subprocess.run(["gzip", "-t", os.path.join(folder, name)], check=True)
    rows = pd.read_csv(os.path.join(folder, "rows.csv.gz"), float_precision="round_trip")
    assert list(rows.columns) == ["name", "count", "value"]
    count = np.arange(N_ROWS)
    assert np.array_equal(rows["count"].to_numpy(), count)
    assert rows["name"].tolist() == [NAMES[i % len(NAMES)] for i in range(N_ROWS)]
    value = np.where(count % 7 == 0, np.nan, count / 7)
    assert np.array_equal(rows["value"].to_numpy(), value, equal_nan=True)
    empty = pd.read_csv(os.path.join(folder, "empty.csv.gz"))
    assert list(empty.columns) == ["name", "count", "value"] and len(empty) == 0
    with np.load(os.path.join(folder, "rows.npz")) as columns:
        assert columns["count"].dtype == np.int64 and np.array_equal(columns["count"], count)
        assert columns["value"].dtype == np.float64 and np.array_equal(columns["value"], value, equal_nan=True)


check_npz(os.path.join(sys.argv[1], "sample.npz"))
check_csv(sys.argv[1])
