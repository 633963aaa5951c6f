#!/bin/sh
# The service is killed again and again while jobs run.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_kills.py" || exit 1
