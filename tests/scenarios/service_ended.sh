#!/bin/sh
# The last jobs, as status shows them: those that ended with recovery are among them, failures that have left failed/ not.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_ended.py" || exit 1
