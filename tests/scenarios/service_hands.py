"""leat hold, release, delete and flush: what they do to jobs, that what is asked for outlives the service, and who may."""
import json
import os
import shutil
import signal
import subprocess

from lib import begin
from service import LEAT, OTHER, Service, attempts, grid, record, table

begin()
N = 24
AT_WORKER = 16  # jobs that are sent to a worker that works on one at a time


def leat(s, *words, status=0, says="", program=(LEAT,)):
    done = subprocess.run([*program, words[0], "--spool", s.spool, *words[1:]], capture_output=True, text=True)
    s.check(done.returncode == status and says in done.stderr, f"{words}: {done}")
    return done.stderr


def queued(s):
    return {job["name"]: job for job in s.status().get("queued", [])}


def work(s):
    return set(os.listdir(s.spool + "/.work")) - {"lock", "requests"}


def attempted(s):
    return {id for id, n in attempts(s.spool).items() if n > 0}


def requests(s):
    return sorted(os.listdir(s.spool + "/.work/requests"))


with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
ONE_JOB = "-c", "leat.conf", "--jobs", "1", "--drain", "0"
s = Service("spool", *ONE_JOB)
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
long = s.status()["in_flight"][0]["id"]
for i in range(N):
    s.drop(f"sub{i % 2}/{i}.clusters.csv", table(seed=i))
s.until(lambda: len(attempted(s)) == AT_WORKER and len(queued(s)) == N, "all of them queued, also those at the worker")
sent = {name: job["id"] for name, job in queued(s).items() if job["id"] in attempted(s)}
ids = {name: job["id"] for name, job in queued(s).items()}
s.check(len(sent) == AT_WORKER - 1, f"those at the worker, but for the long one: {sent}")
held, again, deleted, both, put_back, other = sorted(set(ids) - set(sent))[:6]
sent_held, sent_deleted = sorted(sent)[:2]

# By a file's name, with in/ or without, or by ID; what is not so is said. One that was sent ahead to a worker comes back.
leat(s, "hold", held, says=f"{held}: held")
leat(s, "hold", ids[held], says="held already")
leat(s, "hold", again[3:])
leat(s, "hold", os.path.join(s.spool, both))
leat(s, "hold", sent_held, says="held")
s.until(lambda: {n for n, job in queued(s).items() if job["held"]} == {held, again, both, sent_held}, "those that are held")
s.check(record(f"{s.spool}/.work/{ids[held]}")["held"] and f"leat release {ids[held]}" in s.waits()[held], s.waits())
leat(s, "release", again, says="released")
leat(s, "release", again, status=2, says="it is not held")
s.until(lambda: not record(f"{s.spool}/.work/{ids[again]}")["held"] and not queued(s)[again]["held"], "it is held no more")
leat(s, "hold", "in/none.clusters.csv", status=2, says="no such job")
leat(s, "hold", held, "none", status=1, says="held already")
for what, says in ("hold", "it is being worked on"), ("delete", "it is being worked on"), ("release", "it is at a worker"):
    leat(s, what, long, status=2, says=says)
s.check(s.status()["in_flight"][0]["id"] == long, "the long job has ended")
s.check(not requests(s), f"left over: {requests(s)}")

# A deleted job fails: its input and the reason are in failed/ when the command says so, and can be put back.
leat(s, "delete", deleted, ids[both], ids[put_back], sent_deleted, says=f"its inputs are in failed/{ids[deleted]}")
gone = deleted, both, put_back, sent_deleted
s.check(set(os.listdir(s.spool + "/failed")) == {ids[name] for name in gone}, os.listdir(s.spool + "/failed"))
for name in gone:
    reason = s.reasons()[os.path.basename(name)]
    s.check(reason["kind"] == "deleted" and reason["reason"] == "deleted by the administrator", reason)
    s.check(not s.has(f".work/{ids[name]}"), "it is still there")
s.check(record(f"{s.spool}/failed/{ids[both]}")["held"], "a job that was held")
s.until(lambda: s.status()["totals"]["requeued"] == 0 and s.status()["n_failed"] == 4, "nothing that is counted as tried again")
for name in both, put_back, sent_deleted:
    subprocess.run([LEAT, "retry", "--spool", s.spool, ids[name]], check=True)
    s.check(not s.has(f"failed/{ids[name]}"), "left over")
with open(s.spool + "/failed/" + ids[deleted] + "/in/" + os.path.basename(deleted)) as f:
    s.check(f.read().count("\n") == 6, "its input is not whole")

# Rubbish costs nothing.
for i, text in enumerate(("", "x", "{}", '{"do": "hold"}', '{"do": 7, "job": []}', "[]", "x" * 100000, '{"do": "dance", "job": "a"}')):
    with open(f"{s.spool}/.work/requests/.{i}", "w") as f:
        f.write(text)
    os.rename(f"{s.spool}/.work/requests/.{i}", f"{s.spool}/.work/requests/{i}")
os.mkdir(s.spool + "/.work/requests/folder")
os.mkfifo(s.spool + "/.work/requests/pipe")


def answers():
    found = []
    for name in "37":
        with open(f"{s.spool}/.work/requests/{name}") as f:
            found.append(json.load(f))
    return found


s.until(lambda: [a.get("done") for a in answers()] == [False, False], "two refusals")
for name in "01234567":
    os.unlink(f"{s.spool}/.work/requests/{name}")
