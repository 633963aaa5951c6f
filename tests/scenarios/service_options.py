"""Workers obey the options of their service, of how to work: its results are those of leat run with the same."""
import filecmp
import grp
import gzip
import json
import os
import signal
import subprocess
import zipfile

from lib import begin
from service import LEAT, Service, grid, table

begin()
with open("x.clusters.csv.gz", "wb") as f:
    f.write(gzip.compress(table(rows=40, columns=60).encode(), mtime=0))
with zipfile.ZipFile("z.zip", "w") as z:
    for name, seed in (("a.clusters.csv", 3), ("b.clusters.csv", 4)):
        z.writestr(name, table(seed=seed))
SIZE = len(table(rows=40, columns=60))


def files(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


def drop(s, name):
    with open(name, "rb") as f:
        s.drop(name, f.read())


def as_by_run(name, *options):
    """Both make the same files, but for what result.json says of when and where."""
    subprocess.run([LEAT, "run", "-q", "-b", "cpu", *options, "-o", name, "x.clusters.csv.gz"], check=True)
    s = Service("spool-" + name, *options)
    drop(s, "x.clusters.csv.gz")
    s.done(["x.clusters.csv.gz"], f"a job with {options}")
    out = s.spool + "/out"
    s.check(files(out) == files(name), f"{options}: {files(out)}, not {files(name)}")
    for path in files(name) - {"x/result.json"}:
        s.check(filecmp.cmp(f"{out}/{path}", f"{name}/{path}", False), f"{path} is another with {options}")
    s.stop()
    return files(name), sum(os.path.getsize(f"{name}/{path}") for path in files(name) - {"x/result.json"})


plain, size = as_by_run("plain")
small = as_by_run("small", "--level", "9")
assert small[0] == plain and small[1] < size, f"level 9 makes {small[1]} bytes, level 1 {size}"
assert as_by_run("bundle", "--bundle")[0] == {"x/x.zip", "x/result.json"}

# Bounds: at them all is well; one less, and the reason names what to raise.
for option, most, name, words in (("--max-unpacked", SIZE, "x.clusters.csv.gz", f"unpacks to more than {SIZE - 1} bytes; raise max_unpacked"),
                                  ("--max-unpacked", 2 * len(table()), "z.zip", f"unpacks to more than {2 * len(table()) - 1} bytes; raise max_unpacked"),
                                  ("--max-entries", 2, "z.zip", "has more than 1 entries; raise max_entries")):
    for less in 0, 1:
        command = [LEAT, "run", "-b", "cpu", "-q", option, str(most - less), "-o", f"bound{option}{less}{name}", name]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode == 0) == (less == 0) and (less == 0 or words in run.stderr), f"{command}: {run}"
        s = Service(f"spool{option}{less}{name}", option, str(most - less))
        drop(s, name)
        s.until(lambda: s.status()["totals"]["done"] + s.status()["totals"]["failed"] == 1, f"{command}, as a service")
        told = [reason["reason"] for reason in s.reasons().values()]
        if s.has("out/z/result.json"):  # of an archive of which some files have results
            with open(s.spool + "/out/z/result.json") as f:
                told = [entry["text"] for entry in json.load(f)["entries"] if entry["code"] != "ok"]
        s.check(len(told) == less and all(words in text for text in told), f"{command}: {told}")
        warned = [text for job in s.status()["done"] for text in job["warnings"] if "failed" in text]
        s.check(warned == ["1 of its files failed; result.json says which and why"] * (less and s.has("out/z")), f"{command}: {warned}")
        s.stop()
        s.is_clean()

# Jobs at a time; inputs that are not kept.
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
for jobs in 1, 2:
    s = Service(f"jobs{jobs}", "-c", "leat.conf", "--jobs", str(jobs), "--threads", "2", "--drain", "0", "--keep-inputs", "no")
    s.drop("first.clusters.csv", table())
    s.done(["first.clusters.csv"], "a job")
    s.check(not os.listdir(s.spool + "/done"), "an input is kept")
    for name in "abc":
        s.drop(f"{name}.dem.asc", grid(False))
        s.drop(f"{name}.source.asc", grid(True))
    s.until(lambda: len(s.status()["in_flight"]) == jobs and s.status()["n_queued"] == 3 - jobs, f"{jobs} at a time")
    s.stop()

# What cannot change while the service runs is refused by its name, each for itself; anything else is taken.
def configure(**changed):
    with open("fixed.conf", "w") as f:
        f.write("".join(f"{key} = {value}\n" for key, value in {**FIXED, **changed}.items() if value is not None))


with open("leat-fixed", "w") as f:
    f.write(f'#!/bin/sh\nexec "{LEAT}" watch -c fixed.conf\n')
os.chmod("leat-fixed", 0o755)
with open("token", "w") as f:
    f.write("abcdefgh-0123456789")
os.chmod("token", 0o600)
os.makedirs("results")
for marker in "marker", "other":
    open(f"results/{marker}", "w").close()
here = os.getcwd()
FIXED = {"spool": here + "/fixed", "output": here + "/results", "require_mount": "marker", "backend": "cpu",
         "devices": 1, "status_group": grp.getgrgid(os.getegid()).gr_name, "http": f"unix:{here}/page", "http_token_file": "token", "reserve": 0}
configure()
s = Service("fixed", program="./leat-fixed")
n = 0
for key, value in (("spool", "elsewhere"), ("output", "elsewhere"), ("require_mount", "other"), ("backend", "auto"), ("devices", 2), ("devices", "0,"),
                   ("status_group", None), ("http", f"unix:{here}/other"), ("http", None),
                   ("http_token_file", None), ("require_mount", None)):
    configure(**{key: value}, max_attempts=9)
    s.process.send_signal(signal.SIGHUP)
    n += 1
    s.until(lambda: s.said().count("the configuration stays as it was: ") == n, f"what becomes of another {key}")
    last = [line for line in s.said().split("\n") if "stays as it was: " in line][-1]
    s.check(f"the configuration stays as it was: {key} cannot change" in last, last)
for i, (key, value) in enumerate((("max_attempts", 9), ("keep_inputs", "no"), ("replace", "yes"), ("done_file", "yes"), ("settle", 1),
                                  ("rescan", 1), ("reserve", 1), ("drain", 1), ("on_done", "true"), ("on_failed", "true"), ("hook_timeout", 1),
                                  ("keep_done", "1d"), ("keep_failed", "1d"), ("jobs", 2), ("level", 3), ("pipeline", "kmeans"))):
    configure(**{key: value})
    s.process.send_signal(signal.SIGHUP)
    s.until(lambda: s.said().count("the configuration has been read again") == i + 1, f"another {key}")
s.check(s.said().count("stays as it was") == n, "one of them was refused")
s.stop()
print("a service works as leat run does with the same options")
