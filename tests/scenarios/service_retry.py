"""A failed job that is tried again is the same job, with its files and its age, and with the parameters that the configuration
gives now; whether a service runs or starts later, and whatever lies in in/ by then."""
# ctest: slots=1
import json
import os
import signal
import subprocess

from lib import begin
from service import LEAT, Service, attempts, record, table

begin()


def retry(s, *words):
    return subprocess.run([LEAT, "retry", "--spool", s.spool, *words], capture_output=True, text=True)


def configure(k):
    with open("leat.conf", "w") as f:
        f.write(f"[pipeline kmeans]\nk = {k}\n")


POINTS = "a,b\n1,2\n1,3\n8,9\n8,8\n"
configure(9)
s = Service("spool", "--config", "leat.conf", "--settle", "0.2")
for name in "sub/p.points.csv", "q.points.csv", "r.points.csv", "lacks.points.csv", "torn.points.csv", "bad.clusters.csv":
    s.drop(name, "1,x\n" if name.startswith("bad") else POINTS)
s.until(lambda: s.status()["n_failed"] == 6, "so many clusters of so few points")
ids = {name: reason["id"] for name, reason in s.reasons().items()}
os.unlink(f"spool/failed/{ids['lacks.points.csv']}/in/lacks.points.csv")
with open(f"spool/failed/{ids['torn.points.csv']}/job", "w") as f:
    f.write('{"schema": 2, "id"')

# By a service that runs: what cannot be stays where it is, with a word; another file of that name is another drop.
said = retry(s, ids["lacks.points.csv"], ids["torn.points.csv"], "nix")
s.check(said.returncode == 2 and "its input 'lacks.points.csv' is not in" in said.stderr and "does not say what it is of" in said.stderr
        and "there is no job 'nix'" in said.stderr, said.stderr)
s.check(s.has(f"failed/{ids['torn.points.csv']}/in/torn.points.csv"), "it has moved")
configure(2)
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "configuration" in s.said(), "the configuration is read")
s.drop("q.points.csv.part", POINTS)
os.rename("spool/in/q.points.csv.part", "spool/in/q.points.csv")
s.until(lambda: s.has("out/q"), "another drop")
said = retry(s, ids["q.points.csv"])
s.check(said.returncode == 0 and "is tried again" in said.stderr, said.stderr)
other = f"out/q~{ids['q.points.csv']}"
s.until(lambda: s.has(other), "the retried one")
with open(f"spool/{other}/result.json") as f:
    s.check(json.load(f)["job"] == ids["q.points.csv"], "another job")
said = retry(s, ids["bad.clusters.csv"], "nix")
s.check(said.returncode == 1, said.stderr)
s.until(lambda: s.status()["totals"]["failed"] == 7, "it fails again")
s.check(s.status()["latency"]["count"] == 2, "one that is tried again waits since then")
s.check(s.reasons()["bad.clusters.csv"]["attempts"] == 1 and s.reasons()["bad.clusters.csv"]["id"] == ids["bad.clusters.csv"], s.reasons())

# One that is taken up and not attempted before the service dies is there at the next start, as one that has not been attempted.
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
for i in range(40):  # the worker has its fill
    s.drop(f"many{i}.clusters.csv", table())
s.check(retry(s, ids["r.points.csv"]).returncode == 0, "a yes")
s.stop(-9, signal.SIGKILL)
s.check(record(f"spool/.work/{ids['r.points.csv']}")["folder"] == "" and not s.has(f"failed/{ids['r.points.csv']}"), "a yes that does not hold")

# Asked for while none runs: with what the next one is configured to.
said = retry(s, "--all")
s.check(said.returncode == 0 and "the next one does it when it starts" in said.stderr, said.stderr)
s = Service("spool", "--config", "leat.conf")
s.until(lambda: s.has("out/sub/p") and s.has("out/r") and s.has("out/many39"), "all that can be")
s.until(lambda: s.status()["n_failed"] == 3 and not attempts(), "no more than can be")
s.check(s.has("done/sub/p.points.csv") and s.has("done/r.points.csv"), "their inputs")
s.stop()
s.is_clean()
print("tried again: the same jobs, as old as they were, with the configuration of now")
