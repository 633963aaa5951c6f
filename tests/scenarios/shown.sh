#!/bin/sh
# All that check and show say of an input and a result of each pipeline, but for parameters, which have tests of their
# own, and sizes of files, which depend on the processor; and all that run and check say of a folder with something of
# everything: shown.txt.
. "$(dirname "$0")/lib.sh"
printf 'a,b,c\n1,2,3.5\n4,5,7\n6,9,8\n5,5,5\n' >t.clusters.csv
printf '1,2,3\n4,5,7\n6,9,8\n' >u.clusters.csv
printf 'a,b,c\n1,2,3.5\n4,,7\n6,9,7\n5,5,7\n5,3,7\n' >v.clusters.csv
printf '0\n0.5\n3\n' >n.query.csv
{
    expect 0 "$LEAT" generate dem --rows 20 --columns 20 -q -o slope.asc &&
        expect 0 "$LEAT" generate points --points 30 --clusters 3 -q -o p.points.csv &&
        expect 0 "$LEAT" generate nodes --degree 5 -q -o n.nodes.csv
} || exit 1
printf '[pipeline sciddicat]\nsteps = 20\n[pipeline kmeans]\nk = 3\n' >leat.conf
for files in t.clusters.csv u.clusters.csv v.clusters.csv "slope.dem.asc slope.source.asc" p.points.csv "n.nodes.csv n.query.csv"; do
    expect 0 "$LEAT" check -b cpu -c leat.conf $files
    cat stdout >>said
    expect 0 "$LEAT" run -b cpu -q -c leat.conf -o out $files
done
expect 0 "$LEAT" run -b cpu -q -o out/zip --bundle t.clusters.csv
for result in out out/t out/u out/v out/slope out/p out/n out/zip/t out/zip/t/t.zip; do
    expect 0 "$LEAT" show $result
    cat stdout >>said
done
# Lines of jobs that run at a time come in any order.
mkdir -p in/sub in/pearson in/.hidden in/results
cp t.clusters.csv in/ && cp t.clusters.csv in/sub/ && cp t.clusters.csv in/.hidden/ && cp slope.dem.asc in/half.dem.asc
cp t.clusters.csv in/pearson/p.csv && cp t.clusters.csv in/pearson/p.csv.bak && ln -s t.clusters.csv in/l.clusters.csv
printf '1,2\n3,x\n' >in/bad.clusters.csv
for name in notes.md sub/book.xls t.clusters.csv.aux.xml half.dem.prj; do
    echo x >in/$name
done
(cd in && "$python" -m zipfile -c z.zip t.clusters.csv bad.clusters.csv notes.md) || fail "zip"
"$LEAT" run -b cpu -q -o in/results t.clusters.csv u.clusters.csv || fail "a result among inputs"
while read -r status command; do
    expect "$status" "$LEAT" ${command%% *} -b cpu ${command#* }
    { echo && echo "$command" && LC_ALL=C sort stderr; } >>said
done <<END
1 run -o all in
1 run -o all --resume in none.csv in/sub
2 run -o all in/sub/book.xls in/notes.md in/results/u in/results
0 run -o all --bundle --force in/pearson
1 run -q -o all in
1 check -q in
1 run -o one in/bad.clusters.csv
0 run -o one in/t.clusters.csv
0 run -o one --resume in/t.clusters.csv
1 run -o one in/t.clusters.csv
END
# result.json as it is, but for parameters and what is measured; what it says of files is so.
"$python" - out/t out/n out/slope out/zip/t unpacked >>said <<'P' || fail "result.json"
import datetime, json, os, sys, zipfile, zlib
for folder in sys.argv[1:]:
    inside = folder == "unpacked"
    if inside:
        zipfile.ZipFile("out/zip/t/t.zip").extractall(folder)
    m = json.load(open(folder + "/result.json"))

    def is_file(told, path, more=()):
        data = open(path, "rb").read()
        assert told.pop("bytes") == len(data) and told.pop("crc32") == "%08x" % zlib.crc32(data), (told, path)
        assert set(told) == {"name", *more}, told

    for told in m["inputs"]:
        st = os.stat(told["name"])
        if not inside:
            when = datetime.datetime.utcfromtimestamp(st.st_mtime_ns // 10**9).isoformat() + ".%09dZ" % (st.st_mtime_ns % 10**9)
            assert told.pop("modified") == when and told.pop("inode") == st.st_ino, told
        is_file(told, told["name"], ("format",))
    for told in m["outputs"]:
        is_file(told, folder + "/" + told["name"])
    for told in m.get("bundled", []):
        told.pop("bytes"), told.pop("crc32")
    timing = m.pop("timing", None)
    if timing:
        assert 0 < timing["wall_s"] < 1000 and 0 <= timing["efficiency"] and list(timing["lanes"]) == ["read", "decode", "device", "encode", "write"]
        assert timing["lanes"]["read"]["bytes"] == sum(os.path.getsize(i["name"]) for i in m["inputs"]), timing
        assert set(timing) == {"wall_s", "cpu_s", "efficiency", "bound_by", "lanes", "device"} and timing["device"]["device_s"] == 0, timing
        memory, backend = m.pop("memory"), m["backend"]
        assert memory["backend_bytes"] != memory["host_bytes"] > 0 < memory["backend_bytes"] and backend.pop("device") and backend.pop("detail"), (memory, backend)
    m.pop("leat"), m.pop("parameters"), m.pop("requested"), m.pop("summary")
    print(json.dumps(m))
P
sed -E '/^(Other p|P)arameters$/,/^$/d; s/^(  by leat +).*/\1VERSION/; /^  parameters:/d; s/[0-9.]+ (B|[KMG]iB)/SIZE/g; s/ in [0-9.]+ m?s( |$)/ in TIME\1/; s/(convert it|does not read): .*/\1/; s/ +$//' said >got
diff -u "$here/shown.txt" got || fail "it differs from shown.txt"
echo "all that is shown of results and inputs"
