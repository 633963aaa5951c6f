#!/bin/sh
# Short jobs do not wait for long ones: neither for a place at the worker nor for a thread, a block or a buffer.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_short.py" || exit 1
