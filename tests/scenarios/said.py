"""All that run says of small inputs: every warning, word by word, in their order and no other, or the refusal, and numbers of
the summary, which are worked out here from the inputs, or by hand."""
# ctest: tsan=soak
import concurrent.futures
import csv
import gzip
import itertools
import json
import math
import os
import struct
import subprocess
import sys
from fractions import Fraction

from lib import BACKEND, LEAT, begin

begin()
cases = []


def case(files, *options, warns=(), refused=None, **summary):
    """files: names to texts; warns: or a function of the summary. A key within another one is written a__b."""
    cases.append((files, options, warns if callable(warns) else list(warns), refused, summary))


def lines(*rows):
    return "".join((row if isinstance(row, str) else ",".join("" if x is None else str(x) for x in row)) + "\n"
                   for row in rows)


def npy(shape, *numbers):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(numbers)}d",
                                                                                           *numbers)


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
other = noise[3:] + noise[:3]
pearson("a,b,c\n1,2,5\n3,5,5\n", warns=[FEW + "3 series: 'a', 'b', 'c'"], n_undefined=3)
pearson("a,b\n1,2\n3,5\n", "min_samples=2",
        warns=["each series has 2 samples: every coefficient is -1 or 1 whatever they are"], strongest__r=1.0)
# One that lacks samples is not said to be constant; one that is constant on all is, and is in no pair.
pearson("a,b,flat,few\n3,2,7,4\n1,7,7,4\n4,1,7,\n1,8,7,\n",
        warns=[FEW + "1 series: 'few'", "no variance, so no coefficients, in 1 series: 'flat'",
               GAPS + "1 series: 'few'"], n_pairs=6, n_undefined=5, degenerate__count=2, with_gaps__names=["few"])
# The first of several pairs that are the same is named; a pair of two samples is none of them.
pearson(lines("a,b,c,d", *((x, 2 * x + 1, -x, y) for x, y in zip(noise, other))),
        warns=["'a' and 'b' are the same but for scale and offset (|r| = 1); and 2 more pairs: one of them says all"],
        strongest__name_j="b")
# Both have gaps, elsewhere: the samples in common count.
gaps = [(x, None if k in (0, 1) else 2 * y, None if k in (1, 5, 6) else y * y)
        for k, (x, y) in enumerate(zip(noise, noise[5:] + noise[:5]))]
pearson(lines("a,b,c", *gaps), "top=1", warns=[GAPS + "2 series: 'b', 'c'"], strongest__n=8, strongest__name_i="b",
        strongest__name_j="c")
pearson("a,b\n1,1\n0,-1\n-1,0\n", strongest__n=3)  # too few for an interval
pearson("a,b\n1,1\n0,-1\n-1,0\n", "top=0", "threshold=0.51", n_listed=0, strongest__r=0.5, homogeneity=0.5)
pearson("a,b,c\n1,2,\n2,1,\n3,3,\n4,5,1\n5,4,2\n6,6,3\n,9,4\n", "min_samples=4", n_undefined=1,
        warns=[GAPS + "2 series: 'a', 'c'",
               "no coefficient for 1 of 3 pairs: fewer than 4 samples in common (min_samples), or a series that does "
               "not vary on them"])
pearson("a,b\n1,5\n0,6\n3,2\n-3,\n4,7\n5,1\n", "diff=log", "min_samples=2",
        warns=[FEW.replace("3", "2") + "1 series: 'a'", GAPS.replace("values", "increments") + "2 series: 'a', 'b'",
               "4 increments have no logarithm, since values are zero or change sign: taken as missing"])
pearson(lines("a,b,c", *gaps), "diff=step", warns=[GAPS + "2 series: 'b', 'c'"])
# A first column: equal steps but for few gaps is an index, also where the smaller step comes later.
RISE = "column 't' only goes up (from {} to {}), and by its name is a time or an index: it is left out; to correlate " \
       "it, too, name the columns (columns=)"
INDEX = "column 't' goes up or down in equal steps{} (of {}, from {} on), so it is taken for an index and left out; " \
        "to correlate it, too, name the columns (columns=)"
GAP = " but for gaps"
for steps, told in (([1] * 11, INDEX.format("", 1, 100)), ([1] * 6 + [3] + [1] * 4, INDEX.format(GAP, 1, 100)),
                    ([3, 3] + [1] * 9, INDEX.format(GAP, 1, 100)), ([3] * 5 + [1] * 6, RISE.format(100, 121)),
                    ([-1] * 11, INDEX.format("", -1, 100))):
    pearson(lines("t,a,b", *((100 + sum(steps[:k]), x, y) for k, (x, y) in enumerate(zip(noise, other)))),
            warns=[told], n_pairs=1, strongest__name_i="a")
