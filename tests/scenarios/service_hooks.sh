#!/bin/sh
# Commands for jobs that have ended: what they are told, how many run and for how long, and that nobody waits for them.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_hooks.py" || exit 1
