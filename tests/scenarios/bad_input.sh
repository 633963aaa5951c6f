#!/bin/sh
# Bad input: a clear error that names file and place, exit status 1, and no result folder, nor a part of one;
# a good file beside a bad one is processed all the same.
. "$(dirname "$0")/lib.sh"

# bad FILE PATTERN: the file is refused with one line "FILE: ... PATTERN"; the names of the files say nothing
# that a message could be expected to say.
bad() {
    expect 1 "$LEAT" run -q -b cpu -o out "$1"
    says "^leat: error: '?$1'?: .*$2"
    [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "$1: more than one line"; }
    [ -z "$(ls -A out 2>/dev/null)" ] || fail "$1 left something in the output folder: $(ls -A out)"
}

# bad_text X TEXT PATTERN: so is X.clusters.csv of that text.
bad_text() {
    printf "$2" >"$1.clusters.csv"
    bad "$1.clusters.csv" "$3"
}

bad_text t1 '' 'is empty'
bad_text t2 '5\n' '1 (sample|column).*correlation needs 2'
bad_text t3 '1,2,3\n4,5\n6,7,8\n' 'line 2, column 3: the line has 2 cells, line 1 has 3'
bad_text t4 '1,2,3\n4,5,6,7\n6,7,8\n' 'line 2, column 4: .*more cells'
bad_text t5 '1,2,3\n4,x5,6\n7,8,9\n' 'line 2, column 2: "x5" is not a number'
bad_text t6 '1,2,3\n4,5,6\n7,8,inf\n' 'line 3, column 3: "inf" is infinite'
bad_text t8 'a,b,c\r1,2,3\r2,5,1\r4,1,7\r' 'line 1, column 3: .*lines end with CR alone: convert them to LF'
bad_text t9 '1,2,3\n4,5,6\r7,8,9\n1,4,2\n' 'line 2, column 3: .*lines end with CR alone'
{ echo a,b; seq 1 200000 | paste -d, - -; printf '5,6\r7,8\n'; seq 1 200000 | paste -d, - -; } >v1.clusters.csv
bad v1.clusters.csv 'line 100002, column 2 .b.: .*lines end with CR alone'
seq 1 200000 | paste -d, - - | tr '\n' '\r' >v2.clusters.csv
bad v2.clusters.csv 'line 1, column 2: .*lines end with CR alone'
bad_text v3 'a,b\n1,"2\n3,4\n' 'line 2, column 2: a quote is never closed'
bad_text v4 '"a,b\n1,2\n3,4\n' 'line 1, column 1: a quote is never closed'
bad_text v5 'a,b\n"1,2\n3,4\n' 'line 2, column 1: a quote is never closed'
seq 1 20000 | paste -d, - - - - | gzip | head -c 9000 >t7.clusters.csv.gz
bad t7.clusters.csv.gz 'compressed byte 9000: .*ends within the gzip stream'
"$python" - <<'P' || skip "no Python with NumPy"
import numpy as np, struct, zipfile
a = np.arange(12.0).reshape(3, 4)
np.save("a.npy", a)
raw = open("a.npy", "rb").read()
open("u1.clusters.npy", "wb").write(raw[:-9])
def header(text):
    text = text.encode() + b" " * ((-len(text) - 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
open("u2.clusters.npy", "wb").write(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }") + bytes(64))
open("u3.clusters.npy", "wb").write(header("{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }") + bytes(96))
open("u4.clusters.npy", "wb").write(header("__import__('os').system('true')") + bytes(96))
open("u5.clusters.npy", "wb").write(header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }") + bytes(96))
zipfile.ZipFile("u6.clusters.npz", "w").close()
np.save("u7.clusters.npy", np.array([[1, 2, np.inf], [3, 4, 6.0]]))
P
bad u1.clusters.npy 'byte 128: .*claims 12 numbers of 8 bytes, but only 87 bytes'
bad u2.clusters.npy 'byte 128: .*claims 8000000000000 numbers'
bad u3.clusters.npy 'byte 10: Python objects'
bad u4.clusters.npy 'byte 11: .*is no dict literal'
bad u5.clusters.npy 'claims 4294967296 x 4294967296 numbers'
bad u6.clusters.npz 'zip archive without members'
bad u7.clusters.npy "'row 1' has infinite values"

# A grid is no table: its NODATA would be correlated.
printf 'ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n1 2 -9999\n4 5 6\n' >g1.clusters.asc
bad g1.clusters.asc 'is a grid, and pearson takes tables: CSV, TSV, .npy or .npz'
expect 1 "$LEAT" check -b cpu g1.clusters.asc
says 'g1.clusters.asc.*is a grid, and pearson takes tables'
printf 'a,b\n1,2\n2,4\n3,1\n4,7\n' >p.clusters.csv
printf 't,u\n1,2\n2,\n3,1\n4,7\n' >p.targets.csv
expect 1 "$LEAT" run -b cpu -s targets=file -s missing=reject -o out p.clusters.csv p.targets.csv
says 'p.targets.csv: value 2 of series 2 .the first are 1. is missing'
printf 't,u\n1,2\n2,1e200\n3,1\n4,7\n' >p.targets.csv
expect 1 "$LEAT" run -b cpu -s targets=file -o out p.clusters.csv p.targets.csv
says "p.targets.csv: series 'u' has values too large to be squared"

# Groups that are given.
printf 'k,g\na,1\nb,1\na,2\n' >p.groups.csv
printf 'a,b,c\n1,2,3\n2,1,1\n3,1,2\n4,7,9\n' >p.clusters.csv
expect 1 "$LEAT" run -b cpu -s within=file -o out p.clusters.csv p.groups.csv
says "p.groups.csv: 'a' is in two groups, '1' and '2'"
printf 'x,1\ny,1\n' >p.groups.csv
expect 1 "$LEAT" run -b cpu -s within=file -o out p.clusters.csv p.groups.csv
says "p.groups.csv: names no series of p.clusters.csv; .*the first series is called 'a'"
printf 'a\nb\n' >p.groups.csv
expect 1 "$LEAT" run -b cpu -s within=file -o out p.clusters.csv p.groups.csv
says 'p.groups.csv: line 1 has one cell, and two names are read'
"$LEAT" generate clusters --series 3 --samples 4 -o p.groups.npy -q || fail "generate"
expect 1 "$LEAT" run -b cpu -s within=file -o out p.clusters.csv p.groups.npy
says 'p.groups.npy: is no text: a line holds a name and what belongs to it'
expect 1 "$LEAT" run -b cpu -s group_by=/ -o out p.clusters.csv
says "p.clusters.csv: no series has a name that begins with a group and '/', as group_by says; the first is called 'a'"
expect 1 "$LEAT" run -b cpu -s group_by=a -o out p.clusters.csv
says "begins with a group and 'a'"
printf 'a,1\nb,1\n' >p.groups.csv
expect 1 "$LEAT" run -b cpu -s within=file -s group_by=a -o out p.clusters.csv p.groups.csv
says 'leave group_by out'
expect 1 "$LEAT" run -b cpu -s within=file -o out p.clusters.csv
says 'p.groups.'
expect 1 "$LEAT" run -b cpu -o out p.clusters.csv p.groups.csv
says 'within=file'
rm -r out
"$LEAT" generate clusters --series 5794 --samples 4 -o held.clusters.npy -q || fail "generate"
"$python" -c 'for k in range(5794): print(f"row {k + 1},all")' >held.groups.csv || fail "groups"
expect 1 "$LEAT" run -b cpu -q -s series=rows -s within=file -o out held.clusters.npy held.groups.csv
says '16782321 pairs are more than are held .16777216.: make groups smaller'
ln held.clusters.npy held.targets.npy || fail "ln"
expect 1 "$LEAT" run -b cpu -q -s series=rows -s targets=file -o out held.clusters.npy held.targets.npy
says '33570436 pairs are more than are held .16777216.: take fewer targets at a time'
rm held.clusters.npy held.targets.npy
for other in r=csv groups=0.5 order=groups; do
    expect 1 "$LEAT" run -b cpu -s group_by=/ -s $other -o out p.clusters.csv
    says 'set r=upper|set groups=0|set order=auto'
done

# A folder that cannot be read (root reads everything), an output folder that cannot be written.
printf '1,2,4\n3,5,4\n' >good.clusters.csv
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed && chmod 000 closed
    expect 1 "$LEAT" run -b cpu -o out closed good.clusters.csv
    says 'closed.*[Pp]ermission'
else
    mkdir closed && cp good.clusters.csv closed/ && chmod -R a+rX "$scratch" && chmod 700 closed
    setpriv=$(command -v setpriv)
    if [ -n "$setpriv" ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$LEAT"; then
        mkdir open && chmod 777 open
        expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$LEAT" run -b cpu -o open/out \
            closed good.clusters.csv
        says 'closed.*[Pp]ermission'
        [ -f open/out/good/result.json ] || fail "the good file beside it was not processed"
        expect 2 setpriv --reuid 65534 --regid 65534 --clear-groups "$LEAT" run -b cpu -o closed/out \
            good.clusters.csv
        says 'output folder'
    else
        echo "NOT SHOWN here: folders without permission (needs a user other than root, or setpriv)"
    fi
fi
rm -rf out
: >out
expect 2 "$LEAT" run -b cpu -o out good.clusters.csv
says "output folder.*'out'"
rm out

# A full disk.
mkdir full
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none full 2>/dev/null; then
    "$python" -c 'import numpy as np; np.save("big.clusters.npy", np.random.default_rng(1).normal(size=(300, 300)))'
    "$LEAT" generate nodes -q -o big.nodes.csv && "$LEAT" generate points -q --points 90000 --type f32 -o big.points.npy ||
        fail "generate"
    for job in big.clusters.npy "-s query=linspace(-1,1,30000) big.nodes.csv" "-s n_init=1 -s max_iter=2 big.points.npy"; do
        # shellcheck disable=SC2086 # several words
        expect 1 "$LEAT" run -b cpu -o full/out $job
        says 'space'
        left=$(ls -A full/out)
        [ -z "$left" ] || { umount full; fail "$job: a full disk left '$left' behind"; }
    done
    umount full
else
    echo "NOT SHOWN here: a full disk (needs the right to mount a small tmpfs)"
fi

# One bad file costs nobody else anything.
expect 1 "$LEAT" run -b cpu -o mixed t3.clusters.csv good.clusters.csv t5.clusters.csv
[ -f mixed/good/result.json ] || fail "the good file beside bad ones was not processed"
[ "$(ls -A mixed)" = good ] || fail "more than the good result: $(ls -A mixed)"

# Usage errors.
expect 2 "$LEAT" run -b cpu -o out nowhere.clusters.csv
says 'nowhere.clusters.csv'
expect 2 "$LEAT" run -b cpu -o out
expect 2 "$LEAT" run -b cpu -o out -s presicion=f32 good.clusters.csv
says 'precision'
cp good.clusters.csv plain.dat
expect 2 "$LEAT" run -b cpu -o out plain.dat
says 'clusters'
echo "every bad input was refused as it should be"
