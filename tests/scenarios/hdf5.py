"""Files of HDF5 as tables: what h5py, netCDF4, xarray, pandas and MATLAB write has the bits of the same numbers as .npy;
what is not read is refused with a sentence, and what is damaged ends nothing but its own job."""
# ctest: long slots=1 tsan=soak
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib

from lib import LEAT, WAIT_S, WATCHED, begin, skip

begin("numpy", "h5py", in_memory=True)
import h5py
import numpy as np

from service import Service

if not json.loads(subprocess.run([LEAT, "doctor", "-b", "cpu", "--json"], capture_output=True).stdout)["libraries"]["leat-hdf5"][0].isdigit():
    skip("leat was built without leat-hdf5")

with open("leaks", "w") as f:  # of HDF5, of what it finds damaged
    f.write("leak:libhdf5\n")
os.environ["LSAN_OPTIONS"] = os.environ.get("LSAN_OPTIONS", "") + f":suppressions={os.path.abspath('leaks')}:print_suppressions=0"

N, COLUMNS = 211, 13
rng = np.random.default_rng(5)
A = rng.normal(size=(N, COLUMNS)).cumsum(axis=0)
WANTED, FILES = {}, {}  # {name: what is read}, {name: options}


def leat(*words, stdin=None, **env):
    done = subprocess.run([LEAT, *words], input=stdin, capture_output=True, timeout=WAIT_S, env={**os.environ, **env})
    return done.returncode, done.stderr.decode(errors="replace")


def check(is_true, why):
    if not is_true:
        raise SystemExit(f"FAILED: {why}")


def made(name, wanted, *options):
    """The path of a new file, which is read so."""
    WANTED[name], FILES[name] = wanted, options
    return os.path.join("in", name)


def one(name, numbers, wanted=None, **how):
    with h5py.File(made(name, numbers if wanted is None else wanted), "w") as f:
        f.create_dataset("a", data=numbers, **how)


os.mkdir("in")
one("f8.h5", A)
one("f8_big.hdf5", A, dtype=">f8")
one("f4.h5", A, wanted=A.astype("f4"), dtype="<f4")
one("f4_big.h5", A, wanted=A.astype("f4"), dtype=">f4")
one("f2.he5", A.astype("f2"))
for kind in ["i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8"]:
    whole = rng.integers(0 if "u" in kind else -100, 100, (N, COLUMNS))
    if kind[-1] == "8":
        whole = whole.astype("i8") << 56
    one(f"{kind.replace('<', 'l').replace('>', 'b')}.h5", whole.astype(kind))
one("bool.h5", A > 0, wanted=(A > 0).astype("u1"))
one("chunks.h5", A, chunks=(50, 4))
one("tall.h5", A, chunks=(300, 1), maxshape=(None, None))
one("gzip.h5", A, chunks=(10, COLUMNS), compression=6)
one("shuffle.h5", A.astype("f4"), chunks=(64, 5), compression=1, shuffle=True)
one("sums.h5", A, chunks=(64, 5), compression=1, shuffle=True, fletcher32=True)
one("odd_sums.h5", A.astype("i1"), chunks=(7, 5), fletcher32=True)
one("unlimited.h5", A, chunks=(1, COLUMNS), maxshape=(None, COLUMNS))
one("line.h5", A[:, 0])
one("line_chunks.h5", A[:, 0], chunks=(17,), compression=1)
one("row.h5", A[:, 0].reshape(1, -1), chunks=(1, 20), compression=1)
one("many_dims.h5", A.reshape(1, N, 1, COLUMNS), wanted=A, chunks=(1, 30, 1, COLUMNS))
one("wide.h5", np.tile(A, (1, 400)), chunks=(3, 700), compression=1)

with h5py.File(made("unwritten.h5", np.vstack([A[:50], np.full((61, COLUMNS), 7.5)])), "w") as f:
    f.create_dataset("a", (111, COLUMNS), "f8", chunks=(25, COLUMNS), fillvalue=7.5)[:50] = A[:50]
