#!/bin/sh
# What is taken as an input and what is not: own results, hidden files, links, pipes, archives that are not what
# they seem; a signal ends what the inputs are busy with.
. "$(dirname "$0")/lib.sh"
printf '1,2,3\n4,5,7\n6,7,9\n' >good.csv

# The second run of a folder that holds the output folder sees the same inputs as the first.
mkdir -p folder/sub && cp good.csv folder/a.csv && cp good.csv folder/sub/a.csv
for out in leat-out results/deep .; do
    (
        cd folder || exit 1
        for force in '' --force; do
            expect 0 "$LEAT" run -b cpu -p pearson $force --json -o $out .
            [ "$(grep -c '^{"input"' stdout)" -eq 2 ] || fail "-o $out: results were taken as inputs: $(cat stdout)"
            rm stdout stderr
        done
        expect 0 "$LEAT" check -b cpu -p pearson -o $out --json .
        [ "$(wc -l <stdout)" -eq 2 ] || fail "check -o $out takes results as inputs: $(cat stdout)"
        rm -r stdout stderr "$out/a" "$out/sub/a"
    ) || exit 1
done

# Nothing to do is said, and is no success.
mkdir nothing && cp good.csv nothing/notes.csv
mkdir -p nothing/.hidden && cp good.csv nothing/.hidden/no.clusters.csv
tar -C nothing -cf notes.tar notes.csv .hidden
for command in run check; do
    for input in nothing notes.tar; do
        expect 2 "$LEAT" $command -q -b cpu -o out $input
        says "'$input' holds no file that a pipeline takes.*pearson"
        [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "$input: more than one error"; }
    done
done
mkdir notables && echo text >notables/notes.md
expect 2 "$LEAT" run -q -b cpu -p pearson -o out notables
says "'notables' holds no file that pearson takes: name files like X.clusters.csv .pearson., X.dem.tif . X.source.tif .sciddicat., X.nodes.csv .. X.query.csv. .interpolate., X.points.csv .kmeans.$"
! grep -q -e --pipeline stderr || { cat stderr; fail "told to name the pipeline that was named"; }
expect 2 "$LEAT" run -b cpu -o out nothing notes.tar
says '0 jobs done, 2 failed'
cp notes.tar nothing/ && cp good.csv nothing/there.clusters.csv
expect 0 "$LEAT" run -b cpu -o with nothing # an archive without inputs is no failure in a folder

# A format that is not read has its name and what converts it: named, in a folder and in an archive.
mkdir -p unread/sub && printf 'CDF\001\0\0' >unread/sub/x.dem.parquet && tar -cf unread.tar -C unread sub
expect 2 "$LEAT" run -q -b cpu -o out unread/sub/x.dem.parquet
says "x.dem.parquet: is Parquet, .*convert it: python3 .* unread/sub/x.dem.parquet unread/sub/x.dem.csv$"
expect 2 "$LEAT" run -q -b cpu -o out unread
says "'unread' holds no file .*'unread/sub/x.dem.parquet' is Parquet, .* unread/sub/x.dem.parquet unread/sub/x.dem.csv$"
expect 2 "$LEAT" run -q -b cpu -o out unread.tar
says "'unread.tar' holds no file .*'unread.tar/sub/x.dem.parquet' is Parquet, .* x.dem.parquet x.dem.csv$"
cp unread/sub/x.dem.parquet unread/x.clusters.dat && cp unread/sub/x.dem.parquet unread/y.clusters.nc && tar -cf unread.tar -C unread .
for given in unread unread.tar; do
    expect 1 "$LEAT" run -b cpu -o out $given
    says "1 file in '$given' left alone: .*x.dem.parquet' is Parquet"
    says "x.clusters.dat: is classic NetCDF, .*x.clusters.nc$"
    says "y.clusters.nc: is classic NetCDF, .*y.clusters.new.nc$"
done

