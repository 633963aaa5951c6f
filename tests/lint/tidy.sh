#!/bin/sh
# tidy.sh BUILD_FOLDER [FILE_REGEX]: clang-tidy, with .clang-tidy's checks, over the sources that this
# build compiles for the product (what nvcc compiles has arguments that clang does not know), each as it is compiled for
# the product: tests compile some of them once more.
# The analyzer, which takes nine tenths of the time, is for tests/soak.sh: it goes as deep as LEAT_TIDY_MODE says.
set -u
command -v clang-tidy-14 >/dev/null || { echo "clang-tidy-14 is not installed"; exit 77; }
build=$(realpath "$1") || exit 2
cd "$(dirname "$0")/../.." || exit 2
mkdir -p "$build/tidy" || exit 2
python3 - "$build" "$PWD" "${2:-}" >"$build/tidy/files" <<'P' || exit 2
import json, re, sys
build, root, wanted = sys.argv[1:]
wanted = wanted or "^" + re.escape(root) + r"/(formats|kernels|stages|watch|pipeline)/.*\.(c|cpp)$"
with open(f"{build}/compile_commands.json") as f:
    commands = [c for c in json.load(f) if "-DLEAT_FAULTS" not in c["command"].split()]
with open(f"{build}/tidy/compile_commands.json", "w") as f:
    json.dump(commands, f)
print(*sorted({c["file"] for c in commands if re.search(wanted, c["file"])}), sep="\n")
P
[ -s "$build/tidy/files" ] && echo "$(wc -l <"$build/tidy/files") files" || { echo "no file to look at"; exit 2; }
set -- -checks='-clang-analyzer-*'
[ -z "${LEAT_TIDY_MODE:-}" ] ||
    set -- -extra-arg=-Xclang -extra-arg=-analyzer-config -extra-arg=-Xclang -extra-arg="mode=$LEAT_TIDY_MODE"
# Several files a process, which takes as long to begin as a small file takes.
exec xargs -P "$(nproc)" -n 8 clang-tidy-14 -quiet -p "$build/tidy" "$@" <"$build/tidy/files"
