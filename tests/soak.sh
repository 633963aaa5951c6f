#!/bin/sh
# The rounds that are too long for every change, for before a release: the same tests as tests/run.sh with more kills,
# power cuts, full disks, faults and drops, and ten minutes of each fuzz target. Some eight hours on two cores; seeds are
# printed, so that what fails can be repeated. Stops at the first failure.
#
# usage: sh tests/soak.sh [PART...]     parts: service batch oracle corpus alloc bounds sanitizers fuzz tidy
# packages mutations; all if none is named. LEAT_SOAK_SHARE=100: a hundredth of the rounds, to see that the parts
# themselves are in order.
set -eu
cd "$(dirname "$0")/.."
sh tests/install_packages.sh test
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"

export LEAT_TEST_TIMEOUT_S=100000
# As in tests/CMakeLists.txt: a sanitizer's report ends a process with a status that is none of leat's.
export ASAN_OPTIONS=exitcode=86:strict_string_checks=1:detect_stack_use_after_return=1
export LSAN_OPTIONS=exitcode=86 UBSAN_OPTIONS=exitcode=86:print_stacktrace=1
share=${LEAT_SOAK_SHARE:-1}
python=${PYTHON:-/usr/bin/python3}
rounds() { echo $((($1 + share - 1) / share)); }

build()
{
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -- --quiet
}
# watched NAME: a scenario under the address sanitizer, without what tests/CMakeLists.txt sets to make it short.
watched()
{
    script=tests/scenarios/$1
    set -- sh "$script.sh"
    [ -e "$script.sh" ] || set -- "$python" "$script.py"
    LEAT=$PWD/build/asan/bin/leat LEAT_FAULTY=$PWD/build/asan/tests/leat_faulty \
        SPOOL_HARNESS=$PWD/build/asan/tests/spool_harness LEAT_TEST_PATIENCE=5 "$@" || [ $? -eq 77 ]
}
play() { ctest --test-dir "build/$1" --output-on-failure --no-tests=error -R "$2"; }

part_service() # the watched folder, as tests/soak_service.py counts it, and then where a sanitizer watches
{
    build release
    rm -rf build/soak-service
    "$python" tests/soak_service.py -s "$share" build/release build/soak-service || [ $? -eq 77 ]
    SCENARIOS=soak LEAT_SERVICE_SOAK_S=$(rounds 3600) play release '^scenario.service_faults$' # memory over an hour
    build asan
    SPOOL_STRIDE=1 SPOOL_ROUNDS=$(rounds 1000) watched spool
    LEAT_SERVICE_ROUNDS=$(rounds 300) LEAT_SERVICE_FULL_ROUNDS=$(rounds 20) LEAT_SERVICE_FAULTS=$(rounds 20) \
        LEAT_SERVICE_SOAK_DROPS=$(rounds 2000) watched service_faults
}
part_batch()
{
    build release
    LEAT_BATCH_INPUTS=2000 LEAT_BATCH_ROUNDS=$(rounds 50) LEAT_BATCH_SEED=$(date +%s) play release '^scenario.batch_kills$'
    LEAT_INTERRUPTS=$(rounds 50) LEAT_INTERRUPTS_SEED=$(date +%s) play release '^scenario.interrupts$'
    LEAT_MPI_INPUTS=2000 LEAT_MPI_ROUNDS=$(rounds 100) play release '^scenario.mpi$'
}
part_oracle()
{
    build asan
    # without patience: full sizes
    LEAT_ORACLE_SERIES=1000 LEAT=$PWD/build/asan/bin/leat "$python" tests/scenarios/oracle.py || [ $? -eq 77 ]
}
part_corpus() # takes a package index for pip
{
    build release
    mkdir -p build/corpus
    "$python" tests/corpus.py build/release/bin/leat build/corpus
}
part_alloc()
{
    build release
    LEAT_FAULT_STRIDE=$share play release '^scenario.alloc_faults$'
    build asan
    LEAT_FAULT_STRIDE=$((7 * share)) watched alloc_faults
}
part_bounds() # and the landslides, at full size, where tests/run.sh takes less of them
{
    build release
    LEAT_TEST_LARGE=1 build/release/tests/test_pearson_bounds
    LEAT_TEST_LARGE=1 play release '^scenario.(help|hostile|interpolate|kmeans)$'
    build asan
    for test in interpolate interpolate_rational interpolate_pieces; do LEAT_TEST_LARGE=1 build/asan/tests/test_$test; done
    LEAT_TEST_LARGE=1 build/asan/tests/test_pearson_bounds
    build/asan/tests/test_kmeans
    build/asan/tests/test_stage_sciddicat
    build/asan/tests/test_table_csv
    build/asan/tests/test_sciddicat
    build/asan/tests/test_sciddicat_bands
    LEAT_TEST_RANKS=1 build/asan/tests/test_sciddicat_bands
    build/asan/tests/test_matrix
    build/asan/tests/test_stage_pearson
    build/asan/tests/test_stage_pearson_heatmap
    build/asan/tests/test_stage_pearson_report
    watched interpolate
    watched landslide_tessina
    watched memory
    watched repeat
}
part_sanitizers() # what tests/run.sh leaves out where one watches
{
    build asan
    play asan .
    build tsan
    play tsan .
    LEAT_TEST_RANKS=1 TSAN_OPTIONS=suppressions=tests/lint/tsan.supp setarch -R build/tsan/tests/test_sciddicat_bands
}
part_packages()
{
    sh tests/wheel.sh
    if [ "$(id -u)" -eq 0 ]; then
        sh tests/packages.sh
    else
        echo "SKIPPED: a bare Debian takes root's rights"
    fi
}
part_mutations() # faults that the tests must catch: each is built and tried, for hours
{
    "$python" tests/mutate.py -e "$share"
}
part_tidy()
{
    build release
    LEAT_TIDY_MODE=deep play release '^lint.tidy$'
}
part_fuzz()
{
    # in a folder of its own: the time would stay in that of tests/run.sh
    cmake --preset fuzz -B build/soak -DLEAT_FUZZ_SECONDS="$(rounds 600)" >/dev/null
    cmake --build build/soak --target fuzzers -- --quiet
    play soak '^fuzz[.]'
}

for part in ${*:-service batch oracle corpus alloc bounds sanitizers fuzz tidy packages mutations}; do
    echo "== $part"
    "part_$part"
done
