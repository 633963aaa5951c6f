"""Long landslides that are interrupted: run, worker and service are killed once a state is kept, and what comes of the job in
the end has the bytes of a job that was left alone. A state that is not whole, or of another job, is warned of and not taken."""
# ctest: asan=soak tsan=soak
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from lib import LEAT, WAIT_S, begin
from service import Service

begin()
OPTIONS = ["checkpoint=0.1", "nodata=sink", "record_every=100000", "outline=geojson"]
MARK = "goes on after step "


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def grid(cell):
    head = "ncols 60\nnrows 80\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -9999\n"
    return head + "\n".join(" ".join(str(cell(r, c)) for c in range(60)) for r in range(80)) + "\n"


def altitude(r, c):
    return -9999 if (r * 7 + c * 3) % 97 == 0 else 500 - 4 * r + (r * 13 + c * 29) % 11


INPUTS = {"a.dem.asc": grid(altitude), "a.source.asc": grid(lambda r, c: 3 if 5 < r < 15 and 20 < c < 40 else 0),
          "a.probes.csv": "x,y\n305,405\n"}
os.mkdir("in")
for name, text in INPUTS.items():
    with open(f"in/{name}", "w") as f:
        f.write(text)


def command(out, steps, *options):
    sets = [word for s in (f"steps={steps}", "probes=file", *OPTIONS, *options) for word in ("-s", s)]
    return [LEAT, "run", "-b", "cpu", *sets, "-o", out, "in"]


def run(out, steps, *options):
    done = subprocess.run(command(out, steps, *options), stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, done.stderr)
    return done.stderr


def states(out):
    return glob.glob(f"{out}/.*.state")


def kept_at(out):
    """When the state was kept; 0: there is none."""
    try:
        return max((os.stat(path).st_mtime_ns for path in states(out)), default=0)
    except FileNotFoundError:  # it has gone, or another takes its place
        return 0


def interrupt(out, steps, number):
    """Whether it was interrupted when it had kept a state; else it was done before."""
    before = kept_at(out)
    with open("interrupted.log", "w") as log:
        process = subprocess.Popen(command(out, steps), stderr=log)
    give_up = time.monotonic() + WAIT_S
    while process.poll() is None and kept_at(out) in (0, before):
        check(time.monotonic() < give_up, "never: a state")
        time.sleep(0.005)
    process.send_signal(number)
    return process.wait() == -number


def content(result):
    """All files of a result, and what result.json says of it, but for what differs from run to run."""
    files = {}
    for path in glob.glob(f"{result}/*"):
        if os.path.basename(path) not in ("result.json", "report.html"):
            with open(path, "rb") as f:
                files[os.path.basename(path)] = f.read()
    with open(f"{result}/result.json") as f:
        said = json.load(f)
    return files, {key: said[key] for key in ("summary", "shape", "warnings", "parameters")}


def same(result):
    files, said = content(result)
    check(sorted(files) == sorted(WANT[0]), f"{result}: {sorted(files)}")
    for name, data in files.items():
        check(data == WANT[0][name], f"{result}: {name} differs")
    check(said == WANT[1], f"{result}: {said} instead of {WANT[1]}")


def went_on(log):
    steps = [int(line.split(MARK)[1].split(",")[0]) for line in log.splitlines() if MARK in line]
    check(steps and all(steps), f"it did not go on: {log}")


# As many steps as it takes to be interrupted.
steps = 200000
while not interrupt("killed", steps, signal.SIGKILL):
    shutil.rmtree("killed")
    steps *= 2
run("whole", steps, "checkpoint=0")
WANT = content("whole/a")
check(not states("whole"), "a state is left behind")
WANT[1]["parameters"]["checkpoint"] = 0.1

# Killed, and stopped by SIGINT, more than once.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    if interrupt("killed", steps, number):
        with open("interrupted.log") as f:
            went_on(f.read())
if states("killed"):
    went_on(run("killed", steps))
same("killed/a")
check(not states("killed") and os.listdir("killed") == ["a"], f"left over: {os.listdir('killed')}")


def with_state(out, change, *options):
    """What is said by a run that finds a state, after that has been changed."""
    tries = 0
    while not interrupt(out, steps, signal.SIGKILL):
        shutil.rmtree(out)
        tries += 1
        check(tries < 20, "it cannot be interrupted")
    change(states(out)[0])
    return run(out, steps, *options)


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


log = with_state("torn", cut)
check("begins at step 0" in log and MARK not in log, log)
same("torn/a")
log = with_state("other", lambda path: None, "p_r=0.4")
check("begins at step 0" in log and "other inputs or parameters" in log, log)
check(content("other/a")[0]["thickness.tif"] != WANT[0]["thickness.tif"], "it has the other's state")
check(os.listdir("other") == ["a"], f"left over: {os.listdir('other')}")

# In the service: the worker is killed, then all of it, then it is stopped.
def start(spool="spool", steps=steps):
    with open(f"{spool}.conf", "w") as f:
        f.write("[pipeline sciddicat]\n" + "\n".join([f"steps = {steps}", "probes = file", *(o.replace("=", " = ") for o in OPTIONS)]) + "\n")
    return Service(spool, "--config", f"{spool}.conf", "--drain", "0")


def until_kept(s, before):
    """A state that is not the one before; False: the result is there."""
    s.until(lambda: s.has("out/a") or kept_at("spool/out") not in (0, before), "a state of the service's job")
    return kept_at("spool/out")


s = start()
kept = tries = 0
while kept == 0:  # it was done before it could be interrupted
    s.check((tries := tries + 1) < 20, "it cannot be interrupted")
    shutil.rmtree("spool/out/a", ignore_errors=True)
    for name in reversed(INPUTS):
        s.drop(name, INPUTS[name])
    kept = until_kept(s, 0)
worker = s.status()["workers"][0]["pid"]
os.kill(worker, signal.SIGKILL)
for how in (signal.SIGKILL, signal.SIGTERM):
    if kept := until_kept(s, kept):
        s.stop(None, how)
        s = start()
s.until(lambda: s.has("out/a/result.json") and s.has("done/a.dem.asc"), "the result")
went_on(s.said())
s.check(s.said().count(MARK) > 0 and not os.listdir("spool/failed"), "it did not go on")
same("spool/out/a")
s.stop()
s.is_clean()

# One that ends its worker each time it has kept a state gets further, and fails all the same after max_attempts.
ends = start("ends", 2000000000)
for name in reversed(INPUTS):
    ends.drop(name, INPUTS[name])
before = n_ended = 0


def end_worker():
    """Whether the job has failed; ends its worker once it has kept a state."""
    global before, n_ended
    at = kept_at("ends/out")
    if at not in (0, before):
        busy = [w["pid"] for w in ends.status()["workers"] if w["pid"] and w["busy"]]
        for pid in busy:
            os.kill(pid, signal.SIGKILL)
        before, n_ended = at, n_ended + len(busy)
    return glob.glob("ends/failed/*/reason.json")


with open(ends.until(end_worker, "the end of a job that ends its worker")[0]) as f:
    ends.check("3 attempts ended without a result; the last: the worker ended" in f.read() and n_ended == 3, f"{n_ended} workers have ended")
went_on(ends.said())
ends.check(not states("ends/out"), "the state stays")
ends.stop()
print(f"{steps} steps, interrupted: the same bytes; the service went on {s.said().count(MARK)} times")
