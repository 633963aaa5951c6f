"""The service's workers die, hang and fail: only the file that is to blame fails, after its attempts."""
# ctest: long slots=1
import os
import signal
import subprocess
import time

from lib import begin, needs_faulty
from service import WATCHED, Service, attempts, grid, table

begin()
needs_faulty()
FAULTY = os.environ["LEAT_FAULTY"]
FAULTS = {"LEAT_WORKER_FAULT": "abort poison, kill eater, hang sleeper"}


def dropped(name, env, files, *options):
    s = Service(name, *options, program=FAULTY, env=env)
    for f in files:
        s.drop(f + ".clusters.csv", table(seed=hash(f) % 1000))
    return s


def ends(s, files, bad):
    """All files but those in `bad` get results. Returns the reasons."""
    s.until(lambda: s.status()["totals"]["done"] == len(files) - len(bad) and
            s.status()["totals"]["failed"] == len(bad), "all jobs have ended")
    for f in files:
        s.check(s.has(f"out/{f}/result.json") == (f not in bad), f"result of {f}")
        s.check(s.has(f"done/{f}.clusters.csv") == (f not in bad), f"input of {f}")
    return {n.split(".")[0]: r for n, r in s.reasons().items()}


def run(name, env, files, bad, *options):
    s = dropped(name, env, files, *options)
    return s, ends(s, files, bad)


# A worker that hangs is killed at the deadline of the job that is to blame. Looked at again below.
hang = dropped("hang", FAULTS, ["one", "sleeper", "two"], "--deadline", "10" if WATCHED else "5", "--max-attempts", "2")

# A long job dies beside one that kills its worker: each gets a worker of its own, and nobody waits for the long one.
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
beside = Service("beside", "-j", "4", "--config", "leat.conf", "--drain", "0", program=FAULTY, env=FAULTS)
for part in ("dem", "source"):
    beside.drop(f"long.{part}.asc", grid(part == "source"))
beside.until(lambda: beside.status()["in_flight"], "a long job")
beside.drop("poison.clusters.csv", table())
beside.until(lambda: beside.status()["workers"][0]["deaths"] >= 1, "a death of both")
beside.until(lambda: beside.status()["totals"]["failed"] == 1, "the file to blame")
for i in range(4):
    beside.drop(f"b{i}.clusters.csv", table(seed=i))
beside.until(lambda: beside.status()["totals"]["done"] == 4, "others go on")
beside.check([job["name"] for job in beside.status()["in_flight"]] == ["in/long.dem.asc"], "the long job has ended")
beside.check(beside.said().count("warning: cpu: the worker has ended") == 1, "others died with it")
beside.check(beside.reasons()["poison.clusters.csv"]["attempts"] == 3, f"{beside.reasons()}")
beside.stop()

# Files that kill their worker, among others: three attempts each, no other is charged or lost.
good = [f"good{i}" for i in range(24)]
s, reasons = run("deaths", FAULTS, good[:12] + ["poison", "eater"] + good[12:], ["poison", "eater"])
for name in ("poison", "eater"):
    s.check(reasons[name]["attempts"] == 3 and reasons[name]["kind"] == "crash", f"{name}: {reasons[name]}")
s.check("3 attempts" in reasons["poison"]["reason"] and "signal 6" in reasons["poison"]["reason"], f"{reasons}")
s.until(lambda: s.status()["workers"][0]["deaths"] >= 6, "deaths are counted")
s.until(lambda: s.status()["ready"], "ready again")
with open(f"/proc/{s.status()['workers'][0]['pid']}/comm") as f:
    s.check(f.read() == "leat-worker\n", "top and ps do not name the worker")
s.stop()
s.is_clean()

# The device fails with the third job of every worker; memory is out for the first: all end well.
s, _ = run("device", {"LEAT_WORKER_FAULT": "device #3"}, good[:8], [], "--max-attempts", "9")
s.until(lambda: s.status()["workers"][0]["deaths"] > 0, "no worker ended by its device")
s.stop()
s.is_clean()
s, _ = run("memory", {"LEAT_WORKER_FAULT": "memory #1"}, good[:8], [])
s.check("it is tried again later" in s.said() and "paused" not in s.said(), "it is not deferred alone")
s.stop()
s.is_clean()

