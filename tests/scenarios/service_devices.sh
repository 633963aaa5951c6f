#!/bin/sh
# The service keeps a worker for each device, or for each group of them; the CPU plays the devices
# (tests/support/fake_cuda.c).
. "$(dirname "$0")/lib.sh"
. "$here/lib_devices.sh"
"$LEAT" generate dem --rows 100 --columns 25 -o slope >/dev/null 2>&1 || fail "no terrain"
"$python" "$here/service_devices.py" || exit 1
