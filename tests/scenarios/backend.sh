#!/bin/sh
# One binary: without a driver `auto` uses the CPU, and says why in one line where a job is large and the machine has a
# device (else with -v); `cuda` fails with the reason.
. "$(dirname "$0")/lib.sh"
printf 'a,b\n1,2\n3,5\n4,4\n' >t.clusters.csv

# A module that cannot be loaded: the loader's words. Any library of the program's stands in for the driver.
mkdir module driver
echo "not a library" >module/leat_cuda.so
library=$(ldd "$LEAT" | awk '/libz\.so/ { print $3 }')
[ -n "$library" ] || fail "no library to stand in for the driver"
ln -s "$library" driver/libcuda.so.1
expect 2 env LEAT_MODULE_DIR="$PWD/module" LD_LIBRARY_PATH="$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$LEAT" run -b cuda -o none t.clusters.csv
says 'cannot load the CUDA module: .*module/leat_cuda\.so: [a-z]'

if "$LEAT" doctor --json -b cuda >doctor.json 2>/dev/null; then
    expect 0 "$LEAT" run -b cuda -o out t.clusters.csv
    grep -q '"name": "cuda"' out/t/result.json || fail "not computed on the device"
    echo "there is a device here: computed on it"
    exit 0
fi
# A small job asks for no device; a large one says why it has none.
expect 0 "$LEAT" run -o out t.clusters.csv
! grep -q CUDA stderr || { cat stderr; fail "a small job has looked for a device"; }
"$LEAT" generate dem --rows 100 --columns 100 -o large >/dev/null 2>&1 || fail "no terrain"
lines=0
for trace in /proc/driver/nvidia /dev/nvidiactl /dev/dxg; do
    [ ! -e $trace ] || lines=1
done
expect 0 "$LEAT" run -o out -s steps=1000000 -s settle=500 large.dem.tif large.source.tif
[ "$(grep -c 'on the CPU: ' stderr)" -eq $lines ] || { cat stderr; fail "not $lines lines that say why the CPU is used"; }
expect 0 "$LEAT" run -v --force -o out -s steps=1000000 -s settle=500 large.dem.tif large.source.tif
[ "$(grep -c 'on the CPU: ' stderr)" -eq 1 ] || { cat stderr; fail "no single line that says why the CPU is used"; }
for job in t large; do
    grep -q '"name": "cpu"' out/$job/result.json || fail "$job was not computed on the CPU"
done
expect 2 "$LEAT" run -b cuda -o none t.clusters.csv
says 'cuda|CUDA'
# Without a driver the module is not even opened.
if ! "$python" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; then
    expect 2 env LEAT_MODULE_DIR="$PWD/module" "$LEAT" run -b cuda -o none t.clusters.csv
    says 'no CUDA driver for leat_cuda\.so: libcuda\.so\.1: '
fi
[ ! -e none ] || fail "an output folder was made in vain"
expect 2 "$LEAT" run -b gpu -o none t.clusters.csv
echo "falls back for auto, refuses for cuda"