with h5py.File(made("compact.h5", A[:40]), "w") as f:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"a", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((40, COLUMNS)), properties).write(
        h5py.h5s.ALL, h5py.h5s.ALL, A[:40].copy())
with h5py.File(made("nested.h5", A, "dataset=/deep/er/b"), "w") as f:
    f["deep/er/b"], f["a"], f["deep/c"] = A, A[:5], np.zeros((2, 2, 2))
    f["loop"] = h5py.SoftLink("/loop")
    f["deep/er/up"] = f["deep"]  # a hard link to what it is in
with h5py.File(made("soft.h5", A, "dataset=to"), "w") as f:
    f["b"], f["a"], f["to"] = A, A[:5], h5py.SoftLink("/b")
with h5py.File(made("behind.h5", A, "dataset=b"), "w") as f:  # what lies before it is larger than it is
    f["a"], f["b"] = np.tile(A, (9, 1)), A
with h5py.File(made("with_lines.h5", A), "w") as f:
    f["table"], f["t"], f["name"], f["text"] = A, A[:, 0], "a word", np.array([b"x", b"y"])
    f["row"] = A[:1]
records = np.zeros(N, [("t", "<i4"), ("name", "S3"), ("x", ">f8"), ("v", "<f4", (2,)), ("ok", "?")])
records["t"], records["x"], records["v"], records["ok"] = np.arange(N) ** 2 % 50, A[:, 1], A[:, 2:4], A[:, 4] > 0
with h5py.File(made("records.h5", np.column_stack([records["t"], records["x"], records["v"].astype("f8"), records["ok"]])), "w") as f:
    f["a"] = records
with h5py.File(made("marked.h5", np.where(A.round() == 2, np.nan, np.where(A.round() == -3, np.nan, A.round() * 0.5 + 10))), "w") as f:
    f["a"] = A.round().astype("i2")
    f["a"].attrs.update({"_FillValue": np.int16(2), "missing_value": np.int16(-3), "scale_factor": 0.5, "add_offset": np.float32(10)})
with h5py.File(made("marked_f4.h5", np.where(A < 0, np.nan, A).astype("f4")), "w") as f:
    f["a"] = np.where(A < 0, -9999.9, A).astype("f4")
    f["a"].attrs["_FillValue"] = np.float32(-9999.9)

with h5py.File(made("marked_by_doubles.h5", np.where(A < 0, np.nan, A.astype("f4").astype("f8") * 0.5)), "w") as f:
    f["a"] = np.where(A < 0, -9999.9, A).astype("f4")
    f["a"].attrs.update({"missing_value": -9999.9, "scale_factor": 0.5})
# Outside of valid_min, valid_max, valid_range, as they are stored, numbers are missing.
def valid(name, numbers, wanted, **attributes):
    with h5py.File(made(f"valid_{name}.h5", wanted), "w") as f:
        f["a"] = numbers
        f["a"].attrs.update(attributes)


whole = A.round().astype("i2")
valid("range", whole, np.where((whole < -3) | (whole > 2) | (whole == 1), np.nan, whole * 0.5),
      valid_range=np.array([-3, 2], "i2"), _FillValue=np.int16(1), scale_factor=0.5)
valid("least", A.astype("f4"), np.where(A.astype("f4") < np.float32(-0.3), np.nan, A).astype("f4"), valid_min=-0.3)
valid("most", A.astype(">f4"), np.where(A > 0.25, np.nan, A).astype("f4"), valid_max=np.float32(0.25))
valid("unsigned", whole, np.where(whole < 0, whole.astype("u2").astype("f8"), np.nan), valid_range=np.array([-32768, -1], "i2"), _Unsigned="true")
signed = (A * 100).round().astype("i2")  # of which the negative ones are large without a sign
for kind in str, np.string_:
    with h5py.File(made(f"unsigned_{kind.__name__}.h5", np.where(signed == -32, np.nan, signed.astype("u2") + 1.0)), "w") as f:
        f["a"] = signed
        f["a"].attrs.update({"_Unsigned": kind("true"), "_FillValue": np.int16(-32), "add_offset": 1})
