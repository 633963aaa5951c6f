#!/bin/sh
# Landslides between leat and GDAL: what gdal_translate writes is read, whatever its type, compression and cut; what
# leat writes is read by GDAL with the place, coordinate system, NODATA, unit and statistics that are to be expected;
# GeoTIFFs that are cut short, have two bands or lie are refused.
# ctest: long asan=soak tsan=soak
. "$(dirname "$0")/lib.sh"
command -v gdal_translate >/dev/null && command -v gdalinfo >/dev/null || skip "no GDAL here (Debian: gdal-bin)"
"$python" -c 'import numpy' 2>/dev/null || skip "no Python with NumPy"
export GDAL_PAM_ENABLED=NO

"$python" "$here/landslide_gdal.py" make || fail "no grids"
place="-q -a_srs EPSG:32633"
translate() { # STEM FORMAT_OPTIONS...: both grids
    stem=$1
    shift
    gdal_translate $place "$@" plain.dem.asc $stem.dem.${suffix:-tif} &&
        gdal_translate $place -ot Float64 "$@" plain.source.asc $stem.source.${suffix:-tif} || fail "gdal_translate $*"
}
translate deflate -of GTiff -co COMPRESS=DEFLATE -co PREDICTOR=1
translate lzw -of GTiff -co COMPRESS=LZW -co TILED=YES -co BLOCKXSIZE=16 -co BLOCKYSIZE=32
gdal_translate $place -ot Int16 -of GTiff plain.dem.asc int16.dem.tif && cp deflate.source.tif int16.source.tif
gdalwarp -q -s_srs EPSG:32633 -t_srs EPSG:32633 -ot Float32 -dstnodata -3.4028234663852886e38 -co BIGTIFF=YES \
    -co ENDIANNESS=BIG -co COMPRESS=ZSTD plain.dem.asc nodata.dem.tif &&
    cp deflate.source.tif nodata.source.tif || fail "gdalwarp"
suffix=asc translate text -of AAIGrid -co FORCE_CELLSIZE=TRUE
for stem in deflate lzw int16 nodata text; do
    suffix=tif
    [ $stem = text ] && suffix=asc # with its .prj beside it
    set -- -s steps=150 -s snapshot_every=100 $stem.dem.$suffix $stem.source.$suffix
    expect 0 "$LEAT" run -q -b cpu -o out "$@"
    expect 0 "$LEAT" run -q -b cpu -o asc -s raster=asc.gz "$@"
    for what in thickness max_thickness arrival snapshots/000100; do
        gdalinfo -json -stats out/$stem/$what.tif >out/$stem/$what.json 2>stderr && [ ! -s stderr ] ||
            { cat stderr; fail "GDAL and $stem/$what.tif"; }
        gdalinfo -json -stats /vsigzip/asc/$stem/$what.asc.gz >asc/$stem/$what.json 2>stderr ||
            { cat stderr; fail "GDAL and $stem/$what.asc.gz"; }
        gdal_translate -q -ot Float64 -of ENVI out/$stem/$what.tif out/$stem/$what.bin || fail "$stem/$what.tif"
    done
done
# The same in feet, by the unit of the band and by the coordinate system: results are in metres, whatever GDAL would
# take them for by the system alone.
double="-oo DATATYPE=Float64"
gdal_translate -q $double -of VRT -a_srs EPSG:32633 feet.dem.asc feet.vrt &&
    sed 's|<NoDataValue>|<UnitType>ft</UnitType>&|' feet.vrt >unit.vrt && gdal_translate -q unit.vrt band.dem.tif &&
    gdal_translate -q $double -a_srs EPSG:32633+8228 feet.dem.asc system.dem.tif || fail "no grids in feet"
for stem in band system; do
    cp deflate.source.tif $stem.source.tif
    expect 0 "$LEAT" run -q -b cpu -o feet -s steps=150 $stem.dem.tif $stem.source.tif
    gdalinfo -json feet/$stem/thickness.tif >feet/$stem/thickness.json &&
        gdal_translate -q -ot Float64 -of ENVI feet/$stem/thickness.tif feet/$stem/thickness.bin || fail "$stem"
