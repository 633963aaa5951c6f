#!/bin/sh
# The library as it is installed: what it exports, a program that is compiled by pkg-config, C++, and the same bits as
# the command's.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$LEAT")/..
[ "$patience" -gt 1 ] && skip "a library with a sanitizer wants a program with one"
command -v pkg-config >/dev/null && command -v cc >/dev/null || skip "no pkg-config, or no compiler"
for component in library development leat; do
    cmake --install "$build" --prefix "$scratch/usr" --component $component >log 2>&1 || { cat log; fail "cannot be installed"; }
done
PKG_CONFIG_PATH=$(dirname "$(find usr -name leat.pc)")
lib=$(dirname "$(find usr -name libleat.so)")
[ -n "$lib" ] || fail "no libleat.so"
export PKG_CONFIG_PATH
strange=$(nm -D --defined-only "$lib/libleat.so" | awk '{ print $NF }' | grep -v '^leat_\|^LEAT_0')
[ -z "$strange" ] || fail "it exports $strange"
flags=$(pkg-config --define-variable=prefix="$scratch/usr" --cflags --libs leat) || fail "pkg-config"
# shellcheck disable=SC2086 # several flags
cc -std=c17 -Wall -Wextra -Werror "$here/../../samples/clusters.c" -o clusters $flags -lm || fail "the sample does not compile"
LD_LIBRARY_PATH=$lib expect 0 ./clusters
[ "$(sed -n 2p stdout)" = "3 clusters, silhouette 0.883" ] && [ "$(grep -c '1000 points' stdout)" = 3 ] &&
    grep -q 'p(-0.50) = 0.606531' stdout || { cat stdout; fail "another result"; }
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    c++ -std=c++11 -Wall -Wextra -Werror "$here/../../samples/debris.cpp" -o debris $flags || fail "the C++ sample does not compile"
    LD_LIBRARY_PATH=$lib expect 0 ./debris
    grep -q '^[1-9][0-9]* cells covered, to row [12][0-9][0-9];' stdout || { cat stdout; fail "another landslide"; }
fi
# modules are in lib/leat, wherever the library goes below the prefix
for folder in lib64 lib/x86_64-linux-gnu; do
    mkdir -p "moved/$folder" moved/lib && cp "$lib"/libleat.so* "moved/$folder" && cp -r usr/lib/leat moved/lib
    "$python" - "moved/$folder/libleat.so" <<END || fail "modules are not found from $folder"
import ctypes, sys
l, c, r = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), ctypes.c_void_p()
class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("rows", ctypes.c_size_t), ("columns", ctypes.c_size_t),
                ("rest", ctypes.c_size_t * 3)]
x = (ctypes.c_double * 6)(1, 2, 3, 1, 3, 2)
assert l.leat_open(None, ctypes.byref(c)) == 0
assert l.leat_correlate(c, ctypes.byref(Array(ctypes.addressof(x), 0, 2, 3)), None, ctypes.byref(r)) == 0
END
done
# products are OpenBLAS's, of the kernels that leat takes: another program says so before it begins
grep -q avx2 /proc/cpuinfo && export OPENBLAS_CORETYPE=Haswell
expect 0 "$python" "$here/c_library.py" "$lib/libleat.so" "$LEAT" "${LEAT_TESSINA:-$here/../../../shared/data/tessina}"
cat stdout
