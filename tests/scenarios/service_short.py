"""Short jobs do not wait for long ones, neither for a place at the worker nor for a thread, a block or a buffer: a table gets
its result while more landslides than a worker has places for go on for ever."""
# ctest: slots=1
from lib import begin
from service import Service, grid, table

begin()
THREADS = 2
PLACES = THREADS + 6
LONG = PLACES + 2

with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s = Service("short", "--config", "leat.conf", "--threads", str(THREADS), "--drain", "0")
for i in range(LONG):
    for part in ("dem", "source"):
        s.drop(f"long{i}.{part}.asc", grid(part == "source"))


def names(jobs):
    return sorted(job["name"] for job in jobs)


s.until(lambda: len(s.status()["in_flight"]) == PLACES and s.status()["n_queued"] == LONG - PLACES, "no place is free")
for i in range(3):
    s.drop(f"table{i}.clusters.csv", table(seed=i))
    s.until(lambda: s.has(f"out/table{i}/result.json"), "a short job's result")
s.until(lambda: s.status()["totals"]["done"] == 3, "they are done")
status = s.status()
s.check(len(status["in_flight"]) == PLACES and status["n_queued"] == LONG - PLACES, "the long ones do not go on")
s.check(all(name.startswith("in/long") for name in names(status["in_flight"])), f"{names(status['in_flight'])}")
s.stop()
print("short jobs pass long ones")
