#!/usr/bin/env python3
"""Drops files into a running `leat watch`, does to it what the world does, and counts.

    service_harness.py LEAT FOLDER SCENARIO...        (--help names the scenarios)

Counted is what is lost, doubled, torn, wrong or left over (service_bench.py says what that means). All must be 0. The
exit status is 77 where all is well, and a scenario could not be played here.
"""
import argparse
import collections
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import types

from patience import WAIT_S, WATCHED
from service_bench import COUNTS, KINDS, Bench, Drop, Failure, Ledger


SKIPPED = "SKIPPED: "
with open("/proc/sys/fs/inotify/max_queued_events") as f:
    EVENTS_MOST = int(f.read())


def environment_number(name, otherwise):
    return type(otherwise)(os.environ.get(name, otherwise))


def kills(b):
    """Supervisor and workers killed at random instants, in the midst of drops of every kind, of commands for jobs that have
    ended, and of looks for what is not to be kept, which is nothing. Landslides keep states."""
    rounds = environment_number("LEAT_SERVICE_ROUNDS", 100)
    n = collections.Counter()
    b.service.configure(keep_done="1000d, 1000G", keep_failed="1000d", on_done="true", on_failed="true",
                        landslide="steps = 200000\ncheckpoint = 0.05")
    b.service.start()
    while n["service"] + n["worker"] < rounds:
        n["turns"] += 1
        for _ in range(b.chance.randint(0, 4)):
            b.dropper.anyhow(b.any_drop())
        time.sleep(b.chance.choice((0.02, 0.1, 0.4)) * b.chance.random())
        kind = b.chance.random()
        if kind < 0.4 or kind > 0.95:
            n["worker"] += b.service.kill_worker(b.chance)
        if kind > 0.4:
            n["service"] += b.service.kill()
            b.service.start()
            if 0.8 < kind < 0.95:  # in the midst of its start
                time.sleep(0.1 * b.chance.random())
                n["service"] += b.service.kill()
                b.service.start()
        b.dropper.go_on()
        b.service.must_live()
        if n["turns"] % 100 == 0:
            b.dropper.go_on(all_of_them=True)
            b.service.settle()
            b.ledger.check()
    b.dropper.go_on(all_of_them=True)
    b.end()
    return "%d kills of the service, %d of workers" % (n["service"], n["worker"])


