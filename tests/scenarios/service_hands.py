"""leat hold, release, delete and flush: what they do to jobs, that a hold outlives the service, and who may."""
import json
import os
import shutil
import signal
import socket
import subprocess

from lib import begin
from service import LEAT, OTHER, Service, grid, table

begin()
N = 24
AT_WORKER = 16  # jobs that are sent to a worker that works on one at a time


def leat(s, *words, status=0, says="", program=(LEAT,)):
    done = subprocess.run([*program, words[0], "--status-socket", s.socket, *words[1:]], capture_output=True, text=True)
    s.check(done.returncode == status and says in done.stderr, f"{words}: {done}")
    return done.stderr


def queued(s):
    return {job["name"]: job for job in s.status()["queued"]}


def work(s):
    return set(os.listdir(s.spool + "/.work")) - {"lock"}


def attempted(s):
    files = {id: f"{s.spool}/.work/{id}/attempts" for id in work(s)}
    return {id for id, f in files.items() if os.path.exists(f) and os.path.getsize(f) > 0}


with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s = Service("spool", "-c", "leat.conf", "--jobs", "1", "--drain", "0")
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
long = s.status()["in_flight"][0]["id"]
for i in range(N):
    s.drop(f"sub{i % 2}/{i}.clusters.csv", table(seed=i))
waiting = s.until(lambda: len(tried := attempted(s)) == AT_WORKER and
                  len(jobs := {n: j for n, j in queued(s).items() if j["id"] not in tried}) >= 6 and jobs,
                  "jobs that wait behind those at the worker")
ids = {name: waiting[name]["id"] for name in sorted(waiting)[:6]}
held, again, deleted, both, put_back, other = ids

# By a file's name, with in/ or without, or by ID; what is not so is said.
leat(s, "hold", held, says=f"{held}: held")
leat(s, "hold", ids[held], says="held already")
leat(s, "hold", again[3:])
leat(s, "hold", os.path.join(s.spool, both))
s.check({n for n, job in queued(s).items() if job["held"]} == {held, again, both}, queued(s))
s.check(s.has(f".work/{ids[held]}/hold") and f"leat release {ids[held]}" in s.waits()[held], s.waits())
leat(s, "release", again, says="released")
leat(s, "release", again, status=2, says="it is not held")
s.check(not s.has(f".work/{ids[again]}/hold") and not queued(s)[again]["held"], "it is still held")
leat(s, "hold", "in/none.clusters.csv", status=2, says="no such job")
leat(s, "hold", held, "none", status=1, says="held already")
for what in "hold", "delete", "release":
    leat(s, what, long, status=2, says="it is at a worker")
s.check(s.status()["in_flight"][0]["id"] == long, "the long job has ended")

# A deleted job fails: its input and the reason are in failed/, and can be put back.
leat(s, "delete", deleted, ids[both], ids[put_back], says=f"its inputs go to failed/{ids[deleted]}")
s.until(lambda: len(s.reasons()) == 3, "three in failed/")
for name in deleted, both, put_back:
    reason = s.reasons()[os.path.basename(name)]
    s.check(reason["kind"] == "deleted" and reason["reason"] == "deleted by the administrator", reason)
    s.check(not s.has(f".work/{ids[name]}"), "it is still there")
s.check(s.has(f"failed/{ids[both]}/hold"), "a job that was held")
for name in both, put_back:
    subprocess.run([LEAT, "retry", "--spool", s.spool, ids[name]], check=True)
    s.check(not s.has(f"failed/{ids[name]}"), "left over")
with open(s.spool + "/failed/" + ids[deleted] + "/in/" + os.path.basename(deleted)) as f:
    s.check(f.read().count("\n") == 6, "its input is not whole")

# Rubbish costs nothing.
for text in b"", b"x", b"{}\n", b'{"do": "hold"}\n', b'{"do": 7, "job": []}\n', b"[]\n", b"x" * 100000, b'{"do": "hold", "job": "' + b"y" * 9000:
    with socket.socket(socket.AF_UNIX) as c:
        c.connect(s.socket + ".control")
        try:
            c.sendall(text)
            c.shutdown(socket.SHUT_WR)
            answer = c.recv(4096)
            s.check(not answer or not json.loads(answer)["done"], f"{text[:20]}: {answer}")
        except (BrokenPipeError, ConnectionResetError):
            pass
s.check(os.stat(s.socket + ".control").st_mode & 0o777 == 0o600, "others may ask")

# Killed: the hold is there at the next start, and so is what waits; more jobs at once this time.
s.stop(None, signal.SIGKILL)
s = Service("spool", "-c", "leat.conf", "--jobs", "4", "--drain", "0")
s.until(lambda: s.status()["totals"]["done"] == N - 2, "all but those two")
s.check(s.waits().get(held) == f"held by the administrator: leat release {ids[held]}", s.waits())
s.check(work(s) == {long, ids[held]} and s.status()["n_waiting"] == 1 and s.status()["n_queued"] == 0, s.status())
s.check(not s.has("out/" + held[3:].split(".")[0]), "it was begun")
leat(s, "flush", says="flush: 0 jobs that waited for their time are tried now")
s.check(s.has(f".work/{ids[held]}/hold"), "a flush has released it")
leat(s, "release", ids[held])
s.until(lambda: s.status()["totals"]["done"] == N - 1, "the one that was held")
s.check(work(s) == {long} and not s.waits(), "left over")
s.stop()
leat(s, "flush", status=2, says="no service answers")

# Names are bytes. A service that is stopping says that of itself.
s = Service("spool", "-c", "leat.conf", "--jobs", "1", "--drain", "1000")
s.until(lambda: s.status()["in_flight"], "the long job")
for i in range(N):
    s.drop(f"more{i}.clusters.csv", table(seed=i))
s.until(lambda: len(work(s)) == N + 1, "jobs before the next one")
raw = os.fsdecode(b"in/sub0/50%\xff.clusters.csv")
s.drop(raw[3:], table(seed=3))
s.until(lambda: "in/sub0/50%\ufffd.clusters.csv" in queued(s), "a job whose name is not UTF-8")
leat(s, "hold", raw, says="held")
s.check(queued(s)["in/sub0/50%\ufffd.clusters.csv"]["held"], queued(s))
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "a drain")
leat(s, "flush", status=2, says="the service is stopping")
leat(s, "release", raw, status=2, says="the service is stopping")
s.stop()

# Who may ask for the status may not do this.
if os.geteuid() == 0 and shutil.which("setpriv"):
    import grp
    os.chmod(".", 0o711)
    s = Service("second", "--status-group", grp.getgrgid(OTHER).gr_name)
    as_other = ("setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", LEAT)
    done = subprocess.run([*as_other, "status", "--status-socket", s.socket], capture_output=True, text=True)
    s.check(done.returncode == 0 and "running, ready" in done.stdout, f"the status for a group: {done}")
    leat(s, "flush", program=as_other, status=2, says="only root and its own user may")
    leat(s, "flush", says="0 jobs")
    s.stop()
print("hold, release, delete and flush")
