#!/bin/sh
# Every line of the help is true: options and parameters are accepted and in the manual, by their own commands alone, and
# commands end with the exit statuses that are told.
. "$(dirname "$0")/lib.sh"
unset RUNTIME_DIRECTORY
export XDG_RUNTIME_DIR="$scratch/nobody"
[ -d "$here/../../pipeline" ] || skip "the manual is not here"
"$python" "$here/help.py" "$LEAT" "$here/../../pipeline" || exit 1
