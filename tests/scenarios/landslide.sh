#!/bin/sh
# Landslides through the program: grids that no landslide can be made of, warnings, what stands for NODATA.
# ctest: asan=soak
. "$(dirname "$0")/lib.sh"
backend=${LEAT_TEST_BACKEND:-cpu}

slide() { # OUT OPTION... INPUT...
    out=$1
    shift
    expect 0 "$LEAT" run -q -b "$backend" -o "$out" "$@"
}

# Grids that no landslide can be made of.
head5='ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -9999\n'
level='9 9 9 9\n9 9 9 9\n9 9 9 9\n'
none='0 0 0 0\n0 2 0 0\n0 0 0 0\n'
# grid FILE HEADER VALUES
grid() {
    printf "$2$3" >"$1"
}
# bad STEM PATTERN: refused with one line that names the file and the place, and nothing is left.
bad() {
    expect 1 "$LEAT" run -q -b "$backend" -o out "$1".dem.* "$1".source.*
    says "^leat: error: .*$2"
    [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "$1: more than one line"; }
    [ -z "$(ls -A out 2>/dev/null)" ] || fail "$1 left something in the output folder: $(ls -A out)"
}
# bad_dem STEM HEADER VALUES PATTERN, and likewise for the source
bad_dem() {
    grid "$1.dem.asc" "$2" "$3"
    grid "$1.source.asc" "$head5" "$none"
    bad "$1" "$1.dem.asc'?: .*$4"
}
bad_source() {
    grid "$1.dem.asc" "$head5" "$level"
    grid "$1.source.asc" "$2" "$3"
    bad "$1" "$1.source.asc'?: .*$4"
}

grid good.dem.asc "$head5" "$level"
grid good.source.asc "$head5" "$none"
slide fine good.dem.asc good.source.asc
[ -f fine/good/map.png ] || fail "no picture of a small slide"

bad_source a1 "$head5" '0 0 0 0\n0 2 1e10 0\n0 0 0 0\n' 'row 2, column 3: .*not a thickness'
bad_source a2 "$head5" '0 0 0 0\n0 2 0 0\n0 -1.5 0 0\n' 'row 3, column 2: -1.5 m of debris is below 0'
bad_source a3 "$head5" '0 0 0 0\n0 2 0 0\n0 0 1e400 0\n' "line 9, column 3: '1e400' is beyond"
bad_source a4 "$head5" '0 0 0 0\n0 two 0 0\n0 0 0 0\n' "line 8, column 2: 'two' is not a number"
bad_dem a6 "$head5" '9 9 9 9\n9 -3.4e38 9 9\n9 9 9 9\n' 'row 2, column 2: -3.4e\+38 is not an altitude'
bad_dem a7 "$head5" '9 9 9 9\n9 9 9 9\n9 9 9\n' 'claims 3 rows x 4 columns, but only'
bad_dem a8 "$head5" '9 9 9 9\n9 9 9 9\n9 9 9 9 9\n' 'line 9, column 5: .*one value more'
bad_dem few "$head5" '90 90 90 90\n90 90 90 90\n90 90 90\n' 'line 9: ends after 11 values'
bad_dem a9 'nrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\n' "$level" 'ncols'
bad_dem b1 'ncols 2000000000\nnrows 2000000000\nxllcorner 0\nyllcorner 0\ncellsize 10\n' "$level" '2000000000'
bad_dem b2 'ncols -4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\n' "$level" 'ncols'
bad_dem b8 'ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1e155\n' "$level" 'line 5: cellsize .* up to 1e\+09'
bad_dem b3 'ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 0\n' "$level" 'cellsize'
printf "$level" >headless.dem.asc
grid headless.source.asc "$head5" "$none"
bad headless 'headless.dem.asc.*does not begin with the header of an ASCII grid'
grid b4.dem.asc "$head5" "$level"
grid b4.source.asc 'ncols 3\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 10\n' '0 0 0\n0 0 0\n0 0 0\n0 0 0\n'
bad b4 'shape: .*b4.dem.asc is 3 rows x 4 columns, .*b4.source.asc is 4 rows x 3 columns'
grid b5.dem.asc "$head5" "$level"
grid b5.source.asc 'ncols 4\nnrows 3\nxllcorner 5\nyllcorner 0\ncellsize 10\n' "$none"
bad b5 'place: .*x 0 to 40.*x 5 to 45'
grid b6.dem.asc "$head5" '-9999 -9999 -9999 -9999\n-9999 -9999 -9999 -9999\n-9999 -9999 -9999 -9999\n'
grid b6.source.asc "$head5" "$none"
bad b6 'b6.dem.asc.*no cell has an altitude'
grid b7.dem.asc "$head5" "$level"
expect 1 "$LEAT" run -q -b "$backend" -o out b7.dem.asc
says 'b7.dem.asc.*needs b7.source'
for wrong in steps=-1 steps=2147483647 p_epsilon=-1 p_r=1.5 nodata=walls raster=png raster_type=f16; do
    expect 2 "$LEAT" run -b "$backend" -o out -s $wrong good.dem.asc good.source.asc
    says "${wrong%%=*}"
