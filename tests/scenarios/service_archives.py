"""Archives in the watched folder: each is one drop and one result, with the results of its files in it; killed at any
time, each is there once and whole."""
# ctest: long slots=1 tsan=soak
import contextlib
import filecmp
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import zipfile

from lib import begin, skip
from service import LEAT, WATCHED, Service, attempts, grid, table

begin()
if shutil.which("zstd") is None:
    skip("no zstd here (Debian: zstd)")
FAULTY = os.environ.get("LEAT_FAULTY", "")

TABLES = {f"t{i}.clusters.csv": table(rows=20, seed=i).encode() for i in range(6)}
GRIDS = {"deep/g.dem.asc": grid(False).encode(), "deep/g.source.asc": grid(True).encode()}
GOOD = {**TABLES, **GRIDS}
BAD = {"bad.clusters.csv": b"1,2\n3,x\n4,5\n", "../up.clusters.csv": b"1,2\n", "in.tar.gz": b"x",
       "half.dem.asc": grid(False).encode()}


def tar(path, files, mode):
    with tarfile.open(path, "w:" + mode) as t:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))


def pack(path, files):
    if path.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for name, data in files.items():
                z.writestr(name, data)
    elif path.endswith(".7z"):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(data)
            subprocess.run(["cmake", "-E", "tar", "cf", os.path.abspath(path), "--format=7zip", *files], cwd=folder, check=True)
    elif path.endswith(".zst"):
        tar(path + ".tar", files, "")
        with open(path, "wb") as out:
            subprocess.run(["zstd", "-q", "-c", path + ".tar"], stdout=out, check=True)
        os.remove(path + ".tar")
    else:
        tar(path, files, {"tar": "", "tgz": "gz"}.get(path.split(".")[-1], path.split(".")[-1]))


def drop(s, name, files):
    aside = os.path.join(s.spool, "." + os.path.basename(name))
    pack(os.path.join(os.path.dirname(aside), os.path.basename(name)), files)
    os.makedirs(os.path.dirname(os.path.join(s.spool, "in", name)), exist_ok=True)
    os.rename(os.path.join(os.path.dirname(aside), os.path.basename(name)), os.path.join(s.spool, "in", name))


def entries(s, result):
    """What the index of an archive's result says of its files, by name."""
    with open(os.path.join(s.spool, "out", result, "result.json")) as f:
        index = json.load(f)
    names, at = [e["name"] for e in index["entries"]], index["archive"]
    s.check(list(index)[:5] == ["schema", "leat", "job", "archive", "entries"] and index["schema"] == 1 and names == sorted(names) and
            at.startswith(f"in/{result}.") and all(name.startswith(at) for name in names), index)
    for e in index["entries"]:
        s.check(s.has(f"out/{result}/{e['result']}/result.json") if e["code"] == "ok" else e["text"], e)
    return {e["name"]: e for e in index["entries"]}


def results_in(folder):
    return sorted(os.path.relpath(path, folder) for path, _, files in os.walk(folder) if "result.json" in files)


def is_as_by_run(s, result, reference="reference"):
    """The data files of every result are those that `leat run` makes of the same archive."""
    for folder in results_in(reference):
        files = [f for f in os.listdir(f"{reference}/{folder}") if f not in ("result.json", "report.html")]
        files = [f for f in files if os.path.isfile(f"{reference}/{folder}/{f}")]
        _, wrong, missing = filecmp.cmpfiles(f"{reference}/{folder}", f"{s.spool}/out/{result}/{folder}", files, False)
        s.check(not wrong and not missing and files, f"{result}/{folder}: {wrong} {missing}")
    there = results_in(f"{s.spool}/out/{result}")
    s.check(there == sorted([*results_in(reference), "."]), f"{result} holds {there}")


pack("reference.tar", GOOD)
with open("conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 20\n")
subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-c", "conf", "-o", "reference", "reference.tar"], check=True)
assert len(os.listdir("reference")) == 7, os.listdir("reference")

# Files in archives that hang the worker or kill it, and one that meets an error of the program; looked at again below.
if FAULTY:
    faults = Service("faults", "--config", "conf", "--deadline", "20" if WATCHED else "6", "--max-attempts", "2",
                     program=FAULTY, env={"LEAT_WORKER_FAULT": "hang sleeper, kill eater, internal odd"})
    for name in "sleeper", "eater", "odd":
        drop(faults, name[0] + ".tar", {**TABLES, name + ".clusters.csv": TABLES["t0.clusters.csv"]})

