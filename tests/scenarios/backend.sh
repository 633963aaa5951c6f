#!/bin/sh
# One binary: without a driver `auto` uses the CPU, and says why in one line where a job is large and the machine has a
# device (else with -v); `cuda` fails with the reason. What takes long to load is loaded only when it is needed.
# ctest: asan=soak tsan=soak
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

# Nor can those for products and for lines: only who needs them is told.
! ldd "$LEAT" | grep -E 'libopenblas|libcairo|libmicrohttpd' || fail "a start loads what it does not need"
printf '0,1\n1,2\n2,5\n' >n.nodes.csv
printf '0.5\n' >n.query.csv
for module in blas cairo; do
    echo "not a library" >module/leat_$module.so
done
expect 1 env LEAT_MODULE_DIR="$PWD/module" "$LEAT" run -b cpu -o alone -s figure=none t.clusters.csv n.nodes.csv n.query.csv
says 't\.clusters\.csv: cannot load the BLAS module: .*module/leat_blas\.so: [a-z]'
[ -e alone/n/result.json ] || fail "a job without products needs BLAS"
expect 1 env LEAT_MODULE_DIR="$PWD/module" "$LEAT" run -b cpu -o lines n.nodes.csv n.query.csv
says 'cannot load the cairo module: .*module/leat_cairo\.so: [a-z]'
expect 2 env LEAT_MODULE_DIR="$PWD/module" "$LEAT" doctor -b cpu
grep -q 'cairo *cannot load' stdout || fail "doctor does not say that cairo cannot be loaded"
# A module of another leat: it lacks what is called.
ln -sf "$library" module/leat_blas.so
expect 1 env LEAT_MODULE_DIR="$PWD/module" "$LEAT" run -b cpu -o alone t.clusters.csv
says 'leat_blas\.so is not a module of this leat: no symbol cblas_dgemm'
# The service is not ready, so that no job fails for it.
env LEAT_MODULE_DIR="$PWD/module" "$LEAT" watch --spool spool -b cpu --reserve 0 2>log &
service=$!
trap 'kill $service; wait $service; rm -rf "$scratch"' EXIT
says_why() {
    "$LEAT" status --spool spool >stdout 2>/dev/null
    [ $? -eq 1 ] && grep -q "cannot load the cairo module" stdout
}
wait_for "the service says what it lacks" says_why
trap 'rm -rf "$scratch"' EXIT
kill $service && wait $service || fail "the service ends with $?"
rm module/leat_blas.so module/leat_cairo.so

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
