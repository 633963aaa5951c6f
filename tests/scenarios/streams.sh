#!/bin/sh
# Started with standard streams closed, leat works: none of its files takes their place, and what was to be printed
# there counts as lost.
. "$(dirname "$0")/lib.sh"
printf '1,2,4\n3,5,1\n7,1,2\n' >x.clusters.csv

"$LEAT" run x.clusters.csv -o in <&- 2>stderr || fail "no standard input: $(cat stderr)"
"$LEAT" run x.clusters.csv -o err 2>&- || fail "no standard error"
"$LEAT" run x.clusters.csv -o out >&- 2>stderr || fail "no standard output, and nothing to print: $(cat stderr)"
"$LEAT" run x.clusters.csv -o all <&- >&- 2>&- || fail "no standard stream"
for out in in err out all; do
    [ -f "$out/x/result.json" ] || fail "$out: no result"
done
"$LEAT" run --json x.clusters.csv -o json >&- 2>stderr
[ $? -eq 1 ] || fail "what was not printed is not an error: $(cat stderr)"
grep -q "standard output" stderr || fail "it does not say what was not printed: $(cat stderr)"

trap 'kill -9 ${service:-} 2>/dev/null; rm -rf "$scratch"' EXIT
"$LEAT" watch --spool "$scratch/spool" -b cpu --settle 0.1 --reserve 0 <&- >&- 2>&- &
service=$!
wait_for "the service makes in/" test -d spool/in
cp x.clusters.csv spool/in/.x && mv spool/in/.x spool/in/x.clusters.csv
wait_for "the service without standard streams does something" test -f spool/out/x/result.json
kill $service
wait $service || fail "exit status $? of the service after SIGTERM"
echo "no standard stream is needed"
