#!/bin/sh
# A service that has nothing to do says that it could not: below its reserve, and when results cannot be written.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs another user's folders"
small_disk 12m
"$python" "$here/service_reserve.py" || exit 1
