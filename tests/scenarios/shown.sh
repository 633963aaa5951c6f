#!/bin/sh
# All that check and show say of an input and a result of each pipeline, but for parameters, which have tests of their
# own, and sizes of files, which depend on the processor: shown.txt.
. "$(dirname "$0")/lib.sh"
printf 'a,b,c\n1,2,3.5\n4,5,7\n6,9,8\n5,5,5\n' >t.clusters.csv
printf '1,2,3\n4,5,7\n6,9,8\n' >u.clusters.csv
printf 'a,b,c\n1,2,3.5\n4,,7\n6,9,7\n5,5,7\n5,3,7\n' >v.clusters.csv
printf '0\n0.5\n3\n' >n.query.csv
{
    expect 0 "$LEAT" generate dem --rows 20 --columns 20 -q -o slope.asc &&
        expect 0 "$LEAT" generate points --points 30 --clusters 3 -q -o p.points.csv &&
        expect 0 "$LEAT" generate nodes --degree 5 -q -o n.nodes.csv
} || exit 1
printf '[pipeline sciddicat]\nsteps = 20\n[pipeline kmeans]\nk = 3\n' >leat.conf
for files in t.clusters.csv u.clusters.csv v.clusters.csv "slope.dem.asc slope.source.asc" p.points.csv "n.nodes.csv n.query.csv"; do
    expect 0 "$LEAT" check -b cpu -c leat.conf $files
    cat stdout >>said
    expect 0 "$LEAT" run -b cpu -q -c leat.conf -o out $files
done
expect 0 "$LEAT" run -b cpu -q -o out/zip --bundle t.clusters.csv
for result in out out/t out/u out/v out/slope out/p out/n out/zip/t out/zip/t/t.zip; do
    expect 0 "$LEAT" show $result
    cat stdout >>said
done
sed -E '/^Parameters$/,/^$/d; /^  parameters:/d; s/[0-9.]+ (B|[KMG]iB)/SIZE/g; s/ +$//' said >got
diff -u "$here/shown.txt" got || fail "it differs from shown.txt"
echo "all that is shown of results and inputs"
