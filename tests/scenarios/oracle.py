"""Every coefficient of generated tables against numpy.corrcoef on float64, through files, whole program. LEAT_TEST_BACKEND
chooses the backend.

Bounds (absolute error of r): exact 1e-12, f32 1e-6, which reports the pairs that exact
reports, with r within 1e-12; with missing values pandas' DataFrame.corr() within 1e-10.
"""
# ctest: long asan=soak tsan=no
import json
import os
import re
import subprocess
import sys
import tarfile

from lib import BACKEND, LEAT, WATCHED, begin

begin("numpy", "pandas", "scipy")
# NumPy multiplies as leat does, also where OpenBLAS takes the processor for an old one.
told = subprocess.run([LEAT, "doctor", "-b", "cpu"], capture_output=True, text=True).stdout
os.environ["OPENBLAS_CORETYPE"] = "".join(re.findall(r"OpenBLAS \S+ \((.*)\)$", told, re.M))
import numpy as np
import pandas as pd
import scipy.special
import scipy.stats
from scipy.spatial.distance import squareform

rng = np.random.default_rng(20)
n_compared = 0
# Series of the largest tables: more than the 512 up to which panels are narrow. Sanitizers look at what is done with
# memory, where a few panels are as good as many. tests/soak.sh has more for both.
FULL = "LEAT_ORACLE_SERIES" in os.environ
MANY = int(os.environ.get("LEAT_ORACLE_SERIES", 130 if WATCHED else 520))


def run_all(inputs, *options):
    """One run of the program over files and folders; the output folder."""
    out = "out"
    command = [LEAT, "run", "-q", "--force", "-b", BACKEND, "-o", out, *inputs]
    for option in options:
        command += ["-s", option]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return out


def load(out, stem):
    folder = os.path.join(out, stem)
    with open(os.path.join(folder, "result.json")) as f:
        manifest = json.load(f)
    return folder, np.load(os.path.join(folder, "pearson.npz")), manifest


def run(path, *options):
    return load(run_all([path], *options), os.path.basename(path).split(".")[0])


def pairs_of(folder):
    """The pairs in the order of i and j: columns as arrays."""
    pairs = pd.read_csv(os.path.join(folder, "pairs.csv.gz"), float_precision="round_trip",
                        usecols=["i", "j", "n", "r", "r_low", "r_high", "p", "q", "n_effective", "p_effective"])
    order = np.lexsort((pairs["j"], pairs["i"]))
    return {name: pairs[name].to_numpy()[order] for name in pairs}


def check_pairs(name, pairs, rows):
    """The number of samples and the interval of each listed pair, from the series themselves, a row each."""
    present = (~np.isnan(rows)).astype(float)
    n = (present @ present.T)[pairs["i"], pairs["j"]]
    if len(n) == 0 or not np.array_equal(pairs["n"], n):
        sys.exit(f"{name}: {(pairs['n'] != n).sum()} of {len(n)} pairs have another number of samples")
    with np.errstate(divide="ignore", invalid="ignore"):
        z, away = np.arctanh(pairs["r"]), scipy.stats.norm.ppf(0.975) / np.sqrt(np.where(n > 3, n - 3.0, np.nan))
    for column, want in (("r_low", np.tanh(z - away)), ("r_high", np.tanh(z + away))):
        np.testing.assert_allclose(pairs[column], want, rtol=0, atol=1e-12, err_msg=f"{name}: {column}")
    for p, n in (("p", "n"), ("p_effective", "n_effective")):
        np.testing.assert_allclose(pairs[p], p_of(pairs["r"], pairs[n]), rtol=1e-10, atol=1e-300, err_msg=f"{name}: {p}")


