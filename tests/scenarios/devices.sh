#!/bin/sh
# Several devices, played by the CPU (tests/support/fake_cuda.c): they open when there is work for them, jobs are spread
# over them, and with `auto` a job's shape alone decides.
# ctest: long
. "$(dirname "$0")/lib.sh"
. "$here/lib_devices.sh"
mkdir big
running=
trap '[ -z "$running" ] || kill -9 $running 2>/dev/null; rm -rf "$scratch"' EXIT
export LEAT_FAKE_LOG="$PWD/log"
printf 'a,b\n1,2\n3,5\n4,4\n' >small.clusters.csv
for i in 1 2 3 4 5 6 7 8; do
    "$LEAT" generate dem --rows 100 --columns 25 --seed $i -o big/b$i >/dev/null 2>&1 || fail "no terrain"
done
# Large by its shape; in fact it is at rest soon.
printf '[pipeline sciddicat]\nsteps = 100000000\nsettle = 50\np_epsilon = 0.3\nfigure = none\n' >large.conf
large='-c large.conf'

# done_on JOB: the device, or the backend, that result.json names.
done_on() {
    awk -F '"' '$2 == "name" { name = $4 } $2 == "device" { print name == "cuda" ? $4 : name; exit }' "out/$1/result.json"
}
opened() {
    sort -u log | sed -n 's/open //p' | tr '\n' ' '
}
run() {
    rm -rf out log
    expect "$@"
}

# A small job opens nothing, not even the module; a large one the first device.
run 0 "$LEAT" run -o out small.clusters.csv
[ "$(done_on small)" = cpu ] && [ ! -e log ] || fail "a small job was done on $(done_on small)"
run 0 "$LEAT" run -v -o out $large big/b1.dem.tif big/b1.source.tif small.clusters.csv
[ "$(done_on b1)" = "fake 0" ] && [ "$(done_on small)" = cpu ] && [ "$(opened)" = "0 " ] ||
    fail "a large job on $(done_on b1), a small one on $(done_on small), open: $(opened)"
says 'on cpu and cuda'
cp -r out/b1 one
# A device has a queue for each job that may be in flight: six beyond one a thread, and one in the place for short ones.
# Its self-test has one more.
for options in "12 --threads 4" "4 --threads 4 --jobs 3"; do
    CUDA_VISIBLE_DEVICES=0 run 0 "$LEAT" run -b cuda ${options#* } -o out small.clusters.csv
    [ "$(grep -c '^queue 0$' log)" = "${options%% *}" ] || fail "queues of a device with ${options#* }: $(grep -c '^queue 0$' log)"
done
run 0 "$LEAT" run -b cpu -o out $large big/b1.dem.tif big/b1.source.tif
[ "$(done_on b1)" = cpu ] && [ ! -e log ] || fail "--backend cpu has opened a device"
cmp out/b1/thickness.tif one/thickness.tif || fail "other bits"
run 0 "$LEAT" run -b cuda -o out small.clusters.csv
[ "$(done_on small)" = "fake 0" ] || fail "--backend cuda was done on $(done_on small)"

n_at_once=8
all_run() {
    kill -0 $running || fail "it ended before all jobs ran: $(cat stderr)"
    [ "$(cat log 2>/dev/null | grep -c run)" -eq $n_at_once ]
}

# spread DEVICES STATUS OPTION...: eight large jobs, none of which goes on before $n_at_once have a device.
spread() {
    wanted=$1
    shift
    rm -rf out log gate
    LEAT_FAKE_GATE="$PWD/gate" "$LEAT" run -j 8 -o out $large "$@" big >stdout 2>stderr &
    running=$!
    wait_for "all jobs have a device" all_run
    touch gate
    wait $running || { cat stderr; fail "exit status $?: $*"; }
    found=$(for i in 1 2 3 4 5 6 7 8; do done_on b$i; done | sort | uniq -c | sed 's/^ *//' | tr '\n' ',')
    case $found in $wanted) ;; *) cat stderr && fail "$* were spread so: $found" ;; esac
    cmp out/b1/thickness.tif one/thickness.tif || fail "other bits on $(done_on b1)"
}
spread '2 fake 0,2 fake 1,2 fake 2,2 fake 3,'
says '8 jobs done'
spread '4 fake 0,4 fake 1,' --devices 2
[ "$(opened)" = "0 1 " ] || fail "opened: $(opened)"
spread '4 fake 1,4 fake 3,' --devices 3,1
[ "$(opened)" = "1 3 " ] || fail "opened: $(opened)"
spread '2 fake 0,2 fake 1,2 fake 2,2 fake 3,' -b cuda --devices all

rm -rf out log
LEAT_FAKE_GATE="$PWD/gate2" "$LEAT" run -o out $large big/b1.*.tif big/b2.*.tif >stdout 2>stderr &
running=$!
wait_for "both jobs have a device" sh -c '[ "$(cat log 2>/dev/null | grep -c run)" -eq 2 ]'
touch gate2
wait $running || fail "exit status $?: two jobs"
[ "$(done_on b1) $(done_on b2)" = "fake 0 fake 1" ] || [ "$(done_on b1) $(done_on b2)" = "fake 1 fake 0" ] ||
    fail "two jobs on $(done_on b1) and $(done_on b2)"
