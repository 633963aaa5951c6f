"""Runs leat on small inputs and compares all that it says: warnings in their order, a refusal, numbers of the summary.

usage: said.py LEAT [-v], in a scratch folder; -v shows what each case says

The numbers are worked out here from the inputs, or by hand. LEAT_TEST_BACKEND chooses the backend.
"""
import concurrent.futures
import json
import math
import os
import subprocess
import sys

leat = os.path.abspath(sys.argv[1])
backend = os.environ.get("LEAT_TEST_BACKEND", "cpu")
cases = []


def case(files, *options, warns=(), refused=None, **summary):
    """files: names to texts; warns: or a function of the summary. A key within another one is written a__b."""
    cases.append((files, options, warns if callable(warns) else list(warns), refused, summary))


def lines(*rows):
    return "".join((row if isinstance(row, str) else ",".join("" if x is None else str(x) for x in row)) + "\n"
                   for row in rows)


def grid(rows, *, x=0, y=0, cell=10, nodata=None, head=None):
    head = head or f"xllcorner {x}\nyllcorner {y}\ncellsize {cell}\n"
    return (f"ncols {len(rows[0])}\nnrows {len(rows)}\n{head}" +
            ("" if nodata is None else f"nodata_value {nodata}\n") +
            "".join(" ".join(map(str, row)) + "\n" for row in rows))


# --- pearson ----------------------------------------------------------------------------------------------------------
def pearson(text, *options, **said):
    case({"x.clusters.csv": text}, *options, **said)


FEW = "fewer than 3 values (min_samples), so no coefficients, in "
GAPS = "missing values, so pairs use the samples in common, in "
noise = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)
pearson("a,b,c\n1,2,5\n3,5,5\n", warns=[FEW + "3 series: 'a', 'b', 'c'"], n_undefined=3)
pearson("a,b\n1,2\n3,5\n", "min_samples=2",
        warns=["each series has 2 samples: every coefficient is -1 or 1 whatever they are"], strongest__r=1.0)
# One that lacks samples is not said to be constant; one that is constant on all is, and is in no pair.
pearson("a,b,flat,few\n3,2,7,4\n1,7,7,4\n4,1,7,\n1,8,7,\n",
        warns=[FEW + "1 series: 'few'", "no variance, so no coefficients, in 1 series: 'flat'", GAPS + "1 series: "
                                                                                                       "'few'"],
        n_pairs=6, n_undefined=5, degenerate__count=2, with_gaps__names=["few"])
# The first of several pairs that are the same is named; a pair of two samples is none of them.
same = [(x, 2 * x + 1, -x, y) for x, y in zip(noise, noise[3:] + noise[:3])]
pearson(lines("a,b,c,d", *same), warns=["'a' and 'b' are the same but for scale and offset (|r| = 1); and 2 more "
                                        "pairs: "
                                        "one of them says all"], strongest__name_j="b")
# Both have gaps, elsewhere: the samples in common count.
gaps = [(x, None if k in (0, 1) else 2 * y, None if k in (1, 5, 6) else y * y)
        for k, (x, y) in enumerate(zip(noise, noise[5:] + noise[:5]))]
pearson(lines("a,b,c", *gaps), "top=1", warns=[GAPS + "2 series: 'b', 'c'"], strongest__n=8, strongest__name_i="b",
        strongest__name_j="c")
pearson("a,b\n1,1\n0,-1\n-1,0\n", "top=0", "threshold=0.51", n_listed=0, strongest__r=0.5, homogeneity=0.5)
pearson("a,b,c\n1,2,\n2,1,\n3,3,\n4,5,1\n5,4,2\n6,6,3\n,9,4\n", "min_samples=4",
        warns=[GAPS + "2 series: 'a', 'c'",
               "no coefficient for 1 of 3 pairs: fewer than 4 samples in common (min_samples), or a series that does "
               "not "
               "vary on them"], n_undefined=1)
pearson("a,b\n1,5\n0,6\n3,2\n-3,\n4,7\n5,1\n", "diff=log", "min_samples=2",
        warns=[FEW.replace("3", "2") + "1 series: 'a'", GAPS.replace("values", "increments") + "2 series: 'a', 'b'",
               "4 increments have no logarithm, since values are zero or change sign: taken as missing"])

# A first column: equal steps but for few gaps is an index, also where the smaller step comes later.
RISE = "column 't' only goes up (from {} to {}), and by its name is a time or an index: it is left out; to correlate " \
       "it, too, " \
       "name the columns (columns=)"
