"""Grids that GDAL reads, through run, check, archives and the service: results are those of the GeoTIFFs that
gdal_translate makes of them; what names other files is refused where it must not; a missing module is named."""
# ctest: asan=soak tsan=soak
import http.server
import os
import shutil
import subprocess
import threading
import zipfile

from lib import LEAT, begin, skip
from service import Service

begin("numpy", "scipy")
import numpy as np  # noqa: E402
from scipy.io import netcdf_file  # noqa: E402

if shutil.which("gdal_translate") is None:
    skip("no GDAL here (Debian: gdal-bin)")
if '"leat-gdal": "3' not in subprocess.run([LEAT, "doctor", "-b", "cpu", "--json"], capture_output=True, text=True).stdout:
    skip("no module leat-gdal here")
ROWS, COLUMNS = 60, 80


def sh(command):
    subprocess.run(command, shell=True, check=True)


def run(stem, ending, *words, code=0, env=None):
    """The bytes of the result, or what was said."""
    shutil.rmtree("out", ignore_errors=True)
    done = subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", "out", "-s", "steps=30", *words, f"{stem}.dem.{ending}",
                           f"{stem}.source.{ending}"], capture_output=True, text=True, env={**os.environ, **(env or {})})
    assert done.returncode == code, (stem, words, done.returncode, done.stderr)
    if code != 0:
        return done.stderr
    with open(f"out/{stem}/thickness.tif", "rb") as f:
        return f.read()


def cells(tif):
    with open("cells.tif", "wb") as f:
        f.write(tif)
    sh("gdal_translate -q -ot Float64 -of ENVI cells.tif cells.bin")
    return np.fromfile("cells.bin").reshape(ROWS, COLUMNS)


def write(path, a, packed):
    """Two times, unlimited, of which the second has the grid; the southernmost row is the first."""
    with netcdf_file(path, "w") as f:
        f.createDimension("time", None)
        for axis, n, first in ("y", ROWS, 4649000), ("x", COLUMNS, 500000):
            f.createDimension(axis, n)
            v = f.createVariable(axis, "d", (axis,))
            v[:] = first + 30 * np.arange(n)
            v.units, v.standard_name = "m", f"projection_{axis}_coordinate"
        for name in "z", "other":
            v = f.createVariable(name, "h" if packed else "d", ("time", "y", "x"))
            v._FillValue = np.int16(-9999) if packed else -9999.0
            if packed:
                v.scale_factor, v.add_offset = 0.25, 100.0
            kept = np.where(np.isnan(a), -9999, (a - 100) * 4 if packed else a)
            v[:] = np.stack([kept * 0 + 1, kept if name == "z" else kept + 40]).astype("h" if packed else "d")


j, i = np.meshgrid(np.arange(COLUMNS), np.arange(ROWS))
grids = {"dem": np.round(4 * (600 - 3.0 * i + 0.1 * (j - 40.0) ** 2)) / 4,
         "source": np.where((i - 15) ** 2 + (j - 40) ** 2 < 40, 6.25, 0.0)}
grids["dem"][:4, :6] = np.nan
for part, grid in grids.items():
    write(f"nc.{part}.nc", grid, False)
    write(f"packed.{part}.nc", grid, True)
    sh(f"gdal_translate -q -b 2 -a_srs EPSG:32633 NETCDF:nc.{part}.nc:z want.{part}.tif")
    sh(f"gdal_translate -q -b 2 NETCDF:nc.{part}.nc:z bare.{part}.tif")
    for x in 0, 40:
        for y in 0, 30:
            sh(f"gdal_translate -q -srcwin {x} {y} 40 30 want.{part}.tif tile.{part}.{x}.{y}.tif")
    sh(f"gdalbuildvrt -q vrt.{part}.vrt tile.{part}.*.tif")
    sh(f"gdal_translate -q -of HFA want.{part}.tif img.{part}.img && gdal_translate -q -of EHdr -ot Float32 want.{part}.tif"
       f" bil.{part}.bil && rm -f bil.{part}.bil.aux.xml")
want, bare = run("want", "tif"), run("bare", "tif")

# One dataset of several, one band of several; rows that go north; an unlimited time.
said = run("nc", "nc", code=1)
assert "holds several grids: z, other; choose one: -s dataset=z" in said, said
said = run("nc", "nc", "-s", "dataset=z", code=1)
assert "has 2 bands, a grid has one; choose it: -s band=1" in said, said
assert run("nc", "nc", "-s", "dataset=z", "-s", "band=2") == bare, "NetCDF"
packed = run("packed", "nc", "-s", "dataset=z", "-s", "band=2")
assert np.array_equal(np.nan_to_num(cells(packed), nan=-9999), cells(bare)), "packed NetCDF"

# What NetCDF's library would fill with zeros is refused: the last byte of the last record.
for stem in "nc", "packed":
    for part in grids:
        with open(f"{stem}.{part}.nc", "rb") as f:
            data = f.read()
        n = len(data)
        with open(f"cut.{part}.nc", "wb") as f:
            f.write(data[:n - 1])
    said = run("cut", "nc", "-s", "dataset=z", "-s", "band=2", code=1)
    assert f"has {n - 1} bytes where its header claims" in said and "it was cut" in said, said

# A mosaic has the bits of its GeoTIFF; so have files with a header and a .prj beside them.
assert run("vrt", "vrt") == want, "VRT"
assert run("img", "img") == want, "Imagine"
assert np.array_equal(cells(run("bil", "bil")), cells(want)), "BIL"

