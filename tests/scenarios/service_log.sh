#!/bin/sh
# Nobody reads what the service says: it works on, and says later how many lines are missing.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_log.py" || exit 1
