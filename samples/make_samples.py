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


greenhouse()
wells()
walks()
beans()
queries()
