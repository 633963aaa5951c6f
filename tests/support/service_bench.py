"""What the scenarios of service_harness.py have at hand: content to drop and ways to drop it, the service, and a ledger
that counts what became of it.

Every drop has content of its own, so a result.json's checksum of its input says which drop it is the result of.
When all is quiet:

    lost        a drop that is in neither done/ nor failed/, or a good one without a result
    doubled     a drop that is there more often than it was dropped, or has more results
    torn        a result without result.json, with a file that is not what result.json says, of an input that nobody
                dropped; a failure without a reason; an input that has changed
    wrong       a good drop that failed, a bad one that has a result, something that was not to be touched, a
                sanitizer's report
    left over   what is in .work/ (but its lock), hidden in out/, still in in/, or a process that nobody ended

Knows nothing of leat's inside but the names of the spool's folders, reason.json, result.json and the keys of
`leat status --json`.
"""
import collections
import contextlib
import ctypes
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
import time
import zipfile
import zlib

from ask_status import ask_status
from patience import WAIT_S, report

COUNTS = ("lost", "doubled", "torn", "wrong", "left over")


class Failure(Exception):
    pass


# --- what is dropped ---------------------------------------------------------------------------------------------


class Drop:
    """One job: its files (name -> bytes), and whether a result is to come of it, under that name."""

    def __init__(self, files, good):
        self.files = files
        self.good = good
        self.name = next(iter(files)).split(".")[0]

    def keys(self):
        """What result.json says of its inputs: order does not matter."""
        return keys_of(self.files)


def keys_of(files):
    return tuple(sorted((len(data), "%08x" % zlib.crc32(data)) for data in files.values()))


class Archive(Drop):
    """One file that holds others, each of which has a result of its own within that of the archive."""

    def __init__(self, name, members):
        packed = io.BytesIO()
        if name.endswith(".zip"):
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as z:
                for member, data in members.items():
                    z.writestr(member, data)
        else:
            with tarfile.open(name, ARCHIVES[name[name.index("."):]], packed) as t:
                for member, data in members.items():
                    info = tarfile.TarInfo(member)
                    info.size = len(data)
                    t.addfile(info, io.BytesIO(data))
        super().__init__({name: packed.getvalue()}, True)
        self.members = members

    def keys(self):
        return keys_of(self.members)


# Each pipeline, and what takes one file or several, or a parameter in the place of one.
KINDS = ("clusters", "points", "nodes", "line", "landslide")
DECK = 6 * ("clusters",) + 2 * KINDS + ("packed", "packed", "long_clusters", "archive", "archive")
ARCHIVES = {".tar": "w", ".tgz": "w:gz", ".tar.xz": "w:xz", ".tar.bz2": "w:bz2", ".zip": ""}
LINE = "line"
IN_PLACE_OF_NO_FILE = b"What was dropped under this name "  # how the text in failed/ for a link or FIFO begins
ROUTES = "[route line]\nmatch = *%s-*\npipeline = interpolate\nquery = linspace(-9, 9, 40)\nfigure = none\n" % LINE


