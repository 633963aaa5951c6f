"""Files that claim or unpack to far more than they are, by `leat run` and by a worker of the service, each with
--memory 100M on the CPU: prints what each came to, and the most resident memory of a process; fails beyond 100 MB + 150 MB,
and when one is ended by a signal. One of each mechanism; LEAT_TEST_LARGE: all.

usage: hostile.py [NAME...]
"""
import bz2
import lzma
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

from lib import LEAT, WAIT_S, WATCHED, begin, skip

begin()
if WATCHED:
    skip("the memory of a sanitizer is its own")
MOST_BYTES = 250e6
MIB, GIB = 1 << 20, 1 << 30
LARGE = 250 * MIB  # more than any of them may take, and less than what --max-ratio looks at
FEW = ["sevenz-empty-entries", "sevenz-lzma", "zip-entries", "zip-lzma", "tar-sparse", "tar-zstd-ultra", "xz-second",
       "zstd-window-ultra", "tif-tags", "npy-header", "csv-late-line"]
CASES = {}


def case(claim, name="x.clusters.csv"):
    """A function that makes the file `name` in the present folder; may give a list of names instead."""
    def add(make):
        CASES[make.__name__.replace("_", "-")] = (claim, name, make)
        return make
    return add


# --- what they are made of ---------------------------------------------------------------------------------------------

def repeat(f, part, n):
    """Writes a part again and again."""
    batch = max(1, MIB // len(part))
    for _ in range(n // batch):
        f.write(part * batch)
    f.write(part * (n % batch))


def deflated(parts):
    """(bytes, crc, size) of [(part, times)] as raw deflate: a part is packed once."""
    out, crc, size = [], 0, 0
    packer = zlib.compressobj(9, wbits=-15)
    for part, n in parts:
        first = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
        out.append(first * n)
        for _ in range(n):
            crc = zlib.crc32(part, crc)
        size += n * len(part)
    return b"".join(out) + packer.flush(), crc, size


def gzip(parts):
    packed, crc, size = deflated(parts)
    return b"\x1f\x8b\x08" + bytes(7) + packed + struct.pack("<II", crc, size & 0xFFFFFFFF)


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def write_gzip(name, *parts):
    write(name, gzip(parts))


def lines(cells, n):
    return b"".join(b",".join(b"%d.5" % (i * j % 97) for j in range(1, cells + 1)) + b"\n" for i in range(n))


NAMES = b"a,b,c,d,e,f,g,h\n"


def zstd_frame(window_log, parts):
    """A frame whose window is what it says, of blocks that repeat a byte or are given as they are."""
    out = [b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3])]
    for part, n in parts:
        block = (struct.pack("<I", n << 3 | 2)[:3] + part) if len(part) == 1 else struct.pack("<I", len(part) << 3)[:3] + part
        out.extend([block] * (1 if len(part) == 1 else n))
    return b"".join(out) + struct.pack("<I", 1)[:3]


def long_table(window_log):
    """Some rows, and so many empty lines as the ratio allows."""
    return zstd_frame(window_log, [(NAMES + lines(8, 1000), 1)] + [(b"\n", 128 << 10)] * 1900)


def zeros_of_zstd(window_log, size):
    return zstd_frame(window_log, [(b"1", 128 << 10)] * (size >> 17))


def xz_wide(data, dict_byte):
    """An .xz whose block claims a dictionary of its own size."""
    packed = bytearray(lzma.compress(data, check=lzma.CHECK_CRC32, preset=0))
    head = (packed[12] + 1) * 4
    at = packed.index(b"\x21\x01", 12, 12 + head) + 2
    packed[at] = dict_byte
    packed[12 + head - 4:12 + head] = struct.pack("<I", zlib.crc32(bytes(packed[12:12 + head - 4])))
    return bytes(packed)


XZ_1536_MIB, XZ_4_GIB = 37, 40  # as 2 | 3, times a power of two


def zeros(n):
    return bytes(n)


def number_7z(n):
    """7z's numbers of any length; nine bytes do for all."""
    return b"\xff" + struct.pack("<Q", n)


def file_7z(header, packed=b"", claims_crc=True):
    start = struct.pack("<QQI", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", zlib.crc32(start)) + start + packed + header


def coder_7z(identifier, properties):
    return b"\x01" + bytes([0x20 | len(identifier)]) + identifier + number_7z(len(properties)) + properties


def streams_7z(coder, packed_size, size, crc, at=0):
    """Pack information and one folder of one coder."""
    return (b"\x06" + number_7z(at) + number_7z(1) + b"\x09" + number_7z(packed_size) + b"\x00" +
            b"\x07\x0b" + number_7z(1) + b"\x00" + coder + b"\x0c" + number_7z(size) +
            (b"\x0a\x01" + struct.pack("<I", crc) if crc is not None else b"") + b"\x00")


def lzma_raw(chunks, filters=None):
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[filters or {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16}])
    return b"".join([packer.compress(c) for c in chunks] + [packer.flush()])


