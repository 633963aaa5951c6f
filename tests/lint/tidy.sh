#!/bin/sh
# tidy.sh BUILD_FOLDER [FILE_REGEX]: clang-tidy, with .clang-tidy's checks, over the sources that this
# build compiles for the product (what nvcc compiles has arguments that clang does not know).
# The analyzer, which takes nine tenths of the time, goes as deep as LEAT_TIDY_MODE says: "shallow" looks into small
# functions alone, "deep" takes three times as long.
set -u
command -v run-clang-tidy-14 >/dev/null || { echo "clang-tidy-14 is not installed"; exit 77; }
cd "$(dirname "$0")/../.." || exit 2
exec run-clang-tidy-14 -quiet -p "$1" -j "$(nproc)" \
    -extra-arg=-Xclang -extra-arg=-analyzer-config -extra-arg=-Xclang -extra-arg="mode=${LEAT_TIDY_MODE:-shallow}" \
    "${2:-^$PWD/(formats|kernels|stages|watch|pipeline)/.*\.(c|cpp)$}"