def p_of(r, n):
    """As scipy.stats.pearsonr, whose (1 + r) / 2 loses digits beside 1: from t."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * scipy.special.stdtr(n - 2, -np.abs(r) * np.sqrt((n - 2) / ((1 - np.abs(r)) * (1 + np.abs(r)))))
    return np.where(np.isnan(n), np.nan, np.where(n > 2, np.where(np.abs(r) < 1, p, 0), 1))


def false_discoveries(p):
    """Benjamini and Hochberg's adjusted p, as statsmodels' fdrcorrection."""
    order, q = np.argsort(p), np.empty(len(p))
    q[order] = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1].clip(max=1)
    return q


def compare_significance():
    """p as SciPy has it; q of all pairs, of which few are listed, with gaps and without; samples that follow each other."""
    m, n = 150, 80
    x = rng.normal(size=(m, n))
    x[:40] += 0.8 * rng.normal(size=n)
    x[40:60] = x[40:60].cumsum(axis=1)
    y = np.where((rng.random(x.shape) < 0.15) & (np.arange(m) % 4 > 0)[:, None], np.nan, x)
    for stem, rows in (("whole", x), ("gappy", y)):
        np.save(stem + ".clusters.npy", rows)
        i, j = np.triu_indices(m, 1)
        present = (~np.isnan(rows)).astype(float)
        for method in ("pearson", "spearman"):
            r = pd.DataFrame(rows.T).corr(method=method, min_periods=3).to_numpy()
            q = np.full((m, m), np.nan)
            q[i, j] = false_discoveries(p_of(r[i, j], (present @ present.T)[i, j]))
            for options in ([], ["top=10"], ["top=0", "threshold=0.4"], ["top=20000"], ["precision=f32", "top=300"]):
                pairs = pairs_of(run(stem + ".clusters.npy", "method=" + method, *options)[0])
                ratio = pairs["q"] / q[pairs["i"], pairs["j"]]
                if len(ratio) == 0 or not (1 - 1e-7 <= ratio.min() and ratio.max() <= 1.02):
                    sys.exit(f"{stem}, {method}, {options}: q is {ratio.min()} to {ratio.max()} times what it should be")
        if stem == "whole":
            for k in range(0, len(ratio), 97):
                a, b = pairs["i"][k], pairs["j"][k]
                want = scipy.stats.pearsonr(x[a], x[b])[1] if method == "pearson" else scipy.stats.spearmanr(x[a], x[b])[1]
                np.testing.assert_allclose(pairs["p"][k], want, rtol=1e-9)
    lag1 = [(d[:-1] * d[1:]).sum() / (d * d).sum() for d in x - x.mean(axis=1, keepdims=True)]
    pairs = pairs_of(run("whole.clusters.npy", "top=20000")[0])
    ab = np.array(lag1)[pairs["i"]] * np.array(lag1)[pairs["j"]]
    np.testing.assert_allclose(pairs["n_effective"], n * (1 - ab) / (1 + ab), rtol=1e-10)


def full(r, m):
    square = squareform(r.astype(np.float64), checks=False) if m > 1 else np.zeros((1, 1))
    np.fill_diagonal(square, 1)
    return square


def corrcoef(rows):
    """numpy.corrcoef, for small tables in long double: more exact than what is compared with it."""
    x = np.asarray(rows, dtype=np.longdouble)
    x = x - x.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = x / np.sqrt((x * x).sum(axis=1, keepdims=True))
    if x.size <= 1 << 15:
        return np.clip((x @ x.T).astype(np.float64), -1, 1)
    return np.corrcoef(np.asarray(rows, dtype=np.float64))


def check(name, got, want, bound):
    global n_compared
    if got.shape != want.shape:
        sys.exit(f"{name}: shape {got.shape} instead of {want.shape}")
    off = ~np.eye(len(want), dtype=bool)
    if (np.isnan(got) != np.isnan(want))[off].any():
        sys.exit(f"{name}: NaN where there should be none, or the other way round")
    error = np.nanmax(np.abs(got - want)[off], initial=0)
    if not error <= bound:
        sys.exit(f"{name}: error {error:.3g} above {bound:.3g}")
    n_compared += off.sum()


def walks(m, n):
    steps = 1 + 1e-3 * rng.uniform(-1, 1, size=(m, n))
    return 100 * np.cumprod(steps, axis=1)


kinds = {
    "walk": walks,
    "offset": lambda m, n: rng.normal(1e4, 1, size=(m, n)),
    "normal": lambda m, n: rng.normal(size=(m, n)),
}


def lengths(kind, m):
    """Of the most series all pairs are listed where there are few samples, and of walks many are, which are computed once
    more, each by itself."""
    if m < MANY or FULL:
        return 2, 3, 17, 1031 if WATCHED else 8192
    return 3, 17, 1031 if WATCHED or kind == "walk" else 8192


def make_cases(folder):
    """Every kind and shape, one kind in every type and order, as files of one folder; (stem, array, wanted r)."""
    cases = []
    for kind, make in kinds.items():
        wide = ["<f4C"] if kind == "offset" else ["<f8C", "<f8F"] if kind == "walk" else ["<f8C"]
        narrow = [t + o for t in ("<f4", ">f4", "<f8", ">f8") for o in "CF"] if kind == "walk" else ["<f4C", "<f8F"]
        for m in (1, 2, 3, 33, MANY):
            for n in lengths(kind, m):
                x, want = make(m, n), {}
                for form in wide if m == MANY else narrow:
                    a = np.asarray(x.astype(form[:3]), order=form[3])
                    if form[1:3] not in want:
                        want[form[1:3]] = corrcoef(a)
                    letter = "le" if form[0] == "<" else "be"
                    stem = f"{kind}-{m}x{n}-{letter}-{form[1:]}"
                    np.save(os.path.join(folder, stem + ".clusters.npy"), a)
                    cases.append((stem, a, want[form[1:3]]))
    return cases


def flatten(a, want, got):
    """Equal samples in single precision: NumPy divides noise by noise, leat says NaN."""
    if np.isnan(got).any() and not np.isnan(want).any():
        flat = a.max(axis=1) == a.min(axis=1)
        want = want.copy()
        want[flat, :] = want[:, flat] = np.nan
    return want


def check_moments(stem, a, got):
    small = a.size <= 1 << 18  # NumPy's own mean in double along the longer stride is off by up to n roundings
    exact = a.astype(np.longdouble if small else np.float64)
    scale = float(np.abs(a).max())
    atol = (4e-16 if small else 1e-13) * scale
    np.testing.assert_allclose(got["mean"], exact.mean(axis=1).astype(np.float64), rtol=0, atol=atol)
    np.testing.assert_allclose(got["std"], exact.std(axis=1, ddof=1).astype(np.float64), rtol=1e-9, atol=1e-300)
    if not (np.array_equal(got["max"], a.max(axis=1)) and np.array_equal(got["min"], a.min(axis=1))):
        sys.exit(f"{stem}: extremes differ")


def compare_matrices():
    folder = "cases"
    os.mkdir(folder)
    cases = make_cases(folder)
    pairs = {}
    for precision, bound in (("exact", 1e-12), ("f32", 1e-6)):
        out = run_all([folder], "precision=" + precision, "top=20", "threshold=0.3", "min_samples=2",
                      "series=rows")
        for stem, a, want in cases:
            where, got, _ = load(out, stem)
            r = full(got["r"], len(a))
            check(f"{stem} {precision}", r, flatten(a, want, r), bound)
            if precision == "exact":
                check_moments(stem, a, got)
                pairs[stem] = pairs_of(where)
                if len(pairs[stem]["r"]) > 0:
                    check_pairs(stem, pairs[stem], a)
            else:
                compare_pairs(stem, pairs[stem], pairs_of(where))


def compare_pairs(stem, exact, f32):
    if not all(np.array_equal(exact[k], f32[k]) for k in "ij"):
        sys.exit(f"{stem}: f32 reports other pairs than exact ({len(f32['r'])}, {len(exact['r'])})")
    worst = np.abs(exact["r"] - f32["r"]).max(initial=0)
    if not worst <= 2e-12:
        sys.exit(f"{stem}: the coefficients of f32's pairs differ by {worst:.3g}")


def compare_gaps():
    x = rng.normal(size=(40, 300)).cumsum(axis=1)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[5, 2:] = np.nan
    x[6] = np.nan
    x[7, :150] = np.nan
    x[8, 150:] = np.nan
    x[20:30] = rng.normal(size=(10, 300))
    np.save("gaps.clusters.npy", x)
    path = "gapc.clusters.csv"
    pd.DataFrame(x.T, columns=[f"s{i}" for i in range(40)]).to_csv(path, index=False)
    kept = [i for i in range(40) if i != 6]  # a column without a number is left out
    # pandas' own sums are in double; its min_periods is 1.
    for least, option in ((3, []), (2, ["min_samples=2"]), (200, ["min_samples=200"])):
        want = pd.DataFrame(x.T).corr(min_periods=least).to_numpy()
        for precision, bound in (("exact", 1e-10), ("f32", 1e-6)):
            where, got, _ = run("gaps.clusters.npy", "precision=" + precision, *option)
            check(f"gaps in rows {precision}, {least}", full(got["r"], 40), want, bound)
            check_pairs(f"gaps in rows {precision}, {least}", pairs_of(where), x)
        where, got, _ = run(path, *option)
        check(f"gaps in columns, {least}", full(got["r"], 39), want[np.ix_(kept, kept)], 1e-10)
        check_pairs(f"gaps in columns, {least}", pairs_of(where), x[kept])
    where, _, _ = run(path, "diff=step")
    check_pairs("gaps in increments of columns", pairs_of(where), np.diff(x[kept]))
    for precision in ("exact", "f32"):
        where, _, _ = run("gaps.clusters.npy", "diff=step", "precision=" + precision)
        check_pairs("gaps in increments of rows, " + precision, pairs_of(where), np.diff(x))
    if list(got["names"]) != [f"s{i}" for i in kept]:
        sys.exit("names of columns differ")


def index_left_out():
    """A first column that counts is left out, which changes no other coefficient; and its pairs have their samples."""
    x = rng.normal(size=(40, 700))
    x[3:9, 100:140] = np.nan
    x[5, 500:] = np.nan
    x[38:, 7] = np.nan  # of the last ones, too
    frame = pd.DataFrame(x.T, columns=[f"s{i}" for i in range(40)])
    path = "index.clusters.csv"
    frame.to_csv(path, index=True, index_label="t")
    for precision, bound in (("f32", 1e-6), ("exact", 1e-10)):
        where, got, manifest = run(path, "precision=" + precision)
        check(f"beside an index {precision}", full(got["r"], 40), frame.corr(min_periods=3).to_numpy(), bound)
        check_pairs(f"beside an index {precision}", pairs_of(where), x)
        np.testing.assert_array_equal(got["min"], np.nanmin(x, axis=1))
        if precision == "f32":
            pairs = pairs_of(where)
        else:
            compare_pairs("beside an index", pairs_of(where), pairs)
    if list(got["names"]) != list(frame.columns) or manifest["shape"]["n_series"] != 40:
        sys.exit(f"the index is not left out: {got['names']}")
    if not any("column 't'" in w and "left out" in w for w in manifest["warnings"]):
        sys.exit(f"the index is not named: {manifest['warnings']}")
    where, got, manifest = run(path, "columns=1-41")
    if list(got["names"]) != ["t", *frame.columns] or any("left out" in w for w in manifest["warnings"]):
        sys.exit(f"columns= does not bring the index back: {got['names']}")
    if not any("column 't' goes up or down" in w for w in manifest["warnings"]):
        sys.exit(f"the index that was asked for is not warned of: {manifest['warnings']}")


def constant_series():
    x = rng.normal(size=(4, 50))
    x[2] = 7.25
    path = "flat.clusters.csv"
    pd.DataFrame(x.T, columns=["a", "b", "stuck", "d"]).to_csv(path, index=False)
    _, got, manifest = run(path)
    r = full(got["r"], 4)
    if not np.isnan(r[2, [0, 1, 3]]).all() or np.isnan(r[0, 1]):
        sys.exit("a constant series must give NaN, and nothing else must")
    if not any("stuck" in w for w in manifest["warnings"]):
        sys.exit("the constant series is not named in the warnings")


def differences():
    x = walks(20, 500)
    path = "diff.clusters.npy"
    np.save(path, x)
    for diff, y in (("step", np.diff(x)), ("log", np.diff(np.log(x)))):
        _, got, _ = run(path, "diff=" + diff)
        # The logarithm of a ratio near 1 carries 2^-53 / 1e-3 of relative rounding.
        check("diff " + diff, full(got["r"], 20), corrcoef(y), 1e-12 if diff == "step" else 1e-11)


def compare_ranks():
    """Spearman's coefficient against SciPy, of rows and columns, with ties and of increments; with gaps against pandas."""
    x = np.vstack([walks(30, 400), np.floor(4 * rng.normal(size=(9, 400))), np.full((1, 400), 3.0)])
    x[1] = np.exp(x[0])  # of the same ranks
    frames = {"complete": x, "diff=step": x[:12]}
    y = x.copy()
    y[2:33][rng.random((31, 400)) < 0.2] = np.nan
    y[5, 3:] = np.nan
    frames["gaps"] = y
    for name, rows in frames.items():
        options = ["method=spearman", *([name] if "=" in name else [])]
        ranked = np.diff(rows) if "=" in name else rows
        with np.errstate(invalid="ignore"):
            want = pd.DataFrame(ranked.T).corr(method="spearman", min_periods=3).to_numpy()
        if name == "complete":
            np.testing.assert_allclose(want[:-1, :-1], scipy.stats.spearmanr(x[:-1].T)[0], atol=1e-12)
        stem = "ranks" + str(len(name))
        row_path = stem + ".clusters.npy"
        np.save(row_path, rows)
        text_path = stem + "t.clusters.csv"
        pd.DataFrame(rows.T, columns=[f"s{i}" for i in range(len(rows))]).to_csv(text_path, index=False)
        np.save(stem + "f.clusters.npy", np.asfortranarray(rows.T))
        for path, option in ((row_path, []), (row_path, ["precision=f32"]), (text_path, []),
                             (stem + "f.clusters.npy", ["series=columns"])):
            where, got, manifest = run(path, *options, *option)
            check(f"ranks, {name}, {path}", full(got["r"], len(rows)), want, 1e-12)
            pairs = pairs_of(where)
            off = np.abs(pairs["r"] - want[pairs["i"], pairs["j"]]).max()
            if not off <= 1e-12 or (name == "diff=step") == any("rank" in w for w in manifest["warnings"]):
                sys.exit(f"ranks, {name}: pairs differ by {off}; {manifest['warnings']}")
    ends = np.where(np.abs(x[30:39]) > 6, np.copysign(np.inf, x[30:39]), x[30:39])
    np.save(row_path, ends)
    check("ranks, infinite", full(run(row_path, "method=spearman")[1]["r"], len(ends)),
          corrcoef(pd.DataFrame(ends.T).rank().to_numpy().T), 1e-12)
    _, got, _ = run("ranks8.clusters.npy", "method=spearman", "precision=f32", "missing=reject")
    if got["r"].dtype != np.float32:
        sys.exit("ranks without gaps are not of the precision that was asked for")
    check("ranks, f32", full(got["r"], len(x)), pd.DataFrame(x.T).corr(method="spearman").to_numpy(), 1e-6)