class Content:
    """Makes inputs, no two of the same bytes unless asked for."""

    def __init__(self, seed, kinds=DECK):
        self.random = random.Random(seed)
        self.n = 0
        self.kinds = kinds
        self.deck = []
        self.long = {}  # (lines, columns) -> lines of a long table, which are slow to make

    def name(self):
        self.n += 1
        return "d%06d" % self.n

    def table(self, lines=None, columns=5):
        """A series a column. A comment makes it unique, whatever the numbers are."""
        lines = lines or self.random.randint(3, 40)
        rows = self.long.get((lines, columns)) or [",".join("%.4f" % self.random.uniform(-9, 9) for _ in range(columns))
                                                   for _ in range(lines)]
        if lines > 100:
            self.long[lines, columns] = rows
        head = ["# %d %d" % (self.n, self.random.getrandbits(60)), ",".join("s%d" % i for i in range(columns))]
        return ("\n".join(head + rows) + "\n").encode()

    # --- the kinds of jobs that have a result: a job's name -> its files

    def clusters(self, name):
        return {name + ".clusters.csv": self.table()}

    def packed(self, name):
        return {name + ".clusters.csv.gz": gzip.compress(self.table(), mtime=0)}

    def long_clusters(self, name):
        return {name + ".clusters.csv": self.table(2000, 30)}

    def points(self, name):
        return {name + ".points.csv": self.table(self.random.randint(8, 200), 3)}

    def nodes(self, name):
        """Nodes in some order, and where to look between them."""
        places = self.random.sample(range(-999, 1000), self.random.randint(2, 20))
        curves = self.random.randint(1, 3)
        rows = [",".join(["%.3f" % (x / 100)] + ["%.4f" % self.random.uniform(-9, 9) for _ in range(curves)])
                for x in places]
        queries = ["%.4f" % self.random.uniform(-9, 9) for _ in range(self.random.randint(1, 200))]
        unique = "# %d %d\n" % (self.n, self.random.getrandbits(60))
        return {name + ".nodes.csv": (unique + "\n".join(rows) + "\n").encode(),
                name + ".query.csv": (unique + "\n".join(queries) + "\n").encode()}

    def line(self, name):
        """Nodes whose queries are a parameter of their route."""
        return {"%s-%s" % (LINE, file): data for file, data in self.nodes(name).items() if ".nodes." in file}

    def landslide(self, name):
        """A hill and a source of debris; the corner makes the pair unique."""
        n = 12
        head = "ncols %d\nnrows %d\nxllcorner %d\nyllcorner %d\ncellsize 5\n" % (
            n, n, self.n, self.random.getrandbits(40))
        hill = "\n".join(" ".join("%.2f" % (100 - 3 * row + (column - 6) ** 2) for column in range(n))
                         for row in range(n))
        source = "\n".join(" ".join("1" if 2 <= row <= 3 and 5 <= column <= 6 else "0" for column in range(n))
                           for row in range(n))
        return {name + ".dem.asc": (head + hill + "\n").encode(), name + ".source.asc": (head + source + "\n").encode()}

    def good(self, kind=None):
        """A job of the kind, or of the next: in every len(self.kinds) of them each kind is there."""
        if kind is None:
            self.deck = self.deck or self.random.sample(self.kinds, len(self.kinds))
            kind = self.deck.pop()
        if kind == "archive":
            return self.archive(self.name())
        return Drop(getattr(self, kind)(self.name()), True)

    def archive(self, name):
        """Two tables and a landslide."""
        return Archive(name + self.random.choice(list(ARCHIVES)), {**self.clusters("a"), **self.clusters("b"), **self.landslide("c")})

    def bad(self):
        name = self.name()
        unique = b"# %d\n" % self.random.getrandbits(60)
        data = self.random.choice((
            unique + b"1,2,3\n4,5\n6,7,8\n",
            unique + b"1,2,3\n4,what,6\n7,8,9\n",
            unique,
            gzip.compress(self.table(500), mtime=0)[:-9],
        ))
        suffix = ".clusters.csv.gz" if data[:2] == b"\x1f\x8b" else ".clusters.csv"
        return Drop({name + suffix: data}, False)


# --- the service -------------------------------------------------------------------------------------------------


