"""Jobs whose results have the same name, with replace = yes: the one dropped last stays; see service_order.sh."""
import json
import os
import signal

from service import WATCHED, Service, grid, table

with open("leat.conf", "w") as f:
    f.write(f"replace = yes\njobs = 2\n[pipeline sciddicat]\nsteps = {200000 if WATCHED else 4000000}\n")


def pipeline_of(name):
    with open(f"spool/out/{name}/result.json") as f:
        return json.load(f)["pipeline"]


s = Service("spool", "--config", "leat.conf")
for part in ("dem", "source"):
    s.drop(f"x.{part}.asc", grid(part == "source"))
s.until(lambda: s.status()["in_flight"], "a long job")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)  # the long job does not end before the others have come, however fast the machine is
s.drop("x.clusters.csv", table())
s.until(lambda: "in/x.dem.asc" in s.waits().get("in/x.clusters.csv", ""), "the later one waits, and says for what")
for i in range(5):
    s.drop("x.clusters.csv", table(seed=i))
    s.until(lambda: not s.has("in/x.clusters.csv"), "taken")
s.drop("sub/x.clusters.csv", table())  # another result
os.kill(worker, signal.SIGCONT)
s.drop("y.clusters.csv", table())
s.until(lambda: s.has("out/y") and s.has("out/sub/x"), "nobody else waits")
s.check(s.status()["in_flight"][0]["name"] == "in/x.dem.asc" and s.status()["n_waiting"] == 6 and
        s.status()["n_queued"] == 0 and not s.has("out/x"), f"{s.status()}")
s.until(lambda: s.status()["totals"]["done"] == 9, "all are done")
s.check(pipeline_of("x") == "pearson" and sorted(os.listdir("spool/out")) == ["sub", "x", "y"], "an earlier result is there")
s.stop()
s.is_clean()
