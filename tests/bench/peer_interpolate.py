#!/usr/bin/env python3
"""peer_interpolate.py scipy|cupy FILE N: a polynomial through N nodes as a SciPy or CuPy user gets it.

FILE holds doubles: nodes, their values, queries, leat's values there. Prints the seconds of the values
at all queries, warm, without imports and the weights; with CuPy they lie on the device. Exit status 77: no
such package or no device; 1: the values differ from leat's.
"""

import sys
import time

try:
    import numpy

    if sys.argv[1] == "cupy":
        import cupy as xp
        from cupyx.scipy.interpolate import BarycentricInterpolator

        wait = xp.cuda.Device().synchronize
        wait()
    else:
        import numpy as xp
        from scipy.interpolate import BarycentricInterpolator

        def wait():
            pass
except Exception as why:  # no module, no driver, no device: all mean that there is no peer here
    print(why, file=sys.stderr)
    sys.exit(77)

n = int(sys.argv[3])
data = numpy.fromfile(sys.argv[2])
m = (len(data) - 2 * n) // 2
x, y, queries = (xp.asarray(part) for part in (data[:n], data[n : 2 * n], data[2 * n : 2 * n + m]))
p = BarycentricInterpolator(x, y)
p(queries if sys.argv[1] == "cupy" else queries[:1000])  # on the device also the memory that it takes
wait()
start = time.perf_counter()
values = p(queries)
wait()
seconds = time.perf_counter() - start
if sys.argv[1] == "cupy":
    values = xp.asnumpy(values)
# the second barycentric form on Chebyshev points: some n u
if not numpy.allclose(values, data[2 * n + m :], rtol=0, atol=1e-12):
    sys.exit("the values differ from leat's")
print(seconds)
