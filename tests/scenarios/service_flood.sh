#!/bin/sh
# Files are dropped, and closed again and again, while the service stands still under SIGSTOP, until there are more events
# than the kernel's queue holds: nothing is lost, doubled, torn or left over. LEAT_SERVICE_FILES: how many; 2,000.
# ctest: long asan=soak tsan=no
in_memory=yes
. "$(dirname "$0")/lib.sh"
"$LEAT" watch --help >/dev/null 2>&1 || skip "this leat has no watch"
"$python" "$here/../support/service_harness.py" "$LEAT" "$scratch/harness" many
