#!/bin/sh
# What needs a GPU, from an unpacked bundle-tests folder on a machine where nothing can be built or installed:
# the kernel and stage tests on the device, every pipeline through files against NumPy, the service when
# its device fails; the tests under compute-sanitizer; the bench, with the seeds' own tables. Ends with a count; exit
# status 1 when something failed. The newest families come first.
#
# LEAT_TESSINA: the folder of the Tessina landslide. LEAT_ONLY: an extended regular expression; what it does not match
# by name is left out. LEAT_PART_S: seconds for each part (checks 360, sanitizer 1800, bench 540); what has not begun by
# then is left out, what has begun is cut, and said so.
#
# usage: sh tests/run_on_device.sh BUNDLE_FOLDER LOG_FOLDER [checks|sanitizer|bench]...
set -u
bundle=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && logs=$(cd "$2" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
shift 2
[ $# -gt 0 ] || set -- checks sanitizer bench
export LEAT_TEST_BACKEND=cuda LEAT="$bundle/bin/leat" LEAT_FAULTY="$bundle/bin/leat_faulty"
PYTHON=$(command -v python3)
export PYTHON
only=${LEAT_ONLY:-.}
passed=0 failed=0 skipped=0 left_out=0

# begin DEFAULT_S: the part has so many seconds from now on.
begin() {
    end=$(($(date +%s) + ${LEAT_PART_S:-$1}))
}

# try NAME TIMEOUT_S COMMAND...
try() {
    name=$1 limit=$2
    shift 2
    echo "$name" | grep -Eq "$only" || return 0
    now=$(date +%s) left=$((end - $(date +%s)))
    if [ $left -le 0 ]; then
        left_out=$((left_out + 1))
        echo "LEFT OUT (no time): $name"
        return 0
    fi
    cut=no
    [ "$limit" -le $left ] || limit=$left cut=yes
    timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1)) said=passed
    elif [ $status -eq 77 ]; then
        skipped=$((skipped + 1)) said=SKIPPED
    elif [ $cut = yes ] && { [ $status -eq 124 ] || [ $status -eq 137 ]; }; then
        left_out=$((left_out + 1)) said="CUT (no time)"
    else
        failed=$((failed + 1)) said="FAILED ($status)"
        grep -E 'ERROR|Error|FAILED|error' "$logs/$name.log" | head -5
    fi
    echo "$said: $name ($(($(date +%s) - now)) s)"
}

# try, and what it printed; one that fails leaves the others alone.
show() {
    rm -f "$logs/$1.log"
    try "$@"
    [ ! -f "$logs/$1.log" ] || cat "$logs/$1.log"
}

# The tests that read LEAT_TEST_BACKEND, the newest families first.
on_device=$(cd "$here" && grep -lE 'LEAT_TEST_BACKEND|UNDER_TEST_RUN' */test_*.c | sed 's|.*/||; s/\.c$//')
newest='bands|sciddicat'
on_device="$(echo "$on_device" | grep -E "$newest") $(echo "$on_device" | grep -Ev "$newest")"

for part in "$@"; do
    case $part in
    checks)
        begin 360
        try doctor 60 "$LEAT" doctor -b cuda
        for t in $on_device; do
            [ -x "$bundle/bin/$t" ] && try "$t" 240 "$bundle/bin/$t"
        done
        for scenario in calibrate restart kmeans kmeans_oracle interpolate interpolate_oracle oracle outliers landslide \
            landslide_tessina service_device c_library_device; do
            script="$here/scenarios/$scenario"
            if [ -e "$script.sh" ]; then
                try $scenario 240 sh "$script.sh"
            else
                try $scenario 240 "$PYTHON" "$script.py"
            fi
        done
        # the way of devices before compute capability 9.0
        for t in test_pearson_bounds test_pearson_rows; do
            [ -x "$bundle/bin/$t" ] && LEAT_CUDA_WGMMA=0 try "$t.blas" 120 "$bundle/bin/$t"
        done
        LEAT_CUDA_CLUSTER=0 try test_sciddicat.grid 120 "$bundle/bin/test_sciddicat"
        try samples 60 "$PYTHON" "$here/golden/samples.py"
        ;;
    sanitizer)
        begin 1800
        for tool in memcheck racecheck; do
            # racecheck cannot run kernels in which blocks of a cluster store into each other's shared
            # memory, as the self-test's landslide does: it hangs, or fails with an internal error.
            [ $tool = racecheck ] && export LEAT_CUDA_CLUSTER=0
            for t in $on_device; do
                [ -x "$bundle/bin/$t" ] && LEAT_TEST_SMALL=1 try "$tool.$t" 300 compute-sanitizer \
                    --tool "$tool" --error-exitcode 9 --leak-check no "$bundle/bin/$t"
            done
        done
        unset LEAT_CUDA_CLUSTER
        ;;
    bench)
        begin 540
        show bench_kmeans 300 "$bundle/bin/leat-bench" --backend cuda 'kmeans*'
        show bench_interpolate 240 "$bundle/bin/leat-bench" --backend cuda 'interpolate*'
        show seed_kmeans_2 120 "$bundle/bin/seed_kmeans" 256 2 16 10
        show seed_kmeans_16 120 "$bundle/bin/seed_kmeans" 256 16 16 10
        show seed_lagrange 120 "$bundle/bin/seed_lagrange"
        show bench_others 400 "$bundle/bin/leat-bench" --backend cuda 'means*' 'pearson*' 'sciddicat*' 'program*'
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped, $left_out left out"
[ $failed -eq 0 ]
