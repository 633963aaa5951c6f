"""Workers that die, hang and fail: nobody but the file to blame pays for it; see service_workers.sh."""
import os
import subprocess

from service import Service, table

FAULTY = os.environ["LEAT_FAULTY"]
FAULTS = {"LEAT_WORKER_FAULT": "abort poison, kill eater, hang sleeper"}


def run(name, env, files, bad, *options):
    """Drops files; all but those in `bad` get results. Returns the service, running, and the reasons."""
    s = Service(name, *options, program=FAULTY, env=env)
    for f in files:
        s.drop(f + ".clusters.csv", table(seed=hash(f) % 1000))
    s.until(lambda: s.status()["totals"]["done"] == len(files) - len(bad) and
            s.status()["totals"]["failed"] == len(bad), "all jobs have ended")
    for f in files:
        s.check(s.has(f"out/{f}/result.json") == (f not in bad), f"result of {f}")
        s.check(s.has(f"done/{f}.clusters.csv") == (f not in bad), f"input of {f}")
    return s, {n.split(".")[0]: r for n, r in s.reasons().items()}


# Files that kill their worker, among others: three attempts each, no other is charged or lost.
good = [f"good{i}" for i in range(24)]
s, reasons = run("deaths", FAULTS, good[:12] + ["poison", "eater"] + good[12:], ["poison", "eater"])
for name in ("poison", "eater"):
    s.check(reasons[name]["attempts"] == 3 and reasons[name]["kind"] == "crash", f"{name}: {reasons[name]}")
s.check("3 attempts" in reasons["poison"]["reason"] and "signal 6" in reasons["poison"]["reason"], f"{reasons}")
s.check(s.status()["workers"][0]["deaths"] >= 6, "deaths are counted")
s.until(lambda: s.status()["ready"], "ready again")
with open(f"/proc/{s.status()['workers'][0]['pid']}/comm") as f:
    s.check(f.read() == "leat-worker\n", "top and ps do not name the worker")
s.stop()
s.is_clean()

# A worker that hangs is killed at the deadline of the job that is to blame.
s, reasons = run("hang", FAULTS, ["one", "sleeper", "two"], ["sleeper"], "--deadline", "1", "--max-attempts", "2")
s.check(reasons["sleeper"]["kind"] == "deadline" and reasons["sleeper"]["attempts"] == 2, f"{reasons}")
s.stop()
s.is_clean()

# The device fails with the third job of every worker; memory is out for the first: all end well.
s, _ = run("device", {"LEAT_WORKER_FAULT": "device #3"}, good[:8], [], "--max-attempts", "9")
s.check(s.status()["workers"][0]["deaths"] > 0, "no worker ended by its device")
s.stop()
s.is_clean()
s, _ = run("memory", {"LEAT_WORKER_FAULT": "memory #1"}, good[:8], [])
s.check("paused" in s.said() and s.status()["state"] == "running", "no pause")
s.stop()
s.is_clean()

# The worker's own end, at any time, costs nothing; neither does the service's.
s = Service("killed")
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
s, _ = run("auto", absent, good[:3], [], "-b", "auto")
workers = {w["name"]: w["state"] for w in s.status()["workers"]}
s.check(workers == {"cuda:0": "out", "cpu": "ready"}, f"{workers}")
s.stop()
s = Service("cuda", "-b", "cuda", program=FAULTY, env=absent, wait=False)
s.until(lambda: s.status()["state"] == "running" and not s.status()["ready"], "running, but not ready")
s.check("cuda:0" in s.status()["why"], "why it is not ready")
s.drop("patient.clusters.csv", table())
s.until(lambda: s.status()["n_queued"] == 1, "a job that waits for a device")
s.stop()
print("deaths, hangs, device errors, no memory, kills")
