#!/bin/sh
# Several processes on one output folder are killed and resumed until all is done: each result once, and whole.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then
    export TMPDIR=/dev/shm
fi
. "$(dirname "$0")/lib.sh"
"$python" "$here/batch_kills.py" "$LEAT_FAULTY" || exit 1
