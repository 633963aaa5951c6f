#!/bin/sh
# leat generate: the same bytes twice and on any number of threads, an independent Philox in Python agrees,
# NumPy and GDAL open it; nothing is left behind by a failure, a signal or a reader that goes away.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"

is_writing() {
    ls .leat.*.tmp >/dev/null 2>&1
}
# interrupt NAME OPTIONS...: a signal while the file of that name is written leaves nothing of it.
interrupt() {
    name=$1
    shift
    "$LEAT" generate "$@" 2>stderr &
    child=$!
    wait_for "a file is being written" is_writing
    kill -TERM $child
    wait $child
    [ $? -eq 143 ] || fail "it does not end by the signal"
    says "$name.*signal"
    left=$(find . -name '*huge*' -o -name '*wrong*' -o -name '.leat*')
    [ -z "$left" ] || fail "left behind: $left"
}

expect 0 "$LEAT" generate clusters -o a.csv
expect 0 "$LEAT" generate clusters -o b.csv --threads 1
[ "$(wc -l <a.csv)" -eq 64 ] || fail "not 64 series"
cmp a.csv b.csv || fail "two runs differ"
expect 0 "$LEAT" generate clusters
cmp stdout a.csv || fail "standard output differs from the file"
for to in - /dev/stdout /dev/fd/1; do
    "$LEAT" generate clusters -q -o $to | cmp - a.csv || fail "-o $to differs from the file"
done
# The defaults are those of the manual.
rm -f x.*
while read -r kind file options; do
    expect 0 "$LEAT" generate $kind -q -o $file
    for made in x.*; do
        mv $made default.$made
    done
    expect 0 "$LEAT" generate $kind -q $options --seed 0 --type f64 --threads 0 -o $file
    for made in x.*; do
        cmp $made default.$made || fail "the defaults of $kind"
    done
    rm -f x.* default.*
done <<END
clusters x.csv --series 64 --samples 256 --epsilon 0.01 --start 100 --layout rows --gaps 0 --backend cpu
dem x.tif --rows 600 --columns 500 --cell 10 --active 0.005 --nodata 0
nodes x.csv --function runge --placement chebyshev --degree 20 --from -1 --to 1
points x.csv --points 1000 --clusters 8 --spread 1 --columns 2
END
for layout in rows columns; do
    expect 0 "$LEAT" generate clusters --series 1100 --samples 1300 --gaps 0.01 --layout $layout -o one.npy --threads 1
    expect 0 "$LEAT" generate clusters --series 1100 --samples 1300 --gaps 0.01 --layout $layout -o four.npy --threads 4
    cmp one.npy four.npy || fail "threads change the bytes ($layout)"
    rm one.npy four.npy
done
expect 0 "$LEAT" generate clusters --seed 1 -o c.csv
cmp -s a.csv c.csv && fail "the seed changes nothing"

expect 2 "$LEAT" generate clusters -o a.csv
says 'a\.csv.*--force'
cmp a.csv b.csv || fail "an existing file was touched"
expect 0 "$LEAT" generate clusters --seed 1 --force -o b.csv
cmp b.csv c.csv || fail "--force did not replace the file"

expect 2 "$LEAT" generate lines -o x.csv
says 'lines.*clusters, dem, nodes, points'
expect 2 "$LEAT" generate
says 'generate clusters'
expect 2 "$LEAT" generate clusters --sampels 3
says '--samples'
expect 2 "$LEAT" generate clusters -o x.json
says '\.csv or \.npy'
for wrong in --series=0 --samples=x --epsilon=1 --epsilon=nan --start=inf --type=f16 --layout=row --gaps=1.1 \
    --seed=-1 --backend=gpu; do
    expect 2 "$LEAT" generate clusters "$wrong"
    says "${wrong%=*}: '"