# An error of the device: jobs that were not begun are no suspects, and whose it is is known at once.
s = Service("sick", "-j", "1", program=FAULTY, env={"LEAT_WORKER_FAULT": "device poison"})
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
for name in ("a", "b-poison", "c", "d", "e", "f", "g"):
    s.drop(name + ".clusters.csv", table())
s.until(lambda: list(attempts("sick").values()) == [1] * 7, "all are at the worker")
os.kill(worker, signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] == 6 and s.status()["totals"]["failed"] == 1, "all jobs have ended")
s.check(s.reasons()["b-poison.clusters.csv"]["kind"] == "device", f"{s.reasons()}")
s.until(lambda: s.status()["workers"][0]["deaths"] == 3, f"{s.status()['workers']}")
s.stop()
s.is_clean()

# A job that never has memory, though others do: it is told, is not failed soon, and nobody waits for it.
s = Service("hungry", program=FAULTY, env={"LEAT_WORKER_FAULT": "memory victim"})
s.drop("victim.clusters.csv", table())
n = 0
while "tried again in" not in s.waits().get("in/victim.clusters.csv", ""):
    n += 1
    s.drop(f"h{n}.clusters.csv", table(seed=n))
    s.until(lambda: s.has(f"done/h{n}.clusters.csv"), "another job is done")
    s.check(n < 20, f"it does not wait by itself: {s.waits()}")
begin = time.monotonic()
for i in range(5):
    s.drop(f"i{i}.clusters.csv", table(seed=i))
    s.until(lambda: s.has(f"done/i{i}.clusters.csv"), "others go on")
s.until(lambda: time.monotonic() > begin + 4, "time for another attempt")
s.check(s.status()["totals"]["failed"] == 0 and s.status()["state"] == "running", "it has failed")
s.stop()

# The worker's own end, at any time, costs nothing; neither does the service's.
s = Service("killed", "--max-attempts", "9")
for i in range(30):
    s.drop(f"k{i}.clusters.csv", table(seed=i))
    if i % 10 == 5:
        worker = subprocess.run(["pgrep", "-P", str(s.process.pid)], capture_output=True, text=True).stdout.split()
        subprocess.run(["kill", "-9", *worker], stderr=subprocess.DEVNULL)
s.until(lambda: s.status()["totals"]["done"] == 30, "all done in spite of kills")
s.stop()
s.is_clean()

# A device that is not there: the CPU steps in, unless the device was asked for.
absent = {"CUDA_VISIBLE_DEVICES": "99"}
with open("auto.conf", "w") as f:
    f.write("level = 1\n")
s, _ = run("auto", absent, good[:3], [], "-b", "auto", "--config", "auto.conf")
workers = {w["name"]: w["state"] for w in s.status()["workers"]}
s.check(workers == {"cuda:0": "out", "cpu": "ready"}, f"{workers}")
# Who has no process has no number of one: a script that hands 0 to kill would end all of its own group.
s.until(lambda: [w["pid"] is None for w in s.status()["workers"]] == [True, False], f"{s.status()['workers']}")
s.until(lambda: s.status()["workers"][0]["again_in_s"] > 0, "it is never tried again")
with open("auto.conf", "w") as f:
    f.write("level = 2\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "has been read again" in s.said() and [w["state"] for w in s.status()["workers"]] == ["out", "ready"],
        "tried again and out again")
s.check(s.said().count("cuda:0: the worker cannot begin") == 1, "the same reason is logged again")
s.stop()
s = Service("cuda", "-b", "cuda", program=FAULTY, env=absent, wait=False)
s.until(lambda: s.status()["state"] == "running" and not s.status()["ready"], "running, but not ready")
s.until(lambda: "cuda:0" in s.status()["why"], "why it is not ready")
s.drop("patient.clusters.csv", table())
s.until(lambda: s.status()["n_queued"] == 1, "a job that waits for a device")
s.stop()

reasons = ends(hang, ["one", "sleeper", "two"], ["sleeper"])
hang.check(reasons["sleeper"]["kind"] == "deadline" and reasons["sleeper"]["attempts"] == 2, f"{reasons}")
hang.stop()
hang.is_clean()
print("deaths, hangs, device errors, no memory, kills")
