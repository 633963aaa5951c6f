"""Every way in which a file may come to the running service, and what may happen to it there. Parts of it may be named;
else all run side by side, since each waits most of its time for a service of its own.
LEAT_SERVICE_SLOW_MB (16; 8 where a sanitizer watches): the size of the file that is written slowly; before a release 1000.

Every drop has bytes of its own, and result.json says of which bytes a result is: that is how this tells what became
of which drop.
"""
# ctest: long slots=1 slots_watched=2 asan=soak tsan=soak
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from lib import begin
from service import LEAT, WAIT_S, WATCHED, Service, attempts, grid, table

begin()
SETTLE = 0.3  # of Service
PAUSE = 2.5 * SETTLE
SLOW_MB = float(os.environ.get("LEAT_SERVICE_SLOW_MB", "8" if WATCHED else "16"))
OTHER = 65534
n_tables = 0


def fresh(rows=6):
    """A table that has not been before."""
    global n_tables
    n_tables += 1
    return table(rows=rows, seed=7919 * n_tables).encode()


def key(*contents):
    return tuple(sorted((len(c), "%08x" % zlib.crc32(c)) for c in contents))


def results(s):
    """Path of a result in out/ -> of which bytes it is."""
    found, out = {}, os.path.join(s.spool, "out")
    for path, folders, files in os.walk(out):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if "result.json" in files:
            with open(os.path.join(path, "result.json")) as f:
                inputs = json.load(f)["inputs"]
            found[os.path.relpath(path, out)] = tuple(sorted((i["bytes"], i["crc32"]) for i in inputs))
    return found


def path_in(s, name):
    return os.path.join(s.spool, "in", name)


def write(path, data, mode="wb"):
    with open(path, mode) as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def aside(s, data):
    path = os.path.join(s.spool, "aside")
    write(path, data, "xb")
    return path


def done(s, name, *contents):
    """Waits for the result of these bytes, and for the input in done/; returns the result's name."""
    s.until(lambda: key(*contents) in results(s).values(), f"a result of {name!r}")
    s.until(lambda: s.has("done/" + name), f"done/{name!r}")
    return next(n for n, k in results(s).items() if k == key(*contents))


def show(text):
    print("  " + text, flush=True)


# --- how files come ----------------------------------------------------------------------------------------------


def slow_content(megabytes):
    """Series in rows of about 1 MB, without keeping all of them."""
    row = ",".join("%.6f" % ((i * 7919 % 100003) / 100003) for i in range(110000))
    for i in range(max(4, int(megabytes))):
        yield f"{i}.5,{row}\n".encode()


