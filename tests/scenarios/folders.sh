#!/bin/sh
# Folders, archives and many small files in one run; each result once, an existing one kept without --force.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
mkdir -p in/deep/pearson in/.hidden
for i in $(seq 1 200); do
    printf '%d,2,5\n3,%d,4\n1,7,%d\n' "$i" "$i" "$((i * i % 17))" >in/f$i.clusters.csv
done
cp in/f1.clusters.csv in/deep/pearson/bare.csv
cp in/f1.clusters.csv in/.hidden/no.clusters.csv
cp in/f1.clusters.csv in/half.clusters.csv.part
cp in/f1.clusters.csv in/notes.csv
for beside in f1.clusters.csvt f1.clusters.csv.aux.xml f1.clusters.cpg deep/pearson/bare.qml f2.clusters.PRJ; do
    echo not a table >in/$beside
done
expect 0 "$LEAT" run -b cpu -o out --json in
says '4 sidecar files of grids and tables ignored'
says "2 files in 'in' left alone: no pipeline takes them"
[ "$(grep -c '^{"input"' stdout)" -eq 201 ] || fail "$(wc -l <stdout) JSON lines instead of 201 and the totals"
[ "$(find out -name result.json | wc -l)" -eq 201 ] || fail "$(find out -name result.json | wc -l) results instead of 201"
[ -f out/deep/pearson/bare/pearson.npz ] || fail "the sub-folder named after the pipeline was not used"
"$python" -c 'import json,sys
*jobs, last = map(json.loads, open("stdout"))
assert last["totals"]["done"] == len(jobs), last
for o in jobs:
    assert o["status"] == "ok" and o["pipeline"] == "pearson" and o["outputs"], o' || fail "JSON"

expect 1 "$LEAT" run -b cpu -o out in/f1.clusters.csv
says 'already'
before=$(stat -c %i out/f1)
expect 0 "$LEAT" run -b cpu -o out --force in/f1.clusters.csv
[ "$before" != "$(stat -c %i out/f1)" ] || fail "--force did not replace the result"

# A table that is named itself needs no other name; the files of a landslide neither.
mkdir plain
cp in/f1.clusters.csv plain/f1.csv
gzip -c plain/f1.csv >plain/g1.csv.gz
expect 0 "$LEAT" run -b cpu -o named plain/f1.csv plain/g1.csv.gz
for name in f1 g1; do
    cmp out/f1/pearson.npz named/$name/pearson.npz || fail "$name: the name changes the result"
done
"$LEAT" generate dem --rows 40 --columns 40 --seed 1 -o a.asc -q && "$LEAT" generate dem --rows 40 --columns 40 --seed 2 -o b.asc -q
mv a.dem.asc ground.asc && mv a.source.asc plain/one.asc && mv b.source.asc plain/two.asc
echo 'PROJCS["x",UNIT["metre",1]]' >ground.prj
expect 0 "$LEAT" run -b cpu -s steps=20 -o slides --json --dem ground.asc --source plain/one.asc --source plain/two.asc
"$python" -c 'import json
*jobs, _ = map(json.loads, open("stdout"))
o = {x["output"]: x for x in jobs}
assert sorted(o) == ["slides/one", "slides/two"]
for name in "one", "two":
    files = o["slides/" + name]["inputs"]
    assert [f["name"] for f in files] == ["ground.asc", f"{name}.asc"] and "prj_crc32" in files[0], files' || fail "not two landslides"
cp ground.asc one.dem.asc && cp plain/one.asc one.source.asc && cp ground.prj one.prj
expect 0 "$LEAT" run -b cpu -s steps=20 -o slides/paired one.dem.asc one.source.asc
cmp slides/one/thickness.tif slides/paired/one/thickness.tif || fail "the names change the landslide"
expect 1 "$LEAT" run -b cpu -s steps=20 -o slides --force --dem ground.asc --source plain/one.asc --source none.asc
says "none\\.asc"
expect 2 "$LEAT" run -b cpu -p pearson -o slides --dem ground.asc --source plain/one.asc
says 'pipeline pearson takes no --dem'

tar -C in -czf all.tar.gz f1.clusters.csv f2.clusters.csv notes.csv
(cd in && "$python" -m zipfile -c ../all.zip f3.clusters.csv)
expect 0 "$LEAT" run -b cpu -o fromarchive all.tar.gz all.zip
[ "$(ls -A fromarchive | tr '\n' ' ')" = "f1 f2 f3 " ] || fail "archives gave: $(ls -A fromarchive)"
cmp out/f2/pearson.npz fromarchive/f2/pearson.npz || fail "a member of an archive gives another result"

