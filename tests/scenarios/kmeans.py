"""The pipeline kmeans, whole program: every way that points come, the definition with NumPy, the same bytes for any
number of threads and any memory, edges, and what is refused. LEAT_TEST_BACKEND chooses the backend."""
# ctest: long asan=soak
import glob
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import time

from lib import BACKEND, LEAT, THREADS_ALONE, WATCHED, begin

begin("numpy")
import numpy as np

rng = np.random.default_rng(12)
NUMBERS = ["kmeans.npz", "labels.csv.gz", "centroids.csv.gz"]
FILES = [*NUMBERS, "scatter.png"]


def run(*arguments, status=0, says=None, verb="run"):
    """Runs the program; its standard output."""
    command = [LEAT, verb, "-b", BACKEND, *(["-q"] if verb == "run" else []), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = done.stderr.decode()
    assert done.returncode == status, (arguments, done.returncode, said)
    assert says is None or re.search(says, said), (says, said)
    return done.stdout.decode()


def cluster(path, *options, out="out", flags=(), figure="none"):
    """One run, unless the options say otherwise; without a figure, unless it is looked at."""
    run("--force", "-o", out, *flags, path,
        *[word for o in ("n_init=1", f"figure={figure}", *options) for word in ("-s", o)])
    return load(out, os.path.basename(path).split(".")[0])


def load(out, stem):
    folder = os.path.join(out, stem)
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        told = json.load(f)
    z = np.load(os.path.join(folder, "kmeans.npz"))
    check_text(folder, z)
    return z, told


def check_text(folder, z):
    """The text tables say the same as the arrays."""
    with gzip.open(os.path.join(folder, "labels.csv.gz"), "rt", encoding="utf-8") as f:
        head, *rows = f.read().splitlines()
    assert head in ("row,cluster", "row,name,cluster"), head
    assert [int(r.rsplit(",", 1)[1]) for r in rows] == z["labels"].tolist()
    assert [int(r.split(",", 1)[0]) for r in rows] == list(range(len(rows)))
    with gzip.open(os.path.join(folder, "centroids.csv.gz"), "rt", encoding="utf-8") as f:
        rows = f.read().splitlines()[1:]
    text = np.array([[float(x) for x in r.split(",")] for r in rows])
    assert np.array_equal(text[:, 0], np.arange(len(text))) and np.array_equal(text[:, 1], z["counts"])
    assert np.array_equal(text[:, 2], z["within"]) and np.array_equal(text[:, -z["centroids"].shape[1]:], z["centroids"])
    assert "weight" not in z or np.array_equal(text[:, 3], z["weight"])


def hashes(out, stem, names=FILES):
    found = []
    for name in names:
        with open(os.path.join(out, stem, name), "rb") as f:
            found.append(hashlib.sha256(f.read()).hexdigest())
    return found


def lloyd(x, k, tol=1e-4, max_iter=300):
    """The definition, from the first k points; an empty cluster takes the farthest point."""
    x = np.asarray(x, dtype=np.float64)
    c, tolerance = x[:k].copy(), tol * x.var(axis=0).mean()
    for n in range(1, max_iter + 1):
        labels, new = nearest(x, c), c.copy()
        empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
        if len(empty) > 0:
            labels[((x - c[labels]) ** 2).sum(axis=1).argmax()] = empty[0]
        for i in np.unique(labels):
            new[i] = x[labels == i].mean(axis=0, dtype=np.longdouble)
        shift, c = ((new - c) ** 2).sum(), new
        if shift <= tolerance and len(empty) == 0:
            break
    return nearest(x, c), c, n


def nearest(x, c):
    d2 = np.zeros((len(x), len(c)))
    for j in range(x.shape[1]):
        d2 += (x[:, j, None] - c[None, :, j]) ** 2
    return d2.argmin(axis=1)


def heaps(n, d, k):
    centres = rng.uniform(-20, 20, (k, d))
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def write_csv(name, x, header=None, names=None, pack=False):
    with (gzip.open(name, "wt", 1) if pack else open(name, "w", encoding="utf-8")) as f:
        if header:
            f.write(",".join((["id"] if names else []) + header) + "\n")
        for i, row in enumerate(x.tolist()):
            f.write(",".join(([names[i]] if names else []) + list(map(repr, row))) + "\n")


def oracle():
    for n, d, k in ((1, 1, 1), (40, 1, 3), (1000, 2, 5), (3000, 7, 12), (500, 1000, 3)):
        for dtype in ("f4", "f8"):
            x = heaps(n, d, k).astype(dtype)
            np.save("x.points.npy", x)
            labels, centroids, n_iterations = lloyd(x, k)
            z, told = cluster("x.points.npy", f"k={k}", "init=first")
            assert np.array_equal(z["labels"], labels) and z["labels"].dtype == np.int32, (n, d, k, dtype)
            assert np.allclose(z["centroids"], centroids, rtol=1e-12, atol=1e-12), (n, d, k, dtype)
            assert z["n_iterations"] == n_iterations == told["summary"]["n_iterations"], (n, d, k, dtype)
            assert np.array_equal(z["counts"], np.bincount(labels, minlength=k))
            within = np.array([((x[labels == i].astype("f8") - centroids[i]) ** 2).sum() for i in range(k)])
            assert np.allclose(z["within"], within, rtol=1e-11, atol=1e-11)
            assert np.isclose(z["inertia"], within.sum(), rtol=1e-11, atol=1e-11)
            assert told["shape"] == {"n_points": n, "n_columns": d}


def scales():
    """Distances, and the tolerance, are those of the columns times the factors that are reported."""
    x = heaps(2000, 3, 6) * [1, 1000, 0.001] + rng.normal(size=(2000, 3)) * [2, 2000, 0.01]
    np.save("x.points.npy", x)
    for scale, spread in (("unit", x.std(axis=0)), ("range", np.ptp(x, axis=0))):
        z, _ = cluster("x.points.npy", "k=6", "init=first", f"scale={scale}")
        assert np.allclose(z["scale"] * spread, 1, rtol=1e-12), (scale, z["scale"])
        labels, centroids, n_iterations = lloyd(x * z["scale"], 6)
        assert np.array_equal(z["labels"], labels) and z["n_iterations"] == n_iterations, (scale, z["n_iterations"])
        assert np.allclose(z["centroids"] * z["scale"], centroids, rtol=1e-11, atol=1e-11), scale


def components():
    """What the picture shows: NumPy's principal components, or the columns that are named."""
    cube = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    for x in (heaps(900, 3, 4), heaps(900, 7, 4) * [1, 2, 5, 1, 9, 1, 1] + 1e6, heaps(300, 60, 5), heaps(200, 150, 3),
              heaps(2, 5, 1), np.hstack([heaps(50, 3, 2), np.full((50, 1), 7.0)])):
        for scale in ("none", "unit"):
            np.save("x.points.npy", x)
            z, told = cluster("x.points.npy", "k=2", f"scale={scale}")
            y = (x - x.mean(axis=0)) * z["scale"]
            _, size, v = np.linalg.svd(y, full_matrices=False)
            share = size ** 2 / (size ** 2).sum()
            assert np.allclose(z["variance_share"], share[:2], rtol=1e-8, atol=1e-12), (x.shape, share[:3])
            assert told["summary"]["variance_share"] == z["variance_share"].tolist()
            for got, want in list(zip(z["components"], v))[:len(x) - 1]:  # with its largest number above 0
                assert np.isclose(abs(got @ want), 1, rtol=1e-12) and got.max() >= -got.min(), (x.shape, scale, got, want)
    for x, share in ((cube, 1 / 3), (np.ones((9, 4)), 0)):  # no direction before others; none at all
        np.save("x.points.npy", x)
        z, told = cluster("x.points.npy", "k=1")
        assert np.allclose(z["variance_share"], share) and np.allclose(z["components"] @ z["components"].T, np.eye(2))
    write_csv("x.points.csv", heaps(90, 3, 2), ["a", "b", "the third"], [f"n{i}" for i in range(90)])
    for axes in ("the third,a", "the third, 2"):
        z, told = cluster("x.points.csv", "k=2", f"axes={axes}", figure="svg")
        assert "components" not in z and told["summary"]["variance_share"] == [], axes
    for axes, says in (("the thrid,a", 'axes: no column "the thrid"; did you mean "the third"'), ("a", "write two"),
                       ("a,1", 'no column "1" with numbers is read; .* a number from 2 to 4'), ("a,", 'no column ""')):
        run("-o", "bad", "x.points.csv", "-s", f"axes={axes}", status=1, says=says)
        run("x.points.csv", "-s", f"axes={axes}", status=1, says=says, verb="check")


def weighted():
    """Points with weights: a whole number counts as so many points; the same bits in any unit and any place of the column."""
    x, k = heaps(3000, 4, 6), 6
    count = rng.integers(0, 4, 3000)
    count[:k] = 1
    near, far = np.repeat(x, count, axis=0), np.insert(x, 4, count, axis=1)
    np.save("r.points.npy", near)
    np.save("x.points.npy", far)
    want, _ = cluster("r.points.npy", f"k={k}", "init=first", "tol=0")
    z, told = cluster("x.points.npy", f"k={k}", "init=first", "tol=0", "weight=5")
    assert np.array_equal(np.repeat(z["labels"], count), want["labels"]) and np.array_equal(z["labels"], nearest(x, z["centroids"]))
    assert np.allclose(z["centroids"], want["centroids"], rtol=1e-14, atol=1e-14)
    assert np.isclose(z["inertia"], want["inertia"], rtol=1e-12) and np.allclose(z["within"], want["within"], rtol=1e-12)
    assert np.array_equal(z["weight"], np.bincount(want["labels"])) and np.array_equal(z["counts"], np.bincount(z["labels"]))
    assert told["shape"] == {"n_points": 3000, "n_columns": 4} and len(z["scale"]) == 4 and z["components"].shape == (2, 4)
    assert told["summary"]["weight"] == z["weight"].tolist() and told["warnings"] == [], told["warnings"]
    seeded = ["n_init=3", f"k={k}"]
    cluster("x.points.npy", *seeded, "weight=5")
    bytes_of = hashes("out", "x", ["labels.csv.gz"])
    centroids = load("out", "x")[0]["centroids"]
    for at, unit, flags in ((4, 2.0 ** 90, []), (0, 2.0 ** -900, []), (2, 8, ["--threads", "1"]), (4, 1, ["--threads", "2", "--memory", "30M"])):
        np.save("y.points.npy", np.insert(x, at, count * unit, axis=1))
        z, told = cluster("y.points.npy", *seeded, f"weight={at + 1}", flags=flags)
        assert hashes("out", "y", ["labels.csv.gz"]) == bytes_of and np.array_equal(z["centroids"], centroids), at
        assert np.array_equal(z["weight"], np.bincount(z["labels"], count, k) * unit), unit
    write_csv("n.points.csv", np.insert(x[:, :3], 0, count, axis=1), ["how many", "a", "b", "c"], [f"p{i}" for i in range(3000)])
    z, _ = cluster("n.points.csv", "k=3", "weight=how many", "factors=1,2,3")
    assert z["columns"].tolist() == ["a", "b", "c"] and z["scale"].tolist() == [1, 2, 3]
    with gzip.open("out/n/centroids.csv.gz", "rt", encoding="utf-8") as f:
        assert f.readline() == "cluster,count,within,weight,a,b,c\n"
    labels = z["labels"]
    os.replace("out/n/centroids.csv.gz", "n.centroids.csv.gz")
    again, _ = cluster("n.points.csv", "centroids=file", "weight=how many", "factors=1,2,3", flags=["n.centroids.csv.gz"])
    assert np.array_equal(again["labels"], labels) and np.array_equal(again["within"], z["within"])
    os.remove("n.centroids.csv.gz")


def weighted_at_edges():
    """Weights that leave one point, or none; outliers without a weight; points that do not stay; what is refused."""
    x = heaps(400, 2, 3)
    w = np.ones(400)
    x[7], w[7] = 1e6, 0
    for init in ("k-means++", "first"):
        np.save("x.points.npy", np.column_stack([w, x]))
        z, _ = cluster("x.points.npy", "k=3", "n_init=10", f"init={init}", "tol=0", "weight=1")
        kept = z["labels"][w > 0]
        assert np.allclose(z["centroids"], [x[w > 0][kept == i].mean(axis=0) for i in range(3)]), init
        assert np.array_equal(z["labels"], nearest(x, z["centroids"])) and z["counts"].sum() == 400
    np.save("x.points.npy", np.column_stack([np.arange(400) == 9, x]).astype("f8"))  # all on one
    z, told = cluster("x.points.npy", "k=1", "weight=1")
    assert np.array_equal(z["centroids"], x[9:10]) and z["inertia"] == 0 and z["counts"][0] == 400 and z["weight"][0] == 1
    z, told = cluster("x.points.npy", "k=3", "weight=1")
    assert (z["labels"] == nearest(x, z["centroids"])).all() and z["inertia"] == 0 and z["weight"].sum() == 1
    np.save("x.points.npy", np.column_stack([x[:, 0], w]))  # one column is measured
    z, _ = cluster("x.points.npy", "k=2", "weight=2", figure="png")
    assert z["centroids"].shape == (2, 1) and np.array_equal(z["labels"], nearest(x[:, :1], z["centroids"]))
    far = np.array([[0.0, 0], [1, 0], [9, 0], [9.5, 0], [50, 0], [0, 0]])  # an empty cluster takes the farthest that counts
    np.save("x.points.npy", np.column_stack([far, [1, 1, 1, 1, 0, 1]])[[5, 0, 1, 2, 3, 4]])
    z, told = cluster("x.points.npy", "k=2", "init=first", "weight=3")
    assert sorted(z["centroids"][:, 0]) == [1 / 3, 9.25] and told["summary"]["n_relocated"] == 1, z["centroids"]
    n = 60_000 if WATCHED else 300_000
    np.save("w.points.npy", np.column_stack([heaps(n, 7, 5), rng.exponential(size=n)]))
    for options in (["k=5", "weight=8", "max_iter=3"], ["k=5", "weight=8", "init=random", "max_iter=3", "n_init=2", "scale=unit"]):
        cluster("w.points.npy", *options, out="whole", figure="png")
        cluster("w.points.npy", *options, out="parts", flags=["--threads", "2", "--memory", "30M"], figure="png")
        assert hashes("whole", "w") == hashes("parts", "w"), options

    def bad(text, says, *options):
        with open("v.points.csv", "w", encoding="utf-8") as f:
            f.write(text)
        run("--force", "-o", "worse", "v.points.csv", *[w for o in ("k=2", *options) for w in ("-s", o)], status=1, says=says)

    bad("a,w\n1,1\n2,1\n3,-1\n4,-2\n", r"row 3 \(the first is 1\) has a weight below 0 in 'w'", "weight=w")
    bad("a,w\n,1\n2,1\n3,-1\n4,-2\n", r"row 3 \(the first is 1\) has a weight below 0", "weight=w", "missing=drop")
    bad("a,w\n1,0\n2,0\n3,0\n", "all weights in 'w' are 0", "weight=w")
    bad("a,w\n1,1\n2,\n3,0\n", r"row 2 .*has no value in 'w'", "weight=w")
    bad("a,w\n1,1\n2,0\n3,0\n", 'weight: no column "v"', "weight=v")
    bad("w\n1\n2\n3\n", "has no column but that of the weights", "weight=w")


def given():
    """Points labelled by centroids of a file: by their names, or in order; nothing moves."""
    header = ["a", "count", "c"]
    x, other = heaps(3000, 3, 5), heaps(2000, 3, 5) * 1.1
    write_csv("x.points.csv", x, header)
    z, told = cluster("x.points.csv", "k=5", "scale=unit")
    by = [f"factors={','.join(map(repr, told['summary']['scale']))}", "centroids=file"]

    def label(name, *options, flags=(), out="out"):
        return cluster("x.points.csv", *options, out=out, flags=[name, *flags])

    os.replace("out/x/centroids.csv.gz", "x.centroids.csv.gz")  # as they come; `count` is a column of the points, too
    want = hashes("out", "x", ["labels.csv.gz"])
    again, told = label("x.centroids.csv.gz", *by)
    assert hashes("out", "x", ["labels.csv.gz"]) == want and np.array_equal(again["centroids"], z["centroids"])
    assert np.array_equal(again["within"], z["within"]) and told["warnings"] == []
    assert told["summary"]["n_iterations"] == 0 and told["summary"]["converged"] is None, told["summary"]
    os.remove("x.centroids.csv.gz")
    c = rng.uniform(-20, 20, (7, 3))
    write_csv("x.points.csv", other, header)
    labels = nearest(other, c)
    write_csv("x.centroids.csv", np.hstack([c[:, 2:], c[:, :1] * 9, c[:, :1], c[:, 1:2]]), ["c", "other", "a", "count"])
    for name, data in (("csv", None), ("csv", "nameless"), ("npy", c), ("npy", np.asfortranarray(c)),
                       ("npy", c.astype("f4").astype("f8"))):
        if data is not None:
            os.remove(glob.glob("x.centroids.*")[0])
            (write_csv if name == "csv" else np.save)(f"x.centroids.{name}", c if name == "csv" else data)
        z, told = label(f"x.centroids.{name}", "centroids=file")
        assert np.array_equal(z["labels"], labels) and (name == "npy" or np.array_equal(z["centroids"], c)), name
        assert np.isclose(z["inertia"], ((other - c[labels]) ** 2).sum()) and told["parameters"]["k_used"] == 7
    os.remove("x.centroids.npy")
    return c


def given_at_edges():
    """More centroids than points, one far away, one alone, in a text that promises fewer; points that do not stay, and some
    that are left out; what is refused."""
    c = np.vstack([heaps(40, 2, 40), [1e9, 1e9]])
    x = np.vstack([heaps(30, 2, 3), [[np.nan, 1]]])
    np.save("y.points.npy", x)
    np.save("y.centroids.npy", c)
    z, told = cluster("y.points.npy", "centroids=file", "missing=drop", flags=["y.centroids.npy"], figure="png")
    assert np.array_equal(z["labels"][:30], nearest(x[:30], c)) and z["labels"][30] == -1 and z["counts"][40] == 0
    assert any("centroids are nearest to no point" in w for w in told["warnings"]), told["warnings"]
    for points, centroids in ((x[:30, :1], c[:, 0]), (x[:30], c[0]), (x[0, :1], c[:1, 0])):
        np.save("y.points.npy", points)
        np.save("y.centroids.npy", centroids)
        z, _ = cluster("y.points.npy", "centroids=file", flags=["y.centroids.npy"])
        assert np.array_equal(z["labels"], nearest(points.reshape(len(points), -1), centroids.reshape(-1, z["centroids"].shape[1])))
    with open("w.centroids.csv", "w", encoding="utf-8") as f:
        f.write("".join(f"{a:.17f},{b:.17f}\n" for a, b in rng.uniform(5, 6, (3000, 2)).tolist()) + "7,7\n" * 3000 + "-1,-1\n")
    many = 60_000 if WATCHED else 400_000
    np.save("w.points.npy", np.vstack([rng.uniform(-9, -2, (many, 2)), rng.uniform(8, 9, (5, 2))]))
    for flags in ([], ["--threads", "2", "--memory", "36M"]):
        z, _ = cluster("w.points.npy", "centroids=file", flags=["w.centroids.csv", *flags])
        assert len(z["centroids"]) == 6001 and (z["labels"][:-5] == 6000).all() and (z["labels"][-5:] == 3000).all()
    os.remove("w.centroids.csv")

    def bad(text, says, *options, status=1):
        with open("v.centroids.csv", "w", encoding="utf-8") as f:
            f.write(text)
        run("--force", "-o", "worse", "v.points.csv", "v.centroids.csv", "-s", "centroids=file", *[w for o in options for w in ("-s", o)],
            status=status, says=says)

    write_csv("v.points.csv", heaps(30, 2, 3), ["a", "b"])
    bad("a,c\n1,2\n3,4\n", "v.centroids.csv: has no column 'b', which the points have")
    bad("1,2,3\n3,4,5\n", "a centroid has 3 numbers, a point of v.points.csv has 2")
    bad("b,a\n1,2\n,4\n", r"row 2 \(the first is 1\) has no value in 'b'")
    bad("a,b\n1,2\n1,1e300\n", "'b' has values from .* to 1e[+]300, too far apart")
    bad("a,b\n1,2\n", "scale would measure .* set scale=none, and factors", "scale=range")
    bad("a,b\n1,2\n", "has 2 columns, and factors are 3 numbers", "factors=1,2,3")
    bad("a,b\n1,2\n", "numbers that are not from 0 to", "factors=1,-1", status=2)
    bad("a,b\n1,2\n", r"X.centroids.\* goes with the parameter centroids=file", "centroids=none")
    os.remove("v.centroids.csv")
    run("--force", "-o", "worse", "v.points.csv", "-s", "centroids=file", status=1, says="v.centroids")


def every_way():
    """CSV, npy, gzip, a folder, Fortran order, a member of npz, chosen columns."""
    x = heaps(2000, 3, 4)
    header = ["length", "width", "höhe"]
    np.save("a.points.npy", x)
    z, told = cluster("a.points.npy", "k=4")
    want = hashes("out", "a", ["labels.csv.gz"])
    assert "columns" not in z and told["warnings"] == []
    write_csv("b.points.csv", x, header)
    write_csv("c.points.csv.gz", x, header, pack=True)
    np.save("d.points.npy", np.asfortranarray(x))
    np.savez("e.points.npz", points=x)
    os.makedirs("folder/sub")
    write_csv("folder/sub/f.points.csv", x, header)
    write_csv("g.points.csv", np.hstack([x[:, :1], x[:, :1] * 9, x[:, 1:]]), ["length", "other", "width", "höhe"])
    for path in ("b.points.csv", "c.points.csv.gz", "d.points.npy", "e.points.npz", "folder"):
        run("--force", "-o", "out", path, "-s", "k=4", "-s", "n_init=1", "-s", "figure=none")
    cluster("g.points.csv", "k=4", "columns=length,width,höhe")
    for stem in ("b", "c", "d", "e", "sub/f", "g"):
        other, _ = load("out", stem)
        assert hashes("out", stem, ["labels.csv.gz"]) == want, stem
        assert np.array_equal(other["centroids"], z["centroids"]), stem
        if stem not in "de":
            assert other["columns"].tolist() == header, stem
    with gzip.open("out/b/centroids.csv.gz", "rt", encoding="utf-8") as f:
        assert f.readline() == "cluster,count,within,length,width,höhe\n"
    names = [f"row {i}, so called" for i in range(2000)]
    write_csv("h.points.csv", x, header, [f'"{n}"' for n in names])
    cluster("h.points.csv", "k=4")
    with gzip.open("out/h/labels.csv.gz", "rt", encoding="utf-8") as f:
        assert f.readline() == "row,name,cluster\n"
        assert f.readline() == f'0,"{names[0]}",{z["labels"][0]}\n'
    assert json.loads(run("--json", "-o", "json", "a.points.npy", "-s", "k=4"))["summary"]["k"] == 4
    checked = json.loads(run("--json", "a.points.npy", "b.points.csv", "-s", "k=4", verb="check").splitlines()[0])
    assert checked["status"] == "ok" and checked["memory"]["backend_bytes"] > x.nbytes, checked


def flat():
    """In an array of one dimension a number is a point, whether points stay in memory or not."""
    n = 200_000
    x = heaps(n, 1, 3)
    np.save("column.points.npy", x)
    np.save("flat.points.npy", x[:, 0])
    cluster("column.points.npy", "k=3", "max_iter=3")
    for flags in ([], ["--threads", "2", "--memory", "30M"]):
        _, told = cluster("flat.points.npy", "k=3", "max_iter=3", flags=flags)
        assert told["shape"] == {"n_points": n, "n_columns": 1}, told["shape"]
        if BACKEND == "cpu":  # elsewhere --memory does not bound what points take
            assert (told["memory"]["backend_bytes"] > x.nbytes) == (flags == []), told["memory"]
        assert hashes("out", "flat", NUMBERS) == hashes("out", "column", NUMBERS), flags


def nameless():
    """Columns without a header are called by their number in the file."""
    with open("n.points.csv", "w", encoding="utf-8") as f:
        f.writelines(f"id{i},{i % 5},words,7\n" for i in range(40))
    _, told = cluster("n.points.csv", "k=2", "scale=unit")
    assert any("nothing: column 4" in w for w in told["warnings"]), told["warnings"]
    with gzip.open("out/n/centroids.csv.gz", "rt", encoding="utf-8") as f:
        assert f.readline() == "cluster,count,within,column 2,column 4\n"


def dropped():
    """Rows that miss a value: left out on request, in text and arrays; what a refusal says cures it."""
    x = heaps(500, 2, 3)
    with open("m.points.csv", "w", encoding="utf-8") as f:
        f.writelines(f"{'' if i % 50 == 7 else repr(a)},{b!r}\n" for i, (a, b) in enumerate(x.tolist()))
    run("-o", "bad", "m.points.csv", status=1, says=r"row 8 .*leave out such rows \(missing=drop\)")
    x[7::50, 0] = np.nan
    np.save("n.points.npy", x)
    run("-o", "bad", "n.points.npy", status=1, says=r"row 8 .*leave out such rows \(missing=drop\)")
    kept = ~np.isnan(x[:, 0])
    labels, centroids, _ = lloyd(x[kept], 3)
    for path in ("m.points.csv", "n.points.npy"):
        z, told = cluster(path, "k=3", "init=first", "missing=drop")
        assert np.array_equal(z["labels"][kept], labels) and (z["labels"][~kept] == -1).all(), path
        assert np.allclose(z["centroids"], centroids, rtol=1e-12, atol=1e-12), path
        assert z["counts"].sum() == told["shape"]["n_points"] == 490 and told["summary"]["n_dropped"] == 10, path
        assert "10 of 500 rows miss a value and are left out (missing=drop): their label is -1" in told["warnings"], path
    x[100, 1] = np.inf
    np.save("n.points.npy", x)
    run("-o", "bad", "n.points.npy", "-s", "missing=drop", status=1,
        says=r"row 101 .*an infinity in column 2.*\(missing_value=inf and missing=drop\)")
    _, told = cluster("n.points.npy", "k=3", "missing=drop", "missing_value=inf")
    assert told["summary"]["n_dropped"] == 11, told["summary"]


def refused():
    def bad(name, text, says, *options, status=1, verb="run"):
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
        run("-o", "bad", name, *[w for o in options for w in ("-s", o)], status=status, says=says, verb=verb)
        assert not os.path.exists("bad") or os.listdir("bad") == [], os.listdir("bad")

    good = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(30))
    bad("empty.points.csv", "", "empty")
    bad("word.points.csv", "word\n", "word.points.csv")
    bad("gap.points.csv", good.replace("\n11,4\n", "\n11,\n"), r"gap.points.csv: row 12 \(the first is 1\), "
        r"line 13 of the file, has no value in 'b': .*fill it in")
    bad("gap.points.csv", good.replace("\n5,5\n", "\n# five\n\n5,5\n").replace("\n11,4\n", "\n11,\n"),
        r"row 12 \(the first is 1\), line 15 of the file, has no value in 'b'")
    bad("gap.points.csv", "".join(f"{i},{i % 7}\n" for i in range(99_999)) + ",1\n",
        r"row 100000 \(the first is 1\), line 100000 of the file, has no value in column 1:")
    bad("left.points.csv", "".join(f"x{i},{i},word,{i}e-170\n" for i in range(30)), "column 4 has .*scale it up")
    bad("left.points.csv", "".join(f"x{i},{i},word,{'' if i == 9 else i}\n" for i in range(30)),
        r"row 10 .*has no value in column 4:")
    bad("gap.points.csv", 'name,b,c\n"a\nb",1,2\n"c",3,\n' + "d,1,2\n" * 9,
        r"row 2 \(the first is 1\) has no value in 'c'")
    bad("narrow.points.csv", "a,b\n" + "".join(f"{i},{i}e-170\n" for i in range(30)), "'b' has .*scale it up",
        "scale=unit")
    bad("big.points.csv", good, "30 points cannot make 31 clusters; set k to 30", "k=31")
    bad("big.points.csv", good, "30 points cannot make 31 clusters", "k=31", verb="check")
    bad("none.points.csv", good, "k: '0' is neither", "k=0", status=2)
    bad("back.points.csv", good, "write 2-5", "k=5-2", status=2)
    bad("what.points.csv", good, "what is not one of|'what'", "scale=what", status=2)
    x = np.zeros((50, 2))
    x[17, 1] = np.nan
    np.save("nan.points.npy", x)
    run("-o", "bad", "nan.points.npy", status=1, says=r"row 18 \(the first is 1\) holds a NaN in column 2:")
    x[17, 1] = -9
    np.save("nan.points.npy", x)
    run("-o", "bad", "nan.points.npy", "-s", "missing_value=-9", status=1, says=r"row 18 .* holds no value in column 2:")
    np.save("wide.points.npy", np.zeros((3000, 1000), dtype="f4"))
    run("-o", "bad", "--threads", "2", "--memory", "40M", "wide.points.npy", "-s", "k=2900", status=1,
        says="wide.points.npy.* needs .*bytes")


