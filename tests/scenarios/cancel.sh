#!/bin/sh
# A run that is stopped, or passes its deadline, leaves no part of a result.
. "$(dirname "$0")/lib.sh"
"$LEAT" generate clusters --series 3000 --samples 6000 -o big.clusters.npy -q || fail "generate"
"$LEAT" run -q -b cpu --threads 1 -o out big.clusters.npy 2>stderr &
pid=$!
sleep 0.4
kill -INT $pid
wait $pid
status=$?
[ $status -eq 1 ] || fail "exit status $status after SIGINT"
says 'stopped'
[ -z "$(ls -A out)" ] || fail "SIGINT left $(ls -A out)"
expect 1 "$LEAT" run -q -b cpu --threads 1 --deadline 0.3 -o out big.clusters.npy
says 'deadline'
[ -z "$(ls -A out)" ] || fail "the deadline left $(ls -A out)"
echo "nothing left behind"
