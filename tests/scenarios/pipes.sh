#!/bin/sh
# Standard input and named pipes give what the file gives: tables, grids, archives; so do large files in archives, which
# pass through memory alone. What cannot be read twice says so; a signal ends the wait for a pipe that nobody writes to.
# ctest: long
. "$(dirname "$0")/lib.sh"

run() { # FOLDER INPUT...: quietly, with columns as series
    folder=$1
    shift
    "$LEAT" run -q -b cpu -s series=columns -o "$folder" "$@" 2>stderr
    got=$?
    [ $got -eq 0 ] || { cat stderr; fail "exit status $got: run $*"; }
}
same() { # FOLDER NAME: as by the file
    cmp "by-file/$2/pearson.npz" "$1/$2/pearson.npz" || fail "$1: $2 differs"
}

"$python" - <<'P' || skip "no Python"
import numpy, zipfile
lines = b"".join(b"%d,%d,%d\n" % (i, i * i % 97, i * i * i % 89) for i in range(4000))
open("a.clusters.csv", "wb").write(lines)
numpy.save("b.clusters.npy", numpy.arange(3000.0).reshape(1000, 3) ** 1.5 % 7)
numpy.savez("c.clusters.npz", numpy.arange(3000.0).reshape(1000, 3) ** 1.3 % 5)
with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name in "a.clusters.csv", "b.clusters.npy", "c.clusters.npz":
        z.write(name)
P
tar cf all.tar a.clusters.csv b.clusters.npy c.clusters.npz && gzip -k all.tar || fail "tar"
gzip -k a.clusters.csv
run by-file a.clusters.csv b.clusters.npy c.clusters.npz
for name in a.clusters.csv b.clusters.npy c.clusters.npz a.clusters.csv.gz; do
    stem=${name%%.*}
    cat $name | run "pipe-$name" - --name $name
    same "pipe-$name" "$stem"
    run "file-$name" --name $name - <$name
    same "file-$name" "$stem"
    cat $name | run "dev-$name" --name $name /dev/stdin
    same "dev-$name" "$stem"
    mkdir fifo-$name
    mkfifo fifo-$name/$name
    cat $name >fifo-$name/$name &
    run "out-$name" fifo-$name/$name
    same "out-$name" "$stem"
done
cat a.clusters.csv | run unnamed -p pearson -
cmp by-file/a/pearson.npz unnamed/stdin/pearson.npz || fail "without a name it differs"
for name in all.tar all.tar.gz all.zip; do
    cat $name | run "archive-$name" - --name $name
    for stem in a b c; do
        same "archive-$name" $stem
    done
done
cat a.clusters.csv | "$LEAT" check -b cpu -s series=columns --name a.clusters.csv - >stdout || fail "check"
grep -q '^a\.clusters\.csv: csv, 4000 lines of 3 numbers' stdout || fail "check says $(cat stdout)"
# A file waits for the other part of its job, which comes by a pipe.
printf '0,0\n1,1\n2,4\n' >n.nodes.csv && printf '0.5\n1.5\n' >n.query.csv
"$LEAT" run -q -b cpu -o by-files n.nodes.csv n.query.csv || fail "queries by a file"
"$LEAT" run -q -b cpu -s series=columns -o plain - --name plain.csv <a.clusters.csv || fail "a table needs no .clusters"
"$LEAT" run -q -b cpu -o by-pipe n.nodes.csv - --name n.query.csv <n.query.csv || fail "queries by a pipe"
cmp by-files/n/curve.npz by-pipe/n/curve.npz || fail "queries by a pipe give another curve"

# A grid, in every kind of file: those that are read at any place are kept meanwhile.
"$LEAT" generate dem --rows 20 --columns 30 -q -o g.tif && "$LEAT" generate dem --rows 20 --columns 30 -q -o g.asc.gz || fail "generate"
rm g.source.asc.gz && gzip -dc g.dem.asc.gz >g.dem.asc && cp g.dem.tif g.dem.tiff
"$LEAT" run -q -b cpu -s steps=9 -o by-file g.dem.tif g.source.tif || fail "a landslide"
for name in tif tiff asc asc.gz; do
    "$LEAT" run -q -b cpu -s steps=9 -o by-pipe-$name - g.source.tif --name g.dem.$name <g.dem.$name || fail "a grid by a pipe: $name"
    cmp by-file/g/thickness.tif by-pipe-$name/g/thickness.tif || fail "another result: $name"
done

# Without a name it is a table of pearson's; what has to have one says so.
cat a.clusters.csv | run nameless -
cmp by-file/a/pearson.npz nameless/stdin/pearson.npz || fail "a table without a name and a pipeline"
for name in c.clusters.npz:X.npz all.zip:X.zip all.tar:X.tar; do
    cat ${name%:*} | "$LEAT" run -q -b cpu -o out - 2>stderr && fail "${name%:*} is read without its name"
    says "stdin: .*--name .*${name#*:}"
done
cat c.clusters.npz | run by-name - --name X.npz

