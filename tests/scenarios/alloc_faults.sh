#!/bin/sh
# The k-th call for memory, or of the system, fails: a job of each pipeline is then complete or has failed with the
# reason, and a watched folder loses nothing, though its service may end, to be started again. LEAT_FAULT_STRIDE=1: every
# k (minutes; the release run), 2: every second; without it, of each place that such calls are made from one (where a
# sanitizer watches, of a third of the places), and a few of the service. LEAT_FAULT_SEED chooses.
in_memory=yes
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
"$python" "$here/alloc_faults.py" "$@" || exit 1
