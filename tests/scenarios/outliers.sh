#!/bin/sh
# Outliers and fill values outside the samples that two series share: what they share tells r, in columns and in rows,
# against fractions, of files and by a pipe, which cannot be read again, as they are and as increments; f32 lists exact ones,
# too. LEAT_TEST_BACKEND chooses the backend.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
backend=${LEAT_TEST_BACKEND:-cpu}

for value in 1e14 9.96921e36 -2147483648 500; do
    printf 'a,b,c\n1.1,2,%s\n2.3,4,NA\n3.2,5,7\n4.7,9,8\n5.1,8,12\n7.7,6,9.5\n%s,NA,10\n' "$value" "$value" >columns.clusters.csv
    printf '1.1,2.3,3.2,4.7,5.1,7.7,%s\n2,4,5,9,8,6,NA\n%s,NA,7,8,12,9.5,10\n' "$value" "$value" >rows.clusters.csv
    for precision in exact f32; do
        rm -rf results
        expect 0 "$LEAT" run -q -b "$backend" -s series=columns -o results columns.clusters.csv
        expect 0 "$LEAT" run -q -b "$backend" -s series=rows -s "precision=$precision" -o results rows.clusters.csv
        for diff in none step; do
            cat columns.clusters.csv | "$LEAT" run -q -b "$backend" -s series=columns -s "diff=$diff" \
                -s "precision=$precision" -o "results/$diff" - --name piped.clusters.csv || fail "diff=$diff by a pipe: $value"
        done
        "$python" - rows.clusters.csv results/*/pairs.csv.gz results/*/piped/pairs.csv.gz <<'PYTHON' || fail "$value, $precision"
import gzip, itertools, math, sys
from fractions import Fraction

rows = [[None if cell == "NA" else Fraction(cell) for cell in line.strip().split(",")] for line in open(sys.argv[1])]

def pearson(x, y):
    both = [(a, b) for a, b in zip(x, y) if a is not None and b is not None]
    mx, my = (sum(v) / len(both) for v in zip(*both))
    xy, xx, yy = (sum(p * q for p, q in z) for z in (
        [(a - mx, b - my) for a, b in both], [(a - mx,) * 2 for a, _ in both], [(b - my,) * 2 for _, b in both]))
    return math.copysign(math.sqrt(xy * xy / (xx * yy)), xy)

def steps(row):
    return [None if None in pair else pair[1] - pair[0] for pair in zip(row, row[1:])]

for name in sys.argv[2:]:
    series = [steps(row) for row in rows] if "/step/" in name else rows
    wanted = {(i, j): pearson(series[i], series[j]) for i, j in itertools.combinations(range(len(rows)), 2)}
    lines = [line.split(",") for line in gzip.open(name, "rt").read().split("\n")[1:-1]]
    got = {(int(line[0]), int(line[1])): float(line[4]) for line in lines}
    bad = [pair for pair in wanted if not abs(got.get(pair, math.nan) - wanted[pair]) <= 1e-10]
    if bad:
        sys.exit("%s: %s, not %s" % (name, got, wanted))
PYTHON
    done
done
echo "the samples in common told every coefficient"