def leat(b, *words):
    return subprocess.Popen([b.service.leat, words[0], "--spool", b.service.spool, *words[1:]], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def reason_kinds(b):
    """Of what failed: file name -> (id, kind)."""
    found = {}
    for path in glob.glob(b.service.folder("failed") + "/*/reason.json"):
        with contextlib.suppress(OSError, ValueError, KeyError), open(path) as f:
            reason = json.load(f)
            for name in os.listdir(os.path.dirname(path) + "/in"):
                found[name] = reason["id"], reason["kind"]
    return found


def held_jobs(b):
    found = []
    for path in glob.glob(b.service.folder(".work") + "/*/job"):
        with contextlib.suppress(OSError), open(path) as f:
            found += [os.path.basename(os.path.dirname(path))] if json.load(f)["held"] else []
    return found


def requests(b):
    """Requests at random instants of a service that is killed at random instants: what is deleted has no result, what is
    held none until it is released; retries and flushes harm nothing. A third of the deleted are retried in the end."""
    rounds = environment_number("LEAT_SERVICE_REQUESTS", 60)
    n = collections.Counter()
    deleted, held, asked = {}, {}, []  # file -> what was said; (what, drop, file, process, kills before)
    b.service.configure(threads=1, jobs=1)
    b.service.start()
    recent = collections.deque(maxlen=30)
    stopped = []  # workers that stand still, so that jobs wait: at the service, and sent ahead

    def go_on():
        while stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stopped.pop(), signal.SIGCONT)

    def hear(all_of_them):
        for entry in list(asked):
            what, drop, file, process, kills = entry
            if not all_of_them and process.poll() is None:
                continue
            said = process.communicate(timeout=WAIT_S)[1]
            asked.remove(entry)
            told = "unheard" if "asked for;" in said or kills != n["kills"] else "yes" if process.returncode == 0 else "no"
            n[what, told] += 1
            if what == "delete":
                deleted[file] = told, drop
            elif what == "hold" and drop.good:
                held[file] = (told == "yes" and "held" in said, drop)
            if told != "unheard" and not any(words in said for words in (
                    "deleted;", "held", "released", "no such", "is being", "are tried now", "is tried again", "there is no",
                    "at a worker", "jobs have", "has failed already", "no service watches", "no service has watched")):
                b.ledger.blame("wrong", "%s %s: %s" % (what, file, said))

    while sum(n[key] for key in n if key != "kills") + len(asked) < rounds:
        for _ in range(b.chance.randint(0, 8)):
            drop = b.any_drop()
            recent.append(drop)
            b.ledger.add(drop)
            for name, data in drop.files.items():
                b.dropper.renamed_in(name, data)
        time.sleep(0.1 * b.chance.random())
        if stopped and b.chance.random() < 0.3:
            go_on()
        elif not stopped and b.chance.random() < 0.3:
            stopped.extend(b.service.workers())
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
        what = b.chance.choice(("hold", "hold", "delete", "delete", "release", "flush", "retry"))
        busy = {file for _, _, file, _, _ in asked}
        if what in ("flush", "retry"):
            choice = [id for id, kind in reason_kinds(b).values() if kind != "deleted"] if what == "retry" else [None]
        elif what == "release":
            choice = [(file, drop) for file, (is_held, drop) in held.items() if is_held and file not in deleted]
        else:
            choice = [(next(iter(drop.files)), drop) for drop in recent]
            choice = [(file, drop) for file, drop in choice if file not in deleted and not b.service.has("done", file) and
                      (not b.service.has("in", file) or b.chance.random() < 0.1)]
        choice = [one for one in choice if what in ("flush", "retry") or one[0] not in busy]
        if choice:
            one = b.chance.choice(choice)
            file, drop = (None, None) if what in ("flush", "retry") else one
            if what == "release":
                held[file] = False, drop
            words = ["in/" + file] if file is not None else [one] if what == "retry" else []
            asked.append((what, drop, file, leat(b, what, *words), n["kills"]))
        time.sleep(0.05 * b.chance.random())
        if b.chance.random() < 0.12:
            n["kills"] += 1
            b.service.kill()
            go_on()
            b.service.start()
        b.service.must_live()
        hear(len(asked) > 8)
    go_on()
    hear(True)
    for file, (is_held, drop) in held.items():
        if is_held and file not in deleted and os.path.exists(os.path.join(b.service.out, drop.name)):
            b.ledger.blame("wrong", "%s was held, and has a result" % file)
    # All that is held is released by a service that nobody kills; then what was said is looked for.
    b.service.wait_until("free", lambda s: s["ready"] and not [leat(b, "release", id).wait() for id in held_jobs(b)])
    leat(b, "flush").wait()
    b.service.settle()
    failed = reason_kinds(b)
    for i, (file, (told, drop)) in enumerate(sorted(deleted.items())):
        id, kind = failed.get(file, (None, None))
        if told != "unheard" and drop.good and (kind == "deleted") != (told == "yes"):
            b.ledger.blame("wrong", "%s: asked to delete it, heard %s; it is %s" % (file, told, kind))
        if kind == "deleted" and i % 3 == 0:
            if leat(b, "retry", id).wait() != 0:
                b.ledger.blame("wrong", "%s is not tried again" % file)
        elif kind == "deleted":
            drop.good = False
    b.end()
    return "%d requests (%s), %d kills of the service" % (
        sum(n[key] for key in n if key != "kills"), ", ".join("%d %s %s" % (n[key], *key) for key in sorted(
            key for key in n if key != "kills")), n["kills"])


