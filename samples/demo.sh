#!/bin/sh
# Builds leat, correlates the tables and lets the slope slide that lie beside this script; results go to leat-out/.
set -eu
cd "$(dirname "$0")/.."

sh tests/install_packages.sh build
mkdir -p build
cmake --preset release >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }
echo "Building build/release/bin/leat ..."
cmake --build --preset release --target program -- --quiet >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }

echo "+ leat run --force samples/"
build/release/bin/leat run --force samples/

echo
echo "Results:"
for folder in greenhouse slope walks wells; do
    (cd "leat-out/$folder" && ls -l | awk -v folder="leat-out/$folder" 'NF > 8 { printf "  %9d  %s/%s\n", $5, folder, $9 }')
done
echo
echo "The strongest pairs of the greenhouse (leat-out/greenhouse/pairs.csv.gz):"
gzip -dc leat-out/greenhouse/pairs.csv.gz | head -6 | sed 's/^/  /'
echo
echo "Look at leat-out/greenhouse/heatmap.png and at leat-out/slope/map.png. In Python:  numpy.load('leat-out/greenhouse/pearson.npz')['r']"
echo "Your own files:  build/release/bin/leat run X.clusters.csv, or X.dem.tif X.source.tif   (build/release/bin/leat --help)"
