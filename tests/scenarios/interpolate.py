"""The pipeline interpolate, whole program: nodes and queries in every form, against sums in 60 decimal digits; the
same bytes for any number of threads and any size of blocks; every mistake with its message; in bounded memory; and
through the service. LEAT_TEST_BACKEND chooses the backend."""
# ctest: long small=watched
import datetime
import decimal
import glob
import gzip
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

from lib import BACKEND, HERE, LEAT, THREADS_ALONE, WAIT_S, about, begin

begin("numpy")
import numpy
from service import Service

SMALL = bool(os.environ.get("LEAT_TEST_SMALL"))
# The same bytes for any number of threads: more than a piece of each kind, or, before a release, several.
FEW = not os.environ.get("LEAT_TEST_LARGE")
U = 2.0**-53
decimal.getcontext().prec = 60  # of each basis polynomial there are nearly as many; there is no cancellation in the bound


def leat(command, *arguments, status=0, says=None, stdin=None):
    done = subprocess.run([LEAT, command, "-b", BACKEND, *arguments], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert says is None or re.search(says, done.stderr), (says, done.stderr)
    return done


def run(*arguments, out="out", figure="none", **rest):
    """Without a figure, which takes most of the time of a small job, unless it is looked at."""
    return leat("run", "-q", "--force", "-o", out, "-s", f"figure={figure}", *arguments, **rest)


def curve(folder):
    with numpy.load(f"{folder}/curve.npz") as z:
        return {name: z[name] for name in z}


def begin_of_curve(folder, n_queries):
    """x, and y of the first queries: to unpack all takes longer than to make it."""
    with zipfile.ZipFile(f"{folder}/curve.npz") as z:
        with z.open("x.npy") as f:
            x = numpy.load(f)
        with z.open("y.npy") as f:
            assert numpy.lib.format.read_magic(f) == (1, 0)
            (n_curves, n), by_query, dtype = numpy.lib.format.read_array_header_1_0(f)
            assert by_query and n == len(x)
            y = numpy.frombuffer(f.read(n_queries * n_curves * 8), dtype).reshape(n_queries, n_curves).T
    return x, y


def write(name, *columns, header=None, pack=False):
    with (gzip.open(name, "wt") if pack else open(name, "w", encoding="utf-8")) as f:
        if header:
            f.write(header + "\n")
        f.writelines(",".join(map(repr, map(float, row))) + "\n" for row in zip(*columns))


def data_files(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if name != "result.json":
            with open(f"{folder}/{name}", "rb") as f:
                found[name] = f.read()
    return found


def chebyshev(n, a=-1.0, b=1.0):
    return (a + b) / 2 + (b - a) / 2 * numpy.cos((2 * numpy.arange(n) + 1) * numpy.pi / (2 * n))


def close_to(queries, nodes):
    """Queries with all nodes among them, and their neighbours among the doubles that lie within."""
    beside = numpy.concatenate([nodes, numpy.nextafter(nodes, 9e9), numpy.nextafter(nodes, -9e9)])
    return numpy.concatenate([queries, beside[(beside >= nodes.min()) & (beside <= nodes.max())]])


def lagrange(x, queries):
    """In 60 decimal digits, of each query the values there of the polynomials that are 1 at one node and 0 at the
    others; of a query that is a node, its index."""
    nodes = [decimal.Decimal(v) for v in x.tolist()]
    weights = []
    for j, at in enumerate(nodes):
        product = decimal.Decimal(1)
        for i, other in enumerate(nodes):
            if i != j:
                product *= at - other
        weights.append(1 / product)
    found = []
    for query in queries.tolist():
        q = decimal.Decimal(query)
        if q in nodes:
            found.append(nodes.index(q))
            continue
        distances = [q - node for node in nodes]
        whole = decimal.Decimal(1)
        for distance in distances:
            whole *= distance
        found.append([whole * w / distance for w, distance in zip(weights, distances)])
    return found


def exact(basis, y):
    """The value at each query, and the sum of |l_j y_j|."""
    values = [decimal.Decimal(v) for v in y.tolist()]
    found = []
    for l in basis:
        if isinstance(l, int):
            found.append((values[l], abs(values[l])))
        else:
            terms = [a * b for a, b in zip(l, values)]
            found.append((sum(terms), sum(map(abs, terms))))
    return found


def worst(x, queries, wanted, got):
    """The largest error in parts of the bound's u; hits must be exact."""
    most = 0.0
    for q, (value, condition), g in zip(queries.tolist(), wanted, got.tolist()):
        error = abs(decimal.Decimal(g) - value)
        if q in x or condition == 0:
            assert error == 0, (q, g)
        else:  # beside a node at 0 numbers have fewer digits than others
            most = max(most, float(max(error - decimal.Decimal(2)**-1070, 0) / condition) / U)
    return most


# --- what the numbers are ------------------------------------------------------------------------------------------

FUNCTIONS = {"runge": lambda x: 1 / (1 + 25 * x * x), "exp": numpy.exp, "abs": numpy.abs, "sign": numpy.sign,
             "cos20": lambda x: numpy.cos(20 * x)}
random = numpy.random.default_rng(7)


def bound():
    for place, make in (("chebyshev", chebyshev), ("equispaced", lambda n: numpy.linspace(-1, 1, n))):
        for n in (1, 2, 3, 21, 50) if SMALL else (1, 2, 3, 21, 50, 320):
            x = make(n)
            x = x[random.permutation(n)]
            many, near = (200, 20) if n < 50 else (60, 20) if n == 50 or not FEW else (36, 12)
            queries = numpy.unique(close_to(random.uniform(x.min(), x.max(), many), x[:near]))
            if n == 2:
                queries = numpy.append(queries, [-1.5, 1.5])  # extrapolated
            y = [f(x) for f in FUNCTIONS.values()]
            write("b.nodes.csv", x, *y, header=",".join(["x", *FUNCTIONS]))
            numpy.save("b.query.npy", queries)
            basis = lagrange(x, queries)
            wanted = [exact(basis, values) for values in y]
            most = {}
            for method in ("chebyshev", "barycentric"):
                run("-s", f"method={method}", "b.nodes.csv", "b.query.npy")
                z = curve("out/b")
                assert numpy.array_equal(z["x"], queries) and z["y"].shape == (5, len(queries))
                assert z["names"].tolist() == list(FUNCTIONS)
                assert numpy.array_equal(z["nodes_x"], numpy.sort(x))
                assert numpy.array_equal(z["nodes_y"], numpy.array(y)[:, numpy.argsort(x)])
                most[method] = max(worst(x, queries, wanted[c], z["y"][c]) for c in range(5))
                assert most[method] <= 50, (place, n, most)
            print(f"{place}, {n} nodes: at most %.1f u (cells), %.1f u (barycentric) of sum |l_j y_j|"
                  % (most["chebyshev"], most["barycentric"]))


def blended(x, queries, d):
    """As lagrange(), of the rational function of Floater and Hormann, by its definition; x ascends."""
    nodes, n = [decimal.Decimal(v) for v in x.tolist()], len(x)
    d, found = min(d, n - 1), []
    for query in queries.tolist():
        q = decimal.Decimal(query)
        if q in nodes:
            found.append(nodes.index(q))
            continue
        bases, below = [decimal.Decimal(0)] * n, 0
        for i in range(n - d):
            some = range(i, i + d + 1)
            share = (-1) ** i / math.prod(q - nodes[k] for k in some)
            below += share
            for j in some:
                bases[j] += share * math.prod((q - nodes[k]) / (nodes[j] - nodes[k]) for k in some if k != j)
        found.append([b / below for b in bases])
    return found


def rational():
    """Floater and Hormann's function against its definition, where others break: few, uneven and many nodes, flat runs,
    values near the ends of the doubles; and no swing where the polynomial has one."""
    cases = [("one node", [2.0], [5.0]), ("two", [0, 1], [3, -2]), ("three", [0.5, 0.75, 9], [1, 1e-3, 4]),
             ("uneven", [0, 1e-9, 1e-3, 1, 2, 2.5, 1e6, 1e6 + 1e-3], [1, 2, 3, -4, 5, 6, 7, 8]),
             ("flat", range(12), [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]), ("huge", range(9), [(-1) ** k * 1e307 for k in range(9)]),
             ("tiny", range(9), [(-1) ** k * 3e-307 for k in range(9)]), ("far", 1e5 + numpy.arange(9), numpy.arange(9) ** 2),
             ("narrow", 1 + numpy.arange(9) * 2.0**-50, numpy.arange(9) ** 2)]
    for d in (0, 3, 20):
        for what, x, y in cases:
            x, y = numpy.array(x, dtype=float), numpy.array(y, dtype=float)
            queries = numpy.unique(close_to(random.uniform(x.min(), x.max(), 40), x))
            order = random.permutation(len(x))
            write("q.nodes.csv", x[order], y[order])
            numpy.save("q.query.npy", queries)
            run("-s", "method=floater-hormann", "-s", f"blend={d}", "q.nodes.csv", "q.query.npy")
            told = about("out/q")["summary"]
            assert (told["method"], told["degree"]) == ("floater-hormann", min(d, len(x) - 1)), told
            bases = blended(x, queries, d)
            good = [isinstance(b, int) or len(x) * sum(map(abs, b)) < 2**50 for b in bases]
            assert all(good) or any("makes the curve meaningless" in w for w in about("out/q")["warnings"]), (what, d)
            got = worst(x, queries[good], exact([b for b, is_good in zip(bases, good) if is_good], y), curve("out/q")["y"][0][good])
            assert got <= 50, (what, d, got)
    x = numpy.linspace(-1, 1, 101)
    write("q.nodes.csv", x, 1 / (1 + 25 * x * x))
    run("-s", "method=floater-hormann", "-s", "query=linspace(-1, 1, 10000)", "q.nodes.csv")
    z, told = curve("out/q"), about("out/q")
    assert abs(z["y"][0] - 1 / (1 + 25 * z["x"] ** 2)).max() < 1e-6 and told["warnings"] == [], told
    assert told["summary"]["lebesgue_constant"] < 4 * (2 + math.log(101)) and told["summary"]["cells"] == 0, told
    run("-s", "method=floater-hormann", "-s", "query=-2,2", "q.nodes.csv")
    assert about("out/q")["warnings"] == ["2 of 2 queries lie outside of the nodes, from -1 to 1: the curve is extrapolated there"]
    print(f"floater-hormann: {len(cases)} cases of three degrees by definition; no swing at 101 equal distances")


def pieces():
    """What results say about cubics from node to node; the numbers are held against SciPy's in interpolate_oracle.py."""
    n = 40_000 if SMALL else 100_000
    x = numpy.arange(n) * 0.01
    numpy.save("k.nodes.npy", numpy.column_stack([x, numpy.sin(x), x > 9])[random.permutation(n)])
    for method in ("spline", "pchip"):
        run("-s", f"method={method}", "-s", "query=linspace(0, 399, 100000)", "k.nodes.npy")
        told, z = about("out/k"), curve("out/k")
        s = told["summary"]
        assert (s["method"], s["degree"], s["cells"], s["cells_by_barycentric"], s["lebesgue_constant"]) == (method, 3, n, 0, None), s
        assert abs(z["y"][0] - numpy.sin(z["x"])).max() < (1e-9 if method == "spline" else 1e-4)
        assert told["warnings"] == [] and (method == "spline" or (0 <= z["y"][1]).all() and (z["y"][1] <= 1).all()), told
    write("k2.nodes.csv", [0, 1, 2, 4], [0, 1, 8, 64])
    run("-s", "method=spline", "-s", "query=-1,3,4,5", "k2.nodes.csv")
    assert curve("out/k2")["y"][0].tolist() == [-1, 27, 64, 125]
    assert about("out/k2")["warnings"] == ["2 of 4 queries lie outside of the nodes, from 0 to 4: the curve is extrapolated there, "
                                           "and soon grows like x^3"]
    write("k3.nodes.csv", [5], [7])
    run("-s", "method=pchip", "-s", "query=0,5", "k3.nodes.csv")
    assert curve("out/k3")["y"][0].tolist() == [7, 7] and about("out/k3")["summary"]["degree"] == 0
    write("k4.nodes.csv", [0, 5e-324, 1], [0, 1, 1])
    run("-s", "method=spline", "-s", "query=0,5", "k4.nodes.csv", out="bad", status=1, says="k4.nodes.csv: between x = 0 and 4.9.*e-324 "
        "the curve is steeper than a double holds; scale x or y")
    print(f"pchip and spline of {n} nodes; what results say")


def dates():
    """Dates and times as x: the same curve as of their seconds, and told as dates."""
    at = [datetime.datetime(2024, 5, 1, 6, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=7 * h + h * h) for h in range(9)]
    seconds, y = numpy.array([t.timestamp() for t in at]), numpy.array([3, 1, 4, 1, 5, 9, 2, 6, 5])
    asked = ["2024-05-02", "2024-05-01T12:30", "2024-05-03 01:00:00.25", "2024-05-02T02:00:00+02:00", at[3].isoformat()]
    queries = numpy.array([1714608000, 1714566600, 1714698000.25, 1714608000, seconds[3]])
    write("d.nodes.csv", seconds, y)
    numpy.save("d.query.npy", queries)
    run("-s", "method=spline", "d.nodes.csv", "d.query.npy")
    want = curve("out/d")["y"]
    forms = {"h": ("site,when,level,changed", "a,{0},{1},2024-06-01"), "i": (None, "{0},{1}"), "j": ("when;level", "{0};{1},0"),
             "k": ("when\tlevel", '"{0}"\t{1}'), "l": ("t,v", "{2},{1}")}
    for name, (head, row) in forms.items():
        with open(f"d{name}.nodes.csv", "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in ([head] if head else []) +
                         [row.format(t.isoformat(), v, t.strftime("%Y-%m-%d %H:%M")) for t, v in reversed(list(zip(at, y)))])
        with open(f"d{name}.query.csv", "w", encoding="utf-8") as f:
            f.writelines(q + "\n" for q in (["when"] if head else []) + asked)
        run("-s", "method=spline", f"d{name}.nodes.csv", f"d{name}.query.csv")
        z, told = curve(f"out/d{name}"), about(f"out/d{name}")
        assert numpy.array_equal(z["x"], queries) and numpy.array_equal(z["y"], want) and numpy.array_equal(z["nodes_x"], seconds), name
        assert told["warnings"] == ([] if name != "h" else ['column 1 "site" holds no number: left out', 'column 4 "changed" holds dates: left out']), (name, told["warnings"])
        s = told["summary"]
        assert s["x_unit"] == "seconds since 1970-01-01T00:00:00Z" and s["hits"] == 3 and s["n_curves"] == 1, s
        assert [s[k] for k in ("nodes_from", "queries_from", "queries_to")] == [
            "2024-05-01T06:00:00Z", "2024-05-01T12:30:00Z", "2024-05-03T01:00:00.250000Z"], s
    with gzip.open("out/dh/curve.csv.gz", "rt") as f:
        text = f.read().split("\n")
    assert text[0] == "x,level" and [row.split(",")[0] for row in text[1:4]] == [
        "2024-05-02T00:00:00Z", "2024-05-01T12:30:00Z", "2024-05-03T01:00:00.250000Z"], text
    assert [float(row.split(",")[1]) for row in text[1:-1]] == want[0].tolist()
    run("-s", "method=spline", "-s", "query=" + ", ".join(asked), "dh.nodes.csv")
    assert numpy.array_equal(curve("out/dh")["y"], want)
    run("-s", "query=linspace(2024-05-01, 2024-05-03T12:00, 61)", "-s", "method=pchip", "dh.nodes.csv", figure="png")
    assert numpy.array_equal(curve("out/dh")["x"], numpy.linspace(1714521600, 1714737600, 61))
    assert "from 2024-05-01T06:00:00Z to 2024-05-06T06:00:00Z: the curve is extrapolated there" in about("out/dh")["warnings"][2]
    write("dm.nodes.csv", [2024.5, 2025], [0, 1])
    run("-s", "query=2024.75", "dm.nodes.csv")
    assert about("out/dm")["summary"]["x_unit"] is None
    for text, query, says in (
            ("t,v\n2024-05-01,1\n20240502,2\n", "2024-05-01", 'line 3, column 1 .t.: "20240502" is no date, as the column\'s others are'),
            ("2024-02-30,1.5\n2024-03-01,2\n2024-03-02,3\n", "2024-03-01", 'line 1, column 1: "2024-02-30" is no date'),
            ("31.4.2024,1.5\n2024-03-01,2\n2024-03-02,3\n", "2024-03-01", 'line 1, column 1: "31.4.2024" is no date'),
            ("2024-02-30\t1.2.3\n2024-02-29\t2\n2024-03-02\t3\n", "2024-03-01", 'line 1, column 1: "2024-02-30" is no date'),
            ("1.2.3,1.5\n2,3\n3,4\n", "2", 'line 1, column 1: "1.2.3" is not a number'),
            ("t,v\n5,1\n2024-05-02,2\n", "5",
             'line 3, column 1 .t.: "2024-05-02" is a date, where the column has numbers; write all of them as dates, or all as numbers$'),
            ("t,v\n5,1\n6,2\n7,2024-05-02\n", "5",
             r'line 4, column 2 .v.: "2024-05-02" is a date, not a number .*; if it stands for a missing number: -s missing_value=2024-05-02$'),
            ("t,v\n2024-05-01,1\n,2\n", "2024-05-01", "line 3: x is missing"),
            ("t,v\n2024-05-01T12:00,1\n2024-05-01T14:00+02:00,2\n", "2024-05-01",
             r"line 3 has the same x as line 2 \(2024-05-01T12:00:00Z\)"),
            ("t,v\n2024-05-01,1\n2024-05-02,2\n", "1714521600", "x of the nodes are dates, but the queries are numbers"),
            ("t,v\n1,1\n2,2\n", "2024-05-01", "x of the nodes are numbers, but the queries are dates")):
        with open("dn.nodes.csv", "w", encoding="utf-8") as f:
            f.write(text)
        run("-s", f"query={query}", "dn.nodes.csv", out="bad", status=1, says=says)
    with open("dn.nodes.csv", "w", encoding="utf-8") as f, open("dn.query.csv", "w", encoding="utf-8") as g:
        f.write("2024-05-01,1\n2024-05-03,2\n")
        g.write("2024-04-31\n2024-05-02\n2024-05-03\n")
    run("dn.nodes.csv", "dn.query.csv", out="bad", status=1, says='dn.query.csv: line 1, column 1: "2024-04-31" is no date')
    for query in ("2024-05-01, 5", "2024-05-32", "linspace(2024-05-01, 5, 3)", "2024-05-01:2024-06-01:1"):
        run("-s", f"query={query}", "dh.nodes.csv", out="bad", status=2, says="is neither .* of numbers or of dates such as 2024-05-01T12:30, nor a:b:step of numbers")
    print(f"dates and times as x: {len(forms)} forms, lists, linspace, mistakes")


def linspace():
    """The queries are those of NumPy, to the bit."""
    write("l.nodes.csv", [0, 1], [0, 1])
    cases = [(0, 1, 1), (0, 1, 2), (-1, 1, 1001), (0.1, 0.3, 300_001), (5, -3, 777), (1e-300, 2e300, 12345),
             (3, 3, 7), (0, 5e-324, 9), (-5e-324, 5e-324, 1000), (1 / 3, 2 / 3, 131072 * 5 + 1), (-0.0, 0, 3),
             (1e15, 1e15 + 1, 17), (0, 1e-310, 33)]
    for a, b, n in cases:
        run("--threads", "2", "--memory", "64M", "-s", f"query=linspace({a!r}, {b!r}, {n})", "l.nodes.csv")
        want, got = numpy.linspace(a, b, n), curve("out/l")["x"]
        assert got.dtype == "<f8" and want.tobytes() == got.tobytes(), (a, b, n)
    run("-s", "query=  linspace( 0 ,1e0,1e3 )  ", "l.nodes.csv")
    assert curve("out/l")["x"].tobytes() == numpy.linspace(0, 1, 1000).tobytes()
    for text, want in (("1.5,2.5", [1.5, 2.5]), (" 0.25 ", [0.25]), ("3, -1e-3 ,3,0", [3, -1e-3, 3, 0]),
                       (",".join(map(str, range(900))), range(900))):
        run("-s", f"query={text}", "l.nodes.csv")
        assert curve("out/l")["x"].tolist() == list(want) == curve("out/l")["y"][0].tolist(), text
    told = about("out/l")
    assert (told["summary"]["queries_from"], told["summary"]["queries_to"], told["summary"]["n_queries"]) == (0, 899, 900)
    run("-s", "query=3, -1, 2", "l.nodes.csv")
    assert (about("out/l")["summary"]["queries_from"], about("out/l")["summary"]["queries_to"]) == (-1, 3)
    print(f"{len(cases)} linspaces: NumPy's bits; lists of queries")


def forms():
    """The same nodes and queries in every form give the same bits."""
    x, q = chebyshev(23, 0, 10), random.uniform(0, 10, 5000)
    y = [numpy.sin(x), x * x]
    numpy.save("f1.nodes.npy", numpy.column_stack([x, *y]))
    numpy.save("f1.query.npy", q)  # one dimension
    numpy.save("f2.nodes.npy", numpy.asfortranarray(numpy.column_stack([x, *y])))
    numpy.save("f2.query.npy", q[:, None])
    numpy.save("f3.query.npy", numpy.asfortranarray(q[:, None]))
    write("f3.nodes.csv.gz", x, *y, header="x,y1,y2", pack=True)
    write("f4.nodes.csv", x, *y)
    write("f4.query.csv.gz", q, pack=True)
    numpy.savez("f5.nodes.npz", table=numpy.column_stack([x, *y]))
    with open("f5.query.tsv", "w", encoding="utf-8") as f:
        f.write("when\tplace\n")
        f.writelines(f"Monday\t{v!r}\n" for v in q.tolist())
    for i in range(1, 6):
        run("-s", "method=chebyshev", *glob.glob(f"f{i}.*"))
    first = curve("out/f1")
    assert first["y"].shape == (2, 5000) and first["names"].tolist() == ["y1", "y2"]
    for i in range(2, 6):
        other = curve(f"out/f{i}")
        assert all(first[k].tobytes() == other[k].tobytes() for k in first), i
    with gzip.open("out/f4/curve.csv.gz", "rt") as f:
        text = f.read().split("\n")
    assert text[0] == "x,y1,y2" and text[-1] == "" and len(text) == 5002
    assert numpy.array_equal(numpy.array([row.split(",") for row in text[1:-1]], dtype=float).T,
                             numpy.vstack([first["x"], first["y"]]))
    # Columns by name, of either part; queries in single precision stay so.
    write("c.nodes.csv", x, y[0], y[1], header="place,sine,square")
    write("c.query.csv", q, -q, header="q,other")
    run("-s", "columns=place,square", "-s", "query_columns=q", "-s", "method=chebyshev", "c.nodes.csv", "c.query.csv")
    z = curve("out/c")
    assert z["names"].tolist() == ["square"] and z["y"][0].tobytes() == first["y"][1].tobytes()
    numpy.save("s.query.npy", q.astype("f4"))
    shutil.copy("f4.nodes.csv", "s.nodes.csv")
    run("-s", "method=chebyshev", "s.nodes.csv", "s.query.npy")
    z = curve("out/s")
    assert z["x"].dtype == "<f4" and z["x"].tobytes() == q.astype("f4").tobytes()
    assert abs(z["y"][0] - numpy.sin(z["x"].astype("f8"))).max() < 1e-9
    print("every form of nodes and queries: the same bits")


def summary():
    """Counts, warnings and what is shown."""
    x = numpy.linspace(-1, 1, 60)
    write("e.nodes.csv", x, 1 / (1 + 25 * x * x))
    with open("e.query.csv", "w", encoding="utf-8") as f:
        f.write("q,w\n-2,a\n,a\n0.5,a\nNA,b\n%r,c\n1.5,d\n" % float(x[7]))
    done = leat("run", "--force", "-o", "out", "--json", "e.nodes.csv", "e.query.csv")
    told = about("out/e")
    line = json.loads(done.stdout)
    assert line["status"] == "ok" and line["summary"] == told["summary"] and line["warnings"] == told["warnings"]
    s = told["summary"]
    assert (s["n_nodes"], s["n_queries"], s["n_curves"], s["degree"]) == (60, 6, 1, 59), s
    assert (s["extrapolated"], s["hits"], s["missing"]) == (2, 1, 2), s
    assert told["shape"] == {"n_nodes": 60, "n_curves": 1, "n_queries": 6}
    # 2^n / (e n log n) is what A. Schoenhage (1961) found for n + 1 nodes at equal distances
    want = 59 - numpy.log2(numpy.e * 59 * numpy.log(59))
    assert abs(s["log10_lebesgue_constant"] / numpy.log10(2) - want) < 1, (s, want)
    assert 10 ** s["log10_lebesgue_constant"] / s["lebesgue_constant"] - 1 < 1e-9
    text = " | ".join(told["warnings"])
    for part in ("Lebesgue constant of these 60 nodes, at equal distances, is about", "take Chebyshev nodes",
                 "2 of 6 queries lie outside of the nodes, from -1 to 1", "2 of 6 queries are missing: their y is NaN"):
        assert part in text, (part, text)
    z = curve("out/e")
    assert numpy.isnan(z["x"]).tolist() == numpy.isnan(z["y"][0]).tolist() == [False, True, False, True, False, False]
    assert z["y"][0][4] == (1 / (1 + 25 * x * x))[7]
    with gzip.open("out/e/curve.csv.gz", "rt") as f:
        assert f.read().split("\n")[2] == "nan,nan"
    with open("out/e/curve.png", "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    write("g.nodes.csv", chebyshev(40), chebyshev(40))
    run("-s", "query=linspace(-0.9, 0.9, 10)", "g.nodes.csv")
    told = about("out/g")
    assert told["warnings"] == [] and told["summary"]["lebesgue_constant"] < 4, told
    assert told["summary"]["method"] == "barycentric" and "few" in told["summary"]["method_why"], told
    run("-s", "query=linspace(-0.9, 0.9, 1e6)", "g.nodes.csv")
    told = about("out/g")
    assert told["summary"]["method"] == "chebyshev" and "many" in told["summary"]["method_why"], told
    assert "curve.csv.gz" in data_files("out/g")
    run("-s", "query=linspace(-0.9, 0.9, 1000001)", "-s", "method=chebyshev", "g.nodes.csv")
    told = about("out/g")
    assert "as asked" in told["summary"]["method_why"] and "curve.csv.gz" not in data_files("out/g")
    assert any("curve.csv.gz is left out" in w for w in told["warnings"]), told
    # All queries are missing, or one: there is a picture all the same.
    for name, queries in (("n", [float("nan")] * 3), ("o", [0.3])):
        numpy.save(f"{name}.query.npy", numpy.array(queries))
        shutil.copy("g.nodes.csv", f"{name}.nodes.csv")
        run(f"{name}.nodes.csv", f"{name}.query.npy", figure="png")
        assert len(data_files(f"out/{name}")["curve.png"]) > 1000
    print("counts, warnings, choice of the method, --json")


def swings():
    """A curve that leaves the range of its nodes is warned of, whatever the Lebesgue constant; what the warning says to do helps."""
    def warnings_of(name, x, y):
        write(f"{name}.nodes.csv", x, y)
        run("-s", "query=linspace(%r, %r, 1000)" % (float(x[0]), float(x[-1])), f"{name}.nodes.csv")
        z = curve(f"out/{name}")["y"][0]
        return about(f"out/{name}")["warnings"], z.min(), z.max()
    hours = numpy.arange(24.0)
    day = numpy.round(15 - 8 * numpy.cos(2 * numpy.pi * (hours - 3) / 24) + 0.3 * numpy.cos(9.1 * hours), 1)
    told, low, high = warnings_of("day", hours, day)
    assert low < -1000 and high > 1000 and len(told) == 1, (low, high, told)
    for part in ("the curve of 'y1' swings from about -", "between its 24 nodes, whose y go from %.4g to %.4g:" % (min(day), max(day)),
                 "take method=floater-hormann, which mostly stays near the nodes, or method=pchip"):
        assert part in told[0], (part, told)
    said = [float(word) for word in re.search("about (.*) to (.*) between", told[0]).groups()]
    assert 1 < low / said[0] < 1.1 and 1 < high / said[1] < 1.1, (told, low, high)
    for method in re.findall("method=[-a-z]+", told[0]):
        run("-s", "query=linspace(0, 23, 1000)", "-s", method, "day.nodes.csv")
        assert about("out/day")["warnings"] == [] and 0 < curve("out/day")["y"].min() < curve("out/day")["y"].max() < 30, method
    runge = numpy.linspace(-1, 1, 21)
    write("r.nodes.csv", runge, 1 / (1 + 25 * runge**2))
    run("-s", "query=linspace(-1, 1, 1000)", "r.nodes.csv")
    told = about("out/r")["warnings"]
    assert len(told) == 1 and "the curve of 'y1' swings from about -5" in told[0], told
    many = numpy.cos(numpy.pi * numpy.arange(1500) / 1499)  # more gaps than are looked at
    assert warnings_of("calm", many, numpy.sin(9 * many))[0] == []
    told, _, _ = warnings_of("wild", numpy.linspace(-1, 1, 1500), numpy.sin(9 * many))
    assert len(told) == 2 and "the Lebesgue constant of these 1500" in told[0] and "swings from" in told[1], told
    runge = numpy.linspace(-1, 1, 15)  # to one side alone
    told, low, high = warnings_of("up", runge, 1 / (1 + 25 * runge**2))
    assert low > -1 and high > 2 and len(told) == 1 and "the curve of 'y1' swings" in told[0], (low, high, told)
    told, low, high = warnings_of("down", runge, -1 / (1 + 25 * runge**2))
    assert low < -2 and high < 1 and len(told) == 1 and "the curve of 'y1' swings" in told[0], (low, high, told)
    print("curves that swing")


# --- the same bytes ------------------------------------------------------------------------------------------------


def same_pieces():
    """Where pieces of curve.npz end depends on the place in the array alone."""
    n = 150_001 if FEW else 600_001  # more than a piece of x, or four, and the begin of another
    x, queries = chebyshev(9), random.uniform(-1, 1, n)
    for curves in (7,) if SMALL else (1, 9 if FEW else 30):
        write("p.nodes.csv", x, *(numpy.cos((1 + c) * x) for c in range(curves)))
        # x and y are cut each by itself: with y many times as long, the least and the most even ways in are enough
        for form in ("linspace", "csv") if FEW or curves > 1 else ("linspace", "npy", "f4", "csv"):
            inputs = ["p.nodes.csv"] if form == "linspace" else ["p.nodes.csv", f"p.query.{form.replace('f4', 'npy')}"]
            if form == "csv":
                write("p.query.csv", queries)
            elif form != "linspace":
                numpy.save("p.query.npy", queries.astype("f4" if form == "f4" else "f8"))
            options = ["-s", f"query=linspace(-1, 1, {n})"] if form == "linspace" else []
            seen = set()
            for threads, memory in (("1", "64M"), ("8", "512M")) if FEW else (("1", "64M"), ("2", "4G"), ("8", "512M")):
                run("--threads", threads, "--memory", memory, *options, *inputs)
                seen.add(hashlib.sha256(open("out/p/curve.npz", "rb").read()).hexdigest())
            assert len(seen) == 1, (curves, form)
            for name in inputs[1:]:
                os.remove(name)


def same_bytes():
    n = 60_000 if SMALL else 150_000 if FEW else 400_000
    x = chebyshev(40)
    write("t.nodes.csv", x, numpy.exp(x), numpy.cos(9 * x), abs(x))
    write("t.query.csv", random.uniform(-1.01, 1.01, n))
    first = None
    ways = [("--threads", "1"), ("--threads", "2", "--memory", "64M"), ("--threads", "8", "--memory", "2G")]
    if not FEW:
        ways += [("--threads", str(t)) for t in (2, 3, 5, 8)]
    for options in ways:
        run(*options, "t.nodes.csv", "t.query.csv", figure="png")
        files = {k: v for k, v in data_files("out/t").items()}
        run(*options, "-s", f"query=linspace(-1.01, 1.01, {n})", "t.nodes.csv", figure="png")
        files.update({"line-" + k: v for k, v in data_files("out/t").items()})
        first = first or files
        assert first == files, options
    wanted = {"curve.npz", "curve.png", "report.html"} | ({"curve.csv.gz"} if 3 * n <= 1_000_000 else set())
    assert set(first) == wanted | {"line-" + name for name in wanted}, sorted(first)
    same_pieces()
    print(f"{len(ways)} numbers of threads and sizes of blocks: the same bytes")


# --- memory --------------------------------------------------------------------------------------------------------


def peak_run(bound_mib, *arguments):
    """Runs within a bound of resident memory; from a small process, whose own memory counts, too."""
    peak = os.path.join(HERE, "peak.py")
    done = subprocess.run([sys.executable, peak, str(bound_mib * 2**20), LEAT, "run", "-q", "-b", BACKEND, "--force",
                           "-o", "out", *arguments], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, arguments
    return done.stdout.strip()


def memory():
    n = 300_000 if SMALL else 5_000_000  # 229 MiB of numbers, more than --memory and 150 MB
    x = chebyshev(50)
    write("m.nodes.csv", x, numpy.exp(x), numpy.sin(x), x, x * x, x**3)
    queries = numpy.lib.format.open_memmap("m.query.npy", "w+", "<f8", (n,))
    for begin in range(0, n, 1_000_000):
        queries[begin:begin + 1_000_000] = random.uniform(-1, 1, min(1_000_000, n - begin))
    del queries
    within = 64 + 150_000_000 / 2**20  # --memory and 150 MB
    if BACKEND == "cuda":  # the driver of a device has memory of its own, whatever the job
        driver = peak_run(float("inf"), "--threads", "2", "--memory", "64M", "-s", "query=linspace(-1, 1, 9)", "m.nodes.csv")
        own = peak_run(within, "-b", "cpu", "--threads", "2", "--memory", "64M", "-s", "query=linspace(-1, 1, 9)", "m.nodes.csv")
        within += (float(driver.split()[0]) - float(own.split()[0])) * 1e6 / 2**20
    mib = peak_run(within, "--threads", "2", "--memory", "64M", "m.nodes.csv", "m.query.npy")
    z = curve("out/m")
    assert z["y"].shape == (5, n) and abs(z["y"][0] - numpy.exp(z["x"])).max() < 1e-14
    assert about("out/m")["summary"]["n_queries"] == n
    del z
    line = peak_run(within, "--threads", "2", "--memory", "64M", "-s", f"query=linspace(-1, 1, {n})", "m.nodes.csv")
    x, y = begin_of_curve("out/m", n // 5)
    assert x.tobytes() == numpy.linspace(-1, 1, n).tobytes() and abs(y[1] - numpy.sin(x[:n // 5])).max() < 1e-14
    about("out/m")
    print(f"{n:.0e} queries, {6 * 8 * n / 2**20:.0f} MiB of numbers, --memory 64M: {mib} from a file, {line} "
          "from a linspace")
    shutil.rmtree("out/m")
    os.unlink("m.query.npy")
    # What cannot be is refused at once, with the number of bytes.
    numpy.save("w.nodes.npy", random.uniform(size=(2000, 2000)))
    run("--threads", "2", "--memory", "64M", "-s", "query=linspace(0, 1, 5)", "w.nodes.npy", status=1,
        says="needs [0-9]+ bytes of host memory")
    numpy.save("w.nodes.npy", numpy.column_stack([numpy.arange(32769.0)] * 2))
    run("-s", "query=linspace(0, 1, 5)", "w.nodes.npy", status=1, says="has more than 32768 nodes")
    write("w2.nodes.csv", numpy.arange(40000.0), numpy.arange(40000.0))
    run("-s", "query=linspace(0, 1, 5)", "w2.nodes.csv", status=1, says="has more than 32768 nodes.*take method=pchip or method=spline")
    run("-s", "query=linspace(0, 1, 5)", "-s", "method=pchip", "w2.nodes.csv")
    leat("check", "-q", "-s", "query=linspace(0, 1, 5)", "w2.nodes.csv", status=1, says="has more than 32768 nodes")


# --- mistakes ------------------------------------------------------------------------------------------------------


def refused(says, nodes="x,y\n0,1\n1,2\n", query="0.5\n", *arguments, status=1):
    for name, content in (("r.nodes.csv", nodes), ("r.query.csv", query)):
        if content is None and os.path.exists(name):
            os.unlink(name)
        elif content is not None:
            with open(name, "w", encoding="utf-8") as f:
                f.write(content)
    files = ["r.nodes.csv"] + (["r.query.csv"] if query is not None else [])
    run(*arguments, *files, out="bad", status=status, says=says)
    assert not os.path.exists("bad/r"), says


def mistakes():
    line = ("-s", "query=linspace(0, 1, 5)")
    refused(r"r.nodes.csv: line 4 has the same x as line 2 \(0\.25\); a curve has one y for each x",
            "x,y\n0.25,1\n1,2\n0.25,1\n")
    refused(r"line 9 has the same x as line 3 \(0\.25\)",
            "# c\nx,y\n0.25,1\n# between\n\n1,2\n,\n# two\n0.25,1\n\n")
    refused(r"line 5005 has the same x as line 3 \(0\)",  # further than one chunk
            "# c\nx,y\n" + "".join(f"{i},{i:0200}.5\n" for i in range(5000)) + "#\n#\n0,1\n")
    refused(r"row 3 has the same x as row 1 \(0\.25\)", 'n,x,y\n"a\nb",0.25,1\nc,1,2\nd,0.25,1\n')
    refused(r"line 2 has the same x as line 1 \(-?0\)", "-0,1\n0,2\n1,3\n")
    refused(r"line 3: y is missing; every node needs all its numbers", "x,y\n0,1\n1,\n2,5\n")
    refused(r"line 3: x is missing", "x,y\n0,1\nNA,1\n2,5\n")
    refused(r"line 2: sine is missing", "x,y,sine\n0,1,\n1,2,3\n")
    refused(r"one column of numbers; nodes have at least two: x", "x\n1\n2\n")
    refused(r"has 2 columns of numbers; queries are one column: choose it with query_columns=NAME",
            query="a,b\n1,2\n3,4\n")
    for query in ("a,b\n1,2\n3,4\n", "1,2\n3,4\n", "site,a,b\nx,1,2\ny,3,4\n", '"a, b",c\n1,2\n3,4\n'):
        refused(r"-s query_columns=[12], or another one", query=query)
        hint = re.search(r"query_columns=\d+", run("r.nodes.csv", "r.query.csv", out="bad", status=1).stderr)[0]
        run("-s", hint, "r.nodes.csv", "r.query.csv", out="hinted")
        assert curve("hinted/r")["x"].tolist() == [1, 3], (query, hint)
    with open("r.query.csv", "w", encoding="utf-8") as f:
        f.write("q\n0,25\n0,5\n")  # one column, whose commas are decimal
    run("r.nodes.csv", "r.query.csv", out="hinted")
    assert curve("hinted/r")["x"].tolist() == [0.25, 0.5]
    assert "one column with decimal commas" in " ".join(about("hinted/r")["warnings"])
    refused(r"r.query.csv: line 1, column 1: .inf. is infinite", query="inf\n")
    refused(r"r.nodes.csv: line 3, column 2: .oops. is not a number", "0,1\n1,2\n2,oops\n")
    refused(r"interpolate also needs r.query.\* or the parameter query",
            query=None)
    refused(r"r.query.csv: the parameter query \('linspace\(0, 1, 5\)'\) takes the place of X.query.\*; leave out query,",
            "x,y\n0,1\n1,2\n0,1\n", "0.5\n", *line)
    for text, why in (("linspace(0, 1)", "is neither linspace"), ("linspace(0, 1, 5", "n is not a whole number"),
                      ("linspace(0, 1, 0)", "from 1 to 1000000000000000"), ("linspace(0, 1, 1.5)", "whole number"),
                      ("linspace(0, 1, -3)", "whole number"), ("linspace(0, nan, 3)", "is neither linspace"),
                      ("linspace(0, inf, 3)", "is neither linspace"), ("linspace(0, 1e999, 3)", "is neither linspace"),
                      ("linspace(-1e308, 1e308, 3)", "too large for a double"), ("linspace(0, 1, 5) x", "goes on"),
                      ("arange(3)", "is neither linspace"), ("linspace(0, 1, 2e15)", "whole number"),
                      ("0:1:5", "is not a:b:step"), ("1.5, x", "nor a list"), ("1.5,", "nor a list"),
                      ("1,,2", "nor a list"), ("1 2", "nor a list"), ("1,inf", "nor a list")):
        refused(rf"query: '{re.escape(text)}'.*{why}", "x,y\n0,1\n1,2\n", None, "-s", f"query={text}", status=2)
    refused(r"method: 'cubic' is not one of .*auto\|chebyshev", "x,y\n0,1\n1,2\n", None, "-s", "method=cubic", *line, status=2)
    for array in (numpy.array([0.5, numpy.inf]), numpy.array([-numpy.inf])):
        numpy.save("i.query.npy", array)
        write("i.nodes.csv", [0, 1], [0, 1])
        run("i.nodes.csv", "i.query.npy", out="bad", status=1, says=rf"i.query.npy: query {len(array)} is infinite")
    numpy.save("i.nodes.npy", numpy.array([[0, 1], [1, numpy.inf]]))
    run(*line, "i.nodes.npy", out="bad", status=1, says=r"i.nodes.npy: row 2: y1 is infinite")
    numpy.save("i.nodes.npy", numpy.asfortranarray([[0, 1, 4], [1, 2, 3], [2, numpy.nan, 1]]))
    run(*line, "i.nodes.npy", out="bad", status=1, says=r"i.nodes.npy: row 3: y1 is missing")
    numpy.save("i.nodes.npy", numpy.arange(9.0))
    run(*line, "i.nodes.npy", out="bad", status=1, says=r"one column of numbers")
    numpy.save("i.nodes.npy", numpy.arange(2.0))
    run(*line, "i.nodes.npy", out="bad", status=1, says=r"one column of numbers")
    numpy.save("one.nodes.npy", numpy.array([[0.25, 7, 8]]))  # one node of two curves
    run(*line, "one.nodes.npy")
    assert curve("out/one")["y"].tolist() == [[7] * 5, [8] * 5]
    assert about("out/one")["warnings"] == [
        "4 of 5 queries lie outside of the nodes, from 0.25 to 0.25: the polynomial is extrapolated there"]
    numpy.save("i.nodes.npy", numpy.array([[-1e308, 1], [1e308, 2]]))
    run(*line, "i.nodes.npy", out="bad", status=1, says=r"i.nodes.npy: ")
    numpy.save("i.query.npy", numpy.zeros((3, 2)))
    run("i.nodes.csv", "i.query.npy", out="bad", status=1, says=r"i.query.npy: has 2 columns of numbers; "
        r"queries are one column: save that column alone")
    # A table of another name, where one file is enough.
    write("plain.csv", [0, 1, 2], [0, 1, 4], header="x,y")
    run("-p", "interpolate", *line, "plain.csv")
    assert curve("out/plain")["y"].tolist() == [[0, 1 / 16, 1 / 4, 9 / 16, 1]]
    run("-p", "interpolate", "plain.csv", out="bad", status=2,
        says=r"takes 2 files a job; name them X.nodes.csv and X.query.csv, or set query in place of the last")
    assert not os.path.exists("bad"), os.listdir("bad")
    print("mistakes: each with its message, and nothing left")


def checked():
    write("k.nodes.csv", [0, 1, 2], [0, 1, 4], header="x,y")
    write("k.query.csv", [0.5] * 1000)
    done = leat("check", "--json", "k.nodes.csv", "k.query.csv")
    told = json.loads(done.stdout)
    assert told["pipeline"] == "interpolate" and told["status"] == "ok" and len(told["inputs"]) == 2, told
    assert told["memory"]["host_bytes"] > 0
    told = json.loads(leat("check", "--json", "-s", "query=linspace(0, 2, 1e9)", "k.nodes.csv").stdout)
    assert told["status"] == "ok" and len(told["inputs"]) == 1 and told["parameters"]["query"] == "linspace(0, 2, 1e9)"
    bytes_of = told["memory"]["host_bytes"] + told["memory"]["backend_bytes"]
    assert bytes_of < 200e6, told["memory"]
    leat("check", "-s", "query=linspace(0, 2)", "k.nodes.csv", status=2, says="is neither linspace")
    with open("k.query.csv", "a", encoding="utf-8") as f:
        f.write("oops\n")
    leat("check", "k.nodes.csv", "k.query.csv", status=1, says="line 1001, column 1: .oops.")
    print("check: shapes, memory, mistakes")


def cancelled():
    """A billion queries under way: stopped at once, and nothing is left."""
    write("z.nodes.csv", chebyshev(30), chebyshev(30))
    os.makedirs("stopped", exist_ok=True)
    child = subprocess.Popen([LEAT, "run", "-q", "-b", BACKEND, "--memory", "256M", "-o", "stopped",
                              "-s", "query=linspace(-1, 1, 1e9)", "z.nodes.csv"], stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + WAIT_S
    while not glob.glob("stopped/.leat.*/curve.npz*") and not glob.glob("stopped/.*/*"):
        assert child.poll() is None and time.monotonic() < give_up, (child.poll(), os.listdir("stopped"))
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert child.wait(WAIT_S) == -signal.SIGINT, child.returncode
    took = time.monotonic() - begun
    assert os.listdir("stopped") == [], os.listdir("stopped")
    print("a billion queries, stopped: gone in %.2f s" % took)


# --- the service ---------------------------------------------------------------------------------------------------


def service():
    if BACKEND != "cpu":
        return
    x = chebyshev(12)
    nodes = "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), (x**3).tolist()))
    queries = "0\n0.25\n"
    spool = os.path.abspath("spool")
    config = os.path.abspath("leat.conf")
    for parameters, parts in (("", 2), ("[pipeline interpolate]\nquery = linspace(0, 1, 5)\n", 1)):
        shutil.rmtree(spool, ignore_errors=True)
        with open(config, "w", encoding="utf-8") as f:
            f.write(parameters)
        s = Service(spool, "-c", config, *["--done-file"] * (parts == 1))  # a marker is not a part
        s.drop("a.nodes.csv", nodes)
        if parts == 1:
            s.until(lambda: "waits for a.nodes.csv.done" in s.waits().get("in/a.nodes.csv", ""), "that it waits")
            s.drop("a.nodes.csv.done", "")
        if parts == 2:
            s.until(lambda: "waits for a.query.* or the parameter query" in s.waits().get("in/a.nodes.csv", ""),
                    "what the nodes wait for")
            s.drop("a.query.csv", queries)
        else:
            s.drop("b.query.csv", queries)
            s.until(lambda: "takes the place of X.query.*" in s.waits().get("in/b.query.csv", ""),
                    "why the queries are not taken")
        s.done(["a.nodes.csv"], "the job")
        z = curve(os.path.join(spool, "out/a"))
        want = [0.0, 0.25] if parts == 2 else numpy.linspace(0, 1, 5).tolist()
        s.check(z["x"].tolist() == want and numpy.allclose(z["y"][0], numpy.array(want)**3, atol=1e-14), "its numbers")
        s.check(len(about(os.path.join(spool, "out/a"))["inputs"]) == parts, "its inputs")
        s.drop("bad.nodes.csv", "x,y\n0,1\n0,2\n")
        s.drop(*(("bad.nodes.csv.done", "") if parts == 1 else ("bad.query.csv", queries)))
        s.until(lambda: "bad.nodes.csv" in s.reasons(), "a failure")
        s.check("has the same x as" in s.reasons()["bad.nodes.csv"]["reason"], "its reason")
        s.stop()
        s.is_clean()
    print("the service: with queries, and with the parameter in their place")


THREADED = forms, same_bytes, cancelled, service
for part in THREADED if THREADS_ALONE else (bound, rational, pieces, dates, linspace, forms, summary, swings, same_bytes, memory, mistakes, checked,
                                            cancelled, service):
    part()
