#!/bin/sh
# What the samples are shown to give, beside what pandas and NumPy say of them; LEAT_TEST_BACKEND chooses the backend.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy, pandas' 2>/dev/null || { echo "no Python with NumPy and pandas"; exit 77; }
if [ "${LEAT_TEST_BACKEND:-cpu}" = cuda ] && ! "$LEAT" doctor -b cuda >/dev/null 2>&1; then
    echo "no CUDA device can be used here"
    exit 77
fi
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
"$LEAT" run -q --backend "${LEAT_TEST_BACKEND:-cpu}" -o "$out" "$here"/../../samples/*.clusters.* || exit 1
"$LEAT" run -q --backend "${LEAT_TEST_BACKEND:-cpu}" -o "$out" -s raster=asc.gz "$here"/../../samples/slope.* || exit 1
"$LEAT" run -q --backend "${LEAT_TEST_BACKEND:-cpu}" -o "$out" -c "$here/../../samples/demo.conf" "$here"/../../samples/runge.* \
    "$here"/../../samples/beans.* || exit 1
"$python" "$here/samples.py" "$here/../../samples" "$out"
