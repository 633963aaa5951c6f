"""The k-th call for memory, or of the system, fails (tests/support/call_fault.c): a job of each pipeline is then complete or
has failed with the reason, and a watched folder loses nothing, though its service may end, to be started again.
LEAT_FAULT_STRIDE=1: every k (minutes; the release run), 2: every second; without it, of each place that such calls are made
from one (where a sanitizer watches, of a third of the places), and a few of the service. LEAT_FAULT_SEED chooses.

What `leat run` may do then: exit 0 with the whole right result, or 1 or 2 with a reason that names memory (or the
system's error). Never: a signal, a sanitizer's report, silence, half a result, something left over; but without memory
for names and lists the whole run ends, and what is left over goes with the next one.
"""
# ctest: long slots=1 slots_watched=2 tsan=no
import collections
import concurrent.futures
import errno
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib

from lib import LEAT, begin, needs_faulty

begin("numpy", in_memory=True)
import numpy
from service import WAIT_S, WATCHED, grid, table
from service_bench import Content, Failure, Ledger, Service

needs_faulty()
FAULTY = os.environ["LEAT_FAULTY"]
SEED = int(os.environ.get("LEAT_FAULT_SEED", "1"))
STRIDE = int(os.environ.get("LEAT_FAULT_STRIDE", "0"))  # 0: one call for each place that makes such calls
SPARSE = 3 if WATCHED else 1  # where a process takes several times as long: of so many one
CALLERS = 1 if WATCHED else 2  # a place is the function that calls, and as many less one that have called it
N_SERVICES = 2 if WATCHED else 3  # of each kind of fault
EVERYTHING = STRIDE == 1
SANITIZER_STATUS = 86
CUT_OFF = "no memory is left: the run ends"
NO_MEMORY_STATUS = 71  # of a service that has none: it ends, and the next start goes on
ENVIRONMENT = {**os.environ, **{name: ":".join(filter(None, [os.environ.get(name), f"exitcode={SANITIZER_STATUS}"]))
                                for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}}
# What takes away a result that was not finished; when one of these fails, that waits for the next run.
REMOVAL = {"unlinkat", "openat64", "__openat64_2", "fdopendir", "readdir64", "fstatat64", "close"}


class Wrong(Exception):
    pass


def which(log):
    """The call that failed, in words: its name, and where it was made."""
    name, *frames = log.split()
    frames = [f for f in frames if int(f, 16) < 1 << 32]
    said = subprocess.run(["addr2line", "-fse", FAULTY, *frames], capture_output=True, text=True) if shutil.which(
        "addr2line") else None
    return f"{name} by {', '.join(said.stdout.splitlines()[::2]) if said else ' '.join(frames)}"


def keys(value, at=""):
    """The paths of all keys of a JSON value; the numbers behind them may be times."""
    if isinstance(value, dict):
        return set().union({at}, *(keys(v, f"{at}.{k}") for k, v in value.items()))
    return set().union({at}, *(keys(v, f"{at}.{i}") for i, v in enumerate(value))) if isinstance(value, list) else {at}


def read(path):
    with open(path, "rb") as f:
        return f.read()


# --- leat run ----------------------------------------------------------------------------------------------------


def difference(a, b):
    """In words, of two dictionaries of results."""
    return "; ".join(f"{name}: " + (f"{sorted(a[name] ^ b[name])[:5]}" if name[1] == "keys" and name in a and name in b
                                    else "missing" if name not in a else "other") for name in sorted(
                                        a.keys() | b.keys()) if a.get(name) != b.get(name))


