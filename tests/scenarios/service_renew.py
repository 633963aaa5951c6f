"""The configuration is changed (SIGHUP) while a long job runs: nobody waits for it, and it is not disturbed."""
# ctest: slots=1 slots_watched=2 tsan=soak
import os
import signal
import subprocess

from lib import begin
from service import LEAT, WATCHED, Service, cpu_s, grid, table

begin()
n = "1000" if WATCHED else "2000"  # no part of it may take the seconds after which a worker that is told to stop is killed
subprocess.run([LEAT, "generate", "clusters", "--series", n, "--samples", n, "--type", "f32", "-q", "-o",
                "big.clusters.npy"], check=True)
seed = 0


def configure(**settings):
    with open("leat.conf", "w") as f:
        f.write("".join(f"{key} = {value}\n" for key, value in settings.items()))
        f.write("[pipeline sciddicat]\nsteps = 2000000000\n[pipeline pearson]\nfigure = none\n")


def renew(s, **settings):
    said = s.said().count("has been read again")
    configure(**settings)
    s.process.send_signal(signal.SIGHUP)
    s.until(lambda: s.said().count("has been read again") == said + 1, "the configuration is in force")


def workers(s):
    return s.status()["workers"]


def states(s):
    return sorted(w["state"] for w in workers(s))


def others_are_done(s):
    """Two jobs that come now are done, though the long ones are not, which keep all threads busy meanwhile."""
    global seed
    names = [f"s{seed + i}.clusters.csv" for i in range(2)]
    for name in names:
        seed += 1
        s.drop(name, table(seed=seed))
    s.done(names, "two jobs beside the long ones")


def drop_long(s):
    for part in ("dem", "source"):
        s.drop(f"long.{part}.asc", grid(part == "source"))
    s.until(lambda: [j["name"] for j in s.status()["in_flight"]] == ["in/long.dem.asc"], "a long job")


# The worker gets no jobs for a while, and goes on with the settings of before when the long one does not end.
configure(jobs=1)
s = Service("spool", "--config", "leat.conf", "--drain", "0", "--threads", "2")
first = workers(s)[0]["pid"]
drop_long(s)
os.kill(first, signal.SIGSTOP)  # a job that never ends; it need not take a processor meanwhile
renew(s, jobs=3)
s.until(lambda: states(s) == ["retiring"] and "configuration" in workers(s)[0]["why"], f"{workers(s)}")
for part in ("dem", "source"):
    s.drop(f"long2.{part}.asc", grid(part == "source"))
s.until(lambda: states(s) == ["ready"] and "configuration of before" in workers(s)[0]["why"], "it goes on")
os.kill(first, signal.SIGCONT)
s.until(lambda: workers(s)[0]["pid"] == first and s.status()["ready"] and s.status()["why"] == "", f"{s.status()['why']}")
s.check(len(s.status()["in_flight"]) == 1, "two long jobs at a time")

# With its end the settings are in force: both long ones at a time, and others beside them.
os.kill(first, signal.SIGKILL)
s.until(lambda: len(s.status()["in_flight"]) == 2, "two long jobs at a time")
s.until(lambda: workers(s)[0]["why"] == "" and workers(s)[0]["deaths"] == 1, f"{workers(s)}")
others_are_done(s)
s.stop()

# A job that is let end leaves a result, and its worker ends with it. Its deadline is that of its beginning.
with open("leat.conf", "w") as f:
    f.write("deadline = 200\n")
s = Service("ends", "--config", "leat.conf", "--threads", "1")
first = workers(s)[0]["pid"]
before_s = cpu_s(first)
with open("big.clusters.npy", "rb") as f:
    s.drop("big.clusters.npy", f.read())
s.until(lambda: cpu_s(first) > before_s + 0.05, "a job of its time")
os.kill(first, signal.SIGSTOP)  # it does not end before it is told to
configure(level=9, deadline=0.001)
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "retiring" in states(s) or s.status()["totals"]["done"] == 1, "it retires")
os.kill(first, signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] == 1, "its job ends")
s.until(lambda: states(s) == ["ready"] and workers(s)[0]["pid"] != first, "it ends")
s.check(workers(s)[0]["deaths"] == 0 and s.status()["totals"]["requeued"] == 0, "its job was disturbed")

# Another deadline needs no other worker, and counts for what comes.
second = workers(s)[0]["pid"]
renew(s, level=9, deadline=0)
others_are_done(s)
renew(s, level=9, deadline=0.02, max_attempts=1)
with open("big.clusters.npy", "rb") as f:
    s.drop("late.clusters.npy", f.read())
s.until(lambda: s.status()["totals"]["failed"] == 1, "a job beyond its deadline")
s.check(s.reasons()["late.clusters.npy"]["kind"] == "deadline", f"{s.reasons()}")
s.check([w["pid"] for w in workers(s)] == [second], "another worker for a deadline")
s.stop()
s.is_clean()
print("other settings in force once a worker has no job, long jobs undisturbed")