with h5py.File(made("sum_first.h5", A), "w") as f:  # as NetCDF orders them
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((60, 5)), properties.set_shuffle(), properties.set_fletcher32(), properties.set_deflate(4)
    h5py.h5d.create(f.id, b"a", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(A.shape), properties).write(h5py.h5s.ALL, h5py.h5s.ALL, A.copy())
for kind, fill in ("i2", -32767), ("u2", 65535), ("i4", -2147483647), ("u4", 4294967295), ("i8", 2 - 2**63), ("u8", 2**64 - 2), ("f4", 9.969209968386869e36):
    numbers = np.arange(N * COLUMNS).reshape(N, COLUMNS).astype(kind)
    numbers[7] = fill
    wanted = numbers.astype("f4" if kind == "f4" else "f8")
    one(f"fill_of_no_program_{kind}.h5", numbers, wanted=wanted.copy())
    wanted[7] = np.nan
    one(f"fill_of_netcdf_{kind}.h5", numbers, wanted=wanted, fillvalue=np.array(fill, kind)[()])

# A file of MATLAB since 7.3: 512 bytes of its own, matrices by columns, text as numbers, cells beside.
with h5py.File(made("matrix.mat", np.asfortranarray(A)), "w", userblock_size=512) as f:
    f["A"], f["name"], f["#refs#/a"] = A.T.copy(), np.array([[97], [98]], "u2"), A[:9]
    f["A"].attrs["MATLAB_class"], f["name"].attrs["MATLAB_class"] = np.string_("double"), np.string_("char")
    f["none"] = np.array([0, 0], "u8")
    f["none"].attrs["MATLAB_empty"] = np.uint8(1)
with open("in/matrix.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\x02IM")
with h5py.File(made("packed.mat", np.asfortranarray(A)), "w", userblock_size=512) as f:
    f.create_dataset("A", data=A.T, chunks=(2, 100), compression=3).attrs["MATLAB_class"] = np.string_("double")
with open("in/packed.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\x02IM")

programs = []
try:
    import netCDF4
    programs.append("netCDF4")
    with netCDF4.Dataset(made("time.nc", np.where(A < -3, np.nan, (A * 100).round().clip(-999) * 0.01)), "w") as f:
        f.createDimension("time", None), f.createDimension("station", COLUMNS)
        f.createVariable("time", "f8", ("time",))[:] = np.arange(N)
        v = f.createVariable("t", "i2", ("time", "station"), zlib=True, shuffle=True, fill_value=-30000)
        v.set_auto_maskandscale(False)
        v.scale_factor = 0.01
        v[:] = np.where(A < -3, -30000, (A * 100).round().clip(-999))
    with netCDF4.Dataset(made("default.nc", np.where(A < 0, np.nan, A)), "w") as f:
        f.createDimension("time", N), f.createDimension("station", COLUMNS)
        f.createVariable("t", "f8", ("time", "station"))[:] = np.ma.masked_less(A, 0)
    with netCDF4.Dataset(made("one.nc", A[:, 0]), "w") as f:
        f.createDimension("x", N)
        f.createVariable("t", "f8", ("x",))[:] = A[:, 0]
except ImportError:
    pass
try:
    import pandas
    import tables  # noqa: F401
    programs.append("pandas")
    for how in "fixed", "table":
        frame = pandas.DataFrame(A, columns=[f"c{i}" for i in range(COLUMNS)])
        frame.to_hdf(made(f"pandas_{how}.h5", A if how == "fixed" else np.column_stack([np.arange(N), A])), "df", format=how)
    import xarray
    programs.append("xarray")
    xarray.DataArray(np.where(A > 5, np.nan, A).astype("f4"), dims=("time", "x"), name="v",
                     coords={"time": pandas.date_range("2020", periods=N), "x": np.arange(COLUMNS)}).to_netcdf(
        made("xarray.nc", np.where(A > 5, np.nan, A).astype("f4")), engine="netcdf4", encoding={"v": {"zlib": True}})
