#!/bin/sh
# leat generate: the same bytes twice and on any number of threads, an independent Philox in Python agrees,
# NumPy opens it; nothing is left behind by a failure, a signal or a reader that goes away.
. "$(dirname "$0")/lib.sh"

expect 0 "$LEAT" generate clusters -o a.csv
expect 0 "$LEAT" generate clusters -o b.csv --threads 1
[ "$(wc -l <a.csv)" -eq 64 ] || fail "not 64 series"
cmp a.csv b.csv || fail "two runs differ"
expect 0 "$LEAT" generate clusters
cmp stdout a.csv || fail "standard output differs from the file"
for layout in rows columns; do
    expect 0 "$LEAT" generate clusters --series 1100 --samples 1300 --gaps 0.01 --layout $layout -o one.npy --threads 1
    expect 0 "$LEAT" generate clusters --series 1100 --samples 1300 --gaps 0.01 --layout $layout -o four.npy --threads 4
    cmp one.npy four.npy || fail "threads change the bytes ($layout)"
    rm one.npy four.npy
done
expect 0 "$LEAT" generate clusters --seed 1 -o c.csv
cmp -s a.csv c.csv && fail "the seed changes nothing"

expect 2 "$LEAT" generate clusters -o a.csv
says 'a\.csv.*--force'
cmp a.csv b.csv || fail "an existing file was touched"
expect 0 "$LEAT" generate clusters --seed 1 --force -o b.csv
cmp b.csv c.csv || fail "--force did not replace the file"

expect 2 "$LEAT" generate points -o x.csv
says 'points.*clusters'
expect 2 "$LEAT" generate
says 'generate clusters'
expect 2 "$LEAT" generate clusters --sampels 3
says '--samples'
expect 2 "$LEAT" generate clusters -o x.json
says '\.csv or \.npy'
for wrong in --series=0 --samples=x --epsilon=1 --epsilon=nan --start=inf --type=f16 --layout=row --gaps=1.1 \
    --seed=-1 --backend=gpu; do
    expect 2 "$LEAT" generate clusters "$wrong"
    says "${wrong%=*}: '"
done
expect 2 "$LEAT" generate clusters --series 2000000 --samples 1 --layout columns -o x.csv
expect 2 "$LEAT" generate clusters -o none/x.csv
expect 0 "$LEAT" generate --help
grep -q -- --layout stdout || fail "no help"

if [ -w /dev/full ]; then
    "$LEAT" generate clusters >/dev/full 2>stderr
    [ $? -eq 1 ] || fail "a full disk is not exit status 1"
    says 'No space'
fi
{ "$LEAT" generate clusters --series 100000 --samples 10000; echo $? >status; } 2>stderr | head -c 1 >/dev/null
[ "$(cat status)" -gt 128 ] || fail "a reader that goes away: exit status $(cat status)"
[ ! -s stderr ] || { cat stderr; fail "a reader that goes away is complained about"; }
"$LEAT" generate clusters --series 1000000 --samples 100000 -o huge.npy 2>stderr &
child=$!
tries=0
until ls .leat.*.tmp >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || fail "no file is being written"
    sleep 0.05
done
kill -TERM $child
wait $child
[ $? -eq 1 ] || fail "a signal is not exit status 1"
says 'huge\.npy.*signal'
left=$(find . -name '*huge*' -o -name '.leat*')
[ -z "$left" ] || fail "left behind: $left"

"$python" -c 'import numpy' 2>/dev/null || { echo "without NumPy: not compared"; exit 0; }
exec "$python" "$here/generate.py" "$LEAT"
