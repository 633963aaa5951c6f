#!/bin/sh
# Few addresses (ulimit -v) or little data (ulimit -d): a job ends, or the command says what it lacks; nothing hangs.
. "$(dirname "$0")/lib.sh"
[ "$patience" -eq 1 ] || skip "a sanitizer needs more addresses than that"
"$python" - >a.clusters.csv <<'P'
for i in range(20):
    print(",".join(f"{(i * 7919 + k * 104729) % 1009 / 7:.4f}" for k in range(200)))
P
under() {
    (ulimit "$1" "$2" && shift 2 && exec timeout -s KILL $wait_s "$@") >stdout 2>stderr </dev/null
    got=$?
}
for limit in -v -d; do
    done=0 refused=0
    for kib in 200000 300000 400000 500000 600000 800000 1200000; do
        under $limit $kib "$LEAT" run -b cpu --threads 2 --memory 100M --force a.clusters.csv
        case $got in
        0) done=$((done + 1)) ;;
        137) fail "it hangs with ulimit $limit $kib" ;;
        *)
            grep -Eq "ulimit $limit|memory" stderr ||
                { cat stderr >&2; fail "ulimit $limit $kib: exit status $got without a word"; }
            refused=$((refused + 1))
            ;;
        esac
    done
    [ $done -gt 0 ] && [ $refused -gt 0 ] || fail "ulimit $limit: $done done, $refused refused"
done

# What the command says then is what helps.
under -d 300000 "$LEAT" run -b cpu --threads 2 --memory 100M --force a.clusters.csv
[ $got -eq 2 ] || fail "exit status $got of two threads with ulimit -d 300000"
says "OpenBLAS takes 160 MiB for each; raise it, or use --threads 1$"
under -d 300000 "$LEAT" run -b cpu --threads 1 --memory 100M --force a.clusters.csv
[ $got -eq 0 ] || fail "exit status $got of one thread"
under -d 150000 "$LEAT" run -b cpu --threads 1 --memory 100M --force a.clusters.csv
says "OpenBLAS takes 160 MiB for each; raise it$"

# The service is not ready, and says why.
(ulimit -v 300000 && exec "$LEAT" watch --spool spool -b cpu --threads 2 --reserve 0 2>log) &
service=$!
trap 'kill $service; wait $service; rm -rf "$scratch"' EXIT
says_why() {
    "$LEAT" status --spool spool >stdout 2>/dev/null
    [ $? -eq 1 ] && grep -q "not ready" stdout && grep -Eq "ulimit -v|no memory" stdout
}
wait_for "the service says what it lacks" says_why
echo "few addresses, and little data: done or refused, none hangs"
