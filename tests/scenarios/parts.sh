#!/bin/sh
# Jobs of two files: which belong together, in folders, arguments and archives; what is said when one is missing;
# the coordinate system that lies beside a grid, also where it comes after it.
. "$(dirname "$0")/lib.sh"

# grid NAME LEVEL CORNER: 4 x 5 cells.
grid() {
    {
        printf 'ncols 5\nnrows 4\nxllcorner 100\nyllcorner 200\ncellsize 10\nNODATA_value -9999\n'
        for row in 1 2 3 4; do
            case $row in
            2) echo "$2 $3 $2 $2 $2" ;;
            *) echo "$2 $2 $2 $2 $2" ;;
            esac
        done
    } >"$1"
}

run() {
    wanted=$1
    shift
    expect "$wanted" "$LEAT" run -b cpu -s steps=20 "$@"
}
results() {
    [ "$(ls "$1" | tr '\n' ' ')" = "$2" ] || fail "$1 holds $(ls "$1"), not $2"
}

mkdir -p in/deep
grid in/a.dem.asc 100 105
grid in/a.source.asc 0 5
grid in/deep/a.source.asc 0 5 # another job: another folder
grid in/deep/b.dem.asc 100 103
grid in/deep/b.source.asc 0 3
echo 'PROJCS["somewhere"]' >in/a.dem.prj
echo '<PAMDataset/>' >in/a.dem.asc.aux.xml

# A folder, two arguments, and the other way round: the same bits.
run 1 -o all in
says "deep/a.source.asc.*: sciddicat also needs a.dem.\*"
results all "a deep "
results all/deep "b "
run 0 -o two in/a.dem.asc in/a.source.asc
run 0 -o owt in/a.source.asc in/a.dem.asc
for out in two owt; do
    cmp all/a/thickness.tif $out/a/thickness.tif || fail "order of arguments"
done
"$python" - <<'P' || fail "result.json"
import json
j = json.load(open("two/a/result.json"))
assert [i["name"] for i in j["inputs"]] == ["a.dem.asc", "a.source.asc"], j["inputs"]
assert all(len(i["crc32"]) == 8 for i in j["inputs"])
P

# What lies beside a grid is no input, also where a shell's * names it.
for kind in asc.qml tif.msk wld tfw tifw qpj asc.ovr cpg; do
    echo "$kind" >in/a.dem.$kind
done
run 0 -o globbed in/a.*
results globbed "a "
says "9 sidecar files of grids and tables ignored, 'in/a.dem.asc.aux.xml' first; GDAL may use those of the grids that it reads"
[ "$(grep -c 'sidecar files' stderr)" -eq 1 ] || fail "sidecar files are reported in more than one line"
for beside in prj asc.qml; do # -q: something went wrong
    expect 2 "$LEAT" run -q -b cpu -o out in/a.dem.$beside
    says "'in/a.dem.$beside' is a sidecar file of a grid or a table, not an input"
    [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "more than one line on a file beside a grid"; }
done

# Capitals, and a .prj that is called after the whole job.
mkdir big
cp in/a.dem.asc big/A.DEM.ASC
cp in/a.source.asc big/A.SOURCE.ASC
for prj in A.DEM.PRJ A.DEM.Prj A.prj A.PRJ; do
    echo "PROJCS[\"$prj\"]" >big/$prj
    run 0 --force -o capitals -s raster=asc.gz big
    results capitals "A "
    grep -q "\"$prj\"" capitals/A/thickness.prj || fail "$prj is not found"
    rm big/$prj
done
echo 'PROJCS["job"]' >big/A.prj
echo 'PROJCS["part"]' >big/A.DEM.prj
run 0 --force -o capitals -s raster=asc.gz big
grep -q part capitals/A/thickness.prj || fail "A.prj goes before A.DEM.prj"

# One alone fails with the name of what is missing; so does check.
for command in run check; do
    expect 1 "$LEAT" $command -b cpu -o out in/a.dem.asc
    says "in/a.dem.asc': sciddicat also needs a.source"
    expect 1 "$LEAT" $command -b cpu -o out in/a.source.asc
    says "a.dem"
