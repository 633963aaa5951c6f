"""What lies beside a grid (.prj, .aux.xml) comes to the service later than the grid: each grid has its own, or its result
says that it has none, and what comes too late goes to done/ with a line in the log; never is it of another drop.
LEAT_SERVICE_LATE_STEPS (16): how many delays between 0 and 3 s are tried, at once.
"""
# ctest: slots=1
import glob
import json
import os
import signal
import time

from lib import begin
from service import Service, attempts, grid

begin()
STEPS = int(os.environ.get("LEAT_SERVICE_LATE_STEPS", "16"))
SETTLE = 1.0  # seconds


def prj(text):
    return f'PROJCS["{text}",GEOGCS["WGS 84"]]'


def pair(s, name, corner=0):
    for part in ("dem", "source"):
        s.drop(f"{name}.{part}.asc", grid(part == "source").replace("xllcorner 0", f"xllcorner {corner}"))


def result(s, name):
    with open(os.path.join(s.spool, "out", name, "result.json")) as f:
        return json.load(f)


def projection(s, name):
    """What stands in the result's .prj; None: there is none, which the result says."""
    paths = glob.glob(os.path.join(s.spool, "out", name, "*.prj"))
    texts = {open(path).read().strip() for path in paths}
    s.check(len(texts) <= 1, f"{name} has {texts}")
    says = any("name no coordinate system" in w for w in result(s, name)["warnings"])
    s.check(bool(texts) != says, f"{name} has {texts} and says {result(s, name)['warnings']}")
    return texts.pop() if texts else None


def is_done(s, name):
    return s.has(f"out/{name}/result.json")


def is_idle(s):
    """Nothing is left anywhere."""
    s.until(lambda: not s.status()["in_flight"] and not s.waits() and s.status()["n_queued"] == 0 and
            os.listdir(os.path.join(s.spool, "in")) == [], "nothing waits")


def sweep(s, again):
    """Grids whose .prj comes after each delay; again: the service is killed among them."""
    begun, in_time = [], []
    for i in range(STEPS):
        begun.append(time.monotonic())
        pair(s, f"s{i}")
    for i in range(STEPS):
        time.sleep(max(0, begun[i] + 3.0 * i / max(1, STEPS - 1) - time.monotonic()))
        if again and i == STEPS // 2:
            s.stop(how=signal.SIGKILL, status=-signal.SIGKILL)
            s = restart()
        s.drop(f"s{i}.dem.prj", prj(f"first {i}"))
        if time.monotonic() < begun[i] + SETTLE / 2:
            in_time.append(i)
    s.until(lambda: all(is_done(s, f"s{i}") for i in range(STEPS)), "all grids")
    is_idle(s)
    late = [i for i in range(STEPS) if projection(s, f"s{i}") is None]
    for i in range(STEPS):
        s.check(projection(s, f"s{i}") in (None, prj(f"first {i}")), f"s{i} has {projection(s, f's{i}')}")
        s.until(lambda: s.has(f"done/s{i}.dem.prj"), f"done/s{i}.dem.prj")
    s.check(not set(late) & set(in_time), f"late: {late}, although in time: {in_time}")
    if not again:
        s.until(lambda: s.status()["late"]["files"] == len(late), f"that {late} are late")
        s.check(all(f"in/s{i}.dem.prj" in s.said() for i in late), "a line for each that is late")
    print(f"  {STEPS} delays up to 3 s{', and a kill' if again else ''}: {STEPS - len(late)} with their .prj, {len(late)} say that they have none")
    return s


def restart():
    return Service("spool", "--settle", str(SETTLE), "-s", "raster=asc.gz", "-s", "steps=20", "--max-attempts", "9", "-j", "1")


def own(s):
    """A .prj that was too late for its grid is not of the next one, which has its own, or none."""
    pair(s, "own")
    s.until(lambda: is_done(s, "own"), "the first")
    s.drop("own.prj", prj("first"))
    pair(s, "own", 7)
    s.until(lambda: len(glob.glob(os.path.join(s.spool, "out", "own*"))) == 2, "the second")
    is_idle(s)
    second = next(n for n in os.listdir(os.path.join(s.spool, "out")) if n.startswith("own~"))
    s.check(projection(s, "own") is None and projection(s, second) is None, "it is of the next grid")


def before(s):
    """What comes before its grid, within the same drop, is the grid's."""
    s.drop("early.dem.prj", prj("early"))
    s.drop("early.dem.asc.aux.xml", "<PAMDataset/>")
    pair(s, "early")
    s.until(lambda: is_done(s, "early") and s.has("done/early.dem.asc.aux.xml"), "all of it")
    s.check(projection(s, "early") == prj("early"), "the .prj")