def compare_dropped():
    """missing=drop: the samples, or increments, that are complete in all series, of rows and columns, in either method."""
    x = walks(15, 500)
    whole = x[:, 39:43].copy()
    x[rng.random(x.shape) < 0.02] = np.nan
    x[:, 39:43] = whole  # the increments beside those two are there
    x[3, 40] = -x[3, 40]  # no increment of logarithms leads there, or goes on
    path = "drop.clusters.npy"
    np.save(path, x)
    text = "dropt.clusters.csv"
    pd.DataFrame(x.T, columns=[f"s{i}" for i in range(15)]).to_csv(text, index=False)
    labelled = "dropl.clusters.csv"
    pd.DataFrame(x, index=[f"w{i}" for i in range(15)]).to_csv(labelled, header=False)
    if list(run(labelled, "missing=drop")[1]["names"]) != [f"w{i}" for i in range(15)]:
        sys.exit("dropped: the names of rows are lost")
    logs = np.where(np.arange(500) == 40, np.nan, np.log(np.abs(x)))
    for diff, y in (("none", x), ("step", np.diff(x)), ("log", np.diff(logs))):
        y = y[:, ~np.isnan(y).any(axis=0)]
        for method in ("pearson", "spearman"):
            want = corrcoef(y if method == "pearson" else pd.DataFrame(y.T).rank().to_numpy().T)
            for where, precision, bound in ((path, "exact", 1e-11), (text, "exact", 1e-11), (path, "f32", 1e-6)):
                folder, got, manifest = run(where, "missing=drop", "diff=" + diff, "method=" + method,
                                            "precision=" + precision)
                check(f"dropped, {diff}, {method}, {where}", full(got["r"], 15), want, bound)
                pairs = pairs_of(folder)
                off = np.abs(pairs["r"] - want[pairs["i"], pairs["j"]]).max()
                if not (off <= 1e-11 and (pairs["n"] == y.shape[1]).all() and (got["count"] == y.shape[1]).all()):
                    sys.exit(f"dropped, {diff}, {method}, {where}: pairs of {pairs['n']} differ by {off}")
                if not any("left out of all" in w for w in manifest["warnings"]):
                    sys.exit(f"dropped, {diff}: {manifest['warnings']}")


