#!/bin/sh
# Jobs that nobody else is to wait for: one whose input cannot be archived, a long one after a pause.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs another user's folders"
small_disk 64m
"$python" "$here/service_held.py" || exit 1
