"""Pictures, report.html and leat show, whole program: every pipeline in every format, twice the same bytes; the heat map's
order against SciPy; names that are not what they seem; the pictures of README.md."""
# ctest: long asan=soak tsan=soak
import base64
import csv
import gzip
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import xml.dom.minidom
import zlib

from lib import LEAT, TREE, begin

begin("numpy", "scipy")
import numpy
import scipy.cluster.hierarchy

samples = os.path.join(TREE, "samples")
random = numpy.random.default_rng(20)
PICTURES = {"greenhouse": ["heatmap"], "slope": ["map"], "runge": ["curve"], "beans": ["scatter", "ks"]}
INPUTS = ["greenhouse.clusters.csv", "slope.dem.asc", "slope.source.asc", "runge.nodes.csv", "runge.query.csv",
          "beans.points.csv"]


def run(*arguments, status=0):
    done = subprocess.run([LEAT, *arguments], capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout.decode(), done.stderr.decode()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def files(folder):
    return {f"{at}/{name}"[len(folder):]: read(f"{at}/{name}") for at, _, names in os.walk(folder) for name in names
            if name != "result.json"}


def check_picture(path):
    data = read(path)
    if path.endswith(".png"):
        width, height = struct.unpack(">II", data[16:24])
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and 1200 <= width <= 2400 and 700 <= height <= 2400, (path, width, height)
    elif path.endswith(".svg"):
        assert xml.dom.minidom.parseString(data).documentElement.tagName == "svg"
    elif shutil.which("pdftoppm"):
        subprocess.run(["pdftoppm", "-r", "20", "-png", path, "page"], check=True)
        assert os.path.getsize("page-1.png") > 500


def texts_of(path):
    """The texts of an SVG, each with its element."""
    found = xml.dom.minidom.parseString(read(path)).getElementsByTagName("text")
    return [t.firstChild.data for t in found]


class Page(html.parser.HTMLParser):
    """Tags with their attributes, and the text of headings and cells."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.open, self.texts, self.attributes = [], [], [], []
        self.feed(read(path).decode())
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attributes]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


KNOWN = set("html head meta style title body h1 h2 small figure img p a ul li table tr th td pre".split())
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
ALTS = {"heatmap": "a heat map of the coefficients of all pairs of series", "map": "a map of the debris over the shaded relief",
        "curve": "the curves over the range of the queries, with the nodes",
        "scatter": "the points in their clusters, with the centroids", "ks": "inertia and silhouette by the number of clusters"}
TYPES = {"png": "image/png", "svg": "image/svg+xml"}


def check_page(folder, pictures):
    page = Page(f"{folder}/report.html")
    assert set(page.tags) <= KNOWN, set(page.tags) - KNOWN
    shown = [value for tag, key, value in page.attributes if key == "src"]
    linked = [value for tag, key, value in page.attributes if key == "href"]
    types = {name: TYPES.get(name.rsplit(".", 1)[1]) for name in pictures}
    want = [f"data:{types[name]};base64," + base64.b64encode(read(f"{folder}/{name}")).decode()
            for name in pictures if types[name]]
    assert sorted(shown) == sorted(want), (pictures, [s[:40] for s in shown])
    assert sorted(linked) == sorted(name for name in pictures if not types[name]), linked
    assert ("meta", "content", POLICY) in page.attributes
    for tag, key, value in page.attributes:
        assert not key.startswith("on") and key != "data", (tag, key, value)
    alts = [value for tag, key, value in page.attributes if (tag, key) == ("img", "alt")]
    assert alts == [ALTS[name.rsplit(".", 1)[0]] for name in pictures if types[name]], alts
    outputs = {o["name"]: o["bytes"] for o in json.loads(read(f"{folder}/result.json"))["outputs"]}
    assert outputs["report.html"] == os.path.getsize(f"{folder}/report.html")
    return page


def every_format():
    inputs = [f"{samples}/{name}" for name in INPUTS]
    for form in ("png", "svg", "pdf"):
        for out, threads in (("a", "1"), ("b", "4")):
            run("run", "-q", "--threads", threads, "-s", f"figure={form}", "-c", "kmeans.conf", "-o", f"{form}-{out}", *inputs)
        assert files(f"{form}-a") == files(f"{form}-b"), form
        for folder, names in PICTURES.items():
            names = [f"{name}.{form}" for name in names]
            for name in names:
                check_picture(f"{form}-a/{folder}/{name}")
            check_page(f"{form}-a/{folder}", names)
    run("run", "-q", "-s", "figure=none", "-o", "none", *inputs)
    for folder in PICTURES:
        assert not [name for name in os.listdir(f"none/{folder}") if name.endswith(("png", "svg", "pdf"))]
        check_page(f"none/{folder}", [])
    data = {k: v for k, v in files("none").items() if k.startswith("/greenhouse") and not k.endswith(".html")}
    assert data == {k: v for k, v in files("png-a").items() if k in data}
    print("png, svg, pdf and none of every pipeline: twice the same bytes")


def drawn(path):
    """What a PNG shows: its chunks, those of the data inflated, for processors deflate differently."""
    data, at, chunks = read(path), 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8:at + 8 + length]
        at += 12 + length
    return chunks[b"IHDR"], chunks.get(b"PLTE"), zlib.decompress(chunks[b"IDAT"])


def demonstration():
    run("run", "-q", "-c", f"{samples}/demo.conf", "-o", "demo", *(f"{samples}/{name}" for name in INPUTS))
    for folder, names in PICTURES.items():
        path = f"{samples}/{folder}-{names[0]}.png"
        assert drawn(path) == drawn(f"demo/{folder}/{names[0]}.png"), f"{path} is not what the demonstration draws"
    print("the README's pictures are those of the demonstration")


def order():
    for n, k in ((1, 1), (2, 2), (37, 4), (300, 7)):
        base = random.normal(size=(k, 90))
        x = base[random.integers(0, k, n)] + 0.8 * random.normal(size=(n, 90))
        if n > 30:
            x[5] = 3  # constant
        numpy.save("o.clusters.npy", x)
        run("run", "-q", "--force", "-s", "order=cluster", "-s", "series=rows", "o.clusters.npy")
        z = numpy.load("leat-out/o/pearson.npz")
        if n > 1:
            d = 1 - abs(z["r"])
            d[numpy.isnan(d)] = 2
            want = scipy.cluster.hierarchy.leaves_list(scipy.cluster.hierarchy.linkage(d, "average"))
            if n > 30:  # of equal distances, those of the constant one, any may come first
                want, got = (list(o[o != 5]) for o in (want, z["order"]))
                assert want == got, (n, want, got)
            else:
                assert list(want) == list(z["order"])
        with gzip.open("leat-out/o/series.csv.gz", "rt", newline="") as f:
            assert [int(row["place"]) for row in csv.DictReader(f)] == list(numpy.argsort(z["order"]))
        told = json.loads(read("leat-out/o/result.json"))
        assert told["parameters"]["order"] == "cluster" and sorted(z["order"]) == list(range(n))
    run("run", "-q", "--force", "-s", "order=file", "o.clusters.npy")
    assert "order" not in numpy.load("leat-out/o/pearson.npz").files
    with gzip.open("leat-out/o/series.csv.gz", "rt", newline="") as f:
        assert "place" not in next(csv.reader(f))
    print("the order is that of SciPy's average linkage")


def cut():
    """Runge's function at 17 nodes, and upside down: the picture says that y is cut; not where the curve stays near them."""
    for name, sign, nodes, is_cut in (("up", 1, numpy.linspace(-1, 1, 17), True), ("down", -1, numpy.linspace(-1, 1, 17), True),
                                      ("calm", 1, numpy.cos(numpy.pi * numpy.arange(17) / 16), False)):
        numpy.savetxt(f"{name}.nodes.csv", numpy.column_stack([nodes, sign / (1 + 25 * nodes**2)]), delimiter=",",
                      header="x,y", comments="")
        for form in ("svg", "pdf"):
            run("run", "-q", "-o", form, "-s", f"figure={form}", "-s", "query=linspace(-1, 1, 9)", f"{name}.nodes.csv")
        want = "y is cut: the curve goes from " + ("\u221214 to 1.4" if sign > 0 else "\u22121.4 to 14")
        assert (want in texts_of(f"svg/{name}/curve.svg")) == is_cut, name
        if shutil.which("pdftotext"):
            said = subprocess.run(["pdftotext", "-layout", f"pdf/{name}/curve.pdf", "-"], check=True, capture_output=True)
            assert (want in said.stdout.decode()) == is_cut, said.stdout.decode()
    print("what is cut is said")


def texts():
    """What is written into pictures, as SVGs and PDFs tell it."""
    if not shutil.which("pdftotext"):
        print("NOT SHOWN here: texts of PDFs, without pdftotext")
    os.mkdir("texts")
    names = ["温度", "a" * 300, "a" * 150 + "b" + "a" * 149, "short"]
    for name, head, options, picture, wants in (
            ("s.clusters", names, [], "s/heatmap", ["series 0: ??", "series 1: aaa", "series 2: aaa", "short"]),
            ("c.nodes", ["x"] + [f"y{i}" for i in range(9)], ["query=linspace(0, 1, 2)"], "c/curve",
             ["the first 8 of 9 curves"]),
            ("p.points", ["長さ", "v"], ["k=65", "n_init=1"], "p/scatter",
             ["column 1: ??", "0, 8, 16, …", "centroid of cluster 0"])):
        with open(f"texts/{name}.csv", "w", encoding="utf-8") as f:
            f.write(",".join(head) + "\n")
            numpy.savetxt(f, random.normal(size=(70, len(head))), delimiter=",")
        sets = [word for option in options for word in ("-s", option)]
        for form in ("svg", "pdf"):
            run("run", "-q", "--force", "-s", f"figure={form}", *sets, "-o", f"texts/{form}", f"texts/{name}.csv")
        said = {"svg": "\n".join(texts_of(f"texts/svg/{picture}.svg"))}
        if shutil.which("pdftotext"):
            done = subprocess.run(["pdftotext", "-layout", f"texts/pdf/{picture}.pdf", "-"], check=True, capture_output=True)
            said["pdf"] = done.stdout.decode()
        for form, text in said.items():
            for want in wants:
                assert want in text, (form, want, text)
    print("texts of pictures")


def hostile():
    names = ["<script>alert(1)</script>", "\" onload=\"x", "a&amp;b", "]]>", "\u202etxt", "</table></body>", "'; DROP"]
    stem = "<img src=x onerror=alert(1)> \"'&"
    with open(f"{stem}.clusters.csv", "w", encoding="utf-8") as f:
        f.write(",".join('"%s"' % n.replace('"', '""') for n in names) + "\n")
        for row in random.normal(size=(9, len(names))):
            f.write(",".join(map(repr, map(float, row))) + "\n")
    for form in ("png", "svg", "pdf"):
        run("run", "-q", "--force", "-s", f"figure={form}", f"{stem}.clusters.csv")
        check_picture(f"leat-out/{stem}/heatmap.{form}")
        page = check_page(f"leat-out/{stem}", [f"heatmap.{form}"])
        assert f"{stem}.clusters.csv" in "".join(page.texts)
        for name in names:
            assert name.replace("\u202e", r"\xe2\x80\xae") in page.texts, name  # what turns a line is spelt
    text, _ = run("show", f"leat-out/{stem}")
    assert "<script>alert(1)</script>" in text
    with open("e.clusters.csv", "w", encoding="utf-8") as f:
        f.write("a\x1b[31m,b\n1,2\n2,1\n3,5\n")
    run("run", "-q", "e.clusters.csv")
    assert "\x1b" not in run("show", "leat-out/e")[0] and b"\x1b" not in read("leat-out/e/report.html")
    print("names are shown, and do nothing")


def chosen():
    """Title, colours and size, of every pipeline in every format; twice the same bytes, and the same numbers as without."""
    inputs = [f"{samples}/{name}" for name in INPUTS]
    title = "<script>alert(1)</script> & \"T\" 斜面 é"
    with open("chosen.conf", "w", encoding="utf-8") as f:
        f.write("[pipeline pearson]\ncolours = RdBu_r\n[pipeline kmeans]\nk = 2-5\ncolours = petroff8\n"
                "[pipeline interpolate]\ncolours = viridis\n[pipeline sciddicat]\ncolours = plasma_r\n")
    for form in ("png", "svg", "pdf"):
        sets = [word for option in (f"figure={form}", f"title={title}", "figure_size=100", "figure_dpi=300")
                for word in ("-s", option)]
        for out, threads in (("a", "1"), ("b", "4")):
            run("run", "-q", "--threads", threads, "-c", "chosen.conf", *sets, "-o", f"chosen-{form}-{out}", *inputs)
        assert files(f"chosen-{form}-a") == files(f"chosen-{form}-b"), form
        for folder, names in PICTURES.items():
            check_page(f"chosen-{form}-a/{folder}", [f"{name}.{form}" for name in names])
            for name in names:
                path = f"chosen-{form}-a/{folder}/{name}.{form}"
                data = read(path)
                if form == "png":
                    assert max(struct.unpack(">II", data[16:24])) == 1181, path
                    assert struct.unpack(">II", data[data.index(b"pHYs") + 4:][:8]) == (11811, 11811)
                elif form == "svg":
                    svg = xml.dom.minidom.parseString(data).documentElement
                    sides = [float(svg.getAttribute(side).removesuffix("px")) for side in ("width", "height")]
                    assert abs(max(sides) - 100 / 25.4 * 96) < 0.01 and title.replace("斜面", "??") in texts_of(path), (path, sides)
                else:
                    box = re.search(rb"/MediaBox *\[([^]]*)\]", data)[1].split()
                    assert abs(max(map(float, box)) - 100 / 25.4 * 72) < 0.01, (path, box)
    numbers = [k for k in files("png-a") if k.endswith((".gz", ".npz", ".tif"))]
    assert {k: files("png-a")[k] for k in numbers} == {k: files("chosen-png-a")[k] for k in numbers}
    for name, ends in (("auto", "9c1b1e"), ("RdBu_r", "67001f"), ("PuOr_r", "7f3b08")):
        run("run", "-q", "--force", "-s", f"colours={name}", "-o", "ends", inputs[0])
        data = read("ends/greenhouse/heatmap.png")
        begins = data.index(b"PLTE") + 4
        palette = data[begins:begins + struct.unpack(">I", data[begins - 8:begins - 4])[0]].hex()
        assert ends in [palette[k:k + 6] for k in range(0, len(palette), 6)], name
    run("run", "-q", "--force", "-s", "figure=svg", "-s", "title=" + "=,; " * 100, "-o", "ends", inputs[0])
    shown = [t for t in texts_of("ends/greenhouse/heatmap.svg") if t.startswith("=,; =,;")]
    assert len(shown) == 1 and "…" in shown[0], shown
    for wrong, says in (("title=a\nb", "control character"), ("title=" + "x" * 401, "401 bytes"), ("title=a\ud800", "UTF-8"),
                        ("colours=jet", "RdBu_r"), ("colours=viridis", "PuOr_r"), ("figure_size=401", "400"),
                        ("figure_dpi=1200", "600"), ("color=RdBu_r", "colours")):
        out, said = run("run", "-s", os.fsencode(wrong.encode("utf-8", "surrogatepass")), inputs[0], status=2)
        assert says in said, (wrong, said)
    print("title, colours and size of pictures as chosen")


def after(texts, title):
    """The texts of a section, its blanks left out."""
    texts = [t for t in texts if t.strip()]
    return texts[texts.index(title) + 1:]


def report():
    """What a report tells beside figures: who made it of what, what was asked for, centroids, and where counts begin."""
    told = json.loads(read("png-a/beans/result.json"))
    texts = Page("png-a/beans/report.html").texts
    assert after(texts, "Asked for")[:3] == ["k", "2-5", "Other parameters"], texts
    assert after(texts, "Made from")[1:4] == ["6.38 KiB", "by leat", told["leat"]], texts
    clusters = after(texts, "Clusters")
    assert clusters[0] == "cluster, from 0" and clusters[3] == "centroid, column by column"
    with gzip.open("png-a/beans/centroids.csv.gz", "rt", newline="") as f:
        rows = list(csv.DictReader(f))
    columns = ["length_mm", "width_mm", "height_mm", "weight_g"]
    for k, row in enumerate(rows):
        want = [float(row[c]) for c in columns]
        assert [float(x) for x in clusters[4 * k + 7].split(", ")] == [float(f"{x:.6g}") for x in want], (clusters, row)
        assert told["summary"]["centroids"][k] == want
    assert "series, from 0" in Page("png-a/greenhouse/report.html").texts
    assert "Asked for" not in Page("png-a/slope/report.html").texts  # nothing was
    if not shutil.which("chromium"):
        print("NOT SHOWN here: pages of a printed report, without chromium")
        return
    for folder in PICTURES:
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                        f"--user-data-dir={os.getcwd()}/chromium", f"--print-to-pdf={folder}.pdf",
                        f"file://{os.getcwd()}/png-a/{folder}/report.html"], check=True, capture_output=True)
        pages = re.findall(rb"/Type */Page\b", read(f"{folder}.pdf"))
        boxes = set(re.findall(rb"/MediaBox *\[([^]]*)\]", read(f"{folder}.pdf")))
        assert len(pages) <= 2 and all(round(float(x)) in (0, 595, 842) for b in boxes for x in b.split()), (folder, pages, boxes)
    print("what a report tells; printed on A4 in two pages")


def show():
    text, _ = run("show", "png-a/slope", "png-a/beans/result.json", f"{samples}/wells.clusters.csv")
    for part in ("run-out", "error of the mass balance", "sciddicaT", "cluster", "scatter.png", "numpy.load",
                 "pipeline pearson, result 'wells'"):
        assert part in text, (part, text)
    told, _ = run("show", "--json", "png-a/runge")
    assert json.loads(told) == json.loads(read("png-a/runge/result.json"))
    _, said = run("show", status=2)
    assert "no input given" in said
    os.mkdir("no")
    with open("no/result.json", "w", encoding="utf-8") as f:
        f.write("{}")
    _, said = run("show", "no", status=2)
    assert "is not a result of leat" in said, said
    run("show", "nowhere", status=2)
    print("leat show")


with open("kmeans.conf", "w", encoding="utf-8") as f:
    f.write("[pipeline kmeans]\nk = 2-5\n")
every_format()
demonstration()
order()
cut()
texts()
hostile()
chosen()
report()
show()
