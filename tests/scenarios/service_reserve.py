"""A service that has nothing to do says that it could not, before a file comes: below its reserve, and when results cannot be
written."""
# ctest: long slots=1
import os
import signal

from lib import begin, needs_another_user, small_disk
from service import Service, attempts, service_of_another, table

begin()
needs_another_user()
small_disk("12m")


def is_paused_for(s, *words):
    status = s.status()
    return status["state"] == "paused" and all(word in status["why"] for word in words)


def ballast(mib):
    with open("small/ballast", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, mib << 20)


# Below the reserve from the start, then above it, then below again: nobody drops anything.
ballast(8)
s = Service("small/spool", "--reserve", "5M")
s.until(lambda: is_paused_for(s, "MiB", s.spool), "a pause from the start")
os.unlink("small/ballast")
s.until(lambda: s.status()["state"] == "running", "an end of it")
s.until(lambda: "there is room again" in s.said(), "and that is logged")
ballast(8)
s.until(lambda: is_paused_for(s, "MiB"), "another pause")
s.check(s.said().count("paused: ") == 2, "once each")
s.drop("a.clusters.csv", table())
os.unlink("small/ballast")
s.until(lambda: s.status()["totals"]["done"] == 1, "a file that came meanwhile")
s.stop()
s.is_clean()


def attempted(s):
    """Of jobs in .work: how many are charged with an attempt."""
    return sum(n > 0 for n in attempts(s.spool).values())


def drop_at_worker(s, name):
    """Drops a file for a worker that stands still. Returns the worker's process."""
    worker = s.status()["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)
    s.drop(name, table())
    s.until(lambda: attempted(s) == 1, "an attempt")
    return worker


# What is made below the reserve is put in place, and may give room.
s = Service("small/spool", "--reserve", "5M")
worker = drop_at_worker(s, "b.clusters.csv")
ballast(8)
s.drop("c.clusters.csv", table())
s.until(lambda: is_paused_for(s, "MiB"), "a pause while a job runs")
os.kill(worker, signal.SIGCONT)
s.until(lambda: s.has("done/b.clusters.csv"), "a result below the reserve")
s.check(is_paused_for(s, "MiB") and s.has("in/c.clusters.csv"), "something was begun below the reserve")
os.unlink("small/ballast")
s.until(lambda: s.has("done/c.clusters.csv"), "the other one when there is room")

# In another pause it waits, is told of, and is not charged when the service ends.
worker = drop_at_worker(s, "d.clusters.csv")
os.rename("small/spool/done", "small/spool/away")
s.until(lambda: is_paused_for(s, "done"), "a pause for a folder that has gone")
os.kill(worker, signal.SIGCONT)
s.until(lambda: "its result is made" in s.waits().get("in/d.clusters.csv", ""), "why it waits")
s.until(lambda: s.status()["n_waiting"] == 1 and s.status()["n_queued"] == 0, "it is counted as waiting")
s.stop()
s.check(attempted(s) == 0, "charged for the end of the service")
os.rename("small/spool/away", "small/spool/done")
s = Service("small/spool", "--reserve", "5M")
s.until(lambda: s.has("done/d.clusters.csv"), "done by the next service")
s.stop()
s.is_clean()

# Results cannot be written any more, and then they can.
s = service_of_another()
out = os.path.join(s.spool, "out")
os.chown(out, 0, 0)
s.until(lambda: is_paused_for(s, f"'{out}'", "Permission denied", "right"), "a pause that names the folder")
s.drop("a.clusters.csv", table())
os.chown(out, 65534, 65534)
s.until(lambda: s.status()["totals"]["done"] == 1, "done when results can be written")
s.check(s.said().count("paused: ") == 1, "one pause")
s.stop()
s.is_clean()
print("what nothing can begin for is said before anything comes")
