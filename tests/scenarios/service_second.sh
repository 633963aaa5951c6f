#!/bin/sh
# Two services of one user with the same place for the status socket: what the second and `leat status` say.
. "$(dirname "$0")/lib.sh"
export LEAT RUNTIME_DIRECTORY="$scratch/leat" XDG_RUNTIME_DIR="$scratch"
unset NOTIFY_SOCKET
begin() {
    "$LEAT" watch --spool "$1" -b cpu --reserve 0 2>"$1.log" &
    eval "$1=\$!"
    wait_for "$1 is ready" grep -q "ready: results go to" "$1.log"
}
trap 'status=$?; [ $status -eq 0 ] || cat ./*.log >&2; kill ${one:-} ${two:-} 2>/dev/null; wait; rm -rf "$scratch"' EXIT
begin one
begin two
grep -q "status socket unavailable: '$scratch/leat/status.sock'.*--status-socket" two.log ||
    { cat two.log >&2; fail "the second does not say that it has no status"; }
expect 0 "$LEAT" status --spool one
grep -q "asked at *$scratch/leat/status.sock" stdout || { cat stdout; fail "which socket was asked"; }
expect 0 "$LEAT" status --spool one --json
grep -q "\"socket\": *\"$scratch/leat/status.sock\"" stdout || { cat stdout; fail "which socket was asked"; }
expect 2 "$LEAT" status --spool two
says "no service answers at .*'$scratch/leat/status.sock' \(where that of '.*one' does\)"
for pid in $one $two; do
    kill "$pid"
    wait "$pid" || fail "exit status $? after SIGTERM"
done
! grep -E 'Sanitizer|runtime error' ./*.log || fail "a sanitizer has found something"
echo "a second service without a socket of its own says so"
