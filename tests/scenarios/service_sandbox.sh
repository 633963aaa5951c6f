#!/bin/sh
# What a worker, the page's process and a command of the service cannot do. By root alone, since the service is another
# user's here, with the one capability that its unit gives it.
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with faults in this build"
[ "$(id -u)" -eq 0 ] || skip "only root can start a service as another user"
command -v setpriv >/dev/null || skip "no setpriv"
"$python" "$here/service_sandbox.py"