def compare_partners():
    """The partners of each series against NumPy; the square matrix against pandas."""
    x = rng.normal(size=(120, 50))
    x[:30] += rng.normal(size=50)
    y = np.where(rng.random(x.shape) < 0.1, np.nan, x)
    for stem, rows in (("partners", x), ("partnersg", y)):
        np.save(stem + ".clusters.npy", rows)
        want = pd.DataFrame(rows.T).corr(min_periods=3).to_numpy()
        others = np.abs(want)
        np.fill_diagonal(others, -1)
        for options, bound in (([], 1e-10), (["precision=f32"], 1e-6)):
            where, _, _ = run(stem + ".clusters.npy", "top_each=6", "r=csv", *options)
            found = pd.read_csv(os.path.join(where, "partners.csv.gz"))["partner"].to_numpy().reshape(len(rows), 6)
            if not np.array_equal(found, np.argsort(-others, axis=1)[:, :6]):
                sys.exit(f"{stem}, {options}: other partners than NumPy's")
            square = pd.read_csv(os.path.join(where, "r.csv.gz"), index_col=0)
            if list(square.columns) != list(square.index) or list(square.index)[:2] != ["row 1", "row 2"]:
                sys.exit(f"{stem}: names of r.csv.gz: {square.index}")
            check(f"{stem}, as text", square.to_numpy(), want, bound)