done
expect 1 "$LEAT" run -q -b "$backend" -o out -s snapshot_every=1 -s steps=200000 good.dem.asc good.source.asc
says 'snapshot_every=1'

# What would not fit is told before anything is read.
expect 0 "$LEAT" check -b "$backend" good.dem.asc good.source.asc
"$python" - <<'P' || skip "no Python with NumPy"
import numpy as np
np.save("big.dem.npy", np.zeros((3000, 3000)))
np.save("big.source.npy", np.zeros((3000, 3000)))
P
expect 1 "$LEAT" check -b "$backend" --threads 2 --memory 64M big.dem.npy big.source.npy
says 'big.*(memory|bytes|MiB)'

# Warnings are told, and are in result.json.
grid c1.dem.asc "$head5" "$level"
grid c1.source.asc "$head5" '3 0 0 0\n0 0 0 0\n0 0 0 0\n'
expect 0 "$LEAT" run -b "$backend" -o out c1.dem.asc c1.source.asc
says 'warning: .*c1.*300 m3 of debris \(1 cell\) lie on the outermost ring'
grep -q 'outermost ring' out/c1/result.json || fail "the warning is not in result.json"

# A number that stands for a missing one is NODATA, beside the file's own; no debris in the source; in arrays, too.
json() { # json FILE EXPRESSION: holds for o, the object in FILE
    "$python" -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert ('"$2"'), o' "$1" || fail "not so: $2"
}
rm -r out
grid m1.dem.asc "$head5" '9 9 9 -9999\n9 9 -1 9\n9 9 9 9\n'
grid m1.source.asc "$head5" '0 0 -1 0\n0 2 0 0\n0 0 0 -9999\n'
"$python" - <<'P' || skip "no Python with NumPy"
import numpy as np
dem, source = np.full((3, 4), 9.0), np.zeros((3, 4))
dem[0, 3] = dem[1, 2] = source[0, 2] = source[2, 3] = -1
source[1, 1] = 2
np.save("m2.dem.npy", dem)
np.save("m2.source.npy", source)
P
for stem in m1 m2; do
    bad $stem "$stem.source.* row 1, column 3: -1 m of debris"
    expect 0 "$LEAT" run -q -b "$backend" -o missing -s missing_value=-1 $stem.dem.* $stem.source.*
    json missing/$stem/result.json 'o["shape"]["nodata_cells"] == 2 and o["shape"]["source_cells"] == 1'
done
grid m3.dem.asc 'ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\n' '9 9 9 -9999\n9 9 9 9\n9 9 9 9\n'
grid m3.source.asc "$head5" "$none"
expect 0 "$LEAT" run -b "$backend" -o unsaid m3.dem.asc m3.source.asc
says 'warning: [^:]*m3.dem.asc: -9999 \(1 cell\) looks like a code for missing altitudes.*, set missing_value=-9999'
expect 0 "$LEAT" run -b "$backend" -o said -s missing_value=-9999 m3.dem.asc m3.source.asc
json said/m3/result.json 'o["shape"]["nodata_cells"] == 1 and not any("-9999" in w for w in o["warnings"])'

