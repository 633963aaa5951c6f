"""Jobs whose results have the same name, with replace = yes: the one dropped last stays; see service_order.sh."""
import json
import os

from service import WATCHED, Service, grid, table

with open("leat.conf", "w") as f:
    f.write(f"replace = yes\njobs = 2\n[pipeline sciddicat]\nsteps = {20000 if WATCHED else 1000000}\n")


def pipeline_of(name):
    with open(f"spool/out/{name}/result.json") as f:
        return json.load(f)["pipeline"]


s = Service("spool", "--config", "leat.conf")
for part in ("dem", "source"):
    s.drop(f"x.{part}.asc", grid(part == "source"))
s.until(lambda: s.status()["in_flight"], "a long job")
s.drop("x.clusters.csv", table())
s.drop("sub/x.clusters.csv", table())  # another result
s.until(lambda: s.has("out/x") and s.has("out/sub/x"), "nobody waits for a result of the same name")
ends_last = any(j["name"] == "in/x.dem.asc" for j in s.status()["in_flight"])  # or it has been replaced
s.until(lambda: s.status()["totals"]["done"] == 3, "the long one ends")
s.check(s.has("done/x.dem.asc") and (not ends_last or "stays: it is of a younger job" in s.said()), "its result")
s.check(pipeline_of("x") == "pearson" and sorted(os.listdir("spool/out")) == ["sub", "x"], "an earlier result is there")

# Dropped later, it replaces what is there.
for part in ("dem", "source"):
    s.drop(f"x.{part}.asc", grid(part == "source"))
s.until(lambda: s.status()["totals"]["done"] == 4, "the long one again")
s.check(pipeline_of("x") == "sciddicat" and sorted(os.listdir("spool/out")) == ["sub", "x"], "a later result is not there")
s.stop()
s.is_clean()