done
# A map in feet, whose altitudes are in metres or in feet, too; by a GeoTIFF and by a .prj.
while read -r stem map system; do
    gdal_translate -q $double -a_srs $system $stem.dem.asc ${stem}_tif.dem.tif &&
        gdal_translate -q $double -a_srs $system $map.source.asc ${stem}_tif.source.tif &&
        cp $stem.dem.asc ${stem}_asc.dem.asc && cp $map.source.asc ${stem}_asc.source.asc &&
        gdalsrsinfo -o wkt_esri $system >${stem}_asc.dem.prj || fail "no map in feet"
    for form in tif asc; do
        expect 0 "$LEAT" run -q -b cpu -o feet -s steps=150 ${stem}_$form.dem.$form ${stem}_$form.source.$form
        gdalinfo -json ${stem}_$form.dem.$form >feet/${stem}_$form/given.json &&
            gdalinfo -json feet/${stem}_$form/thickness.tif >feet/${stem}_$form/thickness.json || fail "$stem"
    done
done <<'SYSTEMS'
plain plain EPSG:32633
map_us map_us EPSG:2263
map_ft map_ft EPSG:2222
both_us map_us EPSG:2263+8228
both_ft map_ft EPSG:2222+8228
SYSTEMS
# A mask is refused, within the file where there is no module for GDAL, and beside it, until the command that is told has applied it.
mkdir none && : >none/leat_gdal.so
for stem in inner outer; do
    [ $stem = inner ] && within=YES || within=NO
    gdal_translate -q -a_srs EPSG:32633 -a_nodata none -mask 1 --config GDAL_TIFF_INTERNAL_MASK $within \
        -of GTiff plain.dem.asc $stem.dem.tif && cp deflate.source.tif $stem.source.tif || fail "no mask"
    LEAT_MODULE_DIR=$PWD/none expect 1 "$LEAT" run -q -b cpu -o masked $stem.dem.tif $stem.source.tif
    says "$stem.dem.tif.*mask says which cells|$stem.dem.tif.msk says which cells"
    cure=$(sed -n 's/.*as NODATA: \(gdalwarp .*\)/\1/p' stderr)
    eval "$cure" >warped && rm -f $stem.dem.tif* && mv $stem.dem.new.tif $stem.dem.tif || fail "no cure: $cure"
    expect 0 "$LEAT" run -q -b cpu -o masked -s steps=150 $stem.dem.tif $stem.source.tif
    gdal_translate -q -ot Float64 -of ENVI masked/$stem/thickness.tif masked/$stem/thickness.bin || fail "$stem"
    cmp masked/$stem/thickness.bin out/deflate/thickness.bin || fail "$stem: not what NODATA gives"
done

"$python" "$here/landslide_gdal.py" check || fail "GDAL sees something else"

bad() { # DEM PATTERN: with itself as the other grid, so that shapes do not differ
    cp "$1" "${1%%.*}.source.tif"
    expect 1 "$LEAT" run -q -b cpu -o refused "$1" "${1%%.*}.source.tif"
    says "^leat: error: '?$1'?: .*$2"
    [ -z "$(ls -A refused 2>/dev/null)" ] || fail "$1 left something: $(ls -A refused)"
}
size=$(wc -c <deflate.dem.tif)
head -c $((size - 100)) deflate.dem.tif >cut.dem.tif
bad cut.dem.tif "byte [0-9]+: strip 3 .*goes beyond the file's $((size - 100))"
head -c 60 deflate.dem.tif >stub.dem.tif
bad stub.dem.tif 'is not a readable TIFF'
gdal_translate -q -of GTiff -b 1 -b 1 plain.dem.asc twins.dem.tif
bad twins.dem.tif '2 (bands|samples)'
while read -r lie pattern; do
    "$python" "$here/landslide_gdal.py" lie $lie || fail "no lie"
    bad $lie.dem.tif "$pattern"
done <<'LIES'
width strip 0 cannot unpack
length strip 3 .*is damaged
strips strip 0 of 2147483632 bytes goes beyond
offsets byte 2147483632: strip 0
type (24 bits|is not an altitude)
LIES
echo "GDAL and leat understand each other"
