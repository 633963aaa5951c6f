"""The whole status document of a service with something of everything."""
import io
import json
import os
import re
import subprocess
import time
import zipfile
from datetime import datetime, timedelta, timezone

from lib import begin
from service import LEAT, Service, grid, table

begin()
HELD = "20200102-030405-000006"
ID = r"\d{8}-\d{6}-\d{6}"


class Like:
    """Equal to a text that matches it."""
    def __init__(self, pattern):
        self.pattern = pattern

    def __eq__(self, other):
        return isinstance(other, str) and re.fullmatch(self.pattern, other) is not None

    def __repr__(self):
        return self.pattern


class Recent(Like):
    """Equal to a time of UTC within the last hour; the service is told to live nine hours ahead of it."""
    def __init__(self):
        super().__init__(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")

    def __eq__(self, other):
        return super().__eq__(other) and timedelta() <= datetime.now(timezone.utc) - datetime.fromisoformat(
            other[:-1] + "+00:00") < timedelta(hours=1)

    def __repr__(self):
        return "a time of UTC within the last hour"


class Between:
    """Equal to a number from low to high."""
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __eq__(self, other):
        return isinstance(other, (int, float)) and self.low <= other <= self.high

    def __repr__(self):
        return f"{self.low} to {self.high}"


def same(s, got, want, at="document"):
    """Compares all keys; says where it differs."""
    if isinstance(want, dict):
        s.check(isinstance(got, dict) and set(got) == set(want), f"{at} has {got}, not the keys {sorted(want)}")
        for key in want:
            same(s, got[key], want[key], f"{at}.{key}")
    elif isinstance(want, list):
        s.check(isinstance(got, list) and len(got) == len(want), f"{at}: {got}, not {want}")
        for i, one in enumerate(want):
            same(s, got[i], one, f"{at}[{i}]")
    else:
        s.check(want == got and isinstance(got, bool) == isinstance(want, bool), f"{at}: {got!r}, not {want!r}")


def packed():
    """An archive of which one file is well and two are not."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for name, text in (("in.clusters.csv", table(seed=5)), ("bad.clusters.csv", "1,2\n3,x\n"), ("worse.clusters.csv", "1,2\n3,y\n")):
            z.writestr(name, text)
    return data.getvalue()


os.umask(0)
with open("leat.conf", "w") as f:
    f.write("on_done = true\non_failed = false\n[pipeline sciddicat]\nsteps = 2000000000\n")
os.makedirs(f"spool/.work/{HELD}/in")
for name, text in (("in/h.clusters.csv", table()),
                   ("job", json.dumps({"schema": 2, "id": HELD, "held": True, "folder": "sub", "stem": "h", "parameters": {"pipeline": "pearson", "set": {}},
                                       "inputs": [{"name": "h.clusters.csv", "inode": 1, "bytes": 7, "mtime_ns": 1}]}))):
    with open(f"spool/.work/{HELD}/{name}", "w") as f:
        f.write(text)
s = Service("spool", "-c", "leat.conf", "--drain", "0", "--threads", "2", "--jobs", "1", "--http", "unix:" + os.path.abspath("page.sock"),
            env={"TZ": "JST-9"})
good, dem, source, archive = table(), grid(False), grid(True), packed()
s.drop("sub/a.clusters.csv", good)
s.done(["sub/a.clusters.csv"], "a job that is done")
s.drop("bad.clusters.csv", "1,2\n3,x\n")
s.until(lambda: s.status().get("failed"), "one that has failed")
s.drop("z.zip", archive)
s.done(["z.zip"], "an archive")
CLOCKS_S = 0.5  # what the clock of files and that of a document that is a little old may differ by
before_alone = s.status()["uptime_s"] - CLOCKS_S
s.drop("alone.dem.asc", dem)
s.drop("notes.md", "no pipeline takes it")
before_long = s.status()["uptime_s"] - CLOCKS_S
s.drop("long.dem.asc", dem)
s.drop("long.source.asc", source)
s.until(lambda: s.status()["in_flight"], "a long job")
s.drop("later.dem.asc", dem)
s.drop("later.source.asc", source)
s.until(lambda: len(s.status()["in_flight"]) == 1 and s.status()["n_queued"] == 1 and s.status()["in_flight"][0]["bytes"] == len(dem) + len(source) and s.status()["in_flight"][0]["steps"] and
        s.status()["hooks"]["run"] == 3 and s.status()["hooks"]["running"] == 0 and s.waits().keys() >= {"in/notes.md", "in/alone.dem.asc"} and
        s.status()["workers"][0]["busy"]["cpu_s"] > 0 and s.status()["page"]["pid"], "all of it")
d = s.status()
d["waiting"].sort(key=lambda w: w["path"])
up = d["uptime_s"]
years = (datetime.now(timezone.utc) - datetime(2020, 1, 2, 3, 4, 5, tzinfo=timezone.utc)).total_seconds() - 10  # what is held came then
past = Between(0, up)
n_input = len(good) + len(archive)
busy = {"lanes": [{"lane": lane, "busy_s": past} for lane in ("read", "decode", "device", "encode", "write")], "cpu_s": past,
        "device_s": 0, "upload_s": 0, "download_s": 0}
with open(f"/proc/{s.process.pid}/task/{s.process.pid}/children") as f:
    children = [int(pid) for pid in f.read().split()]
version = subprocess.run([LEAT, "--version"], capture_output=True, text=True).stdout.split()[1]
minutes = d["minutes"]
s.check(len(minutes) == int(up // 60) + 1 and {key: sum(m[key] for m in minutes) for key in minutes[0]} ==
        {"done": 2, "failed": 1, "input_bytes": n_input}, minutes)
counts = [bucket["count"] for bucket in d["latency"]["buckets"]]
s.check(counts == sorted(counts) and counts[-1] == 2 and [bucket["le_s"] for bucket in d["latency"]["buckets"]] ==
        [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800], d["latency"])
last_s = min(max(up, 1), 60)
same(s, {**d, "minutes": 0, "latency": {**d["latency"], "buckets": 0}}, {
    "schema": 1, "written": Between(time.time() - 3600, time.time()), "leat": version, "pid": s.process.pid, "spool": s.spool, "output": s.spool + "/out", "since": Recent(), "uptime_s": past,
    "state": "running", "ready": True, "why": "", "watching": "inotify", "leases": "" if os.geteuid() == 0 else Like(".*CAP_LEASE.*"),
    "n_waiting": 3, "n_troubles": 0, "waiting": [
        {"path": "in/alone.dem.asc", "reason": "waits for alone.source.*", "since_s": Between(0, up - before_alone)},
        {"path": "in/notes.md", "reason": Like("no pipeline takes it: .*"), "since_s": Between(0, up - before_alone)},
        {"path": "in/sub/h.clusters.csv", "reason": f"held by the administrator: leat release {HELD}", "since_s": Between(years, years + 10)}],
    "n_queued": 1, "queued": [{"id": HELD, "name": "in/sub/h.clusters.csv", "held": True},
                              {"id": Like(ID), "name": "in/later.dem.asc", "held": False}], "n_running": 1, "oldest_part_s": Between(0, up - before_alone), "oldest_queued_s": up,  # of the one that was there at the start
    "in_flight": [{"id": Like(ID), "name": "in/long.dem.asc", "pipeline": "sciddicat", "worker": "cpu", "attempt": 1,
                   "bytes": len(dem) + len(source), "total_bytes": len(dem) + len(source), "steps": Between(1, 2e9), "total_steps": 2000000000,
                   "for_s": Between(0, up - before_long), "waits_for": ""}],
    "done": [{"id": Like(ID), "name": "in/z.zip", "pipeline": "archive", "ended": Recent(), "result": "z", "picture": "in/heatmap.png",
              "report": "in/report.html", "seconds": past, "warnings": ["2 of its files failed; result.json says which and why"]},
             {"id": Like(ID), "name": "in/sub/a.clusters.csv", "pipeline": "pearson", "ended": Recent(), "result": "sub/a",
              "picture": "heatmap.png", "report": "report.html", "seconds": past, "warnings": [Like("line 1 holds no names, so the rows are taken as the series.*")]}],
    "n_failed": 1, "failed": [{"id": os.listdir("spool/failed")[0], "name": "in/bad.clusters.csv", "pipeline": "pearson", "ended": Recent(),
                               "kind": "bad-input", "text": Like('in/bad.clusters.csv: line 2, column 2: "x" is not a number.*'), "attempts": 1}],
    "hooks": {"waiting": 0, "running": 0, "run": 3, "failed": 1, "dropped": 0},
    "removed": {"inputs": 0, "jobs": 0, "bytes": 0, "why": ""},
    "late": {"files": 0, "path": ""},
    "workers": [{"name": "cpu", "device": Like(".+"), "pid": next(pid for pid in children if pid != d["page"]["pid"]), "state": "ready",
                 "deaths": 0, "again_in_s": 0, "why": "", "busy": busy}],
    "page": {"address": "unix:" + os.path.abspath("page.sock"), "pid": next(pid for pid in children if pid != d["workers"][0]["pid"]),
             "restarts": 0, "why": ""},
    "totals": {"done": 2, "failed": 1, "requeued": 0, "input_bytes": n_input},
    "rates": {"jobs_per_s_1min": Between(0, 2 / last_s), "jobs_per_s_15min": Between(0, 2), "bytes_per_s_1min": Between(0, n_input / last_s)},
    "pipelines": [{"pipeline": name, "done": (name == "pearson") + (name == "archive"), "failed": int(name == "pearson"),
                   "input_bytes": {"pearson": len(good), "archive": len(archive)}.get(name, 0)}
                  for name in ("pearson", "sciddicat", "interpolate", "kmeans", "archive", "other")],
    "latency": {"buckets": 0, "count": 2, "sum_s": Between(0.01, 2 * up)}, "minutes": 0,
    "pauses": [{"cause": cause, "count": 0} for cause in ("space", "memory", "mount", "other")], "paused_s": 0})

# Its reason, as a whole; the rights of all that the service makes are those of the umask.
[failed] = os.listdir("spool/failed")
with open(f"spool/failed/{failed}/reason.json") as f:
    reason = json.load(f)
same(s, reason, {"schema": 1, "id": failed, "kind": "bad-input", "reason": d["failed"][0]["text"], "time": Recent(), "attempts": 1, "folder": "",
                 "inputs": [{"name": "bad.clusters.csv", "inode": os.stat(f"spool/failed/{failed}/in/bad.clusters.csv").st_ino, "bytes": 8,
                             "mtime_ns": os.stat(f"spool/failed/{failed}/in/bad.clusters.csv").st_mtime_ns}],
                 "parameters": {"pipeline": "pearson", "set": {}}}, "reason.json")  # nor are defaults in its record
s.stop()
# Its whole log, but for what it lacks on this machine.
said = sorted(line for line in s.said().split("\n")[:-1] if not re.search("CAP_LEASE|Landlock|kernel", line))
lines = [f"leat: {line}" for line in (
    r"the page is at unix:\S+/page\.sock \(process \d+\)",
    r"found in \.work: 1 jobs to go on with, 0 finished now, 0 failed, 0 put aside",
    r"'SPOOL/in' is watched by inotify",
    r"cpu: ready on .+ \(process \d+\)",
    r"ready: results go to 'SPOOL/out'",
    r"warning: in/sub/a\.clusters\.csv: line 1 holds no names.*",
    r"in/sub/a\.clusters\.csv -> SPOOL/out/sub/a in \d+\.\d{3} s",
    rf"warning: in/bad\.clusters\.csv: line 2, column 2: .*; moved to failed/{failed}",
    r"warning: on_failed of in/bad\.clusters\.csv: 'false' ended with status 1",
    r"warning: in/z\.zip: 2 of its files failed; result\.json says which and why",
    r"in/z\.zip -> SPOOL/out/z in \d+\.\d{3} s",
    r"service is stopping: 1 jobs may end within 0 s",
    r"[12] jobs did not end in time and stay queued")]
for line in lines:
    one = next((i for i, got in enumerate(said) if re.fullmatch(line.replace("SPOOL", re.escape(s.spool)), got)), None)
    s.check(one is not None, f"no line {line} in {said}")
    del said[one]
s.check(not said, f"more lines: {said}")
for folder, _, names in os.walk("spool"):
    private = folder.split("/")[1:2] in ([".work"], ["status"])
    s.check(os.stat(folder).st_mode & 0o777 == (0o700 if folder in ("spool/.work", "spool/.work/requests", "spool/status") else 0o777), f"rights of {folder}")
    for name in names:
        s.check(private or os.stat(f"{folder}/{name}").st_mode & 0o777 == 0o666, f"rights of {folder}/{name}")
print("every key of the document has its value")
