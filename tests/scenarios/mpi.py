"""Ranks of Open MPI's mpirun on one host: each result once and whole, also when one of them is killed, stopped, started
otherwise than the others, or all are interrupted. Not tried here: two hosts, a launcher of another kind. LEAT_MPI_INPUTS,
LEAT_MPI_ROUNDS: how many, of the rounds in which one is killed."""
# ctest: long slots=1 slots_watched=2 tsan=no
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from lib import LEAT, PATIENCE, WAIT_S, WATCHED, begin, fake_driver, skip

begin()
INPUTS = int(os.environ.get("LEAT_MPI_INPUTS", "20" if WATCHED else "100"))
ROUNDS = int(os.environ.get("LEAT_MPI_ROUNDS", "1"))
RUN = [LEAT, "run", "-b", "cpu", "--threads", "1", "-c", "leat.conf"]
# What Open MPI keeps in files lies here; what MPI's libraries keep until the end is not leat's.
os.environ.update(ASAN_OPTIONS=":".join([*filter(None, [os.environ.get("ASAN_OPTIONS")]), "detect_leaks=0"]),
                  OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
ENVIRONMENT = dict(os.environ, TMPDIR=os.path.abspath("tmp"),
                   OMPI_MCA_btl_vader_backing_directory=os.path.abspath("shm"))

# mpirun waits for so long before it tells ranks to stop, and once more before it kills them; 1 s by itself.
SLOW_TO_KILL = {"OMPI_MCA_odls_base_sigkill_timeout": f"{max(4, 2 * PATIENCE):.0f}"}


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def table(rng, rows, columns, head=""):
    return head + "".join(",".join(f"{rng.random():.3f}" for _ in range(columns)) + "\n" for _ in range(rows))


def make_inputs(rng):
    """Small jobs of all pipelines; and one that lasts until it is stopped, and shows that it goes on by its snapshots."""
    grid = "ncols 5\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\n"
    for i in range(INPUTS):
        at = f"in/s{i}."
        if i % 4 == 0:
            for part, high in ("dem", 9), ("source", 2):
                write(f"{at}{part}.asc", grid + "".join(" ".join(str(rng.randrange(high)) for _ in range(5)) + "\n"
                                                        for _ in range(4)))
        elif i % 4 == 1:
            write(f"{at}nodes.csv", "x,f\n-1,0\n0,1\n1,4\n")
            write(f"{at}query.csv", table(rng, 5, 1, "x\n"))
        elif i % 4 == 2:
            write(f"{at}points.csv", table(rng, 12, 2, "x,y\n"))
        else:
            write(f"{at}clusters.csv", table(rng, 4, 6))
    subprocess.run([LEAT, "generate", "dem", "--rows", "100", "--columns", "100", "-o", "lasting/lasting"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    make_wide(rng)
    write("leat.conf", "[route lasting]\nmatch = lasting.*\npipeline = sciddicat\nsteps = 100000000\nsettle = 0\n"
                       "snapshot_every = 2000\n[pipeline kmeans]\nk = 3\nfigure = none\n[pipeline pearson]\nfigure = none\n"
                       "[pipeline interpolate]\nfigure = none\n[pipeline sciddicat]\nfigure = none\n[route wide]\nmatch = wide.*\n"
                       "pipeline = sciddicat\nsteps = 1000000\nsettle = 50\nsnapshot_every = 50\nreport_every = 10\n"
                       "p_epsilon = 1\np_r = 1\n")


def make_wide(rng):
    """A landslide for three ranks: a lake that keeps them busy, and beside it a slope, from which debris slides over all
    rows and comes to rest. It is known to end soon only when it has ended."""
    # Where a sanitizer watches, with less on the slope, which is at rest as soon as it has come over all rows.
    rows, lake, slope, high = (112, 500, 8, 5) if WATCHED else (112, 500, 59, 9)
    head = f"ncols {lake + 1 + slope}\nnrows {rows}\nxllcorner 0\nyllcorner 0\ncellsize 10\n"
    dem, source = [], []
    for i in range(rows):
        dem += [*[100] * lake, 900, *(700 - 4 * i + rng.randrange(3) for _ in range(slope)), "\n"]
        source += [*[2] * lake, 0, *(rng.randrange(3, high) if rng.random() < 0.05 else 0 for _ in range(slope)), "\n"]
    os.mkdir("wide")
    write("wide/wide.dem.asc", head + " ".join(map(str, dem)))
    write("wide/wide.source.asc", head + " ".join(map(str, source)))


def entries():
    return os.listdir("out") if os.path.isdir("out") else []


def published():
    return [n for n in entries() if not n.startswith(".")]


def inodes():
    return {n: os.stat(f"out/{n}").st_ino for n in published()}


def makers_of_parts():
    """.leat.HOST.BOOT.PROCESS.RANDOM.part, where HOST may have points."""
    return [int(n.split(".")[-3]) for n in entries() if n.endswith(".part")]


def n_snapshots():
    return sum(len(files) for n in entries() if n.endswith(".part") for _, _, files in os.walk(f"out/{n}/snapshots"))


class Ranks:
    """mpirun, and the processes that it has started."""

    def __init__(self, n, *options, environment=()):
        for folder in "tmp", "shm", "ranks":
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        shell = 'echo $$ >ranks/$OMPI_COMM_WORLD_RANK; exec "$@" >ranks/told.$OMPI_COMM_WORLD_RANK'
        one = ["sh", "-c", shell, "sh", *RUN, "--mpi", "--json", "-o", "out", *options]
        with open("stderr", "wb") as err:
            self.mpirun = subprocess.Popen(
                ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(n), *one], stdin=subprocess.DEVNULL,
                stdout=err, stderr=err, env=dict(ENVIRONMENT, **dict(environment)))

    def said(self):
        return read("stderr").decode(errors="replace")

    def until(self, ask, what):
        end = time.monotonic() + WAIT_S
        while not ask():
            if time.monotonic() > end:
                self.give_up(what)
            time.sleep(0.002)

    def give_up(self, what):
        self.mpirun.terminate()
        sys.exit(f"FAILED: never: {what}: {self.said()[-3000:]}")

    def until_lasting(self, n_done):
        def is_so():
            check(self.mpirun.poll() is None, f"ended too early: {self.said()[-3000:]}")
            return len(published()) >= n_done and any(
                os.path.isdir(f"out/{n}/snapshots") for n in entries() if n.endswith(".part"))
        self.until(is_so, f"{n_done} results and a job that lasts")

    def until_shared(self, n):
        """The wide landslide has come to be in so many parts, and goes on."""
        self.until(lambda: f"wide.dem.asc: in {n} parts from step" in self.said(), f"a landslide in {n} parts")
        before = n_snapshots()
        self.until(lambda: n_snapshots() > before + 2, "it goes on")

    def others(self):
        """The ranks that make no result at present."""
        makers = makers_of_parts()
        return [r for r in sorted(os.listdir("ranks")) if r.isdigit() and self.process(r) not in makers]

    def process(self, rank):
        return int(read(f"ranks/{rank}"))

    def told(self):
        """The results that this run says to have made."""
        lines = [line for name in os.listdir("ranks") if name.startswith("told.")
                 for line in read("ranks/" + name).splitlines(keepends=True)]
        told = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return [t["output"].split("/")[-1] for t in told if t.get("status") == "ok"]

    def end(self, makers=()):
        """Its exit status. Nothing is left then, but for parts of results of processes that could not help it."""
        try:
            self.mpirun.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.give_up("mpirun ends")
        pids = [self.process(n) for n in os.listdir("ranks") if n.isdigit()]
        self.until(lambda: not any(is_running(p) for p in pids), "all ranks end")
        left = os.listdir("tmp") + os.listdir("shm")
        check(not left, f"left behind: {left}")
        check(set(makers_of_parts()) <= set(makers), f"parts are left: {self.said()[-3000:]}")
        return self.mpirun.returncode


def is_running(pid):
    try:
        return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def files_of(folder):
    return sorted(os.path.relpath(os.path.join(at, f), folder) for at, _, files in os.walk(folder) for f in files)


def is_as_of_one_process(*others, small=True):
    names = sorted(published())
    expected = sorted([*others, *(f"s{i}" for i in range(INPUTS if small else 0))])
    check(names == expected, f"{len(names)} results of {len(expected)} inputs")
    for name in names:
        files = files_of(f"one/{name}")
        check(files == files_of(f"out/{name}"), f"{name} has other files")
        for file in files:
            a, b = (read(f"{folder}/{name}/{file}") for folder in ("one", "out"))
            if file == "result.json":
                a, b = (json.loads(x)["outputs"] for x in (a, b))
            check(a == b, f"{name}/{file} is not what one process makes")


def kill_one(n, victim, n_done):
    """Then the rest is done by as many."""
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(n, "lasting", "in", environment=SLOW_TO_KILL)
    ranks.until_lasting(n_done)
    pid = ranks.process(victim)
    os.kill(pid, signal.SIGKILL)
    check(ranks.end([pid]) != 0, "a killed rank is no success")
    before = inodes()
    check(set(ranks.told()) <= set(before), "a result was told that is not there")
    for name in os.listdir("out"):
        if name.startswith("."):
            os.utime("out/" + name, (1, 1))  # so that it is swept
    ranks = Ranks(n, "--resume", "in")
    check(ranks.end() == 0, f"--resume: {ranks.said()[-3000:]}")
    after = inodes()
    check(all(after[name] == before[name] for name in before), "a result was made again")
    check(sorted(ranks.told()) == sorted(set(after) - set(before)), "a result was made twice, or for nothing")
    is_as_of_one_process()


def stop_one(n, victim, n_done):
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(n, "--mpi-timeout", f"{max(10, 2 * PATIENCE)}", "lasting", "in")
    ranks.until_lasting(n_done)
    pid = ranks.process(victim)
    os.kill(pid, signal.SIGSTOP)
    check(ranks.end([pid]) == 1, f"exit status {ranks.mpirun.returncode} with a stopped rank")
    said = ranks.said()
    check(said.count(f"leat: error: rank {victim} (") == 1 and "has not answered for" in said, said)


def interrupt(n, n_done):
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(n, "lasting", "in", environment=SLOW_TO_KILL)
    ranks.until_lasting(n_done)
    ranks.mpirun.send_signal(signal.SIGINT)
    check(ranks.end() != 0, "what was interrupted is no success")
    check(ranks.said().count("lasting.dem.tif: stopped by a signal") == 1, ranks.said())


def share(n, *inputs, options=(), environment=()):
    """The wide landslide, which others join that have nothing else to do any more, unless they come too late."""
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(n, *options, *inputs, "wide", environment=environment)
    check(ranks.end() == 0, ranks.said()[-3000:])
    is_as_of_one_process("wide", small=bool(inputs))
    return ranks.said()


def both_modules(mpi):
    """A folder with that of MPI and that of devices which the CPU plays, and what tells leat of it."""
    environment = fake_driver()
    os.mkdir("both")
    for module in mpi, os.path.join(environment["LEAT_MODULE_DIR"], "leat_cuda.so"):
        os.symlink(module, os.path.join("both", os.path.basename(module)))
    return {**environment, "LEAT_MODULE_DIR": os.path.abspath("both"), "LEAT_FAKE_DEVICES": "2"}


def until_said(what, do):
    """Others may come too late for it."""
    end = time.monotonic() + WAIT_S
    while f"wide.dem.asc: {what}" not in do():
        check(time.monotonic() < end, f"never said: {what}")


def lose_helper(n, number, *options):
    """A rank that has a part of a landslide, but is not where its result is made; the others leave nothing behind."""
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(n, "-s", "settle=0", *options, "wide", environment=SLOW_TO_KILL)
    ranks.until_shared(n)
    victim = ranks.others()[-1]
    os.kill(ranks.process(victim), number)
    check(ranks.end() != 0, "what has lost a rank is no success")
    check(not entries(), f"left behind: {entries()}")
    return victim, ranks.said()


def lose_helpers():
    lose_helper(2, signal.SIGKILL)
    ranks = Ranks(2, "--resume", "wide")
    check(ranks.end() == 0, f"--resume: {ranks.said()[-3000:]}")
    is_as_of_one_process("wide", small=False)
    victim, said = lose_helper(3, signal.SIGSTOP, "--mpi-timeout", f"{max(10, 2 * PATIENCE)}")
    check(said.count(f"leat: error: rank {victim} (") == 1 and "has not answered for" in said, said)


def refuse(*other):
    """Two ranks that are not to do the same: nobody does anything."""
    shutil.rmtree("out", ignore_errors=True)
    ranks = Ranks(1, "in", ":", "-n", "1", *RUN, "--mpi", "--json", *other)
    check(ranks.end() == 2, f"exit status {ranks.mpirun.returncode}")
    check(ranks.said().count("has other inputs or options than rank 0 (") == 1, ranks.said())
    check(not published(), "something was done nevertheless")


def alone(says, **environment):
    """One process that takes itself for one of several, but cannot be."""
    done = subprocess.run([LEAT, "run", "--mpi", "-b", "cpu", "-o", "none", "x.clusters.csv"], capture_output=True, text=True,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    check(done.returncode == 2 and re.search(says, done.stderr), f"exit status {done.returncode}: {done.stderr}")
    check(not os.path.exists("none"), "something was done without MPI")


def watches_for_signals():
    """Each rank, until it ends: one that is done cannot be ended by a first signal."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        return
    subprocess.run(["strace", "-f", "-e", "trace=rt_sigaction", "-e", "signal=none", "-o", "actions", LEAT, "run", "--mpi",
                    "-b", "cpu", "-o", "traced", "x.clusters.csv"], check=True, stdin=subprocess.DEVNULL)
    watched = set()
    for pid, what in re.findall(r"^(\d+) .*SIG(?:INT|TERM), \{sa_handler=(0x|SIG_DFL)", read("actions").decode(), re.M):
        check(what == "0x" or pid not in watched, f"a rank that is done can be ended by a first signal: {read('actions')}")
        if what == "0x":
            watched.add(pid)
    check(watched, "no rank watches for signals")


write("x.clusters.csv", "a,b\n1,2\n3,5\n4,4\n")
os.mkdir("modules")
write("modules/leat_mpi.so", "none\n")
alone(r"--mpi: cannot load the MPI module: .*leat_mpi\.so", LEAT_MODULE_DIR=os.path.abspath("modules"))
if shutil.which("mpirun") is None or b"Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True).stdout:
    skip("no mpirun of Open MPI")
told = subprocess.run([LEAT, "doctor"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
if "no MPI module" in told:
    skip("leat_mpi.so was not built")
check(re.search(r"^  --mpi *can be used", told, re.M), f"doctor: MPI cannot be used: {told}")
tried = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], capture_output=True, text=True)
if tried.returncode != 0:
    skip(f"mpirun starts no processes here: {tried.stderr}")
subprocess.run([LEAT, "run", "--mpi", "-b", "cpu", "-o", "alone", "x.clusters.csv"], check=True, stdin=subprocess.DEVNULL)
check(os.path.exists("alone/x/result.json"), "one rank without mpirun did nothing")
watches_for_signals()
alone(r"--mpi: 4 processes have been started together, but Open MPI .* finds this one alone", PMI_RANK="0", PMI_SIZE="4")

for folder in "in", "lasting":
    os.mkdir(folder)
make_inputs(random.Random(1))
subprocess.run([*RUN, "-q", "-o", "one", "in", "wide"], check=True)
if WATCHED:
    until_said("in ", lambda: share(3, "in"))
else:
    check("wide.dem.asc: in " not in share(1), "one rank shares with nobody")
    for n in 2, 3, 4:
        until_said("in ", lambda: share(n))
    share(3, "in")
refuse("-o", "out", "lasting")
# What ranks do when one of them is lost a sanitizer sees in test_ranks, test_rank_queue and test_sciddicat_bands.ranks:
# of MPI it knows no more than mpirun, which ends all.
if not WATCHED:
    module = os.path.join(os.path.dirname(LEAT), "../lib/leat/leat_mpi.so")
    if os.path.exists(module):
        devices = both_modules(module)  # of two ranks with two each: those of the one, and one of the other
        until_said("in 3 parts", lambda: share(2, options=("-b", "cuda"), environment=devices))
    interrupt(3, INPUTS)
    lose_helpers()
    for round in range(ROUNDS):
        for n in 2, 3, 4:
            kill_one(n, 0 if n % 2 else n - 1, (INPUTS * n // 10 + round * 7) % INPUTS)
    stop_one(3, 0, INPUTS // 5)
    stop_one(3, 1, INPUTS)  # it is done, and so is rank 0: see that the run does not end as if all were well
print(f"{INPUTS} inputs by 2 to 4 ranks, {ROUNDS} rounds: each result once and as of one process")