# Names of times, whatever follows the word; and names that only begin so.
RISES = "column '{}' only goes up (from 1 to 43), and so correlates with all that rises or falls: leave it out if it " \
        "is a " \
        "time or an index (columns=)"
for word in ("t t_s time Time date datetime timestamp DATUM zeit unix unixtime epoch index id record year jahr day "
             "doy jday "
             "tt times idx ids depth years").split():
    is_time = word not in ("tt", "times", "idx", "ids", "depth", "years")
    pearson(lines((word, "a", "b"), *zip((1, 2, 4, 7, 9, 14, 15, 21, 26, 30, 37, 43), noise, other)),
            warns=[RISE.replace("'t'", f"'{word}'").format(1, 43) if is_time else RISES.format(word)],
            n_pairs=1 if is_time else 3)
# A constant series stands apart from two that have nothing to do with one another.
pearson("flat,a,b\n7,1,1\n7,-1,1\n7,1,-1\n7,-1,-1\n", "order=cluster",
        warns=["no variance, so no coefficients, in 1 series: 'flat'"], homogeneity=0.0)
# Which way the series lie, with names and without.
sides = (noise, other, other[2:] + other[:2])
pearson(lines(*((name, *row) for name, row in zip("abc", sides))))
pearson(lines(*sides), warns=["line 1 holds no names, so the rows are taken as the series, of 12 samples each; "
                              "series=columns takes the columns, series=rows says that this is right"])
pearson(lines(*sides), "series=rows")
pearson(lines(*zip(*sides)), warns=["nothing names the columns, and rows would be series of 3 samples, so the "
                                    "columns are taken as the series; series=rows takes the rows, series=columns "
                                    "says that this is right"])
pearson(lines(*zip(*sides)), "series=columns")

# Too few samples: the other way is named where it has enough.
ONE = "x.clusters.csv: each series is a {} and has {}, correlation needs 2; if the series are the {}, set series={}"
NONE = "x.clusters.csv: a table of {} row(s) and {} column(s) has too few numbers: correlation needs 2 {}s of each " \
       "series"
for text, options, refused in (
        ("a,b,c\n1,2,3\n", (), ONE.format("column", "1 sample", "rows", "rows")),
        ("1\n2\n3\n", ("series=rows",), ONE.format("row", "1 sample", "columns", "columns")),
        ("a,b,c\n1,2,3\n2,3,5\n", ("diff=step",), ONE.format("column", "1 increment", "rows", "rows")),
        ("a,b,c\n1,2,3\n", ("diff=log",), ONE.format("column", "0 increments", "rows", "rows")),
        ("a,b\n1,2\n2,3\n", ("diff=step",), NONE.format(2, 2, "increment")),
        ("a,b\n1,2\n", ("diff=step",), NONE.format(1, 2, "increment")),
        ("1,2\n1,3\n", ("diff=step", "series=rows"), NONE.format(2, 2, "increment")),
        ("a\n1\n", (), NONE.format(1, 1, "sample"))):
    pearson(text, *options, refused=refused)

# --- k-means ----------------------------------------------------------------------------------------------------------


def points(text, *options, **said):
    case({"x.points.csv": text}, *options, **said)


heaps = lines("x", [0], [1], [3], [20], [21], [25], [70])
points(heaps, "k=3", n_empty=0)
points(heaps, "k=2-4", k=3)
points(heaps, "k=3-3", "n_init=1", k=3)
points(heaps, "k=3", "max_iter=1", "init=first",
       warns=["not converged within max_iter = 1 iterations: centroids still move; raise max_iter or tol"])
# The widest is named with those that hardly count; a constant one is none of these.
wide = lines("a,wide,b,still", *((x, 1000 * y, x * y, 7) for x, y in zip(noise, other)))
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
        "out such rows (missing=drop), or choose other columns"
points("# from\nx,y\n1,2\n# between\n,3\n4,5\n", "k=1", refused=VALUE.format("2 (the first is 1)", 5, "'x'"))
points("x,y\n1,2\n3,4\n4,\n", "k=1", refused=VALUE.format("3 (the first is 1)", 4, "'y'"))
points("x,y\n1e200,2\n-1e200,4\n", "k=1",
       refused="x.points.csv: 'x' has values from -1e+200 to 1e+200, too far apart to be squared; scale it down, or "
               "leave it out (of a CSV: columns)")
points("x,y\n1,2e-200\n2,4e-200\n", "k=1",
       refused="x.points.csv: 'y' has values from 2e-200 to 4e-200, too close together to be squared; scale it up, "
               "or leave it out (of a CSV: columns)")
points("x\n1\n1\n1\n", "k=2-3",
       warns=[EMPTY.format(1, 2, 1), "no number of clusters of the range has a silhouette, which takes two clusters: "
                                     "the smallest, 2, is taken"], silhouette=None)

# --- interpolation ----------------------------------------------------------------------------------------------------


