"""Places that the service may not enter, read or take files from, and in/ itself made anew."""
# ctest: long slots=1 tsan=soak
import errno
import os
import subprocess
import time

from lib import begin, needs_another_user
from service import LEAT, OTHER, Service, service_of_another, table

begin()
needs_another_user()
seed = 0


def others_are_done(s, *troubled, n=5):
    """Files that come now are done: nobody waits for those that are in trouble, and still are then."""
    global seed
    names = [f"good{seed + i}.clusters.csv" for i in range(n)]
    for name in names:
        seed += 1
        s.drop(name, table(seed=seed))
    s.done(names, "others are done")
    s.until(lambda: all(path in s.waits() for path in troubled), f"no trouble any more: {s.waits()}")


def removes(folder):
    """Whether it could be removed: at times the service has a file of its own there."""
    try:
        os.rmdir(folder)
        return True
    except OSError as e:
        if e.errno != errno.ENOTEMPTY:
            raise
        return False


s = service_of_another()

# Folders of root's: files may be read but not taken; names seen but not files; not even names.
s.drop("locked/a.dem.asc", "")
s.drop("locked/a.source.asc", "")
for i in range(40):
    s.drop(f"locked/b{i}.clusters.csv", table(seed=i))
for name, mode in (("names", 0o744), ("shut", 0o711), ("shut2", 0o700)):
    s.drop(f"{name}/c.clusters.csv", table())
    os.chmod(f"other/spool/in/{name}", mode)
s.until(lambda: "right to write" in s.waits().get("in/locked/b7.clusters.csv", ""), "why it is not taken")
s.until(lambda: "'b7.clusters.csv' may not be moved: Permission denied" in s.waits().get("in/locked/b7.clusters.csv", ""), "which file")
others_are_done(s, "in/locked/b7.clusters.csv")
s.until(lambda: s.status()["n_troubles"] == 3, "places in trouble are counted")
others_are_done(s, "in", "in/locked/b7.clusters.csv")
s.until(lambda: "3 places cannot be looked at; the first: the folder '" in s.waits().get("in", "") and "Permission denied" in
        s.waits()["in"] and "needs the rights" in s.waits()["in"], f"{s.waits()['in']}")
s.check("paused" not in s.said() and s.status()["state"] == "running", "all were paused for some")
s.until(lambda: set(os.listdir("other/spool/.work")) == {"lock", "requests"}, "nothing of theirs is claimed")
page = subprocess.run([LEAT, "status", "--spool", s.spool], capture_output=True, text=True).stdout
s.check("3 places cannot be looked at" in page, page)

# Mended: taken without another word.
for name in ("locked", "names", "shut", "shut2"):
    os.chown(f"other/spool/in/{name}", OTHER, OTHER)
    os.chmod(f"other/spool/in/{name}", 0o755)
s.until(lambda: all(s.has(f"done/locked/b{i}.clusters.csv") for i in range(40)), "done when they may be moved")
s.stop()
s = Service("other/spool", "--rescan", "1", program="./leat-as-other")
s.done([f"{name}/c.clusters.csv" for name in ("names", "shut", "shut2")], "done when they may be seen")
s.until(lambda: s.status()["n_troubles"] == 0 and "in" not in s.waits(), "trouble that is over")
s.stop()

# A file that nobody may move.
s = Service("spool")
s.drop("fixed.clusters.csv", table())
os.rename("spool/in/fixed.clusters.csv", "spool/in/.fixed")
if subprocess.run(["chattr", "+i", "spool/in/.fixed"], stderr=subprocess.DEVNULL).returncode == 0:
    subprocess.run(["chattr", "-i", "spool/in/.fixed"], check=True)
    s.stop()
    os.rename("spool/in/.fixed", "spool/in/fixed.clusters.csv")
    subprocess.run(["chattr", "+i", "spool/in/fixed.clusters.csv"], check=True)
    try:
        s = Service("spool")
        s.until(lambda: "immutable" in s.waits().get("in/fixed.clusters.csv", ""), "why it is not taken")
        others_are_done(s, "in/fixed.clusters.csv")
    finally:
        subprocess.run(["chattr", "-i", "spool/in/fixed.clusters.csv"], check=True)
    s.until(lambda: s.has("done/fixed.clusters.csv"), "done when it may be moved")

# in/ is renamed away: said, also while nothing comes; made anew: watched again, as if nothing had been.
s.drop("early.data", "no pipeline takes it")
s.until(lambda: "in/early.data" in s.waits(), "a file that waits")
os.rename("spool/in", "spool/old")
s.until(lambda: s.status()["state"] == "paused", "it says that in/ is not there")
s.until(lambda: "/in' has been removed or replaced" in s.status()["why"] and "make it again" in s.status()["why"],
        s.status()["why"])
with open("spool/old/lost.clusters.csv", "w") as f:
    f.write(table())
os.mkdir("spool/in")
s.drop("new/late.clusters.csv", table())
s.until(lambda: s.has("out/new/late/result.json"), "a file of the new in/")
s.until(lambda: s.status()["state"] == "running" and not s.waits(), "the old one is forgotten")
s.check(os.path.exists("spool/old/lost.clusters.csv") and not s.has("out/lost"), "a file was taken from the old one")
others_are_done(s)

# Replaced in one step, and removed and made again while nothing is asked of it.
os.mkdir("spool/fresh")
os.rename("spool/in", "spool/old2")
os.rename("spool/fresh", "spool/in")
s.drop("swapped.clusters.csv", table())
s.until(lambda: s.has("out/swapped/result.json"), "a file of the one that was swapped in")
for _ in range(3):
    s.until(lambda: removes("spool/in"), "an empty in/")
    os.mkdir("spool/in")
    time.sleep(0.1)
others_are_done(s)
s.check(not [name for name in os.listdir("spool/in") if name.startswith(".leat.probe")], "a probe was left")
s.stop()
s.is_clean()
print("trouble of one place is nobody else's")
