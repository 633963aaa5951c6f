#!/bin/sh
# What run and check say: check answers whether run would do; -q and -v; names that are not UTF-8; many jobs.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
json() { # json FILE EXPRESSION: holds for o, the list of the objects in FILE
    "$python" -c 'import json, sys
o = [json.loads(line) for line in open(sys.argv[1])]
assert ('"$2"'), o' "$1" || fail "not so: $2"
}
printf '1,2,3\n4,5,7\n6,9,8\n' >good.clusters.csv

# check: the shape, every parameter, and the same limits as run's.
expect 0 "$LEAT" check -b cpu good.clusters.csv -s top=7 -s series=rows
grep -q '3 lines of 3 numbers' stdout || { cat stdout; fail "no shape"; }
grep -q 'parameters: series=rows method=pearson precision=exact .*top=7' stdout || { cat stdout; fail "no parameters"; }
expect 0 "$LEAT" check -b cpu --json good.clusters.csv -s threshold=0.5
json stdout 'o[0]["status"] == "ok" and o[0]["parameters"].items() >= dict(series="auto", precision="exact", diff="none",
    missing="pairwise", r="upper", top=1000, threshold=0.5).items()'
# run: every parameter too, and what has become of it.
expect 0 "$LEAT" run -b cpu --json -o parameters good.clusters.csv -s threshold=0.5 -s precision=f32 -s series=columns
json stdout 'o[0]["parameters"].items() >= dict(series="columns", precision="f32", diff="none", missing="pairwise", r="upper",
    top=1000, threshold=0.5, precision_used="f32").items()'
expect 0 "$LEAT" generate dem --rows 20 --columns 20 -o slope.asc
expect 0 "$LEAT" run -b cpu --json -o parameters slope.dem.asc slope.source.asc -s steps=400
json stdout 'o[0]["parameters"].items() >= dict(steps=400, p_epsilon=0.001, p_r=0.5, nodata="wall", settle=0,
    snapshot_every=0, report_every=4, raster="tif", raster_type="f64").items()'
"$LEAT" generate clusters --series 4000 --samples 40 -o wide.clusters.csv -q || fail "generate"
"$LEAT" generate clusters --series 4000 --samples 40 -o wide.clusters.npy -q || fail "generate"
for file in wide.clusters.csv wide.clusters.npy; do
    for command in check run; do
        expect 1 "$LEAT" $command -b cpu --threads 2 --memory 64M -o out $file
        says "$file.*needs .*bytes.*--memory"
    done
    expect 0 "$LEAT" check -b cpu --threads 2 --memory 1G $file
done
seq 1 9 | paste -sd, >row.clusters.csv
seq 1 9 >cell.clusters.csv
printf 'a,b,c\n1,2,3\n' >header.clusters.csv # columns are series, and have a single sample
for file in 'row.clusters.csv -s series=columns' cell.clusters.csv header.clusters.csv; do
    for command in check run; do
        expect 1 "$LEAT" $command -b cpu -o out $file
        says 'correlation needs 2|needs 2 samples'
    done
done
expect 1 "$LEAT" check -b cpu --json cell.clusters.csv
json stdout 'o[0]["status"] == "bad-input" and "correlation needs 2" in o[0]["error"] and o[0]["meaning"]'

# -q: nothing but failures; -v: also what is passed over. Without a device auto says why, with -q it does not.
mkdir in && cp good.clusters.csv in/ && echo x >in/notes.md
for command in run check; do
    expect 0 "$LEAT" $command -q -o q.$command in
    [ ! -s stderr ] && [ ! -s stdout ] || { cat stdout stderr; fail "$command -q talks"; }
    expect 0 "$LEAT" $command -v -b cpu -o v.$command in
    says 'notes\.md.*no pipeline takes it, skipped'
    expect 0 "$LEAT" $command -b cpu -o p.$command in
    grep -q 'notes.md' stderr && fail "$command speaks of what it passes over"
