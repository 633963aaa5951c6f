#!/bin/sh
# Builds leat and runs all of its tests: lint, unit, golden and scenario tests of the release build, the
# same under the address and undefined-behaviour sanitizers with the fuzz targets' seeds, and what has threads
# under the thread sanitizer. On a Debian 12 it installs what is missing first. GPU tests are built where nvcc
# is found, and skipped, visibly, where there is no device.
#
# What takes longer and finds more is in tests/soak.sh.
#
# usage: sh tests/run.sh [CTEST_OPTION...]      e.g. -L unit, -R pearson, -LE 'fuzz|lint'
set -eu
cd "$(dirname "$0")/.."

sh tests/install_packages.sh test

export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
# CUDA's compiler takes minutes for all the architectures that users get (tests/packages.sh has them): here for that of
# the device, or, where nothing can run it, only to see what the compiler says.
cuda=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -cd '0-9\n' | sort -u |
    sed 's/$/-real/' | paste -sd ';') || :
cuda=${cuda:+-DCMAKE_CUDA_ARCHITECTURES=$cuda}
mkdir -p build
rm -f build/*.failed
# Each asks the compilers one thing after the other, for seconds: they do so side by side.
for preset in release asan tsan; do
    option=
    [ $preset != release ] || option=${cuda:--DLEAT_CUDA=CHECK}
    cmake --preset $preset $option >build/$preset.log 2>&1 || : >build/$preset.failed &
done
wait
for failed in build/*.failed; do
    [ ! -e "$failed" ] || { cat "${failed%.failed}.log"; exit 1; }
done
for preset in release asan tsan; do
    echo "== building $preset"
    cmake --build --preset $preset -- --quiet
done

# One run over the tests of all three build folders; tests/CMakeLists.txt says how many slots each test takes.
mkdir -p build/all
echo 'subdirs("../release" "../asan" "../tsan")' >build/all/CTestTestfile.cmake
echo "== testing"
status=0
ctest --test-dir build/all --output-on-failure --no-tests=error -j "$((6 * $(nproc)))" -O build/tests.log "$@" || status=$?
echo "== the ten slowest"
sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 s  \1/p' build/tests.log | sort -rn | head -n 10
grep ' tests passed, ' build/tests.log
exit $status
