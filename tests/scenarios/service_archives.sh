#!/bin/sh
# Archives in the watched folder.
. "$(dirname "$0")/lib.sh"
command -v zstd >/dev/null || skip "no zstd here (Debian: zstd)"
"$python" "$here/service_archives.py" || exit 1
