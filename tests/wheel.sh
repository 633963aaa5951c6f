#!/bin/sh
# The wheel in fresh virtual environments, without a package index: one without NumPy, where the program works, and one
# with Debian's, where tests/scenarios/python_library.py does. It is built first.
#
# usage: sh tests/wheel.sh     PYTHON: another Python 3.8 or later, which has NumPy, SciPy and scikit-learn
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
cmake --preset portable >/dev/null
cmake --build --preset portable --target wheel -- --quiet
wheel=$(ls "$PWD"/build/portable/leat-*.whl)
fresh=$(mktemp -d "${TMPDIR:-/tmp}/leat-wheel-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$python" -m venv "$fresh/bare"
"$fresh/bare/bin/pip" install -q --no-index "$wheel"
in_it() { env -i HOME="$fresh" PATH="$fresh/bare/bin:/usr/bin:/bin" "$@"; }
in_it leat run -b cpu -q -o "$fresh/out" samples/wells.clusters.csv samples/slope.dem.asc samples/slope.source.asc
[ -s "$fresh/out/wells/heatmap.png" ] && [ -s "$fresh/out/slope/thickness.tif" ] || fail "no results"
in_it python -c 'import os, signal, subprocess; r, w = os.pipe(); os.close(r)
assert subprocess.run(["leat", "help"], stdout=w).returncode == -signal.SIGPIPE' || fail "the script ignores SIGPIPE as Python does"
in_it python -c 'import leat; leat.Context(); leat.kmeans([[1]])' 2>"$fresh/said" && fail "arrays without NumPy"
grep -q '^ImportError: arrays need NumPy: pip install numpy' "$fresh/said" || fail "$(cat "$fresh/said")"
cat >"$fresh/own.py" <<'END'
import ctypes, leat
x = (ctypes.c_double * 6)(1, 2, 3, 1, 3, 2)
leat._Owner(leat.Context(), "correlate", leat._CorrelateOptions(), leat._CorrelateResult, (leat._Array(ctypes.addressof(x), 0, 2, 3), x))
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line or "gfortran" in line}
assert loaded and all("/leat/lib/" in path for path in loaded), loaded
END
in_it python "$fresh/own.py" || fail "products are another OpenBLAS's"
(cd "$fresh/bare" && "$fresh/bare/bin/python" - <<'END') || fail "RECORD"
import base64, csv, glob, hashlib, os
site, = glob.glob("lib/python3*/site-packages")
for name, digest, size in csv.reader(open(glob.glob(site + "/leat-*.dist-info/RECORD")[0])):
    if digest:
        data = open(os.path.join(site, name), "rb").read()
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), name
END
"$fresh/bare/bin/pip" uninstall -q -y leat
[ -z "$(find "$fresh/bare" -name '*leat*')" ] || fail "left behind: $(find "$fresh/bare" -name '*leat*')"

"$python" -m venv --system-site-packages "$fresh/arrays"
"$fresh/arrays/bin/pip" install -q --no-index "$wheel"
LEAT="$fresh/arrays/bin/leat" LEAT_WHEEL=1 "$fresh/arrays/bin/python" tests/scenarios/python_library.py
echo "the wheel of $(($(stat -c %s "$wheel") >> 20)) MiB works, and goes"
