"""What is in the bundles of results; see bundle.sh. bundle.py compare PLAIN BUNDLED, same A B, whole FOLDER."""
import json
import os
import subprocess
import sys
import zipfile
import zlib


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def results(folder):
    return sorted(os.path.relpath(path, folder) for path, _, files in os.walk(folder) if "result.json" in files)


def sum_of(data):
    return f"{zlib.crc32(data):08x}"


def is_text(name):
    return name.rsplit(".", 1)[-1] in ("html", "json", "prj", "svg")


def open_bundle(folder):
    """Its result.json and its zip, which is whole and says of its files what result.json says."""
    told = json.loads(read(folder, "result.json"))
    output, = told["outputs"]
    name = output["name"]
    assert sorted(os.listdir(folder)) == sorted([name, "result.json"]), os.listdir(folder)
    data = read(folder, name)
    assert (len(data), sum_of(data)) == (output["bytes"], output["crc32"]), output
    bundle = zipfile.ZipFile(os.path.join(folder, name))
    assert bundle.testzip() is None
    subprocess.run(["unzip", "-tq", os.path.join(folder, name)], check=True, stdout=subprocess.DEVNULL)
    assert bundle.namelist() == ["result.json", *(o["name"] for o in told["bundled"])], bundle.namelist()
    for o in told["bundled"]:
        content = bundle.read(o["name"])
        assert (len(content), sum_of(content)) == (o["bytes"], o["crc32"]), o
    for info in bundle.infolist():
        assert info.date_time == (1980, 1, 1, 0, 0, 0), info
        assert info.compress_type == (zipfile.ZIP_DEFLATED if is_text(info.filename) else zipfile.ZIP_STORED), info
        assert info.compress_size < info.file_size if is_text(info.filename) and info.file_size > 100 else True, info
    return told, bundle


def compare(plain, bundled):
    """Each bundle holds the files of the plain result, and a result.json that is true of them and of every such run."""
    assert results(plain) == results(bundled), (results(plain), results(bundled))
    for result in results(plain):
        told, bundle = open_bundle(os.path.join(bundled, result))
        said = json.loads(read(plain, result, "result.json"))
        assert told["outputs"][0]["name"] == os.path.basename(result) + ".zip", told["outputs"]
        inner = json.loads(bundle.read("result.json"))
        is_renamed = [i["name"] for i in told["inputs"]] != [i["name"] for i in said["inputs"]]
        assert inner["outputs"] == told["bundled"], result
        for o in said["outputs"]:
            if not (is_renamed and o["name"] == "report.html"):  # which has the inputs' names
                want = read(plain, result, o["name"])
                assert bundle.read(o["name"]) == want, (result, o)
        for about in told, said, inner:
            for key in "timing", "memory", "outputs", "bundled", "job":
                about.pop(key, None)
            assert about["backend"].pop("name") == "cpu", about
            assert (about.pop("backend") == {}) == (about is inner), about
            for file in about["inputs"]:
                file.pop("inode", None)
                file.pop("modified", None)
                file["name"] = os.path.basename(file["name"])
        assert told == said == inner, result


def same(a, b):
    """Their bytes are the same."""
    assert results(a) == results(b) != []
    for result in results(a):
        name = os.path.basename(os.path.normpath(os.path.join(a, result))) + ".zip"
        assert read(a, result, name) == read(b, result, name), result


def whole(folder):
    assert results(folder)
    for result in results(folder):
        open_bundle(os.path.join(folder, result))


if __name__ == "__main__":
    {"compare": compare, "same": same, "whole": whole}[sys.argv[1]](*sys.argv[2:])
