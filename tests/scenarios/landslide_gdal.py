"""make: two grids as text. lie WHAT: a GeoTIFF whose directory claims what is not so. check: what GDAL said of every
raster against the numbers themselves."""
import gzip
import json
import struct
import sys

import numpy as np

ROWS, COLUMNS, WEST, SOUTH, CELL, NODATA = 90, 70, 300000.0, 5000000.0, 12.5, -9999
FEET = {"ft": 0.3048, "us": 1200 / 3937}


def check(what, condition):
    if not condition:
        sys.exit(f"FAILED: {what}")


def write(path, a, metres=1.0):
    """metres: in a unit of the map."""
    with open(path, "w") as f:
        f.write(f"ncols {COLUMNS}\nnrows {ROWS}\nxllcorner {WEST / metres!r}\nyllcorner {SOUTH / metres!r}\n")
        f.write(f"cellsize {CELL / metres!r}\nNODATA_value {NODATA}\n")
        for row in a:
            f.write(" ".join(repr(float(x)) for x in row) + "\n")


def make():
    i, j = np.mgrid[0:ROWS, 0:COLUMNS]
    z = np.round(1500 - 4.0 * i + 0.02 * (j - 35.0) ** 2 + 3 * np.sin(i / 5.0) * np.cos(j / 7.0))
    z[:6, :9] = z[60:64, 20:24] = NODATA
    h = np.where((i - 15) ** 2 + (j - 35) ** 2 < 40, 6.3, 0.0)
    h[20, 35] = NODATA
    write("plain.dem.asc", z)
    write("plain.source.asc", h)
    feet = np.where(z == NODATA, NODATA, z / 0.3048)
    write("feet.dem.asc", feet)
    for name, metres in FEET.items():
        write(f"map_{name}.dem.asc", z, metres)
        write(f"both_{name}.dem.asc", feet, metres)
        write(f"map_{name}.source.asc", h, metres)


def lie(what):
    tags = {"width": 256, "length": 257, "strips": 279, "offsets": 273, "type": 258}
    raw = bytearray(open("deflate.dem.tif", "rb").read())
    assert raw[:4] == b"II*\0"
    at = struct.unpack_from("<I", raw, 4)[0]
    for k in range(struct.unpack_from("<H", raw, at)[0]):
        entry = at + 2 + 12 * k
        tag, kind, count = struct.unpack_from("<HHI", raw, entry)
        if tag != tags[what]:
            continue
        if what == "type":
            struct.pack_into("<H", raw, entry + 8, 24)
        elif count * (2 if kind == 3 else 4) <= 4:
            struct.pack_into("<I", raw, entry + 8, 0x7FFFFFF0 if kind == 4 else 65535)
        else:
            struct.pack_into("<I", raw, struct.unpack_from("<I", raw, entry + 8)[0], 0x7FFFFFF0)
        open(f"{what}.dem.tif", "wb").write(raw)
        return
    sys.exit(f"no tag {tags[what]}")


def text(path):
    with gzip.open(path, "rt") as f:
        head = dict(f.readline().split() for _ in range(6))
        check(f"{path}: place", (float(head["xllcorner"]), float(head["yllcorner"])) == (WEST, SOUTH))
        check(f"{path}: NODATA", "NODATA_value" in head)
        return np.array(f.read().split(), dtype=float).reshape(ROWS, COLUMNS), float(head["NODATA_value"])


def check_said(path, a, nodata, projected):
    said = json.load(open(path))
    band = said["bands"][0]
    there = a[a != nodata]
    check(f"{path}: size", said["size"] == [COLUMNS, ROWS] and len(said["bands"]) == 1)
    check(f"{path}: place", said["geoTransform"] == [WEST, CELL, 0.0, SOUTH + ROWS * CELL, 0.0, -CELL])
    check(f"{path}: NODATA", band["noDataValue"] == nodata)
    if projected:
        check(f"{path}: coordinate system", 'ID["EPSG",32633]' in said["coordinateSystem"]["wkt"]
              or "UTM" in said["coordinateSystem"]["wkt"])
    for key, value in (("minimum", there.min()), ("maximum", there.max()), ("mean", there.mean())):
        check(f"{path}: {key} {band[key]}, not {value}", abs(band[key] - value) <= 1e-3 + 1e-6 * abs(value))


def check_feet():
    """A map in feet, and altitudes in feet on it, make the landslide that metres make."""
    of_metres = json.load(open("feet/plain_tif/result.json"))
    check("a long landslide", of_metres["summary"]["runout_m"] > 100)
    for name, metres in FEET.items():
        for what in ("map", "both"):
            for form in ("tif", "asc"):
                stem = f"{what}_{name}_{form}"
                said = json.load(open(f"feet/{stem}/result.json"))
                for key in ("runout_m", "drop_m", "reach_angle_deg", "covered_m2", "volume_start_m3", "volume_end_m3"):
                    got, value = said["summary"][key], of_metres["summary"][key]
                    check(f"{stem}: {key} {got}, not {value}", abs(got - value) <= 1e-8 * abs(value))
                check(f"{stem}: cells", abs(said["shape"]["cell_x_m"] - CELL) < 1e-8)
                unit = {"ft": "feet", "us": "US survey feet"}[name]
                check(f"{stem}: converted, and said once",
                      sum(f"the map is in {unit} by its coordinate system" in w for w in said["warnings"]) == 1)
                check(f"{stem}: altitudes", any("the altitudes are in feet" in w if what == "both" else
                                                "the altitudes name no unit" in w for w in said["warnings"]))
                place = [[json.load(open(path))[key] for key in ("geoTransform", "coordinateSystem")[:1 + (form == "tif")]]
                         for path in (f"feet/{stem}/given.json", f"feet/{stem}/thickness.json")]
                check(f"{stem}: the place is as it was", place[0] == place[1])


def check_all():
    first = {}
    for stem in ("deflate", "lzw", "int16", "nodata", "text"):
        for what in ("thickness", "max_thickness", "arrival", "snapshots/000100"):
            a, nodata = text(f"asc/{stem}/{what}.asc.gz")
            check(f"{stem}/{what}: NODATA", nodata == (-1 if what == "arrival" else NODATA))
            check(f"{stem}/{what}: bits", np.array_equal(np.fromfile(f"out/{stem}/{what}.bin").reshape(a.shape), a))
            check(f"{stem}/{what}: the same from every format", np.array_equal(first.setdefault(what, a), a))
            check_said(f"out/{stem}/{what}.json", a, nodata, True)
            check_said(f"asc/{stem}/{what}.json", a, nodata, False)
    for stem in ("band", "system"):
        said = json.load(open(f"feet/{stem}/result.json"))
        feet = np.fromfile(f"feet/{stem}/thickness.bin").reshape(ROWS, COLUMNS)
        check(f"{stem}: as from metres", np.allclose(feet, first["thickness"], rtol=0, atol=1e-6))
        check(f"{stem}: a unit", said["shape"]["altitude_unit_m"] == 0.3048)
        check(f"{stem}: converted, and said", any("converted to metres" in w for w in said["warnings"]))
        check(f"{stem}: metres", json.load(open(f"feet/{stem}/thickness.json"))["bands"][0]["unit"] == "m")
    check_feet()
    check("something happened", (first["arrival"] > 50).any() and first["thickness"].max() > 0.1)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make()
    elif sys.argv[1] == "lie":
        lie(sys.argv[2])
    else:
        check_all()
