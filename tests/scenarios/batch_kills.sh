#!/bin/sh
# Several processes on one output folder are killed and resumed until all is done: each result once, and whole.
in_memory=yes
. "$(dirname "$0")/lib.sh"
"$python" "$here/batch_kills.py" "$LEAT_FAULTY" || exit 1
