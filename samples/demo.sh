#!/bin/sh
# Builds leat and gives it what lies beside this script: tables to correlate, a slope to slide, nodes to interpolate
# between, points to cluster. Results go to leat-out/.
set -eu
cd "$(dirname "$0")/.."

sh tests/install_packages.sh build
mkdir -p build
cmake --preset release >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }
echo "Building build/release/bin/leat ..."
cmake --build --preset release --target program -- --quiet >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }

echo "+ leat run --force -c samples/demo.conf samples/*.*.*"
build/release/bin/leat run --force -c samples/demo.conf samples/*.*.*

echo
echo "Results:"
for folder in beans greenhouse runge slope walks wells; do
    (cd "leat-out/$folder" && ls -l | awk -v folder="leat-out/$folder" 'NF > 8 { printf "  %9d  %s/%s\n", $5, folder, $9 }')
done
echo
echo "The strongest pairs of the greenhouse (leat-out/greenhouse/pairs.csv.gz):"
gzip -dc leat-out/greenhouse/pairs.csv.gz | head -6 | sed 's/^/  /'
echo
echo "The clusters of the beans (leat-out/beans/centroids.csv.gz):"
gzip -dc leat-out/beans/centroids.csv.gz | sed 's/^/  /'
echo
echo "Look at leat-out/*/*.png: heatmap, map, curve, scatter. In Python:  numpy.load('leat-out/greenhouse/pearson.npz')['r']"
echo "Your own files:  build/release/bin/leat run X.clusters.csv, X.dem.tif X.source.tif, X.nodes.csv X.query.csv, or X.points.csv   (build/release/bin/leat --help)"
