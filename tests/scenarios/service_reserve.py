"""Nothing to do, and no room to do it in: said before a file comes; see service_reserve.sh."""
import os

from service import Service, service_of_another, table


def is_paused_for(s, *words):
    status = s.status()
    return status["state"] == "paused" and all(word in status["why"] for word in words)


def ballast(mib):
    with open("small/ballast", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, mib << 20)


# Below the reserve from the start, then above it, then below again: nobody drops anything.
ballast(8)
s = Service("small/spool", "--reserve", "5M")
s.until(lambda: is_paused_for(s, "MiB", s.spool), "a pause from the start", 10)
os.unlink("small/ballast")
s.until(lambda: s.status()["state"] == "running", "an end of it", 10)
s.until(lambda: "there is room again" in s.said(), "and that is logged", 5)
ballast(8)
s.until(lambda: is_paused_for(s, "MiB"), "another pause", 15)
s.check(s.said().count("paused: ") == 2, "once each")
s.drop("a.clusters.csv", table())
os.unlink("small/ballast")
s.until(lambda: s.status()["totals"]["done"] == 1, "a file that came meanwhile", 20)
s.stop()
s.is_clean()

# Results cannot be written any more, and then they can.
s = service_of_another()
out = os.path.join(s.spool, "out")
os.chown(out, 0, 0)
s.until(lambda: is_paused_for(s, f"'{out}'", "Permission denied", "right"), "a pause that names the folder", 15)
s.drop("a.clusters.csv", table())
os.chown(out, 65534, 65534)
s.until(lambda: s.status()["totals"]["done"] == 1, "done when results can be written", 20)
s.check(s.said().count("paused: ") == 1, "one pause")
s.stop()
s.is_clean()
print("what nothing can begin for is said before anything comes")