def lzma_7z(dictionary):
    return coder_7z(b"\x03\x01\x01", b"\x5d" + struct.pack("<I", dictionary))


def encoded_7z(chunks, dictionary=1 << 16):
    """An archive of a header that is packed itself."""
    crc, size = 0, 0
    for c in chunks:
        crc, size = zlib.crc32(c, crc), size + len(c)
    packed = lzma_raw(chunks)
    return file_7z(b"\x17" + streams_7z(lzma_7z(dictionary), len(packed), size, crc) + b"\x00", packed)


def property_7z(kind, size, head=b""):
    return bytes([kind]) + number_7z(size + len(head)) + head


def files_7z(names):
    text = b"\x00" + b"".join(name.encode("utf-16-le") + bytes(2) for name in names)
    return b"\x05" + number_7z(len(names)) + property_7z(0x11, len(text)) + text + b"\x00"


def one_7z(coder, packed, size, name="x.clusters.csv"):
    return file_7z(b"\x01\x04" + streams_7z(coder, len(packed), size, None) + b"\x08\x00\x00" + files_7z([name]) + b"\x00", packed)


def zip_of(members, again=1):
    """A zip of (name, method, packed, crc, size); each stands in the directory `again` times."""
    out, directory, n = [], [], 0
    at = 0
    for name, method, packed, crc, size in members:
        head = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, crc, len(packed), size, len(name), 0)
        out.append(b"PK\3\4" + head + name + packed)
        entry = b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, at) + name
        directory.append(entry * again)
        at += len(out[-1])
        n += again
    d = b"".join(directory)
    few = min(n, 0xFFFF)
    wide = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, n, n, len(d), at) + b"PK\6\7" + struct.pack("<IQI", 0, at + len(d), 1)
    return b"".join(out) + d + wide + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, few, few, len(d) & 0xFFFFFFFF, at, 0)


def stored(name, data=b""):
    return (name, 0, data, zlib.crc32(data), len(data))


def packed_member(name, parts):
    packed, crc, size = deflated(parts)
    return (name, 8, packed, crc, size)


def tar_head(name, size=0, kind=b"0", magic=b"ustar\x0000", rest=b""):
    body = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + (b"%011o\0" % size if size < 8 << 30 else
            b"\x80" + size.to_bytes(11, "big")) + b"00000000000\0" + b" " * 8 + kind + b"x".ljust(100, b"\0") * (kind in b"12") + \
        bytes(100) * (kind not in b"12") + magic + rest
    body = body.ljust(512, b"\0")
    return body[:148] + b"%06o\0 " % sum(body) + body[156:]


def tar_gz(name, *parts):
    write_gzip(name, *parts, (bytes(1024), 1))


def sparse(name, head, size):
    with open(name, "wb") as f:
        f.write(head)
        f.truncate(size)


def tif(tags, big=False, at=None):
    """A directory of (tag, type, count, value or place)."""
    if big:
        d = struct.pack("<Q", len(tags)) + b"".join(struct.pack("<HHQQ", *t) for t in tags) + bytes(8)
        return b"II+\0" + struct.pack("<HHQ", 8, 0, 16) + d
    d = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + d


SHORT, LONG, DOUBLE, ASCII, BYTE, UNDEFINED = 3, 4, 12, 2, 1, 7


