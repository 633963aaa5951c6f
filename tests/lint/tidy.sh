#!/bin/sh
# tidy.sh BUILD_FOLDER [FILE_REGEX]: clang-tidy, with .clang-tidy's checks, over the sources that this
# build compiles for the product (what nvcc compiles has arguments that clang does not know).
set -u
command -v run-clang-tidy-14 >/dev/null || { echo "clang-tidy-14 is not installed"; exit 77; }
cd "$(dirname "$0")/../.." || exit 2
exec run-clang-tidy-14 -quiet -p "$1" -j "$(nproc)" \
    "${2:-^$PWD/(formats|kernels|stages|watch|pipeline)/.*\.(c|cpp)$}"
