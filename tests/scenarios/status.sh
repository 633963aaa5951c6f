#!/bin/sh
# leat status: the page and the document of a service (here a file that somebody has locked), its exit status, and what is
# said when none runs.
. "$(dirname "$0")/lib.sh"
served=
trap '[ -z "$served" ] || kill $served; rm -rf "$scratch"' EXIT

# serve READY WRITTEN: a document of spool, written that many seconds ago, with the lock held, until killed.
serve() {
    "$python" - "$scratch" "$1" "$2" <<'P' &
import fcntl, json, os, signal, struct, sys, time
here, ready, written = sys.argv[1:]
document = {"schema": 1, "leat": "0", "pid": 5, "spool": here + "/spool", "output": here + "/spool/out",
            "since": "2026-11-21T00:00:00Z", "uptime_s": 61, "state": "running", "ready": ready == "yes",
            "why": "" if ready == "yes" else "the device does not work", "watching": "inotify", "n_waiting": 1,
            "waiting": [{"path": "x\x1b[2J.csv", "reason": "still written", "since_s": 7}], "n_queued": 0,
            "in_flight": [{"id": "a", "name": "in/a.dem.tif", "pipeline": "sciddicat", "worker": "cpu", "attempt": 1,
                           "bytes": 9, "total_bytes": 9, "steps": 100, "total_steps": 400, "for_s": 60}],
            "done": [], "failed": [], "totals": {"done": 1, "failed": 0, "requeued": 0, "input_bytes": 5}, "rates": {},
            "workers": [{"name": "cpu", "state": "backing off", "again_in_s": 5}], "written": time.time() - float(written)}
os.makedirs(here + "/spool/status", exist_ok=True)
lock = open(here + "/spool/status/lock", "w")
fcntl.fcntl(lock, 37, struct.pack("hh4xqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
with open(here + "/spool/status/new", "w") as f:
    json.dump(document, f)
os.rename(here + "/spool/status/new", here + "/spool/status/status.json")
open(here + "/serves", "w").close()
signal.pause()
P
    served=$!
    wait_for "something serves" test -e serves
    rm serves
}
unserve() {
    kill $served
    wait $served 2>/dev/null
    served=
}

mkdir spool spool/in spool/failed
expect 2 "$LEAT" status --spool spool
says "no service watches 'spool'; start one with .*leat watch --spool DIR.*--spool"
expect 2 "$LEAT" status nonsense
says 'nonsense'
[ -e /var/lib/leat/status ] || { expect 2 "$LEAT" status && says "no service watches '/var/lib/leat'"; }

serve yes 0
expect 0 "$LEAT" status --spool spool
[ ! -s stderr ] || fail "it speaks on standard error"
grep -Eq '^leat 0, pid 5: running, ready, up for 1 min 0[1-9] s$' stdout || { cat stdout; fail "no such state"; }
grep -q 'x\\x1b\[2J.csv: still written' stdout || { cat stdout; fail "no waiting file, or not escaped"; }
grep -q 'in/a.dem.tif (sciddicat on cpu), step 100 of 400, 25 %, 3 min .0 s left, 1 min 0. s$' stdout ||
    { cat stdout; fail "no steps, or no time that is left"; }
expect 0 "$LEAT" status --spool spool --json
"$python" -c 'import json; d = json.load(open("stdout")); assert d["waiting"][0]["path"] == "x\x1b[2J.csv", d' ||
    fail "--json is not the document"
unserve
# Whose lock is gone has ended, whatever the file says.
expect 2 "$LEAT" status --spool spool
says "no service watches 'spool'"
serve yes 30
expect 0 "$LEAT" status --spool spool --json
"$python" -c 'import json
d = json.load(open("stdout"))
ages = d["uptime_s"], d["waiting"][0]["since_s"], d["in_flight"][0]["for_s"], d["workers"][0]["again_in_s"]
assert 91 <= ages[0] < 120 and 37 <= ages[1] < 60 and 90 <= ages[2] < 120 and ages[3] == 0, ages' || fail "ages are not of now"
unserve
serve yes 300
expect 1 "$LEAT" status --spool spool
grep -q 'it stands still; this is its state of 5 min' stdout || { cat stdout; fail "a service that stands still"; }
unserve
serve no 0
expect 1 "$LEAT" status --spool spool
grep -q 'not ready' stdout && grep -q 'the device does not work' stdout || { cat stdout; fail "no reason"; }
# What is no document.
echo '{"half": ' >spool/status/status.json
expect 2 "$LEAT" status --spool spool
says "error: 'spool/status/status.json': "
unserve

expect 0 "$LEAT" status --spool spool --failed
grep -q 'no failed jobs' stdout || { cat stdout; fail "--failed"; }
mkdir spool/failed/x
expect 0 "$LEAT" status --spool "$scratch/spool" --failed
grep -q "leat retry x --spool $scratch/spool\$" stdout || { cat stdout; fail "retry finds another folder"; }
expect 2 "$LEAT" retry --spool spool 20261121-030441-123456
says "no job '20261121-030441-123456' in 'spool/failed'"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 .
    chmod 700 spool/status
    expect 2 setpriv --reuid 65534 --regid 65534 --clear-groups "$LEAT" status --spool spool
    says "'spool/status': only root, the service's own user and its status_group may read it"
fi
echo "the page, the document, and what is said without a service"
