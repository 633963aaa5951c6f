#!/bin/sh
# A run that is stopped, or passes its deadline, leaves no part of a result.
# ctest: long asan=soak tsan=soak
. "$(dirname "$0")/lib.sh"
# On one thread it takes seconds to compute after the file has been read, and seconds to compress the matrix.
n=4000
[ "$patience" -gt 1 ] && n=3000
"$LEAT" generate clusters --series $n --samples $n --type f32 -o big.clusters.npy -q || fail "generate"
half=$(($(stat -c %s big.clusters.npy) / 2))

has_read() {
    [ "$(sed -n 's/^rchar: //p' /proc/$pid/io 2>/dev/null || echo 0)" -gt $half ]
}
is_writing() {
    ls out/.leat.*.part/pearson.npz >/dev/null 2>&1
}

is_there() {
    kill -0 $pid 2>/dev/null || fail "$1: it ended before"
    $1
}

for moment in has_read is_writing; do
    for signal in INT TERM; do
        "$LEAT" run -q -b cpu --threads 1 --level 9 -o out big.clusters.npy 2>stderr &
        pid=$!
        wait_for "$moment" is_there $moment
        kill -$signal $pid
        wait $pid
        status=$?
        [ $status -eq $([ $signal = INT ] && echo 130 || echo 143) ] || fail "$moment: exit status $status after SIG$signal"
        says 'big.*stopped by a signal'
        [ ! -e out ] || fail "$moment: SIG$signal left out/ with '$(ls -A out)'"
    done
done
expect 1 "$LEAT" run -q -b cpu --threads 1 --deadline 0.1 -o out big.clusters.npy
says 'deadline'
[ ! -e out ] || fail "the deadline left out/ with '$(ls -A out)'"
echo "nothing left behind"