def philox(i):
    """The first word of Philox4x32-10 of key 0 and the counter of series i, block 0."""
    c, key = [0, 0, i, 0], [0, 0]
    for _ in range(10):
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [high >> 32 ^ c[1] ^ key[0], high & 0xFFFFFFFF, low >> 32 ^ c[3] ^ key[1], low & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


def greedy(r, limit):
    """One series after the other, those of fewest edges first, into the first group that takes it."""
    edges, groups = np.nan_to_num(r, nan=-2) >= limit, []
    np.fill_diagonal(edges, False)
    for i in sorted(range(len(r)), key=lambda i: (edges[i].sum(), -philox(i), i)):
        for group in groups:
            if edges[i, group].all():
                group.append(i)
                break
        else:
            groups.append([i])
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group[0]))


def check_groups(stem, files, want, limit, *options):
    where, _, manifest = load(run_all(files, f"groups={limit}", *options), stem)
    groups, got = greedy(want, limit), pd.read_csv(os.path.join(where, "groups.csv.gz"))
    of = pd.read_csv(os.path.join(where, "series.csv.gz"))["group"].to_numpy()
    name, summary = f"{stem}, groups={limit}, {options}", manifest["summary"]
    if [list(np.flatnonzero(of == k + 1)) for k in range(len(got))] != groups or summary["n_groups"] != len(groups):
        sys.exit(f"{name}: other groups: {of}")
    if list(got["group"]) != list(range(1, len(groups) + 1)) or list(got["size"]) != [len(g) for g in groups]:
        sys.exit(f"{name}: {got}")
    for k, group in enumerate(groups):
        inside = want[np.ix_(group, group)]
        off = ~np.eye(len(group), dtype=bool)
        if len(group) > 1 and not abs(got["smallest_r"][k] - inside[off].min()) <= 1e-10:
            sys.exit(f"{name}: group {k + 1}: {got['smallest_r'][k]}, {inside[off].min()}")
        sums = np.where(off, inside, 0).sum(axis=1)
        if sums[group.index(got["medoid"][k])] < sums.max() - 1e-9:
            sys.exit(f"{name}: medoid of {group} is {got['medoid'][k]}")