except ImportError:
    pass


def numbers_of(path, pipeline):
    """What leat has made of it, but for names."""
    with np.load(os.path.join(path, {"pearson": "pearson", "kmeans": "kmeans"}[pipeline] + ".npz"), allow_pickle=False) as z:
        return {key: z[key] for key in z.files if z[key].dtype.kind in "fiu"}


# --- values, against .npy of the same numbers ---
for name, wanted in WANTED.items():
    stem = name.rsplit(".", 1)[0]
    is_line = wanted.ndim == 1 or wanted.shape[0] == 1
    how = ["kmeans", "-s", "k=3"] if is_line else ["pearson", "-s", "series=columns"]
    how += ["-s", "figure=none", "-b", "cpu", "-q"]
    if is_line and wanted.ndim == 2:
        how[0:3] = ["kmeans", "-s", "k=1"]
    np.save(f"{stem}.npy", wanted)
    options = [word for option in FILES[name] for word in ("-s", option)]
    for path, out, more in (f"in/{name}", "of_h5", options), (f"{stem}.npy", "of_npy", []):
        code, said = leat("run", "-p", *how, *more, "-o", out, path)
        check(code == 0, f"{path}: {said}")
    ours, theirs = numbers_of(f"of_h5/{stem}", how[0]), numbers_of(f"of_npy/{stem}", how[0])
    check(ours.keys() == theirs.keys() and len(ours) > 0, f"{name}: {ours.keys()} instead of {theirs.keys()}")
    for key in ours:
        check(ours[key].dtype == theirs[key].dtype and ours[key].tobytes() == theirs[key].tobytes(), f"{name}: other numbers in {key}")
    with open(f"of_h5/{stem}/result.json") as f:
        result = json.load(f)
    with open(f"in/{name}", "rb") as f:  # the checksum, of what is read in order and of what is not
        wanted_input = {"format": "hdf5", "crc32": f"{zlib.crc32(f.read()):08x}"}
    check(wanted_input.items() <= result["inputs"][0].items(), f"{name}: {result['inputs']}")
    names = {"records": ["t", "x", "v[0]", "v[1]", "ok"], "pandas_fixed": [f"c{i}" for i in range(COLUMNS)]}.get(stem)
    if names:
        with gzip.open(f"of_h5/{stem}/series.csv.gz", "rt") as f:
            said = f.read()
        check([line.split(",")[1] for line in said.splitlines()[1:]] == names, f"{name}: {said}")
    check(stem != "records" or any("1 field" in w for w in result["warnings"]), f"{name}: {result['warnings']}")
print(f"{len(WANTED)} files by h5py{''.join(' and ' + p for p in programs)}")

# --- where it comes from ---
with zipfile.ZipFile("z.zip", "w") as z:
    z.write("in/gzip.h5", "gzip.clusters.h5")
with tarfile.open("t.tar.gz", "w:gz") as t:
    t.add("in/gzip.h5", "gzip.clusters.h5")
gzip_h5 = open("in/gzip.h5", "rb").read()
whole = numbers_of("of_h5/gzip", "pearson")
for out, words, stdin in [("zip", ["z.zip"], None), ("tar", ["t.tar.gz"], None), ("pipe", ["--name", "gzip.h5", "-"], gzip_h5)]:
    code, said = leat("run", "-q", "-b", "cpu", "-o", out, *words, "-s", "series=columns", "-s", "figure=none", stdin=stdin)
    check(code == 0, f"{words}: {said}")
    found = [folder for folder, _, names in os.walk(out) if "pearson.npz" in names]
    check(len(found) == 1 and numbers_of(found[0], "pearson")["r"].tobytes() == whole["r"].tobytes(), f"{words}: {found}")