def children_of(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += [int(word) for word in f.read().split()]
    return found


def identity(pid):
    """(pid, when it began), since numbers are given out again; None: there is no such process, or only its remains."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return None if fields[0] in "ZX" else (pid, int(fields[19]))
    except OSError:
        return None


LIBC = ctypes.CDLL(None)


def die_with_parent():
    """A service must not outlive the harness, however that ends: PR_SET_PDEATHSIG."""
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


class Service:
    def __init__(self, leat, folder, **settings):
        self.leat = leat
        self.spool = os.path.join(folder, "spool")
        self.out = settings.pop("output", os.path.join(self.spool, "out"))
        self.config = os.path.join(folder, "leat.conf")
        self.log = open(os.path.join(folder, "log"), "ab")
        self.seen = set()  # identities of all processes there have been
        self.process = None
        os.makedirs(os.path.join(self.spool, "in"), exist_ok=True)
        self.configure(**settings)

    def configure(self, landslide="steps = 200", **settings):
        values = {"spool": self.spool, "output": self.out, "backend": "cpu", "settle": 0.4, "rescan": 5,
                  "max_attempts": 1000, "reserve": 0, "drain": 20, "threads": 2,
                  "bundle": os.environ.get("LEAT_SERVICE_BUNDLE", "no")}
        values.update(settings)
        with open(self.config, "w") as f:
            f.write("".join("%s = %s\n" % item for item in values.items()) + ROUTES + "[pipeline sciddicat]\n%s\n" % landslide)

    def start(self, **environment):
        self.process = subprocess.Popen([self.leat, "watch", "--config", self.config], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env=dict(os.environ, **environment),
                                        preexec_fn=die_with_parent)
        self.see([self.process.pid])

    def see(self, pids):
        self.seen.update(identity(pid) for pid in pids)
        self.seen.discard(None)
        return pids

    def workers(self):
        return self.see(children_of(self.process.pid))

    def kill(self):
        """Whether it was alive."""
        self.workers()
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        return alive

    def kill_worker(self, chance):
        """Whether there was one."""
        found = self.workers()
        with contextlib.suppress(OSError, IndexError):
            os.kill(chance.choice(found), signal.SIGKILL)
            return True
        return False

    def end(self):
        """Whatever it does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()

    def stop(self, *other):
        """As systemd does; must be heard. other: exit statuses that are right, too."""
        self.workers()
        self.process.terminate()
        try:
            code = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure("SIGTERM was not heard within %g s" % WAIT_S)
        if code not in (0, *other):
            raise Failure("exit status %d after SIGTERM" % code)

    def status(self):
        return ask_status(self.spool)

    def must_live(self):
        if self.process.poll() is not None:
            raise Failure("the service has ended by itself: %d" % self.process.returncode)

    def wait_until(self, what, condition, seconds=WAIT_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.must_live()
            status = self.status()
            if status is not None and condition(status):
                return status
            time.sleep(0.05)
        raise Failure("not %s within %g s: %s" % (what, seconds, json.dumps(self.status())))

    def folder(self, name):
        return os.path.join(self.spool, name)

    def has(self, folder, name):
        return os.path.lexists(os.path.join(self.spool, folder, name))

    def is_quiet(self, ignored):
        """Nothing to be done: twice, since a file is on its way between two looks."""
        left = {name for name in names_below(self.folder("in")) if name not in ignored}
        return not left and not [n for n in os.listdir(self.folder(".work")) if n[0].isdigit()]

    def settle(self, ignored=(), seconds=WAIT_S):
        """Its folders are looked at first: it needs not answer meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.is_quiet(ignored):
            self.must_live()
            time.sleep(0.05)
        self.wait_until("quiet", lambda s: s["n_queued"] == 0 and not s["in_flight"] and self.is_quiet(ignored),
                        max(end - time.monotonic(), 1))

    def leftover_processes(self):
        end = time.monotonic() + WAIT_S
        while True:
            left = [pid for pid, begun in self.seen if identity(pid) == (pid, begun)]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.05)


def names_below(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(at, name), folder)


def results_below(out):
    """The results, in the folders of their inputs; what is hidden; what is neither a result nor above any."""
    found = []
    for path, folders, files in os.walk(out):
        hidden = os.path.basename(path).startswith(".")
        if path != out and (hidden or "result.json" in files or not folders):
            found.append(os.path.relpath(path, out))
            folders.clear()
        else:
            found += [os.path.relpath(os.path.join(path, name), out) for name in files]
    return found


# --- counting ----------------------------------------------------------------------------------------------------


class Ledger:
    def __init__(self, service):
        self.service = service
        self.drops = []
        self.counts = collections.Counter()
        self.n_drops = 0
        self.seen = collections.Counter()  # archives and bundles among the results
        self.counted = {"done": set(), "failed": set(), "out": set()}

    def add(self, drop):
        self.drops.append(drop)
        self.n_drops += 1
        return drop

    def blame(self, what, text):
        self.counts[what] += 1
        if self.counts[what] <= 20:
            print("    %s: %s" % (what, text), flush=True)

    def fresh(self, where, names):
        """What was not there when it was counted last; that must all be there still."""
        now = set(names)
        for name in self.counted[where] - now:
            self.blame("lost", "%s/%s has gone again" % (where, name))
        fresh = now - self.counted[where]
        self.counted[where] = now
        return sorted(fresh)

    def read_done(self):
        here = collections.Counter()
        for name in self.fresh("done", names_below(self.service.folder("done"))):
            with open(os.path.join(self.service.folder("done"), name), "rb") as f:
                here[hashlib.sha256(f.read()).digest()] += 1
        return here

    def read_failed(self):
        here = collections.Counter()
        root = self.service.folder("failed")
        for job in self.fresh("failed", os.listdir(root)):
            try:
                with open(os.path.join(root, job, "reason.json")) as f:
                    reason = json.load(f)
                if not reason["reason"] or not reason["kind"]:
                    raise ValueError("empty")
            except (OSError, ValueError, KeyError) as e:
                self.blame("torn", "failed/%s has no reason: %s" % (job, e))
            for name in names_below(os.path.join(root, job, "in")):
                path = os.path.join(root, job, "in", name)
                if os.path.islink(path) or not os.path.isfile(path):
                    self.blame("wrong", "failed/ keeps what is no file: %s" % path)
                    continue
                with open(path, "rb") as f:
                    data = f.read()
                if not data.startswith(IN_PLACE_OF_NO_FILE):
                    here[hashlib.sha256(data).digest()] += 1
        return here

    def read_results(self):
        """Which inputs have results, by result.json; each is what it says it is."""
        here = collections.Counter()
        for name in self.fresh("out", results_below(self.service.out)):
            folder = os.path.join(self.service.out, name)
            if os.path.basename(name).startswith("."):
                self.blame("left over", "out/%s" % name)
                continue
            try:
                here[tuple(sorted(self.read_result(folder)))] += 1
            except (OSError, ValueError, KeyError) as e:
                self.blame("torn", "out/%s: %s" % (name, e))
        return here

    def read_result(self, folder):
        """What its inputs were; of an archive, those of all results in it."""
        with open(os.path.join(folder, "result.json")) as f:
            result = json.load(f)
        if "archive" in result:
            self.seen["archives"] += 1
            folders = [e["result"] for e in result["entries"]]
            if sorted([*folders, "result.json"]) != sorted(os.listdir(folder)):
                raise ValueError("it holds %s" % os.listdir(folder))
            return [key for name in folders for key in self.read_result(os.path.join(folder, name))]
        for output in result["outputs"]:
            with open(os.path.join(folder, output["name"]), "rb") as f:
                data = f.read()
            if len(data) != output["bytes"] or "%08x" % zlib.crc32(data) != output["crc32"]:
                raise ValueError("%s is not what result.json says" % output["name"])
        if "bundled" in result:
            self.seen["bundles"] += 1
            with zipfile.ZipFile(os.path.join(folder, result["outputs"][0]["name"])) as z:
                packed = [(info.filename, info.file_size, "%08x" % info.CRC) for info in z.infolist()]
                told = [(o["name"], o["bytes"], o["crc32"]) for o in result["bundled"]]
                if z.testzip() is not None or packed[0][0] != "result.json" or packed[1:] != told:
                    raise ValueError("%s is not what result.json says" % z.filename)
        return [(i["bytes"], i["crc32"]) for i in result["inputs"]]

    def check_work(self, ignored):
        for name in os.listdir(self.service.folder(".work")):
            if name not in ("lock", "requests"):
                self.blame("left over", ".work/%s" % name)
        for name in names_below(self.service.folder("in")):
            if name not in ignored:
                self.blame("left over", "in/%s" % name)

    def check_drops(self, done, failed, results):
        files = {True: collections.Counter(), False: collections.Counter()}
        wanted = collections.Counter()
        for drop in self.drops:
            for data in drop.files.values():
                files[drop.good][hashlib.sha256(data).digest()] += 1
            if drop.good:
                wanted[drop.keys()] += 1
        known = files[True] + files[False]
        for where, here, right, other in (("done/", done, files[True], files[False]),
                                          ("failed/", failed, files[False], files[True])):
            for key, n in here.items():
                if key not in known:
                    self.blame("torn", "%s holds what nobody dropped" % where)
                elif key in other and key not in right:
                    self.blame("wrong", "%s holds %d that do not belong there" % (where, n))
        for key, n in known.items():
            there = done[key] + failed[key]
            if there < n:
                self.blame("lost", "an input is there %d times, was dropped %d times" % (there, n))
            elif there > n:
                self.blame("doubled", "an input is there %d times, was dropped %d times" % (there, n))
        for key, n in results.items():
            if key not in wanted:
                self.blame("torn" if key else "wrong", "a result of nothing that was dropped, or of what is bad")
        for key, n in wanted.items():
            if results[key] < n:
                self.blame("lost", "%d results of %d for inputs %s" % (results[key], n, key))
            elif results[key] > n:
                self.blame("doubled", "%d results of %d for inputs %s" % (results[key], n, key))

    def check(self, ignored=()):
        """When all is quiet: counts what has come since the last time."""
        self.check_work(ignored)
        self.check_drops(self.read_done(), self.read_failed(), self.read_results())
        self.drops.clear()

    def forget(self):
        """Takes away what has been counted, so that a long run needs no more room than a short one."""
        for root in (self.service.folder("done"), self.service.folder("failed"), self.service.out):
            for name in os.listdir(root):
                path = os.path.join(root, name)
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
        for names in self.counted.values():
            names.clear()

    def take_over(self, bench):
        """What another service has come to, which ends if it still runs."""
        bench.service.end()
        bench.ledger.finish()
        self.n_drops += bench.ledger.n_drops
        self.seen.update(bench.ledger.seen)
        self.counts.update(bench.ledger.counts)

    def finish(self):
        with open(self.service.log.name, errors="replace") as log:
            said = report(log.read())
        if said:
            self.blame("wrong", said)
        for pid in self.service.leftover_processes():
            self.blame("left over", "process %d" % pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


# --- ways to drop ------------------------------------------------------------------------------------------------


class Dropper:
    """Puts files into in/, in the ways that people and programs do."""

    def __init__(self, service, ledger, chance):
        self.service, self.ledger, self.chance = service, ledger, chance
        self.aside = os.path.join(os.path.dirname(service.spool), "aside")
        self.open = []  # (end, file, rest): still being written
        os.makedirs(self.aside, exist_ok=True)

    def path(self, name):
        return os.path.join(self.service.folder("in"), name)

    def write(self, path, data):
        with open(path, "wb") as f:
            f.write(data)

    def directly(self, name, data):
        self.write(self.path(name), data)

    def renamed_in(self, name, data):
        aside = os.path.join(self.service.spool, "aside-" + name.replace("/", "-"))
        self.write(aside, data)
        os.rename(aside, self.path(name))

    def as_part(self, name, data):
        self.write(self.path(name + ".part"), data)
        os.rename(self.path(name + ".part"), self.path(name))

    def as_rsync(self, name, data):
        hidden = os.path.join(os.path.dirname(name), ".%s.Xa3f9Q" % os.path.basename(name))
        self.write(self.path(hidden), data)
        os.rename(self.path(hidden), self.path(name))

    def as_cp_p(self, name, data):
        """Old times before the last byte is there: mtime says nothing."""
        aside = os.path.join(self.aside, os.path.basename(name))
        self.write(aside, data)
        os.utime(aside, (1e9, 1e9))
        subprocess.run(["cp", "-p", aside, self.path(name)], check=True)
        os.unlink(aside)

    def slowly(self, name, data, seconds):
        """Half now, half after a pause, the file open meanwhile; go_on() writes the rest."""
        f = open(self.path(name), "wb")
        f.write(data[:len(data) // 2])
        f.flush()
        self.open.append((time.monotonic() + seconds, f, data[len(data) // 2:]))

    def go_on(self, all_of_them=False):
        for entry in list(self.open):
            end, f, rest = entry
            if all_of_them:
                time.sleep(max(0, end - time.monotonic()))
            if all_of_them or time.monotonic() >= end:
                f.write(rest)
                f.close()
                self.open.remove(entry)

    def anyhow(self, drop, slow_s=1.0):
        self.ledger.add(drop)
        ways = (self.directly, self.renamed_in, self.as_part, self.as_rsync, self.as_cp_p)
        names = list(drop.files)
        self.chance.shuffle(names)
        for name in names:
            if self.chance.random() < 0.1:
                self.slowly(name, drop.files[name], slow_s * self.chance.random())
            else:
                self.chance.choice(ways)(name, drop.files[name])


# --- all of it ---------------------------------------------------------------------------------------------------


class Bench:
    """A folder with a service in it, content and a ledger."""

    def __init__(self, arguments, name, **settings):
        """LEAT_SERVICE_KINDS: of which kinds drops are, as archive; LEAT_SERVICE_BUNDLE=yes: results are bundles."""
        self.arguments = arguments
        self.folder = os.path.join(arguments.folder, name)
        os.makedirs(self.folder)
        self.seed = arguments.seed
        self.chance = random.Random(arguments.seed)
        self.content = Content(arguments.seed + 1, os.environ.get("LEAT_SERVICE_KINDS", "").split() or DECK)
        self.service = Service(arguments.leat, self.folder, **settings)
        self.ledger = Ledger(self.service)
        self.dropper = Dropper(self.service, self.ledger, self.chance)

    def any_drop(self):
        return self.content.bad() if self.chance.random() < 0.15 else self.content.good()

    def end(self, ignored=()):
        self.service.settle(ignored)
        self.service.stop()
        self.ledger.check(ignored)
        self.ledger.finish()
