"""leat.py, and libleat below it, on arrays of CuPy and of PyTorch, made in a stream of their own and left where they are:
series, points, curves and landslides have the same bits as on the host. For a device alone (LEAT_TEST_BACKEND=cuda)."""
import contextlib
import os
import sys

from lib import BACKEND, LEAT, begin, skip

begin()
if BACKEND != "cuda":
    skip("no CUDA device is asked for")
import numpy as np

sys.path.insert(0, os.path.dirname(LEAT) + "/../lib/python3/dist-packages")
import leat


def cupy_arrays():
    import cupy

    return cupy.cuda.Stream(non_blocking=True), cupy.asarray, cupy.asnumpy


def torch_arrays():
    import torch

    return torch.cuda.stream(torch.cuda.Stream()), lambda x: torch.tensor(x, device="cuda"), lambda x: x.cpu().numpy()


random = np.random.default_rng(3)
down, across = np.mgrid[0:300, 0:200]
ground, debris = 800 - 2.0 * down + (across - 100.0) ** 2 / 40, np.where(np.hypot(down - 40, across - 100) < 15, 6.0, 0)
samples, halves = random.normal(size=(700, 90)).cumsum(1), random.uniform(-0.5, 0.5, 3000000)
nodes = np.cos((2 * np.arange(50) + 1) * np.pi / 100)
on_device = leat.Context("cuda")
curves = leat.Interpolant(nodes, np.array([np.exp(nodes), np.sin(20 * nodes), nodes**3]).T, context=on_device)
calls = [
    ("correlate", lambda x, **context: leat.correlate(x, **context).r, [samples]),
    ("correlate f32", lambda x, **context: leat.correlate(x, precision="f32", **context).r, [samples.astype(np.float32)]),
    ("kmeans", lambda x, **context: leat.kmeans(x, 5, **context).labels, [samples]),
    ("landslide", lambda z, h, **context: leat.landslide(z, h, 500, **context).thickness, [ground, debris]),
    ("curves", lambda x, **_: curves(x), [halves]),
]
seen = []
for arrays in cupy_arrays, torch_arrays:
    with contextlib.suppress(ImportError):
        stream, there, numpy_of = arrays()
        seen.append(arrays.__name__)
        for name, call, inputs in calls:
            want = call(*(x * 1 for x in inputs), context=on_device)
            with stream:  # made in the stream, as they are needed; without a context the arrays' device is taken
                got = call(*(there(x / 2) * 2 for x in inputs))
                got = got if isinstance(got, np.ndarray) else numpy_of(got)
            assert np.array_equal(got, want) and want.max() > 0, (arrays.__name__, name)
if not seen:
    skip("neither CuPy nor PyTorch is installed")
print("the same bits in the memory of", *seen)
