"""The service is killed again and again: no good job fails for it; a job tried alone is named; see service_kills.sh."""
import os
import signal
import time

from service import Service, grid, table

with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")

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

# Two: the long one is tried alone, and status says so.
s = Service("long", "--config", "leat.conf", "--drain", "0")
s.until(lambda: s.status()["in_flight"], "the long job again")
s.drop("b.clusters.csv", table())
s.until(lambda: "in/long.dem.asc is tried alone" in s.status()["why"], "why others wait")
s.check(s.status()["ready"], "it is not ready")
s.stop()

# Many, with jobs of every length at the worker: none of them fails. No more kills than recoveries that a job has
# beside its attempts: where no life is long enough for any job, the one that is tried alone is charged each time.
def n_attempted(spool):
    files = [f"{spool}/.work/{id}/attempts" for id in os.listdir(f"{spool}/.work")]
    return sum(os.path.exists(f) and os.path.getsize(f) > 0 for f in files)


n = hits = 0
text = table(rows=500, columns=400)
os.makedirs("many/in")
for k in range(8):
    s = Service("many", "--threads", "1", "--level", "9", wait=False)
    for _ in range(3 if k > 0 else 20):
        s.drop(f"k{n}.clusters.csv", f"{n}.5" + text[text.index(","):])
        n += 1
    s.until(lambda: s.status().get("in_flight") or s.has("done") and len(os.listdir("many/done")) == n, "a job is begun")
    time.sleep(0.01 * k)
    s.stop(None, signal.SIGKILL)
    hits += n_attempted("many") > 0
s = Service("many")
s.until(lambda: len(os.listdir("many/done")) == n, "all are done in spite of kills")
s.check(hits > 0, "no kill has hit a job")
s.check(not os.listdir("many/failed"), "a good job has failed")
s.stop()
s.is_clean()

# A worker is killed while its service stands still and has not heard what was begun: parts are emptied, none fails.
n = 64
s = Service("deaf", "-j", "16")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
for i in range(n):
    s.drop(f"q{i}.clusters.csv", table(rows=100, columns=100, seed=i))


def n_made():
    return sum(os.path.exists(f"deaf/out/{part}/result.json") for part in os.listdir("deaf/out"))


s.until(lambda: n_attempted("deaf") == n, "all are sent to the worker")
time.sleep(0.3)
s.process.send_signal(signal.SIGSTOP)
os.kill(worker, signal.SIGCONT)
s.until(lambda: n_made() > 0, "a result is made")
os.kill(worker, signal.SIGKILL)
made = n_made()
s.process.send_signal(signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == n, "all have ended")
s.check(not os.listdir("deaf/failed"), f"{made} were made; a good job has failed: {s.reasons()}")
s.stop()
s.is_clean()
print(f"killed again and again, {hits} times of 8 while jobs ran, and with {made} of {n} made unheard: nobody fails for it")
