#!/bin/sh
# The disk for results fills up, then that of the spool: the service pauses, says so, and goes on by itself within
# 10 s when there is room; nobody is charged, nothing is lost.
. "$(dirname "$0")/lib.sh"
small_disk 16m
"$python" "$here/service_room.py" small || exit 1