# What is asked for and cannot be.
expect 2 "$LEAT" run - -
says 'standard input is named twice'
expect 2 "$LEAT" run --name x.csv a.clusters.csv
says "add the INPUT '-'"
expect 2 "$LEAT" run --resume -
says "'-' cannot be combined with --resume"
printf '1,2\n' | "$LEAT" run -q -b cpu -o out - --name x.dat 2>stderr && fail "x.dat has a pipeline"
says 'x\.dat: no pipeline takes this'
tar cf - a.clusters.csv | head -c 20000 | "$LEAT" run -q -b cpu -o cut - --name cut.tar 2>stderr && fail "a tar that is cut"
says 'cut\.tar'
[ -z "$(ls -A cut 2>/dev/null)" ] || fail "what is cut left $(ls -A cut)"
gzip -c a.clusters.csv | head -c 5000 | "$LEAT" run -q -b cpu -s series=columns -o cut - --name x.clusters.csv 2>stderr &&
    fail "a table that is cut"
says 'the file ends within the gzip stream'

# Nobody writes: a signal ends it. The shell holds the pipe open.
mkfifo idle
exec 9<>idle
"$LEAT" run -q -b cpu -o idle-out - --name x.clusters.csv <idle 2>stderr &
pid=$!
wait_for "it catches SIGTERM" grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status
kill -TERM $pid
wait $pid
status=$?
[ $status -eq 143 ] || fail "exit status $status after SIGTERM"
says 'stopped by a signal'
exec 9>&-

# Large members: more than the memory, where series across lines are added up, whatever brings them; and than there is
# room for beside the result. The thread sanitizer looks at their
# way through memory once: what is read is the same in all builds.
"$python" - <<'P' || fail "no large table"
import random
chance = random.Random(1)
lines = "".join(",".join("%.7f" % chance.uniform(1, 9) for _ in range(16)) + "\n" for _ in range(1000))
open("large.clusters.csv", "w").write(lines * 430)
P
bytes=$(stat -c %s large.clusters.csv)
[ "$bytes" -gt 68000000 ] || fail "large.clusters.csv has $bytes bytes"
[ "$patience" -ge 10 ] || "$LEAT" run -q -b cpu --memory 56M -s series=columns -s top=5 -o by-file large.clusters.csv ||
    fail "large.clusters.csv"
tar cf large.tar a.clusters.csv large.clusters.csv b.clusters.npy
zstd -q -1 large.tar -o large.tar.zst || skip "no zstd here (Debian: zstd)"
expect 0 "$python" "$here/peak.py" $(((56 << 20) + 150000000)) "$LEAT" run -q -b cpu --threads 2 --memory 56M \
    -s series=columns -s top=5 -o large-out large.tar.zst
if [ "$patience" -ge 10 ]; then
    [ -e large-out/large/pearson.npz ] || fail "no result of a large member"
    echo "standard input, named pipes and large members give what files give"
    exit 0
fi
same large-out a && same large-out large && same large-out b
cat large.tar | "$LEAT" run -q -b cpu --memory 56M -s series=columns -s top=5 -o large-pipe - --name large.tar || fail "large.tar by a pipe"
same large-pipe large && same large-pipe b
# Where samples are missing they are wanted again: by a pipe, from what was kept of it.
"$python" - <<'P' || fail "no table with gaps"
lines = b"".join(b",".join(b"" if (i * 7 + k * k) % 53 == 0 else b"%d.5" % ((i * (k + 3) * 2654435761 >> 7) % 997) for k in range(80)) + b"\n"
                 for i in range(1000))
open("gaps.clusters.csv", "wb").write(lines * 135)
P
"$LEAT" run -q -b cpu --memory 56M -s series=columns -o by-file gaps.clusters.csv || fail "slabs with gaps"
cat gaps.clusters.csv | "$LEAT" run -q -b cpu --memory 56M -s series=columns -o by-pipe - --name gaps.clusters.csv ||
    fail "slabs with gaps by a pipe"
"$LEAT" run -q -b cpu -s series=columns -o turned gaps.clusters.csv || fail "gaps in memory"
"$python" - <<'P' || fail "slabs with gaps"
import numpy
r = [numpy.load(folder + "/gaps/pearson.npz")["r"] for folder in ("by-file", "by-pipe", "turned")]
assert abs(r[1] - r[0]).max() < 1e-12 and 0 < abs(r[2] - r[0]).max() < 2e-10, r
P
# Where there is no room for that, the message says so.
small_disk 4m
cat gaps.clusters.csv | "$LEAT" run -q -b cpu --memory 56M -s series=columns -o small/out - --name gaps.clusters.csv 2>stderr &&
    fail "slabs with gaps by a pipe, without room"
says 'which a pipe cannot be, and there is no room for a copy of its numbers beside the result; give it as a file, or raise --memory$'
cat gaps.clusters.csv | "$LEAT" run -q -b cpu -s missing=drop -s series=columns -o small/out - --name gaps.clusters.csv 2>stderr &&
    fail "a second pass by a pipe, without room"
says 'and there is no room for a copy of its numbers beside the result; give it as a file$'
if command -v strace >/dev/null && [ -z "${LEAT_TEST_SMALL:-}" ] && [ "$patience" -eq 1 ]; then
    strace -f -e trace=write,pwrite64 -o trace "$LEAT" run -q -b cpu -s series=columns -s top=5 -o traced large.tar ||
        skip "strace cannot look here"
    written=$(awk '{ n += $NF > 0 ? $NF : 0 } END { print n }' trace)
    [ "$written" -lt 20000000 ] || fail "$written bytes were written for a table that is read forward"
fi
echo "standard input, named pipes and large members give what files give"
