"""The recipes of leat-recipes(7): their commands as the manual shows them, each with the answer that its text promises. And the samples
are what is said of them: made again, they are the same."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys

from lib import LEAT, TREE, begin

begin()
os.environ["PATH"] = os.path.dirname(LEAT) + os.pathsep + os.environ["PATH"]
with open(f"{TREE}/pipeline/manual/leat-recipes.7", encoding="utf-8") as f:
    manual = f.read()
recipes = dict(re.findall(r"^\.It (.*)$((?:\n(?!\.It ).*)+)", manual, re.M))
shutil.copytree(f"{TREE}/samples/recipes", "recipes")
asked = set()


def cook(question):
    """What each command of a recipe prints, and what the text beside them says in one line."""
    asked.add(question)
    text = recipes[question]
    shown = re.search(r"^\.Bd -literal\n(.*?)^\.Ed$", text, re.M | re.S)[1].replace("\\e\n", "\\\n")
    printed = []
    for command in re.findall(r"(?:.*\\\n)*.*\n", shown):
        done = subprocess.run(["sh", "-c", command], cwd="recipes", capture_output=True, text=True)
        assert done.returncode == 0 and "error" not in done.stderr, (command, done.stdout, done.stderr)
        printed.append(done.stdout)
    return printed, " ".join(re.sub(r"(?m)^\.\w+ ", "", text[text.index("\n.Ed"):]).split())


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def is_picture(*names):
    for name in names:
        with open(f"recipes/{name}", "rb") as f:
            assert f.read(8) == b"\x89PNG\r\n\x1a\n", name


def valley(name):
    return re.split("[- ]", name)[0]


(_, partners, found), _ = cook("Which of these series correlate with mine?")
partners = table(partners)
assert [row["name"] for row in partners] == ["north river"] * 3 + ["west river"] * 3, partners
assert all(valley(row["name_partner"]) == valley(row["name"]) for row in partners), partners
found = [line.split(",")[2:4] for line in found.splitlines()]
assert len(found) == 16 and all(valley(target) == valley(station) for target, station in found), found

(_, partners), _ = cook("Which are the strongest partners of each series?")
partners = table(partners)
assert len(partners) == 72 and all(valley(row["name_partner"]) == valley(row["name"]) for row in partners), partners
is_picture("each/stations/heatmap.png")

(_, groups), _ = cook("Which series say the same, so that one of them is enough?")
groups = table(groups)
assert [row["size"] for row in groups] == ["8"] * 3 and min(float(row["smallest_r"]) for row in groups) >= 0.7, groups
assert sorted(valley(row["name"]) for row in groups) == ["north", "south", "west"], groups
is_picture("groups/stations/heatmap.png")

(_, valleys), _ = cook("How alike are the stations of one valley?")
valleys = table(valleys)
assert [(row["group"], row["size"]) for row in valleys] == [("north", "8"), ("south", "8"), ("west", "8")], valleys
assert all(0.5 < float(row["homogeneity"]) < 1 for row in valleys), valleys

(_, runs), text = cook("Which p_r fits the landslide that was mapped?")
best = [float(word) for word in runs.splitlines()[-1].split(",")]
promised = float(re.search(r"near (0\.\d+)", text)[1])
assert len(runs.splitlines()) == 5 and abs(best[2] - promised) < 0.02 and best[15] > 0.99, runs
is_picture("leat-out/slope/map.png", "leat-out/slope/probability.png")

(_, told), text = cook("Where does debris pass, and how thick is it?")
probes = {name: (float(end), float(most), int(step))
          for end, most, step, name in re.findall(r"^  \d+, \d+ +(\S+) +(\S+) +(\d+) +(\w+)$", told, re.M)}
step, most = re.search(r"farm at step (\d+), is at most (\S+) m thick", text).groups()
assert f"{probes['farm'][1]:.2f}" == most and probes["farm"][2] == int(step) and probes["farm"][0] < 0.01, (probes, text)
assert f"{probes['road'][1]:.2f}" == re.search(r"road it is up to (\S+) m thick", text)[1], (probes, text)
assert f"{probes['bridge'][0]:.1f}" == re.search(r"bridge (\S+) m remain", text)[1], (probes, text)
is_picture("passing/slope/probes.png")

(*_, labels), _ = cook("To which of last year's clusters do this year's points belong?")
kinds = {}
for row in table(labels):
    kinds.setdefault(row["name"].split()[0], set()).add(row["cluster"])
assert sorted(kinds) == ["clam", "cockle", "mussel"] and sorted(*zip(*kinds.values())) == ["0", "1", "2"], kinds

(_, hospitals), _ = cook("Where should three hospitals stand, so that the people of all towns live near one?")
with open("recipes/towns.points.csv", encoding="utf-8") as f:
    towns = list(csv.DictReader(f))
hospitals = table(hospitals)


def apart(a, b):
    return ((float(a["east_km"]) - float(b["east_km"])) ** 2 + (float(a["north_km"]) - float(b["north_km"])) ** 2) ** 0.5


for hospital in hospitals:
    near = [town for town in towns if min(hospitals, key=lambda other: apart(other, town)) is hospital]
    assert sum(int(town["people"]) for town in near) == float(hospital["weight"]), hospital
    assert sum(town["name"].startswith("city") and apart(town, hospital) < 6 for town in near) == 1, hospital

(_, curve), _ = cook("What was the level at every full hour, if the readings are at irregular times?")
level = {row["x"][:16]: float(row["level_m"]) for row in table(curve)}
with open("recipes/level.nodes.csv", encoding="utf-8") as f:
    readings = [(row["time"], float(row["level_m"])) for row in csv.DictReader(f)]
assert len(level) == 25 and all(time.endswith(":00") for time in level), level
assert all(level.get(time, metres) == metres for time, metres in readings), level
for time, metres in level.items():
    before = max(reading for reading in readings if reading[0] <= time)
    after = min(reading for reading in readings if reading[0] >= time)
    assert min(before[1], after[1]) <= metres <= max(before[1], after[1]), (time, metres)
is_picture("leat-out/level/curve.png")
assert asked == set(recipes), asked ^ set(recipes)

# The samples, made again by what is said of them.
os.makedirs("samples/recipes")
shutil.copy(f"{TREE}/samples/make_samples.py", "samples")
subprocess.run([sys.executable, "samples/make_samples.py"], check=True)
for words in re.findall(r"`(leat generate [^`]*)`", open("samples/make_samples.py", encoding="utf-8").read()):
    folder = "samples/recipes" if "--rows 48" in words else "samples"
    subprocess.run([*words.replace("\n", " ").split(), "-q"], cwd=folder, check=True)
subprocess.run("leat run -q -o ../../ran -s p_r=0.35 -s steps=200 -s raster=asc.gz slope.dem.asc slope.source.asc".split(),
               cwd="samples/recipes", check=True)
most = subprocess.run(["gzip", "-dc", "ran/slope/max_thickness.asc.gz"], capture_output=True, text=True, check=True).stdout
with open("samples/recipes/slope.observed.asc", "w", encoding="utf-8") as f:
    for line in most.splitlines():
        f.write((line if line[0].isalpha() else " ".join(str(int(float(word) > 0.1)) for word in line.split())) + "\n")
made = [os.path.relpath(os.path.join(folder, name), "samples") for folder, _, names in os.walk("samples") for name in names]
assert len(made) == 19, made
for name in made:
    with open(f"samples/{name}", "rb") as f, open(f"{TREE}/samples/{name}", "rb") as g:
        assert f.read() == g.read(), name
