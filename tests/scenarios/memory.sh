#!/bin/sh
# Host memory stays within --memory and 150 MB, whatever the file's size; what cannot fit says how many bytes
# it needs, at once.
. "$(dirname "$0")/lib.sh"
"$LEAT" generate clusters --series 64 --samples 150000 --layout columns -o tall.clusters.csv -q || fail "generate"
size=$(stat -c %s tall.clusters.csv)
[ "$size" -gt 100000000 ] || fail "the table is smaller than what it has to exceed: $size"
cat >peak.py <<'P'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "run", "-q", "-b", "cpu", "--threads", "2", "--memory", "64M", "-o", "out",
                "-s", "r=none", "tall.clusters.csv"], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(f"peak {peak / 1e6:.0f} MB")
if peak > (64 << 20) + 150_000_000:
    sys.exit("too much")
P
expect 0 "$python" peak.py "$LEAT"
grep -q peak stdout || fail "the peak was not measured"
cat stdout
"$LEAT" generate clusters --series 4000 --samples 4000 -o wide.clusters.npy -q || fail "generate npy"
expect 1 "$LEAT" run -b cpu --threads 2 --memory 64M -o out wide.clusters.npy
says 'needs [0-9]+ bytes'
expect 2 "$LEAT" run -b cpu --threads 2 --memory 1M -o out wide.clusters.npy
says 'at least [0-9]+ bytes'