def slowly(s):
    """Held open, and slower than settle: not touched before it is closed, and status says why."""
    size, crc, begin, pauses = 0, 0, time.monotonic(), 0
    n = max(4, int(SLOW_MB))
    with open(path_in(s, "slow.clusters.csv"), "wb", buffering=0) as f:
        for i, line in enumerate(slow_content(SLOW_MB)):
            f.write(line)
            size, crc = size + len(line), zlib.crc32(line, crc)
            if i % (n // 4) == 0:
                time.sleep(PAUSE)
                pauses += 1
                s.check(s.has("in/slow.clusters.csv"), "taken while it is written")
                s.until(lambda: s.waits().get("in/slow.clusters.csv") == "is open for writing", "a reason to wait")
    written = time.monotonic()
    s.until(lambda: s.has("out/slow/result.json") and s.has("done/slow.clusters.csv"), "the slow file", WAIT_S + SLOW_MB)
    s.check(results(s)["slow"] == ((size, "%08x" % crc),), "a part of the slow file")
    pids = [s.process.pid] + [w["pid"] for w in s.status()["workers"]]
    peaks = ["%.0f MiB" % (peak_kib(p) / 1024) for p in pids]
    os.unlink(os.path.join(s.spool, "done/slow.clusters.csv"))
    show("written slowly: %.0f MB in %.1f s with %d pauses of %g s, a result %.1f s after; the service took %s, the "
         "worker %s" % (size / 1e6, written - begin, pauses, PAUSE, time.monotonic() - written, *peaks))


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def reopened(s):
    """Closed is complete: what a writer appends later is a file, and a job, of its own."""
    first, second = fresh(), fresh()
    write(path_in(s, "again.clusters.csv"), first, "ab")
    s.until(lambda: not s.has("in/again.clusters.csv"), "a closed file is taken")
    write(path_in(s, "again.clusters.csv"), second, "ab")
    names = {done(s, "again.clusters.csv", first), done(s, "again.clusters.csv", second)}
    s.check("again" in names and len(names) == 2, f"{names}")
    show("closed, and opened again to append after a pause: two drops, two results")


def copied(s):
    data = fresh()
    write("old", data)
    os.utime("old", (1e9, 1e9))
    subprocess.run(["cp", "-p", "old", path_in(s, "cp.clusters.csv")], check=True)
    done(s, "cp.clusters.csv", data)
    s.check(os.stat(os.path.join(s.spool, "done/cp.clusters.csv")).st_mtime == 1e9, "its time has changed")
    show("cp -p of an old file: taken when closed, its time kept")


def synced(s):
    if shutil.which("rsync") is None:
        show("rsync: SKIPPED, it is not installed here (its temporary names: the scenario kinds)")
        return
    ways = {"plain": [], "inplace": ["--inplace"]}
    data = {f"rsync-{way}.clusters.csv": fresh(rows=1000) for way in ways}

    def copy(name, options):
        begin = time.monotonic()
        subprocess.run(["rsync", "-a", "--whole-file", "--bwlimit=150k", *options, name, path_in(s, "")], check=True)
        return time.monotonic() - begin

    for name in data:
        write(name, data[name])
    with ThreadPoolExecutor() as pool:
        s.check(min(pool.map(copy, data, ways.values())) > PAUSE, "rsync was too fast to show anything")
    for name in data:
        done(s, name, data[name])
    s.check(len([n for n in results(s) if n.startswith("rsync-")]) == 2, "results of parts")
    show("rsync, slower than settle, by its temporary name and --inplace: one whole result each")


def renamed(s):
    data = fresh()
    os.rename(aside(s, data), path_in(s, "renamed.clusters.csv"))
    done(s, "renamed.clusters.csv", data)
    show("renamed into place")


def linked(s):
    """A file with two names is not taken, and its other name not touched; one that loses the other in time is."""
    outside = aside(s, fresh())
    os.link(outside, path_in(s, "hard.clusters.csv"))
    os.symlink(os.path.join(s.spool, "aside"), path_in(s, "soft.clusters.csv"))
    os.symlink("/etc", path_in(s, "etc"))
    os.mkfifo(path_in(s, "fifo.clusters.csv"))
    kept = fresh()
    write(os.path.join(s.spool, "kept"), kept)
    os.link(os.path.join(s.spool, "kept"), path_in(s, "kept.clusters.csv"))
    os.unlink(os.path.join(s.spool, "kept"))
    said = {"hard.clusters.csv": "has 2 names (hard links)", "soft.clusters.csv": "is a link",
            "fifo.clusters.csv": "is a FIFO"}
    s.until(lambda: said.keys() <= s.reasons().keys(), "three failures")
    for name, why in said.items():
        reason = s.reasons()[name]
        s.check(reason["kind"] == "bad-input" and why in reason["reason"], f"{reason}")
        s.check(not s.has("in/" + name), f"{name} stays")
    s.until(lambda: "no pipeline takes it" in s.waits().get("in/etc", ""), "a link to a folder is followed")
    s.check(os.stat(outside).st_nlink == 2 and not [n for n in results(s) if n in ("hard", "soft", "fifo")], "touched")
    os.unlink(path_in(s, "etc"))
    os.unlink(outside)
    done(s, "kept.clusters.csv", kept)
    show("hard link, symlink, FIFO: failed with these reasons, what they lead to untouched; a hard link whose other "
         "name went at once: taken")


def moved_folder(s):
    tree = {"a.clusters.csv": fresh(), "deep/b.clusters.csv": fresh(), "deep/er/c.clusters.csv": fresh()}
    for name, data in tree.items():
        path = os.path.join(s.spool, "tree", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
    os.rename(os.path.join(s.spool, "tree"), path_in(s, "tree"))
    for name, data in tree.items():
        done(s, "tree/" + name, data)
    late = fresh()
    write(path_in(s, "tree/deep/er/late.clusters.csv"), late)
    done(s, "tree/deep/er/late.clusters.csv", late)
    show("a folder moved in with files inside: all of them, and what comes into it later")


def twice(s):
    """The same name dropped again is another job; a name that was replaced before it was taken was never dropped."""
    first, second = fresh(), fresh()
    os.rename(aside(s, first), path_in(s, "twin.clusters.csv"))
    s.until(lambda: not s.has("in/twin.clusters.csv"), "it is taken")
    os.rename(aside(s, second), path_in(s, "twin.clusters.csv"))
    names = [done(s, "twin.clusters.csv", data) for data in (first, second)]
    s.check(names[0] == "twin" and names[1].startswith("twin~"), f"{names}")
    pairs = [[fresh(), fresh()] for k in range(10)]
    for k, pair in enumerate(pairs):
        for data in pair:
            os.rename(aside(s, data), path_in(s, f"row{k}.clusters.csv"))
    for k, pair in enumerate(pairs):
        done(s, f"row{k}.clusters.csv", pair[1])
        kept = {key(read(os.path.join(s.spool, "done", n))) for n in os.listdir(os.path.join(s.spool, "done"))
                if n.startswith(f"row{k}")}
        made = {k_ for n, k_ in results(s).items() if re.fullmatch(f"row{k}(~.*)?", n)}
        s.until(lambda: not s.status()["in_flight"], "the end of it")
        s.check(kept == made, f"{kept} {made}")
    show("the same name twice in a row: two jobs, two results; replaced before it was taken: the one that was there")


def strange_names(s):
    """Result folders are called like their files, byte by byte; nothing that is printed obeys them."""
    long = b"L" * (255 - len(b".clusters.csv"))
    wide = ("ü" * 121).encode()
    stems = [b"line\nleat: forged", "größe-замер-測定".encode(), b"latin-\xe4\xf6\xff", b"esc\x1b[2J\x07",
             b"a%2Fb %n", b"-rf", b"tab\there", long, wide]
    spool = os.fsencode(s.spool)
    data = {stem: fresh() for stem in stems}
    for stem in stems:
        write(os.path.join(spool, b"in", stem + b".clusters.csv"), data[stem])
    for stem in stems:
        name = os.fsdecode(stem)
        s.check(done(s, name + ".clusters.csv", data[stem]) == name, f"the result of {stem}")
    again = {stem: fresh() for stem in (long, wide)}
    bad = b"bad\nleat: forged \x1b[2J\xff.clusters.csv"
    for stem in again:
        write(os.path.join(spool, b"in", stem + b".clusters.csv"), again[stem])
    write(os.path.join(spool, b"in", bad), b"1,2\n3\n")
    write(os.path.join(spool, b"in", b"wait\n\x1b[2J\xff.unknown"), b"x")
    for stem in again:
        name = done(s, os.fsdecode(stem) + ".clusters.csv", again[stem])
        s.check(len(os.fsencode(name)) <= 255 and "~" in name, name)
        os.fsencode(name).decode()  # no character is cut
    s.until(lambda: os.fsdecode(bad) in s.reasons(), "a bad file of a strange name")
    s.until(lambda: "in/wait\n\x1b[2J\ufffd.unknown" in s.waits(), "a strange name waits")
    printed = [read(s.log)]
    for command in (["status", "--spool", s.spool], ["status", "--failed", "--spool", s.spool]):
        printed.append(subprocess.run([LEAT, *command], capture_output=True).stdout)
    for text in printed:
        s.check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text), f"a control byte: {text}")
        s.check(not re.search(rb"^leat: forged", text, re.M), f"a forged line: {text}")
        s.check(b"\\x0a" in text, f"the newline is not to be seen: {text}")
    for name in os.listdir(os.path.join(s.spool, "failed")):
        json.loads(read(os.path.join(s.spool, "failed", name, "reason.json")).decode())
    os.unlink(os.path.join(spool, b"in", b"wait\n\x1b[2J\xff.unknown"))
    show("names: newline, UTF-8, no UTF-8, escapes, a leading dash, 255 bytes once and twice; results are called so, "
         "log and status escape them")


