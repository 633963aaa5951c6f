#!/bin/sh
# The exit status of every command that takes several things: all well, some, none; with what each says on standard
# error of those that are not.
. "$(dirname "$0")/lib.sh"

"$LEAT" generate clusters --series 3 --samples 12 -q -o good.clusters.csv || fail "generate"
printf '1,2\n3,x\n' >bad.clusters.csv
mkdir empty results
expect 0 "$LEAT" run -q -o results good.clusters.csv
cp -r results two
cp -r two/good two/other
rm two/other/result.json

# is STATUS WORDS COMMAND...: WORDS is a regular expression of standard error; "": it is empty.
is() {
    wanted=$1 words=$2
    shift 2
    rm -rf out
    expect "$wanted" "$LEAT" "$@"
    if [ -z "$words" ]; then
        [ ! -s stderr ] || { cat stderr; fail "$* says something"; }
    else
        says "$words"
    fi
}
for how in "run -q -o out" "check -q"; do
    is 0 "" $how good.clusters.csv
    is 1 "bad.clusters.csv: line 2, column 2" $how good.clusters.csv bad.clusters.csv
    is 1 "cannot find 'none.csv'" $how none.csv good.clusters.csv
    is 1 "bad.clusters.csv: line 2, column 2" $how bad.clusters.csv
    is 1 "cannot find 'none.csv'" $how bad.clusters.csv none.csv
    is 2 "cannot find 'none.csv'" $how none.csv
    is 2 "cannot find 'none2.csv'" $how none.csv none2.csv
    is 2 "no pipeline takes this" $how empty/../stdout
    is 2 "'empty' holds no file" $how empty
    is 2 "no input given" $how
    is 2 "unknown option" $how --nonsense good.clusters.csv
    is 0 "" $how --shard 2/2 good.clusters.csv
    is 0 "" $how --shard 1/2 good.clusters.csv
done
is 1 "a result named 'good' is already in the output folder" run -q -o results good.clusters.csv
is 0 "" run -q -o results --force good.clusters.csv
is 0 "" run -q -o results --resume good.clusters.csv
is 1 "bad.clusters.csv" run -q -o results --resume good.clusters.csv bad.clusters.csv

is 0 "" show results/good
is 0 "" show -q results results/good/result.json good.clusters.csv
is 1 "cannot find 'none'" show results/good none
is 1 "cannot find 'none'" show none results/good
is 1 "bad.clusters.csv" show results/good bad.clusters.csv
is 1 "bad.clusters.csv" show bad.clusters.csv
is 2 "cannot find 'none'" show none
echo '{"schema": 1, "leat": "0"}' >two/other/result.json
is 2 "is not a result of leat: it names no pipeline" show two/other
is 1 "is not a result of leat: it names no pipeline" show two/other two/good
is 1 "is not a result of leat: it names no pipeline" show two/other good.clusters.csv

is 0 "" generate points -q --points 3 -o p.csv
is 2 "p.csv: is there already" generate points -q --points 3 -o p.csv
is 0 "" generate points -q --points 3 --force -o p.csv
is 2 "unknown kind 'poins'" generate poins -o q.csv

mkdir -p spool/in spool/failed/a spool/failed/b
for what in hold release delete; do
    is 2 "no service has watched 'spool' yet; name the watched folder with --spool" $what --spool spool x
    is 2 "no job named|no input given" $what --spool spool
done
is 2 "no service watches .spool." flush --spool spool
is 2 "no service watches .spool." status --spool spool
is 0 "" status --spool spool --failed
is 2 "no job 'x'" retry --spool spool x
is 2 "no job 'x'" retry --spool spool x y
is 2 "no service has watched 'spool' yet; name the watched folder with --spool" retry --spool spool x a
mkdir spool/.work
is 1 "no job 'x'" retry --spool spool x a
is 0 "" retry -q --spool spool a b
is 0 "" retry -q --spool spool --all
is 2 "--all means every failed job" retry --spool spool --all a
is 2 "no job named" retry --spool spool
is 0 "" doctor -q -b cpu
is 2 "" doctor -b cuda --devices 1
is 2 "no watched folder" watch
is 0 "" help
is 2 "nonsense" nonsense
echo "exit status and words of every command, of all, some and none"