class Job:
    """One `leat run`: its inputs lie in a folder; the reference is what an undisturbed run has made."""

    def __init__(self, name, inputs, *options, folder=False, is_good=True):
        self.name, self.is_good = name, is_good
        self.options = ["-b", "cpu", "--threads", "1", "-j", "1", "-q", *options]
        self.inputs = []
        for file, data in inputs.items():
            self.inputs.append(os.path.join(name, "in", file))
            os.makedirs(os.path.dirname(self.inputs[-1]), exist_ok=True)
            with open(self.inputs[-1], "wb") as f:
                f.write(data if isinstance(data, bytes) else data.encode())
        if folder:
            self.inputs = [os.path.join(name, "in")]
        self.calls = {"memory": [], "system": []}  # of each the place that it is made from
        for line in self.start("reference", "list")[1].splitlines():
            kind, _, *place = line.split()
            self.calls[kind].append(tuple(f for f in place if not f.startswith("0x") or int(f, 16) < 1 << 32))
        self.reference = self.results("reference")

    def start(self, output, fault):
        log = os.path.join(self.name, output + ".log")
        env = {**ENVIRONMENT, "LEAT_FAULT": fault, "LEAT_FAULT_LOG": log}
        try:
            done = subprocess.run([FAULTY, "run", *self.options, "-o", os.path.join(self.name, output), *self.inputs],
                                  env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            raise Wrong("it hangs") from None
        return done, (read(log).decode() if os.path.exists(log) else "")

    def results(self, output):
        """Of every result: its files' bytes, and what result.json has."""
        found = {}
        root = os.path.join(self.name, output)
        for path, folders, files in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith(".")]
            if not files:
                continue
            if "result.json" not in files:
                raise Wrong(f"half a result: {path}")
            folders.clear()
            folder = os.path.relpath(path, root)
            about = json.loads(read(os.path.join(path, "result.json")))
            for o in about.get("outputs", []):
                data = found[folder, o["name"]] = read(os.path.join(path, o["name"]))
                if len(data) != o["bytes"] or "%08x" % zlib.crc32(data) != o["crc32"]:
                    raise Wrong(f"torn: {o['name']}")
            found[folder, "keys"] = keys(about)
        return found

    def judge(self, kind, k, number):
        """Lets the k-th call fail. Returns what became of it; None: there was no such call."""
        output = f"{kind}{k}.{number}"
        done, log = self.start(output, f"{kind} {k} {number}")
        root = os.path.join(self.name, output)
        said = done.stderr.decode(errors="replace")
        try:
            if done.returncode not in (0, 1, 2):
                raise Wrong(f"it ended with {done.returncode}")
            results = self.results(output) if os.path.isdir(root) else {}
            left = [n for n in os.listdir(root) if n.startswith(".")] if os.path.isdir(root) else []
            if done.returncode == 0 and not self.is_good:
                raise Wrong("it says that all is well")
            if done.returncode == 0 and results != self.reference:
                raise Wrong(f"it says that all is well, but: {difference(results, self.reference)}")
            if done.returncode != 0 and not re.search("error: (?!.*: $).*[a-z]", said) and not log.startswith("write "):
                raise Wrong("it says nothing of a failure")
            if done.returncode != 0 and number == errno.EIO and self.is_good and not re.search(
                    os.strerror(number), said) and not log.startswith("write "):
                raise Wrong("the reason is not the system's error")
            if done.returncode != 0 and kind == "memory" and self.is_good and not re.search("memory", said):
                raise Wrong("the reason is not memory")
            if any(self.reference.get(name) != value for name, value in results.items()):
                raise Wrong("half a result")
            if left and (not log or log.split()[0] not in REMOVAL) and not (kind == "memory" and CUT_OFF in said):
                raise Wrong(f"left over: {left}")
            if left:
                subprocess.run([FAULTY, "run", *self.options, "--force", "-o", root, *self.inputs], env=ENVIRONMENT,
                               stderr=subprocess.DEVNULL)
                if any(n.startswith(".") for n in os.listdir(root)):
                    raise Wrong(f"left over for good: {left}")
        except (Wrong, KeyError, ValueError, OSError) as e:
            return f"WRONG: {self.name}: {kind} {k} {number}: {e}\n    {which(log) if log else 'no call'}\n    " + \
                said.replace("\n", "\n    ")
        shutil.rmtree(root, ignore_errors=True)
        return "missed" if not log else "done" if done.returncode == 0 else "refused" if done.returncode == 2 else "failed"

    def sweep(self, kind, pool, known, numbers=(0,)):
        """known: the places that other jobs have had a call fail at."""
        calls = self.calls[kind]
        ks = chosen(len(calls), STRIDE) if STRIDE else one_at_each_place(calls, known[kind])
        return report(f"leat run, {self.name}, {kind}", len(calls) * len(numbers),
                      pool.map(lambda k: self.judge(kind, *k), [(k, number) for k in ks for number in numbers]))


