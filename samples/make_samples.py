#!/usr/bin/env python3
"""Makes the sample inputs again: python3 samples/make_samples.py (no package needed, same bytes each time).

greenhouse.clusters.csv  two weeks of hourly temperatures from 24 sensors in a greenhouse, as a logger exports
    them: semicolons, decimal commas, a date and a time column, gaps. Air sensors follow the day, the weather
    and their neighbours; soil sensors follow the air slowly. Two are broken: south-3 is stuck at one value,
    north-5 drifts on its own.
wells.clusters.csv       ground-water levels of 12 wells, a well a row with its name first, 192 readings each.
    Three aquifers; a well moves with its own.
walks.clusters.npy       64 independent random walks of 256 float32 samples: each sample varies the one before
    it by up to 1 %. Independent walks look correlated on their levels; run with -s diff=step to see through it.

beans.points.csv         360 beans of four kinds, a bean a row: length, width and height in millimetres, weight in grams.
runge.query.csv          201 numbers from -1 to 1, where the curves of runge.nodes.csv are asked for.

runge.nodes.csv is of `leat generate nodes --function runge,abs -o runge.nodes.csv`: 1 / (1 + 25 x^2) and |x| at 21
Chebyshev nodes.
slope.dem.asc, slope.source.asc are of `leat generate dem --rows 120 --columns 96 --active 0.01 --seed 2 -o slope.asc`: a
valley side with a channel, and debris in its upper end.

In recipes/, for the recipes of leat-recipes(7):
stations.clusters.csv, stations.targets.csv  60 days of rain at 24 stations in three valleys, and the flow of two rivers,
    which follows the rain of one valley each.
2025.points.csv, 2026.points.csv  two sizes of 90 shells of three kinds; of 24 more, which have names.
towns.points.csv         40 towns: where they lie and how many live there, most of them in three cities.
level.nodes.csv          a water level that was read nine times in a day.
slope.probes.csv         three places in the channel of slope.dem.asc.
slope.dem.asc, slope.source.asc are of `leat generate dem --rows 48 --columns 32 --active 0.02 --seed 2 -o slope.asc`;
slope.observed.asc has 1 where a run of them with p_r=0.35 and steps=200 had more than 0.1 m of debris.
"""

import math
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent


def slow_noise(rng, n, memory, size):
    """Noise that remembers: x[t] = memory * x[t-1] + fresh, scaled to a standard deviation of `size`."""
    x, out = rng.gauss(0, 1), []
    for _ in range(n):
        x = memory * x + math.sqrt(1 - memory * memory) * rng.gauss(0, 1)
        out.append(size * x)
    return out


def greenhouse():
    rng = random.Random(1)
    hours = 14 * 24
    weather = slow_noise(rng, hours, 0.98, 3.0)
    clouds = [0.6 + 0.4 * math.tanh(c) for c in slow_noise(rng, hours, 0.9, 1.0)]
    sun = [max(0.0, math.sin(2 * math.pi * (t % 24 - 6) / 24)) * clouds[t] for t in range(hours)]
    series = {}
    for place, gain, n in (("south", 14.0, 8), ("north", 5.0, 8)):
        for k in range(1, n + 1):
            own = slow_noise(rng, hours, 0.5, 0.5)
            series[f"{place}-{k}"] = [17 + weather[t] + gain * sun[t] + own[t] for t in range(hours)]
    for k in range(1, 9):
        ground, own, values = 17.0, slow_noise(rng, hours, 0.9, 0.1), []
        for t in range(hours):
            ground += 0.04 * (17 + weather[t] + 8 * sun[t] - ground)
            values.append(ground + own[t])
        series[f"soil-{k}"] = values
    series["south-3"] = [21.5] * hours
    series["north-5"] = [19 + d for d in slow_noise(rng, hours, 0.995, 4.0)]

    lines = ["# greenhouse 2, logger 0417, degrees Celsius", "Date;Time;" + ";".join(series)]
    for t in range(hours):
        cells = [f"{3 + t // 24:02d}/05/2021", f"{t % 24:02d}:00"]
        for name, values in series.items():
            lost = rng.random() < 0.004 or (name == "soil-6" and 100 <= t < 118)
            cells.append(rng.choice(["", "NA"]) if lost else f"{values[t]:.1f}".replace(".", ","))
        lines.append(";".join(cells))
    (HERE / "greenhouse.clusters.csv").write_text("\n".join(lines) + "\n", newline="\r\n")


