#!/usr/bin/env python3
"""agree.py LEAT.npz PEER.npz BOUND: do leat's condensed r and the peer's square one hold the same
coefficients, to BOUND? Prints 0; exit status 1 when they differ, 77 without NumPy."""

import sys

try:
    import numpy
except ImportError:
    sys.exit(77)

ours = numpy.load(sys.argv[1])["r"]
theirs = numpy.load(sys.argv[2])["r"]
upper = theirs[numpy.triu_indices(len(theirs), 1)]
if ours.shape != upper.shape:
    sys.exit(f"{ours.shape} coefficients, not {upper.shape}")
if not numpy.array_equal(numpy.isnan(ours), numpy.isnan(upper)):
    sys.exit("NaN in different places")
worst = numpy.nanmax(numpy.abs(ours - upper), initial=0)
if not worst <= float(sys.argv[3]):
    sys.exit(f"coefficients differ by {worst:g}")
print(0)
