"""The library by ctypes and the command on the same points and nodes: the same bits. library.py LIBRARY LEAT"""
import ctypes
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


def check(status, context):
    library.leat_error.restype = ctypes.c_char_p
    if status != 0:
        sys.exit("status %d: %s" % (status, library.leat_error(context).decode()))


random = np.random.default_rng(5)
context = pointer()
check(library.leat_open(None, ctypes.byref(context)), None)

x = random.normal(size=(7000, 4)) + 6 * random.integers(0, 3, (7000, 1)) * [1, 0, 2, 0]
np.save("a.points.npy", x)
for at, (options, settings) in enumerate([
        (Options(size=ctypes.sizeof(Options), k=3), ["k=3"]),
        (Options(size=ctypes.sizeof(Options), k=2, k_last=9, n_init=3, seed=11, scale=1),
         ["k=2-9", "n_init=3", "seed=11", "scale=unit"]),
        (Options(size=ctypes.sizeof(Options), k=12, init=1, tol=-1, max_iter=40, scale=2),
         ["k=12", "init=random", "tol=0", "max_iter=40", "scale=range"])]):
    points = Array(data=x.ctypes.data, type=0, rows=x.shape[0], columns=x.shape[1], row_bytes=0)
    mine = Result()
    check(library.leat_kmeans(context, ctypes.byref(points), ctypes.byref(options), ctypes.byref(mine)), context)
    subprocess.run([leat, "run", "-q", "-o", "out%d" % at, *sum((["-s", s] for s in settings), []), "a.points.npy"],
                   check=True)
    theirs = np.load("out%d/a/kmeans.npz" % at)
    k = mine.k
    assert k == len(theirs["counts"]), (k, settings)
    assert np.array_equal(np.ctypeslib.as_array(mine.centroids, (k, 4)), theirs["centroids"]), settings
    assert np.array_equal(np.ctypeslib.as_array(mine.labels, (7000,)), theirs["labels"]), settings
    assert np.array_equal(np.ctypeslib.as_array(mine.within, (k,)), theirs["within"]), settings
    assert mine.inertia == float(theirs["inertia"]) and mine.n_iterations == int(theirs["n_iterations"]), settings
    library.leat_kmeans_free(ctypes.byref(mine))

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
library.leat_close(context)
print("the same bits by the library and by the command")
