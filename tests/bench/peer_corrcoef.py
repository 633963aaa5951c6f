#!/usr/bin/env python3
"""peer_corrcoef.py FILE.csv OUT.npz: what a NumPy user runs today, timed without its imports.

Reads a CSV without a header, whose series lie along its longer side; saves every coefficient. Prints the seconds.
Exit status 77: no pandas.
"""

import sys
import time

try:
    import numpy
    import pandas
except ImportError:
    sys.exit(77)

start = time.perf_counter()
x = pandas.read_csv(sys.argv[1], header=None).to_numpy()
r = numpy.corrcoef(x, rowvar=x.shape[0] < x.shape[1])
numpy.savez_compressed(sys.argv[2], r=r)
print(time.perf_counter() - start)
