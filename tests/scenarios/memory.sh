#!/bin/sh
# Host memory stays within --memory and 150 MB, whatever the file's size, with gaps, gzipped, and with a threshold
# that every pair passes; what cannot fit says how many bytes it needs, at once. LEAT_TEST_SMALL: a third of the table.
# ctest: long small=watched asan=soak tsan=no
. "$(dirname "$0")/lib.sh"

# What the address sanitizer keeps back of memory that was given back is not measured.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16"

# peak MIB OPTION...: run --memory MIBM stays within it.
peak() {
    mib=$1
    shift
    expect 0 "$python" "$here/peak.py" $(((mib << 20) + 150000000)) \
        "$LEAT" run -q -b cpu --threads 2 --memory "${mib}M" -o out --force "$@"
    echo "--memory ${mib}M $*: $(cat stdout)"
}

samples=210000
[ -z "${LEAT_TEST_SMALL:-}" ] || samples=70000
# The same thousand lines again and again, as text and in one member of gzip, whose parts are packed once.
"$python" - $((samples / 1000)) <<'P' || fail "no tall table"
import random, struct, sys, zlib
n, chance = int(sys.argv[1]), random.Random(1)
lines = "".join(",".join("" if chance.random() < 0.02 else "%.14f" % chance.uniform(1, 9) for _ in range(64)) + "\n"
                for _ in range(1000)).encode()
packer, crc = zlib.compressobj(1, wbits=-15), 0
part = packer.compress(lines) + packer.flush(zlib.Z_FULL_FLUSH)
with open("tall.clusters.csv", "wb") as text, open("tall.clusters.csv.gz", "wb") as packed:
    packed.write(b"\x1f\x8b\x08" + bytes(7))
    for _ in range(n):
        text.write(lines)
        packed.write(part)
        crc = zlib.crc32(lines, crc)
    packed.write(packer.flush() + struct.pack("<II", crc, n * len(lines)))
P
[ "$(stat -c %s tall.clusters.csv)" -gt $((((64 << 20) + 150000000) / 210000 * samples)) ] || fail "the table is smaller than what it has to exceed"
peak 64 -s series=columns tall.clusters.csv
rm tall.clusters.csv
peak 64 -s series=columns tall.clusters.csv.gz
rm tall.clusters.csv.gz
"$LEAT" generate clusters --series 500 --samples 20000 --gaps 0.02 -o rows.clusters.npy -q || fail "generate"
peak 256 rows.clusters.npy
peak 256 -s precision=f32 rows.clusters.npy
"$LEAT" generate clusters --series 2200 --samples 64 -o pairs.clusters.npy -q || fail "generate"
peak 160 -s r=none -s threshold=0.0001 pairs.clusters.npy
expect 1 "$LEAT" run -b cpu --threads 2 --memory 96M -o out --force -s threshold=0.0001 pairs.clusters.npy
says 'needs [0-9]+ bytes'

# Without the matrix memory grows with the number of series: the square of these does not fit.
"$LEAT" generate clusters --series 6000 --samples 64 -o many.clusters.npy -q || fail "generate"
expect 1 "$LEAT" run -b cpu --threads 2 --memory 128M -o out --force many.clusters.npy
says 'needs [0-9]+ bytes'
peak 128 -s r=none many.clusters.npy

# Pairs inside one group, of series with gaps, and their partners: all are held.
"$LEAT" generate clusters --series 2800 --samples 64 --gaps 0.02 -o group.clusters.npy -q || fail "generate"
"$python" -c 'for k in range(2800): print(f"row {k + 1},all")' >group.groups.csv || fail "groups"
expect 1 "$LEAT" run -b cpu --threads 2 --memory 192M -o out --force -s within=file -s top_each=900 group.clusters.npy group.groups.csv
says 'needs [0-9]+ bytes'
peak 512 -s within=file -s top_each=900 group.clusters.npy group.groups.csv
rm group.groups.csv

# Which is known before the numbers are read: zeros that take no room.
"$python" - >wide.clusters.npy <<'P' && truncate -s $((128 + 4000 * 4000 * 8)) wide.clusters.npy || fail "no wide table"
import struct, sys
about = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000, 4000), }"
sys.stdout.buffer.write(b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + about.ljust(117) + b"\n")
P
expect 1 "$LEAT" run -b cpu --threads 2 --memory 64M -o out wide.clusters.npy
says 'needs [0-9]+ bytes'
expect 2 "$LEAT" run -b cpu --threads 2 --memory 1M -o out wide.clusters.npy
says 'write --memory=[0-9]+M or more'

# A GeoTIFF's strips and tiles are unpacked whole: that is counted, and of a tile only what the image has is unpacked.
if ! command -v gdal_create >/dev/null; then
    echo "NOT SHOWN here: GeoTIFF (needs gdal_create)"
    exit 0
fi
export GDAL_PAM_ENABLED=NO
geotiff() { # NAME COLUMNS ROWS OPTION...
    name=$1 columns=$2 rows=$3
    shift 3
    gdal_create -q -of GTiff -outsize "$columns" "$rows" -a_srs EPSG:32633 -a_ullr 0 "$rows" "$columns" 0 \
        -burn 1 -ot Float64 -co COMPRESS=DEFLATE -co SPARSE_OK=FALSE "$@" "$name" || fail "gdal_create $name"
}
tile="-co TILED=YES -co BLOCKXSIZE=16384 -co BLOCKYSIZE=2032"
geotiff small.dem.tif 16 16 $tile
ln small.dem.tif small.source.tif || fail "ln"
peak 64 -s steps=5 small.dem.tif small.source.tif
geotiff high.dem.tif 16 2032 $tile
ln high.dem.tif high.source.tif || fail "ln"
expect 1 "$LEAT" run -b cpu --threads 2 --memory 512M -o out --force -s steps=5 high.dem.tif high.source.tif
says 'needs 5[0-9]{8} bytes'
peak 640 -s steps=5 high.dem.tif high.source.tif
for i in 1 2; do
    ln high.dem.tif $i.dem.tif && ln high.source.tif $i.source.tif || fail "ln"
done
expect 0 "$python" "$here/peak.py" $(((640 << 20) + 150000000)) \
    "$LEAT" check -b cpu --threads 2 --memory 640M [12].dem.tif [12].source.tif
echo "check --memory 640M: $(tail -1 stdout)"

# A map of noise has a million pieces of outlines, each of which takes 2 KiB while it is drawn.
"$python" - <<'END' || fail "noise"
import random
random.seed(1)
head = "ncols 500\nnrows 500\nxllcorner 0\nyllcorner 0\ncellsize 1\n"
for name, choose in (("dem", lambda: "%.2f" % random.uniform(0, 9)), ("source", lambda: random.choice("01"))):
    with open(f"noise.{name}.asc", "w") as f:
        f.write(head)
        f.writelines(" ".join(choose() for _ in range(500)) + "\n" for _ in range(500))
END
peak 128 -s steps=1 noise.dem.asc noise.source.asc
