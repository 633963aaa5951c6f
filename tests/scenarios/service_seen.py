"""What the status says of files that wait, also after a restart and once they are taken away, and of a simulation."""
import os
import re
import shutil
import subprocess
import time

from lib import begin
from service import LEAT, Service, grid

begin()


def waiting(s, path):
    return next((w for w in s.status().get("waiting", []) if w["path"] == path), None)


# Only events tell that something has gone: the folder is not looked through again.
s = Service("spool", "--rescan", "0")
dropped = time.time()
for name in "alone.dem.asc", "notes.md", "sub/deep/other.dem.asc", "away/one.dem.asc", "away/two.md":
    s.drop(name, grid(False))
s.until(lambda: len(s.status()["waiting"]) == 5 and "notes.md" in str(s.waits()), "five that wait")
os.unlink("spool/in/notes.md")
os.rename("spool/in/alone.dem.asc", "elsewhere")
s.until(lambda: s.waits().keys() == {"in/sub/deep/other.dem.asc", "in/away/one.dem.asc", "in/away/two.md"}, "two that were taken away")
shutil.rmtree("spool/in/sub")
os.rename("spool/in/away", "away")
s.until(lambda: not s.waits() and s.status()["n_waiting"] == 0, "none that is left")
os.rename("elsewhere", "spool/in/alone.dem.asc")
s.until(lambda: waiting(s, "in/alone.dem.asc"), "one that was put back")
# It may come and go while it is looked at.
for i in range(20):
    os.rename("spool/in/alone.dem.asc", "elsewhere")
    os.rename("elsewhere", "spool/in/alone.dem.asc")
s.until(lambda: waiting(s, "in/alone.dem.asc")["reason"] == "waits for alone.source.*", "what it waits for")
s.stop()

# Since when it waits is since it came, not since the start.
s = Service("spool", "--rescan", "0")
s.until(lambda: waiting(s, "in/alone.dem.asc"), "it waits again")
d = s.status()
since_s, at = waiting(s, "in/alone.dem.asc")["since_s"], d["written"]
s.check(d["uptime_s"] < since_s < at - dropped + 0.1, f"{since_s} s, of {at - dropped}, {d['uptime_s']} since the start")
s.stop()
os.unlink("spool/in/alone.dem.asc")

# A simulation says how many steps are done, and when it will end; it has read its files at once.
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s = Service("spool", "-c", "leat.conf", "--drain", "0")
for name in "dem", "source":
    s.drop(f"long.{name}.asc", grid(name == "source"))
first = s.until(lambda: s.status()["in_flight"] and s.status()["in_flight"][0]["steps"], "steps")
s.until(lambda: s.status()["in_flight"][0]["steps"] > first, "more steps")
s.check(s.status()["in_flight"][0]["total_steps"] == 2000000000, s.status()["in_flight"])
page = subprocess.run([LEAT, "status", "--spool", "spool"], capture_output=True, text=True).stdout
s.check(re.search(r"in/long\.dem\.asc \(sciddicat on cpu\), step [0-9]+ of 2000000000, [0-9]+ %, [0-9a-z .]+ left, ", page) and "read" not in
        page.split("at work")[1].split("\n")[0], page)
s.stop()
print("what waits, since when, and how far a simulation is")