# --- what may happen to them -------------------------------------------------------------------------------------


def removed(s):
    """Removed while they wait in in/, behind what has been claimed: nobody hears of them again."""
    n, gone = 140, set()
    worker = s.status()["workers"][0]["pid"]
    s.check(worker > 0, "a worker")
    os.kill(worker, signal.SIGSTOP)
    failed = s.status()["totals"]["failed"]
    data = {f"q{i}.clusters.csv": fresh(3) for i in range(n)}
    for name in data:
        s.drop(name, data[name])
    s.until(lambda: s.status()["n_queued"] > 0 and s.status()["n_waiting"] > 60, "a queue")
    for name in list(data)[::2]:
        try:
            os.unlink(path_in(s, name))
            gone.add(name)
        except FileNotFoundError:
            pass
    os.kill(worker, signal.SIGCONT)
    s.until(lambda: all(s.has(f"done/{name}") for name in set(data) - gone), "the others")
    s.until(lambda: not s.waits(), "nothing waits")
    s.check(len(gone) > 20 and s.status()["totals"]["failed"] == failed, "failed, since removed")
    made = set(results(s).values())
    s.check(all((key(d) in made) == (name not in gone) for name, d in data.items()), "not what is left")
    show(f"removed while queued: {len(gone)} of {n} files, forgotten without a failure; the others are done")