done
for wrong in "dem --rows=0" "dem --cell=0.009" "dem --cell=1001" "dem --active=1" "dem --active=-1" "dem --slides=0" "dem --nodata=0.91" \
    "dem --columns=0" "nodes --degree=0" "nodes --function=x" "nodes --placement=x" "points --points=0" "points --clusters=0" \
    "points --spread=-1" "points --columns=0" "points --threads=4097"; do
    expect 2 "$LEAT" generate $wrong -o x.csv
    option=${wrong#* }
    says "${option%=*}: "
done
expect 2 "$LEAT" generate clusters --series 2000000 --samples 1 --layout columns -o x.csv
expect 2 "$LEAT" generate clusters -o none/x.csv
expect 0 "$LEAT" generate --help
grep -q -- --layout stdout || fail "no help"

if [ -w /dev/full ]; then
    "$LEAT" generate clusters >/dev/full 2>stderr
    [ $? -eq 1 ] || fail "a full disk is not exit status 1"
    says 'No space'
fi
{ "$LEAT" generate clusters --series 100000 --samples 10000; echo $? >status; } 2>stderr | head -c 1 >/dev/null
[ "$(cat status)" -gt 128 ] || fail "a reader that goes away: exit status $(cat status)"
[ ! -s stderr ] || { cat stderr; fail "a reader that goes away is complained about"; }
# A pipe that nobody opens: the first signal cannot be looked at, the second ends it.
catches() { # SIGTERM
    grep -Eq '^SigCgt:.*[4-7c-f]...$' /proc/$child/status
}
mkfifo pipe.csv
"$LEAT" generate clusters -o pipe.csv 2>stderr &
child=$!
give_up=$(($(date +%s) + wait_s))
for wanted in catches '! catches'; do
    until eval "$wanted"; do
        [ "$(date +%s)" -lt $give_up ] || { kill -KILL $child; fail "$wanted: never, with a pipe that nobody opens"; }
        sleep 0.05
    done
    kill -TERM $child
done
wait $child
[ $? -eq 143 ] || fail "the second signal does not end it"

interrupt 'huge\.npy' clusters --series 1000000 --samples 100000 -o huge.npy

# --- dem: the sample is made again to the byte, whatever the machine, the threads and the format
samples=$here/../../samples
expect 0 "$LEAT" generate dem --rows 120 --columns 96 --active 0.01 --seed 2 -o slope.asc
cmp slope.dem.asc "$samples/slope.dem.asc" || fail "another ground than the sample's"
cmp slope.source.asc "$samples/slope.source.asc" || fail "other debris than the sample's"
says 'slope\.dem\.asc.*120 x 96 cells, 1 slide'
for ending in tif asc asc.gz; do
    [ $ending = tif ] && others="2 5" || others=5 # what text says is the same
    for threads in 1 $others; do
        expect 0 "$LEAT" generate dem --rows 700 --columns 900 --nodata 0.1 -o $threads.$ending --threads $threads
    done
    for part in dem source; do
        for threads in $others; do
            cmp 1.$part.$ending $threads.$part.$ending || fail "threads change the bytes ($part.$ending)"
        done
    done
done
gzip -dc 1.dem.asc.gz | cmp - 1.dem.asc || fail "the gzipped text is another"
gzip -dc 1.source.asc.gz | cmp - 1.source.asc || fail "the gzipped text is another"
expect 0 "$LEAT" generate dem --rows 700 --columns 900 --seed 1 -o other.asc
cmp -s 1.dem.asc other.dem.asc && fail "the seed changes no ground"

expect 2 "$LEAT" generate dem -o slope.asc
says 'slope\.source\.asc.*--force'
cmp slope.dem.asc "$samples/slope.dem.asc" || fail "an existing file was touched"
expect 2 "$LEAT" generate dem
says 'X\.dem\.tif and X\.source\.tif'
for wrong in --rows=0 --columns=x --cell=0 --active=1 --slides=0 --nodata=0.95; do
    expect 2 "$LEAT" generate dem "$wrong" -o wrong
    says "${wrong%=*}: '"
done
expect 2 "$LEAT" generate dem --active 0.9 -o wrong
says 'active.*quarter'
expect 2 "$LEAT" generate dem --rows 65536 --columns 65536 -o wrong
expect 2 "$LEAT" generate dem --series 3 -o wrong
says 'series is not an option of dem'
expect 2 "$LEAT" generate clusters --rows 3 -o wrong.csv
says 'rows is not an option of clusters'
expect 2 "$LEAT" generate dem -b cpu -o wrong
expect 2 "$LEAT" generate dem -o wrong.png
says 'wrong\.png.*X\.asc'
mkfifo pipe.dem.tif pipe.dem.asc
for ending in tif asc; do
    cat pipe.dem.$ending >piped &
    "$LEAT" generate dem --rows 64 --columns 64 -o pipe.$ending >stdout 2>stderr
    got=$?
    wait $!
    [ $ending = asc ] || { [ $got -eq 2 ] && [ ! -s piped ] && [ ! -e pipe.source.tif ] || fail "a GeoTIFF into a pipe: $got"; }
    [ $ending = asc ] || says 'pipe\.dem\.tif: is a pipe.*\.asc'
done
[ $got -eq 0 ] && "$LEAT" generate dem --rows 64 --columns 64 -o file.asc && cmp piped file.dem.asc || fail "a grid into a pipe: $got"

interrupt huge dem --rows 40000 --columns 40000 -o huge

# --- nodes and points: on any number of threads, to a file or a pipe, in constant memory
more="runge,exp,abs,sign,cos20"
for kind in "nodes --degree 30000 --placement random --function $more" "points --points 25000 --columns 7 --labels l.csv"; do
    for ending in csv npy; do
        for threads in 1 4; do
            expect 0 "$LEAT" generate $kind -o table$threads.$ending --threads $threads --force
            [ "${kind#nodes}" != "$kind" ] || mv l.csv table$threads.labels || fail "no labels"
        done
        cmp table1.$ending table4.$ending || fail "threads change the bytes (${kind%% *})"
    done
    [ "${kind#nodes}" != "$kind" ] || cmp table1.labels table4.labels || fail "threads change the labels"
    expect 0 "$LEAT" generate $kind
    cmp stdout table1.csv || fail "standard output differs from the file (${kind%% *})"
    rm table*
done
rm l.csv
expect 0 "$LEAT" generate nodes --function runge,abs -o runge.nodes.csv
cmp runge.nodes.csv "$samples/runge.nodes.csv" || fail "other nodes than the sample's"
expect 0 "$LEAT" generate nodes -o x.nodes.csv
says 'x\.nodes\.csv: 21 nodes, 1 curve,'
expect 2 "$LEAT" generate nodes -o x.nodes.csv
says 'x\.nodes\.csv.*--force'
expect 0 "$LEAT" generate points --columns 3 -o x.points.npy --labels l.npy
says 'x\.points\.npy: 1000 points, 3 columns,'
expect 0 "$LEAT" check -b cpu -s 'query=linspace(-1,1,9)' x.nodes.csv
grep -q 'x.nodes.csv: csv, 21 lines of 2 numbers; pipeline interpolate' stdout || { cat stdout; fail "check of nodes"; }
expect 0 "$LEAT" check -b cpu x.points.npy
grep -q 'x.points.npy: npy, 1000 lines of 3 numbers; pipeline kmeans' stdout || { cat stdout; fail "check of points"; }
for wrong in --function=tan --function=exp, --function=exp,abs,exp --placement=gauss --degree=0 --from=x --to=1e7 --from=1; do
    expect 2 "$LEAT" generate nodes "$wrong"
    says "${wrong%%=*}: "
done
for wrong in --points=0 --columns=0 --columns=100000 --clusters=0 --spread=-1 --labels=; do
    expect 2 "$LEAT" generate points "$wrong"
    says "${wrong%=*}: "
done
expect 2 "$LEAT" generate points --labels l.txt -o wrong.csv
says 'l\.txt: .*\.csv or \.npy'
expect 2 "$LEAT" generate points --labels wrong.csv -o wrong.csv
says '--labels: .wrong\.csv'
mkdir aside
ln -s aside beside
ln -s aside/a.csv other.csv
for pair in "wrong.csv ./wrong.csv" "wrong.csv aside/../wrong.csv" "aside/a.csv beside/a.csv" "$PWD/wrong.csv wrong.csv"; do
    for force in "" --force; do
        expect 2 "$LEAT" generate points -o ${pair% *} --labels ${pair#* } $force
        says '--labels: .* what the points go to'
    done
done
expect 0 "$LEAT" generate points -o aside/a.csv --labels aside.csv
expect 0 "$LEAT" generate points -o aside/a.csv --labels other.csv --force
head -n 1 other.csv | grep -q cluster && cmp aside.csv other.csv || fail "labels are lost"
rm -r aside beside other.csv aside.csv
expect 2 "$LEAT" generate nodes -o wrong.txt
says '\.csv or \.npy'
expect 2 "$LEAT" generate nodes -b cpu -o wrong.csv
says 'backend is not an option of nodes'
expect 2 "$LEAT" generate points --rows 3 -o wrong.csv
says 'rows is not an option of points'
expect 2 "$LEAT" generate dem --clusters 3 -o wrong
says 'clusters is not an option of dem'
interrupt 'wrong\.csv' points --points 1000000000 --labels wrong.csv -o huge.npy
interrupt 'huge\.csv' nodes --degree 1000000000 --placement equispaced -o huge.csv
for kind in "nodes --function abs --placement equispaced --degree" "points --points"; do
    # a sanitizer's memory tells nothing
    [ "$patience" -eq 1 ] && many=2000000 || many=200000
    expect 0 "$python" "$here/peak.py" $((100000000 * patience)) "$LEAT" generate -q $kind $many -o large.npy --threads 2
    echo "$kind $many: $(cat stdout)"
    rm large.npy
done

if command -v gdalinfo >/dev/null; then
    for ending in tif asc; do
        gdalinfo -checksum 1.dem.$ending >info 2>&1 || { cat info; fail "gdalinfo does not read 1.dem.$ending"; }
        grep -q '^Size is 900, 700' info && grep -q 'NoData Value=-9999' info &&
            grep -Eq '^Origin = \(0\.0+,7000\.0+\)' info && grep -Eq '^Pixel Size = \(10\.0+,-10\.0+\)' info ||
            { cat info; fail "gdalinfo reads something else"; }
        gdal_translate -q -ot Float32 -of ENVI 1.dem.$ending $ending.raw || fail "gdal_translate 1.dem.$ending"
    done
    cmp tif.raw asc.raw || fail "GDAL reads other altitudes from text (which it takes for single precision)"
else
    echo "without GDAL: not read by it"
fi

"$python" -c 'import numpy' 2>/dev/null || { echo "without NumPy: not compared"; exit 0; }
exec "$python" "$here/generate.py" "$LEAT"
