"""A job whose work does not move is ended and charged, whatever its worker says of itself; one that is slow is not. No job
has a deadline here."""
# ctest: slots=1
import os
import re

from lib import begin, needs_faulty
from service import WATCHED, Service, table

begin()
needs_faulty()
FAULTS = {"LEAT_WORKER_FAULT": "still stuck, slow snail", "LEAT_WORKER_ALIVE_MS": "8" if WATCHED else "2"}


def dropped(name, files, *options):
    s = Service(name, *options, program=os.environ["LEAT_FAULTY"], env=FAULTS)
    for f in files:
        s.drop(f + ".clusters.csv", table())
    return s


# Both at a time. A thread of the first one's worker is taken by the job that is stuck; the worker gives signs of life.
still = dropped("still", ["one", "stuck", "two"], "--threads", "2", "--max-attempts", "2")
# Pieces of half a second, for 16 seconds, on the only thread, which another job waits for.
slow = dropped("slow", ["snail", "waits"], "--threads", "1", "--max-attempts", "1")

still.until(lambda: still.status()["totals"]["failed"] == 1, "the job that is stuck has failed")
still.drop("after.clusters.csv", table())
still.until(lambda: still.status()["totals"]["done"] == 3, "the others have results")
reason = still.reasons()["stuck.clusters.csv"]
still.check(reason["kind"] == "stalled" and reason["attempts"] == 2, f"{reason}")
still.check(re.search("did not move for 6[0-9][0-9] s", reason["reason"]), f"{reason}")
still.until(lambda: still.status()["workers"][0]["deaths"] == 2, f"{still.status()['workers']}")
still.stop()
still.is_clean()

slow.until(lambda: slow.status()["totals"]["done"] == 2, "the slow job and the one behind it are done")
slow.check(slow.status()["workers"][0]["deaths"] == 0, "a slow job's worker has died")
slow.stop()
slow.is_clean()
print("a job that is still is ended, a slow one is not")