def compare_groups():
    """Series that share signals, with gaps, constant ones and copies, against the greedy way in the order of priorities."""
    signals = rng.normal(size=(12, 50))
    x = signals[rng.integers(12, size=150)] * rng.choice([1, 1, -1], size=(150, 1)) + rng.normal(size=(150, 50)) * rng.random((150, 1))
    x[[7, 80]], x[20], x[90] = 3, x[19], 5 - 2 * x[18]
    gaps = np.where((rng.random(x.shape) < 0.1) & (np.arange(150) % 4 > 0)[:, None], np.nan, x)
    for stem, rows in (("groups", x), ("groupsg", gaps)):
        np.save(stem + ".clusters.npy", rows)
        pd.DataFrame(rows.T, columns=[f"s{i}" for i in range(150)]).to_csv(stem + "c.clusters.csv", index=False)
        for method in ("pearson", "spearman"):
            want = pd.DataFrame(rows.T).corr(method=method, min_periods=3).to_numpy()
            for limit in (0.3, 0.7, 0.95):
                check_groups(stem, [stem + ".clusters.npy"], want, limit, "method=" + method)
                check_groups(stem, [stem + ".clusters.npy"], np.abs(want), limit, "groups_of=abs", "order=groups", "method=" + method)
            check_groups(stem + "c", [stem + "c.clusters.csv"], want, 0.8, "method=" + method, "precision=f32")


def check_targets(stem, files, x, t, method, *options):
    """The series x against the targets t: r, lists, p and q, by pandas and NumPy."""
    frame = pd.DataFrame(np.vstack([x, t]).astype(float).T)
    if "diff=step" in options:
        frame = frame.diff().iloc[1:]
    want = frame.corr(method=method, min_periods=3).to_numpy()[len(x):, :len(x)]
    out = run_all(files, "targets=file", "top_each=3", "method=" + method, *options)
    where, got, manifest = load(out, stem)
    name = f"{stem}, {method}, {options}"
    if got["r"].shape != want.shape or manifest["shape"]["n_targets"] != len(t) or len(got["targets"]) != len(t):
        sys.exit(f"{name}: {got['r'].shape}, {manifest['shape']}")
    if (np.isnan(got["r"]) != np.isnan(want)).any() or not np.nanmax(np.abs(got["r"] - want)) <= 1e-10:
        sys.exit(f"{name}: r differs by {np.nanmax(np.abs(got['r'] - want))}")
    present = (~np.isnan(frame.to_numpy())).astype(float)
    n, there = (present.T @ present)[len(x):, :len(x)], ~np.isnan(want)
    q = np.full(want.shape, np.nan)
    q[there] = false_discoveries(p_of(got["r"][there], n[there]))
    pairs = pairs_of(where)
    at = pairs["i"], pairs["j"]
    if len(pairs["r"]) != min(1000, there.sum()) or not np.array_equal(pairs["n"], n[at]):
        sys.exit(f"{name}: {len(pairs['r'])} pairs, or other numbers of samples")
    np.testing.assert_array_equal(np.sort(np.abs(pairs["r"])), np.sort(np.abs(got["r"][there]))[-len(pairs["r"]):])
    np.testing.assert_array_equal(pairs["r"], got["r"][at])
    np.testing.assert_allclose(pairs["q"], q[at], rtol=1e-9, err_msg=name)
    partners = pd.read_csv(os.path.join(where, "partners.csv.gz"))
    for k, row in enumerate(np.abs(got["r"])):
        best = [s for s in np.argsort(-np.where(np.isnan(row), -1, row), kind="stable")[:3] if not np.isnan(row[s])]
        if list(partners[partners["series"] == k]["partner"]) != best:
            sys.exit(f"{name}: partners of target {k}: {best}")
    medians = [np.median(c[~np.isnan(c)]) if (~np.isnan(c)).any() else np.nan for c in np.abs(got["r"]).T]
    np.testing.assert_array_equal(pd.read_csv(os.path.join(where, "series.csv.gz"), float_precision="round_trip")["median_abs_r"], medians)


