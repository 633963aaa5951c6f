"""Compares leat generate with the walk written down here a second time, from the paper and cuRAND's manual."""
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
    subprocess.run([LEAT, "generate", "clusters", "-q", "--force", *map(str, arguments)], check=True)


def compare(n_series, n_samples):
    seed, start, epsilon = 0x1234567890ABCDEF, -3.5, 0.25
    reference = np.array([walk(seed, s, n_samples, start, epsilon) for s in range(n_series)])
    for layout in "rows", "columns":
        for dtype in "f64", "f32":
            options = ["--series", n_series, "--samples", n_samples, "--seed", seed, "--start", start,
                       "--epsilon", epsilon, "--layout", layout, "--type", dtype]
            generate(*options, "-o", "x.npy")
            generate(*options, "-o", "x.csv")
            array = np.load("x.npy")
            wanted = (reference if layout == "rows" else reference.T).astype(array.dtype)
            assert array.dtype == np.dtype("f" + str(int(dtype[1:]) // 8))
            assert array.shape == wanted.shape, (array.shape, wanted.shape)
            assert (array == wanted).all(), (n_series, n_samples, layout, dtype)
            text = np.loadtxt("x.csv", delimiter=",", ndmin=2, dtype=array.dtype,
                              skiprows=int(layout == "columns"))
            assert (text == array).all(), (n_series, n_samples, layout, dtype, "csv")


known_answers()
for shape in (1, 1), (3, 1), (1, 3), (5, 63), (5, 64), (5, 65), (70, 130), (2, 257):
    compare(*shape)
print("as the paper says")
