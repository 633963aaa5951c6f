"""Jobs whose results have the same name, with replace = yes: the one dropped last stays."""
# ctest: long slots=1 tsan=soak
import json
import os
import subprocess

from lib import begin
from service import LEAT, WATCHED, Service, grid, table

begin()
with open("leat.conf", "w") as f:
    f.write(f"replace = yes\njobs = 2\n[pipeline sciddicat]\nsteps = {1000000 if WATCHED else 10000000}\n"
            "[pipeline kmeans]\nk = 1000\n")


def result_of(name):
    with open(f"spool/out/{name}/result.json") as f:
        return json.load(f)


def pipeline_of(name):
    return result_of(name)["pipeline"]


s = Service("spool", "--config", "leat.conf")
for part in ("dem", "source"):
    s.drop(f"x.{part}.asc", grid(part == "source"))
s.until(lambda: s.begun("x.dem.asc"), "a long job")
s.drop("x.clusters.csv", table())
s.drop("sub/x.clusters.csv", table())  # another result
s.until(lambda: s.has("out/x") and s.has("out/sub/x"), "nobody waits for a result of the same name")
ends_last = bool(s.begun("x.dem.asc"))  # or it has been replaced
s.until(lambda: s.status()["totals"]["done"] == 3, "the long one ends")
s.check(s.has("done/x.dem.asc") and (not ends_last or "stays: it is of a younger job" in s.said()), "its result")
s.check(pipeline_of("x") == "pearson" and sorted(os.listdir("spool/out")) == ["sub", "x"], "an earlier result is there")

# Dropped later, it replaces what is there.
for part in ("dem", "source"):
    s.drop(f"x.{part}.asc", grid(part == "source"))
s.until(lambda: s.status()["totals"]["done"] == 4, "the long one again")
s.check(pipeline_of("x") == "sciddicat" and sorted(os.listdir("spool/out")) == ["sub", "x"], "a later result is not there")

# What has failed and is tried again is as old as it was: it replaces no result of a job that came between.
for name in "x", "y":
    s.drop(f"{name}.points.csv", "a,b\n1,2\n1,3\n8,9\n8,8\n")
s.until(lambda: s.status()["totals"]["failed"] == 2, "so many clusters of so few points")
old = s.reasons()["y.points.csv"]["id"]
s.drop("x.clusters.csv", table())
s.until(lambda: s.status()["totals"]["done"] == 5, "one that comes between")
s.stop()
subprocess.run([LEAT, "retry", "--spool", "spool", "--all"], check=True)
s = Service("spool", "--config", "leat.conf", "--set", "k=2")
s.until(lambda: s.status()["totals"]["done"] == 2, "they are done after all")
s.check(pipeline_of("x") == "pearson" and sorted(os.listdir("spool/out")) == ["sub", "x", "y"], "a later result has gone")
s.check(pipeline_of("y") == "kmeans" and result_of("y")["job"] == old, result_of("y"))
s.stop()
s.is_clean()

# Of those that lay there before the start, the one that came last stays.
os.makedirs("early/in")
for i in range(40):
    for kind, delimiter in (("tsv", "\t"), ("csv", ",")):
        path = f"early/in/w{i}.clusters.{kind}"
        with open(path, "w") as f:
            f.write(delimiter.join("ab") + "\n" + "".join(f"{k}{delimiter}{k * k}\n" for k in range(12)))
s = Service("early", "--config", "leat.conf")
s.until(lambda: s.status()["totals"]["done"] == 80, "what lay there")
ids = {}
for i in range(40):
    with open(f"early/out/w{i}/result.json") as f:
        result = json.load(f)
    s.check(result["inputs"][0]["name"] == f"w{i}.clusters.csv", result["inputs"])
    ids[i] = result["job"]
s.check(sorted(ids, key=ids.get) == list(range(40)), "taken in another order than they came")
s.stop()
s.is_clean()
