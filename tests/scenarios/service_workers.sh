#!/bin/sh
# The service's workers die, hang and fail: only the file that is to blame fails, after its attempts.
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
"$python" "$here/service_workers.py" || exit 1
