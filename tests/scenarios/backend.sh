#!/bin/sh
# One binary: without a driver `auto` uses the CPU and says why in one line, `cuda` fails with the reason.
. "$(dirname "$0")/lib.sh"
printf 'a,b\n1,2\n3,5\n4,4\n' >t.clusters.csv

if "$LEAT" doctor --json -b cuda >doctor.json 2>/dev/null; then
    expect 0 "$LEAT" run -b cuda -o out t.clusters.csv
    grep -q '"name": "cuda"' out/t/result.json || fail "not computed on the device"
    echo "there is a device here: computed on it"
    exit 0
fi
expect 0 "$LEAT" run -o out t.clusters.csv
[ "$(grep -c 'CPU' stderr)" -eq 1 ] || { cat stderr; fail "no single line that says why the CPU is used"; }
grep -q '"name": "cpu"' out/t/result.json || fail "not computed on the CPU"
expect 2 "$LEAT" run -b cuda -o none t.clusters.csv
says 'cuda|CUDA'
[ ! -e none ] || fail "an output folder was made in vain"
expect 2 "$LEAT" run -b gpu -o none t.clusters.csv
echo "falls back for auto, refuses for cuda"
