"""Polygons as debris and as an observed landslide: cells are those that the definition says, and gdal_rasterize; an
outline that leat wrote scores 1 against its own run; what cannot be read right is refused, and what is told cures it."""
# ctest: asan=soak tsan=soak
import contextlib
import filecmp
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import zipfile

from lib import LEAT, TREE, begin, skip
from service import Service

begin("numpy")
import numpy as np  # noqa: E402

if shutil.which("gdal_rasterize") is None:
    skip("no GDAL here (Debian: gdal-bin)")
if '"leat-gdal": "3' not in subprocess.run([LEAT, "doctor", "-b", "cpu", "--json"], capture_output=True, text=True).stdout:
    skip("no module leat-gdal here")
WEST, NORTH, CELL = 500000.0, 4650000.0, 7.5
os.mkdir("none")
open("none/leat_gdal.so", "w").close()
without = {**os.environ, "LEAT_MODULE_DIR": os.path.abspath("none")}


def sh(command):
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)


def leat(*words, code=0, env=None):
    done = subprocess.run([LEAT, *words], capture_output=True, text=True, env=env)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr


def run(dem, source, *words, code=0, env=None, steps=0):
    """Through the options that name the parts: what was said."""
    shutil.rmtree("out", ignore_errors=True)
    return leat("run", "-b", "cpu", "-o", "out", "-s", "figure=none", "-s", f"steps={steps}", *words, "--dem", dem, "--source", source, code=code, env=env)


def cells(path):
    sh(f"gdal_translate -q -ot Float64 -of ENVI {path} cells.bin")
    with open("cells.hdr") as f:
        head = {k.strip(): v.strip() for k, _, v in (line.partition("=") for line in f)}
    return np.fromfile("cells.bin").reshape(int(head["lines"]), int(head["samples"]))


def start():
    stem, = os.listdir("out")
    return cells(f"out/{stem}/thickness.tif")


def make_dem(path, rows, columns, options="-a_srs EPSG:32633", text="r.asc"):
    with open(text, "w") as f:
        f.write(f"ncols {columns}\nnrows {rows}\nxllcorner {WEST}\nyllcorner {NORTH - rows * CELL}\ncellsize {CELL}\n")
        for i in range(rows):
            f.write(" ".join(["%g" % (1000 - i)] * columns) + "\n")
    if path != text:
        sh(f"gdal_translate -q {options} {text} {path}")


