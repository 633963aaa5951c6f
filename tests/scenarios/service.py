"""What the scenarios of the service do again and again: start it, ask it, wait for something to become true."""
# ctest: none
import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import time

from lib import LEAT, PATIENCE, THREADS_ALONE, WAIT_S, WATCHED  # noqa: F401
from ask_status import ask_status
from patience import report
from service_bench import KINDS, LINE, ROUTES, Content, Drop, identity  # noqa: F401

LIBC = ctypes.CDLL(None)
OTHER = 65534  # a user who is not root


def cpu_s(pid):
    """The time of processors that the process has taken."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(int(ticks) for ticks in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def die_with_parent():
    """A service must not outlive its scenario, however that ends: PR_SET_PDEATHSIG."""
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


class Service:
    """`leat watch` on the folder `spool`; its log is kept, and printed when a test fails."""

    def __init__(self, spool, *options, program=LEAT, env=None, wait=True, stderr=None):
        self.spool = os.path.abspath(spool)
        self.log = self.spool + ".log"
        os.makedirs(self.spool, exist_ok=True)
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [program, "watch", "--spool", self.spool, "-b", "cpu", "--settle",
                 "0.3", "--reserve", "0", *options], stderr=stderr or log, env={**os.environ, **(env or {})},
                preexec_fn=die_with_parent)
        if wait:
            self.until(lambda: self.status()["ready"], "ready")

    def status(self):
        return ask_status(self.spool) or {"ready": False, "state": "silent", "totals": {"done": -1}, "n_queued": 0,
                                           "n_waiting": 0, "in_flight": [], "waiting": [], "workers": []}

    def until(self, ask, what, seconds=WAIT_S):
        """Waits until what is asked for is true, and returns it: asked once more, it may be gone."""
        end = time.monotonic() + seconds
        while not (answer := ask()):
            if time.monotonic() > end:
                self.fail(f"never: {what}")
            if self.process.poll() is not None:
                self.fail(f"it ended ({self.process.returncode}) before: {what}")
            time.sleep(0.05)
        return answer

    def fail(self, why):
        self.process.send_signal(signal.SIGCONT)
        print(json.dumps(self.status(), indent=1))
        print(self.said())
        self.process.kill()
        sys.exit(f"FAILED: {why}")

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def check(self, is_true, why):
        if not is_true:
            self.fail(why)

    def drop(self, name, data):
        """Puts a file into in/ in one step."""
        path = os.path.join(self.spool, "in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        aside = os.path.join(os.path.dirname(path), "." + os.path.basename(path))
        with open(aside, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        os.rename(aside, path)

    def drop_all(self, drop):
        """The files of a job of service_bench.py, the last one first."""
        for name in reversed(drop.files):
            self.drop(name, drop.files[name])

    def has(self, path):
        return os.path.lexists(os.path.join(self.spool, path))

    def done(self, names, what):
        """Waits until the status shows these files as done, of which it shows the last 20; a job of several parts stands
        there under its first. Not for a number of jobs: one whose result is there may be counted later."""
        self.until(lambda: {f"in/{name}" for name in names} <= {job["name"] for job in self.status().get("done", [])}, what)

    def reasons(self):
        """Of what failed: file name -> reason.json."""
        found = {}
        for id in os.listdir(os.path.join(self.spool, "failed")):
            with open(os.path.join(self.spool, "failed", id, "reason.json")) as f:
                reason = json.load(f)
            for name in os.listdir(os.path.join(self.spool, "failed", id, "in")):
                found[name] = reason
        return found

    def waits(self):
        """Of what waits: path -> reason."""
        return {w["path"]: w["reason"] for w in self.status().get("waiting", [])}

    def begun(self, name, out=None):
        """The jobs of that input that are at work, as their parts show at once; the status may be a second old."""
        ids = {part.split(".")[1] for part in os.listdir(out or self.spool + "/out") if part.endswith(".part")}
        return {id for id in ids if self.has(f".work/{id}/in/{name}")}

    def stop(self, status=0, how=signal.SIGTERM):
        """Sends a signal, unless that is None, and waits for the end."""
        if how is not None:
            self.process.send_signal(how)
        try:
            got = self.process.wait(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.fail("it does not end")
        if status is not None and got != status:
            sys.exit(f"FAILED: exit status {got}\n{self.said()}")
        if report(self.said()):
            sys.exit(f"FAILED: a sanitizer has found something\n{self.said()}")

    def has_once(self, drops, out=None):
        """Each of these has one result, there is none else, and all their files are in done/, as are no others."""
        out = out or os.path.join(self.spool, "out")
        self.check(sorted(os.listdir(out)) == sorted(d.name for d in drops), f"results: {sorted(os.listdir(out))}")
        for drop in drops:
            self.check(os.path.exists(os.path.join(out, drop.name, "result.json")), f"result {drop.name}")
        done = sorted(os.listdir(os.path.join(self.spool, "done")))
        self.check(done == sorted(name for d in drops for name in d.files), f"inputs: {done}")

    def is_clean(self):
        """Nothing is left over in .work and in out."""
        work = set(os.listdir(os.path.join(self.spool, ".work"))) - {"lock", "requests"}
        parts = [n for n in os.listdir(os.path.join(self.spool, "out")) if n.startswith(".")]
        self.check(not work and not parts, f"left over: {work} {parts}")


def record(folder):
    """Of the job whose folder that is."""
    with open(folder + "/job") as f:
        return json.load(f)


def attempts(spool="spool"):
    """Of each job in .work, by its ID, how many are charged."""
    charged = {}
    for path in glob.glob(f"{spool}/.work/*/job"):
        try:
            charged[os.path.basename(os.path.dirname(path))] = record(os.path.dirname(path))["attempts"]
        except (FileNotFoundError, NotADirectoryError):  # it has ended
            pass
    return charged


def owner_of(spool):
    """The number that the spool has once it has been started."""
    with open(f"{spool}/.work/lock") as f:
        return f.readline().strip()


def part_of(spool, id):
    """The folder in which it makes the result of a job."""
    return f"{spool}/out/.{id}.{owner_of(spool)}.part"


def committed(spool, id, stem, folder=""):
    """The record of a committed job of STEM.clusters.csv, whose part is there."""
    return {"schema": 2, "id": id, "folder": folder, "stem": stem, "parameters": {},
            "inputs": [{"name": f"{stem}.clusters.csv", "inode": 1, "bytes": 7, "mtime_ns": 1}],
            "commit": {"final": stem, "replace": False, "owner": owner_of(spool), "part_inode": os.stat(part_of(spool, id)).st_ino}}


def service_of_another():
    """A service that is OTHER's, on other/spool, whose in/ is OTHER's, too."""
    for name in ("other", "other/spool", "other/spool/in"):
        os.mkdir(name)
        os.chown(name, OTHER, OTHER)
    os.chmod(".", 0o711)
    with open("leat-as-other", "w") as f:
        f.write(f'#!/bin/sh\nexec setpriv --reuid {OTHER} --regid {OTHER} --clear-groups "{LEAT}" "$@"\n')
    os.chmod("leat-as-other", 0o755)
    return Service("other/spool", program="./leat-as-other")


def table(rows=6, columns=20, seed=1):
    """A small table of series in rows."""
    value, lines = seed, []
    for _ in range(rows):
        cells = []
        for _ in range(columns):
            value = (value * 1103515245 + 12345) % 2**31
            cells.append(f"{value / 2**31:.6f}")
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def grid(name_is_source, n=8):
    """A slope, or a thickness to be set free on it."""
    head = f"ncols {n}\nnrows {n}\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -9999\n"
    rows = [" ".join(str(3 if name_is_source and r == 2 and c == 3 else 0 if name_is_source else 100 - 5 * r)
                     for c in range(n)) for r in range(n)]
    return head + "\n".join(rows) + "\n"
