#!/bin/sh
# Places that the service may not enter, read or take files from, and in/ itself made anew.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs another user's folders"
"$python" "$here/service_places.py" || exit 1
