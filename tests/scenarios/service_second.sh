#!/bin/sh
# Two services of one user: each is asked by its spool, whoever started it, and neither hides the other.
. "$(dirname "$0")/lib.sh"
export LEAT
unset NOTIFY_SOCKET
begin() {
    "$LEAT" watch --spool "$1" -b cpu --reserve 0 2>"$1.log" &
    eval "$1=\$!"
    wait_for "$1 is ready" "$LEAT" status --spool "$1" >/dev/null 2>&1
}
trap 'status=$?; [ $status -eq 0 ] || cat ./*.log >&2; kill ${one:-} ${two:-} 2>/dev/null; wait; rm -rf "$scratch"' EXIT
begin one
begin two
for name in one two; do
    expect 0 "$LEAT" status --spool $name
    grep -q "^  folder *$scratch/$name (" stdout || { cat stdout; fail "the status of $name"; }
    expect 0 "$LEAT" flush --spool $name
done
printf '1,2\n3,x\n' >two/in/bad.clusters.csv
failed_in() { "$LEAT" status --spool "$1" --json | grep -q '"n_failed": *1,'; }
wait_for "the failure of two" failed_in two
! failed_in one || fail "it is told of one"
# A third one for the same folder does not begin, and does not touch the status.
expect 2 "$LEAT" watch --spool one -b cpu --reserve 0
says 'already watched'
expect 0 "$LEAT" status --spool one
kill -9 "$two"
wait "$two"
expect 2 "$LEAT" status --spool two
says "no service watches 'two'; start one"
begin two
wait_for "the failure of two, after a restart" failed_in two
for pid in $one $two; do
    kill "$pid"
    wait "$pid" || fail "exit status $? after SIGTERM"
done
! grep -E 'Sanitizer|runtime error' ./*.log || fail "a sanitizer has found something"
echo "two services of one user, each with its own status"