done

# Series without names are called by their columns in the file, whatever is left out before them.
printf 'when,T,\nmon,1,2\ntue,3,4\nwed,5,7\n' >unnamed.csv
tail -n 3 unnamed.csv >nameless.csv
expect 0 "$LEAT" run -q -b cpu -s series=columns -o named unnamed.csv nameless.csv
for what in unnamed:T unnamed:'column 3' nameless:'column 2' nameless:'column 3'; do
    gzip -dc "named/${what%%:*}/series.csv.gz" | cut -d, -f2 | grep -qx "${what#*:}" || fail "$what is not the name of a series"
done

# Many jobs: the first sixteen one by one, then failures only.
mkdir many
for i in $(seq 100 139); do
    cp good.clusters.csv many/n$i.clusters.csv
done
echo 1 >many/n999.clusters.csv
expect 1 "$LEAT" run -b cpu -j 1 -o many.out many
[ "$(grep -c ' -> many.out/' stderr)" -eq 16 ] || { cat stderr; fail "not 16 lines"; }
says 'n999'
says '40 jobs done, 1 failed: .* in [0-9.]+ m?s \([0-9.]+ [KM]?i?B/s\)$'
expect 1 "$LEAT" run -v -b cpu -o many.v many
says '40 jobs done, 1 failed: .*jobs/s, on cpu; pipeline efficiency 0?[0-9.]+, bound by '
[ "$(grep -c ' -> many.v/' stderr)" -eq 40 ] || { cat stderr; fail "-v does not tell every job"; }

# One job, one line.
expect 0 "$LEAT" run -b cpu -s series=rows -o one good.clusters.csv
[ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "not one line for a job that is done"; }
says 'good\.clusters\.csv -> one/good in [0-9.]+ m?s$'
expect 1 "$LEAT" run -b cpu -o one good.clusters.csv
[ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "not one line for a job that fails"; }
expect 0 "$LEAT" run -b cpu -s series=rows -o one --resume good.clusters.csv
says '0 jobs done, 1 skipped, 0 failed'
expect 0 "$LEAT" run -b cpu -o two many/n100.clusters.csv good.clusters.csv
says '2 jobs done, 0 failed'
expect 1 "$LEAT" run -b cpu -o two --force good.clusters.csv good.clusters.csv
says '1 job done, 1 failed'
says "'good\.clusters\.csv' is named twice"
# Mistakes: the nearest word, or whose it is; sizes as people write them.
mistake() { # WORDS COMMAND...
    words=$1
    shift
    expect 2 "$LEAT" "$@"
    says "$words"
}
mistake "backend: 'cdua' is not one of auto.cpu.cuda; did you mean 'cuda'" run -b cdua good.clusters.csv
mistake "did you mean 'cuda'" run -b gpu good.clusters.csv
mistake "no pipeline has a parameter 'K'; did you mean 'k'?" run -s K=3 good.clusters.csv
mistake "unknown option '-output'; did you mean --output" run -output o good.clusters.csv
[ ! -e utput ] || fail "-output is taken for -o utput"
mistake "no input given .'good.clusters.csv' is taken as the folder for results.; write leat run -o DIR INPUT" \
    run -o good.clusters.csv
mistake "'k=3' is a parameter; write -s 'k=3'" run k=3 good.clusters.csv
for option in --k=3 -k --k; do
    mistake "unknown option '-*k'; for the parameter k write -s k=VALUE" run $option 3 good.clusters.csv
done
mistake "unknown option '--k'" status --k=3
mistake "'good.clusters.csv' is a file or folder: leat run good.clusters.csv" good.clusters.csv
mistake "memory is too little for [0-9]* thread.*; write --memory=[0-9]*M or more" run --memory 1K good.clusters.csv
for threads in 1 2 5 16; do # what is said to be enough is
    mistake "too little" run --threads $threads --memory 1K good.clusters.csv
    expect 0 "$LEAT" check --threads $threads --memory "$(sed -n 's/.*--memory=\([0-9]*M\).*/\1/p' stderr)" good.clusters.csv