def edges():
    x = heaps(300, 2, 3)
    np.save("x.points.npy", x)
    z, told = cluster("x.points.npy", "k=1")
    assert np.allclose(z["centroids"][0], x.mean(axis=0), rtol=1e-13) and told["summary"]["silhouette"] is None
    z, told = cluster("x.points.npy", "k=300")
    assert np.array_equal(np.sort(z["centroids"], axis=0), np.sort(x, axis=0)) and z["inertia"] == 0
    assert told["warnings"] == [], told["warnings"]
    np.save("x.points.npy", np.repeat(x[:3], 50, axis=0))
    z, told = cluster("x.points.npy", "k=8")
    assert "5 of 8 clusters have no point" in told["warnings"][0] and z["inertia"] == 0, told["warnings"]
    np.save("x.points.npy", heaps(3000, 3, 20).astype("f4"))
    z, told = cluster("x.points.npy", "k=1000")
    assert z["counts"].sum() == 3000 and told["summary"]["n_empty"] == 0
    z, told = cluster("x.points.npy", "k=2-5", "n_init=2", "scale=unit", figure="png")
    assert [k["k"] for k in told["summary"]["ks"]] == [2, 3, 4, 5]
    best = max(told["summary"]["ks"], key=lambda k: k["silhouette"])
    assert best["k"] == told["summary"]["k"] == told["parameters"]["k_used"] and told["parameters"]["k"] == "2-5"
    assert best["inertia"] == told["summary"]["inertia"] and sorted(os.listdir("out/x")) == sorted(
        [*FILES, "ks.csv.gz", "ks.png", "report.html", "result.json"])
    rows = gzip.open("out/x/ks.csv.gz", "rt").read().splitlines()
    assert rows[0] == "k,inertia,silhouette,n_iterations,converged" and len(rows) == 5


