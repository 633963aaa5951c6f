"""What a landslide is compared and calibrated with, whole program, against NumPy: an observed landslide and its scores; probes; several
runs; outlines; and through the service. LEAT_TEST_BACKEND chooses the backend."""
# ctest: long
import csv
import gzip
import json
import os
import re
import subprocess

from lib import BACKEND, HERE, LEAT, THREADS_ALONE, about, begin

begin("numpy")
import numpy
from service import Service

TESSINA = os.environ.get("LEAT_TESSINA", f"{HERE}/../../../shared/data/tessina")
ROWS, COLUMNS, CELL, WEST, SOUTH, NODATA = 70, 50, 10.0, 1000.0, 2000.0, -9999.0
SCORES = ["fitness", "precision", "recall", "jaccard", "auroc", "toe_distance_m"]


def leat(command, *arguments, status=0, says=None):
    backend = ["-b", BACKEND] if command == "run" else []
    done = subprocess.run([LEAT, command, *backend, *arguments], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert says is None or re.search(says, done.stderr + done.stdout), (says, done.stderr, done.stdout)
    return done


def run(*arguments, out="out", figure="none", **rest):
    options = [word for a in arguments if "=" in a for word in ("-s", a)]
    return leat("run", "-q", "--force", "-o", out, "-s", f"figure={figure}", "-s", "raster=asc.gz", *options,
                *(a for a in arguments if "=" not in a), **rest)


def same(got, want, what):
    """The bits, or close to them: a sum or a root apart."""
    assert got is None and numpy.isnan(want) or got is not None and abs(got - want) <= 1e-12 * abs(want), (what, got, want)


def write(name, cells, cell=CELL, west=WEST, nodata=NODATA):
    with open(name, "w") as f:
        f.write(f"ncols {cells.shape[1]}\nnrows {cells.shape[0]}\nxllcorner {west}\nyllcorner {SOUTH}\n"
                f"cellsize {cell}\n" + (f"NODATA_value {nodata}\n" if nodata is not None else ""))
        f.writelines(" ".join(map(repr, row)) + "\n" for row in cells.tolist())


def read(path):
    """A grid that was written: its cells, NaN where they are NODATA."""
    with gzip.open(path, "rt") as f:
        head, cells = {}, []
        for line in f:
            words = line.split()
            if words[0][0].isalpha():
                head[words[0].lower()] = float(words[1])
            else:
                cells.append(numpy.array(words, dtype=float))
    cells = numpy.array(cells)
    return numpy.where(cells == head.get("nodata_value", numpy.nan), numpy.nan, cells)


def valley(seed, holes=0.03):
    """Altitudes, with cells that have none, and debris above."""
    random = numpy.random.default_rng(seed)
    rows, columns = numpy.mgrid[:ROWS, :COLUMNS]
    z = 900 - 4.0 * numpy.minimum(rows, 45) + 0.08 * (columns - COLUMNS / 2) ** 2 + random.uniform(0, 2, (ROWS, COLUMNS))
    h = numpy.where((rows - 12) ** 2 + (columns - 25) ** 2 < 40, 3.0, 0.0)
    z[12, 25] += 50  # the crown, wherever else it is
    z[(random.uniform(size=z.shape) < holes) & (h == 0)] = NODATA
    return z, h


# --- an observed landslide ---------------------------------------------------------------------------------------


def scores(z, h, most, hit, affected):
    """By their definitions, of grids in which NaN is no altitude, pair by pair."""
    known = ~numpy.isnan(z)
    hit, there = hit & known, known & (most > affected)
    both, either = (hit & there).sum(), (hit | there).sum()
    a, b = most[hit], most[known & ~hit]
    nothing = numpy.nan

    def toe(cells):
        crown = max(zip(*numpy.nonzero((h > 0) & known)), key=lambda c: z[c])
        return min(zip(*numpy.nonzero(cells)), key=lambda c: (z[c], -numpy.hypot(c[0] - crown[0], c[1] - crown[1]), c))

    def over(n, of):
        return n / of if of else nothing

    apart = numpy.subtract(toe(hit), toe(there)) if hit.any() and there.any() else (nothing, nothing)
    wins = (a[:, None] > b).sum() + 0.5 * (a[:, None] == b).sum()
    return {"observed_cells": hit.sum(), "affected_cells": there.sum(), "fitness": numpy.sqrt(over(both, either)),
            "precision": over(both, there.sum()), "recall": over(both, hit.sum()), "jaccard": over(both, either),
            "auroc": over(wins, len(a) * len(b)), "toe_distance_m": CELL * numpy.hypot(*apart)}


def observed():
    z, h = valley(1)
    known = numpy.where(z == NODATA, numpy.nan, z)
    write("a.dem.asc", z)
    write("a.source.asc", h)
    run("a.dem.asc", "a.source.asc", "steps=300", out="plain")
    assert not set(SCORES) & set(about("plain/a")["summary"])
    most = read("plain/a/max_thickness.asc.gz")
    random = numpy.random.default_rng(2)
    rows, columns = numpy.mgrid[:ROWS, :COLUMNS]
    reference = numpy.nan_to_num(most) > 0.05
    for name, hit, affected in [
            ("the run itself", reference, "0.05"), ("beside it", numpy.roll(reference, 4, 1), "0.05"),
            ("by chance", random.uniform(size=z.shape) < 0.2, "0.5"), ("a part", reference & (rows < 30), "0.1"),
            ("one cell", (rows == 40) & (columns == 25), "0"), ("nothing", rows < 0, "0.1"), ("all", rows >= 0, "0.1"),
            ("too thick", reference, "1000")]:
        cells = numpy.where(hit, random.uniform(0.01, 9, z.shape), random.choice([0, NODATA, -1, -numpy.inf], z.shape))
        cells[~numpy.isfinite(cells)] = -5
        write("a.observed.asc", cells)
        run("a.dem.asc", "a.source.asc", "a.observed.asc", "observed=file", "steps=300", f"affected={affected}")
        told = about("out/a")
        for key, want in scores(known, h, most, hit, float(affected)).items():
            same(told["summary"][key], want, (name, key))
        assert len(told["inputs"]) == 3 and told["parameters"]["observed"] == "file"
        for file in ("thickness.asc.gz", "max_thickness.asc.gz", "arrival.asc.gz", "mass.csv.gz"):
            with open(f"out/a/{file}", "rb") as f, open(f"plain/a/{file}", "rb") as g:
                assert f.read() == g.read(), file
        warned = " ".join(told["warnings"])
        assert ("no cell is above 0" in warned) == (name == "nothing"), warned
        assert ("lie where the DEM has NODATA, and do not count" in warned) == bool((hit & (z == NODATA)).any() and name != "nothing"), warned
        assert ("as if the number of cells that were not hit" in warned) == (name == "all"), warned
    leat("show", "out/a", says=r"fitness +0")
    write("a.observed.asc", numpy.where(reference, 1.0, 0.0))
    run("a.dem.asc", "a.source.asc", "a.observed.asc", "observed=file", "steps=300", "affected=0.05", out="perfect")
    perfect = about("perfect/a")["summary"]
    assert [perfect[key] for key in SCORES[:4]] == [1, 1, 1, 1] and perfect["auroc"] == 1 and perfect["toe_distance_m"] == 0
    write("a.observed.asc", numpy.zeros((ROWS, COLUMNS + 1)))
    run("a.dem.asc", "a.source.asc", "a.observed.asc", "observed=file", status=1, says=r"a\.observed\.asc.*51.*columns|51 columns")
    write("a.observed.asc", numpy.zeros((ROWS, COLUMNS)), west=WEST + CELL)
    run("a.dem.asc", "a.source.asc", "a.observed.asc", "observed=file", status=1, says=r"a\.observed\.asc")
    run("a.dem.asc", "a.source.asc", "observed=file", status=1, says=r"a\.observed\.\*")
    run("a.dem.asc", "a.source.asc", "a.observed.asc", status=1, says=r"X\.observed\.\* goes with the parameter observed=file")
    leat("run", "-s", "observed=file", "--dem", "a.dem.asc", "--source", "a.source.asc", status=2,
         says=r"the job takes X\.observed\.\*, too")
    print("an observed landslide: scores by their definitions; the run's bits are the same")


# --- probes -----------------------------------------------------------------------------------------------------


def table(path):
    with gzip.open(path, "rt", newline="") as f:
        return list(csv.DictReader(f))


def check_probes(folder, z, h, cells, names, steps, snapshots):
    """Every record is the snapshot's cell, to the bit; the surface is what lies beneath and the debris."""
    rows = table(f"{folder}/probes.csv.gz")
    assert [(int(r["step"]), r["probe"]) for r in rows] == [(t, name) for t in steps for name in names]
    for r, cell in zip(rows, cells * len(steps)):
        ring = cell[0] in (0, z.shape[0] - 1) or cell[1] in (0, z.shape[1] - 1)
        t = int(r["step"])
        now = h[cell] if t == 0 else snapshots[t][cell]
        assert float(r["thickness_m"]) == now, r
        assert float(r["surface_m"]) == (z[cell] if ring else z[cell] - h[cell]) + now, r
    most, arrival, end = (read(f"{folder}/{name}.asc.gz") for name in ("max_thickness", "arrival", "thickness"))
    for told, cell, name in zip(about(folder)["summary"]["probes"], cells, names):
        assert (told["name"], told["row"] - 1, told["column"] - 1) == (name, *cell)
        assert (told["thickness_m"], told["max_thickness_m"]) == (end[cell], most[cell])
        assert told["arrival"] == (None if numpy.isnan(arrival[cell]) else arrival[cell])


def probes():
    z, h = valley(3, holes=0)
    z[33, 7] = NODATA
    write("p.dem.asc", z)
    write("p.source.asc", h)
    files = "p.dem.asc", "p.source.asc"

    def place(row, column, across=0.5, down=0.5):
        return WEST + CELL * (column + across), SOUTH + CELL * (ROWS - row - down)

    cells = [(12, 24), (30, 25), (0, 3), (ROWS - 1, COLUMNS - 1), (14, 25), (40, 24)]
    places = [place(12, 24), place(30, 25, 0.01, 0.99), place(0, 3, down=0), place(ROWS - 1, COLUMNS - 1, 1, 1),
              place(14, 25, 0, 0), place(40, 24)]
    run(*files, "steps=37", "snapshot_every=1", out="every")
    snapshots = {t: read(f"every/p/snapshots/{t:06d}.asc.gz") for t in range(1, 38)}
    text = ";".join(f"{x!r},{y!r}" for x, y in places)
    for every, steps in ((None, range(38)), (10, [0, 10, 20, 30, 37]), (37, [0, 37]), (100, [0, 37])):
        run(*files, "steps=37", f"probe={text}", *([f"record_every={every}"] if every else []))
        check_probes("out/p", z, h, cells, [f"probe {k + 1}" for k in range(6)], steps, snapshots)
        assert about("out/p")["parameters"]["record_every"] == (every or 1)
    run(*files, "steps=0", f"probe= {text} ;")
    check_probes("out/p", z, h, cells, [f"probe {k + 1}" for k in range(6)], [0], snapshots)
    run(*files, "steps=100000", "settle=500", "p_epsilon=0.4", f"probe={text}", "record_every=40000")
    ended = about("out/p")["summary"]
    assert ended["settled"], ended
    stops = sorted({0, *range(40000, ended["steps"], 40000), ended["steps"]})
    assert ended["steps"] < 100000 and [int(r["step"]) for r in table("out/p/probes.csv.gz")[::6]] == stops, ended

    names = ["scar", "Kn\u00fcck, \"south\"", "ring", "corner", "=x", "n" * 200]
    with open("p.probes.csv", "w", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerows([("name", "x", "y"), *((name, x, y) for name, (x, y) in zip(names, places))])
    run(*files, "p.probes.csv", "steps=37", "probes=file", "record_every=10", figure="png")
    names[4:] = ["'=x", "n" * 124 + "\u2026"]
    rows = table("out/p/probes.csv.gz")
    assert [r["probe"] for r in rows[:4]] == names[:4] and rows[4]["probe"] == names[4], rows[4]
    assert rows[5]["probe"].startswith("n" * 100) and len(rows[5]["probe"].encode()) <= 127, rows[5]
    assert {"map.png", "probes.png"} <= {o["name"] for o in about("out/p")["outputs"]} and len(about("out/p")["inputs"]) == 3
    leat("show", "out/p", says=r"Probes(.|\n)*13, 25 .* scar")
    for order in "CF":
        numpy.save("p.probes.npy", numpy.asarray(places, order=order))
        os.remove("p.probes.csv") if os.path.exists("p.probes.csv") else None
        run(*files, "p.probes.npy", "steps=37", "probes=file", "record_every=10", f"probe={places[5][0]},{places[5][1]}")
        check_probes("out/p", z, h, cells[5:] + cells, [f"probe {k + 1}" for k in range(7)], [0, 10, 20, 30, 37], snapshots)
    os.remove("p.probes.npy")

    with open("p.probes.csv", "w") as f:
        f.write("id,x,y\n" + "".join(f"{k},{x!r},{y!r}\n" for k, (x, y) in enumerate(places)))
    run(*files, "p.probes.csv", "probes=file", status=1, says="has 3 columns of numbers.*probe_columns=2,3")
    run(*files, "p.probes.csv", "steps=37", "probes=file", "probe_columns=2,3", "record_every=10")
    check_probes("out/p", z, h, cells, [f"probe {k + 1}" for k in range(6)], [0, 10, 20, 30, 37], snapshots)
    for head, options in (("Y,X", []), ("row,column", []), ("a,b", ["probe_columns=2,1"]), ("a,b", ["probe_columns= b, a"]),
                          ("y,x", ["probe_columns=x,y"]), ("x,y", ["probe_columns=2,1"])):
        with open("p.probes.csv", "w") as f:  # y comes first
            f.write(head + "\n" + "".join(f"{y!r},{x!r}\n" for x, y in places))
        run(*files, "p.probes.csv", "steps=37", "probes=file", "record_every=10", *options)
        check_probes("out/p", z, h, cells, [f"probe {k + 1}" for k in range(6)], [0, 10, 20, 30, 37], snapshots)
    for name, says in (("x,y\n5,6\n", r"probe 1 at x 5, y 6 lies outside of the map, .* x 1000 to 1500 .* y 2000 to 2700"),
                       (f"x,y\n1200,2100\n{place(33, 7)[0]},{place(33, 7)[1]}\n", "probe 2 .* row 34, column 8, where the DEM"),
                       ("x,y\n1200,2100\n1200,\n", "probe 2 has no y"), ("x\n1200\n", "has 1 column of numbers"),
                       ("x,y\n" + "1200,2100\n" * 1001, "more than 1000 probes"),
                       ("x,y\n" + "1200,2100\n" * 400_000, "more than 1000 probes")):
        with open("p.probes.csv", "w") as f:
            f.write(name)
        run(*files, "p.probes.csv", "probes=file", "steps=3", status=1, says=r"p\.probes\.csv: " + says)
    with open("p.probes.csv", "w") as f:
        f.write("x,y\n" + "1200,2100\n" * 1000)
    run(*files, "p.probes.csv", "probes=file", "steps=3", figure="svg")
    assert len(table("out/p/probes.csv.gz")) == 4 * 1000 and len(about("out/p")["summary"]["probes"]) == 100
    for text in ("1", "1,", "1,2,3", "1;2", "x,y", "1,2;;3,4", "1,2 3", "nan,1", ";", "1,2;" * 1001):
        run(*files, f"probe={text}", status=1, says="probe: '.*' is not x,y or x,y;x,y")
    for text in ("1e999,1", "-1e300,1e300", "999.99,2100", "1500.01,2100"):
        run(*files, f"probe={text}", status=1, says="probe 1 at x .* lies outside of the map, which goes from")

    numpy.save("n.dem.npy", numpy.where(z == NODATA, numpy.nan, z))
    numpy.save("n.source.npy", h)
    run("n.dem.npy", "n.source.npy", "probe=25,13;1,1;50,70", "steps=10")
    assert [(p["row"], p["column"]) for p in about("out/n")["summary"]["probes"]] == [(13, 25), (1, 1), (70, 50)]
    run("n.dem.npy", "n.source.npy", "probe=51,1", status=1, says="50 columns and 70 rows, whose place is not known")
    print("probes: every record is the snapshot's; places, names and mistakes")


# --- several runs -----------------------------------------------------------------------------------------------


def philox(seed, series, block):
    """Philox4x32-10 as it is published: words 0 and 1."""
    c = [block & 0xFFFFFFFF, block >> 32, series & 0xFFFFFFFF, series >> 32]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[:2]


def hypercube(n, seed, series, low, high):
    part = list(range(n))
    for i in range(n - 1, 0, -1):
        j = philox(seed, series, i)[0] * (i + 1) >> 32
        part[i], part[j] = part[j], part[i]
    return [low + (high - low) * ((part[i] + (philox(seed, series, i)[1] + 0.5) / 2**32) / n) for i in range(n)]


def check_runs(folder, files, z, h, options, wanted, affected, scored):
    """Every row is a run alone; the grids are what those make together; the full one is the best, or the first."""
    rows, told = table(f"{folder}/runs.csv.gz"), about(folder)["summary"]
    assert [(int(r["run"]), float(r["p_epsilon"]), float(r["p_r"])) for r in rows] == [
        (i + 1, *w) for i, w in enumerate(wanted)], rows
    maxima, best = [], 0
    for i, (row, (epsilon, r)) in enumerate(zip(rows, wanted)):
        run(*files, *options, f"p_epsilon={epsilon!r}", f"p_r={r!r}", out="alone")
        alone = about("alone/r")["summary"]
        keys = ["covered_m2", "runout_m", "drop_m", "reach_angle_deg", "lost_edge_m3", "lost_nodata_m3", "steps", "settled"]
        for key in keys + (["affected_cells", *SCORES] if scored else []):
            assert float(row[key]) == alone[key] or numpy.isnan(float(row[key])) and alone[key] is None, (key, row, alone)
        toe = alone["toe"] or {"row": None, "column": None}
        assert [None if row[f"toe_{k}"] == "nan" else float(row[f"toe_{k}"]) for k in toe if k in ("row", "column")] == [
            toe["row"], toe["column"]]
        end = numpy.nan_to_num(read("alone/r/thickness.asc.gz"))
        moved = CELL * CELL * numpy.maximum(numpy.where(z == NODATA, 0, h) - end, 0).sum()
        assert abs(float(row["moved_m3"]) - moved) <= 1e-9 * (1 + moved), row
        maxima.append(read("alone/r/max_thickness.asc.gz"))
        if scored and float(row["fitness"]) > float(rows[best]["fitness"]):
            best = i
        if i == told["full_run"] - 1:
            for name in ("thickness.asc.gz", "max_thickness.asc.gz", "arrival.asc.gz", "mass.csv.gz", "probes.csv.gz"):
                with open(f"{folder}/{name}", "rb") as f, open(f"alone/r/{name}", "rb") as g:
                    assert f.read() == g.read(), name
            for name in os.listdir("alone/r/snapshots") if os.path.exists("alone/r/snapshots") else []:
                with open(f"{folder}/snapshots/{name}", "rb") as f, open(f"alone/r/snapshots/{name}", "rb") as g:
                    assert f.read() == g.read(), name
    assert (told["runs"], told["full_run"]) == (len(wanted), best + 1), told
    assert (told["full_p_epsilon"], told["full_p_r"]) == wanted[best]
    assert told["runs_settled"] == sum(float(r["settled"]) for r in rows)
    for column, what in (("lost_edge_m3", "left the map through its edge"), ("lost_nodata_m3", "flowed into NODATA cells and is gone")):
        lost = [float(r[column]) for r in rows]
        said = [w for w in about(folder)["warnings"] if what in w]
        assert len(said) == any(lost), (column, lost, said)
        assert not said or said[0].startswith(
            f"in {sum(v > 0 for v in lost)} of {len(rows)} runs debris {what}, up to {max(lost):.6g} m3"), (lost, said)
    moving = [w for w in about(folder)["warnings"] if "not at rest" in w]
    assert all(w.startswith(f"run {told['full_run']}: not at rest") for w in moving), moving
    total = maxima[0].copy()
    for most in maxima[1:]:
        total += most
    for name, want in (("probability", sum(m > affected for m in maxima) / len(maxima)),
                       ("max_thickness_mean", total / len(maxima)), ("max_thickness_max", numpy.max(maxima, axis=0))):
        got = read(f"{folder}/{name}.asc.gz")
        want = numpy.where(numpy.isnan(maxima[0]), numpy.nan, want)
        assert numpy.array_equal(got, want, equal_nan=True), name


def runs():
    z, h = valley(5)
    z[2, 3] = NODATA
    h[2, 3] = 2  # never moves
    write("r.dem.asc", z)
    write("r.source.asc", h)
    files = ("r.dem.asc", "r.source.asc")
    steps = ["steps=60", "probe=1250,2500", "affected=0.02"]
    run(*files, *steps, "p_r=0.3:0.7:0.2", "p_epsilon=0.01,0.001", "snapshot_every=30")
    wanted = [(e, r) for e in (0.01, 0.001) for r in numpy.linspace(0.3, 0.7, 3)]
    wanted = [(e, float(r)) for e, r in wanted]
    check_runs("out/r", files, z, h, steps + ["snapshot_every=30"], wanted, 0.02, False)
    told = about("out/r")
    assert told["parameters"]["p_r"] == "0.3:0.7:0.2" and told["parameters"]["p_epsilon"] == "0.01,0.001"
    leat("show", "out/r", says=r"runs +6\n")
    assert about("alone/r")["parameters"]["p_r"] == wanted[-1][1]  # one number is a number, as before

    run(*files, *steps, "p_r=0.45", out="reference")
    write("r.observed.asc", numpy.where(numpy.nan_to_num(read("reference/r/max_thickness.asc.gz")) > 0.02, 1.0, 0.0))
    scored = (*files, "r.observed.asc")
    for policy, more in (("sink", []), ("wall", ["settle=7", "steps=2000", "p_epsilon=0.5"])):
        options = steps + ["observed=file", f"nodata={policy}"] + more
        run(*scored, *options, "p_r=0.9, 0.45, 0.2", figure="png")
        check_runs("out/r", scored, z, h, options, [(0.5 if more else 0.001, r) for r in (0.9, 0.45, 0.2)], 0.02, True)
        assert {"probability.png", "map.png", "probes.png"} <= {o["name"] for o in about("out/r")["outputs"]}
    write("r.observed.asc", numpy.zeros_like(z))
    run(*scored, *steps, "observed=file", "p_r=0.9,0.45")
    check_runs("out/r", scored, z, h, steps + ["observed=file"], [(0.001, 0.9), (0.001, 0.45)], 0.02, True)

    for seed, epsilon in ((0, (0.001, 0.02)), (123456789012, (0.01, 0.01))):
        run(*files, *steps, "sample=7", f"seed={seed}", "p_r=linspace(0.2, 0.9, 1e6)",
            f"p_epsilon={epsilon[1]},{epsilon[0]}" if epsilon[0] < epsilon[1] else f"p_epsilon={epsilon[0]}")
        low, high = epsilon
        wanted = list(zip(hypercube(7, seed, 0, low, high) if low < high else [low] * 7, hypercube(7, seed, 1, 0.2, 0.9)))
        check_runs("out/r", files, z, h, steps, wanted, 0.02, False)
        assert sorted(int((r - 0.2) / 0.7 * 7) for _, r in wanted) == list(range(7))  # a run in each part
    for threads in 1, 2, 3:  # 29 runs at a time; 8, of which 5 remain; 12
        run(*files, *steps, "sample=29", "p_r=0.2,0.9", "-q", "--threads", str(threads), out=f"by{threads}", figure="png")
    for name in os.listdir("by1/r"):
        with open(f"by1/r/{name}", "rb") as f, open(f"by3/r/{name}", "rb") as g:
            assert f.read() == g.read() or name in ("result.json", "report.html"), name

    for option, says in (("p_r=0.5,1.5", "p_r: '0.5,1.5' has numbers that are not from 0 to 1"),
                         ("p_r=0:2:0.5", "p_r: '0:2:0.5' has numbers that are not"), ("p_r=2", "p_r: '2' is not a number from 0"),
                         ("p_r=", "p_r take a number"), ("p_r=nan", "p_r: 'nan' is neither"), ("p_r=a", "p_r: 'a' is neither"),
                         ("p_epsilon=-1", "p_epsilon: '-1' is not a number from 0 to"), ("sample=3", "have one number each"),
                         ("sample=1", "two runs at least"), ("p_r=linspace(0,1,200000)", "more than 100000 combinations"),
                         ("p_r=linspace(0,1,1e15)", "more than 100000 combinations"), ("sample=100001", "sample: '100001'")):
        done = subprocess.run([LEAT, "run", "-q", "-b", BACKEND, "-o", "no", "-s", option, *files], capture_output=True, text=True)
        assert done.returncode in (1, 2) and re.search(says, done.stderr), (option, done)
    print("several runs: each row is a run alone; probability, mean and maximum; a Latin hypercube; mistakes")


# --- outlines ---------------------------------------------------------------------------------------------------


def patches(mask):
    """How many groups of cells share sides."""
    left, n = mask.copy(), 0
    while left.any():
        todo = [tuple(numpy.argwhere(left)[0])]
        left[todo[0]] = False
        n += 1
        while todo:
            i, j = todo.pop()
            for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= a < mask.shape[0] and 0 <= b < mask.shape[1] and left[a, b]:
                    left[a, b] = False
                    todo.append((a, b))
    return n


def check_outline(path, mask, x, y):
    """x, y: of a corner of cells, by column and row. Even-odd over rings says which cells lie within; each ring is closed, comes
    to no corner twice, and has the direction of RFC 7946."""
    with open(path) as f:
        told = json.load(f)
    assert told["type"] == "FeatureCollection" and len(told["features"]) == 1
    geometry = told["features"][0]["geometry"]
    assert geometry["type"] == "MultiPolygon"
    corners = {(x(i, j), y(i, j)): (i, j) for i in range(mask.shape[0] + 1) for j in range(mask.shape[1] + 1)}
    covered = numpy.zeros(mask.shape, int)
    for polygon in geometry["coordinates"]:
        inside = numpy.zeros(mask.shape, int)
        for k, ring in enumerate(polygon):
            points = [tuple(p) for p in ring]
            assert points[0] == points[-1] and len(points) >= 5 and len(set(points)) == len(points) - 1, points
            area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip([(p[0] - points[0][0], p[1] - points[0][1]) for p in points],
                                                               [(p[0] - points[0][0], p[1] - points[0][1]) for p in points[1:]]))
            assert (area > 0) == (k == 0), (k, area)
            places = [corners[p] for p in points]
            for n, (a, b) in enumerate(zip(places, places[1:])):
                assert (a[0] == b[0]) != (a[1] == b[1])
                assert (a[0] == b[0]) != (places[n - 1 if n else -2][0] == a[0]), "it turns at each corner"
                if a[1] == b[1]:  # a side along a column: all cells right of it are crossed
                    inside[min(a[0], b[0]):max(a[0], b[0]), a[1]:] += 1
        covered += inside % 2
    assert numpy.array_equal(covered, mask), numpy.argwhere(covered != mask)[:5]
    assert len(geometry["coordinates"]) == patches(mask)
    return told


def outlines():
    random = numpy.random.default_rng(9)
    rows, columns = numpy.mgrid[:23, :31]
    ring = numpy.maximum(abs(rows - 11), abs(columns - 15))
    masks = [rows < 0, rows >= 0, (rows + columns) % 2 == 0, ring % 2 == 0, (ring == 4) | ((rows == 8) & (columns == 12)),
             (abs(rows - 11) + abs(columns - 15)) % 3 > 0, *(random.uniform(size=rows.shape) < share for share in (0.1, 0.4, 0.6, 0.8))]
    for n, mask in enumerate(masks):
        z = random.uniform(100, 101, mask.shape)
        z[5, 6:9] = NODATA
        write("o.dem.asc", z)
        write("o.source.asc", numpy.where(mask, 1.0, 0.0))
        mask = mask & (z != NODATA)
        run("o.dem.asc", "o.source.asc", "steps=0", "outline=geojson")
        told = check_outline("out/o/outline.geojson", mask, lambda i, j: WEST + CELL * j, lambda i, j: SOUTH + CELL * (23 - i))
        assert told["features"][0]["properties"] == {"steps": 0, "p_epsilon": 0.001, "p_r": 0.5} and "crs" not in told
        numpy.save("u.dem.npy", numpy.where(z == NODATA, numpy.nan, z))
        numpy.save("u.source.npy", numpy.where(mask, 1.0, 0.0))
        run("u.dem.npy", "u.source.npy", "steps=0", "outline=geojson")
        check_outline("out/u/outline.geojson", mask, lambda i, j: j + 0.5, lambda i, j: i + 0.5)
    z, h = valley(4)
    write("o.dem.asc", z)
    write("o.source.asc", h)
    with open("o.dem.prj", "w") as f:
        f.write('PROJCS["WGS 84 / UTM zone 33N",AUTHORITY["EPSG","32633"]]')
    run("o.dem.asc", "o.source.asc", "steps=150", "outline=geojson", "p_r=0.4,0.6")
    check_outline("out/o/outline.geojson", ~numpy.isnan(read("out/o/arrival.asc.gz")), lambda i, j: WEST + CELL * j,
                  lambda i, j: SOUTH + CELL * (ROWS - i))
    os.remove("o.dem.prj")
    print("outlines: rings of the cells that debris reached, valid, whatever they look like")


def tessina():
    if not os.path.isfile(f"{TESSINA}/tessina.dem.asc"):
        print(f"NOT SHOWN here: the Tessina landslide, neither LEAT_TESSINA nor {TESSINA}")
        return
    for what in ("dem", "source"):
        os.symlink(os.path.abspath(f"{TESSINA}/tessina.{what}.asc"), f"tessina.{what}.asc")
    files = "tessina.dem.asc", "tessina.source.asc"
    run(*files, "steps=400", "p_r=0.4", out="reference")
    most = read("reference/tessina/max_thickness.asc.gz")
    with open(files[0]) as f:
        head = [next(f) for _ in range(5 + (1 if "nodata" in open(files[0]).read(400).lower() else 0))]
    with open("tessina.observed.asc", "w") as f:
        f.writelines(line for line in head if "nodata" not in line.lower())
        numpy.savetxt(f, numpy.nan_to_num(most) > 0.1, "%d")
    run(*files, "tessina.observed.asc", "observed=file", "steps=400", "p_r=0.6")
    other = read("out/tessina/max_thickness.asc.gz")
    told = about("out/tessina")["summary"]
    hit, there = numpy.nan_to_num(most) > 0.1, numpy.nan_to_num(other) > 0.1
    same(told["fitness"], numpy.sqrt((hit & there).sum() / (hit | there).sum()), "fitness")
    assert 0.8 < told["fitness"] < 1 and 0.9 < told["auroc"] < 1, told
    print("the Tessina landslide scored against a run with another p_r")


def service():
    z, h = valley(1)
    for name, cells in (("dem", z), ("source", h), ("observed", numpy.where(h > 0, 1.0, 0.0))):
        write(f"s.{name}.asc", cells)
    with open("service.conf", "w") as f:
        f.write("[pipeline sciddicat]\nsteps = 50\nobserved = file\nfigure = none\np_r = 0.3:0.7:0.2\n")
    s = Service("spool", "-c", "service.conf")
    for name in ("dem", "source"):
        s.drop(f"s.{name}.asc", open(f"s.{name}.asc").read())
    s.until(lambda: "waits for s.observed.*" in s.waits().get("in/s.dem.asc", ""), "what the altitudes wait for")
    s.drop("s.observed.asc", open("s.observed.asc").read())
    s.done(["s.dem.asc"], "the job")
    told = about("spool/out/s")
    s.check(len(told["inputs"]) == 3 and 0 < told["summary"]["fitness"] <= 1 and
            len(table("spool/out/s/runs.csv.gz")) == 3, "its scores and runs")
    s.stop()
    s.is_clean()
    print("the service: three grids are one job")


for part in (service,) if THREADS_ALONE else (observed, probes, runs, outlines, tessina, service):
    part()
