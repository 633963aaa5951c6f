#!/bin/sh
# One landslide on several devices, played by the CPU (tests/support/fake_cuda.c): it begins on one, goes on on those that
# are idle when it is large, and the results are the same, bit by bit.
# ctest: long asan=no tsan=no
. "$(dirname "$0")/lib.sh"
. "$here/lib_devices.sh"
running=
trap '[ -z "$running" ] || kill -9 $running 2>/dev/null; rm -rf "$scratch"' EXIT
export LEAT_FAKE_LOG="$PWD/log" LEAT_FAKE_CELLS=1

# Debris in all of a rough valley: 98 rows of 63 cells in 8 pieces that a step visits, for three devices.
"$python" - <<'END'
import random
random.seed(7)
rows, columns = 100, 64
head = "ncols %d\nnrows %d\nxllcorner 0\nyllcorner 0\ncellsize 10\n" % (columns, rows)
with open("valley.dem.asc", "w") as dem, open("valley.source.asc", "w") as source:
    dem.write(head)
    source.write(head)
    for i in range(rows):
        print(*["%.2f" % (500 + abs(i - 60) * 2 + j % 97 * 0.1 + random.random()) for j in range(columns)], file=dem)
        print(*["%.2f" % (random.random() * 4 + 1) for j in range(columns)], file=source)
END
printf '[pipeline sciddicat]\nsteps = 7000\nsnapshot_every = 200\nreport_every = 700\n' >long.conf

# run DEVICES OPTION...: on which devices it has run.
run() {
    devices=$1
    shift
    rm -rf out log
    expect 0 "$LEAT" run -c long.conf -o out "$@" valley.dem.asc valley.source.asc
    found=$(sed -n 's/^run //p' log | sort | tr '\n' ' ')
    [ "$found" = "$devices" ] || { cat stderr; fail "$*: on $found, not on $devices"; }
    [ -d one ] || cp -r out/valley one
    rm out/valley/result.json
    diff -r -x result.json out/valley one || fail "$*: other bits"
}
run '0 ' -b cuda --spread off
run '0 1 2 ' -b cuda
LEAT_FAKE_BROKEN=1 run '0 2 ' -b cuda --spread 2
says 'device 1 is broken'
# One that cannot begin does not keep others from it.
LEAT_FAKE_LOST=2 run '0 1 2 ' -b cuda
says 'in 2 parts from step'
says 'do not help: the device is lost'
# Where one fails the job begins again, alone.
LEAT_FAKE_HALTED=2 run '0 0 1 2 ' -b cuda
# One that fails after it has done its part is left alone; the result stands.
LEAT_FAKE_FALLEN=2 run '0 1 2 ' -b cuda
says 'CUDA device 2 is not used any more: it failed while it helped'
expect 2 "$LEAT" run -b cuda --spread many valley.dem.asc valley.source.asc
says "'many' is not a number of devices; write auto, off, or 1 to 64"

# A signal when it has been shared out.
rm -rf out log
"$LEAT" run -b cuda -s steps=100000000 -s snapshot_every=50000 -o out valley.dem.asc valley.source.asc >stdout 2>stderr &
running=$!
wait_for "three devices have it" sh -c '[ "$(cat log 2>/dev/null | grep -c run)" -eq 3 ]'
kill -TERM $running
wait $running && fail "a signal is not a success"
running=
[ -z "$(ls -A out)" ] || fail "left behind: $(ls -A out)"
echo "spread"
