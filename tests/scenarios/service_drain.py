"""Told to stop while jobs run: they may end, or are put back without a charge; deadlines; see service_drain.sh."""
import os
import signal
import subprocess
import time

from service import LEAT, PATIENCE, WATCHED, Service, grid, table

n = 2000 if WATCHED else 3000  # no part of it may take the seconds after which a worker that is told to stop is killed
subprocess.run([LEAT, "generate", "clusters", "--series", str(n), "--samples", str(n), "--type", "f32", "-q", "-o",
                "big.clusters.npy"], check=True)
SLOW = ("--threads", "1", "--level", "9")  # seconds of work


def attempts(spool="spool"):
    """Of each job in .work, how many are charged."""
    charged = []
    for id in set(os.listdir(f"{spool}/.work")) - {"lock"}:
        try:
            with open(f"{spool}/.work/{id}/attempts") as f:
                charged.append(f.read().count("\n"))
        except FileNotFoundError:
            charged.append(0)
    return charged


def begin(*options):
    """A service, the job that runs there, and its worker, which stands still until it is sent SIGCONT."""
    s = Service("spool", *SLOW, *options)
    with open("big.clusters.npy", "rb") as f:
        s.drop("big.clusters.npy", f.read())
    [job] = s.until(lambda: s.status()["in_flight"], "a running job")
    worker = s.status()["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)
    s.check(job["name"] == "in/big.clusters.npy" and job["attempt"] == 1 and job["total_bytes"] >= 4 * n * n,
            f"in flight: {job}")
    return s, job, worker


def begin_endless(spool, *options):
    with open("endless.conf", "w") as f:
        f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
    s = Service(spool, "--config", "endless.conf", *options)
    for part in ("dem", "source"):
        s.drop(f"long.{part}.asc", grid(part == "source"))
    return s


# There is time: the job ends, and nothing is left.
s, _, worker = begin("--drain", "600")
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "it is told to stop")
s.drop("other.clusters.npy", b"not begun any more")
os.kill(worker, signal.SIGCONT)
s.stop(how=None)
s.check(s.has("out/big/result.json") and s.has("done/big.clusters.npy"), "the job did not end")
s.check(s.has("in/other.clusters.npy"), "a file was taken after the signal")
s.is_clean()
os.unlink("spool/in/other.clusters.npy")

# Jobs that wait at the worker are not begun any more, and not charged.
os.rename("spool/out/big", "spool/out/first")
s, _, worker = begin("-j", "1", "--drain", "600")
for i in range(60):
    s.drop(f"w{i}.clusters.csv", table(seed=i))
s.until(lambda: sum(attempts()) > 8, "more are at the worker")
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "it is told to stop")
os.kill(worker, signal.SIGCONT)
s.stop(how=None)
s.check(set(os.listdir("spool/out")) == {"first", "big"}, f"begun after the signal: {os.listdir('spool/out')}")
s.check(s.said().split("service is stopping: ")[-1].startswith("1 jobs may end"), "how many run")
s.check(len(attempts()) > 8 and sum(attempts()) == 0, f"charged: {attempts()}")
s.check(len(attempts()) + len(os.listdir("spool/in")) == 60, "one is lost")
s = Service("spool")
s.until(lambda: s.status()["totals"]["done"] == 60, "all that were put back")
s.stop()
s.is_clean()

# There is not: it is put back without a charge, and begun by the next service.
s = begin_endless("endless", "--drain", "0.2")
s.until(lambda: s.status()["in_flight"], "a running job")
told = time.monotonic()
s.stop()
s.check(time.monotonic() - told < 20 * PATIENCE, "it took too long to stop")
[left] = set(os.listdir("endless/.work")) - {"lock"}
s.check(s.has(f".work/{left}/in/long.dem.asc"), "its file is gone")
s.check(attempts("endless") == [0], "it was charged")
s.check(not [n for n in os.listdir("endless/out") if n.startswith(".")], "a part was left")
s = Service("endless", "--drain", "0")
[job] = s.until(lambda: s.status()["in_flight"], "the job that was put back")
s.check(job["id"] == left and job["attempt"] == 1, f"in flight: {job}")
s.stop()

# Its file is changed while it is read: it is read again, and that is no charge.
s, job, worker = begin("--max-attempts", "1")
os.utime(f"spool/.work/{job['id']}/in/big.clusters.npy")
os.kill(worker, signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == 1, "an end")
s.check(s.status()["totals"]["failed"] == 0, f"charged for a change: {s.reasons()}")
s.stop()
s.is_clean()

# A job that is stopped at its deadline is tried again, and then fails.
s = begin_endless("late", "--deadline", "0.2", "--max-attempts", "2")
s.until(lambda: s.status()["totals"]["failed"] == 1, "a failure")
reason = s.reasons()["long.dem.asc"]
s.check(reason["kind"] == "deadline" and reason["attempts"] == 2, f"{reason}")
s.check(s.status()["workers"][0]["deaths"] == 0, "the worker died of it")
s.stop()
s.is_clean()
print("jobs end, are put back, or fail at their deadline")
