#!/bin/sh
# tidy.sh BUILD_FOLDER [FILE_REGEX]: clang-tidy, with .clang-tidy's checks, over the sources that this
# build compiles for the product (what nvcc compiles has arguments that clang does not know), each as it is compiled for
# the product: tests compile some of them once more.
# The analyzer, which takes nine tenths of the time, is for tests/soak.sh: it goes as deep as LEAT_TIDY_MODE says.
set -u
command -v run-clang-tidy-14 >/dev/null || { echo "clang-tidy-14 is not installed"; exit 77; }
build=$(realpath "$1") || exit 2
cd "$(dirname "$0")/../.." || exit 2
mkdir -p "$build/tidy" || exit 2
python3 - "$build" <<'P' || exit 2
import json, sys
build = sys.argv[1]
with open(f"{build}/compile_commands.json") as f:
    commands = json.load(f)
with open(f"{build}/tidy/compile_commands.json", "w") as f:
    json.dump([c for c in commands if "-DLEAT_FAULTS" not in c["command"].split()], f)
P
files=${2:-^$PWD/(formats|kernels|stages|watch|pipeline)/.*\.(c|cpp)$}
set -- -checks='-clang-analyzer-*'
[ -z "${LEAT_TIDY_MODE:-}" ] ||
    set -- -extra-arg=-Xclang -extra-arg=-analyzer-config -extra-arg=-Xclang -extra-arg="mode=$LEAT_TIDY_MODE"
exec run-clang-tidy-14 -quiet -p "$build/tidy" -j "$(nproc)" "$@" "$files"