def long_pair(n=8):
    """Files of a job that takes seconds; no two calls give the same."""
    global n_tables
    n_tables += 1
    corner = f"xllcorner {n_tables}".encode()
    return {part: grid(part == "source", n).encode().replace(b"xllcorner 0", corner) for part in ("dem", "source")}


def drop_pair(s, name, files):
    for part, data in files.items():
        os.rename(aside(s, data), path_in(s, f"{name}.{part}.asc"))


def replaced(s):
    """While a job runs its name is dropped again: two jobs."""
    one, two = long_pair(), long_pair()
    drop_pair(s, "run", one)
    s.until(lambda: s.begun("run.dem.asc"), "the first runs")
    worker = s.status()["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)  # it does not end before the second is there, however fast the machine is
    drop_pair(s, "run", two)
    s.until(lambda: sorted(attempts(s.spool).values()) == [1, 1], "the second is on its way to the worker")
    os.kill(worker, signal.SIGCONT)
    s.until(lambda: len(s.begun("run.dem.asc")) == 2, "the second beside the first")
    names = [done(s, "run.dem.asc", *files.values()) for files in (one, two)]
    s.check("run" in names and len([n for n in results(s) if n.startswith("run")]) == 2, f"{names}")
    show("replaced by a rename while it runs: the running job keeps its bytes, the new ones are a job of their own")


def rewrite(f, data):
    f.seek(0)
    f.truncate()
    f.write(data)
    f.flush()


def ends_with(s, name, files):
    """One result, of these bytes."""
    s.check(done(s, f"{name}.dem.asc", *files.values()) == name, "the result's name")
    s.check(len([n for n in results(s) if n.startswith(name)]) == 1, "a result of bytes that are no more")
    s.check(not s.reasons(), f"a failure: {s.reasons()}")


def rewritten(s):
    """The bytes of a running job are cut and written again: its work is thrown away, and it waits for the writer."""
    files = long_pair()
    drop_pair(s, "cut", files)
    s.until(lambda: s.begun("cut.dem.asc"), "it runs")
    (identity,) = s.begun("cut.dem.asc")
    work = os.path.join(s.spool, ".work", identity)
    s.check(attempts(s.spool)[identity] == 1, "an attempt")
    with open(os.path.join(work, "in/cut.dem.asc"), "r+b") as f:
        files["dem"] = files["dem"].replace(b"100", b"120")
        rewrite(f, files["dem"][:len(files["dem"]) // 2])
        s.until(lambda: "is still being written" in s.waits().get("in/cut.dem.asc", ""), "it waits for the writer")
        s.check(attempts(s.spool)[identity] == 0, "an attempt is charged")
        f.write(files["dem"][len(files["dem"]) // 2:])
    ends_with(s, "cut", files)
    show("cut and written anew while it runs, by a descriptor that survived the claim: waits until that is closed, "
         "begins anew, one result of the new bytes, no attempt charged")


def cut_before_it_is_read(s):
    """The bytes are cut when the worker has the job and has not read it: what it says of them is not held against it."""
    files = long_pair()
    worker = s.status()["workers"][0]["pid"]
    os.kill(worker, signal.SIGSTOP)
    drop_pair(s, "early", files)
    taken = os.path.join(s.spool, ".work/*/in/early.dem.asc")
    s.until(lambda: glob.glob(taken) and any(attempts(s.spool).values()), "an attempt")
    with open(glob.glob(taken)[0], "r+b") as f:
        rewrite(f, files["dem"][:len(files["dem"]) // 2])
        os.kill(worker, signal.SIGCONT)
        s.until(lambda: "is still being written" in s.waits().get("in/early.dem.asc", ""), "it waits for the writer")
        f.write(files["dem"][len(files["dem"]) // 2:])
    ends_with(s, "early", files)
    show("cut before the worker reads it: waits for the writer, too, and does not fail for bytes that were not complete")


def without_leases():
    """Files of somebody else, of which the kernel does not say who writes them: what stands still is complete."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        show("without leases: SKIPPED, needs another user")
        return
    for name in ("other", "other/spool", "other/spool/in"):
        os.mkdir(name)
        os.chown(name, OTHER, OTHER)
    for folder in (".", ".."):
        os.chmod(folder, 0o711)
    as_other = f"setpriv --reuid {OTHER} --regid {OTHER} --clear-groups"
    write("as-other", f'#!/bin/sh\nexec {as_other} "{LEAT}" "$@"\n'.encode())
    os.chmod("as-other", 0o755)
    s = Service("other/spool", "--settle", "5", "--max-attempts", "1", "-c", os.path.abspath("leat.conf"),
                program="./as-other")
    said = s.status()["leases"]
    s.check("CAP_LEASE" in said and "`settle`" in said and said in s.said(), f"what it does without: {said}")
    page = subprocess.run([LEAT, "status", "--spool", s.spool], capture_output=True, text=True).stdout
    s.check(said in page, page)
    lines = fresh(8).splitlines(True)
    for line in lines:
        write(path_in(s, "still.clusters.csv"), line, "ab")
        time.sleep(0.4)
        s.check(s.has("in/still.clusters.csv"), "taken in a pause that is shorter than settle")
    s.until(lambda: "must stand still for 5 s" in s.waits().get("in/still.clusters.csv", ""), "why it waits")
    begin = time.monotonic()
    done(s, "still.clusters.csv", b"".join(lines))
    s.check(time.monotonic() - begin > 1, "it did not stand still")
    files = long_pair()
    with open(path_in(s, "keep.dem.asc"), "wb") as f:
        f.write(files["dem"])
        f.flush()
        write(path_in(s, "keep.source.asc"), files["source"])
        s.until(lambda: s.begun("keep.dem.asc"), "it is taken once it stands still, though it is open")
        files["dem"] = files["dem"].replace(b"100", b"140")
        rewrite(f, files["dem"])
        ends_with(s, "keep", files)
    s.stop()
    s.is_clean()
    show("without leases: closed and opened again with pauses shorter than settle, not taken before it stood still; "
         "rewritten while it ran, by a descriptor kept open: begins anew")


def arriving():
    s = Service("spool", "-c", "leat.conf")
    s.check(os.geteuid() != 0 or s.status()["leases"] == "", "it says that it cannot ask, and it can")
    for show_one in (slowly, reopened, copied, synced, renamed, linked, moved_folder, twice, strange_names, replaced):
        show_one(s)
    s.stop()
    s.is_clean()
    s.check(not os.listdir("spool/in") or os.listdir("spool/in") == ["tree"], f"left in in/: {os.listdir('spool/in')}")


def changed():
    s = Service("changed", "-c", "leat.conf", "--max-attempts", "1")
    cut_before_it_is_read(s)
    rewritten(s)
    s.stop()
    s.is_clean()


def queue():
    s = Service("queue", "--jobs", "1")
    removed(s)
    s.stop()
    s.is_clean()


write("leat.conf", b"[pipeline sciddicat]\nsteps = %d\n" % (500000 if WATCHED else 2000000))
PARTS = {"arriving": arriving, "changed": changed, "removed": queue, "without_leases": without_leases}
for part in sys.argv[1:]:
    PARTS[part]()
if len(sys.argv) == 1:
    started = [subprocess.Popen([sys.executable, __file__, part], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for part in PARTS]
    said = [process.communicate()[0].decode(errors="replace") for process in started]
    print("".join(said))
    sys.exit(any(process.returncode for process in started))