def kinds(b):
    """What is dropped in every way, once; names that come again; what is not to be touched."""
    d, service, ledger = b.dropper, b.service, b.ledger
    service.start()
    os.makedirs(d.path("sub/pearson"))
    table = b.content.table
    for way in (d.directly, d.renamed_in, d.as_part, d.as_rsync, d.as_cp_p):
        drop = ledger.add(b.content.good())
        for name, data in drop.files.items():
            way(name, data)
    # The pause is longer than settle; the file must not be taken in it.
    slow = ledger.add(Drop({"slow.clusters.csv": table(400)}, True))
    d.slowly("slow.clusters.csv", slow.files["slow.clusters.csv"], 2.0)
    d.directly("sub/pearson/bare.csv", ledger.add(Drop({"bare.csv": table()}, True)).files["bare.csv"])
    twin = table()
    for name in ("twin1.clusters.csv", "twin2.clusters.csv"):
        d.directly(name, ledger.add(Drop({name: twin}, True)).files[name])
    for _ in range(3):
        drop = ledger.add(b.content.bad())
        for name, data in drop.files.items():
            d.directly(name, data)
    # Half a pair waits for the other, and says so.
    pair = ledger.add(b.content.good("nodes"))
    first, second = pair.files
    d.directly(first, pair.files[first])
    # Links and the like lead nowhere; hidden and passing names are not touched.
    outside = os.path.join(b.folder, "outside.clusters.csv")
    d.write(outside, table())
    os.symlink(outside, d.path("link.clusters.csv"))
    os.mkfifo(d.path("fifo.clusters.csv"))
    passing = {".hidden.clusters.csv", "half.clusters.csv.part", "old.clusters.csv~"}
    for name in passing:
        d.write(d.path(name), table())
    time.sleep(1.2)
    if not os.path.exists(d.path("slow.clusters.csv")):
        ledger.blame("wrong", "a file was taken while it was open for writing")
    waiting = service.wait_until("waiting for the other half",
                                 lambda s: any(first in w["path"] for w in s["waiting"]))
    if not all(w["reason"] for w in waiting["waiting"]):
        ledger.blame("wrong", "something waits, and nothing says for what")
    d.go_on(all_of_them=True)
    d.directly(second, pair.files[second])
    # The same name again, twice, each with content of its own.
    for _ in range(3):
        drop = ledger.add(Drop({"again.clusters.csv": table()}, True))
        d.directly("again.clusters.csv", drop.files["again.clusters.csv"])
        service.wait_until("taken", lambda s: not os.path.exists(d.path("again.clusters.csv")))
    service.settle(passing)
    again = [name for name in os.listdir(service.out) if name == "again" or name.startswith("again~")]
    if len(again) != 3:
        ledger.blame("wrong", "results of the same name: %s" % again)
    for name in passing:
        if not os.path.exists(d.path(name)):
            ledger.blame("wrong", "%s was touched" % name)
    if not os.path.exists(outside):
        ledger.blame("wrong", "what a link led to was touched")
    odd = {name for _, _, names in os.walk(service.folder("failed")) for name in names if name in
           ("link.clusters.csv", "fifo.clusters.csv")}
    if len(odd) != 2:
        ledger.blame("wrong", "a link and a FIFO have not failed")
    try_again(b, passing)
    b.end(passing)
    return "every kind"


