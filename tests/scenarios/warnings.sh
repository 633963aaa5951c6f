#!/bin/sh
# What a result is warned of, said once each: by run on the terminal, in result.json, by check, and by a service in its
# log and its status. And what no warning is due for.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
"$python" "$here/warnings_made.py" || fail "inputs"

# once FILE PATTERN: exactly one line of it matches.
once() {
    [ "$(grep -Ec -- "$2" "$1")" -eq 1 ] || { cat "$1" >&2; fail "not once in $1: $2"; }
}
# told STEM PATTERN FILE...: run says it once, with the file's name, and so do result.json and check.
told() {
    stem=$1 pattern=$2
    shift 2
    expect 0 "$LEAT" run -b cpu --force "$@"
    once stderr "warning: $stem\.[a-z.]*: .*$pattern"
    "$python" -c 'import json, re, sys
said = json.load(open(sys.argv[1]))["warnings"]
assert sum(re.search(sys.argv[2], w) is not None for w in said) == 1, said' leat-out/$stem/result.json "$pattern" ||
        fail "$stem: result.json"
}
noted() {
    told "$@"
    shift 2
    expect 0 "$LEAT" check -b cpu "$@"
    once stdout "note: .*$pattern"
}

noted code "-999 looks like a code for missing numbers: .*column 'b' 30 times.*missing_value=-999" code.clusters.csv
noted rows "looks like a code .* of row 'two' 3 times" rows.clusters.csv
noted pcode "looks like a code .*column 'y' 5 times" pcode.points.csv
noted ncode "looks like a code .*column 'y' 3 times" -s 'query=linspace(0, 1, 5)' ncode.nodes.csv
noted index "column 'time' goes up or down in equal steps \(of 60, from 0 on\).* left out" index.clusters.csv
noted gap "column 'time' goes up or down in equal steps but for gaps \(of 60, from 0 on\).* left out" gap.clusters.csv
noted days "column 'day' goes up or down in equal steps but for gaps \(of 1, from 20240101 on\).* left out" days.clusters.csv
noted unix "column 'unix time' only goes up .from 1700000000 to .*by its name is a time.* left out" unix.clusters.csv
noted clock "column 'TIME .s.' only goes up .from 1700000000 to .*by its name is a time.* left out" clock.clusters.csv
noted counters "column 'n0', .*, column 'n4' and 2 more go up or down in equal steps" counters.clusters.csv
once stdout "note: .*column 'time' goes up or down in equal steps .* left out"
noted meter "column 'kwh' only goes up .* leave it out if it is a time or an index .columns=." meter.clusters.csv
noted middle "column 'time' goes up or down in equal steps, and so correlates" middle.clusters.csv
noted flat "row 1 goes up or down in equal steps" flat.clusters.npy
noted few "each of the 60 series is a column of 5 samples.*set series=rows" few.clusters.csv

# Two columns are left as they are: what they are asked for is how the one depends on the other.
noted two "column 'dose' goes up or down in equal steps, and so correlates" two.clusters.csv

# A DEM in degrees that does not say so; one that does has its own sentence, and a model of a slope in a hall has none.
noted degrees 'name no coordinate system, and their cells .* look like degrees' -s steps=10 degrees.*.asc
told named 'have a geographic coordinate system' -s steps=10 named.*.asc
# Debris in altitudes that do not hold it.
told pit 'thick where it ends .8 m on the average.* taken to hold the debris' -s steps=10 pit.*.asc
told swapped 'swapped.source.asc has debris in 1600 of 1600 cells, 941.[0-9]* m thick.*seem to be exchanged' -s steps=10 swapped.*.asc
told same 'as if it held altitudes; debris is a thickness' -s steps=10 same.*.asc
for stem in named held cap thin flume; do
    expect 0 "$LEAT" run -b cpu --force -s steps=10 $stem.*.asc
    if grep -E 'where it ends|look like degrees|held altitudes' stderr; then fail "$stem is warned of"; fi
done

# With missing_value, series or columns said, there is nothing to say.
expect 0 "$LEAT" run -b cpu --force -s missing_value=-999 code.clusters.csv
grep -q 'looks like' stderr && fail "a code that is named"
expect 0 "$LEAT" run -b cpu --force -s columns=a,b,c index.clusters.csv
grep -q 'equal steps' stderr && fail "an index that is not chosen"

