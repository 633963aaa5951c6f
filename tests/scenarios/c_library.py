"""The library by ctypes and the command on the same points, nodes and maps: the same bits. c_library.py LIBRARY LEAT"""
import ctypes
import json
import os
import subprocess
import sys

import numpy as np

library, leat = ctypes.CDLL(sys.argv[1]), sys.argv[2]
u64, real, size, pointer = ctypes.c_uint64, ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p


class Array(ctypes.Structure):
    _fields_ = [("data", pointer), ("type", ctypes.c_int), ("rows", size), ("columns", size), ("row_bytes", size)]


class Options(ctypes.Structure):
    _fields_ = [("size", size), ("k", size), ("k_last", size), ("n_init", size), ("seed", u64), ("max_iter", u64),
                ("tol", real), ("init", ctypes.c_int), ("scale", ctypes.c_int)]


class Result(ctypes.Structure):
    _fields_ = [("k", size), ("n", size), ("columns", size), ("centroids", ctypes.POINTER(real)),
                ("labels", ctypes.POINTER(ctypes.c_int32)), ("counts", ctypes.POINTER(u64)),
                ("within", ctypes.POINTER(real)), ("inertia", real), ("silhouette", real), ("n_iterations", u64),
                ("converged", ctypes.c_int)]


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