def try_again(b, ignored):
    """leat retry, beside a running service: the jobs that have failed are tried again, and fail once more."""
    root = b.service.folder("failed")
    before = {id: os.stat(os.path.join(root, id)).st_ctime_ns for id in os.listdir(root)}
    said = subprocess.run([b.service.leat, "retry", "--all", "--spool", b.service.spool],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    b.service.settle(ignored)
    after = {id: os.stat(os.path.join(root, id)).st_ctime_ns for id in os.listdir(root)}
    if said.returncode != 0 or set(before) != set(after) or any(before[id] >= after[id] for id in before):
        b.ledger.blame("wrong", "leat retry: exit status %d, failures before %s, after %s: %s" % (
            said.returncode, before, after, said.stderr.decode(errors="replace")))


def manners(b):
    """What systemd hears: ready, reloading and ready again, alive, stopping."""
    with open(b.service.leat, "rb") as f:
        if b"libsystemd" not in f.read():
            return SKIPPED + "this leat is built without libsystemd"
    heard = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(os.path.join(b.folder, "notify"))
        s.settimeout(0.1)

        def hear(what):
            end = time.monotonic() + WAIT_S
            while time.monotonic() < end and not any(line.startswith(what) for line in heard):
                with contextlib.suppress(socket.timeout):
                    heard.extend(s.recv(4096).decode().split("\n"))
            found = [line for line in heard if line.startswith(what)]
            heard.clear()
            return bool(found)

        b.service.start(NOTIFY_SOCKET=os.path.join(b.folder, "notify"), WATCHDOG_USEC="2000000")
        b.service.wait_until("ready", lambda status: status["ready"])
        for what in ("READY=1", "WATCHDOG=1", "STATUS="):
            if not hear(what):
                b.ledger.blame("wrong", "systemd does not hear " + what)
        b.service.process.send_signal(signal.SIGHUP)
        if not hear("RELOADING=1") or not hear("READY=1"):
            b.ledger.blame("wrong", "systemd does not hear of a reload")
        b.service.process.terminate()
        if not hear("STOPPING=1"):
            b.ledger.blame("wrong", "systemd does not hear of the end")
        if b.service.process.wait(WAIT_S) != 0:
            b.ledger.blame("wrong", "exit status %d" % b.service.process.returncode)
    b.ledger.check()
    b.ledger.finish()
    return "ready, alive, reloading, stopping"


def marker(b):
    """done_file: nothing is taken before X.done is there."""
    b.service.configure(done_file="yes")
    b.service.start()
    drop = b.ledger.add(Drop({"m.clusters.csv": b.content.table()}, True))
    b.dropper.directly("m.clusters.csv", drop.files["m.clusters.csv"])
    b.service.wait_until("waiting for its marker",
                         lambda s: any("m.clusters.csv" in w["path"] for w in s["waiting"]))
    time.sleep(1)
    if not os.path.exists(b.dropper.path("m.clusters.csv")):
        b.ledger.blame("wrong", "it was taken without its marker")
    b.dropper.directly("m.clusters.csv.done", b"")
    b.service.settle()
    done = os.path.join(b.service.folder("done"), "m.clusters.csv.done")
    if os.path.exists(done):  # where it is kept, it is no input of its own
        os.unlink(done)
    b.end()
    return "1 file"


def many(b):
    """Files that arrive while the service stands still: more than the kernel's queue of events holds."""
    n = environment_number("LEAT_SERVICE_FILES", 2000)
    b.service.start()
    b.service.wait_until("ready", lambda s: s["ready"])
    os.kill(b.service.process.pid, signal.SIGSTOP)
    for i in range(n):
        data = b"# %d\n1,2,4\n3,5,%d\n7,1,2\n" % (i, i)
        b.dropper.directly("m%06d.clusters.csv" % i, b.ledger.add(Drop({"x": data}, True)).files["x"])
    # Two events each, and one more whenever a writer closes it, unless that is like the one before.
    for k in range(2 * n, EVENTS_MOST + n):
        open(b.dropper.path("m%06d.clusters.csv" % (k % n)), "ab").close()
    os.kill(b.service.process.pid, signal.SIGCONT)
    begun = time.monotonic()
    b.service.settle(seconds=WAIT_S + n / 50)
    seconds = time.monotonic() - begun
    b.end()
    return "%d files in %.1f s, %.0f a second" % (n, seconds, n / seconds)


@contextlib.contextmanager
def small_disk(folder, size):
    os.makedirs(folder, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "tmpfs", folder],
                      stderr=subprocess.DEVNULL).returncode != 0:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def full(b):
    """The disk fills up, and there is room again: nobody fails for it, nothing is lost."""
    rounds = environment_number("LEAT_SERVICE_FULL_ROUNDS", 10)
    paused = 0
    size = 24 << 20
    with small_disk(b.service.spool, size) as mounted:
        if not mounted:
            return SKIPPED + "tmpfs may not be mounted here"
        os.makedirs(b.service.folder("in"))
        b.service.configure(max_attempts=2, reserve="0" if b.seed % 2 else "1M")
        b.service.start()
        b.service.wait_until("ready", lambda s: s["ready"])
        ballast = os.path.join(b.service.spool, "ballast")
        for k in range(rounds):
            drops = [b.ledger.add(b.content.good()) for _ in range(10)]
            for drop in drops:
                for name, data in drop.files.items():
                    b.dropper.write(b.dropper.path(name + ".part"), data)
            disk = os.statvfs(b.service.spool)
            room = b.chance.choice((0, 8, 40, 200, 1000)) << 10 if k > 0 else 0
            with open(ballast, "wb") as f:
                os.posix_fallocate(f.fileno(), 0, max(disk.f_bavail * disk.f_frsize - room, 4096))
            for drop in drops:
                for name in drop.files:
                    os.rename(b.dropper.path(name + ".part"), b.dropper.path(name))
            if room == 0:
                b.service.wait_until("paused without any room", lambda s: s["state"] == "paused")
            else:
                time.sleep(0.2 + 0.5 * b.chance.random())
            status = b.service.status()
            paused += status is not None and status["state"] == "paused"
            os.unlink(ballast)
            b.service.settle()
            b.ledger.check()
            b.ledger.forget()  # else results alone fill the disk in the end
        b.service.stop()
        b.ledger.finish()
        b.service.log.flush()
    return "%d rounds, %d of them seen paused" % (rounds, paused)