# A query of one dimension is a column, as in .npy.
for kind in "h5", "npy":
    os.mkdir(f"curve_{kind}")
    for part, numbers in ("nodes", np.column_stack([np.arange(9), A[:9, 0]])), ("query", np.linspace(0, 8, 33)):
        np.save(f"curve_npy/q.{part}.npy", numbers) if kind == "npy" else h5py.File(f"curve_h5/q.{part}.h5", "w").create_dataset("a", data=numbers).file.close()
    code, said = leat("run", "-q", "-b", "cpu", "-o", f"curve_of_{kind}", "-s", "figure=none", f"curve_{kind}")
    check(code == 0, said)
check(np.load("curve_of_h5/q/curve.npz")["y"].tobytes() == np.load("curve_of_npy/q/curve.npz")["y"].tobytes(), "another curve")


# --- what is refused, with a sentence that helps ---
def refused(path, sentence, *options):
    code, said = leat("run", "-q", "-b", "cpu", "-o", "none", path, *options)
    check(code == 1 and all(part in said for part in sentence.split("...")) and said.count("\n") == 1, f"{path}: exit status {code}: {said}")
    return said


def bad(name, write, sentence, *options):
    with h5py.File(name, "w", libver=("earliest", "v110")) as f:
        write(f)
    return refused(name, f"{name}: {sentence}", *options)


def virtual(f):
    layout = h5py.VirtualLayout((N, COLUMNS), "f8")
    layout[:] = h5py.VirtualSource("in/f8.h5", "a", (N, COLUMNS))
    f.create_virtual_dataset("a", layout)


def put(f, name, numbers, **attributes):
    f[name] = numbers
    f[name].attrs.update(attributes)


bad("several.h5", lambda f: (put(f, "x/a", A), put(f, "b", A[:9]), put(f, "c", A[0])),
    f"2 datasets could be meant (/b (9 x {COLUMNS}), /c ({COLUMNS}), /x/a ({N} x {COLUMNS})); say which one: -s dataset=/x/a")
code, said = leat("run", "-q", "-b", "cpu", "-o", "cured", "several.h5", "-s", "dataset=/x/a", "-s", "series=columns")
check(code == 0, said)
refused("several.h5", "has no dataset \"/y\"...its datasets are /b (9 x", "-s", "dataset=/y")
said = bad("hostile_names.h5", lambda f: (put(f, "a\nb\x1b[31m", A), put(f, "c", A)), "2 datasets could be meant")
check("\x1b" not in said, repr(said))
bad("cube.h5", lambda f: put(f, "a", np.zeros((2, 3, 4))), "has no dataset of numbers in one or two dimensions")
refused("cube.h5", "dataset /a: it has more than two dimensions", "-s", "dataset=/a")
bad("words.h5", lambda f: put(f, "a", np.array([b"x", b"y"])), "has no dataset of numbers")
refused("words.h5", "dataset a: it is not of numbers that leat reads", "-s", "dataset=a")
bad("empty.h5", lambda f: None, "has no dataset of numbers")
bad("none.h5", lambda f: f.create_dataset("a", (0, 4)), "has no dataset of numbers")
bad("other.h5", lambda f: f.__setitem__("a", h5py.ExternalLink("in/f8.h5", "/a")), "has no dataset of numbers")
refused("other.h5", "has no dataset", "-s", "dataset=/a")
bad("loop.h5", lambda f: (f.__setitem__("a", h5py.SoftLink("/b")), f.__setitem__("b", h5py.SoftLink("/a")), put(f, "x", A)),
    "has no dataset \"/a\" (links to other files are not followed); its datasets are /x", "-s", "dataset=/a")
bad("virtual.h5", virtual, "dataset /a: its numbers lie in other files, which are not opened")
bad("outside.h5", lambda f: f.create_dataset("a", (N, COLUMNS), "f8", external=[("outside.raw", 0, h5py.h5f.UNLIMITED)]).__setitem__(..., A),
    "dataset /a: its numbers lie in other files, which are not opened")
for attribute, value in ("scale_factor", "0.5"), ("add_offset", np.nan), ("scale_factor", [1.0, 2.0]), ("missing_value", np.arange(9)), \
        ("valid_range", [0.0, 1.0, 2.0]), ("valid_range", 1.0), ("valid_min", "0"):
    bad("attribute.h5", lambda f: put(f, "a", A, **{attribute: value}), f"dataset /a: its attribute {attribute} is not ")
