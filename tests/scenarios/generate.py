"""Compares leat generate with its rules written down here a second time: Philox and the walk from the paper and cuRAND's
manual, nodes and points from leat(1)."""
import math
import subprocess
import sys

import numpy as np

LEAT = sys.argv[1]
MASK = 0xFFFFFFFF


def philox_4x32_10(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def known_answers():
    """The vectors of Random123's kat_vectors for philox4x32, 10 rounds."""
    assert philox_4x32_10([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox_4x32_10([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def walk(seed, series, n, start, epsilon):
    samples, value = [], start
    for t in range(n):
        if t > 0:
            block = t // 4
            counter = [block & MASK, block >> 32, series & MASK, series >> 32]
            word = philox_4x32_10(counter, [seed & MASK, seed >> 32])[t % 4]
            value *= 1 + epsilon * ((word + 0.5) * 2.0**-31 - 1)
        samples.append(value)
    return samples


def generate(*arguments):
    subprocess.run([LEAT, "generate", "-q", "--force", *map(str, arguments)], check=True)


def compare(n_series, n_samples, types=("f64",)):
    seed, start, epsilon = 0x1234567890ABCDEF, -3.5, 0.25
    reference = np.array([walk(seed, s, n_samples, start, epsilon) for s in range(n_series)])
    for layout in "rows", "columns":
        for dtype in types:
            options = ["--series", n_series, "--samples", n_samples, "--seed", seed, "--start", start,
                       "--epsilon", epsilon, "--layout", layout, "--type", dtype]
            generate("clusters", *options, "-o", "x.npy")
            generate("clusters", *options, "-o", "x.csv")
            array = np.load("x.npy")
            wanted = (reference if layout == "rows" else reference.T).astype(array.dtype)
            assert array.dtype == np.dtype("f" + str(int(dtype[1:]) // 8))
            assert array.shape == wanted.shape, (array.shape, wanted.shape)
            assert (array == wanted).all(), (n_series, n_samples, layout, dtype)
            text = np.loadtxt("x.csv", delimiter=",", ndmin=2, dtype=array.dtype,
                              skiprows=int(layout == "columns"))
            assert (text == array).all(), (n_series, n_samples, layout, dtype, "csv")


def word(seed, series, number):
    block = number // 4
    counter = [block & MASK, block >> 32, series & MASK, series >> 32]
    return philox_4x32_10(counter, [seed & MASK, seed >> 32])[number % 4]


def points():
    seed, n, columns, clusters, spread = 0x1234567890ABCDEF, 40, 5, 3, 0.7
    wanted, labels = np.empty((n, columns)), np.empty((n, 1))
    for i in range(n):
        labels[i] = c = clusters * word(seed, i, 0) >> 32
        for j in range(columns):
            centre = 10 * ((2 * word(seed, 2**63 + c, j) + 1) * 2.0**-32 - 1)
            z = (sum(word(seed, i, w) for w in range(4 + 12 * j, 16 + 12 * j)) + 6 - 6 * 2**32) * 2.0**-32
            wanted[i, j] = centre + spread * z
    options = ["points", "--points", n, "--columns", columns, "--clusters", clusters, "--spread", spread, "--seed", seed]
    for dtype in "f64", "f32":
        generate(*options, "--type", dtype, "-o", "x.npy", "--labels", "l.csv")
        generate(*options, "--type", dtype, "-o", "x.csv", "--labels", "l.npy")
        array = np.load("x.npy")
        assert array.dtype == np.dtype("f" + str(int(dtype[1:]) // 8))
        assert (array == wanted.astype(array.dtype)).all()
        text = np.loadtxt("x.csv", delimiter=",", skiprows=1, dtype=array.dtype)
        assert (text == array).all()
        assert open("x.csv").readline() == "x1,x2,x3,x4,x5\n" and open("l.csv").readline() == "cluster\n"
        assert np.load("l.npy").dtype == np.int32 and (np.load("l.npy") == labels).all()
        assert (np.loadtxt("l.csv", skiprows=1) == labels[:, 0]).all()


def nodes():
    functions = {"runge": lambda x: 1 / (1 + 25 * x * x), "exp": math.exp, "abs": abs, "sign": np.sign,
                 "cos20": lambda x: math.cos(20 * x)}
    degree, low, high, seed = 60, -2.0, 3.0, 77
    random = [(word(seed, 0, 4 * k) << 32 | word(seed, 0, 4 * k + 1)) >> 11 for k in range(degree + 1)]
    where = {"chebyshev": [(1 - math.cos(math.pi * k / degree)) / 2 for k in range(degree + 1)],
             "equispaced": [k / degree for k in range(degree + 1)],
             "random": [(v + 0.5) * 2.0**-53 for v in random]}
    for placement, part in where.items():
        options = ["nodes", "--placement", placement, "--degree", degree, "--from", low, "--to", high, "--seed", seed,
                   "--function", ",".join(functions)]
        generate(*options, "-o", "x.npy")
        generate(*options, "-o", "x.csv")
        array = np.load("x.npy")
        assert (np.loadtxt("x.csv", delimiter=",", skiprows=1) == array).all()
        assert open("x.csv").readline() == "x," + ",".join(functions) + "\n"
        assert np.abs(array[:, 0] - (low + (high - low) * np.array(part))).max() <= 2e-15
        for column, f in enumerate(functions.values(), 1):
            wanted = np.array([f(x) for x in array[:, 0].tolist()])
            # the libraries' functions and the operations written here are within a few roundings
            assert np.abs(array[:, column] - wanted).max() <= 1e-15 * max(1, np.abs(wanted).max()) * 8, (placement, column)


known_answers()
points()
nodes()
for shape in (1, 1), (3, 1), (1, 3), (5, 63), (5, 64), (2, 257):
    compare(*shape)
for shape in (5, 65), (70, 130):
    compare(*shape, types=("f64", "f32"))
print("as the paper says")
