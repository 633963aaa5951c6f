#!/bin/sh
# The service: first use, files that wait and why, parts, restarts, signals.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_first.py" || exit 1
