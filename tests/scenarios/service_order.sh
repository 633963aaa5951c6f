#!/bin/sh
# Results of the same name that replace each other: the last dropped stays.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_order.py" || exit 1
