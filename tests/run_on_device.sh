#!/bin/sh
# What needs a GPU, from an unpacked bundle-tests folder on a machine where nothing can be built or installed:
# the kernel and stage tests on the device, every pipeline through files against NumPy, the service when
# its device fails; the tests under compute-sanitizer; the bench. Ends with a count; exit status 1 when something
# failed. LEAT_TESSINA: the folder of the Tessina landslide.
#
# usage: sh tests/run_on_device.sh BUNDLE_FOLDER LOG_FOLDER [checks|sanitizer|bench]...
set -u
bundle=$(cd "$1" && pwd)
mkdir -p "$2"
logs=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- checks sanitizer bench
export LEAT_TEST_BACKEND=cuda LEAT="$bundle/bin/leat" LEAT_FAULTY="$bundle/bin/leat_faulty"
PYTHON=$(command -v python3)
export PYTHON
passed=0 failed=0 skipped=0

# try NAME TIMEOUT_S COMMAND...
try() {
    name=$1 limit=$2
    shift 2
    timeout "$limit" "$@" >"$logs/$name.log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1)) said=passed
    elif [ $status -eq 77 ]; then
        skipped=$((skipped + 1)) said=SKIPPED
    else
        failed=$((failed + 1)) said="FAILED ($status)"
        grep -E 'ERROR|Error|FAILED|error' "$logs/$name.log" | head -5
    fi
    echo "$said: $name"
}

# The tests that read LEAT_TEST_BACKEND.
on_device=$(cd "$here" && grep -l LEAT_TEST_BACKEND */test_*.c | sed 's|.*/||; s/\.c$//')

for part in "$@"; do
    case $part in
    checks)
        try doctor 60 "$LEAT" doctor -b cuda
        for t in $on_device; do
            [ -x "$bundle/bin/$t" ] && try "$t" 240 "$bundle/bin/$t"
        done
        # the way of devices before compute capability 9.0
        for t in test_pearson_bounds test_pearson_rows; do
            [ -x "$bundle/bin/$t" ] && LEAT_CUDA_WGMMA=0 try "$t.blas" 240 "$bundle/bin/$t"
        done
        for scenario in oracle outliers landslide landslide_tessina service_device kmeans kmeans_oracle interpolate \
            interpolate_oracle; do
            try $scenario 400 sh "$here/scenarios/$scenario.sh"
        done
        try samples 60 sh "$here/golden/samples.sh"
        ;;
    sanitizer)
        for tool in memcheck racecheck; do
            for t in $on_device; do
                # racecheck cannot run kernels in which blocks of a cluster store into each other's
                # shared memory: it hangs, or fails with an internal error.
                [ "$tool.$t" = racecheck.test_sciddicat ] && continue
                [ -x "$bundle/bin/$t" ] && LEAT_TEST_SMALL=1 try "$tool.$t" 300 compute-sanitizer \
                    --tool "$tool" --error-exitcode 9 --leak-check no "$bundle/bin/$t"
            done
        done
        ;;
    bench)
        try bench 500 "$bundle/bin/leat-bench" --backend cuda
        cat "$logs/bench.log"
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
