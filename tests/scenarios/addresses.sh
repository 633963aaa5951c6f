#!/bin/sh
# Few addresses (ulimit -v): a job ends, or the command says what it lacks; nothing hangs.
. "$(dirname "$0")/lib.sh"
[ "$patience" -eq 1 ] || skip "a sanitizer needs more addresses than that"
"$python" - >a.clusters.csv <<'P'
for i in range(20):
    print(",".join(f"{(i * 7919 + k * 104729) % 1009 / 7:.4f}" for k in range(200)))
P
under() {
    (ulimit -v "$1" && shift && exec timeout 60 "$@") >stdout 2>stderr </dev/null
    got=$?
}
done=0 refused=0
for kib in 200000 300000 400000 500000 600000 800000 1200000; do
    under $kib "$LEAT" run -b cpu --threads 2 --force a.clusters.csv
    case $got in
    0) done=$((done + 1)) ;;
    124) fail "it hangs with $kib KiB" ;;
    *)
        grep -Eq "ulimit -v|memory" stderr || { cat stderr >&2; fail "$kib KiB: exit status $got without a word"; }
        refused=$((refused + 1))
        ;;
    esac
done
[ $done -gt 0 ] && [ $refused -gt 0 ] || fail "$done done, $refused refused"

# The service is not ready, and says why.
(ulimit -v 300000 && exec "$LEAT" watch --spool spool --status-socket socket -b cpu --threads 2 --reserve 0 2>log) &
service=$!
trap 'kill $service; wait $service; rm -rf "$scratch"' EXIT
says_why() {
    "$LEAT" status --status-socket "$scratch/socket" >stdout 2>/dev/null
    [ $? -eq 1 ] && grep -q "not ready" stdout && grep -Eq "ulimit -v|no memory" stdout
}
wait_for "the service says what it lacks" says_why
echo "$done done and $refused refused with few addresses, none hangs"
