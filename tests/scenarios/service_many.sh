#!/bin/sh
# Thousands of files are dropped while the service stands still: all become results. LEAT_SERVICE_FILES: how many.
. "$(dirname "$0")/lib.sh"
# A sanitizer's own memory and time are not leat's.
case $(basename "$(dirname "$(dirname "$LEAT")")") in *asan* | *tsan*) sanitized=asan ;; *) sanitized= ;; esac
"$python" "$here/service_many.py" $sanitized || exit 1
