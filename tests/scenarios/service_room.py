"""The disk for results fills up, then that of the spool: the service pauses, says so, and goes on by itself when there
is room; nobody is charged, nothing is lost."""
# ctest: long slots=1 tsan=soak
import errno
import os
import resource
import signal
import time

from lib import begin, small_disk
from service import KINDS, PATIENCE, ROUTES, WAIT_S, WATCHED, Content, Drop, Service, attempts, grid, table

begin()
small_disk("16m")
disk = os.path.abspath("small")
BALLAST = os.path.join(disk, "ballast")
N = 20
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = %d\n" % (500000 if WATCHED else 3000000) + ROUTES)
SMALL = [kind for kind in KINDS if kind != "landslide"]  # which has these steps
content = Content(1)


def fill(leave):
    """Takes all room but `leave`, while the service takes some as well."""
    with open(BALLAST, "wb") as f:
        while True:
            disk_now = os.statvfs(disk)
            more = disk_now.f_bavail * disk_now.f_frsize - leave
            if more <= 0:
                return
            try:
                os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, more)
            except OSError as e:
                if e.errno != errno.ENOSPC:
                    raise


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch_a_pause(s, pids, seconds=3):
    """What part of a processor is used meanwhile. A trial may be going on; none stays charged but jobs whose result is
    made and waits to be put in place."""
    begin, before = time.monotonic(), sum(cpu_s(p) for p in pids)
    quiet = False
    while time.monotonic() < begin + seconds or not quiet:
        status, tried = s.status(), attempts(s.spool)
        made = [w for w in status["waiting"] if w["reason"].startswith("its result is made")]
        s.check(max(tried.values(), default=0) <= 1, f"charged more than once: {tried}")
        quiet = quiet or (sum(tried.values()) <= len(made) and not status["in_flight"])
        s.check(time.monotonic() < begin + WAIT_S, f"attempts stay charged: {tried}")
        time.sleep(0.25)
    return (sum(cpu_s(p) for p in pids) - before) / (time.monotonic() - begin)


def fill_and_empty(s, k, done, leave, with_long):
    """N small jobs, half of them dropped before the disk is full; a long one runs, and ends while it is full. Returns
    all, the processor's share in the pause and the time until they are done."""
    drops = [content.good(SMALL[i % len(SMALL)]) for i in range(N)]
    for drop in drops:  # complete before the disk is full, and hidden
        for name, data in drop.files.items():
            s.drop(name + ".part", data)
    if with_long:
        drops.append(Drop({f"long{k}.{part}.asc": grid(part == "source") for part in ("dem", "source")}, True))
        s.drop_all(drops[-1])
        s.until(lambda: s.begun(f"long{k}.dem.asc", s.status()["output"]), "a long job")
        worker = s.status()["workers"][0]["pid"]
        os.kill(worker, signal.SIGSTOP)  # so that it does not end before the disk is full
    for i, drop in enumerate(drops[:N]):
        if i == N // 2:
            fill(leave)
            if with_long:
                os.kill(worker, signal.SIGCONT)
        for name in drop.files:
            os.rename(os.path.join(s.spool, "in", name + ".part"), os.path.join(s.spool, "in", name))
    s.until(lambda: s.status()["state"] == "paused", "a pause")
    s.check("No space left" in s.status()["why"], f"why it is paused: {s.status()['why']}")
    s.until(lambda: not s.status()["in_flight"], "jobs at work end while the disk is full")
    pids = [s.process.pid] + [w["pid"] for w in s.status()["workers"]]
    busy = watch_a_pause(s, pids)
    s.check(busy < 0.05 * PATIENCE, f"paused, and {busy:.1%} of a processor")
    begin = time.monotonic()
    os.unlink(BALLAST)
    s.until(lambda: s.status()["totals"]["done"] >= done + N, "all done when there is room")
    seconds = time.monotonic() - begin
    s.check(seconds < 60, f"it took {seconds:.1f} s to go on")
    s.until(lambda: s.status()["totals"]["done"] == done + N + with_long, "the long one, too")
    s.check(s.status()["state"] == "running", "it is still paused")
    s.check(s.status()["totals"]["failed"] == 0, "nobody fails for want of room")
    return drops, busy, seconds


def is_whole(s, out, drops):
    """Every result once, every input in done/, nothing left."""
    s.has_once(drops, out)
    s.check(set(os.listdir(os.path.join(s.spool, ".work"))) == {"lock", "requests"} and not os.listdir(os.path.join(s.spool, "in")) and
            not os.listdir(os.path.join(s.spool, "failed")), "left over")


for what, spool, out in (("out", "spool", os.path.join(disk, "out")), ("spool", os.path.join(disk, "spool"), "out")):
    # One attempt is all that a job has: whoever is charged with one for want of room fails.
    s = Service(spool, "--output", os.path.abspath(out), "--max-attempts", "1", "--config", "leat.conf")
    drops, figures = [], []
    for k, (leave, with_long) in enumerate(((8192, False), (0, False), (0, True))):
        more, *figure = fill_and_empty(s, k, len(drops), leave, with_long)
        drops += more
        figures.append(figure)
    n_again = s.status()["totals"]["requeued"]
    s.stop()
    is_whole(s, out, drops)
    print(f"  {what}: paused 3 times, the last with a long job: " + ", ".join(
        f"{busy:.1%} of a processor and on after {seconds:.1f} s" for busy, seconds in figures) +
        f"; {len(drops)} of {len(drops)} jobs done, {n_again} sent back uncharged", flush=True)

# A reserve that is not there: nothing is begun.
fill(4 << 20)
out = os.path.join(disk, "out")
s = Service("spool", "--output", out, "--reserve", "10M")
s.drop("later.clusters.csv", table())
s.until(lambda: s.status()["state"] == "paused" and "MiB" in s.status()["why"], "a pause for the reserve")
s.check(s.has("in/later.clusters.csv"), "claimed in spite of the reserve")
s.stop()
s = Service("spool", "--output", out, "--reserve", "1M")
s.until(lambda: os.path.exists(os.path.join(out, "later")), "with a smaller reserve")
s.stop()

# No descriptors, and a file that is to be looked at: that is tried again, and not all the time.
s = Service("few", "--rescan", "0")
pid = s.process.pid
before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
with open("few/in/open.clusters.csv", "w") as f:  # a writer has it open: looked at again and again
    f.write(table())
    f.flush()
    s.until(lambda: s.waits(), "a file that waits")
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(1000)) - used), before[1]))
    time.sleep(1.5)
    begin = cpu_s(pid)
    time.sleep(2)
    busy = (cpu_s(pid) - begin) / 2
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
s.check(busy < min(0.3 * PATIENCE, 0.8), f"no descriptors, and {busy:.1%} of a processor")
s.until(lambda: s.has("done/open.clusters.csv"), "done when there are some")
s.stop()
print("paused while a disk is full, nothing charged, nothing lost")