def measure(pid):
    """Resident MiB and descriptors. Of a sanitizer's process (its shadow takes terabytes of addresses) the memory is
    not leat's own."""
    with open("/proc/%d/status" % pid) as f:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith(("VmRSS", "VmSize"))}
    return 0 if kib["VmSize"] > 1 << 33 else kib["VmRSS"] / 1024, len(os.listdir("/proc/%d/fd" % pid))


def soak(b):
    """The same for long, as fast as it is taken: after the first tenth memory and descriptors do not grow."""
    n_drops = environment_number("LEAT_SERVICE_SOAK_DROPS", 2000)
    end = time.monotonic() + environment_number("LEAT_SERVICE_SOAK_S", 0.0)
    batch = min(1000, max(n_drops // 20, 50))
    b.service.start()
    b.service.wait_until("ready", lambda s: s["ready"])
    begun = time.monotonic()
    pids = [b.service.process.pid] + b.service.workers()
    samples = []
    while b.ledger.n_drops < n_drops or time.monotonic() < end:
        for _ in range(batch):
            b.dropper.anyhow(b.any_drop(), slow_s=0.2)
            b.dropper.go_on()
        b.dropper.go_on(all_of_them=True)
        b.service.settle()
        b.ledger.check()
        b.ledger.forget()
        if [b.service.process.pid] + b.service.workers() != pids:
            raise Failure("a worker died without being killed")
        time.sleep(1)  # at rest a worker gives memory back with its next sign of life, the service with its tick
        samples.append([measure(pid) for pid in pids])
    seconds = time.monotonic() - begun
    said = [judge_growth(b, [s[i] for s in samples], "worker" if i > 0 else "service") for i in range(len(pids))]
    b.end()
    return "%.0f drops a second; %s" % (b.ledger.n_drops / seconds, "; ".join(said))


def judge_growth(b, samples, who):
    """Of one process, (MiB, descriptors) at moments when all was quiet: the second tenth of them, and the last."""
    tenth = max(len(samples) // 10, 1)
    parts = [samples[i:i + tenth] for i in range(0, len(samples), tenth)]
    mibs = [sum(s[0] for s in part) / len(part) for part in parts]
    fds, fds_late = (min(s[1] for s in part) for part in (parts[min(1, len(parts) - 1)], parts[-1]))
    mib, mib_late = mibs[min(1, len(mibs) - 1)], mibs[-1]
    said = "%s %s MiB, by tenths, %d -> %d descriptors" % (who, " ".join("%.1f" % m for m in mibs), fds, fds_late)
    # A short run is still filling what is kept for the next job: 8 MiB more.
    if mib_late > 1.05 * mib + (0 if b.ledger.n_drops >= 10000 else 8) or fds_late > fds:
        b.ledger.blame("wrong", "it grows: " + said)
    return said


def faults_of(kind, status):
    return status["totals"]["requeued"] if kind == "memory" else sum(worker["deaths"] for worker in status["workers"])


def workers(b):
    """Workers that die, hang, have no memory or a device that fails: who is not to blame has a result."""
    rounds = environment_number("LEAT_SERVICE_FAULTS", 6)
    program = os.environ.get("LEAT_FAULTY", "")
    if not os.access(program, os.X_OK):
        return SKIPPED + "this build has no program with faults (LEAT_FAULTY)"
    third = (rounds + 2) // 3  # a hang lasts for seconds: three services at a time
    # What happens to which jobs; how many are bad; attempts at each.
    kinds = {"abort": ("abort bad", third, 3),
             "hang": ("hang bad", (third + 1) // 2, 2), "hang 2": ("hang bad", (third + 1) // 2, 2),
             "hang 3": ("hang bad", (third + 1) // 2, 2),
             # Once is nobody's fault. With many rounds chance meets a job again and again, as if it were its own.
             "memory": (", ".join("memory #%d" % (2 * i + 1) for i in range(rounds)), 0, 1 if rounds <= 10 else 1000),
             "device": ("device #3", 0, 1000)}
    benches = {}
    counts = collections.Counter()
    # A death charges all jobs that the worker had: of the first one all bad ones, of later ones a suspect alone.
    least = collections.Counter()
    try:
        for kind, (faults, n_bad, attempts) in kinds.items():
            w = benches[kind] = Bench(b.arguments, os.path.join(os.path.basename(b.folder), kind))
            w.service.leat = program
            w.service.configure(max_attempts=attempts, deadline=0 if "hang" not in kind else 20 if WATCHED else 10)
            for i in range(3 * rounds + n_bad):
                drop = w.content.good(KINDS[i % len(KINDS)])  # an archive would meet "device #3" for ever
                drop.good = i >= n_bad
                for name, data in w.ledger.add(drop).files.items():
                    w.dropper.directly(name if drop.good else "bad" + name, data)
            w.service.start(LEAT_WORKER_FAULT=faults)
            w.least = n_bad * (attempts - 1) + 1 if n_bad > 0 else rounds
            least[kind.split()[0]] += w.least
        for kind, w in benches.items():
            w.service.settle(seconds=WAIT_S + 10 * rounds)
            end = time.monotonic() + 30
            while (n := faults_of(kind, w.service.status())) < w.least and time.monotonic() < end:
                time.sleep(0.05)  # the status may be a second old
            counts[kind.split()[0]] += n
            w.end()
    finally:
        for w in benches.values():
            b.ledger.take_over(w)
    for kind, n in counts.items():
        if n < least[kind]:
            b.ledger.blame("wrong", "%d times %s instead of %d" % (n, kind, least[kind]))
    return ", ".join("%d times %s" % (n, kind) for kind, n in counts.items())


def control(b):
    """What the ledger must see: results and inputs that are taken away, doubled, cut or moved, each counted as what it is."""
    b.service.start()
    for kind in (*KINDS, "archive"):
        drop = b.ledger.add(b.content.good(kind))
        for name, data in drop.files.items():
            b.dropper.directly(name, data)
    drops = b.ledger.drops[:]
    b.end()
    result, archive = drops[0].name, drops[-1].name
    file = next(iter(drops[0].files))

    def cut(path):
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) - 1)

    damages = (("lost", lambda at: shutil.rmtree(at + "/out/" + result)),
               ("lost", lambda at: os.unlink(at + "/done/" + file)),
               ("doubled", lambda at: shutil.copytree(at + "/out/" + result, at + "/out/again")),
               ("doubled", lambda at: shutil.copy(at + "/done/" + file, at + "/done/again")),
               ("torn", lambda at: os.unlink(at + "/out/" + result + "/result.json")),
               ("torn", lambda at: cut(next(iter(glob.glob(at + "/out/" + result + "/*.zip")), at + "/out/" + result + "/pearson.npz"))),
               ("torn", lambda at: shutil.rmtree(at + "/out/" + archive + "/a")),
               ("torn", lambda at: cut(at + "/done/" + file)),
               ("wrong", lambda at: (os.makedirs(at + "/failed/1/in"), os.rename(at + "/done/" + file, at + "/failed/1/in/" + file))),
               ("left over", lambda at: os.mkdir(at + "/.work/1")),
               ("left over", lambda at: os.mkdir(at + "/out/.1.part")),
               ("left over", lambda at: shutil.copy(at + "/done/" + file, at + "/in/again")))
    for what, damage in damages:
        at = os.path.join(b.folder, "damaged")
        shutil.copytree(b.service.spool, at)
        damage(at)
        ledger = Ledger(types.SimpleNamespace(out=at + "/out", folder=lambda name: os.path.join(at, name)))
        ledger.drops = drops[:]
        with contextlib.redirect_stdout(None):
            ledger.check()
        shutil.rmtree(at)
        if ledger.counts[what] == 0:
            b.ledger.blame("wrong", "damage that is %s is counted as %s" % (what, dict(ledger.counts)))
    return "%d damages seen" % len(damages)


SCENARIOS = collections.OrderedDict((f.__name__, f) for f in (
    kinds, marker, manners, kills, requests, many, full, workers, soak, control))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="scenarios: " + ", ".join(
                                         "%s (%s)" % (f.__name__, f.__doc__.split(":")[0]) for f in SCENARIOS.values()))
    parser.add_argument("leat")
    parser.add_argument("folder")
    parser.add_argument("scenario", nargs="+", choices=SCENARIOS)
    parser.add_argument("--seed", type=int, default=environment_number("LEAT_SERVICE_SEED", int(time.time())))
    arguments = parser.parse_args()
    arguments.folder = os.path.realpath(arguments.folder)
    print("seed %d" % arguments.seed, flush=True)
    bad = skipped = 0
    for name in arguments.scenario:
        bench = Bench(arguments, name)
        begun = time.monotonic()
        failure = None
        try:
            said = SCENARIOS[name](bench)
            skipped += said.startswith(SKIPPED)
        except Failure as e:
            failure = said = str(e)
        finally:
            bench.service.end()
            bench.ledger.finish()
        counts = bench.ledger.counts
        seen = "".join("%d %s, " % (n, what) for what, n in sorted(bench.ledger.seen.items()))
        print("%-7s %s; %d drops, %s%s (%.0f s)" % (name, said, bench.ledger.n_drops, seen, ", ".join(
            "%d %s" % (counts[c], c) for c in COUNTS), time.monotonic() - begun), flush=True)
        if failure is not None or sum(counts.values()) > 0:
            bad += 1
            with open(os.path.join(bench.folder, "log"), "rb") as f:
                sys.stdout.write("".join("    | " + line for line in
                                         f.read().decode(errors="replace").splitlines(True)[-40:]))
    return 1 if bad else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