os.rmdir(s.spool + "/.work/requests/folder")
os.unlink(s.spool + "/.work/requests/pipe")
s.check(os.stat(s.spool + "/.work/requests").st_mode & 0o777 == 0o700, "others may ask")

# Killed: the hold is there at the next start, and so is what waits; more jobs at once this time.
s.stop(None, signal.SIGKILL)
s = Service("spool", "-c", "leat.conf", "--jobs", "4", "--drain", "0")
s.until(lambda: s.status()["totals"]["done"] == N - 3, "all but those three")
s.until(lambda: s.waits().get(held) == f"held by the administrator: leat release {ids[held]}", "why it waits")
s.until(lambda: work(s) == {long, ids[held], ids[sent_held]} and s.status()["n_waiting"] == 2 and s.status()["n_queued"] == 0, "those that are left")
s.check(not s.has("out/" + held[3:].split(".")[0]), "it was begun")
leat(s, "flush", says="flush: 0 jobs that waited for their time are tried now")
s.check(record(f"{s.spool}/.work/{ids[held]}")["held"], "a flush has released it")
leat(s, "release", ids[held], sent_held)
s.until(lambda: s.status()["totals"]["done"] == N - 1, "those that were held")
s.until(lambda: work(s) == {long} and not s.waits(), "nothing that is left over")
s.stop()
leat(s, "flush", status=2, says="no service watches")


def start_with(spool, names):
    """A service with jobs of these names that wait behind a long one."""
    s = Service(spool, *ONE_JOB)
    s.drop("long.dem.asc", grid(False))
    s.drop("long.source.asc", grid(True))
    s.until(lambda: s.status()["in_flight"], "the long job")
    for name in names:
        s.drop(name, table(seed=3))
    s.until(lambda: set(queued(s)) >= {"in/" + name for name in names}, "jobs that wait")
    return s, {name: queued(s)["in/" + name]["id"] for name in names}


def restart_without(spool, names, ids):
    """They are given up at the next start, and not processed."""
    s = Service(spool, *ONE_JOB)
    s.until(lambda: all(s.has(f"failed/{ids[name]}/reason.json") for name in names), "they are given up")
    for name in names:
        s.check(not s.has(f".work/{ids[name]}") and not s.has("out/" + name.split(".")[0]), f"{name} was processed")
    return s


# What has been asked for is done whatever instant the service is killed at, and the more so after the yes.
for k in range(6):
    names = [f"kill{k}-{i}.clusters.csv" for i in range(2)]
    s, its = start_with(f"killed{k}", names)
    if k < 3:
        leat(s, "delete", *names, says="deleted")
        s.process.kill()
    else:
        asked = subprocess.Popen([LEAT, "delete", "--spool", s.spool, *names], stderr=subprocess.DEVNULL)
        s.until(lambda: requests(s) or s.has(f"failed/{its[names[0]]}"), "a request")
        s.process.kill()
        s.check(asked.wait() == 0, "what is asked for is said to be refused")
    s.process.wait()
    restart_without(f"killed{k}", names, its).stop()

# So is what is asked for while there is none; a service that ends leaves it to the next.
names = ["none0.clusters.csv", "none1.clusters.csv"]
s, its = start_with("none", names)
s.stop()
leat(s, "delete", *names, says="asked for; no service runs: the next one does it when it starts")
s = restart_without("none", names, its)
s.until(lambda: "none0.clusters.csv by the administrator: deleted" in s.said(), "a line of the log")
s.stop()

# Names are bytes. A service that is stopping leaves what it is asked for to the next.
raw = os.fsdecode(b"in/sub0/50%\xff.clusters.csv")
s = Service("none", "-c", "leat.conf", "--jobs", "1", "--drain", "1000")
s.until(lambda: s.status()["in_flight"], "the long job")
s.drop(raw[3:], table(seed=3))
s.until(lambda: "in/sub0/50%\ufffd.clusters.csv" in queued(s), "a job whose name is not UTF-8")
leat(s, "hold", raw, says="held")
s.until(lambda: queued(s)["in/sub0/50%\ufffd.clusters.csv"]["held"], "it is held")
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "a drain")
asked = subprocess.Popen([LEAT, "release", "--spool", s.spool, raw], stderr=subprocess.PIPE, text=True)
s.until(lambda: requests(s), "a request")
s.stop(None, signal.SIGKILL)
s.check("the next one does it" in asked.communicate()[1] and asked.returncode == 0, "what it says")
s = Service("none", "-c", "leat.conf", "--jobs", "2", "--drain", "0")
s.until(lambda: s.has("out/sub0/" + os.fsdecode(b"50%\xff")), "it is released by the next one")
s.stop()

# Who may read the status may not do this.
if os.geteuid() == 0 and shutil.which("setpriv"):
    import grp
    os.chmod(".", 0o711)
    s = Service("second", "--status-group", grp.getgrgid(OTHER).gr_name)
    as_other = ("setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", LEAT)
    done = subprocess.run([*as_other, "status", "--spool", s.spool], capture_output=True, text=True)
    s.check(done.returncode == 0 and "running, ready" in done.stdout, f"the status for a group: {done}")
    leat(s, "hold", "x", program=as_other, status=2, says="only root and its own user may")
    os.chmod(s.spool + "/failed", 0o700)
    leat(s, "retry", "x", program=as_other, status=2, says="only root and its own user may")
    leat(s, "flush", says="0 jobs")
    s.stop()
print("hold, release, delete and flush")
