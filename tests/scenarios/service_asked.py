"""What is asked of a service that does not run, stands still or has no room: a yes holds, however many ask; each is
answered once. What such a service says of itself."""
# ctest: slots=1
import errno
import json
import os
import signal
import subprocess

from lib import begin, small_disk
from service import LEAT, Service, grid, table

begin()
FAILED, SEVERAL = 30, 4
WAITING = 100  # that the status lists
MANY = 3000  # more than a service looks at in one go


def leat(s, *words):
    return subprocess.run([LEAT, words[0], "--spool", s.spool, *words[1:]], capture_output=True, text=True)


def requests(s):
    return sorted(os.listdir(s.spool + "/.work/requests"))


def ask(s, name, what, job):
    """As the command does, which then waits for the answer."""
    with open(f"{s.spool}/.work/requests/.{name}", "w") as f:
        json.dump({"do": what, "job": job}, f)
    os.rename(f"{s.spool}/.work/requests/.{name}", f"{s.spool}/.work/requests/{name}")


def answer(s, name):
    try:
        with open(f"{s.spool}/.work/requests/{name}") as f:
            return json.load(f)
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def begin_long(spool, *options):
    """A service whose one job is a long one, so that what is dropped waits."""
    with open("leat.conf", "w") as f:
        f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
    s = Service(spool, "-c", "leat.conf", "--jobs", "1", "--drain", "0", *options)
    s.drop("long.dem.asc", grid(False))
    s.drop("long.source.asc", grid(True))
    s.until(lambda: s.status()["in_flight"], "a long job")
    return s


def fill():
    with open("small/ballast", "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError as e:
            s.check(e.errno == errno.ENOSPC, e)


# A job that is deleted while no service runs is not begun by the next one, whatever else was asked for before.
s = begin_long("many")
s.drop("gone.clusters.csv", table())
s.until(lambda: [job["name"] for job in s.status()["queued"]] == ["in/gone.clusters.csv"], "a job that waits")
s.stop()
for i in range(MANY):
    ask(s, f"00000{i:06}", "hold", f"none{i}")
done = leat(s, "delete", "gone.clusters.csv")
s.check(done.returncode == 0 and "the next one does it when it starts" in done.stderr, f"{done}")
s = Service("many", "-c", "leat.conf", "--jobs", "2", "--drain", "0")
s.until(lambda: s.has("out/gone") or s.status()["n_failed"] == 1, "its end")
s.check(not s.has("out/gone"), "it was deleted, and is processed")
s.until(lambda: all(answer(s, name).get("done") is False for name in requests(s) if name.startswith("00000")), "answers")

# A request of a process that has the service's number in a container of its own; what a killed command left.
name = f"00000000001-000000001-{s.process.pid}"
ask(s, name, "hold", "none")
s.until(lambda: answer(s, name).get("done") is False, "an answer")
left = f"{s.spool}/.work/requests/.00000000001-000000001-1"
with open(left, "w") as f:
    f.write('{"do": "flush"')
os.utime(left, (0, 0))
ask(s, "1", "hold", "none")
s.until(lambda: not os.path.exists(left), "what a killed command left is removed")
s.stop()

# The same failed jobs are tried again by several at once: each is taken up once, and none fails before all are answered.
s = Service("failed")
for i in range(FAILED):
    s.drop(f"f{i}.clusters.csv", "1,x\n")
s.until(lambda: s.status()["n_failed"] == FAILED, "failed jobs")
ids = sorted(os.listdir("failed/failed"))
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
s.process.send_signal(signal.SIGSTOP)
for i, id in enumerate(ids):
    for k in range(SEVERAL):
        ask(s, f"1{i:03}{k}", "retry", id)
s.process.send_signal(signal.SIGCONT)
s.until(lambda: all("done" in answer(s, name) for name in requests(s)), "answers")
yes = sorted(name[:4] for name in requests(s) if answer(s, name)["done"])
s.check(yes == [f"1{i:03}" for i in range(FAILED)], f"not one yes for each: {yes}")
os.kill(worker, signal.SIGCONT)
s.until(lambda: s.status()["totals"]["failed"] == 2 * FAILED and s.status()["n_failed"] == FAILED, "they have failed again")
s.check(ids == sorted(os.listdir("failed/failed")), "other jobs than before")
s.stop()
s.is_clean()

# On a disk without room what is asked for is answered all the same, once.
small_disk("16m")
s = begin_long("small/spool", "--output", os.path.abspath("out"))
s.process.send_signal(signal.SIGSTOP)
asked = subprocess.Popen([LEAT, "hold", "--spool", s.spool, "none"], stderr=subprocess.PIPE, text=True)
s.until(lambda: [n for n in requests(s) if n[0] != "."], "a request")
fill()
s.process.send_signal(signal.SIGCONT)
said = asked.communicate()[1]
s.check("no such job" in said and asked.returncode == 2, f"an answer: {said}")

# The status grows all the same: all that waits says why.
s.process.send_signal(signal.SIGSTOP)
os.unlink("small/ballast")
for i in range(WAITING):
    open(f"{s.spool}/in/{i:0200}.partial", "w").close()
fill()
s.process.send_signal(signal.SIGCONT)
s.until(lambda: s.status()["n_waiting"] == WAITING and len(s.status()["waiting"]) == WAITING, "what waits")
os.unlink("small/ballast")
s.until(lambda: not s.status()["why"], "a disk with room")

# A service that has written nothing for long: why it may not have.
s.process.send_signal(signal.SIGSTOP)
with open(s.spool + "/status/status.json", "r+") as f:
    document = json.load(f)
    document["written"] -= 1000
    f.seek(0)
    json.dump(document, f)
    f.truncate()
fill()
said = leat(s, "status")
s.check("silent, not ready" in said.stdout and "it stands still: its disk is full; this is its state of 16 min" in said.stdout
        and said.returncode == 1, f"{said}")
os.unlink("small/ballast")
s.process.send_signal(signal.SIGCONT)
s.until(lambda: leat(s, "status").returncode == 0, "it goes on")
s.stop()
s.check(s.said().count("hold none by the administrator") == 1, "it is done more than once")
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
said = leat(s, "status")
s.check(said.returncode == 2 and "watches '%s': its disk may only be read" % s.spool in said.stderr, f"{said}")
print(f"{MANY} requests, a service's number twice, a disk without room")
