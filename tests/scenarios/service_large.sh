#!/bin/sh
# Jobs whose results are larger than the disk, among others that fit.
. "$(dirname "$0")/lib.sh"
small_disk 12m
"$python" "$here/service_large.py" small || exit 1
