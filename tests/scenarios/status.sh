#!/bin/sh
# leat status: the page and the document of a service (here one that knows a single answer), its exit status, and
# what is said when none answers.
. "$(dirname "$0")/lib.sh"
served=
trap '[ -z "$served" ] || kill $served; rm -rf "$scratch"' EXIT
unset RUNTIME_DIRECTORY
export XDG_RUNTIME_DIR="$scratch/user"

# serve READY: answers at ./s with a document, until killed.
serve() {
    "$python" - "$scratch" "$1" <<'P' &
import json, os, socket, sys
here, ready = sys.argv[1:]
document = {"schema": 1, "leat": "0", "pid": 5, "spool": here + "/spool", "output": here + "/spool/out",
            "since": "2026-11-21T00:00:00Z", "uptime_s": 61, "state": "running", "ready": ready == "yes",
            "why": "" if ready == "yes" else "the device does not work", "watching": "inotify", "n_waiting": 1,
            "waiting": [{"path": "x\x1b[2J.csv", "reason": "still written", "since_s": 1}], "n_queued": 0,
            "in_flight": [], "done": [], "failed": [], "totals": {"done": 1, "failed": 0, "requeued": 0,
            "input_bytes": 5}, "rates": {}, "workers": []}
s = socket.socket(socket.AF_UNIX)
s.bind(here + "/s.new")
s.listen(4)
os.rename(here + "/s.new", here + "/s")
while True:
    c, _ = s.accept()
    c.sendall(json.dumps(document).encode())
    c.close()
P
    served=$!
    wait_for "something serves" test -S s
}
unserve() {
    kill $served
    wait $served 2>/dev/null
    served=
    rm -f s
}

mkdir spool spool/in spool/failed
expect 2 "$LEAT" status --status-socket "$scratch/s"
says "no service answers at .*/s'.*leat watch --spool"
expect 2 "$LEAT" status --spool spool
says "no service answers at .*'spool/.run/status.sock'.*leat watch --spool spool"
expect 2 "$LEAT" status nonsense
says 'nonsense'

serve yes
expect 0 "$LEAT" status --status-socket s
[ ! -s stderr ] || fail "it speaks on standard error"
grep -q '^leat 0, pid 5: running, ready, up for 1 min 01 s$' stdout || { cat stdout; fail "no such state"; }
grep -q 'x\\x1b\[2J.csv: still written' stdout || { cat stdout; fail "no waiting file, or not escaped"; }
expect 0 "$LEAT" status --status-socket s --json
"$python" -c 'import json; d = json.load(open("stdout")); assert d["waiting"][0]["path"] == "x\x1b[2J.csv", d' ||
    fail "--json is not the document"
# The spool is the service's where none is named.
expect 0 "$LEAT" status --status-socket s --failed
grep -q 'no failed jobs' stdout || { cat stdout; fail "--failed"; }
mkdir spool/failed/x
expect 0 "$LEAT" status --status-socket s --failed
grep -q "leat retry x --spool $scratch/spool\$" stdout || { cat stdout; fail "retry finds another folder"; }
expect 2 "$LEAT" retry --status-socket s 20261121-030441-123456
says "no job '20261121-030441-123456' in '$scratch/spool/failed'"
unserve

# A dead service's socket, and one that answers with something else.
"$python" -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("s")'
expect 2 "$LEAT" status --status-socket s
says 'no service answers'
rm s
serve no
expect 1 "$LEAT" status --status-socket s
grep -q 'not ready' stdout && grep -q 'the device does not work' stdout || { cat stdout; fail "no reason"; }
# It is found where it usually is, unless it is another folder's.
mkdir -p user/leat && mv s user/leat/status.sock
[ -S /run/leat/status.sock ] || expect 1 "$LEAT" status # the machine's own service would come first
expect 1 "$LEAT" status --spool spool
mkdir other
expect 2 "$LEAT" status --spool other
mv user/leat/status.sock s
unserve

# say_nothing PATH: ends every connection there, until killed.
say_nothing() {
    "$python" - "$scratch/$1" <<'P' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen(4)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    c, _ = s.accept()
    c.close()
P
    served=$!
    wait_for "something listens" test -S "$1"
}
# What is not the folder's own is reported and no reason; without a folder it is all there is to say.
say_nothing user/leat/status.sock
expect 2 "$LEAT" status --spool other
says "no service answers at .*'$scratch/user/leat/status.sock' \(no answer of a service .*; ask again\), 'other/.run/status.sock'"
says "leat watch --spool other'"
[ -S /run/leat/status.sock ] || { expect 2 "$LEAT" status && says "error: '$scratch/user/leat/status.sock': no answer of a service"; }
unserve
mkdir other/.run
say_nothing other/.run/status.sock
expect 2 "$LEAT" status --spool other
says "error: 'other/.run/status.sock': no answer of a service .*; ask again"
unserve
echo "the page, the document, and what is said without a service"
