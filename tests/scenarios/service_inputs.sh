#!/bin/sh
# Every way in which a file may come to the running service, and what may happen to it there.
# LEAT_SERVICE_SLOW_MB (32): the size of the file that is written slowly; before a release 1000.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_inputs.py" || exit 1