def same_bytes():
    np.save("x.points.npy", heaps(20000, 5, 12))
    options = [word for o in ("k=12", "init=random", "n_init=2") for word in ("-s", o)]
    want = None
    again = 5 if os.environ.get("LEAT_TEST_LARGE") else 1
    for threads in [1, 3, 8] if WATCHED else [1, 2, 3, 5, 8] + [2] * again:
        run("--force", "-o", "out", "--threads", str(threads), "x.points.npy", *options)
        want = want or hashes("out", "x")
        assert hashes("out", "x") == want, threads


def larger_than_memory():
    """A file twice as large as --memory, in text and as an array, gives the bytes of one in memory."""
    n = 100_000 if WATCHED else 600_000
    x = heaps(n, 12, 6)
    np.save("x.points.npy", x)
    write_csv("y.points.csv", x[:n // 8])
    few = ["--threads", "2", "--memory", "30M"]
    for path in ("x.points.npy", "y.points.csv"):
        stem = path[0]
        options = ["k=6", "max_iter=2"] if stem == "x" else ["k=5-6", "init=first", "max_iter=2"]
        cluster(path, *options, out="whole", figure="png")
        _, told = cluster(path, *options, out="parts", flags=few, figure="png")
        assert hashes("whole", stem) == hashes("parts", stem), (path, options)
        if BACKEND == "cpu":
            assert told["memory"]["backend_bytes"] + told["memory"]["host_bytes"] < 12 << 20
    os.remove("y.points.csv")


def more_lines_than_fit():
    """A text whose head promises fewer lines than fit memory, and that holds more."""
    n = 300_000
    x = rng.integers(0, 9, (n, 2))
    with open("over.points.csv", "w", encoding="utf-8") as f:
        f.writelines(f"{a:.17f},{b:.17f}\n" for a, b in rng.random((20_000, 2)).tolist())
        f.writelines(f"{a},{b}\n" for a, b in x.tolist())
    options = ["k=3", "max_iter=3"]
    cluster("over.points.csv", *options, out="whole", figure="png")
    few = ["--threads", "2", "--memory", "30M"]
    _, told = cluster("over.points.csv", *options, out="parts", flags=few, figure="png")
    assert hashes("whole", "over") == hashes("parts", "over")
    assert BACKEND != "cpu" or told["memory"]["backend_bytes"] < 24 * n  # they do not stay in memory
    os.remove("over.points.csv")


def cancelled():
    """An interrupt ends a long job soon, and leaves nothing."""
    for flags in ([], ["--threads", "2", "--memory", "30M"]):
        command = [LEAT, "run", "-b", BACKEND, "-o", "stop", *flags, "x.points.npy", "-s", "k=200", "-s", "tol=0",
                   "-s", "max_iter=1000000", "-s", "n_init=1000"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            while not os.path.isdir("stop"):
                time.sleep(0.02)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait() == -signal.SIGINT
        assert not os.path.exists("stop"), os.listdir("stop")


THREADED = weighted, given, every_way, same_bytes, larger_than_memory, cancelled
for part in THREADED if THREADS_ALONE else (
        oracle, scales, components, weighted, weighted_at_edges, given, given_at_edges, every_way, flat, nameless, dropped,
        refused, edges, same_bytes, larger_than_memory, more_lines_than_fit, cancelled):
    begun = time.monotonic()
    part()
    print(f"{part.__name__}: {time.monotonic() - begun:.1f} s")
