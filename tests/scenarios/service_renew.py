"""SIGHUP with other settings while a long job runs; see service_renew.sh."""
import os
import signal
import subprocess

from service import LEAT, WATCHED, Service, grid, table

n = "2000" if WATCHED else "4000"  # no part of it may take the seconds after which a worker that is told to stop is killed
subprocess.run([LEAT, "generate", "clusters", "--series", n, "--samples", n, "--type", "f32", "-q", "-o",
                "big.clusters.npy"], check=True)
seed = 0


def configure(**settings):
    with open("leat.conf", "w") as f:
        f.write("".join(f"{key} = {value}\n" for key, value in settings.items()))
        f.write("[pipeline sciddicat]\nsteps = 2000000000\n")


def renew(s, **settings):
    said = s.said().count("has been read again")
    configure(**settings)
    s.process.send_signal(signal.SIGHUP)
    s.until(lambda: s.said().count("has been read again") == said + 1, "the configuration is in force")


def workers(s):
    return s.status()["workers"]


def states(s):
    return sorted(w["state"] for w in workers(s))


def others_are_done(s, n=8):
    """Jobs that come now are done, though the long one is not."""
    global seed
    names = [f"s{seed + i}.clusters.csv" for i in range(n)]
    for name in names:
        seed += 1
        s.drop(name, table(seed=seed))
    s.done(names, f"{n} jobs beside the long one")


def drop_long(s):
    for part in ("dem", "source"):
        s.drop(f"long.{part}.asc", grid(part == "source"))
    s.until(lambda: [j["name"] for j in s.status()["in_flight"]] == ["in/long.dem.asc"], "a long job")


configure(jobs=1)
s = Service("spool", "--config", "leat.conf", "--drain", "0", "--threads", "2")
first = workers(s)[0]["pid"]
drop_long(s)
renew(s, jobs=2)
others_are_done(s)
s.check(states(s) == ["ready", "retiring"], f"{workers(s)}")
old = [w for w in workers(s) if w["state"] == "retiring"][0]
s.check(old["pid"] == first and "configuration" in old["why"], f"{old}")
s.check(s.status()["ready"] and s.status()["why"] == "", f"{s.status()['why']}")

# More changes meanwhile make no more workers, and still nobody waits.
second = [w["pid"] for w in workers(s) if w["state"] == "ready"]
for part in ("dem", "source"):
    s.drop(f"long2.{part}.asc", grid(part == "source"))
s.until(lambda: len(s.status()["in_flight"]) == 2, "a long job at the second worker, too")
for jobs in (3, 4):
    renew(s, jobs=jobs)
    others_are_done(s, 2)
    s.check(states(s) == ["ready", "retiring"], f"{workers(s)}")
newer = [w for w in workers(s) if w["state"] == "ready"][0]
s.check([newer["pid"]] == second and str(first) in newer["why"], f"{newer}")

# The one that retires is killed: its job is charged, and begins again; the next one takes its turn to retire.
os.kill(first, signal.SIGKILL)
s.until(lambda: states(s) == ["ready", "retiring"] and second[0] in
        [w["pid"] for w in workers(s) if w["state"] == "retiring"], "the second one retires")
s.until(lambda: any(j["name"] == "in/long.dem.asc" and j["attempt"] == 2 for j in s.status()["in_flight"]),
        "the long job is tried again")
s.check(sum(w["deaths"] for w in workers(s) if w["state"] == "ready") == 1, f"a death is counted: {workers(s)}")
others_are_done(s, 2)
s.stop()

# A job that is let end leaves a result, and its worker ends with it. Its deadline is that of its beginning.
with open("leat.conf", "w") as f:
    f.write("deadline = 200\n")
s = Service("ends", "--config", "leat.conf", "--threads", "1")
first = workers(s)[0]["pid"]
with open("big.clusters.npy", "rb") as f:
    s.drop("big.clusters.npy", f.read())
s.until(lambda: s.status()["in_flight"], "a job of some seconds")
configure(level=9, deadline=0.001)
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "retiring" in states(s) or s.status()["totals"]["done"] == 1, "it retires")
s.until(lambda: s.status()["totals"]["done"] == 1, "its job ends")
s.until(lambda: states(s) == ["ready"] and workers(s)[0]["pid"] != first, "it ends")
s.check(workers(s)[0]["deaths"] == 0 and s.status()["totals"]["requeued"] == 0, "its job was disturbed")

# Another deadline needs no other worker, and counts for what comes.
second = workers(s)[0]["pid"]
renew(s, level=9, deadline=0)
others_are_done(s, 2)
renew(s, level=9, deadline=0.3, max_attempts=1)
with open("big.clusters.npy", "rb") as f:
    s.drop("late.clusters.npy", f.read())
s.until(lambda: s.status()["totals"]["failed"] == 1, "a job beyond its deadline")
s.check(s.reasons()["late.clusters.npy"]["kind"] == "deadline", f"{s.reasons()}")
s.check([w["pid"] for w in workers(s)] == [second], "another worker for a deadline")
s.stop()
s.is_clean()
print("other settings in force at once, long jobs undisturbed")
