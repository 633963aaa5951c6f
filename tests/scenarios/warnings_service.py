"""A service says what a result is warned of, in its log and in its status."""
# ctest: none
from service import Service

s = Service("spool")
with open("code.clusters.csv") as f:
    s.drop("code.clusters.csv", f.read())
s.until(lambda: s.status()["totals"]["done"] == 1, "a result")
done = s.status()["done"]
s.check(len(done) == 1 and sum("missing_value=-999" in w for w in done[0]["warnings"]) == 1, f"status {done}")
log = s.said()
s.check(log.count("missing_value=-999") == 1 and "in/code.clusters.csv: -999 looks like" in log, f"log: {log}")
s.stop()
