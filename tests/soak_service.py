#!/usr/bin/env python3
"""The watched folder under everything that it promises to survive, at the sizes of a release, side by side, with a count.

    soak_service.py [-j N] [-t SECONDS] [-s SHARE] [-n NAME,...] [-x NAME,...] PROGRAMS LOGS

PROGRAMS: a build (build/release) or an unpacked bundle of tests. LOGS: a new folder, for what each part says; what they
work on lies below TMPDIR, or in /dev/shm. -j: how many parts run at once (three a core, since most wait most of their time).
-t: after that long nothing begins, and what runs is ended; both are left out. -s: a SHARE-th of the rounds. -n, -x: these
alone, or all but these; the names are those of the table at the end.

Full disks need root, power cuts loop devices, too; archives zstd and cmake, bundles unzip. The negative controls: damage
that the ledger has to see, and, in the parts spool and cuts, a spool without its commit and without each of its fsyncs.
Exit status 1: something was found, or a control has found nothing; 77: all is well, and something was left out.
"""
import argparse
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# name; how many are wanted, and made by one part; what its output tells of them (group 2: of which kind, each of which is
# wanted as often), None: nothing; command; environment. {n}: as many as one part makes; {2n} and the like.
WORKS = (
    ("spool", 1, 1, None, "scenarios/spool.sh", "SPOOL_STRIDE=1 SPOOL_ROUNDS={50n}"),
    ("cuts", 1000, 1000, r"^(ext4|xfs|alone): \w+: (\d+) rounds", "scenarios/spool_disk.sh", "SPOOL_CUTS={n}"),
    ("late", 6000, 6000, r"(\d+) delays", "scenarios/service_parts.py", "LEAT_SERVICE_LATE_STEPS={0.5n}"),
    ("archives", 2000, 2000, None, "scenarios/archives.sh", "LEAT_ARCHIVE_ENTRIES={n}"),
    ("control", 2, 1, None, "harness control", "LEAT_SERVICE_BUNDLE={bundle}"),
    ("faults", 200, 12, r"(\d+) times (\w+)", "harness workers", "LEAT_SERVICE_FAULTS={1.5n}"),
    ("storm", 10, 1, None, "harness many", "LEAT_SERVICE_FILES={50000n}"),
    ("kills", 10000, 250, r"(\d+) (?:kills of the service|of workers)", "harness kills", "LEAT_SERVICE_ROUNDS={n}"),
    ("kills-archives", 1000, 125, r"(\d+) (?:kills of the service|of workers)", "harness kills",
     "LEAT_SERVICE_ROUNDS={n} LEAT_SERVICE_KINDS=archive LEAT_SERVICE_BUNDLE={bundle}"),
    ("kills-bundles", 1000, 125, r"(\d+) (?:kills of the service|of workers)", "harness kills",
     "LEAT_SERVICE_ROUNDS={n} LEAT_SERVICE_BUNDLE=yes"),
    ("requests", 2000, 100, r"(\d+) requests", "harness requests", "LEAT_SERVICE_REQUESTS={n}"),
    ("full", 500, 25, r"(\d+) rounds", "harness full", "LEAT_SERVICE_FULL_ROUNDS={n}"),
    ("soak", 100000, 10000, r"; (\d+) drops", "harness soak", "LEAT_SERVICE_SOAK_DROPS={n}"),
    ("kinds", 100, 5, None, "harness kinds marker", ""),
    ("deaths", 10000, 500, r"(\d+) deaths", "spool random {0.4n}", "SPOOL_SEED={seed}"),
    ("replays", 10000, 500, r"(\d+) rounds", "spool power {n}", "SPOOL_SEED={seed}"),
    ("archives-killed", 20, 1, None, "scenarios/service_archives.py", ""),
    ("bundles", 20, 1, None, "scenarios/bundle.sh", ""),
    ("bundles-service", 20, 1, None, "scenarios/service_bundle.py", ""),
)
BAD = re.compile(r"\b(\d+) (lost|doubled|torn|wrong|left over)\b|\b(lost|doubled|torn|left over|uncharged) (\d+)")


