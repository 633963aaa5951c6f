"""What a pipeline may ask of the engine, with the two that tests have (tests/seams), against NumPy: parts of unknown length,
results that leave while input streams, several passes over a part, columns by part, text from the user; in bounded memory,
and nothing left where a job fails on the way."""
# ctest: long asan=soak tsan=soak
import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
import zlib

from lib import begin, needs_faulty

begin("numpy")
import numpy

needs_faulty()
LEAT = os.environ["LEAT_FAULTY"]
SMALL = ["--threads", "2", "--memory", "28M"]
N, COLUMNS = 400_000, 3  # 9.6 MB of numbers and more text, beside some 8 MB for jobs
TITLE = "a \"title\"; with = and # ünd"


def run(*arguments, status=0, says=None):
    done = subprocess.run([LEAT, "run", "-q", "-b", "cpu", *SMALL, *arguments], stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert says is None or re.search(says, done.stderr), done.stderr


def about(folder):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        told = json.load(f)
    for output in told["outputs"]:
        path = os.path.join(folder, output["name"])
        with open(path, "rb") as f:
            data = f.read()
        assert len(data) == output["bytes"] and f"{zlib.crc32(data):08x}" == output["crc32"], output
    for given in told["inputs"]:
        with open(given["name"], "rb") as f:
            data = f.read()
        assert len(data) == given["bytes"] and f"{zlib.crc32(data):08x}" == given["crc32"], given
    assert sorted(os.listdir(folder)) == sorted(["result.json"] + [o["name"] for o in told["outputs"]])
    return told


def read(folder, name):
    """The array of NAME.npz, a row a column of the input; the text must say the same."""
    assert zipfile.ZipFile(f"{folder}/{name}.npz").testzip() is None
    with numpy.load(f"{folder}/{name}.npz") as z:
        array, shape = z[name] if name in z else numpy.empty((0, 0)), z["shape"]
    with gzip.open(f"{folder}/{name}.csv.gz", "rt") as f:
        assert f.readline() == "number\n"
        text = numpy.array(f.read().replace("\n", ",").split(",")[:-1], dtype=float).reshape(-1, array.shape[0])
    assert array.shape == (shape[1], shape[0]), (array.shape, shape)
    assert numpy.array_equal(text, array.T), "the text says something else"
    return array


def write(name, table, header=None, pack=False):
    with (gzip.open(name, "wt", 1) if pack else open(name, "w", encoding="utf-8")) as f:
        if header:
            f.write(",".join(header) + "\n")
        f.writelines(",".join(map(repr, row)) + "\n" for row in table.tolist())


random = numpy.random.default_rng(1)
table = random.integers(-999999, 999999, (N, COLUMNS)) / 64.0
write("long.numbers.csv", table)
write("packed.numbers.csv.gz", table[:40_000], pack=True)
numpy.save("array.numbers.npy", table.astype("f4"))
write("one.numbers.csv", table[:1])
run("-o", "out", "-s", f"title={TITLE}", "long.numbers.csv", "packed.numbers.csv.gz", "array.numbers.npy",
    "one.numbers.csv")
assert about("out/long")["parameters"] == {"title": TITLE}
assert numpy.array_equal(read("out/long", "sums"), numpy.cumsum(table, axis=0).T)
assert numpy.array_equal(read("out/packed", "sums"), numpy.cumsum(table[:40_000], axis=0).T)
assert numpy.array_equal(read("out/array", "sums"), numpy.cumsum(table.astype("f4").astype("f8"), axis=0).T)
assert numpy.array_equal(read("out/one", "sums"), table[:1].T)
assert about("out/long")["memory"]["host_bytes"] < 4 << 20, "it was planned as if it had to hold the file"
print("results while input streams: as NumPy sums")

# Two parts of unknown length, each with columns of its own; read again from a copy, from text, and as they are.
values, queries = table[:, 0], table[:100_000, 1]
write("a.values.csv", table, ["v", "w", "u"])
write("a.asked.csv", table[:100_000], ["v", "w", "u"])
write("b.values.csv.gz", values[:, None], pack=True)
write("b.asked.csv", queries[:, None])
numpy.save("c.values.npy", values[:, None])
numpy.save("c.asked.npy", queries[:, None])
run("-o", "out", "-s", "columns=v", "-s", "query_columns=w", "a.values.csv", "a.asked.csv")
run("-o", "out", "b.values.csv.gz", "b.asked.csv", "c.values.npy", "c.asked.npy")
want = (queries - values.mean()) / values.std()
for job in "abc":
    got = read(f"out/{job}", "scores")
    assert got.shape == (1, 100_000) and numpy.allclose(got[0], want, rtol=1e-12, atol=1e-12), job
    assert numpy.array_equal(got, read("out/a", "scores")), job
assert about("out/a")["parameters"] == {"at": "", "query_columns": "w", "unit": "none"}
# A pass that reads text again decodes it again; a copy of its numbers, or an array, is only read.
decoded = {job: about(f"out/{job}")["timing"]["lanes"]["decode"]["bytes"] for job in "ac"}
text = os.path.getsize("a.values.csv") + os.path.getsize("a.asked.csv")
assert decoded["a"] < text + 8 * (N + 100_000) + 100, decoded
print("several passes: as NumPy scores")

# A parameter in place of a part.
run("-o", "at", "-s", "at=7.5", "-s", "columns=v", "a.values.csv")
run("-o", "at", "-s", "at=7.5", "c.values.npy")
run("-o", "at", "-s", "at=7.5", "-p", "scores", "one.numbers.csv")
one = (7.5 - values.mean()) / values.std()
for job in "ac":
    assert numpy.allclose(read(f"at/{job}", "scores"), one, rtol=1e-12, atol=0), job
    assert len(about(f"at/{job}")["inputs"]) == 1
run("-o", "both", "-s", "at=7.5", "a.values.csv", "a.asked.csv", status=1,
    says=r"a.asked.csv: the parameter at \('7.5'\) takes the place of X.asked")
run("-o", "bad", "-p", "scores", "one.numbers.csv", status=2, says=r"takes 2 files a job; name them X.values.csv and X.asked.csv, or set at")
os.link("one.numbers.csv", "one.dat")
run("-o", "bad", "one.dat", status=2, says=r"X.values.csv \[\+ X.asked.csv\] \(scores\)")
print("a parameter in place of a part: read once, and alone")

# A part that a job has where a parameter asks for it, between others that it may do without.
write("b.unit.csv", numpy.array([[0.25], [0.75], [1]]))
for files in (["b.asked.csv", "b.values.csv.gz", "b.unit.csv"], ["b.unit.csv", "b.asked.csv", "b.values.csv.gz"]):
    run("-o", "unit", "--force", "-s", "unit=file", *files)
    assert numpy.allclose(read("unit/b", "scores"), want / 2, rtol=1e-12, atol=1e-12)
    assert [i["name"] for i in about("unit/b")["inputs"]] == ["b.values.csv.gz", "b.unit.csv", "b.asked.csv"]
run("-o", "unit", "--force", "-s", "unit=file", "-s", "at=7.5", "b.unit.csv", "b.values.csv.gz")
assert numpy.allclose(read("unit/b", "scores"), one / 2, rtol=1e-12, atol=0) and len(about("unit/b")["inputs"]) == 2
run("-o", "other", "b.values.csv.gz", "b.asked.csv", "b.unit.csv", status=1,
    says=r"b.unit.csv: X.unit.\* goes with the parameter unit=file; set that, or remove the file")
run("-o", "bad", "-s", "unit=file", "b.values.csv.gz", "b.asked.csv", status=1,
    says=r"scores also needs b.unit.\* or the parameter unit=none")
run("-o", "bad", "-s", "unit=file", "b.unit.csv", status=1, says=r"scores also needs b.values.\* with the parameter unit=file; give all files")
print("a part between others, where it is asked for")

# Where the copy has no room the text is decoded again.
os.mkdir("small")
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m,mode=700", "leat", "small"],
                  stderr=subprocess.DEVNULL).returncode == 0:
    try:
        run("-o", "small/out", "-s", "columns=v", "-s", "query_columns=w", "a.values.csv", "a.asked.csv")
        assert numpy.array_equal(read("small/out/a", "scores"), read("out/a", "scores"))
        again = about("small/out/a")["timing"]["lanes"]["decode"]["bytes"]
        assert again > text * 3 // 2, (again, text)
        # A copy that there is room for, but not for it and the results: the job starts over without it.
        subprocess.run(["mount", "-o", "remount,size=11m", "small"], check=True)
        subprocess.run(["rm", "-r", "small/out/a"], check=True)
        write("d.values.csv", table[:1000, :1])
        write("d.asked.csv", table[:, 1:2])
        run("-o", "out", "d.values.csv", "d.asked.csv")
        run("-o", "small/out", "d.values.csv", "d.asked.csv")
        assert numpy.array_equal(read("small/out/d", "scores"), read("out/d", "scores"))
        again, once = (about(f"{out}/d")["timing"]["lanes"]["decode"]["bytes"] for out in ("small/out", "out"))
        assert again > once * 11 // 10, (again, once)
        subprocess.run(["rm", "-r", "small/out/d"], check=True)
        subprocess.run(["mount", "-o", "remount,size=5m", "small"], check=True)
        run("-o", "small/out", "long.numbers.csv", status=1, says="[Nn]o space left")
        assert os.listdir("small/out") == [], os.listdir("small/out")
    finally:
        subprocess.run(["umount", "-l", "small"], check=True)
    print("a full disk: decoded again, or failed with the reason")
else:
    print("NOT SHOWN here: a full disk (no disk can be mounted)")

# A mistake in the last line, when most of the result has been written.
with open("long.numbers.csv", "a", encoding="utf-8") as f:
    f.write("1,2,oops\n")
run("-o", "bad", "long.numbers.csv", status=1, says=rf"long.numbers.csv: line {N + 1}, column 3: .oops")
assert not os.path.exists("bad"), os.listdir("bad")

# check knows both lengths.
check = subprocess.run([LEAT, "check", "-b", "cpu", *SMALL, "-s", "columns=v", "-s", "query_columns=w", "a.values.csv",
                        "a.asked.csv"], stdout=subprocess.PIPE, text=True, check=True).stdout
assert "scores" in check and str(N) in check.replace(",", ""), check
run("-o", "bad", "a.asked.csv", status=1, says="scores also needs a.values")
run("-o", "bad", "a.values.csv", status=1, says="scores also needs a.asked.. or the parameter at")
run("-o", "bad", "-s", "query_columns=" + "w" * 1001, "a.values.csv", "a.asked.csv", status=2, says="query_columns")
sys.exit(0)