def compare_targets():
    """In rows and columns, with gaps on either side, an outlier far from what two series have in common, an index."""
    x, t = rng.normal(size=(150, 60)), rng.normal(size=(7, 60))
    t[0] += x[7]
    gaps, lacking = np.where((rng.random(x.shape) < 0.1) & (np.arange(150) % 4 > 0)[:, None], np.nan, x), t.copy()
    lacking[1, 4:9] = lacking[2, 10:] = np.nan
    lacking[4] = 2
    far = np.where(np.arange(60) < 2, 1e12, 1) * x
    far[::2, 0] = far[1::2, 1] = np.nan
    tables = {"targets": (x, t), "targetsg": (gaps, lacking), "targetsx": (gaps, t), "targetst": (x, lacking),
              "targetsf": (far, lacking), "targetsn": (x.astype("f4"), t.astype("f4")), "targetsm": (np.tile(x, (12, 1)), t),
              "targets1": (x[:1], t[:1])}
    for stem, (a, b) in tables.items():
        files = [stem + ".clusters.npy", stem + ".targets.npy"]
        np.save(files[0], a)
        np.save(files[1], b)
        for method in ("pearson", "spearman") if stem in ("targets", "targetsg") else ("pearson",):
            for options in ([], ["diff=step"]) if method == "pearson" and stem != "targetsf" else ([],):
                check_targets(stem, files, a, b, method, "series=rows", *options)
    for stem in ("targets", "targetsg"):
        a, b = tables[stem]
        files = [stem + "c.clusters.csv", stem + "c.targets.csv"]
        for path, rows, letter in zip(files, (a, b), "st"):
            pd.DataFrame(rows.T, columns=[f"{letter}{k}" for k in range(len(rows))]).to_csv(path, index_label="time")
        check_targets(stem + "c", files, a, b, "pearson")


def check_within(files, x, names, groups, *options):
    """Series and the group of each ("": none): blocks, lists, p and q, and results of the groups, by pandas and NumPy."""
    out = run_all(files, "top_each=2", "top=500", *options)
    where, got, manifest = load(out, files[0].split(".")[0])
    name, known = f"{files}, {options}", sorted(set(groups) - {""})
    method = "spearman" if "method=spearman" in options else "pearson"
    frame = pd.DataFrame(x.T.astype(float))
    frame = frame.dropna() if "missing=drop" in options else frame
    with np.errstate(invalid="ignore", divide="ignore"):
        want = frame.corr(method=method, min_periods=3).to_numpy() if frame.isna().any().any() or method != "pearson" else \
            np.atleast_2d(np.corrcoef(frame.to_numpy().T))
    want = want.copy()  # pandas may keep it from being written to
    want[(frame.max() == frame.min()).to_numpy()] = np.nan
    want[:, (frame.max() == frame.min()).to_numpy()] = np.nan
    of = np.array([known.index(g) if g else -1 for g in groups])
    if not np.array_equal(got["group"], of) or list(got["groups"]) != known or manifest["shape"]["n_groups"] != len(known):
        sys.exit(f"{name}: other groups: {got['group']}, {got['groups']}")
    r = np.full(want.shape, np.nan)
    table = pd.read_csv(os.path.join(where, "within.csv.gz"), float_precision="round_trip", dtype={"group": str}, keep_default_na=False,
                        na_values={c: ["nan"] for c in ("mean_r", "median_r", "smallest_r", "homogeneity")})
    for g in range(len(known)):
        block = squareform(got["r"][got["starts"][g]:got["starts"][g + 1]])
        members = np.flatnonzero(got["group"] == g)
        r[np.ix_(members, members)] = block
        of_pairs = got["r"][got["starts"][g]:got["starts"][g + 1]]
        there = of_pairs[~np.isnan(of_pairs)]
        told = [np.mean(there), np.median(there), np.min(there), np.mean(np.abs(there))] if len(there) else [np.nan] * 4
        np.testing.assert_allclose(table.loc[g, ["mean_r", "median_r", "smallest_r", "homogeneity"]].astype(float), told, rtol=1e-12, atol=1e-15)
        if list(table.loc[g, ["group", "size", "n_undefined"]]) != [known[g], len(members), len(of_pairs) - len(there)]:
            sys.exit(f"{name}: {table.loc[g]}")
    inside = (of[:, None] == of) & (of >= 0)
    np.fill_diagonal(inside, False)
    want[~inside] = r[~inside] = np.nan
    if (np.isnan(r) != np.isnan(want)).any() or not np.nanmax(np.abs(r - want)) <= (1e-10 if frame.isna().any().any() else 1e-12):
        sys.exit(f"{name}: r differs by {np.nanmax(np.abs(r - want))}")
    present = (~np.isnan(frame.to_numpy())).astype(float)
    n, there = present.T @ present, np.triu(~np.isnan(want))
    q = np.full(want.shape, np.nan)
    q[there] = false_discoveries(p_of(r[there], n[there]))
    pairs = pairs_of(where)
    at = pairs["i"], pairs["j"]
    if len(pairs["r"]) != min(500, there.sum()) or not np.array_equal(pairs["n"], n[at]) or not np.array_equal(pairs["r"], r[at]):
        sys.exit(f"{name}: {len(pairs['r'])} pairs, or other numbers of samples")
    np.testing.assert_array_equal(np.sort(np.abs(pairs["r"])), np.sort(np.abs(r[there]))[-len(pairs["r"]):])
    if (pairs["q"] < q[at] * (1 - 1e-9)).any() or (pairs["q"] > q[at] * 1.02).any():
        sys.exit(f"{name}: q is off by {(pairs['q'] / q[at]).min()} to {(pairs['q'] / q[at]).max()}")
    partners = pd.read_csv(os.path.join(where, "partners.csv.gz"))
    for s in range(len(x)):
        strength = np.where(np.isnan(r[s]), -1, np.abs(r[s]))
        best = [k for k in np.argsort(-strength, kind="stable")[:2] if strength[k] >= 0]
        if list(partners[partners["series"] == s]["partner"]) != best:
            sys.exit(f"{name}: partners of series {s}: not {best}")
    series = pd.read_csv(os.path.join(where, "series.csv.gz"), float_precision="round_trip", keep_default_na=False, dtype={"group": str})
    medians = [np.median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else np.nan for row in np.abs(r)]
    np.testing.assert_array_equal(series["median_abs_r"].astype(float), medians)
    if list(series["group"]) != list(groups) or list(series["name"]) != list(names):
        sys.exit(f"{name}: series of other groups")
    rows = pd.read_csv(os.path.join(where, "pairs.csv.gz"), keep_default_na=False, dtype={"group": str})
    if list(rows["group"]) != [groups[i] for i in rows["i"]]:
        sys.exit(f"{name}: groups of pairs: {rows}")
    return got, manifest