[ "$(opened)" = "0 1 " ] || fail "opened: $(opened)"
run 0 "$LEAT" run --devices 2, -o out $large big/b1.dem.tif big/b1.source.tif
[ "$(done_on b1)" = "fake 2" ] && [ "$(opened)" = "2 " ] || fail "done on $(done_on b1), open: $(opened)"

# Blocks are page-locked once, by a device that opens, whichever; and need not be.
[ "$(grep -c pin log)" -gt 1 ] && [ "$(grep pin log | sort -u)" = "pin 2" ] || fail "$(grep -c pin log) blocks"
export LEAT_FAKE_BROKEN=0
run 0 "$LEAT" run --devices 0,3 -o out $large big/b1.dem.tif big/b1.source.tif
unset LEAT_FAKE_BROKEN
[ "$(grep pin log | sort -u)" = "pin 3" ] || fail "page-locked by $(grep pin log | sort -u)"
export LEAT_FAKE_NO_PIN=1
run 0 "$LEAT" run -o out $large big/b1.dem.tif big/b1.source.tif
unset LEAT_FAKE_NO_PIN
[ "$(done_on b1)" = "fake 0" ] || fail "done on $(done_on b1)"
says 'copies to devices are slow: no pins'

# One that fails gets no more jobs, and its jobs begin again elsewhere; the last one stays.
export LEAT_FAKE_LOST=1
spread '? fake 0,? fake 2,? fake 3,'
[ "$(grep -c 'CUDA device 1 is not used any more: the device is lost' stderr)" -eq 1 ] || { cat stderr; fail "not told once"; }
export LEAT_FAKE_LOST=0,1
run 1 "$LEAT" run --devices 2 -o out $large big/b1.dem.tif big/b1.source.tif small.clusters.csv
says 'b1.dem.tif: the device is lost'
unset LEAT_FAKE_LOST

# One that has no memory for a job does not get it.
export LEAT_FAKE_SMALL=0,2
n_at_once=4
spread '? fake 1,? fake 3,'
export LEAT_FAKE_SMALL=0,1,2,3
run 1 "$LEAT" run -o out $large big/b1.dem.tif big/b1.source.tif small.clusters.csv
says 'needs .* bytes of device memory, 90 are there'
unset LEAT_FAKE_SMALL
n_at_once=8

# Devices that cannot be used.
export LEAT_FAKE_BROKEN=1
run 0 "$LEAT" run -b cuda --devices 1,2 -o out small.clusters.csv
[ "$(done_on small)" = "fake 2" ] || fail "done on $(done_on small)"
says 'CUDA device 1 is not used: .*device 1 is broken'
run 2 "$LEAT" run -b cuda --devices 1, -o out small.clusters.csv
says 'device 1 is broken'
run 0 "$LEAT" run --devices 1, -o out $large big/b1.dem.tif big/b1.source.tif
[ "$(done_on b1)" = cpu ] || fail "done on $(done_on b1)"
says 'CUDA device 1 is not used: .*device 1 is broken'
cmp out/b1/thickness.tif one/thickness.tif || fail "other bits"
export LEAT_FAKE_BROKEN=0,1,2,3
run 0 "$LEAT" run -j 8 -o out $large big
for i in 1 2 3 4 5 6 7 8; do
    [ "$(done_on b$i)" = cpu ] || fail "b$i done on $(done_on b$i)"
done
unset LEAT_FAKE_BROKEN
run 2 "$LEAT" run -b cuda --devices 5 -o out small.clusters.csv
says 'devices: 5 are asked for, 4 are here'
run 2 "$LEAT" run -b cuda --devices 0,4 -o out small.clusters.csv
says 'there is no CUDA device 4; they are 0 to 3'
run 0 "$LEAT" run --devices 5 -o out $large big/b1.dem.tif big/b1.source.tif
says 'on the CPU: devices: 5 are asked for, 4 are here'

# A signal while all jobs stand at a device.
rm -rf out log gate
LEAT_FAKE_GATE="$PWD/gate" "$LEAT" run -j 8 -o out $large big >stdout 2>stderr &
running=$!
wait_for "all jobs have a device" all_run
kill -TERM $running
wait $running && fail "a signal is not a success"
[ -z "$(ls -A out)" ] || fail "left behind: $(ls -A out)"

# doctor looks at each of them.
export LEAT_FAKE_BROKEN=1
run 0 "$LEAT" doctor
for line in 'cuda:0 *works: fake 0' 'cuda:1 *does not work: device 1 is broken' 'cuda:2 *works: fake 2' 'cuda:3 *works: fake 3'; do
    grep -q "^  $line\$" stdout || { cat stdout; fail "doctor has no line: $line"; }
done
run 0 "$LEAT" doctor --json --devices 3,1
mv stdout doctor.json
"$python" -c 'import json
d = json.load(open("doctor.json"))
assert [(x["number"], x["works"]) for x in d["devices"]] == [(3, True), (1, False)], d
assert d["backends"]["cuda"]["device"] == "fake 3" and d["works"], d' || fail "doctor --json"
run 2 "$LEAT" doctor -b cuda --devices 1,
echo "spread over devices"
