#!/bin/sh
# --resume: what is done is skipped, and only that: inputs, parameters, version and lengths of files decide.
. "$(dirname "$0")/lib.sh"
mkdir in
for i in 1 2 3; do
    printf '%d,2,5\n3,%d,4\n1,7,%d\n' "$i" "$i" $((i * i % 17)) >in/t$i.clusters.csv
done
printf 'x,y\n0,1\n1,2\n2,0\n' >in/c.nodes.csv
printf '0.5\n1\n1.5\n' >in/c.query.csv
grid='ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1\n'
printf "$grid"'9 8 7 6\n9 8 7 6\n9 8 7 6\n' >in/s.dem.asc
printf "$grid"'0 0 0 0\n0 1 0 0\n0 0 0 0\n' >in/s.source.asc
echo 'LOCAL_CS["a"]' >in/s.prj

# resumed STATUS N_DONE N_SKIPPED OPTION...: what a resumed run of `in` comes to.
resumed() {
    wanted=$1 done=$2 skipped=$3
    shift 3
    expect "$wanted" "$LEAT" run -b cpu -o out --json --resume "$@"
    [ "$(grep -c '"status": *"ok"' stdout)" -eq "$done" ] || { cat stdout stderr; fail "not $done done: $*"; }
    [ "$(grep -c '"status": *"skipped"' stdout)" -eq "$skipped" ] || { cat stdout stderr; fail "not $skipped skipped: $*"; }
}
# Which folders the results are: those that are replaced get others.
inodes() {
    ls -di out/* | sed 's/^ *//' | tr '\n' ' '
}

resumed 0 5 0 in
before=$(inodes)
resumed 0 0 5 in
says '0 jobs done, 5 skipped, 0 failed'
[ "$before" = "$(inodes)" ] || fail "something was done again"

# As asked for, not as the stage has understood it; a parameter that is asked for in another way is the same.
json() {
    "$python" -c 'import json,sys; o = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), o' "$@" || fail "$2"
}
json out/t1/result.json 'o["parameters"]["series"] == "rows" and o["requested"]["series"] == "auto"'
json out/t1/result.json '"T" in o["inputs"][0]["modified"] and "prj_crc32" not in o["inputs"][0] and o["inputs"][0]["inode"] > 0'
resumed 0 0 3 -s series=auto -s top=1000 in/t1.clusters.csv in/t2.clusters.csv in/t3.clusters.csv

# A new time of modification is looked into; so are members of archives.
touch in/t1.clusters.csv
resumed 0 0 1 in/t1.clusters.csv
tar -C in -cf all.tar t1.clusters.csv t2.clusters.csv s.prj s.dem.asc s.source.asc
resumed 0 0 3 all.tar
[ "$before" = "$(inodes)" ] || fail "something was done again"

