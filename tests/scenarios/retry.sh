#!/bin/sh
# leat status --failed and leat retry on a folder of failed jobs, without a service.
. "$(dirname "$0")/lib.sh"

# failed ID FOLDER NAME REASON: as the spool leaves a failed job.
failed() {
    mkdir -p "s/failed/$1/in"
    printf 'content of %s\n' "$1" >"s/failed/$1/in/$3"
    inputs="[{\"name\": \"$3\", \"inode\": 1, \"bytes\": 5, \"mtime_ns\": 7}]"
    printf '{"schema": 1, "id": "%s", "folder": "%s", "stem": "x", "inputs": %s, "parameters": {}}\n' \
        "$1" "$2" "$inputs" >"s/failed/$1/job"
    printf '{"schema": 1, "id": "%s", "kind": "bad-input", "reason": "%s", "time": "2026-11-21T03:04:41Z",
        "attempts": 1, "folder": "%s", "inputs": %s, "parameters": {}}\n' "$1" "$4" "$2" "$inputs" \
        >"s/failed/$1/reason.json"
}
a=20261121-030441-000001 b=20261121-030441-000002 c=20261121-030441-000003 d=20261121-030441-000004

expect 2 "$LEAT" retry --spool s $a
says "no job '$a' in 's/failed'"
expect 2 "$LEAT" status --failed --spool s
mkdir -p s/failed
expect 0 "$LEAT" status --failed --spool s
grep -q 'no failed jobs' stdout || fail "an empty folder is not said to be empty"
expect 0 "$LEAT" retry --spool s --all
says 'holds no jobs'

failed $a '' a.clusters.csv 'line 2, column 3: 50% of it is not a number'
failed $b sub/deep b.clusters.csv 'the worker died'
failed $c '' 'c%1B[2J.csv' 'strange name'
mv "s/failed/$c/in/c%1B[2J.csv" "s/failed/$c/in/$(printf 'c\033[2J.csv')"
mkdir s/failed/$d
expect 0 "$LEAT" status --failed --spool s
grep -q "^  $a  in/a.clusters.csv: bad-input$" stdout || { cat stdout; fail "$a is not listed"; }
grep -q '^      line 2, column 3: 50% of it is not a number$' stdout || { cat stdout; fail "no reason"; }
grep -q "^  $b  in/sub/deep/b.clusters.csv: bad-input$" stdout || { cat stdout; fail "$b is not listed"; }
grep -q "^  $c  in/c.x1b\[2J.csv: bad-input$" stdout || { cat stdout; fail "$c is not listed, or not escaped"; }
grep -q "^  $d  (no input): unknown$" stdout || { cat stdout; fail "what has no reason is not listed"; }
grep -q "leat retry $d --spool s\$" stdout || { cat stdout; fail "no word about retry"; }
expect 0 "$LEAT" status --failed --json --spool s
"$python" - $a $c <<'P' || fail "--failed --json"
import json, sys
jobs = {j["id"]: j for j in json.load(open("stdout"))}
assert len(jobs) == 4, jobs
assert jobs[sys.argv[1]] == {"id": sys.argv[1], "name": "in/a.clusters.csv", "pipeline": "", "kind": "bad-input", "attempts": 1,
    "text": "line 2, column 3: 50% of it is not a number", "ended": "2026-11-21T03:04:41Z"}, jobs
assert jobs[sys.argv[2]]["name"] == "in/c\x1b[2J.csv", jobs
P

# What is asked for while no service runs stays; what cannot be is said at once.
expect 2 "$LEAT" retry --spool s $a
says "no service has watched 's' yet; name the watched folder with --spool"
mkdir s/.work
expect 0 "$LEAT" retry --spool s $b
says "$b: asked for; no service runs: the next one does it when it starts$"
grep -q "$b" s/.work/requests/* || fail "no request is left"
expect 2 "$LEAT" retry --spool s 20261121-030441-000009
says "no job '20261121-030441-000009' in 's/failed'; leat status --failed"
expect 2 "$LEAT" retry --spool s ../in
says "no job '../in'"
expect 1 "$LEAT" retry --spool s nix $c
expect 2 "$LEAT" retry --spool s --all $a
says "--all means every failed job.*'$a'"
expect 0 "$LEAT" retry --spool s --all
[ "$(ls s/.work/requests | wc -l)" = 6 ] || fail "not a request for each"
expect 2 "$LEAT" retry --spool s
says 'no job named'
rm -r s/failed/*

# Without its reason a job is still named: as its record says, or as what is in it.
failed $a sub n.clusters.csv 'no number'
rm s/failed/$a/reason.json
expect 0 "$LEAT" status --failed --spool s
grep -q "^  $a  in/sub/n.clusters.csv: unknown$" stdout || { cat stdout; fail "no name by the record"; }
grep -q 'there is no reason.json' stdout || { cat stdout; fail "no word that there is no reason"; }
rm s/failed/$a/job
expect 0 "$LEAT" status --failed --spool s
grep -q "^  $a  n.clusters.csv: unknown$" stdout || { cat stdout; fail "no name by what is there"; }

# The command that is offered works as printed, whatever the folder's name.
for name in s "it's a folder" '$HOME;x' '~' 'Größe замер'; do
    mkdir -p "./$name/in"
    [ "$name" = s ] || { mkdir "$name/.work" "$name/failed" && mv s/failed/$a "$name/failed/"; }
    expect 0 "$LEAT" status --failed --spool "$name"
    offered=$(sed -n 's/^After fixing the cause:  leat //p' stdout)
    eval "expect 0 \"\$LEAT\" $offered"
    grep -q "$a" "$name"/.work/requests/* || fail "it did not work: $offered"
    failed $a '' n.clusters.csv 'no number'
done

# failed/ may be a link, as for the service.
mkdir l && cp -r s/failed kept && ln -s ../kept l/failed
expect 0 "$LEAT" status --failed --spool l
grep -q "^  $a  in/n.clusters.csv: bad-input$" stdout || { cat stdout; fail "failed/ that is a link is not listed"; }

# Who may not read it hears so. (Root may.)
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups "$LEAT" --version >/dev/null 2>&1; then
    chmod 711 "$scratch"
    chmod 700 s/failed/$a
    as_other="setpriv --reuid 65534 --regid 65534 --clear-groups"
    expect 0 $as_other "$LEAT" status --failed --spool "$scratch/s"
    grep -q 'reason.json: .*cannot be opened: Permission denied' stdout || { cat stdout; fail "why there is no reason"; }
    chmod 700 s/.work
    expect 2 $as_other "$LEAT" retry --spool "$scratch/s" $a
    says "cannot be asked for anything, only root and its own user may"
fi
echo "failed jobs are listed with reasons, and asked to be tried again"