def write(path, features, epsg=32633):
    """Each: properties, and a list of polygons, each of rings in columns and rows."""
    def place(ring):
        return [[WEST + CELL * x, NORTH - CELL * y] for x, y in ring] + [[WEST + CELL * ring[0][0], NORTH - CELL * ring[0][1]]]
    with open(path, "w") as f:
        json.dump({"type": "FeatureCollection", **({"crs": {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{epsg}"}}} if epsg else {}),
                   "features": [{"type": "Feature", "properties": p,
                                 "geometry": {"type": "MultiPolygon", "coordinates": [[place(r) for r in polygon] for polygon in polygons]}}
                                for p, polygons in features]}, f)


def fill(features, rows, columns, key="thickness"):
    """By definition: a centre lies in a polygon when a ray to the left crosses its rings an odd number of times."""
    out = np.zeros((rows, columns))
    y, x = np.mgrid[:rows, :columns] + 0.5
    for properties, polygons in features:
        for polygon in polygons:
            odd = np.zeros((rows, columns), bool)
            for ring in polygon:
                for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
                    if ay != by:
                        odd ^= (np.minimum(ay, by) <= y) & (y < np.maximum(ay, by)) & (ax + (y - ay) * (bx - ax) / (by - ay) <= x)
            out[odd] = properties[key]
    return out


random.seed(3)


def star(x, y, r, n, turn=1):
    """A ring that may cross itself."""
    return [(x + r * random.uniform(0.3, 1) * np.cos(turn * 2 * np.pi * k / n), y + r * random.uniform(0.3, 1) * np.sin(turn * 2 * np.pi * k / n))
            for k in range(n)]


# Holes, several parts, rings in either direction, overlaps, beyond the edge; a grid of several bands of rows.
for rows, columns, n in (60, 80, 12), (900, 700, 40):
    size = min(rows, columns)
    features = [({"thickness": 0.5 + k, "name": "x"},
                 [[star(x, y, r, 9 + k, (-1) ** k), star(x, y, 0.25 * r, 7, (-1) ** (k // 2))], [star(x + 2 * r, y, 0.4 * r, 5)]])
                for k in range(n) for x, y, r in [(random.uniform(0, columns), random.uniform(0, rows), random.uniform(1, size / 6))]]
    want = fill(features, rows, columns)
    make_dem("r.tif", rows, columns)
    write("p.geojson", features)
    sh("for e in gpkg shp fgb; do ogr2ogr p.$e p.geojson; done; ogr2ogr -f GeoJSONSeq p.ndjson p.geojson -a_srs EPSG:4326")
    sh(f"gdal_rasterize -q -a thickness -init 0 -ot Float64 -te {WEST} {NORTH - rows * CELL} {WEST + columns * CELL} {NORTH} -ts {columns} {rows} p.geojson g.tif")
    assert 0.02 < np.mean(want > 0) < 0.9
    assert np.array_equal(cells("g.tif"), want), "gdal_rasterize differs from the definition"
    for ending in "geojson", "gpkg", "shp":
        said = run("r.tif", f"p.{ending}")
        assert np.array_equal(start(), want), ending
        assert "extend beyond the altitudes" in said, said
    run("r.tif", "p.geojson", "--memory", "160M")
    assert np.array_equal(start(), want), "in little memory"
# FlatGeobuf has an order of its own, so of overlaps another polygon may be the last one.
run("r.tif", "p.fgb")
assert np.array_equal(start() > 0, want > 0), "fgb"
sh("rm -f p.*")

# The parameter: a number for all, or the attribute's name. Without either, or where one has none, it is refused.
ROWS, COLUMNS = 40, 50
box = [[(10, 10), (20, 10), (20, 30), (10, 30)]]
make_dem("r.tif", ROWS, COLUMNS)
write("p.geojson", [({"dicke": 2.25, "word": "3"}, [box])])
want = fill([({"thickness": 1.0}, [box])], ROWS, COLUMNS)
said = run("r.tif", "p.geojson", code=1)
assert "no attribute thickness, height or depth of numbers; say how much debris they carry: -s thickness=3" in said, said
for word, thickness in ("thickness=3", 3), ("thickness=dicke", 2.25):
    run("r.tif", "p.geojson", "-s", word)
    assert np.array_equal(start(), want * thickness), word
for word in "dick", "word", "0x10":
    assert f"no attribute {word} of numbers" in run("r.tif", "p.geojson", "-s", f"thickness={word}", code=1)
assert "below 0" in run("r.tif", "p.geojson", "-s", "thickness=-3", code=1)
write("p.geojson", [({"Height": 2}, [box]), ({"Height": None}, [[[(1, 1), (3, 1), (3, 3)]]])])
assert "feature 1 has no thickness" in run("r.tif", "p.geojson", code=1)
write("p.geojson", [({"Depth": 2}, [box])])
run("r.tif", "p.geojson")
assert np.array_equal(start(), 2 * want), "depth"
run("r.tif", "g.tif", "-s", "thickness=3", code=1) # another shape
sh("gdal_rasterize -q -burn 2 -init 0 -ot Float64 -te 500000 4649700 500375 4650000 -ts 50 40 p.geojson same.tif")
assert "thickness=3 is ignored" in run("r.tif", "same.tif", "-s", "thickness=3")
assert np.array_equal(start(), 2 * want), "a grid"

# Another coordinate system is transformed, as ogr2ogr does.
make_dem("u.asc", ROWS, COLUMNS, text="u.asc")
sh("gdalsrsinfo -o wkt_esri EPSG:32633 >u.prj; ogr2ogr -t_srs EPSG:4326 -lco RFC7946=YES q.geojson p.geojson; ogr2ogr -t_srs EPSG:3035 q.gpkg p.geojson")
sh("ogr2ogr -t_srs EPSG:2393 q.shp p.geojson")  # north before east, in the order of its axes
for dem in "r.tif", "u.asc":
    for ending, name in ("geojson", "WGS 84"), ("gpkg", "ETRS89"), ("shp", "KKJ"):
        said = run(dem, f"q.{ending}")
        assert f"are transformed from {name}" in said and "UTM" in said and np.array_equal(start(), 2 * want), (dem, ending, said)
make_dem("own.tif", ROWS, COLUMNS, "-a_srs '+proj=tmerc +lon_0=15 +k=0.9996 +x_0=500000 +ellps=intl +towgs84=1,2,3'")
said = run("own.tif", "p.geojson")
assert "in the coordinate system of the altitudes: that has no EPSG code" in said and np.array_equal(start(), 2 * want), said
assert "system" not in run("u.asc", "p.geojson") and np.array_equal(start(), 2 * want), "a .prj and GeoJSON of one system"
make_dem("v.tif", ROWS, COLUMNS, "-a_srs EPSG:32633+5773")
assert "coordinate system" not in run("v.tif", "p.geojson"), "heights count"
write("far.geojson", [({"thickness": 1}, [[[(-9, 3), (-2, 3), (-2, 9)]]])])
said = run("r.tif", "far.geojson", code=1)
assert "lie beside the altitudes: from column -8 to -2 of 50, from row 4 to 9 of 40; are they of another place" in said, said
make_dem("bare.asc", ROWS, COLUMNS, text="bare.asc")
assert "both were taken to have one coordinate system; if they have not, say them" in run("bare.asc", "q.geojson", code=1)
shutil.copy("u.prj", "bare.prj")
run("bare.asc", "q.geojson")
assert np.array_equal(start(), 2 * want), "what is told cures it"
write("none.geojson", [({"thickness": 1}, [box])], None)
said = run("r.tif", "none.geojson")
assert "in the coordinate system of the altitudes: they name none" in said and np.array_equal(start(), want), said
np.save("r.npy", np.ones((ROWS, COLUMNS)))
assert "the altitudes do not say where they lie" in run("r.npy", "p.geojson", code=1)
write("points.geojson", [])
assert "holds no polygon" in run("r.tif", "points.geojson", "-s", "thickness=1", code=1)
with open("points.geojson", "w") as f:
    f.write('{"type": "Feature", "properties": {"thickness": 2}, "geometry": {"type": "Point", "coordinates": [500010, 4649990]}}')
said = run("r.tif", "points.geojson", "-s", "thickness=1", code=1)
assert "points.geojson: holds not only polygons; leave the others out: ogr2ogr -where" in said, said
point = {"type": "Point", "coordinates": [500010, 4649990]}
with open("p.geojson") as f:
    mixed = json.load(f)
mixed["features"].append({"type": "Feature", "properties": {"Depth": 2}, "geometry": point})
with open("mixed.geojson", "w") as f:
    json.dump(mixed, f)
sh(run("r.tif", "mixed.geojson", code=1).partition("others out: ")[2])
run("r.tif", "mixed.gpkg")
assert np.array_equal(start(), 2 * want), "without its points"
sh("ogr2ogr two.gpkg p.geojson -nln a && ogr2ogr -update two.gpkg p.geojson -nln b")
assert "has 2 layers; choose one: -s dataset=a" in run("r.tif", "two.gpkg", code=1)
run("r.tif", "two.gpkg", "-s", "dataset=b")
assert np.array_equal(start(), 2 * want), "a layer by its name"
sh("ogr2ogr styled.gpkg p.geojson -nln a")
with contextlib.closing(sqlite3.connect("styled.gpkg")) as db:
    db.execute("CREATE TABLE layer_styles (id INTEGER PRIMARY KEY, styleQML TEXT)")
    db.execute("INSERT INTO gpkg_contents (table_name, data_type, identifier) VALUES ('layer_styles', 'attributes', 'layer_styles')")
    db.commit()
run("r.tif", "styled.gpkg")
assert np.array_equal(start(), 2 * want), "beside a table of styles"

# A view whose rows have no end is refused, also one that has none, or that GDAL asks before any layer.
endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
many = "WITH r(n) AS (VALUES " + ", ".join(f"({k})" for k in range(100)) + ") "
layer = "SELECT r.n AS fid, (SELECT geom FROM g) AS geom, 2.0 AS depth FROM r"
squared = layer + ", r AS b, r AS c, r AS d, r AS e, r AS f, r AS g, r AS h"
for name, view, says in (("a few", "SELECT 1 AS fid, geom, 2.0 AS depth FROM g", None), ("rows", many + squared, "has more features than bytes"),
                         ("recursive", endless + layer, "a view of its database is recursive, and may have no end"),
                         ("recursive", endless + layer + " WHERE n < 0", "a view of its database is recursive, and may have no end"),
                         ("long", many + squared + " WHERE r.n + b.n + c.n + h.n < 0", "a view of its database takes too long"),
                         ("contents", None, "a view of its database is recursive, and may have no end")):
    shutil.copy("styled.gpkg", "view.gpkg")
    with contextlib.closing(sqlite3.connect("view.gpkg")) as db:
        db.execute("CREATE TABLE g AS SELECT geom FROM a")
        if view is None:
            db.execute("ALTER TABLE gpkg_contents RENAME TO kept")
            db.execute(f"CREATE VIEW gpkg_contents AS {endless} SELECT kept.* FROM kept, r WHERE n < 0")
        else:
            db.execute("CREATE VIEW v AS " + view)
            for table in "gpkg_contents", "gpkg_geometry_columns":
                db.execute(f"UPDATE {table} SET table_name = 'v' WHERE table_name = 'a'")
        db.commit()
    said = run("r.tif", "view.gpkg", "-s", "thickness=1", code=says is not None)
    assert says is None or "view.gpkg: " in said and says in said, (name, said)
assert "GDAL reads no grid" in run("p.geojson", "p.geojson", code=1) # no terrain

# Alone, it says beside what it is read.
for name in "p.geojson", "styled.gpkg", "q.shp":
    for words in (name,), ("-p", "pearson", name):
        said = leat("run", "-o", "alone", *words, code=2 if len(words) == 1 else 1)
        assert f"which leat reads beside a DEM, as source or observed landslide: leat run --dem DEM.tif --source {name}; for a table" in said, said

# Without the module it is named.
for name in "p.geojson", "p.shp", "p.fgb", "p.gpkg":
    sh(f"[ {name} = p.geojson ] || ogr2ogr {name} p.geojson")
    said = run("r.tif", name, "-s", "thickness=2", code=1, env=without)
    assert "install the package leat-gdal" in said and ("convert" in said) == (name == "p.gpkg"), said  # which may be a grid
sh("gdal_translate -q -ot Float32 same.tif grid.gpkg")
run("r.tif", "grid.gpkg")
assert np.array_equal(start(), 2 * want), "a GeoPackage with a grid"
assert "outline=gpkg: " in run("r.tif", "same.tif", "-s", "outline=gpkg", code=1, env=without)

# An outline of a run, given as the observed landslide of the same run, scores 1; also as a GeoPackage, whose bytes do
# not depend on the day.
samples = os.path.join(TREE, "samples")
os.mkdir("kinds")
for part in "dem", "source":
    grid = f"{samples}/slope.{part}.asc"
    shutil.copy(grid, f"kinds/plain.{part}.asc")
    shutil.copy(grid, f"kinds/prj.{part}.asc")
    sh(f"gdal_translate -q -a_srs EPSG:32633 {grid} kinds/tif.{part}.tif; gdalsrsinfo -o wkt_esri EPSG:32633 >kinds/prj.dem.prj")
    sh(f"gdal_translate -q -of VRT -a_srs EPSG:32633 {grid} turned.vrt")
    with open("turned.vrt") as f:
        text = f.read()
    a, b = text.index("<GeoTransform>"), text.index("</GeoTransform>")
    with open("turned.vrt", "w") as f:
        f.write(text[:a] + "<GeoTransform>500000, 8.7, 4.9, 4650000, 5.1, -8.6" + text[b:])
    sh(f"gdal_translate -q turned.vrt kinds/turned.{part}.tif")
for stem, ending, form in ("plain", "asc", "geojson"), ("tif", "tif", "geojson"), ("prj", "asc", "gpkg"), ("turned", "tif", "gpkg"):
    pair = [f"kinds/{stem}.{part}.{ending}" for part in ("dem", "source")]
    for out in ("made", "again") if form == "gpkg" else ("made",):
        leat("run", "-q", "-b", "cpu", "-o", out, "-s", "steps=200", "-s", "figure=none", "-s", f"outline={form}", *pair)
    outline = f"made/{stem}/outline.{form}"
    assert form == "geojson" or filecmp.cmp(outline, f"again/{stem}/outline.{form}", shallow=False), "the bytes differ"
    leat("run", "-q", "-b", "cpu", "-o", "scored", "-s", "steps=200", "-s", "figure=none", "-s", "observed=file", "-s", "affected=0.001", *pair,
         shutil.copy(outline, f"kinds/{stem}.observed.{form}"))
    with open(f"scored/{stem}/result.json") as f:
        summary = json.load(f)["summary"]
    assert summary["fitness"] == 1 and summary["observed_cells"] == summary["covered_cells"] > 100, (stem, form, summary)
leat("check", "-s", "observed=file", *pair, f"kinds/turned.observed.gpkg")
system = subprocess.run(["ogrinfo", "-so", "-al", "made/turned/outline.gpkg"], capture_output=True, text=True).stdout
assert 'ID["EPSG",32633]' in system and "p_epsilon: Real" in system and "Geometry: Multi Polygon" in system, system

# In a folder the files of a shapefile are one input; in an archive and in the service it is refused, one file is not.
os.mkdir("folder")
shutil.copy("r.tif", "folder/r.dem.tif")
sh("ogr2ogr folder/r.source.shp p.geojson")
for words in ["folder"], [os.path.join("folder", name) for name in sorted(os.listdir("folder"))]:  # a shell's X.*
    shutil.rmtree("out", ignore_errors=True)
    said = leat("run", "-b", "cpu", "-o", "out", "-s", "steps=0", *words)
    assert np.array_equal(start(), 2 * want) and "2 sidecar files" in said, said
for ending in "shp", "gpkg", "geojson":
    sh(f"[ {ending} = geojson ] && cp p.geojson z.source.geojson || ogr2ogr z.source.{ending} p.geojson")
    with zipfile.ZipFile("z.zip", "w") as z:
        z.write("r.tif", "z.dem.tif")
        for name in sorted(os.listdir(".")):
            if name.startswith("z.source."):
                z.write(name)
    shutil.rmtree("out", ignore_errors=True)
    said = leat("run", "-q", "-b", "cpu", "-o", "out", "-s", "steps=0", "z.zip", code=ending == "shp")
    if ending == "shp":
        assert "z.source.shp: a shapefile is read with the .shx and .dbf beside it" in said and "ogr2ogr z.source.gpkg" in said, said
    else:
        assert np.array_equal(cells("out/z.zip/z/thickness.tif" if os.path.isdir("out/z.zip") else "out/z/thickness.tif"), 2 * want), ending
    sh("rm -f z.source.*")
s = Service("spool", "-s", "steps=0")
sh("ogr2ogr one.gpkg p.geojson && ogr2ogr one.shp p.geojson")
for stem, ending in ("a", "geojson"), ("b", "gpkg"), ("c", "shp"):
    for name, path in (f"{stem}.dem.tif", "r.tif"), (f"{stem}.source.{ending}", "q.geojson" if stem == "a" else f"one.{ending}"):
        with open(path, "rb") as f:
            s.drop(name, f.read())
for stem in "a", "b":
    s.until(lambda: os.path.exists(f"spool/out/{stem}/result.json"), f"the result of {stem} in the service")
    s.check(np.array_equal(cells(f"spool/out/{stem}/thickness.tif"), 2 * want), f"polygons of {stem} in the service")
s.until(lambda: any("a shapefile is read with" in open(os.path.join(f, "reason.json")).read()
                    for f, _, files in os.walk("spool/failed") if "reason.json" in files), "the refusal of a shapefile")
s.process.terminate()
s.process.wait()

# What is cut, lies or makes no sense ends in a result or in a sentence, all in one process.
os.mkdir("hostile")
n_hostile = 0


def hostile(ending, data, beside=()):
    global n_hostile
    n_hostile += 1
    os.link("r.tif", f"hostile/h{n_hostile}.dem.tif")
    for kept in beside:
        shutil.copy("one." + kept, f"hostile/h{n_hostile}.source.{kept}")
    with open(f"hostile/h{n_hostile}.source.{ending}", "wb") as f:
        f.write(data)


ring = '{"type": "Polygon", "coordinates": [[%s]]}'
corners = "[500010, 4649990], [500100, 4649990], [500100, 4649900]"
for geometry in (ring % corners, ring % "[500010, 4649990]", ring % (corners + ", [1e308, -1e308], [-1e308, 1e308]"),
                 ring % (corners + ", [NaN, 4649900]"), ring % (corners + ", [1e400, 4649900]"), ring % "", ring % (corners + ', ["a", null]'),
                 ring % (corners + ", []"), "null", '{"type": "Polygon", "coordinates": 7}',
                 '{"type": "GeometryCollection", "geometries": [' * 200 + ring % corners + "]}" * 200,
                 '{"type": "Polygon", "coordinates": ' + "[" * 3000 + "]" * 3000 + "}"):
    hostile("geojson", ('{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "EPSG:32633"}}, "features": '
                        '[{"type": "Feature", "properties": {}, "geometry": ' + geometry + "}]}").encode())
n_told = n_hostile
for path, ending, beside in (("p.geojson", "geojson", ()), ("one.gpkg", "gpkg", ()), ("one.shp", "shp", ("shx", "dbf")),
                             ("one.shx", "shx", ("shp", "dbf")), ("one.dbf", "dbf", ("shp", "shx"))):
    with open(path, "rb") as f:
        data = f.read()
    for k in range(24):
        damaged = bytearray(data[:len(data) * (k + 1) // 13] if k < 12 else data)
        for _ in range(3 if k >= 12 else 0):
            at = random.randrange(min(len(damaged), 4096) - 4)
            damaged[at:at + 4] = random.choice([b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", struct.pack("<f", np.nan), b"\0\0\0\0"])
        hostile(ending, damaged, beside)
with open("one.shp", "rb") as f:
    data = bytearray(f.read())
data[148:152] = struct.pack("<i", 10**9)  # points
hostile("shp", data, ("shx", "dbf"))
shutil.rmtree("out", ignore_errors=True)
said = leat("run", "-b", "cpu", "-o", "out", "-s", "steps=0", "-s", "figure=none", "-s", "thickness=1", "hostile", code=1)
for k in range(1, n_hostile + 1):
    done, failed = os.path.exists(f"out/h{k}/result.json"), f"error: hostile/h{k}.dem.tif: hostile/h{k}.source." in said
    assert done != failed and (k > n_told or done == (k <= 3)), (k, said)
    assert k not in (4, 5) or f"h{k}.source.geojson: feature 0 has a coordinate that is no number" in said, said
print("polygons are the cells that they cover")