def zipped(files):
    with zipfile.ZipFile("inputs.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files.items():
            z.writestr(name, text)
    return read("inputs.zip")


def tarred(files):
    with tarfile.open("inputs.tar", "w") as t:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            t.addfile(member, io.BytesIO(text.encode()))
    return read("inputs.tar")


def jobs():
    """Every pipeline, and between them every reader and writer; `scores` (tests/seams) reads a part several times and
    hands out results while it does."""
    yield Job("plain", {"b.clusters.csv": table()}, "-s", "figure=none")  # of what all share, which is most
    yield Job("pearson", {"b.clusters.csv": table()})
    yield Job("sciddicat", {"a.dem.asc": grid(False), "a.source.asc": grid(True), "a.observed.asc": grid(True),
                            "a.probes.csv": "name,x,y\na,15,25\nb,35,45\n"}, "-s", "steps=20", "-s", "observed=file", "-s",
              "probes=file", "-s", "p_r=0.4,0.5", "-s", "outline=geojson")
    yield Job("scores", {"s.values.csv": table(), "s.asked.csv": table(seed=2)}, "-s", "query_columns=1-2")
    yield Job("interpolate", {"i.nodes.csv": "x,y\n0,1\n1,3\n2,2\n", "i.query.csv": "0.5\n1\n"})
    yield Job("kmeans", {"k.points.csv": "a,b\n1,2\n1,3\n8,9\n8,8\n"}, "-s", "k=2",
              "-s", "n_init=1")
    yield Job("given", {"g.points.csv": "a,b,c,w\n1,2,3,1\n1,3,4,0\n8,9,8,2\n", "g.centroids.csv": "c,b,a\n1,1,1\n8,8,8\n"},
              "-s", "centroids=file", "-s", "weight=w", "-s", "factors=1,1,2")
    yield Job("bundle", {"n.nodes.csv": "x,y\n0,1\n1,3\n2,2\n", "n.query.csv": "0.5\n1\n"}, "--bundle")
    if not EVERYTHING:
        return
    array = numpy.random.default_rng(1).normal(size=(7, 30))
    npz = io.BytesIO()
    numpy.savez_compressed(npz, other=array[0], member=array)
    columns = "time,s1,s2\n" + "".join(f"{i},{i * i % 7},{'' if i == 3 else i % 5}\n" for i in range(40))
    yield Job("npz", {"n.clusters.npz": npz.getvalue()}, "-s", "member=member", "-s", "precision=f32")
    yield Job("columns", {"c.clusters.csv.gz": gzip.compress(columns.encode())}, "-s", "columns=2-3", "-s",
              "threshold=0.5", "-s", "diff=step")
    yield Job("zip", {"z.zip": zipped({"in/z.dem.prj": 'LOCAL_CS["here"]', "in/z.dem.asc": grid(False),
                                       "in/z.source.asc": grid(True)})}, "-s", "steps=20", "-s", "raster=asc.gz")
    yield Job("folder", {"a/t.clusters.csv": table(), "b/u.clusters.csv": table(seed=2),
                         "b/u.tar": tarred({"v.clusters.csv": table(seed=3)})}, folder=True)
    yield Job("bad", {"b.clusters.csv": table() + "what,is,this\n"}, is_good=False)
    subprocess.run([LEAT, "generate", "-q", "dem", "--rows", "40", "--columns", "50", "-o", "g"], check=True)
    yield Job("tif", {f"g.{part}.tif": read(f"g.{part}.tif") for part in ("dem", "source")}, "-s", "steps=20", "-s",
              "snapshot_every=10", "-s", "nodata=compat")


# --- leat watch --------------------------------------------------------------------------------------------------


class Spool:
    """A watched folder with a job of each pipeline, whose service is run with faults."""

    def __init__(self, name):
        os.makedirs(name)
        self.service = Service(FAULTY, os.path.abspath(name), settle=0.1, threads=1, reserve=0, keep_done="1000d, 1000G",
                               keep_failed="1000d", on_done="true", on_failed="true", http="unix:" + os.path.abspath(os.path.join(name, "http.sock")))
        with open(self.service.config, "a") as f:  # figures have had their faults in leat run
            f.writelines(f"[pipeline {name}]\nfigure = none\n" for name in ("pearson", "sciddicat", "interpolate", "kmeans"))
        self.ledger = Ledger(self.service)
        self.log = os.path.abspath(os.path.join(name, "fault"))
        content = Content(SEED)
        for drop in map(content.good, ("clusters", "landslide", "nodes", "points", "archive")):
            self.ledger.add(drop)
            for file, data in drop.files.items():
                with open(os.path.join(self.service.folder("in"), file), "wb") as f:
                    f.write(data)

    def said(self):
        return read(os.path.join(os.path.dirname(self.service.spool), "log")).decode(errors="replace")

    def is_quiet(self):
        """All has ended; what cannot be read or removed now may stay for the next start, which sees to it."""
        s = self.service
        if "stays until the next start" in self.said():
            status = s.status()
            return status and not (status["n_queued"] or status["in_flight"])
        try:
            return len(os.listdir(s.folder("done"))) >= 7 and s.is_quiet(())
        except FileNotFoundError:
            return False

    def fault_of(self):
        """Which call was made to fail; "": none."""
        return read(self.log).decode() if os.path.exists(self.log) else ""

    def run(self, where, fault):
        """Until all is quiet, or the service has given up, which it does before it is ready only, or has ended
        because of a call for memory that failed."""
        s = self.service
        n_begun, begun = self.said().count("ready: "), False  # or "not ready: "
        s.start(LEAT_FAULT=fault, LEAT_FAULT_IN=where, LEAT_FAULT_LOG=self.log)
        end = time.monotonic() + WAIT_S
        while s.process.poll() is None and not (begun and self.is_quiet()):
            begun = begun or self.said().count("ready: ") > n_begun or (  # either may be what fails
                s.status() or {}).get("pid") == s.process.pid  # not of one that died, whose child lives yet
            s.workers()
            if time.monotonic() > end:
                raise Failure("something waits for ever: %s" % json.dumps(s.status()))
            time.sleep(0.02)
        by_itself = s.process.poll() is not None
        if not by_itself:
            s.stop(NO_MEMORY_STATUS)  # of a fault that comes as it stops
        if s.process.returncode == NO_MEMORY_STATUS:
            if not fault.startswith("memory") or "no memory is left" not in self.said():
                raise Failure("the service ended as if it had no memory")
        elif s.process.returncode != (2 if by_itself else 0):
            raise Failure(f"the service ended with {s.process.returncode}")
        elif by_itself and fault.startswith("memory"):
            raise Failure("the service ended without memory as if it could never start")
        if re.search(r"Sanitizer|runtime error|ended by signal (6|11)|killed by signal (6|11)", self.said()):
            raise Failure("a process died of its own")
        if fault.startswith("memory") and re.search(r"worked on this alone|it is tried again \(job", self.said()):
            raise Failure("a job was charged for what the service or its worker lacked")

    def die(self, k):
        """Ends before the service's k-th call of the system, or when all is quiet."""
        s = self.service
        s.start(LEAT_FAULT=f"death {k}", LEAT_FAULT_IN="watch", LEAT_FAULT_LOG=self.log + ".death")
        end = time.monotonic() + WAIT_S
        while s.process.poll() is None and not self.is_quiet():
            s.workers()
            if time.monotonic() > end:
                raise Failure("something waits for ever: %s" % json.dumps(s.status()))
            time.sleep(0.02)
        s.kill()

    def end(self):
        """Once more, undisturbed: all is well."""
        self.service.start()
        self.service.settle()
        self.service.stop()
        self.ledger.check()
        self.ledger.finish()
        if sum(self.ledger.counts.values()) > 0:
            raise Failure(str(dict(self.ledger.counts)))


def judge_service(where, kind, k, death=None):
    """Lets the k-th call fail: of `leat watch` or its worker, or of a watch that comes after one that died."""
    name = f"{where}-{kind}{k}"
    spool = Spool(name)
    try:
        try:
            if death is not None:
                spool.die(death)
            spool.run("watch" if death is not None else where, f"{kind} {k}")
            status = spool.service.process.returncode
            spool.end()
        finally:
            if spool.service.process.poll() is None:
                spool.service.kill()
    except (Failure, OSError, ValueError) as e:
        log = spool.fault_of()
        after = f" after death {death}" if death is not None else ""
        return f"WRONG: leat {where}: {kind} {k} 0{after}: {e}\n    {which(log) if log else 'no call'}\n    " + \
            spool.said().replace("\n", "\n    ")
    missed = not spool.fault_of()
    shutil.rmtree(name, ignore_errors=True)
    return "missed" if missed else {2: "refused", NO_MEMORY_STATUS: "ended"}.get(status, "done")


def count_calls(where):
    """Of each kind, of the service or of its worker."""
    spool = Spool(f"{where}-count")
    spool.run(where, "count")
    words = read(spool.log).decode().split()
    return {word: int(words[words.index(word) + 1]) for word in ("memory", "system")}


def sweep_service(where, kind, n, n_tries, pool):
    """Where `again`: the fault hits a service that finds what another left, which died at any call of the system."""
    again = where == "again"
    deaths = random.Random(SEED + 1)
    tries = [(k, deaths.randint(1, n["system"]) if again else None)
             for k in chosen(n[kind], STRIDE or max(n[kind] // n_tries, 1))]
    return report(f"leat {where}, {kind}", n[kind], pool.map(lambda t: judge_service(where, kind, *t), tries))


def one_at_each_place(calls, known):
    """Of the calls that come from one place any: the first has less to take back than the others."""
    chance = random.Random(SEED)
    places = collections.defaultdict(list)
    for k, call in enumerate(calls, 1):
        places[call[:1 + CALLERS]].append(k)
    fresh = sorted(places.keys() - known)
    known.update(fresh)
    return [chance.choice(places[place]) for place in fresh[SEED % SPARSE::SPARSE]]


def chosen(n, stride):
    return range(random.Random(SEED).randint(1, min(stride, n)), n + 1, stride)


def report(name, n, outcomes):
    """Prints what went wrong, and how often what happened; returns how often something went wrong."""
    counts = collections.Counter()
    for said in outcomes:
        if said.startswith("WRONG"):
            print(said, flush=True)
        counts[said.split(":")[0]] += 1
    print(f"{name}: {sum(counts.values())} of {n}: {', '.join(f'{v} {k}' for k, v in sorted(counts.items()))}", flush=True)
    return counts["WRONG"]


def main():
    os.environ.update(ENVIRONMENT)
    wrong = 0
    what = sys.argv[1:] or ["run", "watch", "worker", "again"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known = {"memory": set(), "system": set()}
        for job in jobs() if "run" in what else ():
            wrong += job.sweep("memory", pool, known) + job.sweep("system", pool, known, (0, errno.EIO))
    with concurrent.futures.ThreadPoolExecutor(8 * os.cpu_count()) as pool:  # they wait most of the time
        n = {where: count_calls(where) for where in ("watch", "worker")} if {"watch", "worker", "again"} & set(what) else {}
        for where in ("watch", "worker", "again"):
            for kind in ("memory", "system") if where in what else ():
                wrong += sweep_service(where, kind, n["watch" if where == "again" else where], N_SERVICES, pool)
    sys.exit(wrong > 0)


main()
