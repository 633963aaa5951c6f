#!/bin/sh
# --bundle: each job leaves one zip beside its result.json, from which an unpacked result comes back.
. "$(dirname "$0")/lib.sh"
mkdir in
for i in 1 2 3; do
    printf '%d,2,5\n3,%d,4\n1,7,%d\n8,1,6\n' "$i" "$i" $((i * i % 17)) >in/t$i.clusters.csv
done
printf 'x,y\n0,1\n1,2\n2,0\n' >in/c.nodes.csv
printf '0.5\n1\n1.5\n' >in/c.query.csv
printf 'a,b\n1,2\n1,3\n8,9\n8,8\n' >in/k.points.csv
grid='ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1\n'
printf "$grid"'9 8 7 6\n9 8 7 6\n9 8 7 6\n' >in/s.dem.asc
printf "$grid"'0 0 0 0\n0 1 0 0\n0 0 0 0\n' >in/s.source.asc
echo 'LOCAL_CS["a"]' >in/s.prj
mkdir in/below
cp in/t1.clusters.csv 'in/below/größe 1.clusters.csv'
printf '[pipeline kmeans]\nk = 2\n[pipeline sciddicat]\nsteps = 20\nsnapshot_every = 10\nfigure = svg\n' >conf
(cat conf && echo) | sed '1i bundle = yes' >bundle.conf
bundles() {
    "$python" "$here/bundle.py" "$@" || exit 1
}

# The zip holds what the folder would, whoever computes it; from the option or from the configuration.
expect 0 "$LEAT" run -b cpu -q -c conf -o plain in
expect 0 "$LEAT" run -b cpu -q -c conf --threads 1 -j 1 -o one --bundle in
expect 0 "$LEAT" run -b cpu -q -c bundle.conf --threads 3 -o three in
bundles compare plain one
bundles compare plain three
bundles same one three
[ "$(find one -name '*.zip' | wc -l)" -eq 7 ] || fail "not seven zips: $(find one)"
expect 0 "$LEAT" run -b cpu -c conf -o told --bundle in/t1.clusters.csv
says 't1.clusters.csv -> told/t1/t1.zip in '
[ ! -e one/s/snapshots ] || fail "an empty folder is left"

# Once unpacked it is a result like any other.
mkdir unpacked
for result in t1 c s; do
    mkdir unpacked/$result
    unzip -q one/$result/$result.zip -d unpacked/$result || fail "unzip $result"
done
expect 0 "$LEAT" run -b cpu -c conf --resume -o unpacked in/t1.clusters.csv in/c.nodes.csv in/c.query.csv in/s.dem.asc in/s.source.asc
says '0 jobs done, 3 skipped'
expect 0 "$LEAT" show unpacked/s
grep -q 'picture: map.svg$' stdout || fail "show: $(cat stdout)"

# So it is as it comes by mail; what else is in a zip is an input.
cp one/t1/t1.zip mailed.zip
expect 0 "$LEAT" show unpacked/t1
mv stdout unpacked.txt
expect 0 "$LEAT" show mailed.zip
cmp -s unpacked.txt stdout || fail "show of a zip: $(cat stdout)"
expect 0 "$LEAT" show --json mailed.zip
"$python" -c 'import json, sys; assert json.load(sys.stdin)["pipeline"] == "pearson"' <stdout || fail "$(cat stdout)"
truncate -s -30 mailed.zip
expect 2 "$LEAT" show mailed.zip
says 'mailed.zip'
(cd in && "$python" -m zipfile -c ../inputs.zip t1.clusters.csv t2.clusters.csv) || fail "zipfile"
expect 0 "$LEAT" show inputs.zip
[ "$(grep -c clusters.csv stdout)" -ge 2 ] || fail "show of inputs: $(cat stdout)"
echo '{"pipeline": 1}' >result.json
"$python" -m zipfile -c other.zip result.json || fail "zipfile"
expect 2 "$LEAT" show other.zip
says "other.zip' holds no file that a pipeline takes"