# Results keep the folders of their inputs beneath what is given; an archive in a folder is one of its name.
mkdir -p sites/A/2026 sites/B
cp in/f1.clusters.csv sites/day.clusters.csv && cp in/f2.clusters.csv sites/A/day.clusters.csv
cp in/f3.clusters.csv sites/A/2026/day.clusters.csv && cp in/f4.clusters.csv sites/B/day.clusters.csv
tar -C sites -czf sites.tar.gz A B day.clusters.csv && cp sites.tar.gz sites/B/pack.tar.gz
results() { (cd "$1" && find . -name result.json | sort | tr '\n' ' '); }
once="./A/2026/day/result.json ./A/day/result.json ./B/day/result.json ./day/result.json "
expect 0 "$LEAT" run -q -b cpu -o tar sites.tar.gz
[ "$(results tar)" = "$once" ] || fail "an archive gave: $(results tar)"
for how in '' --force --resume; do
    expect 0 "$LEAT" run -q -b cpu -o kept $how sites/
    [ "$(results kept | wc -w)" -eq 8 ] && [ "$(ls -A kept | tr '\n' ' ')" = "A B day " ] || fail "$how: $(results kept)"
done
for where in . A A/2026 B; do
    cmp kept/$where/day/pearson.npz tar/$where/day/pearson.npz || fail "$where: of another input"
    cmp kept/$where/day/pearson.npz kept/B/pack/$where/day/pearson.npz || fail "$where: of another input, in the archive"
done
"$python" -c 'import json
for path, name in ("kept/A/2026/day", "A/2026/day.clusters.csv"), ("tar/A/day", "A/day.clusters.csv"), ("kept/day", "day.clusters.csv"):
    told = json.load(open(path + "/result.json"))["inputs"][0]["name"]
    assert told == name, told' || fail "result.json does not name the folder"
# As deep as results may lie, and one folder more.
deep=bottom/$(seq -s/ 32)
mkdir -p $deep/33 && cp in/f1.clusters.csv $deep/ && cp in/f1.clusters.csv $deep/33/
tar -cf bottom.tar -C bottom .
for given in bottom bottom.tar; do
    expect 1 "$LEAT" run -q -b cpu -o deepest $given
    says "$given.*/33/f1.clusters.csv': lies in more than 32 folders"
    [ "$(wc -l <stderr)" -eq 1 ] && [ -e deepest/$(seq -s/ 32)/f1/result.json ] || { cat stderr; fail "32 folders are too many"; }
    rm -r deepest
done
# Unfinished and kept copies are no inputs, in a folder and in an archive.
mkdir -p copies/pearson && cp in/f1.clusters.csv copies/pearson/x.csv
(
    cd copies/pearson || exit 1
    for name in x.csv.bak x.csv.1 x.csv.orig '~$x.csv' '#x.csv#' 'x.csv:Zone.Identifier' x.csv.crdownload '~$x.zip'; do
        cp x.csv "$name"
    done
)
tar -cf copies.tar copies
for given in copies copies.tar; do
    expect 0 "$LEAT" run -b cpu --force -o copied $given
    says "8 files in '$given' left alone"
    [ "$(find copied -name result.json | wc -l)" -eq 1 ] || fail "$given: copies were taken: $(find copied)"
    rm -r copied
done

# What would lie in one place is refused, and where a result or a link is no folder.
expect 1 "$LEAT" run -q -b cpu -o clash sites/A sites/B/day.clusters.csv
says "'sites/B/day.clusters.csv': its result would be 'day', as that of 'sites/A/day.clusters.csv'; rename one of them"
cp in/f5.clusters.csv sites/A.clusters.csv
expect 1 "$LEAT" run -q -b cpu -o within sites
says "sites/A.clusters.csv': its result would be 'A', in which that of 'sites/A/2026/day.clusters.csv' lies"
expect 0 "$LEAT" run -q -b cpu -o taken sites/A.clusters.csv && rm sites/A.clusters.csv
mkdir elsewhere && ln -s ../elsewhere taken/B
expect 1 "$LEAT" run -q -b cpu -o taken --force sites
says "the result 'A/day' cannot lie in 'A' in the output folder, which is a result itself"
says "the result 'B/day' cannot lie in 'B' in the output folder, which is not a folder"
[ -z "$(ls -A elsewhere)" ] && [ -f taken/A/result.json ] && [ ! -e taken/A/day ] || fail "a result lies where none may"

expect 0 "$LEAT" check -b cpu in/f1.clusters.csv
grep -q '3 lines of 3 numbers' stdout || { cat stdout; fail "check does not tell the shape"; }
[ ! -e leat-out ] || fail "check wrote results"
echo "folders and archives"
