#!/bin/sh
# Every column of every table and every array of a result is defined under RESULTS in its pipeline's page, and nothing else is.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
"$python" "$here/warnings_made.py" || fail "inputs"
mkdir in
cp code.clusters.csv cap.dem.asc cap.source.asc ncode.nodes.csv in/
cp cap.source.asc in/cap.observed.asc
printf 'name,u,v,w,heavy\n' >in/p.points.csv
seq 1 40 | awk '{ print "p" $1 "," $1 % 7 "," $1 % 5 + $1 / 100 "," $1 % 3 "," 1 + $1 % 2 }' >>in/p.points.csv
cat >leat.conf <<'EOC'
[pipeline pearson]
order = cluster
top_each = 2
[pipeline sciddicat]
steps = 10
state = keep
probe = 1,1
observed = file
p_r = 0.4,0.5
[pipeline interpolate]
query = linspace(0, 1, 5)
[pipeline kmeans]
k = 2-4
weight = heavy
EOC
expect 0 "$LEAT" run -b cpu -q -c leat.conf -o out in
expect 0 "$LEAT" run -b cpu -q -s r=csv -s groups=0.5 -o out/text code.clusters.csv
expect 0 "$LEAT" run -b cpu -q -s lags=2 -s top_each=1 -o out/lags code.clusters.csv
cp code.clusters.csv code.targets.csv
expect 0 "$LEAT" run -b cpu -q -s targets=file -o out/targets code.clusters.csv code.targets.csv
head -n 1 code.clusters.csv | tr , '\n' | awk '{ print $0 "," NR % 2 }' >code.groups.csv
expect 0 "$LEAT" run -b cpu -q -s within=file -o out/within code.clusters.csv code.groups.csv
for of in targets within; do # neither has a triangle that squareform takes
    "$LEAT" show out/$of/code >shown
    grep -q numpy.load shown && ! grep squareform shown || fail "$of: code for another r"
done
exec "$python" - out "$here"/../../pipeline/manual/*.7 <<'EOP'
import csv
import glob
import gzip
import os
import re
import sys
import zipfile

out, *pages = sys.argv[1:]
defined, named, current = {}, set(), None
lines = []
for page in pages:
    with open(page) as f:
        lines += f.read().partition("\n.Sh RESULTS\n")[2].partition("\n.Sh ")[0].splitlines()
for line in lines:
    if line.startswith(".It Pa "):
        current = line.split()[2]
        if current.endswith((".csv.gz", ".npz")):
            defined[current] = set()
    elif line.startswith(".It Cm "):
        defined[current] |= set(re.findall(r"[\w]+", line[7:]))
    elif line.startswith(".It Ar "):
        named.add(current)
free = {"curve.csv.gz": {"y"}, "r.csv.gz": {"a", "b", "c"}, "centroids.csv.gz": {"u", "v", "w"}}  # as the tables above call their columns
found = {}
for path in glob.glob(os.path.join(out, "**"), recursive=True):
    name = os.path.basename(path)
    if name.endswith(".csv.gz"):
        with gzip.open(path, "rt", newline="") as f:
            found[name] = found.get(name, set()) | set(next(csv.reader(f)))
    elif name.endswith(".npz"):
        with zipfile.ZipFile(path) as z:
            found[name] = found.get(name, set()) | {n[:-len(".npy")] for n in z.namelist()}
for name in sorted({**found, **defined}):
    want = defined.get(name, set()) | (free[name] if name in named else set())
    if found.get(name) != want:
        sys.exit(f"FAILED: {name} has {sorted(found.get(name, []))}, the pages define {sorted(want)}")
print(sum(map(len, found.values())), "columns and arrays of", len(found), "files are defined")
EOP