def after_the_claim(s, n_waits):
    """What comes after the claim goes with the job, unless that begins before it is known to be no other drop's."""
    worker = s.until(lambda: next((w["pid"] for w in s.status()["workers"] if w["pid"]), 0), "a worker")
    os.kill(worker, signal.SIGSTOP)
    names = [f"ahead{n_waits}{i}" for i in range(6)]
    for name in names:
        pair(s, name)
    s.until(lambda: len(glob.glob(os.path.join(s.spool, ".work/*/in/ahead*.dem.asc"))) == len(names), "all are claimed")
    s.until(lambda: list(attempts(s.spool).values()) == [1] * len(names), "all are sent")
    for name in names:
        s.drop(f"{name}.dem.prj", prj(name))
        s.drop(f"{name}.dem.tfw", "1")
    s.until(lambda: all(s.waits().get(f"in/{name}.dem.{kind}") == "the file that it belongs to is not there"
                        for name in names for kind in ("prj", "tfw")), "they came")
    time.sleep(n_waits * SETTLE)  # and no other grid of their names: the service asks for the jobs
    os.kill(worker, signal.SIGCONT)
    s.until(lambda: all(is_done(s, name) for name in names), "all are done")
    is_idle(s)
    for name in names:
        s.check(projection(s, name) in (prj(name), None), f"{name}")
        s.until(lambda: s.has(f"done/{name}.dem.prj") and s.has(f"done/{name}.dem.tfw"), f"what is beside {name}")
    n = sum(projection(s, name) is not None for name in names)
    print(f"  of {len(names)} jobs sent ahead {n} had their .prj in time")
    return n > 0


def put(name, text):
    """Into in/ of a service that does not run."""
    with open(f"spool/in/{name}", "w") as f:
        f.write(text)


def again(s):
    """A grid that comes again before its job is claimed: what lay beside the first is of neither, or of the last."""
    for i in range(8):
        name = f"again{i}"
        s.drop(f"{name}.dem.asc", grid(False).replace("xllcorner 0", "xllcorner 3"))
        s.drop(f"{name}.dem.prj", prj("first"))
        s.until(lambda: f"in/{name}.dem.asc" in s.waits() and f"in/{name}.dem.prj" in s.waits(), "the first")
        if i % 2 == 0:
            s.drop(f"{name}.dem.prj", prj("second"))
        pair(s, name)
        if i % 4 == 1:
            s.drop(f"{name}.dem.prj", prj("second"))
    for i in range(8):
        s.until(lambda: is_done(s, f"again{i}"), f"again{i}")
        s.check(projection(s, f"again{i}") == (None if i % 4 == 3 else prj("second")), f"again{i} has {projection(s, f'again{i}')}")


def other_age(s):
    """What lay there already long before its grid came, while the service was down, is of another drop."""
    s.stop()
    put("aged.prj", prj("of another drop"))
    time.sleep(1.3 * SETTLE)
    for part in ("dem", "source"):
        put(f"aged.{part}.asc", grid(part == "source"))
    s = restart()
    s.until(lambda: is_done(s, "aged") and s.has("done/aged.prj"), "the grid, and its neighbour")
    s.check(projection(s, "aged") is None, "it was taken to the grid")
    return s


def folder(s):
    """The files of a folder that is moved in are of one drop, whatever their age."""
    os.mkdir("made")
    for name, text in (("f.prj", prj("made before")), ("f.dem.asc", grid(False)), ("f.source.asc", grid(True))):
        with open(f"made/{name}", "w") as f:
            f.write(text)
        time.sleep(1.3 * SETTLE if name == "f.prj" else 0)
    os.rename("made", "spool/in/made")
    s.until(lambda: is_done(s, "made/f"), "its job")
    s.check(projection(s, "made/f") == prj("made before"), "its .prj")
    os.rmdir("spool/in/made")


def either(s):
    """Two jobs of one name have not begun: what comes late is of neither, for nobody knows."""
    worker = s.until(lambda: next((w["pid"] for w in s.status()["workers"] if w["pid"]), 0), "a worker")
    os.kill(worker, signal.SIGSTOP)
    for n in 1, 2:
        pair(s, "twice")
        s.until(lambda: len(glob.glob("spool/.work/*/in/twice.source.asc")) == n, "the claim")
    s.drop("twice.prj", prj("of which?"))
    s.until(lambda: s.has("done/twice.prj"), "it is put away")
    os.kill(worker, signal.SIGCONT)
    s.until(lambda: is_done(s, "twice"), "the first")
    s.check(projection(s, "twice") is None, "it is the first one's")


def lonely(s, n=1000):
    """Files that lie beside nothing, more than one step puts away, and a grid among them."""
    for i in range(n):
        s.drop(f"lonely{i}.prj", "")
    s.until(lambda: s.status()["late"]["files"] > 0, "the first are put away")
    pair(s, "quick")
    s.until(lambda: is_done(s, "quick"), "the grid")
    s.until(lambda: not os.listdir("spool/in"), "all are put away")
    s.check(all(s.has(f"done/lonely{i}.prj") for i in range(n)), "one was lost")


s = restart()
sweep(s, False)
own(s)
before(s)
s.check(any(after_the_claim(s, n) for n in (2, 8, 32)), "none was taken to its job")
folder(s)
either(s)
again(s)
lonely(s)
s = other_age(s)
s.check(not s.reasons(), f"{s.reasons()}")
s.stop()
for folder in ("out", "done"):
    os.rename(f"spool/{folder}", f"{folder}.first")
s = sweep(restart(), True)
s.check(not s.reasons(), f"{s.reasons()}")
s.stop()
s.is_clean()