# A member that is long enough to be read as it is unpacked is compared first, too, and those behind it are found.
"$python" - <<'P' || fail "no archive of a long table"
import io, tarfile
lines = [b"%d,%d,%d\n" % (i, i * i % 97, i * i * i % 89) for i in range(40000)]
all = b"".join(lines)
tables = {"small": b"".join(lines[:100]), "long": all * (68 * 2**20 // len(all) + 1), "behind": b"".join(lines[:200])}
with tarfile.open("long.tar", "w") as t:
    for name, text in tables.items():
        info = tarfile.TarInfo(f"{name}.clusters.csv")
        info.size = len(text)
        t.addfile(info, io.BytesIO(text))
P
columns='-s series=columns -s figure=none'
resumed 0 3 0 $columns long.tar
resumed 0 0 3 $columns long.tar
rm -r out/long
resumed 0 1 2 $columns long.tar
resumed 1 0 0 $columns -s top=5 long.tar
says "'long' .*another top.*--force"
resumed 0 0 3 $columns long.tar
rm -r out/long out/small out/behind long.tar

# What differs is told, and replaced with --force alone; the rest is skipped.
differs() {
    what=$1
    skipped=$2
    shift 2
    resumed 1 0 "$skipped" "$@"
    says "but it was made .*$what.*--force"
}
differs 'another top' 0 -s top=5 in/t1.clusters.csv
differs 'without missing_value' 0 -s missing_value=7 in/t1.clusters.csv
differs 'another method' 0 -s method=barycentric in/c.nodes.csv in/c.query.csv
differs 'another query' 0 -s 'query=linspace(0,2,5)' in/c.nodes.csv
printf '1,2,5\n3,1,4\n1,7,2\n' >in/t1.clusters.csv # of the same length
differs "another 't1.clusters.csv'" 2 in/t1.clusters.csv in/t2.clusters.csv in/t3.clusters.csv
echo 'LOCAL_CS["b"]' >in/s.prj
differs "another 's.dem.asc'" 0 in/s.dem.asc in/s.source.asc
rm in/s.prj
differs "another 's.dem.asc'" 0 in/s.dem.asc in/s.source.asc
resumed 0 2 3 --force in
resumed 0 0 5 --force in
resumed 0 1 0 --force -s missing_value=7 in/t2.clusters.csv
differs 'another missing_value' 0 in/t2.clusters.csv
resumed 0 1 0 --force in/t2.clusters.csv
sed -i 's/"leat": "[^"]*"/"leat": "0.0.1"/' out/t3/result.json
resumed 1 0 0 in/t3.clusters.csv
says 'another version'
resumed 0 1 0 --force in/t3.clusters.csv

# A power cut may leave files without their content: they are made again. Whose a folder is whose result.json is not whole
# nobody knows.
truncate -s 3 out/t1/pearson.npz
rm out/t2/heatmap.png
resumed 0 2 3 in
truncate -s 100 out/t3/result.json
head -c 200 /dev/zero >out/t2/result.json
resumed 1 0 0 in/t2.clusters.csv in/t3.clusters.csv
says "'t3' is in the output folder, but its result.json is not whole"
says "'t2' is in the output folder, but its result.json is not whole"
resumed 0 2 0 --force in/t2.clusters.csv in/t3.clusters.csv

# A file of that name, length and time in another folder is another one, unless its content is the same.
mkdir elsewhere
tr 123456789 987654321 <in/t1.clusters.csv >elsewhere/t1.clusters.csv
cp in/t2.clusters.csv elsewhere/t2.clusters.csv
touch -r in/t1.clusters.csv elsewhere/t1.clusters.csv
touch -r in/t2.clusters.csv elsewhere/t2.clusters.csv
resumed 1 0 1 elsewhere
says "made from another 't1.clusters.csv'"
rm -r out/t3
mkdir out/t3
resumed 1 0 0 in/t3.clusters.csv
says 'not a result of leat'
rmdir out/t3

# Without --resume the message names it.
expect 1 "$LEAT" run -b cpu -o out in/t1.clusters.csv
says '--resume'

# A share may be empty; all shares together have everything, once.
rm -r out
total=0
for i in 1 2 3 4 5 6 7; do
    expect 0 "$LEAT" run -b cpu -o out --json --shard $i/7 in
    total=$((total + $(grep -c '^{"input"' stdout)))
done
[ "$total" -eq 5 ] && [ "$(ls out | wc -l)" -eq 5 ] || fail "$total of 5 jobs in seven shares: $(ls out)"
resumed 0 0 5 in

# Where no launcher says which share, run stops; other commands, and a share on the command line, do without it.
printf 'shard = auto\n' >auto.conf
expect 2 "$LEAT" run -c auto.conf -b cpu -o out --resume in
says '--shard auto: neither an array'
expect 0 "$LEAT" check -c auto.conf -b cpu in
expect 0 "$LEAT" run -c auto.conf -b cpu -o out --resume --shard 1/1 in
says '0 jobs done, 5 skipped'
says 'share 1 of 1'
echo "resumed, and nothing done twice"