# In an archive, and in the service, one file is read alone.
with zipfile.ZipFile("img.zip", "w") as z:
    for part in grids:
        z.write(f"img.{part}.img")
        z.write(f"vrt.{part}.vrt")
done = subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", "zipped", "-s", "steps=30", "img.zip"], capture_output=True, text=True)
assert done.returncode == 1 and "or that it names" in done.stderr, done.stderr
with open("zipped/img.zip/img/thickness.tif" if os.path.exists("zipped/img.zip") else "zipped/img/thickness.tif", "rb") as f:
    assert f.read() == want, "in an archive"
s = Service("spool", "-s", "steps=30")
for part in grids:
    for stem in "img.{}.img", "vrt.{}.vrt":
        with open(stem.format(part), "rb") as f:
            s.drop(stem.format(part), f.read())
s.until(lambda: os.path.exists("spool/out/img/thickness.tif"), "a result of the grids in the service")
with open("spool/out/img/thickness.tif", "rb") as f:
    s.check(f.read() == want, "in the service")
s.until(lambda: any("or that it names" in open(os.path.join(f, "reason.json")).read()
                    for f, _, files in os.walk("spool/failed") if "reason.json" in files), "the refusal of a VRT")
s.process.terminate()
s.process.wait()

# Nor does HDF5 bring the numbers of another file then.
try:
    import h5py
except ImportError:
    print("without h5py: HDF5 that names other files is not tried")
else:
    numbers = np.where(np.isnan(grids["dem"]), 0, grids["dem"])
    numbers.tofile("secret.bin")
    with h5py.File("secret.h5", "w") as f:
        f["z"] = numbers
    virtual = h5py.VirtualLayout(numbers.shape, "f8")
    virtual[:] = h5py.VirtualSource(os.path.abspath("secret.h5"), "z", numbers.shape)
    kinds = {"own": lambda f: f.create_dataset("z", data=numbers),
             "stored": lambda f: f.create_dataset("z", numbers.shape, "f8", external=[(os.path.abspath("secret.bin"), 0, h5py.h5f.UNLIMITED)]),
             "virtual": lambda f: f.create_virtual_dataset("z", virtual),
             "deep": lambda f: f.create_virtual_dataset("a/#refs#/z", virtual),
             "linked": lambda f: f.update({"z": h5py.ExternalLink(os.path.abspath("secret.h5"), "/z"), "own": numbers})}
    for kind, make in kinds.items():
        with zipfile.ZipFile(f"{kind}.zip", "w") as z:
            for part in grids:
                with h5py.File(f"{kind}.{part}.h5", "w") as f:
                    make(f)
                z.write(f"{kind}.{part}.h5")
        done = subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", "alone", "-s", "steps=30", "-s", "dataset=z" if kind == "linked" else "steps=30",
                               f"{kind}.zip"], capture_output=True, text=True)
        assert done.returncode == (kind != "own") and ("or that it names" in done.stderr) == (kind != "own"), (kind, done.stderr)

# A mosaic reaches no server.
asked = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_error(404)

    do_HEAD = do_GET
    log_message = lambda *_: None  # noqa: E731


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name in "vsicurl/", "vsicurl?url=", "vsicurl_streaming/", "vsigzip//vsicurl_streaming/":
    for part in grids:
        with open(f"far.{part}.vrt", "w") as f:
            f.write('<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename>'
                    f"/{name}http://127.0.0.1:{server.server_port}/x.tif</SourceFilename><SourceBand>1</SourceBand></SimpleSource>"
                    "</VRTRasterBand></VRTDataset>")
    said = run("far", "vrt", code=1)
    assert "far.dem.vrt: " in said and not asked, (name, asked, said)
server.shutdown()

# Nor does it wait for a pipe, which nobody writes to; nor does a mosaic of it.
os.mkfifo("pipe")
for stem, of in ("waits", "pipe"), ("deeper", "waits.{}.vrt"):
    for part in grids:
        with open(f"{stem}.{part}.vrt", "w") as f:
            f.write('<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename '
                    f'relativeToVRT="1">{of.format(part)}</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>')
    said = run(stem, "vrt", code=1)
    assert f"{stem}.dem.vrt: names 'pipe' as a file, which is a pipe or a device" in said or f"{stem}.dem.vrt: names './pipe'" in said, said

# As GDAL reads XML: names in any case and with blanks before them, text in CDATA; a mosaic of itself ends soon.
for stem, source, why in (("cased", "<sourcefilename relativetovrt='1'>pipe</sourcefilename>", "which is a pipe or a device"),
                          ("data", "< SourceFilename><![CDATA[pipe]]></SourceFilename>", "which is a pipe or a device"),
                          ("itself", '<SourceFilename relativeToVRT="1">itself.dem.vrt</SourceFilename>' * 4000, "or are of themselves")):
    for part in grids:
        with open(f"{stem}.{part}.vrt", "w") as f:
            f.write('<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1">'
                    f"<SimpleSource>{source}</SimpleSource></VRTRasterBand></VRTDataset>")
    said = run(stem, "vrt", code=1)
    assert f"{stem}.dem.vrt: " in said and why in said, said

# Without the module it is named.
os.mkdir("none")
open("none/leat_gdal.so", "w").close()
said = run("img", "img", code=1, env={"LEAT_MODULE_DIR": os.path.abspath("none")})
assert "install the package leat-gdal, or convert it: gdal_translate img.dem.img img.dem.tif" in said, said
print("GDAL's grids give the results of their GeoTIFFs")
