"""What done/ and failed/ keep, and a service that is killed while it removes what they do not."""
import os
import signal
import time

from lib import begin
from service import Service, table

begin()
N = 4000
MORE_THAN_A_SWEEP = 9500


def configure(text):
    with open("leat.conf", "w") as f:
        f.write(text)


def done(s):
    return sorted(os.listdir(os.path.join(s.spool, "done")))


# Nothing goes unless it is asked for; then the oldest, whatever they are, and whole jobs that failed.
configure("")
LEFT = "failed/.20200102-030405-000006.gone"  # by a service that was killed while it removed that
os.makedirs(f"spool/{LEFT}/in")
s = Service("spool", "-c", "leat.conf")
s.until(lambda: not s.has(LEFT), "what was left, gone")
for i in range(5):
    s.drop(f"sub{i}/good.clusters.csv", table(seed=i))
    s.done([f"sub{i}/good.clusters.csv"], "a job, before the next one")
    s.drop(f"bad{i}.clusters.csv", "1,2\n3,x\n")
    s.until(lambda: len(s.reasons()) == i + 1, "a failure, before the next one")
failed = sorted(os.listdir("spool/failed"))
size = len(table())
sizes = {id: sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(f"spool/failed/{id}") for name in names)
         for id in failed}
failed_size = sizes[failed[-1]]
inputs = sum(os.path.getsize(f"spool/done/sub{i}/good.clusters.csv") for i in range(5))
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "the configuration has been read again" in s.said(), "the configuration, read again")
s.until(lambda: len(done(s)) == 5 and s.status()["removed"] == {"inputs": 0, "jobs": 0, "bytes": 0, "why": ""}, "something is gone")
configure(f"keep_done = 1d, {2 * size // 1024 + 1}K\nkeep_failed = {failed_size * 5 // 2 / 1024:.3f}K\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.status()["removed"]["jobs"] > 0, "what is removed of failed/")
removed = s.status()["removed"]
kept = (2 * size // 1024 + 1) * 1024 // size
s.check(done(s) == [f"sub{i}" for i in range(5 - kept, 5)], f"done/ holds {done(s)}, not the youngest {kept}")
s.check(sorted(os.listdir("spool/failed")) == failed[-2:], f"failed/ holds {os.listdir('spool/failed')} of {failed}")
left = sum(os.path.getsize(f"spool/done/sub{i}/good.clusters.csv") for i in range(5 - kept, 5))
s.check(removed == {"inputs": 5 - kept, "jobs": 3, "bytes": inputs - left + sum(sizes[id] for id in failed[:3]), "why": ""}, removed)
s.check("removed by keep_done and keep_failed" in s.said(), "nothing in the log")
s.until(lambda: {job["id"] for job in s.status()["failed"]} == set(failed[-2:]), "failures that are not there")
s.drop("after.clusters.csv", table(seed=9))
s.done(["after.clusters.csv"], "one more job")

# What another sweep removes is added to that; of each folder by its own bounds.
configure(f"keep_done = 1w\nkeep_failed = {failed_size + 100}.0K\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.said().count("has been read again") == 3, "bounds that nothing is beyond")
configure("keep_done = 1w\nkeep_failed = 0.001K\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.status()["removed"]["jobs"] == 5, "the other two jobs")
s.until(lambda: s.status()["removed"] == {**removed, "jobs": 5, "bytes": removed["bytes"] + sizes[failed[3]] + sizes[failed[4]]}, s.status()["removed"])
s.check(len(done(s)) == kept + 1 and not os.listdir("spool/failed"), "what is left")
configure("keep_done = 0.001K\nkeep_failed = 1w\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.status()["removed"]["inputs"] == 6, "all inputs")
s.until(lambda: s.status()["removed"]["bytes"] == inputs + len(table(seed=9)) + sum(sizes.values()), s.status()["removed"])
s.stop()
s.is_clean()

# Killed in the middle: the next one goes on, and the youngest stay.
for i in range(N):
    with open(f"spool/done/{i:05}.csv", "w") as f:
        f.write("1\n")
configure("keep_done = 1K\n")
for k in range(4):
    before = len(done(s))
    s = Service("spool", "-c", "leat.conf", wait=False)
    s.until(lambda: len(done(s)) < before, "the first ones gone")
    s.stop(None, signal.SIGKILL)
    left = [name for name in done(s) if name[0] == "0"]
    s.check(left == [f"{i:05}.csv" for i in range(N - len(left), N)], f"not the youngest are left: {left[:3]}")
    if k < 3:  # some more, unless it was quick; they are younger
        for i in range(200):
            with open(f"spool/done/{N:05}.csv", "w") as f:
                f.write("1\n")
            N += 1
s = Service("spool", "-c", "leat.conf")
s.until(lambda: len(done(s)) <= 512, "what is left fits")
left = done(s)
s.check(left == [f"{i:05}.csv" for i in range(N - 512, N)], f"{len(left)} are left, from {left[0]}")
s.stop()
s.is_clean()

# What more than one sweep takes goes as well, before the next look, which comes after five minutes.
for i in range(MORE_THAN_A_SWEEP):
    with open(f"spool/done/{i:05}.csv", "w") as f:
        f.write("1\n")
time.sleep(1.1)  # so old are all of them
configure("keep_done = 1s\n")
s = Service("spool", "-c", "leat.conf")
s.until(lambda: not done(s), "all that is old gone")
s.until(lambda: s.status()["removed"]["inputs"] >= MORE_THAN_A_SWEEP, "that it is told")
s.stop()
s.is_clean()

print(f"what is kept, by age and size; {N} files, and a service that was killed four times")
