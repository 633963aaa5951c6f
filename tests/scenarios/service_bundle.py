"""bundle = yes: what the service leaves of a job is one zip, as leat run --bundle makes it."""
import json
import os
import signal
import subprocess
import tarfile

from lib import begin
import bundle
from service import LEAT, Service, grid, table

begin()
FILES = {**{f"t{i}.clusters.csv": table(seed=i) for i in range(3)}, "g.dem.asc": grid(False), "g.source.asc": grid(True),
         "below/größe.clusters.csv": table(seed=4)}


def configure(**settings):
    with open("leat.conf", "w") as f:
        f.write("".join(f"{key} = {value}\n" for key, value in settings.items()))
        f.write("[pipeline sciddicat]\nsteps = 20\nsnapshot_every = 10\n")


def renew(**settings):
    said = s.said().count("has been read again")
    configure(**settings)
    s.process.send_signal(signal.SIGHUP)
    s.until(lambda: s.said().count("has been read again") == said + 1, "the configuration is in force")


for name, data in FILES.items():
    os.makedirs(os.path.dirname(f"in/{name}"), exist_ok=True)
    with open(f"in/{name}", "w") as f:
        f.write(data)
with tarfile.open("all.tar", "w") as t:
    for name in FILES:
        t.add(f"in/{name}", name)
for answer, folder in ("no", "plain"), ("yes", "reference"):
    configure(bundle=answer)
    subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-c", "leat.conf", "-o", folder, "in"], check=True)
out = "spool/out"

# What is dropped, also in an archive, leaves the zips that leat run makes, to the byte.
s = Service("spool", "--config", "leat.conf")
for name, data in FILES.items():
    s.drop(name, data)
s.until(lambda: s.status()["totals"]["done"] == 5, "all results")
bundle.compare("plain", out)
bundle.same("reference", out)
with open("all.tar", "rb") as f:
    s.drop("all.tar", f.read())
s.done(["all.tar"], "an archive")
os.remove(f"{out}/all/result.json")  # the index, which has no zip
bundle.compare("plain", f"{out}/all")

# A second one of that name has another folder, and its zip the name of the input.
s.drop("t0.clusters.csv", table(seed=7))
s.until(lambda: s.status()["totals"]["done"] == 7, "a result of the same name")
other, = [n for n in os.listdir(out) if n.startswith("t0~")]
s.check(sorted(os.listdir(f"{out}/{other}")) == ["result.json", "t0.zip"], f"{os.listdir(f'{out}/{other}')}")
bundle.whole(f"{out}/{other}")

# Another configuration holds for what comes: one replaces the other.
renew(bundle="no", replace="yes")
s.drop("t1.clusters.csv", FILES["t1.clusters.csv"])
s.until(lambda: not os.path.exists(f"{out}/t1/t1.zip") and os.path.exists(f"{out}/t1/report.html"), "it is replaced")
s.until(lambda: s.status()["totals"]["done"] == 8, "that is counted")
with open(f"{out}/t1/result.json") as f:
    s.check("bundled" not in json.load(f), "it says that there is a zip")
renew(bundle="yes", replace="yes")
s.drop("t1.clusters.csv", FILES["t1.clusters.csv"])
s.until(lambda: os.path.exists(f"{out}/t1/t1.zip"), "it is replaced by a zip")
s.until(lambda: s.status()["totals"]["done"] == 9, "that is counted, too")
bundle.same("reference/t1", f"{out}/t1")
s.check(s.status()["totals"]["failed"] == 0 and s.status()["totals"]["requeued"] == 0, f"{s.status()['totals']}")
s.stop()
s.is_clean()
print("the service bundles as leat run does, by its configuration")
