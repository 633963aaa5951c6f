#!/bin/sh
# The service is told to stop while jobs run; jobs that pass their deadline.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_drain.py" || exit 1