# Harmless tables say nothing, whichever way they lie.
for stem in gap days unix clock meter; do
    names=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["shape"]["n_series"])' leat-out/$stem/result.json)
    [ "$names" -eq $(if [ $stem = meter ]; then echo 4; else echo 3; fi) ] || fail "$stem: $names series"
done

for file in harmless.clusters.csv harmless.clusters.npy harmless.points.csv; do
    expect 0 "$LEAT" run -b cpu --force $file
    if grep -E 'looks like|equal steps|by chance; if' stderr; then fail "$file is warned of"; fi
    expect 0 "$LEAT" check -b cpu $file
    if grep -E 'looks like|equal steps|by chance; if' stdout; then fail "$file is warned of by check"; fi
done

# A kind of warning is said once, and at the end of how many more; so is which jobs have failed.
mkdir many
for i in $(seq 100 139); do cp code.clusters.csv many/$i.clusters.csv; done
expect 0 "$LEAT" run -b cpu -o many.out many
once stderr 'missing_value=-999'
once stderr '39 more results have the warning of .*looks like'
echo 'a,b' >many/none.clusters.csv
expect 1 "$LEAT" run -v -b cpu -o many.all --job-log jobs.tsv many
[ "$(cut -f 7 jobs.tsv | sort | uniq -c | tr -s ' \n' ' ')" = " 40 0 1 1 1 Exitval " ] || fail "the job log: $(cat jobs.tsv)"
[ "$(awk -F '\t' 'NR > 1 && NF == 9 && $3 > 1e9 && $4 >= 0 && $9 ~ /many.*csv$/' jobs.tsv | wc -l)" -eq 41 ] || fail "the job log: $(cat jobs.tsv)"
[ "$(grep -c 'missing_value=-999' stderr)" -eq 40 ] || fail "-v does not say all"
tail -n 1 stderr | grep -q 'error: failed, for the reasons above: .*none.clusters.csv$' || fail "who failed is not said at the end"
expect 1 "$LEAT" run -q --json -b cpu --resume -o many.all many
tail -n 1 stdout | grep -q '^{"totals":{"done":0,"failed":1,"skipped":40,' || fail "--json ends without totals"
rm many/none.clusters.csv
expect 0 "$LEAT" run -q -b cpu -o many.quiet many
[ ! -s stderr ] || fail "-q talks"

# Other names make no other kind, quoted or not; of very many kinds a hundred are told.
mkdir names slopes strange
for i in a b c d e f; do
    printf "day $i,\"part $i\",b,c\nmon,1,2,4\ntue,2,1,3\nwed,9,3,1\n" >names/$i.clusters.csv
    for part in dem source; do cp same.$part.asc slopes/$i.$part.asc; done
done
expect 0 "$LEAT" run -b cpu -o names.out names
[ "$(grep -c 'holds no number' stderr)" -eq 2 ] || { cat stderr; fail "a column's name makes a kind"; }
expect 0 "$LEAT" run -b cpu -o slopes.out -s steps=10 slopes
[ "$(grep -c 'as if it held altitudes' stderr)" -le 2 ] || { cat stderr; fail "a file's name makes a kind"; }
"$python" -c 'for i in range(120):
    word = "".join(chr(97 + int(c)) for c in str(i))
    open(f"strange/{i}.clusters.csv", "w").write(f"k\x27 {word},a,b\n" + "".join(f"{j},{j * j},{j % 3}\n" for j in range(12)))'
expect 0 "$LEAT" run -b cpu -o strange.out strange
[ "$(grep -c 'equal steps' stderr)" -eq 100 ] || { cat stderr; fail "kinds are not bounded"; }
once stderr 'warning: 20 more warnings stand in the results'

# Several processes may append to one job log.
for i in 1 2 3 4 5 6 7 8; do
    "$LEAT" run -q -b cpu -o log.$i --job-log shared.tsv few.clusters.csv &
done
wait
[ "$(grep -c '^Seq' shared.tsv)" -eq 1 ] && [ "$(wc -l <shared.tsv)" -eq 9 ] || fail "a shared job log: $(cat shared.tsv)"

exec "$python" "$here/warnings_service.py"
