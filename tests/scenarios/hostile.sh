#!/bin/sh
# Files that claim or unpack to far more than they are take no more memory than --memory and 150 MB, by run and by the
# service. One of each mechanism; LEAT_TEST_LARGE: all.
. "$(dirname "$0")/lib.sh"
[ "$patience" -eq 1 ] || skip "the memory of a sanitizer is its own"
few="sevenz-empty-entries sevenz-lzma zip-entries zip-lzma tar-sparse tar-zstd-ultra xz-second zstd-window-ultra tif-tags npy-header csv-late-line"
PYTHONPATH=$here/../support "$python" "$here/hostile.py" $([ -n "${LEAT_TEST_LARGE:-}" ] && echo all || echo "$few") || exit 1
