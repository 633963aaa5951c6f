"""The service: first use, what waits and why, parts, restarts, signals."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time

from lib import begin
from service import LEAT, WAIT_S, Service, grid, table

begin()
s = Service("spool")

# A file dropped becomes a result; the input goes to done/, also from a sub-folder.
s.drop("a.clusters.csv", table())
s.drop("sub/deep/b.clusters.csv", table(seed=2))
s.drop("pearson/c.csv", table(seed=3))
s.until(lambda: s.status()["totals"]["done"] == 3, "three results")
for name in "a", "sub/deep/b", "pearson/c":
    s.check(s.has(f"out/{name}/result.json"), f"no result {name}")
for path in ("a.clusters.csv", "sub/deep/b.clusters.csv", "pearson/c.csv"):
    s.check(s.has("done/" + path) and not s.has("in/" + path), f"{path} was not put away")
with open("spool/out/pearson/c/result.json") as f:
    result = json.load(f)
s.check(result["pipeline"] == "pearson" and result["inputs"][0]["name"] == "pearson/c.csv", "result.json")

# The same name again is a new job, and its result gets a name of its own.
s.drop("a.clusters.csv", table(seed=4))
s.until(lambda: s.status()["totals"]["done"] == 4, "the same name again")
s.check(len([n for n in os.listdir("spool/out") if n.startswith("a~")]) == 1, "no second result for a")

# Parts wait for each other; a .prj that is there goes along.
s.drop("x.dem.asc", grid(False))
s.drop("x.dem.prj", 'LOCAL_CS["here"]')
s.until(lambda: "waits for x.source.*" in s.waits().get("in/x.dem.asc", ""), "a part that waits")
s.drop("x.source.asc", grid(True))
s.until(lambda: s.status()["totals"]["done"] == 5, "two parts")
s.check(s.has("out/x/thickness.tif") and s.has("done/x.dem.prj") and s.has("done/x.source.asc"), "parts put away")

# Nodes wait for their queries, or for a parameter; points are whole at once.
s.drop("n.nodes.csv", "x,y\n0,1\n1,3\n2,2\n")
s.drop("p.points.csv", table(rows=40, columns=3))
s.until(lambda: "waits for n.query.*" in s.waits().get("in/n.nodes.csv", ""), "nodes that wait")
s.drop("n.query.csv", "0.5\n1\n")
s.until(lambda: s.status()["totals"]["done"] == 7, "nodes and points")
s.check(s.has("out/n/curve.npz") and s.has("done/n.nodes.csv") and s.has("done/n.query.csv"), "nodes put away")
s.check(s.has("out/p/kmeans.npz") and s.has("done/p.points.csv"), "points put away")

# What nobody takes stays, and says why; a bad file fails at once; links are put away.
s.drop("notes.md", "hello")
s.drop("bad.clusters.csv", "1,2\n3\n4,5,6\n")
os.symlink("/etc/passwd", "spool/in/link.clusters.csv")
s.until(lambda: len(s.reasons()) == 2, "two failures")
s.until(lambda: "no pipeline takes it" in s.waits().get("in/notes.md", ""), "notes.md")
s.check(s.reasons()["bad.clusters.csv"]["kind"] == "bad-input" and
        "in/bad.clusters.csv" in s.reasons()["bad.clusters.csv"]["reason"], f"reason of a bad file: {s.reasons()}")
s.check("link" in s.reasons()["link.clusters.csv"]["reason"], f"reason of a link {s.reasons()}")

# What asks for a pipeline and can never be read fails by its name, also where its job lacks a part; elsewhere it stays.
unread = {"pearson/x.parquet": "x.csv", "sciddicat/y.parquet": "y.csv", "sub/x.dem.dta": "x.dem.csv",
          "pearson/x.png": "is a picture, which leat does not read"}
for path in ["x.parquet", *unread]:
    s.drop(path, "PAR1\0" + path)
s.until(lambda: len(s.reasons()) == 2 + len(unread), "failures by name")
failed = [json.load(open(path)) for path in glob.glob("spool/failed/*/reason.json")]
for path, cure in unread.items():
    reason = next((r for r in failed if f"in/{path}: " in r["reason"]), {})
    s.check(cure in reason.get("reason", "") and reason["kind"] == "bad-input", f"{path}: {failed}")
    s.check(not s.has("in/" + path), f"{path} waits")
s.until(lambda: {f["pipeline"] for f in s.status()["failed"] if f["name"][3:] in unread} == {""}, f"their pipeline: {s.status()['failed']}")
s.until(lambda: "is Parquet, which leat does not read; convert it: python3" in s.waits().get("in/x.parquet", ""), "a format that nobody asks for")
os.unlink("spool/in/x.parquet")
s.until(lambda: "in/x.parquet" not in s.waits(), "it has gone")

# Copies that are kept beside inputs are counted, and a hundred of what waits listed.
before, COPIES = s.status()["n_waiting"], 103
for i in range(COPIES):
    s.drop(f"kept/x{i}.clusters.csv.bak", table())
s.until(lambda: s.status()["n_waiting"] == before + COPIES, "all copies")
listed = s.waits()
s.check(len(listed) == 100 and sum("kept copy" in why for why in listed.values()) >= 100 - before, listed)
shutil.rmtree("spool/in/kept")

# Somebody writes slowly: nothing is taken before the file is closed.
with open("spool/in/slow.clusters.csv", "w") as f:
    for line in table(seed=5).splitlines(True):
        f.write(line)
        f.flush()
        time.sleep(0.2)
        s.check(s.has("in/slow.clusters.csv"), "taken while it is written")
    s.until(lambda: "open for writing" in s.waits().get("in/slow.clusters.csv", ""), "a reason to wait")
s.until(lambda: s.has("out/slow"), "a slow file")

# As deep as it looks, and deeper.
deep = "/".join(["d"] * 32)
s.drop(f"{deep}/deep.clusters.csv", table(seed=9))
s.done([f"{deep}/deep.clusters.csv"], "a file in the deepest folder")
s.drop(f"{deep}/e/deeper.clusters.csv", table(seed=10))
s.until(lambda: "too deep, below 32 others" in s.waits().get("in", ""), "that a folder lies too deep")
s.until(lambda: s.status()["n_troubles"] == 1, "one place")
os.rename(f"spool/in/{deep}/e", "spool/in/e")
s.done(["e/deeper.clusters.csv"], "a file that was moved up")
s.until(lambda: s.status()["n_troubles"] == 0, "no trouble any more")

# A second service is refused.
second = subprocess.run([LEAT, "watch", "--spool", "spool"], capture_output=True)
s.check(second.returncode == 2 and b"already watched" in second.stderr, f"a second service: {second}")
s.stop()
s.is_clean()

# What it cannot work with is said at once.
for options, word in ((["--memory", "1M"], b"--memory"), (["-c", "absent.conf"], b"absent.conf"),
                      (["--output", "/proc/out"], b"/proc/out"), ([], b"watched")):
    spool = ["--spool", "other"] if options else []
    bad = subprocess.run([LEAT, "watch", "-b", "cpu", *spool, *options],
                         capture_output=True, timeout=WAIT_S)
    s.check(bad.returncode == 2 and word in bad.stderr, f"{options}: {bad}")

# What was dropped meanwhile, and what was claimed and not finished, is found at the next start.
s.drop("while.clusters.csv", table(seed=6))
s = Service("spool", "--done-file")
s.until(lambda: "waits for while.clusters.csv.done" in s.waits().get("in/while.clusters.csv", ""), "a marker")
s.drop("while.clusters.csv.done", "")
s.until(lambda: s.has("out/while") and s.has("done/while.clusters.csv.done"), "with its marker")
s.stop(None, signal.SIGKILL)

# SIGHUP: a broken configuration is refused and the old one stays; a good one holds for new jobs.
with open("leat.conf", "w") as f:
    f.write("[pipeline pearson]\nr = none\n")
s = Service("spool", "-c", "leat.conf")
with open("leat.conf", "w") as f:
    f.write("[pipeline pearson]\nnonsense = 1\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "stays as it was" in s.said() and "nonsense" in s.said(), "the refusal")
s.drop("old.clusters.csv", table(seed=7))
s.until(lambda: s.has("out/old"), "with the old configuration")
with open("leat.conf", "w") as f:
    f.write("level = 1\n[pipeline pearson]\nr = upper\ntop = 3\n[route all]\nmatch = *.dat\npipeline = pearson\n"
            "[pipeline interpolate]\nquery = linspace(0, 1, 3)\n")
s.drop("new.dat", table(seed=8))
s.drop("m.nodes.csv", "x,y\n0,1\n1,3\n2,2\n")
s.until(lambda: "m.query.* or the parameter query" in s.waits().get("in/m.nodes.csv", ""), "nodes without queries")
s.until(lambda: "in/new.dat" in s.waits(), "a file that no pipeline takes yet")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.has("out/new.dat"), "with the new configuration")
with open("spool/out/old/result.json") as old, open("spool/out/new.dat/result.json") as new:
    s.check(json.load(old)["parameters"]["r"] == "none" and json.load(new)["parameters"]["top"] == 3, "parameters")
s.until(lambda: s.has("out/m/curve.npz") and s.has("done/m.nodes.csv"), "nodes that a parameter completes")
s.stop(0, signal.SIGINT)
s.is_clean()
print("first use, waiting, restarts, signals")
