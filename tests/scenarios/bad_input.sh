#!/bin/sh
# Bad input: a clear error that names file and place, exit status 1, and no result folder, nor a part of one;
# a good file beside a bad one is processed all the same.
. "$(dirname "$0")/lib.sh"

# bad NAME PATTERN: the file NAME.clusters.* is refused with a message like PATTERN.
bad() {
    expect 1 "$LEAT" run -b cpu -o out "$1"
    says "$2"
    says "$(basename "$1" | cut -d. -f1)"
    [ -z "$(ls -A out 2>/dev/null)" ] || fail "$1 left something in the output folder: $(ls -A out)"
}

: >empty.clusters.csv
bad empty.clusters.csv 'empty'
printf '5\n' >cell.clusters.csv
bad cell.clusters.csv 'sample|cell|number'
printf '1,2,3\n4,5\n6,7,8\n' >ragged.clusters.csv
bad ragged.clusters.csv '2.*(cells|columns|fields)|(line|row) 2|:2'
printf '1,2,3\n4,x5,6\n7,8,9\n' >letters.clusters.csv
bad letters.clusters.csv 'x5'
printf '1,2,3\n4,inf,6\n7,8,9\n' >inf.clusters.csv
bad inf.clusters.csv 'inf'
seq 1 20000 | paste -d, - - - - | gzip | head -c 9000 >cut.clusters.csv.gz
bad cut.clusters.csv.gz 'gzip|truncated|end'
"$python" - <<'P' || skip "no Python with NumPy"
import numpy as np, struct, zipfile
a = np.arange(12.0).reshape(3, 4)
np.save("a.npy", a)
raw = open("a.npy", "rb").read()
open("short.clusters.npy", "wb").write(raw[:-9])
def header(text):
    text = text.encode() + b" " * ((-len(text) - 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
open("huge.clusters.npy", "wb").write(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }") + bytes(64))
open("object.clusters.npy", "wb").write(header("{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }") + bytes(96))
open("code.clusters.npy", "wb").write(header("__import__('os').system('true')") + bytes(96))
open("wraps.clusters.npy", "wb").write(header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }") + bytes(96))
zipfile.ZipFile("none.clusters.npz", "w").close()
np.save("infinite.clusters.npy", np.array([[1, 2, np.inf], [3, 4, 6.0]]))
P
bad short.clusters.npy 'bytes|short|truncated|end'
bad huge.clusters.npy '1000000000000|bytes|shape'
bad wraps.clusters.npy '4294967296|bytes|shape|large'
bad object.clusters.npy 'O'
bad code.clusters.npy 'header'
bad none.clusters.npz 'member|empty'
bad infinite.clusters.npy 'inf'

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
    expect 1 "$LEAT" run -b cpu -o full/out big.clusters.npy
    says 'space'
    left=$(ls -A full/out)
    umount full
    [ -z "$left" ] || fail "a full disk left '$left' behind"
else
    echo "not shown here: a full disk (needs the right to mount a small tmpfs)"
fi

# One bad file costs nobody else anything.
expect 1 "$LEAT" run -b cpu -o mixed ragged.clusters.csv good.clusters.csv letters.clusters.csv
[ -f mixed/good/result.json ] || fail "the good file beside bad ones was not processed"
[ "$(ls -A mixed)" = good ] || fail "more than the good result: $(ls -A mixed)"

# Usage errors.
expect 2 "$LEAT" run -b cpu -o out nowhere.clusters.csv
says 'nowhere.clusters.csv'
expect 2 "$LEAT" run -b cpu -o out
expect 2 "$LEAT" run -b cpu -o out -s presicion=f32 good.clusters.csv
says 'precision'
cp good.clusters.csv plain.csv
expect 2 "$LEAT" run -b cpu -o out plain.csv
says 'clusters'
echo "every bad input was refused as it should be"
