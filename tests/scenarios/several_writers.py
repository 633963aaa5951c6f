"""Runs and services that work into one output folder at the same time.

Nobody waits for another, whoever is killed; what the killed have left goes, and nothing else."""
import os
import signal
import subprocess
import sys

from lib import begin
from service import LEAT, WAIT_S, Service, grid, table

begin()
OUT = os.path.abspath("one/out")
LONG = ["-s", "steps=2000000000", "-s", "snapshot_every=20000", "-s", "raster=asc.gz"]


def parts(text):
    """Part folders in OUT with that in their name."""
    return [name for name in os.listdir(OUT) if name.endswith(".part") and text in name]


class Run:
    """A run that goes on until it is ended; it has its part by then."""

    def __init__(self, s, stem):
        for part in "dem", "source":
            with open(f"{stem}.{part}.asc", "w") as f:
                f.write(grid(part == "source"))
        self.process = subprocess.Popen([LEAT, "run", "-b", "cpu", "--threads", "1", "-o", OUT, *LONG, f"{stem}.dem.asc",
                                         f"{stem}.source.asc"], stderr=subprocess.DEVNULL)
        s.until(self.parts, f"a part of the run of {stem}")

    def parts(self):
        return parts(f".{self.process.pid}.")

    def ends_by(self, s, number):
        self.process.send_signal(number)
        s.check(self.process.wait(WAIT_S) == -number, f"ended with {self.process.returncode} instead of signal {number}")


def begin_service(spool, name):
    """A service whose job has its part and stands still: the service and its worker."""
    s = Service(spool, "--output", OUT)
    worker = s.status()["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)
    before = set(parts(""))
    s.drop(name, table())
    return s, worker, s.until(lambda: set(parts("")) - before, f"a part for {name}").pop()


os.makedirs(OUT)
one, one_works, one_part = begin_service("one", "a.clusters.csv")
killed = Run(one, "killed")
two, two_works, two_part = begin_service("two", "b.clusters.csv")
living = Run(one, "living")
one.check(one_part.rsplit(".", 2)[1] != two_part.rsplit(".", 2)[1], "two spools have one name")

killed.ends_by(one, signal.SIGKILL)
for pid in two.process.pid, two_works:
    os.kill(pid, signal.SIGKILL)
two.process.wait()
with open("c.clusters.csv", "w") as f:
    f.write(table())
third = subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", OUT, "c.clusters.csv"], stderr=subprocess.PIPE, timeout=WAIT_S)
one.check(third.returncode == 0, third.stderr)
one.check(not killed.parts(), "what a killed run has left stays")
one.check(living.parts() and parts(one_part) and parts(two_part), f"parts of the living are gone: {os.listdir(OUT)}")

# Another start of the one leaves what the other has left; its own part goes, as its job begins again.
two = Service("two", "--output", OUT)
two.done(["b.clusters.csv"], "the job of the service that was killed")
one.check(not parts(two_part) and living.parts() and parts(one_part), f"{os.listdir(OUT)}")
living.ends_by(one, signal.SIGINT)
one.check(not living.parts(), "an interrupted run leaves its part")
os.kill(one_works, signal.SIGCONT)
one.done(["a.clusters.csv"], "the job that stood still")
one.stop()
two.stop()
left = sorted(os.listdir(OUT))
if left != ["a", "b", "c"]:
    sys.exit(f"FAILED: {left}")
for spool in "one", "two":
    if left := set(os.listdir(f"{spool}/.work")) - {"lock", "requests"}:
        sys.exit(f"FAILED: {spool}/.work: {left}")
print("two services and three runs in one folder: nobody waits, and nothing is left over")