INDEX = "column 't' goes up or down in equal steps{} (of {}, from {} on), so it is taken for an index and left out; " \
        "to " \
        "correlate it, too, name the columns (columns=)"
for steps, told in (([1] * 11, INDEX.format("", 1, 100)), ([1] * 6 + [3] + [1] * 4, INDEX.format(" but for gaps", 1,
                                                                                                 100)),
                    ([3, 3] + [1] * 9, INDEX.format(" but for gaps", 1, 100)), ([3] * 5 + [1] * 6, RISE.format(100,
                                                                                                               121)),
                    ([-1] * 11, INDEX.format("", -1, 100))):
    pearson(lines("t,a,b", *((100 + sum(steps[:k]), x, y) for k, (x, y) in enumerate(zip(noise,
                                                                                         noise[3:] + noise[:3])))),
            warns=[told], n_pairs=1, strongest__name_i="a")

# --- k-means ----------------------------------------------------------------------------------------------------------


def points(text, *options, **said):
    case({"x.points.csv": text}, *options, **said)


def silhouette(heaps):
    """Of points on a line."""
    def mean(x, heap):
        return sum(abs(x - y) for y in heap) / len(heap)
    each = []
    for k, heap in enumerate(heaps):
        for x in heap:
            within = mean(x, heap) * len(heap) / max(len(heap) - 1, 1)
            nearest = min(mean(x, other) for j, other in enumerate(heaps) if j != k)
            each.append((nearest - within) / max(within, nearest) if len(heap) > 1 else 0)
    return sum(each) / len(each)


heaps = [[0, 1, 3], [20, 21, 25], [70]]
on_line = lines("x", *([x] for heap in heaps for x in heap))
points(on_line, "k=3", silhouette=silhouette(heaps), n_empty=0, n_points=7)
points(on_line, "k=2-4", silhouette=silhouette(heaps), k=3)
points(on_line, "k=3", "max_iter=1", "init=first",
       warns=["not converged within max_iter = 1 iterations: centroids still move; raise max_iter or tol"])
# The widest is named with those that hardly count; a constant one is none of these.
wide = lines("a,wide,b,still", *((x, 1000 * y, x * y, 7) for x, y in zip(noise, noise[3:] + noise[:3])))
points(wide, "k=2", warns=["'wide' ranges over 8e+03, more than 30 times as much as 'a', 'b', which hardly count in "
                           "distances: scale=unit gives all columns the same weight"])
points(wide, "k=2", "scale=unit",
       warns=["1 constant column, which cannot be scaled and counts nothing: 'still'"])
counted = lines("id,x", *((k + 5, x) for k, x in enumerate(noise)))
COUNTS = "'id' counts the rows, from 5 to {}, and is measured like the others: if it is an index, leave it out (of a " \
         "CSV: columns)"
points(counted, "k=2", warns=[COUNTS.format(16)])
points("\n".join(counted.split("\n")[:11]), "k=2", warns=[COUNTS.format(14)])
points("\n".join(counted.split("\n")[:10]), "k=2")
points("x,y\n1,2\n,3\n4,\n9,9\n8,9\n1,1\n", "missing=drop", "k=2",
       warns=["2 of 6 rows miss a value and are left out (missing=drop): their label is -1"], n_dropped=2, n_points=4)
EMPTY = "{} of {} clusters have no point: there are fewer distinct points than clusters, or max_iter ended the run; " \
        "set k to {}"
points("x\n1\n1\n2\n2\n1\n", "k=4", warns=[EMPTY.format(2, 4, "2 or less")], n_empty=2)
points("x\n1\n1\n1\n", "k=2", warns=[EMPTY.format(1, 2, 1)], n_empty=1)
VALUE = "x.points.csv: row {}, line {} of the file, has no value in {}: k-means needs all of them; fill it in, leave " \
        "out such " \
        "rows (missing=drop), or choose other columns"
points("# from\nx,y\n1,2\n# between\n,3\n4,5\n", "k=1", refused=VALUE.format("2 (the first is 1)", 5, "'x'"))
points("x,y\n1,2\n3,4\n4,\n", "k=1", refused=VALUE.format("3 (the first is 1)", 4, "'y'"))
points("x,y\n1e200,2\n-1e200,4\n", "k=1",
       refused="x.points.csv: 'x' has values from -1e+200 to 1e+200, too far apart to be squared; scale it down, or "
               "leave it out "
               "(of a CSV: columns)")
points("x,y\n1,2e-200\n2,4e-200\n", "k=1",
       refused="x.points.csv: 'y' has values from 2e-200 to 4e-200, too close together to be squared; scale it up, "
               "or leave it "
               "out (of a CSV: columns)")
