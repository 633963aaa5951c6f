"""The service is told to stop while jobs run: they may end, or are put back without a charge; jobs that pass their
deadline."""
# ctest: long slots=1 slots_watched=2 tsan=soak
import os
import signal
import subprocess

from lib import begin
from service import LEAT, LINE, WATCHED, Drop, Service, attempts, cpu_s, grid, table

begin()
n = 1000 if WATCHED else 1500  # no part of it may take the seconds after which a worker that is told to stop is killed
subprocess.run([LEAT, "generate", "clusters", "--series", str(n), "--samples", str(n), "--type", "f32", "-q", "-o",
                "big.clusters.npy"], check=True)
subprocess.run([LEAT, "generate", "points", "--points", "400000", "--columns", "4", "-q", "-o", "p.points.npy"], check=True)
with open("p.points.npy", "rb") as f:
    points = f.read()
SLOW = ("--threads", "1", "--level", "9")  # seconds of work


def begin_big(*options):
    """A service, the job that runs there, and its worker, which stands still until it is sent SIGCONT."""
    s = Service("spool", *SLOW, *options)
    worker = s.status()["workers"][0]["pid"]
    before_s = cpu_s(worker)
    with open("big.clusters.npy", "rb") as f:
        s.drop("big.clusters.npy", f.read())
    s.until(lambda: cpu_s(worker) > before_s + 0.05, "a running job")
    os.kill(worker, signal.SIGSTOP)
    [job] = s.until(lambda: s.status()["in_flight"], "a running job in the status")
    s.check(job["name"] == "in/big.clusters.npy" and job["attempt"] == 1 and job["total_bytes"] >= 4 * n * n,
            f"in flight: {job}")
    return s, job, worker


# A job of each pipeline, and one whose part is a parameter: none ends by itself as long as this may take.
ENDLESS = [Drop({f"long.{part}.asc": grid(part == "source") for part in ("dem", "source")}, True),
           Drop({"points.points.csv": table(rows=4000, columns=4)}, True),
           Drop({"nodes.nodes.csv": "".join(f"{i}" + f",{i % 7}" * 12 + "\n" for i in range(20000)),
                 "nodes.query.csv": "".join(f"{i}.5\n" for i in range(20000)) * 50}, True),
           Drop({f"{LINE}-x.nodes.csv": "0,1\n1,3\n2,2\n"}, True)]
with open("endless.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n"
            "[pipeline kmeans]\nk = 200\ntol = 0\nmax_iter = 1000000\nn_init = 1000\n"
            f"[route line]\nmatch = {LINE}-*\npipeline = interpolate\nquery = linspace(0, 2, 1e15)\n")


def begin_endless(spool, *options):
    s = Service(spool, "--config", "endless.conf", "-j", str(len(ENDLESS)), *options)
    for drop in ENDLESS:
        s.drop_all(drop)
    return s


def all_in_flight(s):
    running = s.status()["in_flight"]
    return len(running) == len(ENDLESS) and running


# There is time: the job ends, and nothing is left.
s, _, worker = begin_big("--drain", "600")
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
s, _, worker = begin_big("-j", "1", "--drain", "600")
for i in range(60):
    s.drop(f"w{i}.clusters.csv", table(seed=i))
s.until(lambda: sum(attempts().values()) > 8, "more are at the worker")
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "it is told to stop")
os.kill(worker, signal.SIGCONT)
s.stop(how=None)
s.check(set(os.listdir("spool/out")) == {"first", "big"}, f"begun after the signal: {os.listdir('spool/out')}")
s.check(s.said().split("service is stopping: ")[-1].startswith("1 jobs may end"), "how many run")
s.check(len(attempts()) > 8 and sum(attempts().values()) == 0, f"charged: {attempts()}")
s.check(len(attempts()) + len(os.listdir("spool/in")) == 60, "one is lost")
n_new = len(os.listdir("spool/in"))
s = Service("spool")
s.until(lambda: s.status()["totals"]["done"] == 60, "all that were put back")
s.until(lambda: s.status()["latency"]["count"] == n_new, "the latency is not that of jobs dropped since the start alone")
s.stop()
s.is_clean()

# There is not: it is put back without a charge, and begun by the next service.
s = begin_endless("endless", "--drain", "0.2")
s.until(lambda: all_in_flight(s), "running jobs")
s.stop()
left = set(os.listdir("endless/.work")) - {"lock", "requests"}
files = sorted(file for id in left for file in os.listdir(f"endless/.work/{id}/in"))
s.check(files == sorted(file for drop in ENDLESS for file in drop.files), f"of their files there are {files}")
s.check(list(attempts("endless").values()) == [0] * len(ENDLESS), f"charged: {attempts('endless')}")
s.check(not os.listdir("endless/out"), f"left: {os.listdir('endless/out')}")
s = Service("endless", "--drain", "0", "-j", str(len(ENDLESS)))
running = s.until(lambda: all_in_flight(s), "the jobs that were put back")
s.check({job["id"] for job in running} == left and {job["attempt"] for job in running} == {1}, f"in flight: {running}")
s.stop()

# A job for which another leaves too little memory says that it waits.
s = Service("narrow", "--config", "endless.conf", "-j", "2", "--memory", "60M", "--threads", "1", "--drain", "0")
for name in ("a", "b"):
    s.drop(f"{name}.points.npy", points)
s.until(lambda: sorted(job["waits_for"] for job in s.status()["in_flight"]) == ["", "memory"], "one that waits")
s.stop()

# Its file is changed while it is read: it is read again, and that is no charge.
s, job, worker = begin_big("--max-attempts", "1")
os.utime(f"spool/.work/{job['id']}/in/big.clusters.npy")
os.kill(worker, signal.SIGCONT)
s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == 1, "an end")
s.check(s.status()["totals"]["failed"] == 0, f"charged for a change: {s.reasons()}")
s.stop()
s.is_clean()

# Jobs that are stopped at their deadline are tried again, and then fail.
s = begin_endless("late", "--deadline", "0.2", "--max-attempts", "2")
s.until(lambda: s.status()["totals"]["failed"] == len(ENDLESS), "failures")
reasons = s.reasons()
s.check(sorted(reasons) == files, f"of their files {sorted(reasons)} have failed")
s.check({(r["kind"], r["attempts"]) for r in reasons.values()} == {("deadline", 2)}, f"{reasons}")
s.check(s.status()["workers"][0]["deaths"] == 0, "the worker died of it")
s.stop()
s.is_clean()
print("jobs end, are put back, or fail at their deadline")
