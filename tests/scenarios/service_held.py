"""Jobs that nobody else is to wait for: folders in out/ and done/ that the service cannot use, and a long job while the disk
is full."""
# ctest: long slots=1 asan=soak tsan=soak
import os
import re
import subprocess

from lib import begin, needs_another_user, small_disk
from service import LEAT, OTHER, Service, grid, service_of_another, table

begin()
needs_another_user()
small_disk("64m")
# One job's result cannot be published, nor its input archived: it waits, says why, and nobody waits for it.
s = service_of_another()
os.makedirs("other/spool/done/sub")
os.mkdir("other/spool/in/sub")
os.mkdir("other/spool/out/sub")
os.chown("other/spool/in/sub", OTHER, OTHER)
s.drop("sub/a.clusters.csv", table())
for folder in "out/sub", "done/sub":
    s.until(lambda: all(word in s.waits().get("in/sub/a.clusters.csv", "") for word in (folder, "ermission denied")),
            f"a job that is held for {folder}, and why")
    s.until(lambda: "1 jobs that waited" in subprocess.run([LEAT, "flush", "--spool", s.spool], stderr=subprocess.PIPE,
                                                           text=True).stderr, "a flush, which tries it at once")
    if folder == "out/sub":
        os.chown("other/spool/out/sub", OTHER, OTHER)
for i in range(50):
    s.drop(f"good{i}.clusters.csv", table(seed=i))
s.until(lambda: s.status()["totals"]["done"] == 50, "the others are done")
s.check(s.status()["state"] == "running" and "paused" not in s.said(), "all were paused for one")
s.until(lambda: "in/sub/a.clusters.csv" in s.waits() and s.status()["n_waiting"] == 1 and s.status()["n_queued"] == 0, "it waits still")
os.chown("other/spool/done/sub", OTHER, OTHER)
s.until(lambda: s.status()["totals"]["done"] == 51, "done once the folder is its own")
s.check(s.has("done/sub/a.clusters.csv") and s.has("out/sub/a") and not s.waits(), "it was not archived")

# One that has failed, and cannot be put away: it is no job that is queued.
os.chown("other/spool/failed", 0, 0)
os.chmod("other/spool/failed", 0o755)
s.drop("bad.clusters.csv", "1,2\n3,x\n")
s.until(lambda: re.match("it has failed: .*failed.*ermission denied", s.waits().get("in/bad.clusters.csv", "")), "a failure that waits, and why")
s.until(lambda: (s.status()["n_waiting"], s.status()["n_queued"], s.status()["n_running"]) == (1, 0, 0), "its place among the numbers")
s.check(s.status()["totals"]["failed"] == 0 and not s.status()["failed"], "it is told as failed")
os.chown("other/spool/failed", OTHER, OTHER)
s.until(lambda: s.status()["totals"]["failed"] == 1 and not s.waits(), "failed once it can be put away")

# Nor can one whose folder in done/ is another file system.
for name in ("done", "in"):
    os.mkdir(f"other/spool/{name}/mounted")
os.chown("other/spool/in/mounted", OTHER, OTHER)
subprocess.run(["mount", "-t", "tmpfs", "-o", f"uid={OTHER},gid={OTHER}", "leat", "other/spool/done/mounted"], check=True)
try:
    s.drop("mounted/b.clusters.csv", table(seed=51))
    s.until(lambda: "done/mounted" in s.waits().get("in/mounted/b.clusters.csv", ""), "a job that is held, and why")
    s.drop("good50.clusters.csv", table(seed=50))
    s.until(lambda: s.has("done/good50.clusters.csv"), "the next one is done")
    s.check("in/mounted/b.clusters.csv" in s.waits() and s.has("out/mounted/b"), "it waits no more")
finally:
    subprocess.run(["umount", "-l", "other/spool/done/mounted"], check=True)
os.chown("other/spool/done/mounted", OTHER, OTHER)
s.until(lambda: s.has("done/mounted/b.clusters.csv") and not s.waits(), "done once it is one file system")
s.stop()
s.is_clean()

# After a pause a long job that ran all the time holds nobody back.
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s = Service("small", "--config", "leat.conf", "--reserve", "8M", "--drain", "0")
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
with open("small/ballast", "wb") as f:
    room = os.statvfs("small")
    os.posix_fallocate(f.fileno(), 0, room.f_bavail * room.f_frsize - (1 << 20))
for name in "abcd":
    s.drop(f"{name}.clusters.csv", table())
s.until(lambda: s.status()["state"] == "paused", "a pause")
os.unlink("small/ballast")
s.until(lambda: s.status()["totals"]["done"] == 4, "four done beside the long one")
s.check([j["name"] for j in s.status()["in_flight"]] == ["in/long.dem.asc"], "the long job has ended")
s.stop()
print("a job whose input cannot be archived, and a long one: nobody waits for them")