def grid_tags(columns, rows, *more, bits=8, compression=1, strip_at=2048, strip_bytes=None):
    tags = [(256, LONG, 1, columns), (257, LONG, 1, rows), (258, SHORT, 1, bits), (259, SHORT, 1, compression),
            (277, SHORT, 1, 1), (278, LONG, 1, rows), (339, SHORT, 1, 1),
            (273, LONG, 1, strip_at), (279, LONG, 1, columns * rows * bits // 8 if strip_bytes is None else strip_bytes)]
    told = {t[0] for t in more}
    return sorted([t for t in tags if t[0] not in told] + list(more))


def grid_pair(data, size):
    sparse("x.dem.tif", data, size)
    os.link("x.dem.tif", "x.source.tif")
    return ["x.dem.tif", "x.source.tif"]


def npy(shape, kind="<f8", fortran=False):
    about = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (kind, fortran, shape)).encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + about.ljust(117) + b"\n"


# --- archives: 7z ------------------------------------------------------------------------------------------------------

@case("20,000,000 empty entries, 12 kB", "x.7z")
def sevenz_empty_entries(name):
    n = 20_000_000
    empty = [b"\xff" * MIB] * (n // 8 // MIB) + [b"\xff" * (n // 8 % MIB)]
    names = [b"x\0\0\0" * MIB] * (n // MIB) + [b"x\0\0\0" * (n % MIB)]
    head = b"\x01\x05" + number_7z(n) + property_7z(0x0E, n // 8)
    write(name, encoded_7z([head] + empty + [property_7z(0x11, 4 * n, b"\x00")] + names + [b"\x00\x00"]))


@case("100,000,000 entries, header of 100 bytes", "x.7z")
def sevenz_claimed_entries(name):
    write(name, file_7z(b"\x01\x05" + number_7z(100_000_000) + b"\x00\x00"))


@case("99,000,000 entries in one folder, header of 60 bytes", "x.7z")
def sevenz_claimed_substreams(name):
    n = number_7z(99_000_000)
    write(name, file_7z(b"\x01\x04" + streams_7z(coder_7z(b"\x00", b""), 5, 5, None)[:-1] + b"\x00\x08\x0d" + n + b"\x00\x00\x05" + n + b"\x00\x00",
                        b"1,2\n5"))


@case("250,000 folders, header of 1 MB", "x.7z")
def sevenz_many_folders(name):
    n = 250_000
    write(name, encoded_7z([b"\x01\x04\x06" + number_7z(0) + number_7z(n) + b"\x09" + bytes(n) + b"\x00\x07\x0b" + number_7z(n) +
                            b"\x00" + b"\x01\x00" * n + b"\x0c" + bytes(n) + b"\x00\x00\x00\x00"]))


@case("90,000,000 entries without names", "x.7z")
def sevenz_nameless_entries(name):
    n = 90_000_000
    bits = [b"\xff" * (n // 8 // 10)] * 10
    write(name, encoded_7z([b"\x01\x05" + number_7z(n) + property_7z(0x0E, n // 8)] + bits + [b"\x00\x00"]))


@case("header of 1 GiB of zeros", "x.7z")
def sevenz_wide_header(name):
    write(name, encoded_7z([bytes(MIB)] * 1024))


@case("100,000,000 folders", "x.7z")
def sevenz_folders(name):
    n = 1_000_000
    folders = (b"\x01\x01\x00" * (n // 10))
    write(name, encoded_7z([b"\x01\x04\x06" + number_7z(0) + number_7z(1) + b"\x09" + number_7z(5) + b"\x00\x07\x0b" +
                            number_7z(90 * n) + b"\x00"] + [folders] * 100))


@case("100,000,000 packed streams", "x.7z")
def sevenz_packed_streams(name):
    n = 50_000_000
    write(name, encoded_7z([b"\x01\x04\x06" + number_7z(0) + number_7z(n) + b"\x09"] + [bytes(n // 10)] * 10))


@case("90,000,000 files in one folder", "x.7z")
def sevenz_substreams(name):
    n = 90_000_000
    coder = coder_7z(b"\x00", b"")
    write(name, encoded_7z([b"\x01\x04\x06" + number_7z(0) + number_7z(1) + b"\x09" + number_7z(n) + b"\x00\x07\x0b" +
                            number_7z(1) + b"\x00" + coder + b"\x0c" + number_7z(n) + b"\x00\x08\x0d" + number_7z(n) +
                            b"\x09"] + [b"\x01" * (n // 10)] * 10 + [b"\x00\x00\x05" + number_7z(n) + b"\x00\x00"]))


@case("LZMA dictionary of 1.5 GiB", "x.7z")
def sevenz_lzma(name):
    write(name, one_7z(lzma_7z(3 << 29), lzma_raw([zeros(MIB)] * (LARGE // MIB)), LARGE))


@case("LZMA2 dictionary of 4 GiB", "x.7z")
def sevenz_lzma2(name):
    write(name, one_7z(coder_7z(b"\x21", b"\x28"), lzma_raw([zeros(MIB)] * (LARGE // MIB), {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}),
                       LARGE))


@case("PPMd model of 2 GiB", "x.7z")
def sevenz_ppmd(name):
    junk = os.urandom(4 * MIB)
    write(name, one_7z(coder_7z(b"\x03\x04\x01", b"\x10" + struct.pack("<I", 0x7FFFFFFF)), bytes(1) + junk, LARGE))


@case("names of 200 MB", "x.7z")
def sevenz_long_name(name):
    n = 100_000_000
    head = b"\x01\x05" + number_7z(1) + property_7z(0x0E, 1) + b"\x80"
    write(name, encoded_7z([head, property_7z(0x11, 2 * n + 2, b"\x00")] + [b"x\0" * MIB] * (n // MIB) + [b"x\0" * (n % MIB)] +
                           [bytes(2), b"\x00\x00"]))


# --- archives: zip -----------------------------------------------------------------------------------------------------

@case("1,000,000 entries", "x.zip")
def zip_entries(name):
    d = [b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 33, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0) + b"%08d" % i
         for i in range(1_000_000)]
    write(name, zip_of([stored(b"a")])[:32] + b"".join(d) +
          b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 54_000_000, 32, 0))


@case("2,000,000 entries, all of one file", "x.zip")
def zip_entries_again(name):
    write(name, zip_of([stored(b"x.clusters.csv", b"1,2\n")], 2_000_000))


@case("zip64: 2^40 entries of 2^63 bytes", "x.zip")
def zip_claims(name):
    data = zip_of([stored(b"x.clusters.csv", b"1,2\n")])
    at = data.index(b"PK\6\6")
    write(name, data[:at + 24] + struct.pack("<QQQQ", 1 << 40, 1 << 40, 1 << 62, 31) + data[at + 56:-22] +
          b"PK\5\6" + b"\0" * 4 + b"\xff" * 12 + b"\0\0")


@case("LZMA dictionary of 1.5 GiB", "x.zip")
def zip_lzma(name):
    packed = b"\x09\x14\x05\x00\x5d" + struct.pack("<I", 3 << 29) + lzma_raw([zeros(MIB)] * (LARGE // MIB))
    write(name, zip_of([(b"x.clusters.csv", 14, packed, 0, LARGE)]))


@case("xz dictionary of 1.5 GiB", "x.zip")
def zip_xz(name):
    packed = xz_wide(zeros(LARGE), XZ_1536_MIB)
    write(name, zip_of([(b"x.clusters.csv", 95, packed, 0, LARGE)]))


@case("PPMd model of 256 MiB", "x.zip")
def zip_ppmd(name):
    packed = struct.pack("<H", 7 | 255 << 4) + os.urandom(4 * MIB)
    write(name, zip_of([(b"x.clusters.csv", 98, packed, 0, LARGE)]))


@case("zstd window of 2 GiB", "x.zip")
def zip_zstd(name):
    write(name, zip_of([(b"x.clusters.csv", 93, zeros_of_zstd(31, LARGE), 0, LARGE)]))


@case("unpacks to one line of 250 MiB", "x.zip")
def zip_bomb(name):
    write(name, zip_of([packed_member(b"x.clusters.csv", [(b"1," * (MIB // 2), LARGE // MIB)])]))


@case("1,500 names of 64 KiB with 64 KiB beside", "x.zip")
def zip_long_names(name):
    d = [b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 33, 0, 0, 0, 65000, 65000, 0, 0, 0, 0, 0) + b"%08d" % i +
         b"x" * 64992 + struct.pack("<HH", 0x7075, 64996) + bytes(64996) for i in range(1500)]
    write(name, zip_of([stored(b"a")])[:32] + b"".join(d) +
          b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1500, 1500, len(b"".join(d)), 32, 0))


@case("a zip of 250 MiB in a zip", "x.zip")
def zip_nested(name):
    inner = zip_of([packed_member(b"x.clusters.csv", [(b"1,2\n" * (MIB // 4), LARGE // MIB)])])
    write(name, zip_of([stored(b"inner.zip", inner)]))


@case("20,000 .prj of 60 KiB", "x.zip")
def zip_projections(name):
    packed, crc, size = deflated([(b"P" * 61440, 1)])
    write(name, zip_of([(b"%05d.prj" % i, 8, packed, crc, size) for i in range(20_000)]))


@case("20,000 tables without a row", "x.zip")
def zip_bad_tables(name):
    write(name, zip_of([stored(b"%05d.clusters.csv" % i) for i in range(20_000)]))


@case("20,000 grids without a source", "x.zip")
def zip_halves(name):
    write(name, zip_of([stored(b"%05d.dem.asc" % i, b"x") for i in range(20_000)]))


# --- archives: tar -----------------------------------------------------------------------------------------------------

@case("300,000 links in 1 MB", "x.tgz")
def tar_links(name):
    batch = b"".join(tar_head(b"%05d/%s.clusters.csv" % (i, b"x" * 60), kind=b"2") for i in range(1000))
    tar_gz(name, (batch, 300))


@case("300,000 names that lead out", "x.tgz")
def tar_out(name):
    batch = b"".join(tar_head(b"../%05d/%s.clusters.csv" % (i, b"x" * 60)) for i in range(1000))
    tar_gz(name, (batch, 300))


@case("250 MiB of sparse map", "x.tgz")
def tar_sparse(name):
    cell = b"%011o\0%011o\0" % (0, 0)
    first = tar_head(b"x.clusters.csv", 0, b"S", b"ustar  \0", bytes(386 - 265) + cell * 4 + b"\1" + b"%011o\0" % 0)
    more = (cell * 21 + b"\1").ljust(512, b"\0")
    tar_gz(name, (first, 1), (more * 2048, LARGE // MIB - 2), ((cell * 21).ljust(512, b"\0"), 1))


@case("pax header of 250 MiB", "x.tgz")
def tar_pax(name):
    tar_gz(name, (tar_head(b"x", LARGE, b"x"), 1), (b"%d comment=" % LARGE, 1), (b"x" * MIB, LARGE // MIB))


@case("name of 250 MiB", "x.tgz")
def tar_name(name):
    tar_gz(name, (tar_head(b"././@LongLink", LARGE, b"L", b"ustar  \0"), 1), (b"x" * MIB, LARGE // MIB))


@case("200 pax headers of 1 MiB", "x.tgz")
def tar_pax_again(name):
    body = b"1000000 SCHILY.xattr.user.x=".ljust(999_999, b"x") + b"\n"
    tar_gz(name, (tar_head(b"x", len(body), b"x") + body.ljust(1_000_448, b"\0") + tar_head(b"x.clusters.csv", kind=b"x"), 200))


@case("xz dictionary of 1.5 GiB", "x.tar.xz")
def tar_xz(name):
    write(name, xz_wide(tar_head(b"x.clusters.csv", LARGE) + zeros(LARGE) + bytes(1024), XZ_1536_MIB))


@case("zstd window of 2 GiB", "x.tar.zst")
def tar_zstd(name):
    write(name, zstd_frame(31, [(tar_head(b"x.clusters.csv", LARGE), 1)] + [(b"1", 128 << 10)] * (LARGE >> 17)))


@case("zstd window of 128 MiB", "x.tar.zst")
def tar_zstd_ultra(name):
    write(name, zstd_frame(27, [(tar_head(b"x.clusters.csv", LARGE), 1)] + [(b"1", 128 << 10)] * (LARGE >> 17)))


@case("50,000 empty tables", "x.tgz")
def tar_empty_tables(name):
    tar_gz(name, *[(tar_head(b"%06d.clusters.csv" % i), 1) for i in range(50_000)])


# --- compressed files --------------------------------------------------------------------------------------------------

@case("xz dictionary of 1.5 GiB", "x.clusters.csv.xz")
def xz_dictionary(name):
    write(name, xz_wide(NAMES + lines(8, 1000) * (LARGE // 36_000), XZ_1536_MIB))


@case("xz dictionary of 4 GiB", "x.clusters.csv.xz")
def xz_dictionary_most(name):
    write(name, xz_wide(zeros(LARGE), XZ_4_GIB))


@case("xz, 2nd stream of 1.5 GiB", "x.clusters.csv.xz")
def xz_second(name):
    write(name, lzma.compress(NAMES + lines(8, 1000)) + xz_wide(lines(8, 1000) * (LARGE // 36_000), XZ_1536_MIB))


@case("zstd window of 2 GiB", "x.clusters.csv.zst")
def zstd_window(name):
    write(name, zeros_of_zstd(31, LARGE))


@case("zstd window of 128 MiB", "x.clusters.csv.zst")
def zstd_window_ultra(name):
    write(name, long_table(27))


@case("zstd, 2nd frame of 128 MiB", "x.clusters.csv.zst")
def zstd_second(name):
    write(name, zstd_frame(17, [(NAMES + lines(8, 1000), 1)]) + long_table(27))


@case("eight of 128 MiB each")
def zstd_eight(name):
    data = long_table(27)
    names = ["%d.clusters.csv.zst" % i for i in range(8)]
    for name in names:
        write(name, data)
    return names


@case("eight dictionaries of 64 MiB")
def xz_eight(name):
    data = xz_wide(NAMES + lines(8, 1000) * (LARGE // 36_000), 28)
    names = ["%d.clusters.csv.xz" % i for i in range(8)]
    for name in names:
        write(name, data)
    return names


@case("250 MiB of one character", "x.clusters.csv.bz2")
def bzip2_bomb(name):
    write(name, bz2.compress(b"1" * LARGE))


# --- grids -------------------------------------------------------------------------------------------------------------

WIDE = 240_000_000


@case("8 tags of 240 MB that share bytes, in a zip")
def tif_shared_tags(name):
    tags = grid_tags(16, 16, *[(65000 + i, BYTE, WIDE, 4096) for i in range(8)])
    head = tif(tags).ljust(4096, b"\0")
    member = packed_member(b"x.dem.tif", [(head, 1), (bytes(MIB), WIDE // MIB + 1)])
    source = (b"x.source.tif",) + member[1:]
    write("x.zip", zip_of([member, source]))
    return ["x.zip"]


@case("8 tags of 240 MB that share bytes")
def tif_tags(name):
    return grid_pair(tif(grid_tags(16, 16, *[(65000 + i, DOUBLE, WIDE // 8, 4096) for i in range(8)])), WIDE + 4096)


@case("GDAL's metadata of 240 MB")
def tif_metadata(name):
    return grid_pair(tif(grid_tags(16, 16, (42112, ASCII, WIDE, 4096))), WIDE + 4096)


@case("30,000,000 strips")
def tif_strips(name):
    n = 30_000_000
    tags = grid_tags(1, n, (278, LONG, 1, 1), (273, LONG, n, 4096), (279, LONG, n, 4096))
    return grid_pair(tif(tags), 4 * n + 4096)


@case("one strip of 250 MiB")
def tif_strip(name):
    return grid_pair(tif(grid_tags(16_000, 16_000)), 16_000 * 16_000 + 2048)


@case("row of tiles of 256 MiB")
def tif_tiles(name):
    n = 16_384
    packed = zlib.compress(bytes(n * n // 16), 9)
    tags = grid_tags(16, 16, (322, LONG, 1, n), (323, LONG, 1, n // 16), (324, LONG, 1, 2048), (325, LONG, 1, len(packed)), compression=8)
    tags = [t for t in tags if t[0] not in (273, 279, 278)]
    return grid_pair(tif(tags).ljust(2048, b"\0") + packed, 2048 + len(packed))


@case("60 directories with a tag of 100 MB each")
def tif_directories(name):
    one, size = b"", 100_000_000
    n_bytes = 2 + 12 * 10 + 4
    for i in range(60):
        tags = sorted(grid_tags(16, 16) + [(65000, BYTE, size, 16_384)])
        after = 8 + (i + 1) * n_bytes if i < 59 else 0
        one += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + struct.pack("<I", after)
    return grid_pair(b"II*\0" + struct.pack("<I", 8) + one, size + 16_384)


@case("BigTIFF: a tag of 2^40 numbers")
def tif_big(name):
    tags = grid_tags(16, 16, (65000, DOUBLE, 1 << 40, 4096))
    return grid_pair(tif(tags, big=True), WIDE)


@case("place of 30,000,000 numbers")
def tif_place(name):
    return grid_pair(tif(grid_tags(16, 16, (34736, DOUBLE, WIDE // 8, 4096))), WIDE + 4096)


@case("asc: ncols 1,000,000,000")
def asc_columns(name):
    text = b"ncols 1000000000\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1\n"
    with open("x.dem.asc", "wb") as f:
        f.write(text)
        repeat(f, b"1 ", LARGE // 2)
    os.link("x.dem.asc", "x.source.asc")
    return ["x.dem.asc", "x.source.asc"]


@case("asc.gz: blanks of 1 GiB in its head")
def asc_blanks(name):
    write_gzip("x.dem.asc.gz", (b"ncols ", 1), (b" " * MIB, 1024), (b"4\n", 1))
    shutil.copy("x.dem.asc.gz", "x.source.asc.gz")
    return ["x.dem.asc.gz", "x.source.asc.gz"]


@case("asc.gz: NODATA of 250 MiB of digits")
def asc_digits(name):
    write_gzip("x.dem.asc.gz", (b"ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value ", 1), (b"9" * MIB, LARGE // MIB))
    shutil.copy("x.dem.asc.gz", "x.source.asc.gz")
    return ["x.dem.asc.gz", "x.source.asc.gz"]


# --- arrays ------------------------------------------------------------------------------------------------------------

@case("header of 4 GiB claimed", "x.clusters.npy")
def npy_claim(name):
    sparse(name, b"\x93NUMPY\x02\0" + struct.pack("<I", 0xFFFFFFFF) + b"{", LARGE)


@case("header of 250 MiB", "x.clusters.npy")
def npy_header(name):
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x02\0" + struct.pack("<I", LARGE))
        repeat(f, b" ", LARGE)


@case("shape (10^9, 10^9)", "x.clusters.npy")
def npy_shape(name):
    sparse(name, npy((10**9, 10**9)), LARGE)


@case("one row of 32,768,000", "x.clusters.npy")
def npy_row(name):
    sparse(name, npy((1, LARGE // 8)), 128 + LARGE)


@case("32,768,000 series of one", "x.clusters.npy")
def npy_column(name):
    sparse(name, npy((LARGE // 8, 1)), 128 + LARGE)


@case("columns of a Fortran array, 2 x 16,384,000", "x.points.npy")
def npy_fortran(name):
    sparse(name, npy((2, LARGE // 16), fortran=True), 128 + LARGE)


@case("npz of 1,000,000 members", "x.clusters.npz")
def npz_members(name):
    write(name, zip_of([stored(b"x.npy", npy((2, 2)) + bytes(32))], 1_000_000))


@case("npz whose member claims 2^60 bytes", "x.clusters.npz")
def npz_claim(name):
    write(name, zip_of([packed_member(b"x.npy", [(npy((1 << 30, 1 << 27)), 1), (bytes(MIB), 400)])]))


# --- tables ------------------------------------------------------------------------------------------------------------

@case("one line of 1 GiB")
def csv_line(name):
    write_gzip("x.clusters.csv.gz", (b"1.5," * (MIB // 4), 1024))
    return ["x.clusters.csv.gz"]


@case("one line of 1 GiB behind good ones")
def csv_late_line(name):
    write_gzip("x.clusters.csv.gz", (NAMES, 1), (lines(8, 1000), 50), (b"1.5," * (MIB // 4), 1024))
    return ["x.clusters.csv.gz"]


@case("one cell of 1 GiB")
def csv_cell(name):
    write_gzip("x.clusters.csv.gz", (b"a,b\n", 1), (b"1" * MIB, 1024))
    return ["x.clusters.csv.gz"]


@case("a quote that never ends, 1 GiB")
def csv_quote(name):
    write_gzip("x.clusters.csv.gz", (b'a,b\n1,"', 1), (b"1,2\n" * (MIB // 4), 1024))
    return ["x.clusters.csv.gz"]


@case("10,000,000 columns")
def csv_columns(name):
    part = b",".join(b"%d" % (i % 10) for i in range(100_000))
    write_gzip("x.clusters.csv.gz", *([(part + b",", 99), (part + b"\n", 1)] * 3))
    return ["x.clusters.csv.gz"]


@case("1,000,000 names of 300 letters")
def csv_names(name):
    write_gzip("x.clusters.csv.gz", ((b"n" * 300 + b",") * 1000, 1000), (b"n\n", 1), (b"1," * 500_000, 2), (b"1\n", 1))
    return ["x.clusters.csv.gz"]


@case("250 MiB of comments")
def csv_comments(name):
    write_gzip("x.clusters.csv.gz", (b"# one\n" * (MIB // 6), LARGE // MIB), (lines(8, 20), 1))
    return ["x.clusters.csv.gz"]


@case("250 MiB of titles")
def csv_titles(name):
    write_gzip("x.clusters.csv.gz", (b"title\n" * (MIB // 6), LARGE // MIB), (lines(8, 20), 1))
    return ["x.clusters.csv.gz"]


@case("250 MiB of zero bytes")
def csv_zeros(name):
    sparse(name, b"a,b\n1,2\n", LARGE)


@case("UTF-16 in one line of 250 MiB")
def csv_wide(name):
    write_gzip("x.clusters.csv.gz", (b"\xff\xfe", 1), (b"1\0,\0" * (MIB // 4), LARGE // MIB))
    return ["x.clusters.csv.gz"]


@case("20,000,000 rows of one cell, k-means", "x.points.csv")
def csv_rows(name):
    with open(name, "wb") as f:
        repeat(f, lines(2, 1000), 30_000)


@case("10,000,000 nodes")
def csv_nodes(name):
    with open("x.nodes.csv", "wb") as f:
        for i in range(0, 10_000_000, 1000):
            f.write(b"".join(b"%d,1\n" % (i + j) for j in range(1000)))
    write("x.query.csv", b"1.5\n2.5\n")
    return ["x.nodes.csv", "x.query.csv"]


# --- by leat -----------------------------------------------------------------------------------------------------------

OPTIONS = ["--threads", "2", "--memory", "100M"]
ON_CPU = ["--backend", "cpu"]
SAID = {"sevenz-empty-entries": "its list of files is larger than 1024 KiB",  # whatever the system's limit is
        "sevenz-lzma": "no memory to unpack it"}  # by that limit
HAS_GPU = any(os.path.exists(trace) for trace in ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg"))


def ended(process):
    """(exit status, most bytes of it or of a process that it has waited for)"""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss * 1024


def last_line(path):
    with open(path, "rb") as f:  # which may be long
        f.seek(max(0, os.stat(path).st_size - 4000))
        said = f.read().decode(errors="replace").split("\n")
    return ([""] + [line.strip() for line in said if line.strip()])[-1]


def by_run(names):
    """With the default backend, unless a device may open: its driver's memory is not leat's."""
    with open("said", "wb") as said:
        return ended(subprocess.Popen([LEAT, "run", "-q", "-o", "run-out", *OPTIONS, *(ON_CPU if HAS_GPU else []), *names], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=said))


def left(names):
    return [name for name in names if not (os.path.exists("spool/done/" + name) or any(
        os.path.exists("spool/failed/%s/in/%s" % (job, name)) for job in os.listdir("spool/failed")))]


def limits_of_children(pid):
    """What the system gives each at most, in bytes."""
    found = []
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        children = f.read().split()
    for child in children:
        with open("/proc/%s/limits" % child) as f:
            found += [line.split()[3] for line in f if line.startswith("Max data size")]
    return found


def by_worker(names):
    """As dropped files; ends when all are in done/ or failed/."""
    with open("service-said", "wb") as said:
        service = subprocess.Popen([LEAT, "watch", "--spool", "spool", "--settle", "0", *OPTIONS, *ON_CPU],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
    give_up = time.monotonic() + 2 * WAIT_S
    while not os.path.isdir("spool/failed"):
        time.sleep(0.02)
    for name in names:
        if os.stat(name).st_nlink > 1:  # of one file only one link would be taken
            subprocess.run(["cp", "--sparse=always", name, "spool/." + name], check=True)
            os.rename("spool/." + name, name)
        os.rename(name, "spool/in/" + name)
    waits = names
    while waits and time.monotonic() < give_up and service.poll() is None:
        time.sleep(0.02)
        waits = left(waits)
    limits = limits_of_children(service.pid)
    service.send_signal(signal.SIGTERM)
    return ended(service) + (waits, limits)


def made_apart(make, file):
    """The names of the files that it makes; in a process of its own: a child's peak begins with its parent's size."""
    pid = os.fork()
    if pid == 0:
        with open("names", "w") as f:
            f.write(" ".join(make(file) or [file]))
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("%s cannot be made" % file)
    with open("names") as f:
        return f.read().split()


def main():
    names = sys.argv[1:] or (list(CASES) if os.environ.get("LEAT_TEST_LARGE") else FEW)
    bad, home = [], os.getcwd()
    print("%-24s %-46s %9s %6s %9s %6s" % ("file", "claimed", "bytes", "status", "run MB", "worker"))
    for name in names:
        claim, file, make = CASES[name]
        folder = os.path.join(home, name)
        os.mkdir(folder)
        os.chdir(folder)
        begin = time.monotonic()
        files = made_apart(make, file)
        size = sum(os.stat(f).st_size for f in files)
        made = time.monotonic()
        status, run = by_run(files)
        run_s = time.monotonic() - made
        service, worker, waits, limits = by_worker(files)
        print("%-24s %-46s %9d %6d %9.0f %6.0f" % (name, claim, size, status, run / 1e6, worker / 1e6), flush=True)
        if os.environ.get("LEAT_HOSTILE_VERBOSE"):
            print("    made %.1f s, run %.1f s, service %.1f s; %s" % (made - begin, run_s, time.monotonic() - made - run_s, last_line("said")[:300]))
            print("    service: " + last_line("service-said")[:300], flush=True)
        bad += ["%s: %s" % (name, what) for what, wrong in (
            ("run takes %.0f MB" % (run / 1e6), run > MOST_BYTES), ("a worker takes %.0f MB" % (worker / 1e6), worker > MOST_BYTES),
            ("run ends with %d: %s" % (status, last_line("said")), status not in (0, 1, 2)),
            ("run does not say that %s: %s" % (SAID.get(name), last_line("said")), SAID.get(name, "") not in last_line("said")),
            ("a worker has no limit by the system: %s" % limits, not limits or "unlimited" in limits),
            ("the service ends with %d" % service, service != 0), ("%s is left" % waits, waits)) if wrong]
        os.chdir(home)
        shutil.rmtree(folder)
    if bad:
        sys.exit("\n".join(bad))


main()
