"""A worker at rest gives back the memory that jobs took: else each part of its heap keeps what its largest job was."""
# ctest: slots=1
import io
import os
import random
import tarfile

from lib import begin, skip
from service import WATCHED, Service

begin()
if WATCHED:
    skip("the memory of a sanitizer is its own")
N, MEMBERS, KINDS = 60, 6, ("xz", "bz2", "gz")
chance = random.Random(1)
os.mkdir("aside")
for i in range(N):
    kind = KINDS[i % len(KINDS)]
    with tarfile.open(f"aside/a{i}.tar.{kind}", f"w:{kind}") as archive:
        for k in range(MEMBERS):
            rows = (",".join("%.3f" % chance.random() for _ in range(20 * (1 + k))) for _ in range(30))
            text = "\n".join(rows).encode()
            member = tarfile.TarInfo(f"m{k}.clusters.csv")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def mib(key):
    with open(f"/proc/{worker}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":")) / 1024


s = Service("spool")
worker = s.status()["workers"][0]["pid"]
before = mib("RssAnon")
for name in os.listdir("aside"):
    os.rename(f"aside/{name}", f"spool/in/{name}")
s.until(lambda: s.status()["totals"]["done"] == N, "all are done")
grown = mib("VmHWM") - mib("RssFile") - before
s.check(grown > 20, f"jobs took {grown:.1f} MiB: too few to show anything")
s.until(lambda: mib("RssAnon") - before < grown / 2, f"more than half of {grown:.1f} MiB is given back")
print(f"jobs took {grown:.1f} MiB, the worker at rest has {mib('RssAnon') - before:.1f}")
s.stop()
