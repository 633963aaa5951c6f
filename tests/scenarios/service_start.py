"""Starts that lack something; see service_start.sh."""
import errno
import os

from service import Service, table


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


# No i-node for the folders, then none for the lock alone; stopped meanwhile it ends well.
os.mkdir("small/spool")
os.symlink("small/spool", "spool")  # its log and its socket lie elsewhere
take_inodes()
s = Service("spool", wait=False)
s.until(lambda: is_paused_for(s, "No space left", s.spool), "a pause from the start")
s.stop()
s = Service("spool", wait=False)
s.until(lambda: is_paused_for(s, "No space left", s.spool), "a pause from the start")
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
s.until(lambda: is_paused_for(s, "No space left"), "a pause for the lock")
give_inodes()
s.until(lambda: s.status()["ready"], "the end of it")
s.stop()
print("no room at the start: paused, and it goes on by itself")
