#!/bin/sh
# Thousands of files are dropped while the service stands still: all become results. LEAT_SERVICE_FILES: how many.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_many.py" || exit 1