# One file takes long: how much of its archive is read shows. It passes its deadline, and the others have results.
with open("long.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s = Service("long", "--config", "long.conf", "--threads", "1", "--drain", "0")
drop(s, "long.tar", {"t.clusters.csv": TABLES["t0.clusters.csv"], **GRIDS, "u.clusters.csv": TABLES["t1.clusters.csv"]})
s.until(lambda: any(0 < job["bytes"] <= job["total_bytes"] for job in s.status()["in_flight"]), "bytes of an archive")
s.stop()
s = Service("long", "--config", "long.conf", "--threads", "1", "--deadline", "20" if WATCHED else "6")
s.done(["long.tar"], "an archive of which one file takes too long")
found = {name: e["code"] for name, e in entries(s, "long").items()}
s.check(found == {"in/long.tar/deep/g.dem.asc": "deadline", "in/long.tar/t.clusters.csv": "ok",
                  "in/long.tar/u.clusters.csv": "ok"}, f"{found}")
s.check(s.status()["totals"]["requeued"] == 0, "it was tried again")
s.stop()
s.is_clean()

# What is dropped after an archive does not wait for all that is in it.
s = Service("places", "--config", "conf", "-j", "1")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)


def n_attempted():
    return sum(n > 0 for n in attempts("places").values())


drop(s, "p.tar", {f"p{i:02}.clusters.csv": table(rows=150, columns=200, seed=i).encode() for i in range(12)})
s.until(lambda: n_attempted() == 1, "the archive is at the worker")
later = ["a", "b", "c"]
for name in later:
    s.drop(name + ".clusters.csv", table())
s.until(lambda: n_attempted() == 4, "all are at the worker")
os.kill(worker, signal.SIGCONT)
s.done(["p.tar", *(name + ".clusters.csv" for name in later)], "an archive and what came after it")
ends = {name: os.stat(f"places/out/{name}/result.json").st_mtime_ns for name in [*later, *(f"p/p{i:02}" for i in range(12))]}
s.check(max(ends[name] for name in later) < max(ends.values()), f"all in the archive came first: {ends}")
s.stop()

# Every kind; a folder that names the pipeline; files that are bad among good ones; none that is good.
s = Service("kinds", "--config", "conf")
kinds = ["a.tar", "b.tgz", "c.tar.xz", "d.tar.bz2", "e.zip", "f.tar.zst"]
for name in kinds:
    drop(s, name, GOOD)
s.done(kinds, "all kinds")
for name in kinds:
    is_as_by_run(s, name[0])
    found = entries(s, name[0])
    s.check(len(found) == 7 and {e["code"] for e in found.values()} == {"ok"}, f"{name}: {found}")
drop(s, "pearson/plain.zip", {"x.csv": TABLES["t0.clusters.csv"]})
s.done(["pearson/plain.zip"], "a folder's pipeline")
s.check(s.has("out/pearson/plain/x/pearson.npz"), "no result of x.csv")
drop(s, "mixed.tar.gz", {**BAD, **GOOD})
s.done(["mixed.tar.gz"], "good ones among bad ones")
is_as_by_run(s, "mixed")
found = {name: e["code"] for name, e in entries(s, "mixed").items() if e["code"] != "ok"}
s.check(len(found) == 4 and set(found.values()) == {"bad-input"}, f"mixed.tar.gz: {found}")
s.check("4 of its files failed" in s.said(), "the log does not tell of them")
refused = {f"../{i}.clusters.csv": b"" for i in range(1500)}
drop(s, "refused.tgz", {**refused, "t0.clusters.csv": TABLES["t0.clusters.csv"]})
s.done(["refused.tgz"], "one among many that are refused")
found = [e["code"] for e in entries(s, "refused").values()]
s.check(found.count("bad-input") == 1000 and found.count("ok") == 1, f"{len(found)} are listed")
with open("kinds/out/refused/result.json") as f:
    s.check(json.load(f)["failures_not_listed"] == 500, "the others are not counted")