def nodes(text, *options, query=None, **said):
    queries = {f"x.query.{'csv' if isinstance(query, str) else 'npy'}": query} if query else {}
    case({"x.nodes.csv": text, **queries}, *options, **said)


OUTSIDE = "{} of {} queries lie outside of the nodes, from {} to {}: the polynomial is extrapolated there{}"
nodes("x,y\n1,1\n3,9\n2,4\n", "query=0.5,1,2.5,3,7", warns=[OUTSIDE.format(2, 5, 1, 3, ", and soon grows like x^2")],
      extrapolated=2, hits=2, degree=2, nodes_from=1.0, nodes_to=3.0, queries_from=0.5, queries_to=7.0)
nodes("x,y\n1,1\n3,9\n", "query=0", warns=[OUTSIDE.format(1, 1, 1, 3, "")])
nodes("x,y\n1,1\n3,9\n2,4\n", query="q\n1.5\nNA\n2\n", missing=1, n_queries=3,
      warns=["1 of 3 queries are missing: their y is NaN"])
nodes("x,y\n1,1\n3,9\n2,4\n", query="name,t,q\na,1.5,2\nb,2,2\n",
      refused="x.nodes.csv: x.query.csv: has 2 columns of numbers; queries are one column: choose it with "
              "query_columns=NAME or its number: -s query_columns=2, or another one")
# Rows are named by their lines, whatever stands between them.
GONE = " is missing; every node needs all its numbers"
for text, told in (("x,y\n1,1\n3,9\n1,4\n", "line 4 has the same x as line 2 (1); a curve has one y for each x"),
                   ("# a\nx,y\n# b\n2,\n3,4\n", "line 4: y" + GONE),
                   ("x,y\n1,1\n\n# b\n2,\n3,4\n", "line 5: y" + GONE),
                   ("x,y,z\n1,1,1\n# b\n2,1,3\n# c\n3,4,NA\n", "line 6: z" + GONE),
                   ("x,y\nNA,1\n2,3\n", "line 2: x" + GONE)):
    nodes(text, "query=1", refused="x.nodes.csv: " + told)
for shape in ((3,), (3, 1), (1, 3)):
    nodes("x,y\n1,1\n3,9\n2,4\n", query=npy(shape, 1.5, math.nan, 3), missing=1, n_queries=3, hits=1,
          warns=["1 of 3 queries are missing: their y is NaN"])
nodes("x,y\n1,1\n3,9\n2,4\n", query=npy((2, 3), 1, 2, 3, 1, 2, 3),
      refused="x.nodes.csv: x.query.npy: has 3 columns of numbers; queries are one column: save that column alone")
nodes("x\n1\n3\n2\n", "query=1",
      refused="x.nodes.csv: has one column of numbers; nodes have at least two: x (numbers, or dates such as "
              "2024-05-01T12:30), then the y of each curve")
# Of two curves the second one swings, and between its own nodes; not where nothing is asked for.
PCHIP = "take method=pchip, which never leaves the range of neighbouring nodes"
CALM = PCHIP.replace("take ", "take method=floater-hormann, which mostly stays near the nodes, or ")
step = lines("x,calm,step", *((x, x, 10 * (x > 9)) for x in range(20)))
nodes(step, "query=linspace(0, 19, 9)",
      warns=["the curve of 'step' swings from about -4954 to 4964 between its 20 nodes, whose y go from 0 to 10: "
             "that is the polynomial of degree 19, not what was measured there; " + CALM])
nodes(step, "query=linspace(0, 19, 9)", "method=floater-hormann")
nodes(step, "query=linspace(0, 19, 9)", "method=pchip")
nodes(step, "query=8, 11")
nodes(lines("x,calm,step,spike", *((x, x, 10 * (x > 9), int(x == 9)) for x in range(20))), "query=linspace(0, 19, 9)",
      warns=["the curve of 'spike' swings from about -895.6 to 998.7 between its 20 nodes, whose y go from 0 to 1 "
             "(and 1 more of the curves like it): that is the polynomial of degree 19, not what was measured there; " + CALM])
# Others may swing, too: through nodes as far apart as no polynomial bends.
pair = lines("x,y", (0, 0), (1, 0), (1.01, 1), (2, 1), (3, 1))
nodes(pair, "query=linspace(0, 3, 9)", "method=spline",
      warns=["the curve of 'y' swings from about -58.63 to 19.78 between its 5 nodes, whose y go from 0 to 1: that is the cubic "
             "spline, not what was measured there; " + PCHIP])
nodes(pair, "query=linspace(0, 3, 9)", "method=floater-hormann", "blend=2",
      warns=["the curve of 'y' swings from about -40.37 to 29.83 between its 5 nodes, whose y go from 0 to 1: that is the "
             "Floater-Hormann function of degree 2, not what was measured there; " + PCHIP])
