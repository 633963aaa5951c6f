#!/bin/sh
# The same input gives byte-identical data files: twice, with other numbers of threads and jobs, with other
# --memory, with the file gzipped. LEAT_TEST_SMALL: fewer and shorter series.
# ctest: long small=asan tsan=soak
. "$(dirname "$0")/lib.sh"

part=1
[ -z "${LEAT_TEST_SMALL:-}" ] || part=3
"$LEAT" generate clusters --series $((300 / part)) --samples $((2000 / part)) --seed 7 -o rows.clusters.csv -q || fail "generate"
"$LEAT" generate clusters --series 40 --samples $((30000 / part)) --seed 8 --layout columns -o columns.clusters.csv -q ||
    fail "generate columns"
"$LEAT" generate clusters --series $((700 / part)) --samples 300 --type f32 -o array.clusters.npy -q || fail "generate npy"

# The data files' checksums of a run into out.N, inputs and options following.
sums() {
    expect 0 "$LEAT" run -q -b cpu -o "$@"
    (cd "$1" && find . -type f ! -name result.json | sort | xargs sha256sum)
}
inputs="rows.clusters.csv columns.clusters.csv array.clusters.npy"
sums out.1 --threads 1 -j 1 $inputs >one
[ "$(wc -l <one)" -eq 15 ] || fail "five files a job expected: $(cat one)"
sums out.2 --threads 1 -j 1 $inputs >two
sums out.3 --threads 2 -j 4 $inputs >three
sums out.4 --threads 5 -j 2 --memory 96M $inputs >four
cmp one two && cmp one three && cmp one four || fail "results differ"
gzip -k rows.clusters.csv
sums out.5 rows.clusters.csv.gz >five
grep rows one | grep -v "heatmap\|report" >rows.one # which have the name of the file
grep -v "heatmap\|report" five | cmp rows.one - || fail "the gzipped table gives other results"
sums out.f32.1 --threads 1 -s precision=f32 array.clusters.npy >p1
sums out.f32.2 --threads 3 -s precision=f32 array.clusters.npy >p2
cmp p1 p2 || fail "results differ with precision f32"
echo "identical"
