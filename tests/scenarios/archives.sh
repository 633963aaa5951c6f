#!/bin/sh
# Archives whose compression is damaged give no results at all, those that are compressed twice are refused, and a
# signal ends the walk through one that holds nothing but zeros.
. "$(dirname "$0")/lib.sh"
command -v xz >/dev/null || skip "no xz here (Debian: xz-utils)"

# Three tables, one after the other in an archive; then archives of them with damage of every kind.
"$python" - <<'P' || skip "no Python"
import gzip, io, lzma, tarfile
table = b"".join(b"%d,%d,%d\n" % (i, i * i % 97, i * i * i % 89) for i in range(4000))
raw = io.BytesIO()
with tarfile.open(fileobj=raw, mode="w") as t:
    for name in ("a", "b", "c"):
        info = tarfile.TarInfo(f"{name}.clusters.csv")
        info.size = len(table)
        t.addfile(info, io.BytesIO(table))
raw = raw.getvalue()
stored, packed, xz = gzip.compress(raw, 0), gzip.compress(raw, 6), lzma.compress(raw)
digit = stored.index(b"1500,")


def put(name, data, at=None):
    data = bytearray(data)
    if at is not None:
        data[at] ^= 1
    open(name, "wb").write(data)


put("good.tgz", packed)
put("good.tar.xz", xz)
put("digit.tgz", stored, digit)
put("crc.tar.gz", packed, len(packed) - 8)
put("length.tgz", packed, len(packed) - 1)
put("short.tgz", packed[:-3])
put("end.tar.xz", xz, len(xz) - 20)
put("twice.tgz", gzip.compress(packed))
put("xz.tgz", gzip.compress(xz))
put("gz.tar.xz", lzma.compress(packed))
nested = packed
for _ in range(40):
    nested = gzip.compress(nested)
put("nested.tar.gz", nested)
zeros = gzip.compress(bytes(16 << 20), 1)
with open("zeros.tgz", "wb") as f:
    for _ in range(1024):
        f.write(zeros)
P
for good in good.tgz good.tar.xz; do
    expect 0 "$LEAT" run -q -b cpu -s series=columns -o "out-$good" $good
    [ "$(ls "out-$good" | tr '\n' ' ')" = "a b c " ] || fail "$good gave $(ls "out-$good")"
done
refused() { # ARCHIVE PATTERN: by both commands, in one line, and nothing comes of it
    for command in run check; do
        expect 1 timeout $wait_s "$LEAT" $command -q -b cpu -s series=columns -o refused $1
        says "^leat: error: $1: .*$2"
        [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "$command $1: more than one failure"; }
        [ -z "$(ls -A refused 2>/dev/null)" ] || fail "$command $1 left $(ls -A refused)"
    done
}
refused digit.tgz 'damaged gzip data \(incorrect data check\)'
refused crc.tar.gz 'damaged gzip data \(incorrect data check\)'
refused length.tgz 'damaged gzip data \(incorrect length check\)'
refused short.tgz 'cut short'
refused end.tar.xz 'damaged xz data'
refused twice.tgz 'compressed twice \(gzip within gzip\)'
refused nested.tar.gz 'compressed twice \(gzip within gzip\)'
refused xz.tgz 'compressed twice \(xz within gzip\)'
refused gz.tar.xz 'compressed twice \(gzip within xz\)'

# 16 GiB of zeros in 75 MB, of which a signal leaves the most. Before it watches for signals the program reads of its
# libraries, and the thread sanitizer of /proc, more than 1 MB.
has_begun() {
    [ "$(sed -n 's/^rchar: //p' /proc/$pid/io 2>/dev/null || echo 0)" -gt 10000000 ]
}
for command in run check; do
    for signal in INT TERM; do
        "$LEAT" $command -q -b cpu -o zeros zeros.tgz 2>stderr &
        pid=$!
        wait_for "the archive is being walked" has_begun
        kill -$signal $pid
        wait $pid
        status=$?
        [ $status -eq $([ $signal = INT ] && echo 130 || echo 143) ] || fail "$command: exit status $status after SIG$signal"
        says 'stopped by a signal'
        [ -z "$(ls -A zeros 2>/dev/null)" ] || fail "$command: SIG$signal left $(ls -A zeros)"
    done
done
echo "what is damaged or compressed twice gives nothing; a signal ends the walk through zeros"
