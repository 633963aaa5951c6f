#!/usr/bin/env python3
"""peer_read_csv.py FILE: prints the seconds that pandas.read_csv takes. Exit status 77: no pandas."""

import sys
import time

try:
    import pandas
except ImportError:
    sys.exit(77)

start = time.perf_counter()
pandas.read_csv(sys.argv[1], header=None)
print(time.perf_counter() - start)