points("x\n1\n1\n1\n", "k=2-3",
       warns=[EMPTY.format(1, 2, 1), "no number of clusters of the range has a silhouette, which takes two clusters: "
                                     "the "
              "smallest, 2, is taken"], silhouette=None)

# --- interpolation ----------------------------------------------------------------------------------------------------


def nodes(text, *options, query=None, **said):
    case({"x.nodes.csv": text, **({"x.query.csv": query} if query else {})}, *options, **said)


OUTSIDE = "{} of {} queries lie outside of the nodes, from {} to {}: the polynomial is extrapolated there{}"
nodes("x,y\n1,1\n3,9\n2,4\n", "query=0.5,1,2.5,3,7", warns=[OUTSIDE.format(2, 5, 1, 3, ", and soon grows like x^2")],
      extrapolated=2, hits=2, degree=2, nodes_from=1.0, nodes_to=3.0, queries_from=0.5, queries_to=7.0)
nodes("x,y\n1,1\n3,9\n", "query=0", warns=[OUTSIDE.format(1, 1, 1, 3, "")])
nodes("x,y\n1,1\n3,9\n2,4\n", query="q\n1.5\nNA\n2\n", missing=1, n_queries=3,
      warns=["1 of 3 queries are missing: their y is NaN"])
nodes("x,y\n1,1\n3,9\n2,4\n", query="name,t,q\na,1.5,2\nb,2,2\n",
      refused="x.nodes.csv: x.query.csv: has 2 columns of numbers; queries are one column: choose it with "
              "query_columns=NAME or its number: "
              "-s query_columns=2, or another one")
nodes("x\n1\n3\n2\n", "query=1",
      refused="x.nodes.csv: has one column of numbers; nodes are a table of at least two: x, then y, or y of several "
              "curves, "
              "with a row for each node")
# Of two curves the second one swings, and between its own nodes; not where nothing is asked for.
step = lines("x,calm,step", *((x, x, 10 * (x > 9)) for x in range(20)))
nodes(step, "query=linspace(0, 19, 9)",
      warns=["the curve of 'step' swings from about -4954 to 4964 between its 20 nodes, whose y go from 0 to 10: "
             "that is the "
             "polynomial of degree 19, not what was measured there; take every few of the nodes, those around the "
             "queries "
             "alone, or Chebyshev nodes"])
nodes(step, "query=8, 11")
nodes(lines("x,calm,step,spike", *((x, x, 10 * (x > 9), int(x == 9)) for x in range(20))), "query=linspace(0, 19, 9)",
      warns=["the curve of 'spike' swings from about -895.6 to 998.7 between its 20 nodes, whose y go from 0 to 1 "
             "(and 1 more of "
             "the curves like it): that is the polynomial of degree 19, not what was measured there; take every few "
             "of the nodes, "
             "those around the queries alone, or Chebyshev nodes"])

# --- landslides -------------------------------------------------------------------------------------------------------


def slide(dem, source, *options, prj=None, **said):
    case({"x.dem.asc": dem, "x.source.asc": source, **({"x.dem.prj": prj} if prj else {})}, *options, **said)


def prj(unit):
    return f'PROJCS["x",GEOGCS["x",DATUM["x",SPHEROID["x",6378137,298.25]],PRIMEM["x",0],UNIT["Degree",0.0174]],' \
           f'PROJECTION["Transverse_Mercator"],UNIT["x",{unit}]]'


slope = [[100 - 2 * i - j for j in range(7)] for i in range(6)]


def debris(*cells, nodata=None):
    return [[dict(cells).get((i, j), 0) for j in range(7)] for i in range(6)]


still = debris(((1, 2), 0.3), ((2, 2), 0.05), ((2, 3), 0.1))
# Nothing moves yet: what is covered is the source, and toe and crown follow from the inputs.
slide(grid(slope), grid(still), "steps=0", volume_start_m3=45.0, covered_cells=3, covered_m2=300.0,
      covered_extent={"first_row": 2, "last_row": 3, "first_column": 3, "last_column": 4}, crown__altitude_m=96.0,
      crown__row=2, crown__column=3, crown__x=25.0, crown__y=45.0, toe__altitude_m=93.0, toe__row=3, toe__column=4,
      drop_m=3.0, runout_m=10 * math.sqrt(2), reach_angle_deg=math.degrees(math.atan2(3, 10 * math.sqrt(2))),
      max_thickness_m=0.3, deepest_ever__thickness_m=0.3, balance_error_m3=0.0)