def wells():
    rng = random.Random(2)
    n = 192
    aquifers = [slow_noise(rng, n, 0.97, 0.8) for _ in range(3)]
    lines = []
    for k in range(12):
        own = slow_noise(rng, n, 0.6, 0.15)
        depth = 4 + 2 * rng.random()
        level = [depth + aquifers[k % 3][t] + own[t] for t in range(n)]
        lines.append(f"well {'ABC'[k % 3]}{k // 3 + 1}," + ",".join(f"{v:.3f}" for v in level))
    (HERE / "wells.clusters.csv").write_text("\n".join(lines) + "\n")


def walks():
    rng = random.Random(3)
    values = []
    for _ in range(64):
        v = 100.0
        for _ in range(256):
            values.append(v)
            v *= 1 + 0.01 * rng.uniform(-1, 1)
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (64, 256), }"
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    (HERE / "walks.clusters.npy").write_bytes(data + struct.pack(f"<{len(values)}f", *values))


def beans():
    rng = random.Random(4)
    lines = ["length_mm,width_mm,height_mm,weight_g"]
    kinds = [(16.5, 7.2, 6.1, 0.04), (11.6, 7.9, 6.9, 0.04), (19.8, 11.6, 6.8, 0.04), (8.8, 6.1, 4.9, 0.04)]
    for i in range(360):
        length, width, height, vary = kinds[rng.randrange(4)]
        size = rng.gauss(1, vary)
        cells = [side * size * rng.gauss(1, 0.03) for side in (length, width, height)]
        weight = 0.00068 * cells[0] * cells[1] * cells[2] * rng.gauss(1, 0.02)
        lines.append(",".join(f"{c:.1f}" for c in cells) + f",{weight:.2f}")
    (HERE / "beans.points.csv").write_text("\n".join(lines) + "\n")


def queries():
    (HERE / "runge.query.csv").write_text("x\n" + "".join(f"{(k - 100) / 100:g}\n" for k in range(201)))


def write(name, head, rows):
    (HERE / "recipes" / name).write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")


def stations():
    rng = random.Random(5)
    days, valleys = 60, ("north", "south", "west")
    rain = {valley: slow_noise(rng, days, 0.3, 4.0) for valley in valleys}
    series = {}
    for valley in valleys:
        for k in range(1, 9):
            series[f"{valley}-{k}"] = [9 + r + rng.gauss(0, 1.5) for r in rain[valley]]
    write("stations.clusters.csv", ",".join(series), ([f"{v[t]:.1f}" for v in series.values()] for t in range(days)))
    rivers = [[30 + 3 * r + rng.gauss(0, 6) for r in rain[valley]] for valley in ("north", "west")]
    write("stations.targets.csv", "north river,west river", ([f"{v[t]:.1f}" for v in rivers] for t in range(days)))


def shells():
    rng = random.Random(6)
    kinds = {"cockle": (31, 28), "mussel": (58, 27), "clam": (44, 39)}

    def sizes(kind):
        grown = rng.gauss(1, 0.06)
        return [f"{side * grown * rng.gauss(1, 0.03):.1f}" for side in kinds[kind]]

    write("2025.points.csv", "length_mm,width_mm", (sizes(rng.choice(list(kinds))) for _ in range(90)))
    write("2026.points.csv", "shell,length_mm,width_mm",
          ([f"{kind} {k}", *sizes(kind)] for k in range(1, 9) for kind in kinds))


def towns():
    rng = random.Random(7)
    cities = {0: (12, 14, 90), 13: (71, 22, 60), 26: (40, 66, 120)}
    rows = []
    for k in range(40):
        x, y, people = cities.get(k, (rng.uniform(0, 80), rng.uniform(0, 80), rng.uniform(0.3, 5)))
        rows.append([f"{'city' if k in cities else 'town'} {k}", f"{x:.1f}", f"{y:.1f}", f"{people * 1000:.0f}"])
    write("towns.points.csv", "name,east_km,north_km,people", rows)


def level():
    hours = (0, 3.5, 6, 8, 9, 11.25, 14, 19, 24)
    metres = (2.1, 2.1, 2.2, 3.9, 5.2, 5.3, 4.0, 2.9, 2.4)
    write("level.nodes.csv", "time,level_m", ([f"2024-05-{1 + int(h) // 24:02d}T{int(h) % 24:02d}:{int(h % 1 * 60):02d}", f"{m}"]
                                             for h, m in zip(hours, metres)))


def probes():
    write("slope.probes.csv", "place,x,y", [["farm", "155", "275"], ["road", "165", "175"], ["bridge", "165", "75"]])


greenhouse()
wells()
walks()
beans()
queries()
stations()
shells()
towns()
level()
probes()
