"""What scenarios in Python have at hand, as those in shell have lib.sh: a scratch folder that goes away, and how to skip.

A scenario calls begin() before it imports NumPy and the like.
"""
# ctest: none
import atexit
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "support"))
from patience import PATIENCE, THREADS_ALONE, WAIT_S, WATCHED  # noqa: E402, F401

LEAT = os.path.abspath(os.environ["LEAT"])
BACKEND = os.environ.get("LEAT_TEST_BACKEND", "cpu")


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def needs_faulty():
    """The program whose calls and workers fail when they are told to."""
    if not os.access(os.environ.get("LEAT_FAULTY", ""), os.X_OK):
        skip("there is no program with faults in this build")


def needs_another_user():
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        skip("needs another user's folders")


def begin(*modules, in_memory=False):
    """Skips without these modules of Python, and goes to a new folder, which goes away in the end. It lies in memory for thousands of files and kills, and where a
    sanitizer watches (a disk has been looked at in the other builds), if programs may be run there and there is room."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        skip(f"no Python with {' and '.join(missing)}")
    if (in_memory or WATCHED) and not os.environ.get("TMPDIR") and os.access("/dev/shm", os.W_OK):
        disk = os.statvfs("/dev/shm")
        if disk.f_bavail * disk.f_frsize > 4e9 and not disk.f_flag & os.ST_NOEXEC:
            os.environ["TMPDIR"] = "/dev/shm"
    scratch = tempfile.mkdtemp(prefix="leat-scenario-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.chdir(scratch)
    if BACKEND == "cuda" and subprocess.run([LEAT, "doctor", "-b", "cuda"], capture_output=True).returncode != 0:
        skip("no CUDA device can be used here")


def small_disk(options):
    """Mounts a disk of that size as ./small until the scenario ends."""
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={options},mode=700", "leat", "small"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        skip("a small disk cannot be mounted here")
    atexit.register(subprocess.run, ["umount", "-l", os.path.abspath("small")])


def fake_driver():
    """What tells leat in its environment of four CUDA devices that the CPU plays (tests/support/fake_cuda.c). Any library
    stands in for the driver, which is looked for before the module is loaded."""
    linked = subprocess.run(["ldd", LEAT], capture_output=True, text=True, check=True).stdout
    os.mkdir("driver")
    os.symlink(next(line.split()[2] for line in linked.splitlines() if "libz.so" in line), "driver/libcuda.so.1")
    libraries = [os.path.abspath("driver"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {"LEAT_MODULE_DIR": os.environ["LEAT_FAKE_MODULE_DIR"], "LEAT_FAKE_DEVICES": "4",
            "LD_LIBRARY_PATH": ":".join(libraries)}


def fake_devices():
    os.environ.update(fake_driver())
    for name in "LEAT_TEST_BACKEND", "CUDA_VISIBLE_DEVICES":
        os.environ.pop(name, None)


def about(folder):
    """What the result says of itself; its files are as it says."""
    with open(f"{folder}/result.json", encoding="utf-8") as f:
        told = json.load(f)
    for output in told["outputs"]:
        with open(f"{folder}/{output['name']}", "rb") as f:
            data = f.read()
        assert len(data) == output["bytes"] and f"{zlib.crc32(data):08x}" == output["crc32"], output
    return told