said = bad("lzf.h5", lambda f: f.create_dataset("a", data=A, compression="lzf"), "dataset /a is packed by lzf (filter 32000)...convert it: python3")
subprocess.run(["bash", "-c", sys.executable + said[said.index("python3") + 7:]], check=True)
check(leat("run", "-q", "-b", "cpu", "-o", "converted", "lzf.npz")[0] == 0, "the command converts nothing")
large = np.zeros(9, [("x", "f8"), ("more", "S70000")])
large["x"] = A[:9, 0]
said = bad("large.h5", lambda f: put(f, "a", large), "dataset a: its records are larger than 64 KiB; h5repack -l CHUNK=1...", "-s", "dataset=a")
if shutil.which("h5repack"):
    subprocess.run(["h5repack", "-l", "CHUNK=1", "large.h5", "chunked.h5"], check=True)
    check(leat("run", "-q", "-b", "cpu", "-o", "cured", "-p", "kmeans", "-s", "k=2", "chunked.h5")[0] == 0, "h5repack makes nothing that is read")
bad("unwritten.h5", lambda f: f.create_dataset("a", (10**9, 10**6), chunks=(1000, 1000)), "dataset /a: no number was written into it")
bad("claims.h5", lambda f: f.create_dataset("a", (10**9, 10**6), chunks=(10, 10)).__setitem__((0, 0), 1.0),
    "dataset /a claims 1000000000 x 1000000 elements of 4 bytes, and stores 400 bytes")
bad("wide.h5", lambda f: f.create_dataset("a", data=np.zeros((9, 40000)), chunks=(1, 4), maxshape=(None, None)) and
    f.create_dataset("b", data=np.zeros((9000, 9000), "i1"), chunks=(9000, 1), compression=1),
    "dataset /b: a row of its chunks is larger than 256 MiB", "-s", "dataset=/b")


def chunk_of(f, packed):
    f.create_dataset("a", (100, 10), "f8", chunks=(100, 10), compression=1).id.write_direct_chunk((0, 0), packed)


bad("bomb.h5", lambda f: chunk_of(f, zlib.compress(bytes(9_000_000))), "dataset /a: the chunk of row 1, column 1: it unpacks to more than its size")
bad("short.h5", lambda f: chunk_of(f, zlib.compress(bytes(7999))), "...the chunk of row 1, column 1: it unpacks to less than its size")
bad("noise.h5", lambda f: chunk_of(f, b"no stream"), "...its stream cannot be unpacked")
bad("longer.h5", lambda f: chunk_of(f, bytes(99999)), "...it claims more bytes than it can have")
with h5py.File("sum.h5", "w") as f:
    f.create_dataset("a", data=np.full((9, 9), 1.5), chunks=(9, 9), fletcher32=True)
damaged = open("sum.h5", "rb").read().replace(np.array([1.5, 1.5]).tobytes(), np.array([1.5, 2.5]).tobytes(), 1)
open("sum.h5", "wb").write(damaged)
refused("sum.h5", "its checksum does not hold")
open("x.clusters.nc", "wb").write(b"CDF\x01\0\0\0\0")
refused("x.clusters.nc", "is classic NetCDF, which leat does not read; convert it: nccopy")
subprocess.run(["gzip", "-k", "in/f8.h5"], check=True)
refused("in/f8.h5.gz", "is an HDF5 file from gzip, which cannot be read in its order; unpack it")

# Without its module: the package, and what converts the file.
os.mkdir("module")
open("module/leat_hdf5.so", "w").write("no module")
code, said = leat("run", "-q", "-b", "cpu", "-o", "none", "in/f8.h5", LEAT_MODULE_DIR=os.path.abspath("module"))
check(code == 1 and "in/f8.h5: is HDF5 (NetCDF-4): cannot load the HDF5 module: " in said and
      "; install the package leat-hdf5, or convert it: python3 -c " in said, said)

