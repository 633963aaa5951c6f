"""Packs a bundle (pipeline/bundle.cmake) into a wheel: leat.py as the package leat with program, modules and libraries
in it, and the script `leat`. wheel.py BUNDLE VERSION FOLDER

What the system must have: x86-64 Linux, glibc 2.36, libstdc++ and libgcc, which other modules of the same process may need
newer, and Python 3.8. NumPy, for arrays, is not asked for: the program runs without.
"""
import base64
import hashlib
import os
import stat
import sys
import zipfile

bundle, version, folder = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
about = f"leat-{version}.dist-info"
tag = "py3-none-manylinux_2_36_x86_64"
files = {"leat/__init__.py": f"{here}/library/leat.py", "leat/py.typed": b"", "leat/bin/leat": f"{bundle}/bin/leat",
         f"{about}/licenses/LICENSE": f"{here}/../LICENSE"}
for at in "lib", "lib/leat":
    for name in os.listdir(f"{bundle}/{at}"):
        # a zip has no links: the library under the name that is asked for alone
        others = "libleat.so", f"libleat.so.{version}", "libstdc++.so.6", "libgcc_s.so.1"
        if os.path.isfile(f"{bundle}/{at}/{name}") and name not in others:
            files[f"leat/{at}/{name}"] = f"{bundle}/{at}/{name}"
licence = f"{bundle}/share/doc/leat/DejaVuSans.licence"
if os.path.exists(licence):
    files[f"{about}/licenses/DejaVuSans.licence"] = licence
files[f"{about}/METADATA"] = f"""Metadata-Version: 2.1
Name: leat
Version: {version}
Summary: Correlates series, simulates landslides, interpolates and clusters, on CPU or GPU
Requires-Python: >=3.8
Provides-Extra: arrays
Requires-Dist: numpy; extra == "arrays"
""".encode()
files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: leat {version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
files[f"{about}/entry_points.txt"] = b"[console_scripts]\nleat = leat:main\n"
record = []


def add(wheel, name, data, runs):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same files, the same wheel
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
    wheel.writestr(entry, data)


path = f"{folder}/leat-{version}-{tag}.whl"
with zipfile.ZipFile(path, "w") as wheel:
    for name, what in sorted(files.items()):
        if isinstance(what, str):
            with open(what, "rb") as f:
                what = f.read()
        add(wheel, name, what, name == "leat/bin/leat" or ".so" in name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(what).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(what)}\n")
    add(wheel, f"{about}/RECORD", "".join(record) + f"{about}/RECORD,,\n", False)
print(f"{path}: {os.path.getsize(path) / 2**20:.0f} MiB")
