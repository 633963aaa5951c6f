#!/bin/sh
# The configuration is changed while a long job runs: nobody waits for it, and it is not disturbed.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_renew.py" || exit 1
