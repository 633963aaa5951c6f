#!/usr/bin/env python3
"""Puts small faults into a copy of the tree, one at a time, and counts what the tests catch and what they pass over.

    mutate.py [-k WORD] [-e N] [-n] [FILE...]      FILE: lists of faults; tests/mutations/*.txt if none is named

A list holds entries with an empty line between them; a line that begins with # is a remark.
    file: watch/files/disk.c          the one file that is changed; then the text as it is and as it shall be, verbatim
    from: fsync(fd)             behind "from: " and "to: "; a key that is repeated adds a line; an empty to deletes
    to: 0                       tests: a regex of ctest names, as in `tests: test_watch_|scenario.spool$`

It is a mistake in the list, and ends the run, when `from` is not in the file exactly once, the change does not compile,
no test has such a name, or those tests fail or are all skipped without the change. Tests run in the order of ctest until
one fails, each for at most ten times what it took without the fault; to hang is to fail. The copy and its build
(release, without CUDA) stay in build/mutate, so that each fault costs an incremental build and its tests.
-k takes the entries that hold WORD (in file, from or to), -e every N-th of them; -n only checks that every `from` occurs exactly once.

Exit status 0: all are caught; 1: some are passed over; 2: a mistake in a list, or nothing can be built.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
COPY = TREE / "build" / "mutate" / "source"
BUILD = TREE / "build" / "mutate" / "build"
KEYS = ("file", "from", "to", "tests")
LEAST_S = 60  # that a test may take, however quick it is


class Mistake(Exception):
    pass


class Entry:
    def __init__(self, path, line, values):
        self.where = "%s:%d" % (os.path.relpath(path), line)
        missing = [key for key in KEYS if key not in values]
        if missing:
            raise Mistake("%s: no '%s:' in this entry; add it" % (self.where, missing[0]))
        self.file, self.before, self.after, self.tests = (values[key] for key in KEYS)
        source = TREE / self.file
        found = source.read_text().count(self.before) if source.is_file() and self.before else 0
        if found != 1 or self.before == self.after:
            raise Mistake("%s: 'from' must be in '%s' exactly once and differ from 'to' (it is there %d times: %s); "
                          "make it what the file says now" % (self.where, self.file, found, self.before))

    def __str__(self):
        line = (TREE / self.file).read_text().split(self.before)[0].count("\n") + 1
        return "%s:%d: %s -> %s" % (self.file, line, " ".join(self.before.split()),
                                    " ".join(self.after.split()) or "(nothing)")


def entries_of(path):
    entries, mistakes, values, begin = [], [], {}, 0
    for number, line in enumerate(Path(path).read_text().split("\n") + [""], 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            try:
                entries += [Entry(path, begin, values)] if values else []
            except Mistake as mistake:
                mistakes.append(str(mistake))
            values = {}
            continue
        match = re.fullmatch(r"(%s):(?: (.*))?" % "|".join(KEYS), line)
        if not match:
            raise Mistake("%s:%d: a line begins with one of '%s:' (found '%s'); see tests/mutate.py" % (
                path, number, ":', '".join(KEYS), line))
        begin = begin if values else number
        key, text = match[1], match[2] or ""
        values[key] = values[key] + "\n" + text if key in values else text
    if mistakes:
        raise Mistake("\n".join(mistakes))
    return entries


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def copy_tree():
    """What git knows or would take; files that are the same keep their times, so that little is built anew."""
    listed = subprocess.run(["git", "-C", TREE, "ls-files", "-coz", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE).stdout
    wanted = {name.decode() for name in listed.split(b"\0") if name}
    wanted = {name for name in wanted if (TREE / name).is_file()}
    for name in wanted:
        there, here = TREE / name, COPY / name
        if not here.is_file() or here.read_bytes() != there.read_bytes():
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there, here)
            shutil.copymode(there, here)
    for here in COPY.rglob("*"):
        if here.is_file() and str(here.relative_to(COPY)) not in wanted:
            here.unlink()


class Test:
    def __init__(self, described):
        self.name = described["name"]
        self.command = described.get("command", [])
        properties = {p["name"]: p["value"] for p in described.get("properties", [])}
        self.environment = dict(os.environ, **dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", [])))
        self.folder = properties.get("WORKING_DIRECTORY", str(BUILD))
        self.limit_s = float(properties.get("TIMEOUT", 600))

    def targets(self):
        """What it runs: its own program; a script runs leat and the programs that it names."""
        own = [Path(word).name for word in self.command if Path(word).parent == BUILD / "tests"]
        if own or not self.command:  # ctest does not know the command of what is not built yet
            return own or [self.name]
        scripts = {Path(word) for word in self.command if word.endswith((".sh", ".py"))}
        scripts |= {other for script in scripts for other in script.parent.glob(script.stem + ".py")}
        text = "".join(script.read_text() for script in scripts)
        return ["leat"] + [target for target, word in (("spool_harness", "SPOOL_HARNESS"), ("leat_faulty", "LEAT_FAULTY"),
                                                       ("fake_cuda", "devices")) if word in text]

    def run(self):
        """Its exit status; None: it took too long. And its output."""
        process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, cwd=self.folder, env=self.environment,
                                   start_new_session=True)
        try:
            output, _ = process.communicate(timeout=self.limit_s)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            try:  # what it has started and left
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def tests_of(entry):
    listed = run(["ctest", "--test-dir", BUILD, "--show-only=json-v1", "-R", entry.tests])
    try:
        tests = [Test(test) for test in json.loads(listed.stdout)["tests"]]
    except (ValueError, KeyError):
        raise Mistake("%s: ctest cannot list '%s': %s" % (entry.where, entry.tests, listed.stdout)) from None
    if not tests:
        raise Mistake("%s: no test is called '%s'; ctest -N lists them" % (entry.where, entry.tests))
    return tests


def build(tests):
    targets = sorted({target for test in tests for target in test.targets()})
    return run(["cmake", "--build", BUILD, "--target"] + targets)


def run_sound(entry, known):
    """The tests of an entry, without the fault: they must pass, and are known from then on."""
    sound = build(tests_of(entry))
    if sound.returncode != 0:
        raise Mistake("the tree does not compile as it is:\n%s" % sound.stdout)
    tests = tests_of(entry)
    for test in tests:
        if test.name in known:
            test.limit_s = known[test.name]
            continue
        begin = time.monotonic()
        code, output = test.run()
        if code not in (0, 77):
            raise Mistake("%s: %s fails as it is, without the fault:\n%s" % (entry.where, test.name, output))
        test.limit_s = min(test.limit_s, max(LEAST_S, 10 * (time.monotonic() - begin)))
        known[test.name] = 0 if code == 77 else test.limit_s
    ready = [test for test in tests if known[test.name] > 0]
    if not ready:
        raise Mistake("%s: all tests of '%s' are skipped here" % (entry.where, entry.tests))
    return ready


def try_fault(entry, known):
    """The name of the test that fails, or None."""
    tests = run_sound(entry, known)
    source = COPY / entry.file
    sound = source.read_text()
    try:
        source.write_text(sound.replace(entry.before, entry.after))
        built = build(tests)
        if built.returncode != 0:
            raise Mistake("%s: the fault does not compile:\n%s" % (entry.where, built.stdout))
        for test in tests:
            if test.run()[0] not in (0, 77):
                return test.name
        return None
    finally:
        source.write_text(sound)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-k", metavar="WORD", default="", help="only entries that hold this")
    options.add_argument("-e", metavar="N", type=int, default=1, help="only every N-th of them")
    options.add_argument("-n", action="store_true", help="only check the lists")
    options.add_argument("files", metavar="FILE", nargs="*", help="lists of faults")
    given = options.parse_args()
    files = given.files or sorted((TREE / "tests" / "mutations").glob("*.txt"))
    passed_over = []
    try:
        entries = [entry for path in files for entry in entries_of(path)
                   if given.k in entry.file + "\n" + entry.before + "\n" + entry.after][::given.e]
        if not entries:
            raise Mistake("no entry holds '%s'" % given.k if files else "no list of faults")
        if given.n:
            print("%d faults, each can be put in" % len(entries))
            return 0
        copy_tree()
        made = run(["cmake", "--preset", "release", "-S", COPY, "-B", BUILD, "-DLEAT_CUDA=OFF"], cwd=COPY)
        if made.returncode != 0:
            raise Mistake("the tree cannot be configured:\n%s" % made.stdout)
        known = {}
        for entry in entries:
            begin = time.monotonic()
            test = try_fault(entry, known)
            if test is None:
                passed_over.append(entry)
            print("%s  %s  (%s, %.0f s)" % ("caught     " if test else "PASSED OVER", entry,
                                            test or entry.tests, time.monotonic() - begin), flush=True)
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 2
    print("%d faults: %d caught, %d passed over" % (len(entries), len(entries) - len(passed_over), len(passed_over)))
    return 1 if passed_over else 0


if __name__ == "__main__":
    sys.exit(main())
