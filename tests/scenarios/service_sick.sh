#!/bin/sh
# Devices that fail under the service, and one whose memory is another job's at the moment; the CPU plays them
# (tests/support/fake_cuda.c).
. "$(dirname "$0")/lib.sh"
. "$here/lib_devices.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
"$LEAT" generate dem --rows 100 --columns 25 -o slope >/dev/null 2>&1 || fail "no terrain"
"$python" "$here/service_sick.py" || exit 1
