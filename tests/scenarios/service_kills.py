"""The service is killed again and again: no good job fails for it; a job tried alone is named; see service_kills.sh."""
import os
import signal
import time

from service import Service, grid, table

with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 50000000\n")

# One unclean end: jobs beside a long one go on.
s = Service("long", "--config", "leat.conf", "--drain", "0")
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
s.stop(None, signal.SIGKILL)
for i in range(10):
    name = f"a{i}.clusters.csv"
    with open(os.path.join("long/in", name), "w") as f:
        f.write(table(seed=i))
s = Service("long", "--config", "leat.conf", "--drain", "0")
s.until(lambda: s.status()["totals"]["done"] == 10, "others are done beside the long one", 30)
s.stop(None, signal.SIGKILL)

# Two: the long one is tried alone, and status says so.
s = Service("long", "--config", "leat.conf", "--drain", "0")
s.until(lambda: s.status()["in_flight"], "the long job again")
s.drop("b.clusters.csv", table())
s.until(lambda: "in/long.dem.asc is tried alone" in s.status()["why"], "why others wait", 20)
s.check(s.status()["ready"], "it is not ready")
s.stop()

# Many, with jobs of every length at the worker: none of them fails.
n = 40
for k in range(12):
    s = Service("many", wait=False)
    if k == 0:
        os.makedirs("many/in", exist_ok=True)
        for i in range(n):
            s.drop(f"k{i}.clusters.csv", table(rows=400, columns=400, seed=i))
    time.sleep(0.5 + 0.03 * k)
    s.process.kill()
    s.process.wait()
s = Service("many")
s.until(lambda: len(os.listdir("many/done")) == n, "all are done in spite of kills", 60)
s.check(not os.listdir("many/failed"), "a good job has failed")
s.stop()
s.is_clean()
print("killed again and again: nobody fails for it")
