"""The service is killed again and again while jobs run: no good job fails for it; a job tried alone is named."""
# ctest: long slots=1 slots_watched=2
import os
import signal
import time

from lib import begin
from service import KINDS, ROUTES, THREADS_ALONE, WATCHED, Content, Drop, Service, attempts, grid, table

begin()
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
with open("routes.conf", "w") as f:
    f.write(ROUTES + "[pipeline sciddicat]\nsteps = 200\n")
content = Content(1)

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
s.until(lambda: s.status()["totals"]["done"] == 10, "others are done beside the long one")
s.stop(None, signal.SIGKILL)

# Two: the long one is tried in a process of its own, and others are done beside it.
s = Service("long", "--config", "leat.conf", "--drain", "0")
s.until(lambda: s.status()["in_flight"], "the long job again")
s.drop("b.clusters.csv", table())
s.until(lambda: s.has("done/b.clusters.csv"), "another beside it")
s.until(lambda: [(j["name"], j["worker"]) for j in s.status()["in_flight"]] == [("in/long.dem.asc", "alone 1: cpu")] and
        s.status()["ready"], f"where it is tried: {s.status()}")
s.stop()

# Many, with jobs of every kind and length at the worker: none of them fails. No more kills than recoveries that a job
# has beside its attempts: where no life is long enough for any job, the one that is tried alone is charged each time.
def n_attempted(spool):
    return sum(n > 0 for n in attempts(spool).values())


def is_begun(spool, started):
    try:
        with os.scandir(f"{spool}/out") as found:
            return any(part.name.endswith(".part") and part.stat().st_ctime >= started for part in found)
    except FileNotFoundError:  # it is not there yet, or a part has got its name
        return False


def has_all(s, drops):
    return s.has("done") and len(os.listdir(os.path.join(s.spool, "done"))) == sum(len(d.files) for d in drops)


hits, drops = 0, []
text = table(rows=80 if THREADS_ALONE else 120 if WATCHED else 500, columns=400)  # as long a job where a sanitizer watches as elsewhere
os.makedirs("many/in")
for k in range(8):
    started = time.time()
    s = Service("many", "--config", "routes.conf", "--threads", "1", "--level", "9", wait=False)
    more = [content.good(kind) for kind in KINDS]
    for i in range(3 if k > 0 else 20):
        more.append(Drop({f"k{k}-{i}.clusters.csv": f"{k}.{i}" + text[text.index(","):]}, True))
    for drop in more:
        s.drop_all(drop)
    drops += more
    s.until(lambda: is_begun("many", started) or has_all(s, drops), "a job is begun")
    time.sleep(0.01 * k)
    s.stop(None, signal.SIGKILL)
    hits += n_attempted("many") > 0
s = Service("many", "--config", "routes.conf")
s.until(lambda: has_all(s, drops), "all are done in spite of kills")
s.check(hits > 0, "no kill has hit a job")
s.check(not os.listdir("many/failed"), "a good job has failed")
s.stop()
s.is_clean()
s.has_once(drops)

# A worker is killed while its service stands still and has not heard what was begun: parts are emptied, none fails.
n = 17 if THREADS_ALONE else 65
s = Service("deaf", "--config", "routes.conf", "-j", "16")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
drops = [content.good(KINDS[i % len(KINDS)]) for i in range(n)]
for drop in drops:
    s.drop_all(drop)


def n_made():
    return sum(os.path.exists(f"deaf/out/{part}/result.json") for part in os.listdir("deaf/out"))


s.until(lambda: n_attempted("deaf") == n, "all are sent to the worker")
time.sleep(0.3)
s.process.send_signal(signal.SIGSTOP)
os.kill(worker, signal.SIGCONT)
since = time.monotonic()


def is_made():
    global since
    if n_made() == 0 and time.monotonic() - since > 10:  # it stood still before it had sent a job
        s.process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        s.process.send_signal(signal.SIGSTOP)
        since = time.monotonic()
    return n_made() > 0


s.until(is_made, "a result is made")
os.kill(worker, signal.SIGKILL)
made = n_made()
s.process.send_signal(signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == n, "all have ended")
s.check(not os.listdir("deaf/failed"), f"{made} were made; a good job has failed: {s.reasons()}")
s.stop()
s.is_clean()
s.has_once(drops)
print(f"killed again and again, {hits} times of 8 while jobs ran, and with {made} of {n} made unheard: nobody fails for it")