# Beside a number for NODATA, too, in arrays, and where several are: what is told to do is enough.
head6='ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -99999\n'
grid m4.dem.asc "$head6" '9 8 7 -9999\n9 9 -32768 9\n9 9 -99999 -32768\n'
grid m4.source.asc "$head5" "$none"
"$python" -c 'import numpy as np
np.save("m5.dem.npy", np.array([[9, 8, 7, -9999], [9, 9, -32768, 9], [9, 9, 9, -32768]], "f4"))
np.save("m5.source.npy", np.array([[0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]], "f4"))'
for stem in m4 m5; do
    expect 0 "$LEAT" check -b "$backend" $stem.dem.* $stem.source.*
    grep -q 'note: -9999 (1 cell) and -32768 (2 cells) look like codes' stdout || fail "check is silent on $stem"
    expect 0 "$LEAT" run -b "$backend" -o unsaid $stem.dem.* $stem.source.*
    says "warning: [^:]*$stem.dem.*: -9999 \\(1 cell\\) and -32768 \\(2 cells\\) look like codes"
    cure=$(sed -n 's/.*, set \(missing_value=[-0-9,]*\).*/\1/p' stderr)
    expect 0 "$LEAT" run -b "$backend" -o said -s "$cure" $stem.dem.* $stem.source.*
    json said/$stem/result.json 'o["shape"]["nodata_cells"] >= 3 and not any("code" in w for w in o["warnings"])'
done

# In the source likewise: below 0 they are refused, above they are debris; what is told to do is enough.
told=' look like codes for missing thicknesses, far from all others'
grid m6.dem.asc "$head6" "$level"
grid m6.source.asc "$head6" '0 0 -9999 0\n0 2 -32768 -9999\n0 0 -99999 0\n'
bad m6 "row 1, column 3: -9999 m of debris is below 0 \(one of 3 such cells\); -9999 \(2 cells\) and -32768 \(1 cell\)$told; if so, set missing_value=-9999,-32768$"
grid m7.dem.asc "$head6" "$level"
grid m7.source.asc "$head6" '0 0 9999 0\n0 2 32767 9999\n0 0 -99999 0\n'
expect 0 "$LEAT" run -b "$backend" -o unsaid m7.dem.asc m7.source.asc
says "warning: .* m7.source.asc: 9999 \(2 cells\) and 32767 \(1 cell\)$told, and taken as debris; if so, set missing_value=9999,32767"
for stem in m6 m7; do
    cure=missing_value=-9999,-32768
    [ $stem = m6 ] || cure=missing_value=9999,32767
    expect 0 "$LEAT" run -b "$backend" -o said -s "$cure" $stem.dem.* $stem.source.*
    json said/$stem/result.json 'o["shape"]["source_cells"] == 1 and not any("code" in w for w in o["warnings"])'
done
bad_set() { # STEM OPTION PATTERN
    expect 1 "$LEAT" run -q -b "$backend" -o out -s "$2" "$1".dem.* "$1".source.*
    says "$3"
}
bad_set m6 missing_value=-9999 '-32768 \(1 cell\) looks like a code .*; if so, append ", -32768" to missing_value$'
bad_set m6 nodata=compat 'look like codes .*; if so, the file has to say so \(NODATA_value, gdal_translate -a_nodata\)$'
bad_source a10 "$head6" '0 0 0 0\n0 -1.5 -1.5 0\n0 0 0 0\n' '-1.5 m of debris is below 0 \(one of 2 such cells\); if it stands for NODATA, set missing_value=-1.5$'
bad_source a11 "$head6" '0 0 0 0\n0 1e20 2 0\n0 0 0 0\n' '1e\+20 is not a thickness in metres; .*set missing_value=1e(\+)?20$'
# A scar of one thickness, whose rim is interpolated, is none.
grid m8.dem.asc "$head6" "$level"
grid m8.source.asc "$head6" '0 0.1 50 50\n0 0.1 50 50\n0 0 0 0\n'
expect 0 "$LEAT" run -b "$backend" -o said m8.dem.asc m8.source.asc
json said/m8/result.json 'not any("code" in w for w in o["warnings"])'

# What the reader is told for other formats is not said to have been used.
expect 0 "$LEAT" run -b "$backend" -o told -s columns=1-2 -s member=x good.dem.asc good.source.asc
says 'warning: .*good.dem.asc: columns=1-2 is ignored'
says 'warning: .*good.dem.asc: good.source.asc: member=x is ignored'
json told/good/result.json 'o["reader"] == {} and sum("is ignored: it applies" in w for w in o["warnings"]) == 4'
printf '1,2,3\n4,5,7\n6,7,9\n' >some.clusters.csv
expect 0 "$LEAT" run -q -b "$backend" -o told -s columns=1-2 -s member=x some.clusters.csv
json told/some/result.json 'o["reader"] == {"columns": "1-2"}'
echo "every landslide was as it should be"