# --- damage: each file ends with a result or a sentence, in bounded time and memory ---
random.seed(7)
whole = [open(f"in/{name}", "rb").read() for name in ("gzip.h5", "nested.h5", "records.h5", "matrix.mat", *(["time.nc"] if "netCDF4" in programs else []))]
os.mkdir("damaged")
n_files = 40 if WATCHED else 400
for i in range(n_files):
    data = bytearray(random.choice(whole))
    if i % 4 == 0:
        del data[random.randrange(len(data)):]
    for _ in range(random.choice([1, 3, 30])):  # most of what describes it lies at the beginning
        at = random.randrange(min(len(data), random.choice([100, 2000, 10**9])) or 1)
        data[at:at + 1] = random.choice([b"\0", b"\xff", bytes([random.randrange(256)])])
    open(f"damaged/{i}.clusters.h5", "wb").write(data)
code, said = leat("run", "-b", "cpu", "-o", "damage", "-s", "figure=none", "damaged")
check(code in (0, 1), f"damaged files end it with {code}: {said[-3000:]}")
n_results = sum("result.json" in names for _, _, names in os.walk("damage"))
n_errors = sum(line.startswith("leat: error: damaged/") for line in said.splitlines())
check(n_results + n_errors == n_files and n_errors > n_files / 20, f"{n_results} results and {n_errors} sentences of {n_files} files: {said[-3000:]}")
print(f"{n_errors} of {n_files} damaged files are refused")

# --- what converts a classic NetCDF keeps its rows and columns ---
try:
    from scipy.io import netcdf_file
except ImportError:
    netcdf_file = None
if netcdf_file is not None and shutil.which("nccopy"):
    with netcdf_file("classic.nc", "w") as f:
        f.createDimension("time", N), f.createDimension("station", COLUMNS)
        f.createVariable("t", "f8", ("time", "station"))[:] = A
    code, said = leat("run", "-b", "cpu", "-p", "pearson", "-o", "classic", "classic.nc")
    check(code == 1 and "is classic NetCDF, which leat does not read; convert it: nccopy" in said, said)
    subprocess.run(said.rpartition("convert it: ")[2], shell=True, check=True)
    check(leat("run", "-q", "-b", "cpu", "-s", "series=columns", "-p", "pearson", "-o", "classic", "classic.new.nc")[0] == 0, "classic.new.nc")
    np.save("classic.npy", A)
    check(leat("run", "-q", "-b", "cpu", "-s", "series=columns", "-p", "pearson", "-o", "classic", "classic.npy")[0] == 0, "classic.npy")
    check(numbers_of("classic/classic.new", "pearson")["r"].tobytes() == numbers_of("classic/classic", "pearson")["r"].tobytes(), "classic")

# --- in the sandbox of workers, which loads the module when a file comes; a bad one fails alone ---
s = Service("spool")
s.drop("pearson/gzip.h5", gzip_h5)
s.drop("pearson/bomb.h5", open("bomb.h5", "rb").read())
s.drop("pearson/matrix.mat", open("in/matrix.mat", "rb").read())
with open("z.zip", "rb") as f:
    s.drop("z.zip", f.read())
s.done(["pearson/gzip.h5", "pearson/matrix.mat", "z.zip"], "files of HDF5")
s.until(lambda: "it unpacks to more than its size" in s.reasons().get("bomb.h5", {"reason": ""})["reason"], "a bomb")
np.save("gzip.npy", A)
check(leat("run", "-q", "-b", "cpu", "-o", "plain", "gzip.npy")[0] == 0, "gzip.npy")
s.check(numbers_of("spool/out/pearson/gzip", "pearson")["r"].tobytes() == numbers_of("plain/gzip", "pearson")["r"].tobytes(), "other numbers")
s.stop()
s = Service("without", env={"LEAT_MODULE_DIR": os.path.abspath("module")})
s.drop("pearson/gzip.h5", gzip_h5)
s.until(lambda: "install the package leat-hdf5, or convert it" in s.reasons().get("gzip.h5", {"reason": ""})["reason"], "no module")
s.stop()
