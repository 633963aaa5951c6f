"""Jobs whose results are larger than the disk, among others that fit, which do not wait for them."""
# ctest: long slots=1 tsan=soak
import os
import subprocess
import time

from lib import begin, small_disk
from service import LEAT, WAIT_S, Service, table

begin()
small_disk("12m")
out = os.path.abspath("small")
LARGE = ("large1", "large2", "large3")
subprocess.run([LEAT, "generate", "clusters", "--series", "2000", "--samples", "40", "--type", "f64", "-q", "-o",
                "large.clusters.npy"], check=True)  # 16 MB of coefficients
with open("large.clusters.npy", "rb") as f:
    large = f.read()
n = 0


def drop_small(s):
    """Drops a job that fits; how long it takes to be done."""
    global n
    n += 1
    begin = time.monotonic()
    s.drop(f"small{n}.clusters.csv", table(seed=n))
    s.until(lambda: s.has(f"done/small{n}.clusters.csv"), "a job that fits is done")
    return time.monotonic() - begin


def waiting(s):
    return sorted(os.path.basename(p).split(".")[0] for p, why in s.waits().items() if "No space left" in why)


def told():
    """Whether the status has large ones that wait; now and then all of them are being tried."""
    d = s.status()
    return d["n_waiting"] >= 1 and d["n_queued"] <= len(LARGE)


# They are told as waiting, and are no reason for all to pause.
s = Service("spool", "--output", out)
for name in LARGE:
    s.drop(f"{name}.clusters.npy", large)
s.until(lambda: waiting(s) == list(LARGE), "they meet no space")
s.check(s.status()["state"] == "running", "all are paused for three")

# Others come, and have enough: the large ones wait by themselves.
begin = time.monotonic()
while waiting(s) != list(LARGE):
    drop_small(s)
    s.check(time.monotonic() - begin < WAIT_S, f"they hold others up: {waiting(s)}")
    time.sleep(0.1)
s.until(lambda: "tried again in" in s.waits().get("in/large1.clusters.npy", ""), "the reason")
s.until(told, "they are told as waiting")
n_pauses = s.said().count("paused: ")
took = [drop_small(s) for _ in range(30)]
n_pauses = s.said().count("paused: ") - n_pauses  # a large one that is tried may take the room of another
s.check(n_pauses < len(took) / 2, f"others wait: {n_pauses} pauses, {took}")
s.until(told, "the large ones wait still")
s.check(s.status()["totals"]["failed"] == 0, "a failure for want of space")

# There is room for them: done, and nothing was charged.
subprocess.run(["mount", "-o", "remount,size=400m", out], check=True)
s.until(lambda: all(s.has(f"done/{name}.clusters.npy") for name in LARGE), "done when there is room")
s.until(lambda: not waiting(s), "none waits")
s.check(s.status()["totals"]["failed"] == 0, "a failure")
s.stop()
s.check(set(os.listdir("spool/.work")) == {"lock", "requests"}, "left over")
print(f"large jobs wait by themselves; others took {max(took):.1f} s at most")