drop(s, "g.7z", GOOD)
s.until(lambda: "g.7z" in s.reasons(), "a kind that the service does not open")
s.check("7z archive" in s.reasons()["g.7z"]["reason"] and s.reasons()["g.7z"]["kind"] == "unsupported", f"{s.reasons()}")
drop(s, "none.zip", BAD)
drop(s, "empty.zip", {"notes.md": b"x"})
with open("kinds/broken", "wb") as f:
    f.write(b"PK\3\4 and nothing")
os.rename("kinds/broken", "kinds/in/broken.zip")
s.until(lambda: len(s.reasons()) == 4, "three more that fail")
for name, says in ("none.zip", ""), ("empty.zip", "holds no file"), ("broken.zip", "broken.zip"):
    s.check(says in s.reasons()[name]["reason"] and s.reasons()[name]["kind"].startswith("bad-"), f"{s.reasons()}")
s.stop()
s.is_clean()

# Its limits are those of the configuration.
s = Service("limits", "--config", "conf", "--max-entries", "5")
drop(s, "many.tar.gz", GOOD)
s.until(lambda: s.reasons(), "too many entries")
s.check("more than 5 entries" in s.reasons()["many.tar.gz"]["reason"], f"{s.reasons()}")
s.stop()
s.is_clean()

# The service, and then its worker, are killed while archives are worked on.
n = 2 if WATCHED else 4
s = Service("killed", "--config", "conf", "--threads", "1", "--max-attempts", "100")
names = [f"k{i}.tar.gz" for i in range(n)]
large = {f"l{i}.clusters.csv": table(rows=100 if WATCHED else 150, columns=200, seed=i).encode() for i in range(4)}
for name in names:
    drop(s, name, {**GOOD, **large})


def is_begun():
    return any(".part" in f and os.listdir(f"killed/out/{f}") for f in os.listdir("killed/out")) or n_done() == n


def n_done():
    return len(os.listdir("killed/done"))


hits = 0
for k in range(200):
    if k >= 2 * len(large) and hits > 0:
        break
    if n_done() == n:  # before they could be killed: one more
        names.append(f"k{n}.tar.gz")
        drop(s, names[-1], {**GOOD, **large})
        n += 1
    s.until(is_begun, "an archive is worked on")
    time.sleep(0.02 * min(k, 8))
    hits += n_done() < n
    if k % 2 == 0:
        s.stop(None, signal.SIGKILL)
        s = Service("killed", "--config", "conf", "--threads", "1", "--max-attempts", "100")
    else:
        for pid in [w["pid"] for w in s.status()["workers"] if w["pid"]]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
s.until(lambda: n_done() == n, "all are done in spite of kills")
s.check(hits > 0, "no kill has hit an archive")
s.check(not os.listdir("killed/failed"), f"a good archive has failed: {s.reasons()}")
s.until(lambda: not s.status()["in_flight"] and s.status()["n_queued"] == 0, "it rests")
s.stop()
s.is_clean()
out = sorted(os.listdir("killed/out"))
s.check(out == sorted(name.split(".")[0] for name in names), f"results: {out}")
for name in names:
    found = entries(s, name.split(".")[0])
    s.check(len(found) == 11 and {e["code"] for e in found.values()} == {"ok"}, f"{name}: {found}")

# Two attempts each: then it is known which file it was. An error of the program is that file's own.
if FAULTY:
    s = faults
    s.until(lambda: s.status()["totals"]["done"] == 1 and s.status()["totals"]["failed"] == 2, "all archives have ended")
    for name, kind in ("sleeper", "deadline"), ("eater", "crash"):
        reason = s.reasons()[name[0] + ".tar"]
        s.check(reason["kind"] == kind and reason["attempts"] == 2, f"{reason}")
        s.check(f"'in/{name[0]}.tar/{name}.clusters.csv'" in reason["reason"], f"{reason}")
        s.check(".tar/t" not in reason["reason"], f"a good file is blamed: {reason}")
    found = {name: e["code"] for name, e in entries(s, "o").items() if e["code"] != "ok"}
    s.check(found == {"in/o.tar/odd.clusters.csv": "internal"} and len(entries(s, "o")) == 7, f"{found}")
    s.stop()
    s.is_clean()
print(f"archives of {len(kinds)} kinds; {hits} of {2 * n} kills hit one, and each is there once and whole")
