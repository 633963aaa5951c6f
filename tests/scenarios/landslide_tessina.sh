#!/bin/sh
# The Tessina landslide through the program: the bits of the published programs after 1, 100, 1000 and 4000 steps,
# for one and two threads, whatever is thought of NODATA. LEAT_TEST_SMALL: no further than 100.
# The data set is read from $LEAT_TESSINA or ../shared/data/tessina beside the tree.
# ctest: small=watched asan=soak tsan=soak
. "$(dirname "$0")/lib.sh"
backend=${LEAT_TEST_BACKEND:-cpu}
tessina=${LEAT_TESSINA:-$here/../../../shared/data/tessina}
[ -f "$tessina/tessina.dem.asc" ] || skip "no Tessina landslide: neither LEAT_TESSINA nor $tessina"
"$python" -c 'import numpy' 2>/dev/null || skip "no Python with NumPy"

slide() { # OUT OPTION... INPUT...
    out=$1
    shift
    expect 0 "$LEAT" run -q -b "$backend" -o "$out" "$@"
}

steps=4000 shorter="1 100 1000"
[ -z "${LEAT_TEST_SMALL:-}" ] || { steps=100 shorter="1 25"; }
quarter=$((steps / 4))
for n in $shorter; do
    slide s$n -s nodata=compat -s steps=$n -s raster=asc.gz "$tessina"
done
slide one --threads 1 -s nodata=compat -s steps=$steps -s snapshot_every=$quarter "$tessina"
slide two --threads 2 -s nodata=compat -s steps=$steps -s snapshot_every=$quarter "$tessina"
slide asc -s nodata=compat -s steps=$steps -s raster=asc.gz "$tessina"
slide wall -s nodata=wall -s steps=$steps -s raster=asc.gz "$tessina"
slide sink -s nodata=sink -s steps=$steps -s raster=asc.gz "$tessina"
first=snapshots/$(printf %06d $quarter) last=snapshots/$(printf %06d $steps)
for file in thickness.tif max_thickness.tif arrival.tif mass.csv.gz map.png $first.tif $last.tif; do
    cmp "one/tessina/$file" "two/tessina/$file" || fail "$file depends on the number of threads"
done
cmp one/tessina/thickness.tif one/tessina/$last.tif || fail "the last snapshot is not the end"
if command -v gdal_translate >/dev/null; then
    for tif in thickness max_thickness $first; do
        gdal_translate -q -ot Float64 -of ENVI one/tessina/$tif.tif "$(basename $tif).bin" || fail "GDAL reads no $tif.tif"
    done
else
    echo "NOT SHOWN here: the same bits in GeoTIFF (needs gdal_translate)"
fi
"$python" "$here/landslide.py" $steps || fail "the Tessina landslide is another one"
echo "the landslide of the published programs"
