"""Tables for warnings.sh, into the working folder; without NumPy."""
# ctest: none
import math
import random
import struct

random.seed(7)


def noise():
    return round(random.gauss(0, 1), 4)


def table(name, columns, header=True):
    """columns: name to values."""
    with open(name, "w") as f:
        if header:
            print(*columns, sep=",", file=f)
        for row in zip(*columns.values()):
            print(*row, sep=",", file=f)


def npy(name, rows):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            f.write(struct.pack("<%dd" % len(row), *row))


def asc(name, cells, side, x=0, y=0):
    with open(name, "w") as f:
        f.write(f"ncols {len(cells[0])}\nnrows {len(cells)}\nxllcorner {x}\nyllcorner {y}\ncellsize {side}\n")
        for row in cells:
            print(*(f"{z:.6g}" for z in row), file=f)


def landslide(stem, dem, source, side, *place):
    asc(stem + ".dem.asc", dem, side, *place)
    asc(stem + ".source.asc", source, side, *place)


N = 300
series = {name: [noise() for _ in range(N)] for name in "abc"}
coded = dict(series, b=[-999 if i % 10 == 4 else x for i, x in enumerate(series["b"])])
table("code.clusters.csv", coded)
with open("rows.clusters.csv", "w") as f:
    for name in ("one", "two", "three"):
        print(name, *(-99 if name == "two" and i in (3, 17, 29) else noise() for i in range(40)), sep=",", file=f)
table("pcode.points.csv", {"x": series["a"], "y": [-9999 if i % 60 == 7 else x for i, x in enumerate(series["b"])]})
table("ncode.nodes.csv", {"x": [(i + 0.3 * math.sin(i)) / 20 for i in range(20)],
                          "y": [-9999 if i in (3, 8, 9) else noise() for i in range(20)]})
table("index.clusters.csv", {"time": range(0, 60 * N, 60), **series})
table("gap.clusters.csv", {"time": [60 * (i + (i > 80)) for i in range(N)], **series})
table("days.clusters.csv", {"day": [20240101 + i // 28 * 100 + i % 28 for i in range(N)], **series})
rising = [1700000000]
for _ in range(N - 1):
    rising.append(rising[-1] + random.randrange(55, 66))
table("unix.clusters.csv", {"unix time": rising, **series})
table("clock.clusters.csv", {"TIME (s)": rising, **series})
table("counters.clusters.csv", {"time": range(N), **{f"n{i}": range(i, N + i) for i in range(7)}, **series})
table("meter.clusters.csv", {"kwh": [x - 1699990000 for x in rising], **series})
table("middle.clusters.csv", {"a": series["a"], "time": range(N), "b": series["b"]})
npy("flat.clusters.npy", [list(map(float, range(N)))] + list(series.values()))
table("few.clusters.csv", {f"s{i}": [noise() for _ in range(5)] for i in range(60)})
table("two.clusters.csv", {"dose": range(0, 200, 10), "effect": series["a"][:20]})

harmless = {
    "whole": [random.randrange(50) for _ in range(N)],
    "counts": [int(random.expovariate(1)) for _ in range(N)],
    "percent": [random.randrange(101) for _ in range(N)],
    "clipped0": [max(0, noise()) for _ in range(N)],
    "clipped100": [min(100, round(80 + 20 * noise(), 1)) for _ in range(N)],
    "full": [100 if random.random() < 0.1 else round(20 + noise(), 2) for _ in range(N)],
    "often0": [0 if random.random() < 0.3 else round(20000 + 100 * noise()) for _ in range(N)],
    "binary": [random.randrange(2) for _ in range(N)],
    "sign": [random.choice((-1, 1)) for _ in range(N)],
    "trinary": [random.randrange(-1, 2) for _ in range(N)],
    "constant": [5] * N,
    "nines": [999] * N,
    "age": [random.randrange(18, 100) for _ in range(N)],
    "price": [random.choice((99, 199, 299, 499, 999)) for _ in range(N)],
    "year": [random.randrange(1999, 2026) for _ in range(N)],
    "hour": [i % 24 for i in range(N)],
    "direction": [random.randrange(0, 360, 10) for _ in range(N)],
    "score": [random.randrange(1, 6) for _ in range(N)],
    "rain": [0 if random.random() < 0.8 else round(random.expovariate(0.2), 1) for _ in range(N)],
    "outlier": [-5000 if i == 9 else noise() for i in range(N)],
    "walk": [round(math.sin(i / 20), 3) for i in range(N)],
    "tail": [round(random.paretovariate(1.2), 1) for _ in range(N)],
    "negative": [random.randrange(-25, 25) for _ in range(N)],
    "celsius": [round(10 + 8 * noise(), 1) for _ in range(N)],
    "gaps": ["" if random.random() < 0.3 else noise() for _ in range(N)],
}
table("harmless.clusters.csv", harmless)
whole = {name: values for name, values in harmless.items() if name != "gaps"}
npy("harmless.clusters.npy", list(map(list, whole.values())))
table("harmless.points.csv", whole)

SIDE = 40
places = [[(i, j) for j in range(SIDE)] for i in range(SIDE)]
slope = [[1000 - 3 * i + 0.1 * (j % 3) for i, j in row] for row in places]
block = [[8 * (15 <= i < 25 and 15 <= j < 25) for i, j in row] for row in places]
cap = [[max(0, 8 * (1 - ((i - 20) ** 2 + (j - 20) ** 2) / 36)) for i, j in row] for row in places]
landslide("swapped", block, slope, 10)
landslide("same", slope, slope, 10)
landslide("pit", slope, block, 10)
landslide("held", [[z + h for z, h in zip(*rows)] for rows in zip(slope, block)], block, 10)
landslide("cap", slope, cap, 10)
landslide("thin", slope, [[h / 8 for h in row] for row in block], 10)
landslide("degrees", slope, cap, 0.000278, 12.2, 46.1)
landslide("named", slope, cap, 0.000278, 12.2, 46.1)
with open("named.prj", "w") as f:
    f.write('GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],'
            'PRIMEM["Greenwich",0],UNIT["Degree",0.0174532925199433]]')
landslide("flume", [[z / 1000 for z in row] for row in slope], [[h / 1000 for h in row] for row in cap], 0.005)
