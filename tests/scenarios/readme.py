"""The commands of README.md, one after the other in one shell, as a new user runs them."""
import os
import re
import shutil
import subprocess
import sys

from lib import LEAT, TREE, WAIT_S, begin, skip

begin()
if not os.path.exists(f"{TREE}/README.md"):
    skip("the README is not here")
with open(f"{TREE}/README.md", encoding="utf-8") as f:
    blocks = re.findall(r"^```sh\n(.*?)^```$", f.read(), re.M | re.S)
assert len(blocks) == 5, blocks
assert blocks[0] == 'PATH="$PWD/build/release/bin:$PATH"\n', blocks[0]
os.makedirs("tree/build/release/bin")
os.symlink(os.path.abspath(LEAT), "tree/build/release/bin/leat")
shutil.copytree(f"{TREE}/samples", "tree/samples")
os.mkdir("home")
try:
    import numpy  # noqa: F401
except ImportError:
    blocks = [block for block in blocks if "numpy" not in block]
    print("without the one for numpy")
done = subprocess.run(["bash", "-e", "-m"], input="\n".join(blocks), cwd="tree", text=True, capture_output=True, timeout=2 * WAIT_S,
                      env={**os.environ, "HOME": os.path.abspath("home"),
                           "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]})
if done.returncode != 0 or "error" in done.stderr:
    sys.exit(f"FAILED: {done.stdout}{done.stderr}")
for result in ("leat-out/mine", "clusters/mine", "out/slope", "out/runge", "out/beans", "all/walks", "out/w"):
    assert os.path.exists(f"tree/{result}/result.json"), result
assert os.path.exists("home/leat/out/wells/result.json") and "running" in done.stdout, done.stdout
print(f"{sum(block.count(chr(10)) for block in blocks)} commands")
