"""What is missing at the start and comes later: the service starts paused, says why, and goes on by itself."""
# ctest: slots=1
import errno
import fcntl
import os
import signal
import subprocess

from lib import begin, small_disk
from service import Service, table

begin()
small_disk("12m,nr_inodes=64")


def take_inodes():
    """Files in small/ until there is no i-node left."""
    os.mkdir("small/taken")
    for i in range(10000):
        try:
            os.close(os.open(f"small/taken/{i}", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            return


def give_inodes():
    for name in os.listdir("small/taken"):
        os.unlink(f"small/taken/{name}")
    os.rmdir("small/taken")


def is_paused_for(s, *words):
    status = s.status()
    return status["state"] == "paused" and not status["ready"] and all(word in status["why"] for word in words)


def said_pause(s, n, *words):
    """In the log, for the n-th time: where there is room for nothing, there is none for the status."""
    lines = [line for line in s.said().splitlines() if "paused: " in line]
    return len(lines) == n and all(word in lines[-1] for word in words)


def blocks_hangup(pid):
    with open(f"/proc/{pid}/status") as f:
        blocked = [line.split()[1] for line in f if line.startswith("SigBlk:")]
    return int(blocked[0], 16) >> (signal.SIGHUP - 1) & 1 == 1


# No i-node for the folders, then none for the lock alone; stopped meanwhile it ends well.
os.mkdir("small/spool")
os.symlink("small/spool", "spool")  # its log and its socket lie elsewhere
take_inodes()
s = Service("spool", wait=False)
s.until(lambda: said_pause(s, 1, "No space left", s.spool), "a pause from the start")
s.stop()
s = Service("spool", wait=False)
s.until(lambda: said_pause(s, 2, "No space left", s.spool), "a pause from the start")
give_inodes()
s.until(lambda: s.status()["ready"] and s.status()["state"] == "running", "the end of it")
s.check(s.said().count("paused: ") == 2, "once each")
s.drop("a.clusters.csv", table())
s.done(["a.clusters.csv"], "a job when there is room")
s.stop()
s.is_clean()
os.unlink("small/spool/.work/lock")
take_inodes()
s = Service("spool", wait=False)
s.until(lambda: said_pause(s, 3, "No space left"), "a pause for the lock")
give_inodes()
s.until(lambda: s.status()["ready"], "the end of it")
s.stop()


# Results' file system is not mounted: nothing is made beneath its mount point.
subprocess.run(["umount", "small"], check=True)
os.unlink("spool")
OUT = os.path.abspath("small")
s = Service("spool", "--output", OUT, "--require-mount", "here/.leat", wait=False)
s.until(lambda: is_paused_for(s, OUT, "'here/.leat'", "mount"), "a pause for what is not mounted")
s.drop("a.clusters.csv", table())
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "leat", "small"], check=True)
s.until(lambda: s.status()["state"] == "paused", "a mounted one without the file is another one")
s.check(os.listdir("small") == [], f"{os.listdir('small')}")

# Another process has the lock then: that is what it waits for, for some seconds in which it can be asked.
os.makedirs("spool/.work", mode=0o700, exist_ok=True)
with open("spool/.work/lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.mkdir("small/here")
    open("small/here/.leat", "w").close()
    s.until(lambda: is_paused_for(s, "already watched"), "a pause for the lock of another")
s.done(["a.clusters.csv"], "the job once it is mounted")

# It goes while a job runs: what is made waits, is not put there, and is not made again.
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
s.drop("b.clusters.csv", table())
s.until(lambda: [n for n in os.listdir("small") if n.endswith(".part")], "an attempt")
os.rename("small/here", "small/gone")
s.drop("c.clusters.csv", table())
os.kill(worker, signal.SIGCONT)
s.until(lambda: "its result is made" in s.waits().get("in/b.clusters.csv", ""), "a result that waits")
s.check(s.status()["state"] == "paused" and "require_mount" in s.status()["why"], s.status()["why"])
s.check(sorted(n for n in os.listdir("small") if n[0] != ".") == ["a", "gone"] and s.has("in/c.clusters.csv"), "put there")
os.rename("small/gone", "small/here")
s.done(["b.clusters.csv", "c.clusters.csv"], "both once it is there again")
s.check(s.status()["totals"]["requeued"] == 0, "made again")
s.stop()

# Another file system on top of it, with that file, too: nothing is put into the hidden one.
s = Service("spool", "--output", OUT, "--require-mount", "here/.leat")
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGSTOP)
s.drop("d.clusters.csv", table())
s.until(lambda: [n for n in os.listdir("small") if n.endswith(".part")], "an attempt")
hidden = os.open("small", os.O_RDONLY)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "leat", "small"], check=True)
os.mkdir("small/here")
open("small/here/.leat", "w").close()
os.kill(worker, signal.SIGCONT)
s.until(lambda: "its result is made" in s.waits().get("in/d.clusters.csv", ""), "a result that waits")
s.check("another file system is mounted on" in s.status()["why"], s.status()["why"])
s.check("d" not in os.listdir(hidden) and os.listdir("small") == ["here"], "put there")
os.close(hidden)
subprocess.run(["umount", "small"], check=True)
s.done(["d.clusters.csv"], "once the one of before is there again")
s.stop()

# Results, then the spool, may only be read: paused at the start as later on.
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
s = Service("spool", "--output", OUT, wait=False)
s.until(lambda: is_paused_for(s, OUT, "Read-only", "mount its file system for writing"), "a pause at the start")
subprocess.run(["mount", "-o", "remount,rw", "small"], check=True)
s.until(lambda: s.status()["ready"] and s.status()["state"] == "running", "the end of it")
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
s.until(lambda: s.status()["state"] == "paused" and "mount its file system for writing" in s.status()["why"], "a pause later on")
subprocess.run(["mount", "-o", "remount,rw", "small"], check=True)
s.until(lambda: s.status()["state"] == "running", "the end of it")
s.stop()
os.mkdir("small/inside")
os.symlink("small/inside", "inside")
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
s = Service("inside", wait=False)
s.until(lambda: said_pause(s, 1, s.spool + "/in", "Read-only"), "a pause at the start")
subprocess.run(["mount", "-o", "remount,rw", "small"], check=True)
s.until(lambda: s.status()["ready"], "the end of it")
s.drop("e.clusters.csv", table())
s.done(["e.clusters.csv"], "a job then")
s.stop()

# Told to reload before it can: the lock is another's for the first second. It is not the end, and not forgotten.
with open("inside/.work/lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    s = Service("inside", wait=False)
    s.until(lambda: blocks_hangup(s.process.pid), "a start that has begun")
    s.process.send_signal(signal.SIGHUP)
s.until(lambda: "the configuration has been read again" in s.said(), "it reloads when it can")
s.stop()

# Told to reload, and to stop, while it waits for that.
os.rename("small/here", "small/gone")
s = Service("spool", "--output", OUT, "--require-mount", "here/.leat", wait=False)
s.until(lambda: is_paused_for(s, OUT, "'here/.leat'", "mount"), "a pause at the start")
s.process.send_signal(signal.SIGHUP)
s.stop()
s = Service("spool", "--output", OUT, "--require-mount", "../x", wait=False)
s.stop(status=2, how=None)
s.check("must be a path within the folder for results" in s.said(), s.said())
print("no room at the start: paused, and it goes on by itself")
