"""The last jobs, as `leat status` shows them: those that ended with recovery are among them, failures that have left failed/
not."""
# ctest: slots=1 tsan=soak
import json
import os
import shutil
import subprocess

from lib import begin
from service import LEAT, Service, committed, part_of, table

begin()


def failures(s):
    return {job["name"]: job for job in s.status()["failed"]}


def page(s):
    return subprocess.run([LEAT, "status", "--spool", s.spool], capture_output=True, text=True).stdout


s = Service("spool")
for name in "abc":
    s.drop(f"{name}.clusters.csv", "1,2\n3,x\n")
s.until(lambda: len(failures(s)) == 3, "three failures")
ids = {name: job["id"] for name, job in failures(s).items()}
os.rename(f"spool/failed/{ids['in/a.clusters.csv']}", "spool/failed/looked-at")
s.until(lambda: [job["id"] for job in s.status()["failed"]] == ["looked-at", ids["in/c.clusters.csv"], ids["in/b.clusters.csv"]],
        "one that was renamed is still one that lies there")
s.check("more" not in page(s) and s.status()["totals"]["failed"] == s.status()["n_failed"] == 3, page(s))
shutil.rmtree("spool/failed/looked-at")
s.until(lambda: s.status()["n_failed"] == 2 and "looked-at" not in page(s), "one that was removed")
subprocess.run([LEAT, "retry", "--spool", "spool", ids["in/b.clusters.csv"]], check=True)
s.until(lambda: s.status()["totals"]["failed"] == 4 and s.status()["n_failed"] == 2, "one that has failed again is shown once")
s.stop()

# Found in .work: one that has failed and was not moved, and one that was committed.
os.rename(f"spool/failed/{ids['in/c.clusters.csv']}", f"spool/.work/{ids['in/c.clusters.csv']}")
ID = "20200102-030405-000006"
os.makedirs(f"spool/.work/{ID}/in")
os.makedirs(part_of("spool", ID))
with open(f"spool/.work/{ID}/in/d.clusters.csv", "w") as f:
    f.write(table())
with open(part_of("spool", ID) + "/result.json", "w") as f:
    f.write("{}")
with open(f"spool/.work/{ID}/job", "w") as f:
    json.dump(committed("spool", ID, "d", folder="sub"), f)
s = Service("spool")
found = failures(s)["in/c.clusters.csv"]
s.check(found["kind"] == "bad-input" and '"x"' in found["text"] and found["id"] == ids["in/c.clusters.csv"], f"{found}")
done = [job for job in s.status()["done"] if job["id"] == ID]
s.check(len(done) == 1 and done[0]["name"] == "in/sub/d.clusters.csv" and done[0]["result"] == "d", f"{done}")
s.stop()

# The last twenty of each kind, the youngest first; all are counted.
s = Service("many")
for i in range(22):
    s.drop(f"good{i}.clusters.csv", table(rows=3, columns=4, seed=i))
    s.drop(f"bad{i}.clusters.csv", "1,2\n3,x\n")
    s.until(lambda: s.status()["totals"]["done"] == s.status()["totals"]["failed"] == i + 1, "one more of each")
d = s.status()
for what, word in (("done", "good"), ("failed", "bad")):
    s.check([job["name"] for job in d[what]] == [f"in/{word}{i}.clusters.csv" for i in reversed(range(2, 22))], d[what])
s.check(d["n_failed"] == 22, d["n_failed"])


def used():
    """What the worker has used, by the status and by all results: a job's is told with the next sign of life."""
    busy = s.status()["workers"][0]["busy"]
    timings = []
    for name in os.listdir("many/out"):
        with open(f"many/out/{name}/result.json") as f:
            timings.append(json.load(f)["timing"])
    return ([busy["cpu_s"], *(lane["busy_s"] for lane in busy["lanes"])],
            [sum(t["cpu_s"] for t in timings), *(sum(t["lanes"][lane["lane"]]["busy_s"] for t in timings) for lane in busy["lanes"])])


s.until(lambda: all(abs(told - is_so) < 1e-6 for told, is_so in zip(*used())), "what all jobs together have used")
s.stop()

# What is in failed/ is counted there: also after a restart, and when more than are shown have been removed.
for i in range(38):
    os.makedirs(f"many/failed/20200102-030405-{i:06}/in")
    with open(f"many/failed/20200102-030405-{i:06}/in/x.csv", "w") as f:
        f.write("1,2\n")
s = Service("many")
s.until(lambda: s.status()["n_failed"] == 60 == len(os.listdir("many/failed")), "those of before, and what others have put there")
s.check([job["name"] for job in s.status()["failed"]] == [f"in/bad{i}.clusters.csv" for i in reversed(range(2, 22))], s.status()["failed"])
s.check("  and 52 more" in page(s) and s.status()["totals"]["failed"] == 0, page(s))
for name in os.listdir("many/failed"):
    shutil.rmtree(f"many/failed/{name}")
s.until(lambda: s.status()["n_failed"] == 0 == len(s.status()["failed"]) and "failures" not in page(s), "none that is left")
s.stop()
print("the last jobs are those that ended, and the failures those in failed/")
