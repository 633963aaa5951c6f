#!/usr/bin/env python3
"""peer_cupy.py FILE.npy OUT.npz: what a CuPy user runs today, timed without imports and the first kernel.

A series a row; saves every coefficient. Prints the seconds. Exit status 77: no CuPy or no device.
"""

import sys
import time

try:
    import cupy
    import numpy

    cupy.corrcoef(cupy.random.rand(64, 64, dtype=cupy.float32))
    cupy.cuda.Device().synchronize()
except Exception as why:  # no module, no driver, no device: all mean that there is no peer here
    print(why, file=sys.stderr)
    sys.exit(77)

start = time.perf_counter()
x = cupy.asarray(numpy.load(sys.argv[1]))
r = cupy.asnumpy(cupy.corrcoef(x))
numpy.savez_compressed(sys.argv[2], r=r)
print(time.perf_counter() - start)