done
[ ! -d out/a ] || fail "half a job left a result"
expect 0 "$LEAT" check -b cpu in/a.dem.asc in/a.source.asc
grep -q "a.source.asc" stdout || fail "check does not tell of the second file"

# Two files for one part; shapes that differ; places that differ: both are told.
cp in/a.dem.asc in/a.dem.txt
run 1 -o twice in
says "its job has 'in/a.dem.asc' as dem already"
results twice "a deep "
rm in/a.dem.txt
sed 's/^nrows 4/nrows 3/; 10d' in/a.source.asc >in/c.source.asc
cp in/a.dem.asc in/c.dem.asc
sed 's/xllcorner 100/xllcorner 140/' in/a.source.asc >in/d.source.asc
cp in/a.dem.asc in/d.dem.asc
run 1 -o differ in/c.dem.asc in/c.source.asc in/d.dem.asc in/d.source.asc
says "c\.(dem|source)\.asc.*[43] (x|rows|by).*[43]"
says "d\.(dem|source)\.asc.*140"
results differ ""
rm in/[cd].*

# The coordinate system: beside a file, and in an archive wherever it stands before its job is whole.
run 0 -o asc -s raster=asc.gz in/a.dem.asc in/a.source.asc
grep -q somewhere asc/a/thickness.prj || fail "the .prj is lost"
"$python" - <<'P' || skip "no Python"
import tarfile, zipfile
orders = {"front": ["a.dem.prj", "a.dem.asc", "a.source.asc"], "back": ["a.source.asc", "a.dem.prj", "a.dem.asc"]}
for name, files in orders.items():
    with zipfile.ZipFile(name + ".zip", "w") as z:
        for f in files:
            z.write("in/" + f, "sub/" + f)
with open("b.prj", "w") as f:
    f.write('PROJCS["elsewhere"]\n')
with tarfile.open("late.tar", "w") as t, zipfile.ZipFile("late.zip", "w") as z:
    for f, of in [("a.dem.asc",) * 2, ("b.dem.asc", "deep/b.dem.asc"), ("a.source.asc",) * 2,
                  ("b.source.asc", "deep/b.source.asc"), ("a.dem.prj",) * 2]:
        t.add("in/" + of, "in/" + f)
        z.write("in/" + of, "in/" + f)
    t.add("b.prj", "in/b.prj")
    z.write("b.prj", "in/b.prj")
with tarfile.open("half.tar", "w") as t:
    t.add("in/deep/a.source.asc", "a.source.asc")
    for f in ["b.dem.asc", "b.source.asc"]:
        t.add("in/deep/" + f, f)
    with open("capital.prj", "w") as f:
        f.write('PROJCS["somewhere"]\n')
for name, prj in {"part": "a.dem.PRJ", "whole": "a.Prj"}.items():
    with zipfile.ZipFile(name + ".zip", "w") as z:
        z.write("capital.prj", "sub/" + prj)
        for f in ["a.dem.asc", "a.source.asc"]:
            z.write("in/" + f, "sub/" + f)
P
for name in front back part whole; do
    run 0 -o $name -s raster=asc.gz $name.zip
    cmp $name/sub/a/thickness.asc.gz asc/a/thickness.asc.gz || fail "$name.zip gives other numbers"
    cmp $name/sub/a/thickness.prj asc/a/thickness.prj || fail "$name.zip loses the .prj"
done
# Wherever the .prj stands: behind its grid, too, unless the archive comes through a pipe, which says so.
for name in late.tar late.zip; do
    run 0 -o of-$name -s raster=asc.gz $name
    ! grep -q "not carried" stderr || fail "$name: $(cat stderr)"
    cmp of-$name/in/a/thickness.prj asc/a/thickness.prj || fail "$name loses the .prj"
    cmp of-$name/in/b/thickness.prj b.prj || fail "$name: b has not its own .prj"
done
mkfifo fed.tar && { cat late.tar >fed.tar & }
run 0 -o piped -s raster=asc.gz fed.tar
says "fed.tar.*a.dem.prj.*not carried"
run 1 -o half half.tar
says "half.tar/a.source.asc': sciddicat also needs a.dem.*; give all files of a job, from one folder"
results half "b "
