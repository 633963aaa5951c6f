"""A landslide that ends with state=keep and goes on with start=file gives the bytes of one of all its steps; so in the service
and from an archive. What is no state, or one of another landslide, is refused. LEAT_TEST_BACKEND chooses the backend."""
# ctest: tsan=no
import csv
import glob
import gzip
import os
import shutil
import subprocess
import sys
import zipfile

from lib import BACKEND, LEAT, begin
from service import Service

begin("numpy")
import numpy

GRIDS = ["a.dem.asc", "a.source.asc"]


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def grid(cell):
    head = "ncols 60\nnrows 80\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -9999\n"
    return head + "\n".join(" ".join(str(cell(r, c)) for c in range(60)) for r in range(80)) + "\n"


def write(name, text):
    with open(name, "w") as f:
        f.write(text)


write(GRIDS[0], grid(lambda r, c: -9999 if (r * 7 + c * 3) % 97 == 0 else 500 - 4 * r + (r * 13 + c * 29) % 11))
write(GRIDS[1], grid(lambda r, c: 3 if 5 < r < 15 and (20 < c < 40 or c == 0) else 0))


def leat(out, *options, files=GRIDS):
    sets = [word for s in ("outline=geojson", "figure=svg", *options) for word in ("-s", s)]
    return subprocess.run([LEAT, "run", "-b", BACKEND, *sets, "-o", out, *files], stderr=subprocess.PIPE, text=True)


def run(out, *options, files=GRIDS):
    done = leat(out, *options, files=files)
    check(done.returncode == 0, f"{out} {options}: {done.returncode} {done.stderr}")


def refused(words, *options, files):
    done = leat("none", *options, files=files)
    check(done.returncode == 1 and words in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    shutil.rmtree("none", ignore_errors=True)


def content(result):
    files = {}
    for path in glob.glob(f"{result}/*"):
        with open(path, "rb") as f:
            files[os.path.basename(path)] = f.read()
    return files


def rows(result, name):
    with gzip.open(f"{result}/{name}.csv.gz", "rt") as f:
        return list(csv.DictReader(f))


def same(result, whole, since):
    """But for rows before it went on, and what tells of the run."""
    got, want = content(result), content(whole)
    told = {"result.json", "report.html", "mass.csv.gz"}
    check(got.keys() - {"state.npz"} == want.keys() - {"state.npz"}, f"{sorted(got)} for {sorted(want)}")
    for name in want.keys() - told:
        check(name not in got or got[name] == want[name], f"{result}: {name} differs")
    mass = {int(row["step"]): row for row in rows(result, "mass")}
    check(list(mass)[:2] == [0, since], f"{result}: rows of mass {list(mass)[:3]}")
    for row in rows(whole, "mass"):
        step = int(row["step"])
        check(step in mass if step == 0 or step >= since else step not in mass, f"{result}: mass of step {step}")
        check(step not in mass or mass[step] == row, f"{result}: mass of step {step}: {mass.get(step)} for {row}")


def start(state, name="a.start.npz"):
    shutil.copy(state, name)
    return [*GRIDS, name]


# At the first step, in the middle and before the last one; once more from there; under every policy.
for policy in "wall", "sink", "compat":
    options = [f"nodata={policy}", "report_every=50"]
    run(f"{policy}/whole", *options, "steps=600", "state=keep")
    for step in 1, 250, 599:
        out = f"{policy}/{step}"
        run(f"{out}/first", *options, f"steps={step}", "state=keep")
        files = start(f"{out}/first/a/state.npz")
        run(f"{out}/rest", *options, "steps=600", "start=file", "state=keep", files=files)
        same(f"{out}/rest/a", f"{policy}/whole/a", step)
        kept = [numpy.load(f"{path}/a/state.npz")["state"] for path in (f"{out}/rest", f"{policy}/whole")]
        check(kept[0].tobytes() == kept[1].tobytes() and kept[0].shape == (80 * 60 + 1, 3) and kept[0][0, 0] == 600, "the state at the end")
    run(f"{policy}/thrice", *options, "steps=400", "start=file", "state=keep", files=start(f"{policy}/250/first/a/state.npz"))
    run(f"{policy}/end", *options, "steps=600", "start=file", files=start(f"{policy}/thrice/a/state.npz"))
    same(f"{policy}/end/a", f"{policy}/whole/a", 400)
lost = rows("sink/whole/a", "mass")[-1]
check(float(lost["lost_nodata_m3"]) > 0 and float(lost["lost_edge_m3"]) > 0, f"nothing is lost: {lost}")

# What is refused, and why.
state = "wall/250/first/a/state.npz"
refused("nothing is left of steps=250", "steps=250", "start=file", files=start(state))
for option in "p_r=0.4", "p_epsilon=0.01", "nodata=sink":
    refused("is of other altitudes, debris", option, "start=file", files=start(state))
refused("one run can go on", "p_r=0.4,0.5", "start=file", files=start(state))
numbers = numpy.load(state)["state"]
for words, changed in (("3 columns of float64", numbers[:, :2]), ("3 columns of float64", numbers.astype("f4")),
                       ("3 columns of float64", numpy.asfortranarray(numbers)), ("is of other altitudes", numbers[:-1]),
                       ("is of other altitudes", numpy.vstack([numbers, numbers[-1:]]))):
    numpy.savez("a.start.npz", state=changed)
    refused(words, "start=file", files=[*GRIDS, "a.start.npz"])
flows = 80 * 30 + int(numpy.argmax(numbers[80 * 30:, 2]))  # a cell that debris has reached
for place, value in (((0, 0), 251), ((0, 0), 2.5), ((0, 0), -1), ((0, 1), 5e9), ((0, 2), numpy.nan), ((flows, 2), 1), ((flows, 2), -2),
                     ((flows, 2), 1e300), ((7, 0), numpy.nan), ((7, 1), numpy.inf), ((flows, 0), 1e-3), ((flows, 1), 50)):
    changed = numbers.copy()
    changed[place] = value
    numpy.savez("a.start.npz", state=changed)
    refused("its numbers were changed", "start=file", files=[*GRIDS, "a.start.npz"])

# Of several runs the state is that of the one in full.
run("several", "p_r=0.4,0.5", "steps=250", "state=keep", "nodata=sink")
run("of_one", "p_r=0.4", "steps=250", "state=keep", "nodata=sink")
check(content("several/a")["state.npz"] == content("of_one/a")["state.npz"], "the state of the full run")

# In the service, and in an archive.
write("leat.conf", "[pipeline sciddicat]\nsteps = 600\nreport_every = 50\nstart = file\noutline = geojson\nfigure = svg\n")
s = Service("spool", "--config", "leat.conf", "-b", BACKEND)
for name in start(state):
    with open(name, "rb") as f:
        s.drop(name, f.read())
with zipfile.ZipFile("packed.zip", "w") as z:
    for name in start(state):
        z.write(name)
with open("packed.zip", "rb") as f:
    s.drop("packed.zip", f.read())
s.until(lambda: s.has("done/a.dem.asc") and s.has("done/packed.zip"), "the results")
same("spool/out/a", "wall/whole/a", 250)
same("spool/out/packed/a", "wall/whole/a", 250)
s.stop()
s.is_clean()
