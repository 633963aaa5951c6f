#!/bin/sh
# The rounds that are too long for every change, for before a release: the same tests as tests/run.sh with more kills,
# power cuts, full disks, faults and drops, and ten minutes of each fuzz target. Some eight hours on two cores; seeds are
# printed, so that what fails can be repeated. Stops at the first failure.
#
# usage: sh tests/soak.sh [PART...]     parts: spool disk service flood oracle alloc bounds fuzz; all if none is named
set -eu
cd "$(dirname "$0")/.."
sh tests/install_packages.sh test
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"

build()
{
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -- --quiet
}
play() { ctest --test-dir "build/$1" --output-on-failure --no-tests=error --timeout 100000 -R "$2"; }

part_spool()
{
    build release
    SPOOL_ROUNDS=10000 SPOOL_CUTS=1000 play release '^scenario.spool$'
}
part_disk()
{
    build release
    SPOOL_CUTS=300 play release '^scenario.spool_disk$'
}
part_service()
{
    build release
    LEAT_SERVICE_ROUNDS=10000 LEAT_SERVICE_FULL_ROUNDS=500 LEAT_SERVICE_FAULTS=200 LEAT_SERVICE_SOAK_DROPS=100000 \
        LEAT_SERVICE_SOAK_S=3600 play release '^scenario.service_faults$'
}
part_flood()
{
    build release
    LEAT_SERVICE_FILES=50000 play release '^scenario.service_flood$'
}
part_oracle()
{
    build asan
    LEAT=$PWD/build/asan/bin/leat sh tests/scenarios/oracle.sh
}
part_alloc()
{
    build release
    LEAT_FAULT_STRIDE=1 play release '^scenario.alloc_faults$'
}
part_bounds() # and the landslides, at full size under the address sanitizer
{
    build asan
    build/asan/tests/test_pearson_bounds
    build/asan/tests/test_sciddicat
}
part_fuzz()
{
    # in a folder of its own: the time would stay in that of tests/run.sh
    cmake --preset fuzz -B build/soak -DLEAT_FUZZ_SECONDS=600 >/dev/null
    cmake --build build/soak --target fuzzers -- --quiet
    play soak '^fuzz[.]'
}

for part in ${*:-spool disk service flood oracle alloc bounds fuzz}; do
    echo "== $part"
    "part_$part"
done
