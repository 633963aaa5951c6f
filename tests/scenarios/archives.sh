#!/bin/sh
# Archives of every kind give what their files give; those whose compression is damaged give no results at all, those
# that are compressed twice are refused; what is bad in one fails by itself; what unpacks to too much is stopped; and a
# signal ends the walk through one that holds nothing but zeros.
# ctest: long
. "$(dirname "$0")/lib.sh"
command -v zstd >/dev/null || skip "no zstd here (Debian: zstd)"

# Three tables, one after the other in an archive; then archives of them with damage of every kind.
# No figures: they would take most of the time.
[ "$patience" -gt 1 ] && entries=150 || entries=${LEAT_ARCHIVE_ENTRIES:-400}
entries=$((entries < 150 ? 150 : entries / 50 * 50)) # so that each kind of bad one is there as often as another
columns="-s series=columns -s figure=none"
"$python" - "$entries" <<'P' || skip "no Python"
import bz2, gzip, io, lzma, struct, sys, tarfile, zipfile, zlib
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


for name in ("a", "b", "c"):
    open(f"{name}.clusters.csv", "wb").write(table)
open("good.tar", "wb").write(raw)
put("good.tgz", packed)
put("good.tar.xz", xz)
put("good.tbz2", bz2.compress(raw))
with zipfile.ZipFile("good.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name in ("a", "b", "c"):
        z.writestr(f"{name}.clusters.csv", table)
put("a.clusters.csv.gz", gzip.compress(table))
put("b.clusters.csv.xz", lzma.compress(table))
put("c.clusters.csv.bz2", bz2.compress(table))
put("cut.clusters.csv.xz", lzma.compress(table)[:-50])

# Hundreds of entries, every tenth of them bad in one of five ways.
good = b"".join(b"%d,%d\n" % (i, i * i % 7) for i in range(9))
with tarfile.open("many.tar.gz", "w:gz", compresslevel=1) as t:
    for i in range(int(sys.argv[1])):
        info = tarfile.TarInfo(f"m{i:04}.clusters.csv")
        content = good
        if i % 50 == 10:
            info.type, info.linkname = tarfile.SYMTYPE, "m0001.clusters.csv"
        elif i % 50 == 20:
            info.name = f"../m{i:04}.clusters.csv"
        elif i % 50 == 30:
            info.name = "m0001.clusters.csv"
        elif i % 50 == 40:
            info.name = f"m{i:04}.tar.gz"
        elif i % 50 == 0:
            content = b"1,2\n3,x4,5\n"
        info.size = len(content) if info.isreg() else 0
        t.addfile(info, io.BytesIO(content) if info.isreg() else None)

# 10 GB of 10 MB, in long lines, which are read fast.
piece = (b"0" * 4095 + b"," + b"0" * 4095 + b"\n") * (2 << 10)
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
n = -(-(10 << 30) // len(piece))
name = b"bomb.clusters.csv"
size = len(block) * n + 2
about = struct.pack("<HHHHHLLLHH", 45, 0, 8, 0, 33, 0, size, 0xffffffff, len(name), 12)
wide = struct.pack("<HHQ", 1, 8, len(piece) * n)  # zip64: more than 4 GB
local = b"PK\3\4" + about + name + wide
entry = b"PK\1\2" + struct.pack("<H", 45) + about + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name + wide
with open("bomb.zip", "wb") as f:
    f.write(local + block * n + zlib.compressobj(9, zlib.DEFLATED, -15).flush() + entry + b"PK\5\6" +
            struct.pack("<HHHHLLH", 0, 0, 1, 1, len(entry), len(local) + size, 0))
with open("bomb.clusters.csv.gz", "wb") as f:
    f.write(gzip.compress(piece, 9) * 17)
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
zstd -q a.clusters.csv -o a.clusters.csv.zst && zstd -q good.tar -o good.tar.zst || fail "zstd"
cmake -E tar cf good.7z --format=7zip a.clusters.csv b.clusters.csv c.clusters.csv || fail "cmake makes no .7z"
compare() { # FOLDER: with what the tables give by themselves
    for name in a b c; do
        cmp by-itself/$name/pearson.npz "$1/$name/pearson.npz" || fail "$1: $name differs"
    done
}
expect 0 "$LEAT" run -q -b cpu $columns -o by-itself a.clusters.csv b.clusters.csv c.clusters.csv
for good in good.tar good.tgz good.tar.xz good.tar.zst good.tbz2 good.zip good.7z; do
    expect 0 "$LEAT" run -q -b cpu $columns -o "out-$good" $good
    cat $good | "$LEAT" run -q -b cpu $columns -o "pipe-$good" --name $good - || fail "$good by a pipe"
    for out in "out-$good" "pipe-$good"; do
        [ "$(ls "$out" | tr '\n' ' ')" = "a b c " ] || fail "$out: $(ls "$out")"
        compare "$out"
    done
    expect 0 "$LEAT" check --json -b cpu $columns $good
    [ "$(wc -l <stdout)" -eq 3 ] || fail "check of $good says $(cat stdout)"
done
for packed in a.clusters.csv.gz a.clusters.csv.zst b.clusters.csv.xz c.clusters.csv.bz2; do
    expect 0 "$LEAT" run -q -b cpu $columns -o "out-$packed" $packed
    cmp "by-itself/${packed%%.*}/pearson.npz" "out-$packed/${packed%%.*}/pearson.npz" || fail "$packed differs"
done
expect 1 "$LEAT" run -q -b cpu $columns -o out cut.clusters.csv.xz
says 'cut\.clusters\.csv\.xz: compressed byte [0-9]+: the file ends within the xz stream'

# What is bad fails by itself, and is named.
expect 1 "$LEAT" run -q -b cpu $columns -s top=1 -o many many.tar.gz
[ "$(ls many | wc -l)" -eq $((entries / 10 * 9)) ] || fail "many.tar.gz gave $(ls many | wc -l) results"
[ "$(wc -l <stderr)" -eq $((entries / 10)) ] || fail "many.tar.gz: $(wc -l <stderr) failures"
for what in 'm0010.*: it is a link' '\.\./m0020.*leads out' 'm0001.*the same name' 'm0040.*an archive in an archive' \
    'm0050.*line 2'; do
    says "$what"
done
expect 1 "$LEAT" check -q -b cpu $columns --max-entries 100 many.tar.gz
says 'many\.tar\.gz: has more than 100 entries'

# What unpacks to too much, or to more than it may, is left at that.
[ "$(wc -c <bomb.zip)" -lt 20000000 ] || fail "the bomb is too large"
if [ "$patience" -eq 1 ]; then # hundreds of MB; a small one is below, and test_archive has some
    expect 1 "$LEAT" run -q -b cpu $columns -o bombs bomb.zip
    says 'bomb\.zip: bomb\.clusters\.csv: unpacks to more than 250 times its size \(26[0-9]{7} bytes'
    expect 1 "$LEAT" check -q -b cpu $columns bomb.clusters.csv.gz
    says 'bomb\.clusters\.csv\.gz: unpacks to more than 250 times its size'
    printf 'max_ratio = 1\n' >limits.conf
    expect 1 "$LEAT" check -q -b cpu $columns -c limits.conf bomb.clusters.csv.gz
    says 'unpacks to more than 1 times its size'
fi
expect 1 "$LEAT" run -q -b cpu -o bombs --max-unpacked 20K a.clusters.csv.gz
says 'a\.clusters\.csv\.gz: unpacks to more than 20480 bytes'
expect 1 "$LEAT" run -q -b cpu $columns -o bombs --max-unpacked 20K good.zip
says 'good\.zip: unpacks to more than 20480 bytes'

refused() { # ARCHIVE PATTERN: by both commands, in one line, and nothing comes of it
    for command in run check; do
        expect 1 timeout $wait_s "$LEAT" $command -q -b cpu $columns -o refused $1
        says "^leat: error: $1: .*$2"
        [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "$command $1: more than one failure"; }
        [ -z "$(ls -A refused 2>/dev/null)" ] || fail "$command $1 left $(ls -A refused)"
    done
}
refused digit.tgz 'damaged gzip data \(incorrect checksum\)'
refused crc.tar.gz 'damaged gzip data \(incorrect checksum\)'
refused length.tgz 'damaged gzip data \(incorrect checksum\)'
refused short.tgz 'cut short'
refused end.tar.xz 'damaged xz data'
refused twice.tgz 'compressed twice \(gzip within gzip\)'
refused nested.tar.gz 'compressed twice \(gzip within gzip\)'
refused xz.tgz 'compressed twice \(xz within gzip\)'
refused gz.tar.xz 'compressed twice \(gzip within xz\)'

# 16 GiB of zeros in 75 MB, of which a signal leaves the most. Of libraries, and of /proc by the thread sanitizer, more
# than 1 MB is read.
has_begun() {
    caught=$(sed -n 's/^SigCgt:[[:space:]]*/0x/p' /proc/$pid/status 2>/dev/null)
    [ $((${caught:-0} >> (signal_number - 1) & 1)) -eq 1 ] &&
        [ "$(sed -n 's/^rchar: //p' /proc/$pid/io 2>/dev/null || echo 0)" -gt 3000000 ]
}
for command in run check; do
    for signal in INT TERM; do
        "$LEAT" $command -q -b cpu -o zeros zeros.tgz 2>stderr &
        pid=$!
        signal_number=$([ $signal = INT ] && echo 2 || echo 15)
        wait_for "the archive is being walked" has_begun
        kill -$signal $pid
        wait $pid
        status=$?
        [ $status -eq $((128 + signal_number)) ] || fail "$command: exit status $status after SIG$signal"
        says 'stopped by a signal'
        [ -z "$(ls -A zeros 2>/dev/null)" ] || fail "$command: SIG$signal left $(ls -A zeros)"
    done
done
echo "what is damaged or compressed twice gives nothing; a signal ends the walk through zeros"

# A grid with a mask is refused wherever that lies in the archive; from a pipe it comes too late, and says so.
mkdir masked && grid='ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\n' && for part in g.dem g.source h.dem h.source; do
    printf "$grid" >masked/$part.asc
    for row in 1 2 3 4; do echo "4 3 2 1" >>masked/$part.asc; done
done
cp masked/g.dem.asc masked/g.source.asc.msk
tar -cf masked.tar masked/g.dem.asc masked/g.source.asc masked/g.source.asc.msk masked/h.dem.asc masked/h.source.asc || fail "tar"
tar -xOf masked.tar masked/g.source.asc.msk | cmp - masked/g.dem.asc || fail "the mask is not in the archive"
"$python" -c "
import zipfile, tarfile
with tarfile.open('masked.tar') as t, zipfile.ZipFile('masked.zip', 'w') as z:
    for m in t: z.writestr(m.name.replace('source.asc.', '/source.asc.').replace('/g./', '/./g.'), t.extractfile(m).read())"
mkdir linked && cp masked/g.dem.asc masked/g.source.asc masked/h.* linked && ln -s g.dem.asc linked/g.source.asc.msk
tar -cf linked.tar linked/g.dem.asc linked/g.source.asc linked/h.dem.asc linked/h.source.asc ./linked/g.source.asc.msk || fail "tar"
for given in masked masked.tar masked.zip linked.tar; do
    expect 1 "$LEAT" run -b cpu -o of-$given -s steps=5 $given
    says "g.source.asc: g.source.asc.msk says which cells have a number, and is not read; $([ $given = masked ] || echo "unpack the archive, then ")write it into the grid as NODATA: gdalwarp .*g.source.tif"
    ! grep -q "sidecar" stderr || fail "$given: $(grep sidecar stderr) beside the failure because of it"
    [ "$(cd of-$given && find . -name result.json | sed 's/.*\(.\)\/result.json/\1/')" = h ] || fail "$given: $(find of-$given)"
done
mkfifo fed.tar && { cat masked.tar >fed.tar & }
expect 1 "$LEAT" run -b cpu -o of-pipe -s steps=5 fed.tar
says "g.source.asc.msk' is a mask, and a result here is without it"
# What came before the damage has its results, of grids, too.
tar -cf whole.tar masked/h.dem.asc masked/h.source.asc masked/g.dem.asc || fail "tar"
head -c 2500 whole.tar >damaged.tar
expect 1 "$LEAT" run -b cpu -o of-damaged -s steps=5 damaged.tar
says "damaged.tar: .*(cut short|truncated|damaged)"
[ "$(cd of-damaged && find . -name result.json | sed 's/.*\(.\)\/result.json/\1/')" = h ] || fail "$(find of-damaged) $(cat stderr)"
# A tar that ends within an entry which nobody reads has lost what came behind that entry.
head -c 400000 /dev/zero >unread.bin && tar -cf whole.tar masked/h.dem.asc masked/h.source.asc unread.bin masked/g.dem.asc || fail "tar"
head -c 200000 whole.tar >unread.tar
for command in run check; do
    expect 1 "$LEAT" $command -b cpu -o of-unread -s steps=5 unread.tar
    says "unread.tar: .*(the file ends within an entry|[Tt]runcated)"
done