done
printf 'a,b\n"1,234","2,513"\n"3,125","4,521"\n"2,500","4,210"\n' >fraction.csv
expect 1 "$LEAT" run -b cpu -o fraction fraction.csv
says 'set -s decimal=comma or -s thousands=comma'
expect 0 "$LEAT" run -b cpu -o fraction -s decimal=comma fraction.csv
name=$(printf 'x\ny.clusters.csv')
printf 'a,b\n1,2\n' >"$name"
expect 1 "$LEAT" run -b cpu -o strange "$name"
says 'error: x.x0ay.clusters.csv: each series'
mistake "did you mean 'run'" rnu good.clusters.csv
mistake "did you mean 'kmeans'" run -p kmean good.clusters.csv
mistake "did you mean --memory" run --memroy 4G good.clusters.csv
mistake "did you mean 'dem'" generate dme
mistake "'k' is a parameter of kmeans, not of pearson" run -p pearson -s k=3 good.clusters.csv
mistake "'top' is a parameter of pearson, not of kmeans" run -p kmeans -s top=3 good.clusters.csv
mistake "precision: 'extact' is not one of exact.f32; did you mean 'exact'" run -s precision=extact good.clusters.csv
mistake "'k' is a parameter of kmeans, not of pearson" check -s k=3 good.clusters.csv
mistake "set: method: 'kendall' is not one of pearson|spearman (pearson), .* (interpolate)$" \
    run -s method=kendall good.clusters.csv
mistake "missing: 'pairwse' is not one of pairwise|drop|reject (pearson), reject|drop (kmeans); did you mean 'pairwise'?$" \
    run -s missing=pairwse good.clusters.csv
mistake "set: sciddicat: steps: 'many' is not a whole number from 0 to [0-9]*$" check -s steps=many good.clusters.csv
mistake "figure: 'gif' is not one of png.svg.pdf.none$" run -s figure=gif good.clusters.csv
mistake "method: 'spearmann' is not one of pearson|spearman; did you mean 'spearman'" \
    run -p pearson -s method=spearmann good.clusters.csv
mistake "'method' is a parameter of pearson, not of kmeans$" run -p kmeans -s method=spearman good.points.csv
printf 'method = spearman\n' >top.conf
mistake "'method' is a pipeline's parameter: put it under" run -c top.conf good.clusters.csv
for size in 512M 512MB 512MiB 0.5g 0.5gib 524288K; do
    expect 0 "$LEAT" check -b cpu --memory $size good.clusters.csv
done
for size in 512Mi 512BM B 1Q 512iB; do
    mistake "'$size' is not a size" check -b cpu --memory $size good.clusters.csv
done

# A name that is not UTF-8 is a name like others.
odd=$(printf 'a\377')
cp good.clusters.csv "$odd.clusters.csv" || { echo "NOT SHOWN here: names that are not UTF-8"; exit 0; }
expect 0 "$LEAT" run -b cpu --json -o odd "$odd.clusters.csv"
json stdout 'o[0]["status"] == "ok" and o[0]["input"] == o[0]["inputs"][0]["name"] == "a\ufffd.clusters.csv"
    and o[0]["output"] == "odd/a\ufffd"'
[ -f "odd/$odd/pearson.npz" ] || fail "no result"
expect 1 "$LEAT" run -b cpu --json -o odd "$odd.clusters.csv"
json stdout 'o[0]["status"] == "exists" and o[0]["input"] == "a\ufffd.clusters.csv" and "a\ufffd" in o[0]["error"]'
echo 1 >"$odd.clusters.csv"
expect 1 "$LEAT" check -b cpu --json "$odd.clusters.csv"
json stdout 'o[0]["status"] == "bad-input"'
echo "what is asked is answered"
