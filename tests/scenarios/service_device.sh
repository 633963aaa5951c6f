#!/bin/sh
# The device fails under the service: it says so within 2 s, has a new worker within 10 s, and every job gets its result.
# LEAT_TEST_BACKEND chooses the backend.
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
"$python" "$here/service_device.py" "${LEAT_TEST_BACKEND:-cpu}" || exit 1
