"""Processes that share an output folder are killed at random and resumed until all is done: each result once, and whole.

Each in several ways: shares of the inputs, or all inputs for everybody, also where all results are there and damaged;
with a file system that knows the flags of renameat2 or not; where files can be locked or not."""
# ctest: long asan=soak tsan=no
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zlib

from lib import begin, needs_faulty

begin(in_memory=True)
needs_faulty()
LEAT = os.environ["LEAT_FAULTY"]
PROCESSES = 4
INPUTS = int(os.environ.get("LEAT_BATCH_INPUTS", "120"))
ROUNDS = int(os.environ.get("LEAT_BATCH_ROUNDS", "1"))
SEED = int(os.environ.get("LEAT_BATCH_SEED", "1"))
NO_FLAGS = {"LEAT_FAULT": f"always renameat2 {errno.EINVAL}"}
WAYS = [
    ("shares", {}),
    ("everybody", {}),
    ("damaged", {}),
    ("shares", NO_FLAGS),
    ("everybody", NO_FLAGS),
    ("damaged", NO_FLAGS),
    ("everybody", {"LEAT_FAULT": f"always flock {errno.ENOLCK}"}),
]


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def make_inputs(rng):
    """Tables, pairs of grids, and an archive of some more."""
    head = "ncols 5\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\n"
    os.mkdir("in")
    stems = []
    for i in range(INPUTS):
        stem = f"s{i}"
        if i % 5 == 4:
            for part, high in ("dem", 9), ("source", 2):
                with open(f"in/{stem}.{part}.asc", "w") as f:
                    f.write(head + "".join(" ".join(str(rng.randrange(high)) for _ in range(5)) + "\n" for _ in range(4)))
        else:
            with open(f"in/{stem}.clusters.csv", "w") as f:
                f.write("".join(",".join(f"{rng.random():.3f}" for _ in range(6)) + "\n" for _ in range(4)))
        stems.append(stem)
    packed = [n for n in sorted(os.listdir("in")) if n.split(".")[0][-1] == "7"]
    stems = ["some/" + stem if stem[-1] == "7" else stem for stem in stems]
    subprocess.run(["tar", "-C", "in", "-cf", "in/some.tar", *packed], check=True)
    for name in packed:
        os.remove("in/" + name)
    return stems


class Process:
    def __init__(self, number, way, environment):
        self.number, self.way, self.environment = number, way, environment
        self.files, self.runs = [], 0
        self.start()

    def start(self):
        self.out, self.err = (f"{kind}{self.number}.{self.runs}" for kind in ("out-", "err-"))
        self.runs += 1
        share = ["--shard", f"{self.number + 1}/{PROCESSES}"] if self.way == "shares" else []
        command = [LEAT, "run", "-b", "cpu", "--threads", "1", "--memory", "64M", "-o", "out", "--json", "--resume"]
        self.began = time.time()
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([*command, *share, "in"], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=dict(os.environ, **self.environment))
        self.files.append((self.out, self.began))

    def n_told(self):
        with open(self.out, "rb") as f:
            return f.read().count(b"\n")


def is_whole(stem):
    with open(f"out/{stem}/result.json") as f:
        told = json.load(f)
    for output in told["outputs"]:
        with open(f"out/{stem}/{output['name']}", "rb") as f:
            data = f.read()
        check(len(data) == output["bytes"] and f"{zlib.crc32(data):08x}" == output["crc32"], f"{stem} is torn")


def damage(stems):
    """Cuts a file of each result."""
    for stem in stems:
        with open(f"out/{stem}/result.json") as f:
            name = json.load(f)["outputs"][0]["name"]
        os.truncate(f"out/{stem}/{name}", 1)


def watch(seen):
    """No result ever goes, or becomes another."""
    for path, folders, files in os.walk("out"):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if "result.json" in files:
            name, inode = os.path.relpath(path, "out"), os.stat(path).st_ino
            check(seen.setdefault(name, inode) == inode, f"{name} was published twice")


def one_round(rng, stems, way, environment):
    """Kills three or more of the processes, each when it has told of some jobs, and lets all of them end."""
    processes = [Process(i, way, environment) for i in range(PROCESSES)]
    try:
        return kill_until_done(rng, stems, processes)
    finally:
        for p in processes:
            p.process.kill()


def kill_until_done(rng, stems, processes):
    seen = {}
    kills = rng.randrange(3, 9)
    n_killed = 0
    for _ in range(kills):
        victim = rng.choice(processes)
        lines = victim.n_told() + rng.randrange(INPUTS // PROCESSES // 4 + 1)
        while victim.process.poll() is None and victim.n_told() < lines:
            time.sleep(0.001)
        victim.process.kill()
        if victim.process.wait() == -signal.SIGKILL:
            n_killed += 1
            if victim.way != "damaged":
                watch(seen)
            victim.start()
        else:
            check(victim.process.returncode == 0, f"process {victim.number} has failed: {open(victim.err).read()[-3000:]}")
    for p in processes:
        check(p.process.wait() == 0, f"process {p.number} has failed: {open(p.err).read()[-3000:]}")
    watch(seen)
    check(sorted(seen) == sorted(stems), f"{len(seen)} results for {len(stems)} inputs")
    verify(stems, processes)
    return n_killed


def verify(stems, processes):
    done = {}
    for p in processes:
        for name, began in p.files:
            with open(name, "rb") as f:
                lines = f.read().split(b"\n")[:-1]
            for line in lines:
                told = json.loads(line)
                if "totals" in told:
                    continue
                check(told["status"] in ("ok", "skipped"), line)
                stem = told["output"].split("/", 1)[1]
                if told["status"] == "ok":
                    check(stem not in done, f"{stem} was done by {done.get(stem)} and by {name}")
                    done[stem] = name
                elif "meanwhile" in told["reason"]:
                    check(p.way != "shares", f"{stem} is of two shares")
                    published = os.stat(f"out/{stem}").st_ctime  # the rename
                    check(published > began - 0.1, f"{name} has computed {stem}, which was there")
    for stem in stems:
        is_whole(stem)
    # what the killed have left goes with the next run, once it is old
    for name in os.listdir("out"):
        if name.startswith("."):
            os.utime("out/" + name, (1, 1))
    last = Process(0, "everybody", processes[0].environment)
    check(last.process.wait() == 0, open(last.err).read()[-3000:])
    check(open(last.out).read().count('"status":"ok"') == 0, "something was done again")
    left = [n for n in os.listdir("out") if n not in {*stems, "some"}]
    if processes[0].way == "damaged" and processes[0].environment:  # killed between the two steps
        check(all(n.endswith(".old") for n in left) and (not left or left[0][:6] in open(last.err).read()), "left over, untold")
    else:
        check(not left, f"left over: {left[:5]}")


rng = random.Random(SEED)
n_killed = 0
stems = make_inputs(rng)
for round in range(ROUNDS):
    for way, environment in WAYS:
        if way == "damaged":
            check(Process(0, "everybody", {}).process.wait() == 0, "no results to be damaged")
            damage(stems)
        n_killed += one_round(rng, stems, way, environment)
        shutil.rmtree("out")
        for name in os.listdir("."):
            if name.startswith(("out-", "err-")):
                os.remove(name)
check(n_killed > 0, "no process was killed")
print(f"{ROUNDS} rounds of {len(WAYS)} ways, {INPUTS} inputs, {n_killed} processes killed, seed {SEED}: each result once and whole")
