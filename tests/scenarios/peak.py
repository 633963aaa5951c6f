"""Runs leat and says the most resident memory it had; fails beyond a bound.

usage: peak.py BOUND_BYTES COMMAND...
"""
# ctest: none
import resource
import subprocess
import sys

subprocess.run(sys.argv[2:], check=True, stdin=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(f"{peak / 1e6:.0f} MB")
if peak > float(sys.argv[1]):
    sys.exit(f"more than {float(sys.argv[1]) / 1e6:.0f} MB")
