#!/bin/sh
# More files than the kernel's queue of events holds (16,384) are dropped while the service stands still under SIGSTOP:
# nothing is lost, doubled, torn or left over. Each file is two events. LEAT_SERVICE_FILES: how many; 8,500, and 2,000
# where a sanitizer watches.
files=8500
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 2000000 ]; then
    export TMPDIR=/dev/shm
fi
. "$(dirname "$0")/lib.sh"
"$LEAT" watch --help >/dev/null 2>&1 || skip "this leat has no watch"
[ "$patience" -eq 1 ] || files=2000
export LEAT_SERVICE_FILES="${LEAT_SERVICE_FILES:-$files}"
"$python" "$here/../support/service_harness.py" "$LEAT" "$scratch/harness" many
