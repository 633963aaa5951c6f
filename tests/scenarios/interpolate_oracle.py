"""Curves against SciPy's, on the examples of its documentation and on what leat is made for. LEAT_TEST_BACKEND chooses
the backend.

SciPy states no bound. Its barycentric form (the second) is held to 1000 u of sum |l_j y_j| times the Lebesgue constant,
with which its error may grow where leat's does not; what is measured is printed.
"""
# ctest: asan=soak tsan=no
import subprocess

from lib import BACKEND, LEAT, begin

begin("numpy", "scipy")
import numpy
from scipy.interpolate import (BarycentricInterpolator, CubicSpline, KroghInterpolator, PchipInterpolator, barycentric_interpolate,
                               krogh_interpolate)

U = 2.0**-53


def ours(nodes, values, queries, method):
    numpy.save("o.nodes.npy", numpy.column_stack([nodes, values]))
    numpy.save("o.query.npy", queries)
    subprocess.run([LEAT, "run", "-q", "-b", BACKEND, "--force", "-o", "out", "-s", f"method={method}", "o.nodes.npy",
                    "o.query.npy"], check=True, stdin=subprocess.DEVNULL)
    with numpy.load("out/o/curve.npz") as z:
        return z["y"].T


def bases(nodes, queries):
    """|l_j| at the queries, from products: good to some n u of themselves."""
    far = queries[:, None] - nodes[None, :]
    apart = nodes[:, None] - nodes[None, :]
    out = numpy.empty((len(queries), len(nodes)))
    for j in range(len(nodes)):
        others = numpy.arange(len(nodes)) != j
        out[:, j] = numpy.abs(numpy.prod(far[:, others] / apart[j, others], axis=1))
    return out


def compare(what, nodes, values, queries, peer):
    values = values.reshape(len(nodes), -1)
    weights = bases(nodes, queries)
    condition = weights @ numpy.abs(values)
    lebesgue = weights.sum(axis=1).max()
    for method in ("chebyshev", "barycentric"):
        off = numpy.abs(ours(nodes, values, queries, method) - peer.reshape(len(queries), -1))
        allowed = 1000 * U * condition * lebesgue
        assert (off <= allowed).all(), (what, method, (off / (U * condition)).max())
        with numpy.errstate(invalid="ignore"):
            worst = numpy.nanmax(off / (U * condition))
        print(f"{what}, {method}: within {off.max():.1e} of SciPy, {worst:.1f} u of sum |l_j y_j|; Lebesgue {lebesgue:.1f}")


# The examples of BarycentricInterpolator and of barycentric_interpolate and krogh_interpolate.
random = numpy.random.default_rng(11)
xi = random.random(6) * numpy.pi / 2
x = numpy.linspace(0, numpy.pi / 2)
compare("sine, six random nodes", xi, numpy.sin(xi), x, BarycentricInterpolator(xi, numpy.sin(xi))(x))
observed = numpy.linspace(0.0, 10.0, 11)
x = numpy.linspace(min(observed), max(observed), num=100)
compare("sine at 0..10, barycentric", observed, numpy.sin(observed), x,
        barycentric_interpolate(observed, numpy.sin(observed), x))
compare("sine at 0..10, Krogh", observed, numpy.sin(observed), x, krogh_interpolate(observed, numpy.sin(observed), x))
# Several curves on the same nodes, as SciPy takes them: a column each.
nodes = numpy.cos((2 * numpy.arange(40) + 1) * numpy.pi / 80)
curves = numpy.column_stack([1 / (1 + 25 * nodes**2), numpy.exp(nodes), numpy.abs(nodes), numpy.cos(20 * nodes)])
x = random.uniform(-1, 1, 5000)
compare("four curves, 40 Chebyshev nodes", nodes, curves, x, BarycentricInterpolator(nodes, curves)(x))
compare("Krogh, 12 Chebyshev nodes", nodes := numpy.cos((2 * numpy.arange(12) + 1) * numpy.pi / 24), numpy.exp(nodes), x,
        KroghInterpolator(nodes, numpy.exp(nodes))(x))
nodes = numpy.cos((2 * numpy.arange(320) + 1) * numpy.pi / 640)
compare("320 Chebyshev nodes", nodes, numpy.sin(30 * nodes), x, BarycentricInterpolator(nodes, numpy.sin(30 * nodes))(x))


def compare_pieces(what, x, y, queries):
    """SciPy rounds slopes, and solves its equations, in double: held to 200 u of what the contract measures, times how uneven
    the gaps are where it solves, and to rounding alone where x and y are whole numbers."""
    order = random.permutation(len(x))
    for method, make in (("pchip", PchipInterpolator), ("spline", CubicSpline)):
        peer = make(x, y)
        got = ours(x[order], y[order], queries, method)[:, 0]
        at = numpy.clip(numpy.searchsorted(x, queries, side="right") - 1, 0, len(x) - 2)
        h, slope = numpy.diff(x), numpy.abs(peer(x, 1))
        beyond = 1 + numpy.maximum(0, numpy.maximum(x[0] - queries, queries - x[-1])) / h[at]
        measure = beyond**3 * (numpy.abs(y)[at] + numpy.abs(y)[at + 1] + h[at] * (slope[at] + slope[at + 1]))
        uneven = h.max() / h.min() if method == "spline" else 1
        off = numpy.abs(got - peer(queries))
        assert (off <= 200 * U * uneven * measure).all(), (what, method, (off / (U * measure)).max())
        hits = numpy.isin(queries, x)
        assert numpy.array_equal(got[hits], y[numpy.searchsorted(x, queries[hits])]), (what, method)
        with numpy.errstate(invalid="ignore"):
            print(f"{what}, {method}: within {numpy.nanmax(off / (U * measure)):.1f} u of what the contract measures")


inside = random.uniform(0, 1, 3000)
for what, x, y in (("two nodes", [0, 1], [3, -2]), ("three", [0, 1, 4], [3, -2, 5]), ("three that turn", [0, 1, 1.5], [0, 1, 0.25]),
                   ("four", [0, 1, 4, 5], [3, -2, 5, 5]), ("flat runs", range(12), [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]),
                   ("uneven", [0, 1e-6, 1e-3, 1, 2, 2.5, 1e3, 1e3 + 1e-3], [1, 2, 3, -4, 5, 6, 7, 8]),
                   ("huge", range(9), [(-1) ** k * 1e300 for k in range(9)]), ("tiny", range(9), [k * k * 3e-300 for k in range(9)]),
                   ("far", 1e5 + numpy.arange(9), numpy.arange(9) ** 2), ("ends that turn", [0, 1, 2, 3, 4], [0, 1, -5, 1, 0.5]),
                   ("random", numpy.sort(random.uniform(0, 9, 300)), random.normal(size=300)),
                   ("a hundred thousand", numpy.cumsum(random.uniform(0.5, 2, 100_000)), random.normal(size=100_000)),
                   ("sine of its manual", numpy.arange(10), numpy.sin(numpy.arange(10)))):
    x, y = numpy.array(x, dtype=float), numpy.array(y, dtype=float)
    length = x[-1] - x[0]
    compare_pieces(what, x, y, numpy.concatenate([x[0] + inside * length, x[:2000], x[0] - inside[:9] * length, x[-1] + inside[:9] * length]))

# Nodes are SciPy's answer exactly, and leat's.
got = ours(nodes, numpy.sin(30 * nodes), nodes, "chebyshev")[:, 0]
assert numpy.array_equal(got, numpy.sin(30 * nodes))