# The command works on that very file, whatever it is called.
mkdir misnamed && (
    cd misnamed || exit 1
    printf 't,x,y\n1,2,9\n2,5,4\n3,4,7\n4,8,1\n' >plain.csv
    "$python" - <<'P'
import lzma, sqlite3
text = open("plain.csv", "rb").read()
open("lzma.clusters.csv", "wb").write(lzma.compress(text, lzma.FORMAT_ALONE))
with sqlite3.connect("sqlite.clusters.csv") as db:
    db.execute("create table t(t real, x real, y real)")
    db.executemany("insert into t values(?, ?, ?)", [line.decode().split(",") for line in text.split()[1:]])
P
    lz4 -q plain.csv lz4.clusters.csv 2>stderr
    bsdtar -cf cpio.clusters.csv --format=newc plain.csv 2>stderr
    for given in *.clusters.csv; do
        expect 1 "$LEAT" run -q -b cpu -o out "$given"
        command=$(sed -En 's/.*(which leat does not read;|for a table) convert it: //p' stderr)
        [ -n "$command" ] || fail "no command for $given"
        tool=${command##*&& }
        command -v "${tool%% *}" >stdout || continue
        sh -c "$command" 2>stderr || { cat stderr; fail "$command"; }
        for made in "${given%.csv}.new.csv" "${given%.csv}.tar"; do
            [ ! -f "$made" ] || expect 0 "$LEAT" run -q -b cpu -p pearson -o "made/$given" "$made"
        done
        [ -n "$(find "made/$given" -name result.json)" ] || fail "$given: no result after '$command'"
    done
) || exit 1

# A .zip of tables that is called otherwise.
"$python" -c 'import zipfile; zipfile.ZipFile("zipped.csv", "w").write("good.csv", "good.clusters.csv")'
expect 1 "$LEAT" run -q -b cpu -o zipped zipped.csv
says 'zipped.csv: no member is a readable array .*; name an archive of tables X.zip$'
mv zipped.csv zipped.zip && expect 0 "$LEAT" run -q -b cpu -o zipped zipped.zip

# Results are no inputs, wherever they lie; show lists those of a folder, and goes into that of an archive.
mkdir mixed && cp good.csv mixed/a.clusters.csv
expect 0 "$LEAT" run -q -b cpu -s series=rows -o mixed/old/results good.csv nothing/there.clusters.csv
for command in run 'check -p pearson'; do
    expect 2 "$LEAT" $command -b cpu -o out mixed/old
    says "'mixed/old' holds results of leat \(2\) and no input; leat show 'mixed/old' lists them"
    [ "$(wc -l <stderr)" -eq 1 ] || { cat stderr; fail "more than one error"; }
    expect 2 "$LEAT" $command -b cpu -o out mixed/old/results/good
    says "'mixed/old/results/good' is a result of leat, not an input; leat show "
done
expect 0 "$LEAT" run -q -b cpu -p pearson -o out mixed
[ "$(ls out)" = a ] || fail "results elsewhere were taken as inputs: $(ls out)"
rm -r out
expect 0 "$LEAT" show mixed
[ "$(grep -c '^mixed/old/results/\(good: pearson of good.csv\|there: pearson of there.clusters.csv\), 1 warning$' stdout)" -eq 2 ] &&
    [ "$(grep -c '^  series  *3$' stdout)" -eq 2 ] && [ "$(wc -l <stdout)" -eq 8 ] || { cat stdout; fail "not two results"; }
expect 0 "$LEAT" show --json mixed
[ "$(wc -l <stdout)" -eq 2 ] || { cat stdout; fail "not a line for each result"; }
printf '{"schema": 1, "leat": "0", "archive": "x.zip", "entries": []}' >mixed/old/results/result.json
expect 0 "$LEAT" show mixed/old/results
[ "$(grep -c ': pearson of ' stdout)" -eq 2 ] || { cat stdout; fail "the result of an archive lists no jobs"; }
echo '{"score": 3}' >mixed/result.json # of some other program
expect 0 "$LEAT" run -q -b cpu -o out mixed
rm -r out
expect 1 "$LEAT" show nowhere mixed/result.json mixed/old/results/good good.csv
[ "$(grep -c '^pearson' stdout)" -eq 1 ] && grep -q '^good.csv: csv' stdout || { cat stdout; fail "one that is wrong hides others"; }
says "mixed/result.json: is not a result of leat"
says "cannot find 'nowhere'"
expect 2 "$LEAT" show mixed/result.json
mkdir empty
expect 2 "$LEAT" show empty
says "'empty' holds no file that a pipeline takes"

# A link in a folder is not followed, and that is said; named on the command line it is.
mkdir links && cp good.csv links/a.clusters.csv && ln -s ../good.csv links/b.clusters.csv
expect 0 "$LEAT" run -b cpu -o linked links
says "warning: .*links/b.clusters.csv.*is a link"
[ "$(ls linked)" = a ] || fail "a link in a folder was followed"
expect 0 "$LEAT" run -q -b cpu -o linked links/b.clusters.csv

# Archives: what a folder would pass over is passed over, what would have been an input is refused.
"$python" - <<'P' || skip "no Python"
import io, struct, tarfile, zlib
data = open("good.csv", "rb").read()
def make(name, entries):
    with tarfile.open(name, "w") as t:
        for path, kind in entries:
            info = tarfile.TarInfo(path)
            info.type, info.linkname = kind, "elsewhere" if kind == tarfile.SYMTYPE else ""
            info.size = len(data) if kind == tarfile.REGTYPE else 0
            t.addfile(info, io.BytesIO(data) if info.size else None)
link, file, device = tarfile.SYMTYPE, tarfile.REGTYPE, tarfile.CHRTYPE
make("silent.tar", [("README", link), ("dev/null", device), (".git/x.clusters.csv", file), ("../up.dat", file),
                    ("a/.b/y.clusters.csv", link), ("__MACOSX/._good.clusters.csv", file), ("good.clusters.csv", file)])
make("refused.tar", [("soft.clusters.csv", link), ("../up.clusters.csv", file), ("/root.clusters.csv", file),
                     ("../" + "long" * 40 + ".clusters.csv", file), ("good.clusters.csv", file)])
# Gigabytes, of which one piece is packed, and then repeated; nobody gets to the end, where their sum would be compared.
piece, n, name = b"1,2,3,4\n" * (2 << 20), 190, b"bomb.clusters.npz"
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
packed = (packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)) * n + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
about = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, 0, len(packed), len(piece) * n, len(name), 0)
local = b"PK\3\4" + about + name
entry = b"PK\1\2" + struct.pack("<H", 20) + about + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name
with open("bomb.zip", "wb") as f:
    f.write(local + packed + entry + b"PK\5\6" +
            struct.pack("<HHHHLLH", 0, 0, 1, 1, len(entry), len(local) + len(packed), 0))
