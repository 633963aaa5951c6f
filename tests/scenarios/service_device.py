"""The device fails under the service: it says so, has a new worker, and every job gets its result; how soon, is printed.
LEAT_TEST_BACKEND chooses the BACKEND."""
# ctest: slots=1
import os
import time

from lib import BACKEND, begin, needs_faulty
from service import Service, table

begin()
needs_faulty()
s = Service("device", "-b", BACKEND, program=os.environ["LEAT_FAULTY"], env={"LEAT_WORKER_FAULT": "device #3"})
worker = s.status()["workers"][0]
s.check(worker["name"].startswith(BACKEND), f"not on {BACKEND}: {worker}")
for k in range(2):
    s.drop(f"before{k}.clusters.csv", table(seed=k))
s.until(lambda: s.status()["totals"]["done"] == 2, "two jobs done")

start = time.monotonic()
for k in range(2):
    s.drop(f"after{k}.clusters.csv", table(seed=9 + k))
not_ready = None
while time.monotonic() - start < 60:
    now = s.status()
    if not now["ready"] and not_ready is None:
        not_ready = time.monotonic() - start
    if now["ready"] and now["workers"][0]["deaths"] == 1:
        break
ready = time.monotonic() - start
s.check(now["ready"], f"not ready again after {ready} s")
s.check("the worker has ended" in s.said() and s.said().count(": ready on ") == 2, "a new worker was not told")
s.until(lambda: s.status()["totals"]["done"] == 4, "all done")
s.check(s.status()["workers"][0]["deaths"] == 1, "one death")
s.check(s.status()["totals"]["failed"] == 0, "nothing failed")
s.stop()
s.is_clean()
told = "unseen" if not_ready is None else f"after {not_ready:.2f} s"
print(f"{worker['device']}: not ready {told}, ready again after {ready:.2f} s")
