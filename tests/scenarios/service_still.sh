#!/bin/sh
# A job whose work does not move is ended and charged, whatever its worker says of itself; one that is slow is not.
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
"$python" "$here/service_still.py" || exit 1