class Part:
    def __init__(self, work, index, n, options):
        self.name, _, self.made, self.tells, self.command, self.environment = work
        self.place = index / n  # parts of all works begin together, and end together
        self.options = options
        self.seed = options.seed + index
        self.label = f"{self.name}-{index}"

    def fill(self, text):
        text = re.sub(r"{([\d.]*)n}", lambda m: "%d" % max(1, float(m[1] or 1) * self.made), text)
        return text.format(seed=self.seed, bundle=("no", "yes")[self.seed % 2])

    def start(self):
        o = self.options
        self.folder = tempfile.mkdtemp(prefix=f"leat-soak-{self.label}-", dir=o.tmp)
        self.log = os.path.join(o.logs, self.label)
        words = self.fill(self.command).split()
        if words[0] == "harness":
            command = [sys.executable, f"{HERE}/support/service_harness.py", o.leat, f"{self.folder}/spools", *words[1:]]
        elif words[0] == "spool":
            command = [o.spool, *words[1:]]
        else:
            command = ["sh" if words[0].endswith(".sh") else sys.executable, f"{HERE}/{words[0]}"]
        environment = dict(word.split("=") for word in self.fill(self.environment).split())
        environment.update(LEAT=o.leat, LEAT_FAULTY=o.faulty, SPOOL_HARNESS=o.spool, PYTHON=sys.executable, TMPDIR=self.folder,
                           LEAT_SERVICE_SEED=str(self.seed))
        self.begun = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                            env={**os.environ, **environment}, start_new_session=True)

    def end(self, is_cut=False):
        """Its exit status; None: it was cut."""
        if is_cut:
            for how in signal.SIGTERM, signal.SIGKILL:  # a shell cleans up first
                with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(self.process.pid, how)
                    self.process.wait(3)
        self.seconds = time.monotonic() - self.begun
        with open("/proc/mounts") as f:
            for at in [line.split()[1] for line in f if line.split()[1].startswith(self.folder + "/")]:
                subprocess.run(["umount", "-l", at])
        shutil.rmtree(self.folder, ignore_errors=True)
        return None if is_cut else self.process.returncode

    def count(self, counts):
        """What its log tells of: kind -> number."""
        with open(self.log, errors="replace") as f:
            for line in f:
                for found in re.finditer(self.tells or "$^", line):
                    n = next(word for word in found.groups() if word.isdigit())
                    counts["".join(word for word in found.groups() if word != n)] += int(n)
                for n, what, other, n_other in BAD.findall("" if line.startswith("    ") else line):
                    counts["BAD"] += int(n or n_other)
        if self.tells is None:
            counts[""] += self.made


def run(parts, options):
    """Yields each part with its exit status as it ends; None: it was cut, or not begun."""
    end = time.monotonic() + options.seconds
    waiting, running = collections.deque(sorted(parts, key=lambda part: part.place)), []
    while waiting or running:
        is_over = time.monotonic() > end
        while waiting and (is_over or len(running) < options.jobs):
            part = waiting.popleft()
            if is_over:
                yield part, None
            else:
                part.start()
                running.append(part)
        for part in running[:]:
            if is_over or part.process.poll() is not None:
                running.remove(part)
                yield part, part.end(part.process.poll() is None)
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("logs")
    parser.add_argument("-j", "--jobs", type=int, default=3 * os.cpu_count())
    parser.add_argument("-t", "--seconds", type=float, default=1e9)
    parser.add_argument("-s", "--share", type=int, default=1)
    parser.add_argument("-n", "--names", type=lambda names: names.split(","), default=[work[0] for work in WORKS])
    parser.add_argument("-x", "--without", type=lambda names: names.split(","), default=[])
    parser.add_argument("--seed", type=int, default=int(time.time()))
    o = parser.parse_args()
    at = [o.programs + "/bin", o.programs + "/tests"]
    o.leat, o.faulty, o.spool = (shutil.which(name, path=":".join(map(os.path.abspath, at)))
                                 for name in ("leat", "leat_faulty", "spool_harness"))
    o.tmp = os.environ.get("TMPDIR", "/dev/shm")
    os.makedirs(o.logs)
    print(f"seed {o.seed}", flush=True)
    parts = []
    for name, wanted, made, *rest in WORKS:
        n = -(-wanted // (made * o.share))
        if name in o.names and name not in o.without:
            parts += [Part((name, wanted, min(made, -(-wanted // o.share)), *rest), i, n, o) for i in range(n)]
    counts, left_out, bad = (collections.defaultdict(collections.Counter) for _ in range(3))
    seconds = collections.Counter()
    for part, status in run(parts, o):
        if status in (0, 1):
            part.count(counts[part.name])
            seconds[part.name] += part.seconds
        if status is None or status == 77:
            left_out[part.name][part.label] += 1
        elif status != 0:
            bad[part.name][part.label] += 1
        if status not in (0, None):
            with open(part.log, errors="replace") as f:
                print(f"== {part.label}: exit status {status}\n" + "".join(f.readlines()[-60:]), flush=True)
    print(f"{'':16}{'wanted':>8}  parts  left out  failed  found       s  counted")
    for name, wanted, *_ in WORKS:
        n = sum(part.name == name for part in parts)
        if n > 0:
            found = counts[name].pop("BAD", 0)
            told = ", ".join(f"{number} {kind}".strip() for kind, number in sorted(counts[name].items()))
            print(f"{name:16}{-(-wanted // o.share):8}  {n:5}  {sum(left_out[name].values()):8}  "
                  f"{sum(bad[name].values()):6}  {found:5}  {seconds[name]:6.0f}  {told}")
    return 1 if bad else 77 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
