#!/bin/sh
# Jobs whose results are larger than the disk, among others that fit.
. "$(dirname "$0")/lib.sh"
small_disk 12m
case $(basename "$(dirname "$(dirname "$LEAT")")") in *asan* | *tsan*) sanitized=asan ;; *) sanitized= ;; esac
"$python" "$here/service_large.py" small $sanitized || exit 1
