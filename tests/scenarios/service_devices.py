"""The service keeps a worker for each device, or for each group of them; the CPU plays the devices."""
# ctest: long
import json
import os
import signal
import subprocess

from lib import LEAT, begin, fake_devices
from service import Service, table

begin()
fake_devices()
subprocess.run([LEAT, "generate", "-q", "dem", "--rows", "100", "--columns", "25", "-o", "slope"], check=True)


def workers(s):
    return {w["name"]: w["device"] for w in s.status()["workers"]}


def devices_of(s, n):
    for i in range(n):
        s.drop(f"j{i}.clusters.csv", table(seed=i))
    s.until(lambda: s.status()["totals"]["done"] == n, "all done")
    found = set()
    for i in range(n):
        with open(os.path.join(s.spool, f"out/j{i}/result.json")) as f:
            found.add(json.load(f)["backend"]["device"])
    return found


# The first two of all; then groups of a configuration, as a device that the user lets be seen has its number.
s = Service("two", "-b", "cuda", "--devices", "2")
s.until(lambda: workers(s) == {"cuda:0": "fake 0", "cuda:1": "fake 1"}, "a worker for each of two")
s.check(devices_of(s, 8) <= {"fake 0", "fake 1"}, "another device")
s.stop()

with open("groups.conf", "w") as f:
    f.write("devices = 0,2 1,\n[pipeline sciddicat]\nsteps = 100000000\nsettle = 10\n")
s = Service("groups", "-b", "cuda", "--config", "groups.conf",
            env={"CUDA_VISIBLE_DEVICES": "3,2,1", "LEAT_FAKE_LOG": "groups.log", "LEAT_FAKE_GATE": "gate"})
s.until(lambda: workers(s) == {"cuda:0,2": "fake 3", "cuda:1": "fake 2"}, "a worker for each group")
for i in range(12):  # none goes on before each device has one
    for part in "source", "dem":
        with open(f"slope.{part}.tif", "rb") as f:
            s.drop(f"slope{i}.{part}.tif", f.read())
s.until(lambda: {f"run {n}\n" for n in (1, 2, 3)} <= set(open("groups.log")), "every device has a landslide")
open("gate", "w").close()
s.until(lambda: s.status()["totals"]["done"] == 12, "all landslides done")
s.check("open 0\n" not in set(open("groups.log")), "a device that is not to be seen was opened")
with open("groups.conf", "w") as f:
    f.write("devices = 0,1,2\n[pipeline sciddicat]\nsteps = 100000000\nsettle = 10\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "devices cannot change while the service runs" in s.said(), "a change of devices is refused")
s.stop()
s.is_clean()

# One that is not there says so; the others work.
s = Service("three", "-b", "cuda", "--devices", "0, 1,7", wait=False)
s.until(lambda: s.status()["workers"][:1] and s.status()["workers"][0]["state"] == "ready", "the first is ready")
s.until(lambda: "cuda:1,7: the worker cannot begin: devices: 2 are asked for, 1 is here" in s.said(),
        "the one that is not there says so")
s.check(devices_of(s, 4) == {"fake 0"}, "another device")
s.stop()

# With auto the shape decides in the service, too; of a group whose first device is broken the second is named.
s = Service("four", "-b", "auto", "--config", "groups.conf", "--devices", "1,2",
            env={"LEAT_FAKE_BROKEN": "1", "LEAT_FAKE_GATE": "gate"})
s.until(lambda: workers(s) == {"cuda:1,2": "fake 2"}, "a worker for the group")
for part in "source", "dem":
    with open(f"slope.{part}.tif", "rb") as f:
        s.drop(f"slope.{part}.tif", f.read())
s.drop("small.clusters.csv", table(seed=1))
s.until(lambda: s.status()["totals"]["done"] == 2, "both done")
for name, device in ("slope", "cuda"), ("small", "cpu"):
    with open(os.path.join(s.spool, f"out/{name}/result.json")) as f:
        s.check(json.load(f)["backend"]["name"] == device, f"{name} was not done on {device}")
s.stop()
print("a worker a device, and a group")