# Of two cells as low the farther one is the toe, of two as high the first the crown; by cells that are no squares.
oblong = "xllcenter 5\nyllcenter 2\ndx 30\ndy 10\n"
slide(grid([[50] * 7] * 6, head=oblong), grid(debris(((2, 2), 1), ((2, 4), 1), ((3, 2), 1)), head=oblong), "steps=0",
      crown__column=3, crown__x=65.0, crown__y=32.0, toe__column=5, runout_m=60.0, drop_m=0.0, reach_angle_deg=0.0,
      covered_m2=900.0, warns=["the altitudes have cells of 30 m x 10 m: the model takes them to be square, and debris "
                               "spreads as far over either side"])
# Debris on the ring and on NODATA, each with its own volume.
holed = [row[:] for row in slope]
holed[3][3] = -1
slide(grid(holed, nodata=-1), grid(debris(((1, 2), 0.3), ((0, 1), 2), ((5, 5), 5), ((3, 3), 4))), "steps=0",
      warns=["700 m3 of debris (2 cells) lie on the outermost ring of cells and never move",
             "400 m3 of debris (1 cell) lie where the DEM has NODATA: they never move and are not in the grids that "
             "are "
             "written"])
slide(grid(slope), grid(debris()), "steps=5", warns=["x.source.asc: no cell carries debris, so nothing moves"],
      crown=None, toe=None, drop_m=None, runout_m=None, covered_extent=None)


# Losses on either way, and what still moves, are those of the summary.
def losses(told):
    def share(volume):
        return f"{volume:.6g} m3 of debris ({100 * volume / told['volume_start_m3']:.3g} %)"
    last = told["last_step"]
    return [f"{share(told['lost_edge_m3'])} left the map through its edge; a larger DEM would show where they went",
            f"{share(told['lost_nodata_m3'])} flowed into NODATA cells and are gone",
            f"not at rest after 3 steps: the last one moved {last['volume_m3']:.3g} m3 "
            f"({100 * last['volume_m3'] / told['volume_start_m3']:.3g} % of the debris) in {last['cells']} cells, "
            f"{last['largest_change_m']:.3g} m in one of them at most"]


gone = debris(((2, 3), 2), ((4, 1), 1), ((4, 5), 2))
slide(grid(holed, nodata=-1), grid(gone), "steps=3", "nodata=sink", warns=losses, steps=3, settled=False)
FOOT, SURVEY = 0.3048, 1200 / 3937
NAMES = {1: "metres", FOOT: "feet", SURVEY: "US survey feet", 0.5: "units of 0.5 m", 0.25: "units of 0.25 m"}
MAP = "the map is in {} by its coordinate system: volumes, areas and lengths are converted to metres"
HEIGHTS = "the altitudes are in {} by their coordinate system: they are converted to metres; vertical_unit overrides it"
NO_HEIGHTS = "the altitudes name no unit: they are taken as metres, although their map is not in metres; " \
             "vertical_unit " \
             "overrides it"
for text, metres in (("0.3048", FOOT), ("0.3048006096012192", SURVEY), ("0.304800609", SURVEY), ("0.5", 0.5)):
    slide(grid(slope), grid(still), "steps=0", prj=prj(text), covered_m2=300 * metres ** 2,
          warns=[MAP.format(NAMES[metres]), NO_HEIGHTS])
for said, metres in (("ft", FOOT), ("us-ft", SURVEY), ("m", 1.0)):
    slide(grid(slope), grid(still), "steps=0", f"vertical_unit={said}", drop_m=3 * metres,
          crown__altitude_m=96 * metres, volume_start_m3=45.0)
for key, metres in (("VERTCS", FOOT), ("VERT_CS", SURVEY), ("VERTCRS", 0.5)):
    slide(grid(slope), grid(still), "steps=0", prj=f'{prj(1)},{key}["x",DATUM["x"],UNIT["x",{metres}]]',
          drop_m=3 * metres, warns=[HEIGHTS.format(NAMES[metres])])
for units, metres, high in (("METERS\nZunits FEET", 1.0, SURVEY), ("2\nZunits 4", 0.5, 0.25)):
    slide(grid(slope), grid(still), "steps=0", "raster=asc.gz", prj=f"Projection UTM\nUnits {units}\n",
          covered_m2=300 * metres ** 2, drop_m=3 * high,
          warns=[MAP.format(NAMES[metres])] * (metres != 1) + [HEIGHTS.format(NAMES[high])])