P
expect 0 "$LEAT" run -q -b cpu -o silent silent.tar
[ ! -s stderr ] || { cat stderr; fail "what a folder passes over is complained about"; }
[ "$(ls -A silent)" = good ] || fail "silent.tar gave $(ls -A silent)"
expect 1 "$LEAT" run -q -b cpu -o refused refused.tar
[ "$(wc -l <stderr)" -eq 4 ] || { cat stderr; fail "not 4 refusals"; }
for what in 'soft.*it is a link' '\.\./up.*leads out' '/root.*absolute' '\.\./long.*leads out'; do
    says "$what"
done
[ "$(ls -A refused)" = good ] || fail "refused.tar gave $(ls -A refused)"

# Two that are no archives (under the leak sanitizer: nothing of them is kept), pipes in a folder.
echo x >one.zip && echo x >two.zip
expect 1 "$LEAT" run -q -b cpu -o out one.zip two.zip
[ "$(wc -l <stderr)" -eq 2 ] || { cat stderr; fail "not 2 failures"; }
mkdir pipes && mkfifo pipes/pipe.zip pipes/pipe.clusters.csv
expect 2 timeout $wait_s "$LEAT" run -q -b cpu -o out pipes
says "'pipes' holds no file"

# Unpacking gigabytes ends at a signal.
mkdir scratch
"$LEAT" run -b cpu --max-ratio 0 -o scratch bomb.zip 2>stderr &
pid=$!
wait_for "the archive is being unpacked" grep -q '^wchar: [0-9]\{8,\}' /proc/$pid/io
of_children() { awk '{ print $16 + $17 }' /proc/$$/stat; } # that have ended, as all of them below: in ticks of processors
ended=$(of_children)
kill -INT $pid
had=$(awk '{ print $14 + $15 }' /proc/$pid/stat)
wait $pid
status=$?
took=$(($(of_children) - ended - had))
[ $status -eq 130 ] || fail "exit status $status after SIGINT"
[ $took -lt $((200 * patience)) ] || fail "unpacking took $took more hundredths of a second of processors after SIGINT"
says 'stopped by a signal'
[ -z "$(ls -A scratch)" ] || fail "left behind: $(ls -A scratch)"
echo "own results, hidden files, links and pipes in folders are no inputs; stopped within $took ticks"
