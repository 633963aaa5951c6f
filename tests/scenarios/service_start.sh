#!/bin/sh
# What is missing at the start and comes later: the service starts paused, says why, and goes on by itself.
. "$(dirname "$0")/lib.sh"
small_disk 12m,nr_inodes=64
"$python" "$here/service_start.py" || exit 1