# What is shown is what it was computed to; where the files are, is said.
expect 0 "$LEAT" show one/t1
grep -q 'picture: heatmap.png in t1.zip$' stdout || fail "show: $(cat stdout)"
grep -Eq '^  r +n +series, from 0 *$' stdout || fail "show: $(cat stdout)"
grep -Eq '^  t1.zip +[0-9.]+ KiB$' stdout || fail "show: $(cat stdout)"
grep -q '^In t1.zip' stdout || fail "show: $(cat stdout)"
grep -q 'numpy.load("pearson.npz")' stdout || fail "show: $(cat stdout)"
expect 0 "$LEAT" show plain/t1
mv stdout plain.txt
expect 0 "$LEAT" show one/t1
diff plain.txt stdout >differences
! grep '^<' differences | grep -Ev 'picture: heatmap.png$|In Python$|Files$' || fail "show says less of a bundle"
expect 0 "$LEAT" show one
[ "$(grep -c '^one/' stdout)" -eq 7 ] || fail "show: $(cat stdout)"

# resumed STATUS N_DONE N_SKIPPED OPTION...
resumed() {
    wanted=$1 done=$2 skipped=$3
    shift 3
    expect "$wanted" "$LEAT" run -b cpu -c conf --json --resume "$@"
    [ "$(grep -c '"status": *"ok"' stdout)" -eq "$done" ] || { cat stdout stderr; fail "not $done done: $*"; }
    [ "$(grep -c '"status": *"skipped"' stdout)" -eq "$skipped" ] || { cat stdout stderr; fail "not $skipped skipped: $*"; }
}
resumed 0 0 7 -o one --bundle in
rm one/t1/t1.zip
truncate -s 100 one/t2/t2.zip
rm -r one/t3
resumed 0 3 4 -o one --bundle in
bundles same one three
resumed 1 0 0 -o one in/t1.clusters.csv
says 'but it was made with --bundle; --force'
resumed 1 0 0 -o plain --bundle in/t1.clusters.csv
says 'but it was made without --bundle; --force'
resumed 0 1 0 -o plain --bundle --force in/t1.clusters.csv
bundles same plain/t1 one/t1
expect 0 "$LEAT" run -b cpu -q -c conf -o plain --force in/t1.clusters.csv
[ ! -e plain/t1/t1.zip ] && [ -e plain/t1/report.html ] || fail "a bundle is not replaced"

# Each member of an archive leaves its own; from the archive and from the folder they are the same but for the inputs' names.
tar -C in -cf all.tar .
expect 0 "$LEAT" run -b cpu -q -c conf -o members --bundle all.tar
bundles compare plain members
resumed 0 0 7 -o members --bundle all.tar

# Names: one that is too long for ".zip" is cut, one that is not UTF-8 is made so; both are found again.
mkdir odd
long=$("$python" -c 'print("ä" * 125 + "x")')
cp in/t1.clusters.csv "odd/$long.csv"
latin=$(printf 'gr\366\337e')
cp in/t1.clusters.csv "odd/$latin.csv"
expect 0 "$LEAT" run -b cpu -q -p pearson -o oddout --bundle "odd/$long.csv" "odd/$latin.csv"
bundles whole oddout
expect 0 "$LEAT" run -b cpu -p pearson -o oddout --bundle --resume "odd/$long.csv" "odd/$latin.csv"
says '0 jobs done, 2 skipped'

# check makes none, and knows the key.
expect 0 "$LEAT" check -q -b cpu -c bundle.conf in

# What does not fit is a clear error, and leaves nothing: the results fit, but not their copy in the zip.
"$LEAT" generate -q clusters --series 700 --samples 60 -o wide.clusters.npy || fail "generate"
expect 0 "$LEAT" run -b cpu -q -o wide wide.clusters.npy
small_disk "$(($(du -sk wide | cut -f1) + 300))k"
expect 0 "$LEAT" run -b cpu -q -o small wide.clusters.npy
rm -r small/wide
expect 1 "$LEAT" run -b cpu -o small --bundle wide.clusters.npy
says 'error: .*wide.zip: No space left'
[ -z "$(ls -A small)" ] || fail "left over: $(ls -A small)"
echo "bundled, the same by any number of threads, and found again"