def compare_within():
    """Inside groups of a file or of names: sizes from one to beyond what is multiplied at once, gaps, an offset, constants."""
    x = 1e4 + rng.normal(size=(330, 80))
    x[:40] += rng.normal(size=80)
    x[20] = x[90] = 7
    sizes = np.repeat(np.arange(7), [1, 2, 3, 31, 270, 20, 3])
    groups = [f"g{k}" if k < 6 else "" for k in rng.permutation(sizes)]
    names = [f"{'x' if g == '' else g + '/'}{k}" for k, g in enumerate(groups)]
    gaps = np.where((rng.random(x.shape) < 0.04) & (np.arange(330) % 3 > 0)[:, None] & (np.arange(80) < 40), np.nan, x)
    far = np.where(np.arange(80) < 2, 1e12, 1) * x
    far[::2, 0] = far[1::2, 1] = np.nan
    for stem, rows in (("within", x), ("withing", gaps), ("withinf", far)):
        files = [stem + ".clusters.csv", stem + ".groups.csv"]
        pd.DataFrame(rows.T, columns=names).to_csv(files[0], index=False)
        lines = [f'"{a}",{b}' for a, b in rng.permutation(list(zip(names, groups)))] + ["nobody,g9"]
        with open(files[1], "w") as f:
            f.write("\n".join((["name,group"] if stem == "within" else []) + lines) + "\n")
        for options in ([], ["method=spearman"], ["missing=drop"]) if stem == "withing" else ([], ["precision=f32"]):
            check_within(files[:1], rows, names, groups, "group_by=/", *options)
            _, manifest = check_within(files, rows, names, groups, "within=file", *options)
            told = [w for w in manifest["warnings"] if "'nobody'" in w or "in no group" in w or "have no pair: 1 of 6" in w]
            if len(told) != 3:
                sys.exit(f"{stem}: {manifest['warnings']}")
    pd.DataFrame(x, index=names).to_csv("withinr.clusters.csv", header=False)
    check_within(["withinr.clusters.csv"], x, names, groups, "group_by=/")
    with tarfile.open("withina.tar", "w") as tar:
        for part in ("groups", "clusters"):
            tar.add(f"within.{part}.csv", f"withina.{part}.csv")
    _, got, _ = load(run_all(["withina.tar"], "within=file"), "withina")
    if got["starts"][-1] != sum(n * (n - 1) // 2 for n in (1, 2, 3, 31, 270, 20)):
        sys.exit(f"groups of an archive: {got['starts']}")
    # One group of all is the matrix of all.
    one = [f"a/{k}" for k in range(len(x))]
    pd.DataFrame(x.T, columns=one).to_csv("withino.clusters.csv", index=False)
    got, _ = check_within(["withino.clusters.csv"], x, one, ["a"] * len(x), "group_by=/")
    whole = run("withino.clusters.csv")[1]["r"]
    np.testing.assert_allclose(got["r"], whole, rtol=0, atol=1e-12)
    many = 300 if WATCHED else 4096
    small = rng.normal(size=(4, many, 12))
    np.save("withinm.clusters.npy", small.reshape(-1, 12))
    with open("withinm.groups.csv", "w") as f:
        f.writelines(f"row {k + 1},{k % many:04d}\n" for k in range(4 * many))
    _, got, _ = load(run_all(["withinm.clusters.npy", "withinm.groups.csv"], "within=file", "series=rows"), "withinm")
    z = small - small.mean(axis=2, keepdims=True)
    z /= np.sqrt((z * z).sum(axis=2, keepdims=True))
    want = np.einsum("agt,bgt->gab", z, z)[:, *np.triu_indices(4, 1)].ravel()
    np.testing.assert_allclose(got["r"], want, rtol=0, atol=1e-12)



compare_matrices()
compare_gaps()
compare_dropped()
compare_ranks()
index_left_out()
constant_series()
differences()
compare_significance()
compare_partners()
compare_groups()
compare_targets()
compare_within()
print(f"{n_compared} coefficients within their bounds on {BACKEND}")
