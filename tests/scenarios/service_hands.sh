#!/bin/sh
# leat hold, release, delete and flush: what they do to jobs, that a hold outlives the service, and who may.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_hands.py" || exit 1