nodes(pair, "query=linspace(0, 3, 9)", "method=pchip")
nodes(lines("x,y", (0, 0), (1, 1), (2, 0), (2.001, 1)), "query=linspace(0, 2, 9)",
      warns=["the curve of 'y' swings from about -191.7 to 193 between its 4 nodes, whose y go from 0 to 1: that is the "
             "polynomial of degree 3, not what was measured there; " + PCHIP])
# Through three nodes, too, PCHIP has two cubics; a spline is a parabola.
for method, power in (("pchip", 3), ("spline", 2)):
    nodes("x,y\n1,1\n3,9\n2,4\n", "query=0.5,1,2.5,3,7", "method=" + method, degree=power,
          warns=[OUTSIDE.format(2, 5, 1, 3, f", and soon grows like x^{power}").replace("polynomial", "curve")])

# --- landslides -------------------------------------------------------------------------------------------------------


def slide(dem, source, *options, prj=None, **said):
    case({"x.dem.asc": dem, "x.source.asc": source, **({"x.dem.prj": prj} if prj else {})}, *options, **said)


def prj(unit):
    return f'PROJCS["x",GEOGCS["x",DATUM["x",SPHEROID["x",6378137,298.25]],PRIMEM["x",0],UNIT["Degree",0.0174]],' \
           f'PROJECTION["Transverse_Mercator"],UNIT["x",{unit}]]'


slope = [[100 - 2 * i - j for j in range(7)] for i in range(6)]


def debris(*cells):
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
      covered_m2=900.0, warns=["the altitudes have cells of 30 m x 10 m: the model takes them to be square, and "
                               "debris spreads as far over either side"])
# Debris on the ring and on NODATA, each with its own volume.
holed = [row[:] for row in slope]
holed[3][3] = -1
slide(grid(holed, nodata=-1), grid(debris(((1, 2), 0.3), ((0, 1), 2), ((5, 5), 5), ((3, 3), 4))), "steps=0",
      warns=["700 m3 of debris (2 cells) lie on the outermost ring of cells and never move",
             "400 m3 of debris (1 cell) lie where the DEM has NODATA: they never move and are not in the grids that "
             "are written"])
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
             "vertical_unit overrides it"
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
             "east, 46 and 46.0006 north look like degrees, which are taken for metres; warp them to a projected "
             "system (gdalwarp -t_srs)"])
# Codes for missing altitudes, the smallest first; also beneath a plain, above which one may be a height.
CODES = "{} for missing altitudes, far from all others, and taken as {}; if so, set missing_value={}"


