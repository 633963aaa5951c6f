#!/bin/sh
# One correlation on several devices, played by the CPU (tests/support/fake_cuda.c): it begins on one; once others are
# open they take panels of the matrix, and the results are the same, byte by byte.
# ctest: long asan=soak tsan=soak
. "$(dirname "$0")/lib.sh"
. "$here/lib_devices.sh"
export LEAT_FAKE_LOG="$PWD/log"

# Eight panels, 3.5 s of a device; gaps, which are filled at home; and two panels of 0.2 s.
"$LEAT" generate clusters --series 512 --samples 8000 -q -o whole.clusters.npy &&
    "$LEAT" generate clusters --series 512 --samples 8000 --gaps 0.00001 --type f32 -q -o gaps.clusters.npy &&
    "$LEAT" generate clusters --series 128 --samples 8200 -q -o small.clusters.npy || fail "generate"

# run NAME DEVICES OPTION...: which devices have taken panels of it.
# Blocks are so small that it is asked eight times or so whether others are of use.
run() {
    name=$1
    devices=$2
    shift 2
    rm -rf out log
    expect 0 "$LEAT" run -b cuda --memory 128M -o out "$@" "$name.clusters.npy"
    found=$(sed -n 's/^gram //p' log | sort -u | tr '\n' ' ')
    [ "$found" = "$devices" ] || { cat stderr; fail "$name $*: on $found, not on $devices"; }
    [ -d "$name" ] || cp -r "out/$name" "$name"
    rm "out/$name/result.json"
    diff -r -x result.json "out/$name" "$name" || fail "$name $*: other bytes"
}
run whole '0 ' --devices 1
run whole '0 1 2 ' --devices 3
says 'whole.clusters.npy: on 3 devices from series [0-9]+ on'
run whole '0 1 2 3 '
run whole '0 ' --spread off
# As many as may, of those that can be opened.
LEAT_FAKE_BROKEN=1 run whole '0 2 ' --spread 2
says 'device 1 is broken'
# Where one fails the job begins again, alone.
LEAT_FAKE_HALTED=2 run whole '0 1 2 ' --devices 3
[ "$(grep -c '^gram 0' log)" -gt 8 ] || fail "it has not begun again: $(cat log)"
# One that fails after it has done its part is waited for: the job begins again, alone.
LEAT_FAKE_FALLEN=2 run whole '0 1 2 ' --devices 3
# One without memory is left alone.
LEAT_FAKE_SMALL=1 run whole '0 2 3 '
run gaps '0 ' --devices 1 -s precision=f32
run gaps '0 1 2 ' --devices 3 -s precision=f32
# A small one opens nothing more.
run small '0 '
grep -q 'open [1-3]' log && fail "opened for a small job: $(cat log)"
echo "spread_pearson"
