#!/bin/sh
# Are the sources formatted as .clang-format says? clang-format's versions differ: 14 decides.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v clang-format-14 >/dev/null || { echo "clang-format-14 is not installed"; exit 77; }
find . \( -path ./build -o -path './.*' \) -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 clang-format-14 --dry-run -Werror
