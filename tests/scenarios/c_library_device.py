"""libleat on arrays of CuPy or PyTorch, made in a stream of their own and left where they are: series, points, curves and
landslides have the same bits as on the host. For a device alone (LEAT_TEST_BACKEND=cuda)."""
import ctypes
import glob
import os
import sys

from lib import BACKEND, LEAT, begin, skip

begin()
if BACKEND != "cuda":
    skip("no CUDA device is asked for")
try:
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    handle, asarray, empty, address = stream.ptr, cupy.asarray, cupy.empty, lambda x: x.data.ptr
    numpy_of = cupy.asnumpy
except ImportError:
    try:
        import torch

        stream = torch.cuda.stream(torch.cuda.Stream())
        handle, address = stream.stream.cuda_stream, lambda x: x.data_ptr()
        asarray, empty = (lambda x: torch.tensor(x, device="cuda")), (
            lambda shape: torch.empty(shape, device="cuda", dtype=torch.float64))
        numpy_of = lambda x: x.cpu().numpy()
    except ImportError:
        skip("neither CuPy nor PyTorch is installed")
import numpy as np

at = os.path.dirname(LEAT)
library = ctypes.CDLL((glob.glob(at + "/../lib/libleat.so.*") + [at + "/../libleat.so"])[0])
size, pointer, u64 = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64


class Options(ctypes.Structure):
    _fields_ = [("size", size), ("backend", ctypes.c_char_p), ("device", ctypes.c_int), ("threads", size),
                ("memory", u64), ("progress", pointer), ("user", pointer)]


class Array(ctypes.Structure):
    _fields_ = [("data", pointer), ("type", ctypes.c_int), ("rows", size), ("columns", size), ("row_bytes", size),
                ("memory", ctypes.c_int), ("stream", pointer)]


class Slid(ctypes.Structure):
    _fields_ = [("rows", size), ("columns", size), ("thickness", ctypes.POINTER(ctypes.c_double))]


class Correlated(ctypes.Structure):
    _fields_ = [("n_series", size), ("n_samples", size), ("moments", pointer * 7), ("r", ctypes.POINTER(ctypes.c_double))]


class Clustered(ctypes.Structure):
    _fields_ = [("k", size), ("n", size), ("columns", size), ("centroids", pointer), ("labels", ctypes.POINTER(ctypes.c_int32))]


def check(status, of=None):
    library.leat_error.restype = ctypes.c_char_p
    if status != 0:
        sys.exit("status %d: %s" % (status, library.leat_error(of).decode()))


def on_host(x):
    return Array(x.ctypes.data, 0 if x.dtype == np.float64 else 1, *x.shape, 0, 0, None)


def there(x):
    return Array(address(x), 0 if "64" in str(x.dtype) else 1, *x.shape, 0, 1, handle)


context = pointer()
check(library.leat_open(ctypes.byref(Options(size=ctypes.sizeof(Options), backend=b"cuda")), ctypes.byref(context)))
random = np.random.default_rng(3)

nodes = np.cos((2 * np.arange(50) + 1) * np.pi / 100)
y, curve = np.ascontiguousarray([np.exp(nodes), np.sin(20 * nodes), nodes**3]), pointer()
check(library.leat_interpolant_new(context, pointer(nodes.ctypes.data), pointer(y.ctypes.data), size(50), size(3), 0,
                                   u64(0), ctypes.byref(curve)), context)
halves, n = random.uniform(-0.5, 0.5, 3000000), 3000000
queries, values = 2 * halves, np.empty((n, 3))
check(library.leat_interpolant_evaluate(curve, pointer(queries.ctypes.data), size(n), pointer(values.ctypes.data)), context)
with stream:
    others = asarray(halves) * 2  # made in the stream, as they are needed
    out = empty((n, 3))
    check(library.leat_interpolant_evaluate_device(curve, pointer(address(others)), size(n), pointer(address(out)),
                                                   pointer(handle)), context)
    assert np.array_equal(numpy_of(out), values)
library.leat_interpolant_free(curve)

down, across = np.mgrid[0:300, 0:200]
maps = [800 - 2.0 * down + (across - 100.0) ** 2 / 40, np.where(np.hypot(down - 40, across - 100) < 15, 6.0, 0)]
samples = [random.normal(size=(700, 90)).cumsum(1)]


def both(call, kind, what, shape, inputs):
    """A member of the results of a call on the host's arrays, and of that on those that are made in the stream."""
    results = []
    for where in False, True:
        with stream:
            arrays = [asarray(x / 2) * 2 if where else x for x in inputs]
            made = ctypes.POINTER(kind)()
            check(call(context, *(ctypes.byref((there if where else on_host)(a)) for a in arrays), None,
                       ctypes.byref(made)), context)
        results.append(np.ctypeslib.as_array(getattr(made.contents, what), shape).copy())
        getattr(library, call.__name__ + "_free")(made)
    assert np.array_equal(*results) and results[0].max() > 0, call.__name__


both(library.leat_landslide, Slid, "thickness", (300, 200), maps)
both(library.leat_correlate, Correlated, "r", (700 * 699 // 2,), samples)
both(library.leat_kmeans, Clustered, "labels", (700,), samples)
library.leat_close(context)
print("the same bits in the memory of", "CuPy" if "cupy" in sys.modules else "PyTorch")