def coded(rows, *codes):
    rows = [row[:] for row in rows]
    for k, code in enumerate(codes):
        rows[k // 7][k % 7] = code
    return grid(rows)


plain = [[5] * 7 for i in range(6)]
for rows, codes, told in ((slope, (-9999, -999, -999, 32767),
                           [CODES.format("-999 (2 cells), -9999 (1 cell) and 32767 (1 cell) look like codes",
                                         "altitudes",
                                         "-999,-9999,32767")]),
                          (plain, (-999,), [CODES.format("-999 (1 cell) looks like a code", "an altitude", "-999")]),
                          (plain, (999,), []),
                          (plain, (9999,), [CODES.format("9999 (1 cell) looks like a code", "an altitude", "9999")])):
    slide(coded(rows, *codes), grid(still), "steps=0", warns=told)
# A heap of 8 m is a cliff, but where the ground around it is lower by more than half of that.
for around, is_cliff in ((96.5, True), (95.5, False)):
    peak = [[around] * 7 for i in range(6)]
    peak[2][2] = 100
    slide(grid(peak), grid(debris(((2, 2), 8))), "steps=0", crown__altitude_m=100.0, toe__altitude_m=100.0,
          warns=is_cliff * ["the debris is 8 m thick where it ends (8 m on the average), and the altitudes do not "
                            "fall there: if they are those of the ground beneath it, add it to them; they are taken "
                            "to hold the debris"])
# A table in a grid's place: no line and no column of it is passed over.
PLACE = "x.dem.csv: is no grid: a grid begins with lines of ncols, nrows, xllcorner, yllcorner, cellsize and " \
        "nodata_value, or has numbers alone"
ABOVE = "; if the lines above line {} say nothing of it, delete them"
cells = lines(*slope)
for above, cure in (("a,b,c,d,e,f,g\n", ABOVE.format(2) + "; if the last of them is a row: -s header=none"),
                    ("title\n", ABOVE.format(2)), ("title\na,b,c,d,e,f,g\n", ABOVE.format(3)),
                    ("a,b,c,d,e,f,g\nm,m,m,m,m,m,m\n", ABOVE.format(3))):
    case({"x.dem.csv": above + cells, "x.source.asc": grid(still)}, refused=PLACE + cure)
case({"x.dem.csv": lines(*(("west", *row) for row in slope)), "x.source.asc": grid(still)}, refused=PLACE)
case({"x.dem.csv": "# made by hand\n\n" + cells, "x.source.asc": grid(still)}, "steps=0", covered_cells=3,
     warns=["the altitudes do not say where they lie: the place and the size of cells are those of x.source.asc"])
# What two grids differ in.
WARP = "; cut or warp one to the other's cells"
slide(grid(slope), grid([row[:6] for row in still]),
      refused="the grids differ in shape: x.dem.asc is 6 rows x 7 columns, x.source.asc is 6 rows x 6 columns" + WARP)
slide(grid(slope), grid(still, x=5, y=-20),
      refused="the grids differ in place: x.dem.asc is x 0 to 70, y 0 to 60 by cells of 10 x 10, x.source.asc is x 5 "
              "to 75, y -20 to 40 by cells of 10 x 10" + WARP)
for x, y, written in (("corner", "center", 95), ("center", "corner", 105)):
    slide(grid(slope, head=f"xll{x} 0\nyll{y} 100\ndx 30\ndy 10\n"), grid(still),
          refused=f"x.dem.asc: line 4: yll{y} stands beside xll{x} of line 3, and the origin is a corner or a centre "
                  f"in both; write yll{x} {written} there")
text = grid(slope)
slide(text[:text.rindex(" ")] + "\n", grid(still),
      refused="x.dem.asc: line 11: ends after 41 values; its header claims 6 rows x 7 columns, which are 42")
slide(text + "7 8\n", grid(still),
      refused="x.dem.asc: line 12, column 1: '7' is one value more than the 6 rows x 7 columns that its header claims")
slide(text.replace("98 97", "98 x7"), grid(still), refused="x.dem.asc: line 6, column 4: 'x7' is not a number")
slide(text, grid(debris(((1, 2), -3)), nodata=-9),
      refused="x.dem.asc: x.source.asc: row 2, column 3: -3 m of debris is below 0; if it stands for NODATA, set "
              "missing_value=-3")


# --- whole results, worked out once more ------------------------------------------------------------------------------


def table(folder, name):
    """The names of a result's columns, and its rows: numbers, None for a missing one, texts."""
    def value(cell):
        try:
            return None if cell == "nan" else float(cell)
        except ValueError:
            return cell
    with gzip.open(os.path.join(folder, name + ".csv.gz"), "rt", encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    return rows[0], [[value(cell) for cell in row] for row in rows[1:]]


def columns_of(text, series="columns"):
    """Names and numbers of an input: None where a cell is empty or NA. Names are in the first line, if it has any, or
    of series in rows in their first cells."""
    rows = [line.split(",") for line in text.strip("\n").split("\n") if line[0] != "#"]
    if series == "rows":
        rows = list(zip(*rows))
    names = list(rows.pop(0)) if rows[0][0][:1].isalpha() else [f"{series[:-1]} {k + 1}" for k in range(len(rows[0]))]
    return names, [[float(row[c]) if row[c] not in ("", "NA") else None for row in rows] for c in range(len(names))]


def mean_of(x):
    return sum(x) / len(x)


def correlation(x, y, least):
    both = [(a, b) for a, b in zip(x, y) if a is not None and b is not None]
    if len(both) < least:
        return None, len(both)
    xs, ys = ([Fraction(v) for v in column] for column in zip(*both))
    mx, my = mean_of(xs), mean_of(ys)
    xy, xx, yy = (sum(p * q for p, q in zip(*two)) for two in (
        ([a - mx for a in xs], [b - my for b in ys]), *([[a - m for a in v]] * 2 for v, m in ((xs, mx), (ys, my)))))
    return (float(xy) / math.sqrt(xx * yy) if xx * yy else None), len(both)


def probability(r, n):
    """p of a coefficient of n samples: I_(1 - r^2)((n - 2) / 2, 1/2) by its series."""
    if n is None:
        return None
    if n <= 2 or abs(r) < 1e-2 or abs(r) >= 1 - 1e-15:
        # near r = 0 p falls by twice the density there; two samples tell nothing
        return 1 if n <= 2 else 0 if abs(r) > 0.5 else 1 - 2 * abs(r) * math.exp(
            math.lgamma((n - 1) / 2) - math.lgamma(n / 2 - 1)) / math.sqrt(math.pi) * (1 - (n / 2 - 2) * r * r / 3)
    a, x, total, term, k = (n - 2) / 2, (1 - r) * (1 + r), 0.0, 1.0, 0
    while term > 1e-17 * total:
        total += term
        term *= (a + 0.5 + k) / (a + 1 + k) * x
        k += 1
    return min(1, math.exp(a * math.log(x) + math.lgamma(a + 0.5) - math.lgamma(a)) * abs(r) * total / a / math.sqrt(math.pi))


def whole_pearson(text, options, told, folder):
    names, columns = columns_of(text, told["parameters"]["series"])
    least, top = int(options.get("min_samples", 3)), int(options.get("top", 1000))
    threshold = float(options.get("threshold", 0))
    if told["warnings"] and "left out" in told["warnings"][0]:
        names, columns = names[1:], columns[1:]
    if "diff" in options:
        def step(a, b):
            if options["diff"] == "step":
                return None if a is None or b is None else b - a
            return math.log(b / a) if a and b is not None and b / a > 0 else None
        columns = [[step(a, b) for a, b in zip(x, x[1:])] for x in columns]
    r = {(i, j): correlation(columns[i], columns[j], least) for j in range(len(names)) for i in range(j)}
    series = []
    for s, x in enumerate(columns):
        there = [v for v in x if v is not None]
        m, n = mean_of(there), len(there)
        squares = sum((v - m) ** 2 for v in there)
        lag1 = sum((a - m) * (b - m) for a, b in zip(x, x[1:])) / squares if least <= n == len(x) and squares else ...
        strengths = sorted(abs(v) for pair, (v, _) in r.items() if s in pair and v is not None)
        median = (strengths[(len(strengths) - 1) // 2] + strengths[len(strengths) // 2]) / 2 if strengths else None
        std = math.sqrt(squares / (n - 1)) if n > 1 else None
        series.append([s, names[s], n, m, std, min(there), max(there), median, lag1, 0])
    head = "series,name,count,mean,std,min,max,median_abs_r,lag1,anomaly"
    if "order" in options:  # each has a place, one without coefficients at an end
        head += ",place"
        places = [row[-1] for row in table(folder, "series")[1]]
        assert sorted(places) == list(range(len(names))), places
        for row, place in zip(series, places):
            assert row[7] is not None or place in (0, len(names) - 1), (row, places)
            row.append(place)
    pairs, lag1_at = [], 8
    ranked = sorted((probability(*r[k]), k) for k in r if r[k][0] is not None)
    discovery, least = {}, 1
    for k in reversed(range(len(ranked))):
        least = min(least, ranked[k][0] * len(ranked) / (k + 1))
        discovery[ranked[k][1]] = least
    order = sorted((k for k in r if r[k][0] is not None), key=lambda k: (-round(abs(r[k][0]), 9), k))
    for k, (i, j) in enumerate(order):
        v, n = r[i, j]
        if k < top or (threshold > 0 and abs(v) >= threshold):
            low = high = None
            if n > 3:
                t = math.tanh(1.959963984540054 / math.sqrt(n - 3))
                low, high = (v - t) / (1 - v * t), (v + t) / (1 + v * t)
            a, b = (series[s][lag1_at] for s in (i, j))
            effective = None if None in (a, b) else ... if ... in (a, b) else n * (1 - a * b) / (1 + a * b)
            pairs.append([i, j, names[i], names[j], v, n, low, high, probability(v, n), discovery[i, j], effective,
                          ... if effective is ... else probability(v, effective)])
    values = [abs(v) for v, _ in r.values() if v is not None]
    return ({"series": (head, series),
             "pairs": ("i,j,name_i,name_j,r,n,r_low,r_high,p,q,n_effective,p_effective", pairs)},
            {"n_series": len(names), "n_samples": len(columns[0]) + ("diff" in options), "n_pairs": len(r),
             "n_undefined": len(r) - len(values), "n_listed": len(pairs),
             "homogeneity": mean_of(values) if values else None})


def whole_kmeans(text, options, told, folder):
    """From the labels, of which the nearest centroid is asked, all the rest."""
    names, columns = columns_of(text)
    rows = list(zip(*columns))
    kept = [row for row in rows if None not in row]
    scale = told["summary"]["scale"]
    label_names, given = table(folder, "labels")
    labels = [int(row[1]) for row in given]
    assert label_names == ["row", "cluster"] and [row[0] for row in given] == list(range(len(rows)))
    assert [label < 0 for label in labels] == [None in row for row in rows], labels
    def distance(x, y):
        return sum(((a - b) * w) ** 2 for a, b, w in zip(x, y, scale))
    k = told["summary"]["k"]
    clusters = [[row for row, label in zip(rows, labels) if label == c] for c in range(k)]
    found = table(folder, "centroids")[1]
    centroids = [[mean_of(x) for x in zip(*rows)] if rows else row[3:] for rows, row in zip(clusters, found)]
    if told["summary"]["converged"]:
        assert all(label < 0 or distance(row, centroids[label]) <= min(distance(row, c) for c in centroids) + 1e-9
                   for row, label in zip(rows, labels)), labels
    else:
        centroids = [row[3:] for row in found]
    within = [sum(distance(row, c) for row in rows) for rows, c in zip(clusters, centroids)]
    silhouettes = []
    for c, rows_in in enumerate(clusters):
        for row in rows_in:
            to = [sum(math.sqrt(distance(row, other)) for other in rows) for rows in clusters]
            near = min((d / len(o) for j, (d, o) in enumerate(zip(to, clusters)) if j != c and o), default=None)
            own = to[c] / (len(rows_in) - 1) if len(rows_in) > 1 else None
            silhouettes.append(None if near is None else 0 if own is None or max(own, near) == 0 else
                               (near - own) / max(own, near))
    silhouette = None if None in silhouettes else mean_of(silhouettes)
    tables = {"centroids": ("cluster,count,within," + ",".join(names),
                            [[c, len(clusters[c]), within[c], *centroids[c]] for c in range(k)])}
    if told["summary"]["ks"]:
        ks = [{**of, **({"inertia": sum(within), "silhouette": silhouette} if of["k"] == k else {})}
              for of in told["summary"]["ks"]]
        tables["ks"] = ("k,inertia,silhouette,n_iterations,converged", [list(of.values()) for of in ks])
    return (tables,
            {"n_columns": len(names), "k_used": k, "sizes": [len(rows) for rows in clusters], "inertia": sum(within),
             "n_points": len(kept), "n_dropped": len(rows) - len(kept),
             "n_empty": sum(not rows for rows in clusters), "silhouette": silhouette})


def polynomial_at(nodes, y, q, _):
    return sum(v * math.prod((q - b) / (a - b) for b in nodes if b != a) for a, v in zip(nodes, y))


def blend_at(nodes, y, q, options):
    """Floater and Hormann's function, by its definition."""
    if q in nodes:
        return y[nodes.index(q)]
    d = int(options.get("blend", 3))
    runs = [slice(i, i + d + 1) for i in range(len(nodes) - d)]
    shares = [(-1) ** i / math.prod(q - node for node in nodes[run]) for i, run in enumerate(runs)]
    return sum(s * polynomial_at(nodes[run], y[run], q, None) for s, run in zip(shares, runs)) / sum(shares)


def solved(rows):
    """x of A x = b, from the rows of (A, b)."""
    for c in range(len(rows)):
        pivot = next(k for k in range(c, len(rows)) if rows[k][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        rows = [row if k == c else [a - row[c] * b for a, b in zip(row, rows[c])] for k, row in enumerate(rows)]
    return [row[-1] for row in rows]


def cubics_at(nodes, y, q, options):
    """Of pchip and spline, by slopes: harmonic means, or what joins second and, next to the ends, third derivatives."""
    n, h = len(nodes), [b - a for a, b in itertools.pairwise(nodes)]
    s = [(b - a) / w for (a, b), w in zip(itertools.pairwise(y), h)]
    if options["method"] == "pchip":
        def at_end(h, g, s, t):
            d = ((2 * h + g) * s - h * t) / (h + g)
            return 0 if d * s <= 0 else 3 * s if s * t <= 0 and abs(d) > 3 * abs(s) else d
        d = [at_end(h[0], h[1], s[0], s[1])]
        d += [3 * (h[j] + h[j - 1]) / ((2 * h[j] + h[j - 1]) / s[j - 1] + (h[j] + 2 * h[j - 1]) / s[j])
              if s[j] * s[j - 1] > 0 else 0 for j in range(1, n - 1)]
        d.append(at_end(h[-1], h[-2], s[-1], s[-2]))
    else:
        rows = [[Fraction(0)] * (n + 1) for _ in range(n)]
        for j, row in enumerate(rows):
            k = min(max(j, 1), n - 2)
            r = h[k - 1] / h[k]
            row[k - 1], row[k], row[k + 1], row[n] = ((1, 2 + 2 * r, r, 3 * (s[k - 1] + r * s[k])) if 0 < j < n - 1 else
                                                      (1, 1 - r * r, -r * r, 2 * s[k - 1] - 2 * r * r * s[k]))
        d = solved(rows)
    j = max([0, *(k for k in range(n - 1) if nodes[k] <= q)])
    t = (q - nodes[j]) / h[j]
    return ((1 + 2 * t) * y[j] + t * h[j] * d[j]) * (1 - t) ** 2 + ((3 - 2 * t) * y[j + 1] - (1 - t) * h[j] * d[j + 1]) * t * t


def whole_interpolate(text, options, told, folder):
    names, (x, *curves) = columns_of(text)
    head, given = table(folder, "curve")
    assert head == ["x", *names[1:]], head
    order = sorted(range(len(x)), key=x.__getitem__)
    nodes, *ys = ([Fraction(values[k]) for k in order] for values in (x, *curves))
    evaluate, degree = {"floater-hormann": (blend_at, int(options.get("blend", 3))), "pchip": (cubics_at, 3),
                        "spline": (cubics_at, 3) if len(x) > 3 else (polynomial_at, 2)}.get(options.get("method"), (polynomial_at, len(x) - 1))
    rows = [[q, *(None if q is None else float(evaluate(nodes, y, Fraction(q), options)) for y in ys)] for q, *_ in given]
    queries = [q for q, *_ in given if q is not None]
    return ({"curve": (",".join(head), rows)},
            {"n_nodes": len(x), "n_curves": len(curves), "n_queries": len(given), "missing": len(given) - len(queries),
             "hits": sum(q in x for q in queries),
             "extrapolated": sum(not min(x) <= q <= max(x) for q in queries), "queries_from": min(queries),
             "queries_to": max(queries), "nodes_from": min(x), "nodes_to": max(x), "degree": degree})


def whole_landslide(text, options, told, folder):
    """The first line is the start, the last one the end, and no debris is lost but as it is said."""
    summary, (head, rows) = told["summary"], table(folder, "mass")
    end = [summary[key] for key in ("steps", "volume_end_m3", "lost_edge_m3", "lost_nodata_m3", "active_cells",
                                    "max_thickness_m")]
    start = summary["volume_start_m3"]
    assert rows[0][:4] == [0, start, 0, 0], rows[0]
    assert all(math.isclose(sum(row[1:4]), start, abs_tol=1e-12) for row in rows), rows
    return {"mass": (",".join(head), [*rows[:-1], end])}, {}


WHOLE = {"pearson": whole_pearson, "kmeans": whole_kmeans, "interpolate": whole_interpolate,
         "sciddicat": whole_landslide}


def check_whole(k, told, folder):
    files, options = cases[k][:2]
    given = dict(option.split("=", 1) for option in options)
    tables, numbers = WHOLE[told["pipeline"]](next(iter(files.values())), given, told, folder)
    found = {**told["shape"], **told["summary"], **told["parameters"], **told["reader"]}
    numbers.update((key, float(text) if isinstance(found[key], float) else text) for key, text in given.items())
    wrong = [f"{key} is {found[key]}, not {value}" for key, value in numbers.items()
             if not is_near(str(found[key]) if isinstance(value, str) else found[key], value)]
    for name, (head, rows) in tables.items():
        found_head, found = table(folder, name)
        if ",".join(found_head) != head:
            wrong.append(f"{name}: {found_head}")
        for line, (got, want) in enumerate(itertools.zip_longest(found, rows)):
            if got is None or want is None or len(got) != len(want) or not all(map(is_near, got, want)):
                wrong.append(f"{name}, row {line}: {got}, not {want}")
    return wrong


def is_near(found, wanted):
    if wanted is ... or wanted is None or isinstance(wanted, (str, list)):
        return wanted is ... or found == wanted
    return found is not None and math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


# --- all cases --------------------------------------------------------------------------------------------------------


def run(work):
    number, (files, options, *_) = work
    folder = f"case{number}"
    os.mkdir(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(text.encode() if isinstance(text, str) else text)
    command = [LEAT, "run", "-q", "-b", BACKEND, *(word for option in options for word in ("-s", option)),
               *(name for name in sorted(files) if not name.endswith(".prj"))]
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False)
    stderr = "".join(line for line in ended.stderr.splitlines(True) if line[0] != "=")  # a sanitizer's of itself
    if ended.returncode:
        return stderr, None, None
    out = os.path.join(folder, "leat-out", sorted(files)[0].split(".")[0])
    with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
        return stderr, json.load(f), out


def is_same(found, wanted):
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-12)
    return type(found) is type(wanted) and found == wanted


NO_SYSTEM = "the altitudes name no coordinate system"


def check(k, found):
    warns, refused, summary = cases[k][2:]
    stderr, told, folder = found
    if told is None or refused is not None:
        return [] if stderr == f"leat: error: {refused}\n" else [f"refused: {stderr}  not:    leat: error: {refused}"]
    warns = warns(told["summary"]) if callable(warns) else warns
    wrong = []
    if "x.dem.asc" in cases[k][0] and "x.dem.prj" not in cases[k][0] and not any(NO_SYSTEM in w for w in warns):
        said = [w for w in told["warnings"] if NO_SYSTEM in w]
        told["warnings"] = [w for w in told["warnings"] if NO_SYSTEM not in w]
        wrong += [] if len(said) == 1 else [f"no coordinate system: {said}"]
    if told["warnings"] != warns:
        wrong.append("warnings:\n    " + "\n    ".join(told["warnings"]) + "\n  not:\n    " + "\n    ".join(warns))
    for key, value in summary.items():
        at = told["summary"]
        for part in key.split("__"):
            at = at[part]
        if not is_same(at, value):
            wrong.append(f"{key} is {at}, not {value}")
    return wrong + check_whole(k, told, folder)


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