slide(grid(slope, x=11, y=46, cell=0.0001), grid(debris(((1, 2), 1e-5)), x=11, y=46, cell=0.0001), "steps=0",
      warns=["the altitudes name no coordinate system, and their cells of 0.0001 x 0.0001 between 11 and 11.0007 "
             "east, 46 "
             "and 46.0006 north look like degrees, which are taken for metres; warp them to a projected system "
             "(gdalwarp "
             "-t_srs)"])
# A heap of 8 m is a cliff, but where the ground around it is lower by more than half of that.
for around, is_cliff in ((96.5, True), (95.5, False)):
    peak = [[around] * 7 for i in range(6)]
    peak[2][2] = 100
    slide(grid(peak), grid(debris(((2, 2), 8))), "steps=0", crown__altitude_m=100.0, toe__altitude_m=100.0,
          warns=is_cliff * ["the debris is 8 m thick where it ends (8 m on the average), and the altitudes do not fall "
                            "there: if they are those of the ground beneath it, add it to them; they are taken to hold "
                            "the debris"])
# What two grids differ in.
WARP = "; cut or warp one to the other's cells"
slide(grid(slope), grid([row[:6] for row in still]),
      refused="the grids differ in shape: x.dem.asc is 6 rows x 7 columns, x.source.asc is 6 rows x 6 columns" + WARP)
slide(grid(slope), grid(still, x=5, y=-20),
      refused="the grids differ in place: x.dem.asc is x 0 to 70, y 0 to 60 by cells of 10 x 10, x.source.asc is x 5 "
              "to "
              "75, y -20 to 40 by cells of 10 x 10" + WARP)
for x, y, written in (("corner", "center", 95), ("center", "corner", 105)):
    slide(grid(slope, head=f"xll{x} 0\nyll{y} 100\ndx 30\ndy 10\n"), grid(still),
          refused=f"x.dem.asc: line 4: yll{y} stands beside xll{x} of line 3, and the origin is a corner or a centre "
                  f"in "
                  f"both; write yll{x} {written} there")
text = grid(slope)
slide(text[:text.rindex(" ")] + "\n", grid(still),
      refused="x.dem.asc: line 11: ends after 41 values; its header claims 6 rows x 7 columns, which are 42")
slide(text + "7 8\n", grid(still),
      refused="x.dem.asc: line 12, column 1: '7' is one value more than the 6 rows x 7 columns that its header claims")
slide(text.replace("98 97", "98 x7"), grid(still), refused="x.dem.asc: line 6, column 4: 'x7' is not a number")
slide(text, grid(debris(((1, 2), -3)), nodata=-9),
      refused="x.dem.asc: x.source.asc: row 2, column 3: -3 m of debris is below 0; if it stands for NODATA, set "
              "missing_value=-3")


def run(work):
    number, (files, options, *_) = work
    folder = f"case{number}"
    os.mkdir(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    command = [leat, "run", "-q", "-b", backend, *(word for option in options for word in ("-s", option)),
               *(name for name in sorted(files) if not name.endswith(".prj"))]
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False)
    stem = sorted(files)[0].split(".")[0]
    if ended.returncode:
        return None, ended.stderr, None
    with open(os.path.join(folder, "leat-out", stem, "result.json"), encoding="utf-8") as f:
        told = json.load(f)
    return told["warnings"], ended.stderr, told["summary"]


def is_same(found, wanted):
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return type(found) is type(wanted) and found == wanted


def check(k, found):
    warns, refused, summary = cases[k][2:]
    said, stderr, told = found
    wrong = []
    if said is None or refused is not None:
        if stderr != f"leat: error: {refused}\n":
            wrong.append(f"refused: {stderr}  not:    leat: error: {refused}")
        return wrong
    warns = warns(told) if callable(warns) else warns
    if said != warns:
        wrong.append("warnings:\n    " + "\n    ".join(said) + "\n  not:\n    " + "\n    ".join(warns))
    for key, value in summary.items():
        at = told
        for part in key.split("__"):
            at = at[part]
        if not is_same(at, value):
            wrong.append(f"{key} is {at}, not {value}")
    return wrong


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    found = list(pool.map(run, enumerate(cases)))
n_wrong = 0
for k, of_case in enumerate(found):
    wrong = check(k, of_case)
    n_wrong += bool(wrong)
    if wrong:
        print(f"case {k}, {' '.join(cases[k][0])} {' '.join(cases[k][1])}:\n{next(iter(cases[k][0].values()))[:400]}",
              *("  " + line for line in wrong), sep="\n")
if n_wrong:
    sys.exit(f"{n_wrong} of {len(cases)} cases")
print(f"{len(cases)} cases said what they should")
