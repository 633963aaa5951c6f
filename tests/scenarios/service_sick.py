"""Devices that fail under the service, and one whose memory is another job's at the moment; the CPU plays them. Landslides
fail on device 0 alone."""
# ctest: slots=1
import json
import os
import subprocess

from lib import begin, fake_devices, needs_faulty
from service import LEAT, Service, table

begin()
needs_faulty()
fake_devices()
subprocess.run([LEAT, "generate", "-q", "dem", "--rows", "100", "--columns", "25", "-o", "slope"], check=True)
LOST = {"LEAT_FAKE_LOST": "0"}
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 100000000\nsettle = 10\np_epsilon = 0.3\nfigure = none\n"
            "[pipeline pearson]\nfigure = none\n")


def start(name, *options, env, **more):
    return Service(name, "--threads", "2", "-j", "1", "--config", "leat.conf", *options, env=env, **more)


def drop_slope(s, name):
    for part in "source", "dem":
        with open(f"slope.{part}.tif", "rb") as f:
            s.drop(f"{name}.{part}.tif", f.read())


def done_on(s, names):
    """The devices that have done these."""
    s.until(lambda: s.status()["totals"]["done"] == len(names), "all done")
    s.check(s.status()["totals"]["failed"] == 0, "a job has failed for its device")
    found = set()
    for name in names:
        with open(os.path.join(s.spool, f"out/{name}/result.json")) as f:
            backend = json.load(f)["backend"]
            found.add(backend["device"] if backend["name"] == "cuda" else backend["name"])
    return found


def states(s):
    return {w["name"]: w["state"] for w in s.status()["workers"]}


# The only device fails again and again: it is out, and the CPU does the work.
sick = start("sick", "-b", "auto", "--devices", "1", "--max-attempts", "9", env=LOST)
for name in "a", "b":
    drop_slope(sick, name)

# One of two: no job is tried there twice.
two = start("two", "-b", "cuda", "--devices", "2", "--max-attempts", "2", env=LOST)
two.until(lambda: states(two) == {"cuda:0": "ready", "cuda:1": "ready"}, "both begin")
names = [f"s{i}" for i in range(4)]
for name in names:
    drop_slope(two, name)
two.check(done_on(two, names) == {"fake 1"}, "done on the device that fails")
two.until(lambda: two.status()["workers"][0]["deaths"] > 0, "the first device was not tried")
two.stop()
two.is_clean()

sick.check(done_on(sick, ["a", "b"]) == {"cpu"}, "done on the device that fails")
sick.check(states(sick) == {"cuda:0": "out", "cpu": "ready"}, f"{states(sick)}")
sick.until(lambda: sick.status()["workers"][0]["deaths"] == 5 and not sick.status()["ready"], f"{sick.status()}")
text = subprocess.run([LEAT, "status", "--spool", sick.spool], capture_output=True, text=True).stdout
sick.check("cuda:0: out, again in" in text and "5 deaths: the device is lost" in text, text)
sick.stop()
sick.is_clean()

# A job has the memory of the device, in a process of its own as it may have ended its worker. Another worker begins beside
# it, and has too little for a job: which waits, until it has begun again.
held = start("held", "-b", "cuda", "--devices", "1", "-j", "2", "--max-attempts", "2", program=os.environ["LEAT_FAULTY"],
             env={"LEAT_FAKE_HELD": "memory", "LEAT_FAKE_GATE": "gate", "LEAT_FAKE_LOG": "log",
                  "LEAT_WORKER_FAULT": "abort poison"})


def n_runs():
    with open("log") as f:
        return f.read().count("run 0\n")


drop_slope(held, "long")
held.until(lambda: n_runs() == 1, "a job that has the memory")
held.drop("poison.clusters.csv", table())
held.until(lambda: held.status()["totals"]["failed"] == 1, "the file that ends its worker")
held.until(lambda: n_runs() == 2, "the other has a process of its own")
held.drop("before.clusters.csv", table())
held.until(lambda: held.status()["totals"]["done"] == 1, "a job beside it")
held.drop("poison2.clusters.csv", table())
held.until(lambda: held.status()["totals"]["failed"] == 2, "the worker has begun again")
held.drop("late.clusters.csv", table())
held.until(lambda: "bytes of device memory, 90 are there for jobs" in held.waits().get("in/late.clusters.csv", ""),
           "a job waits for memory")
open("gate", "w").close()
held.until(lambda: held.status()["totals"]["done"] == 3, "both done")
held.check(held.status()["totals"]["failed"] == 2, "it has failed")
held.stop()
held.is_clean()

# With the device for itself alone it fails at once.
small = start("small", "-b", "cuda", "--devices", "1", env={"LEAT_FAKE_SMALL": "0"})
small.drop("a.clusters.csv", table())
small.until(lambda: small.status()["totals"]["failed"] == 1, "a failure")
reason = small.reasons()["a.clusters.csv"]
small.check(reason["kind"] == "too-large" and reason["attempts"] == 1, f"{reason}")
small.stop()
small.is_clean()
print("a sick device is out, others go on; what is too large beside another job waits")
