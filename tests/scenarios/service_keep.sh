#!/bin/sh
# What done/ and failed/ keep, and a service that is killed while it removes what they do not.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_keep.py" || exit 1
