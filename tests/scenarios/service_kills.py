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

# Many, with jobs of every length at the worker: none of them fails. No more kills than recoveries that a job has
# beside its attempts: where no life is long enough for any job, the one that is tried alone is charged each time.
n = 40
for k in range(8):
    s = Service("many", wait=False)
    if k == 0:
        os.makedirs("many/in", exist_ok=True)
        for i in range(n):
            s.drop(f"k{i}.clusters.csv", table(rows=400, columns=400, seed=i))
    time.sleep(0.5 + 0.05 * k)
    s.process.kill()
    s.process.wait()
s = Service("many")
s.until(lambda: len(os.listdir("many/done")) == n, "all are done in spite of kills")
s.check(not os.listdir("many/failed"), "a good job has failed")
s.stop()
s.is_clean()

# A worker is killed while its service stands still and has not heard what was begun: parts are emptied, none fails.
n = 256
s = Service("deaf", "-j", "16")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
for i in range(n):
    s.drop(f"q{i}.clusters.csv", table(seed=i))

def n_attempted():
    files = [f"deaf/.work/{id}/attempts" for id in os.listdir("deaf/.work")]
    return sum(os.path.exists(f) and os.path.getsize(f) > 0 for f in files)


def n_made():
    return sum(os.path.exists(f"deaf/out/{part}/result.json") for part in os.listdir("deaf/out"))


s.until(lambda: n_attempted() == n, "all are sent to the worker")
time.sleep(0.3)
s.process.send_signal(signal.SIGSTOP)
os.kill(worker, signal.SIGCONT)
made = -1
while made != n_made():  # until it can say no more
    made = n_made()
    time.sleep(0.5)
os.kill(worker, signal.SIGKILL)
s.process.send_signal(signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == n, "all have ended")
s.check(made > 0 and not os.listdir("deaf/failed"), f"{made} were made; a good job has failed: {s.reasons()}")
s.stop()
s.is_clean()
print("killed again and again: nobody fails for it")
