#!/bin/sh
# Every way in which a file may come to the running service, and what may happen to it there.
# LEAT_SERVICE_SLOW_MB (32): the size of the file that is written slowly; before a release 1000.
. "$(dirname "$0")/lib.sh"
case $(basename "$(dirname "$(dirname "$LEAT")")") in
*asan*) sanitized=asan ;;
*tsan*) sanitized="asan tsan" ;;
*) sanitized= ;;
esac
"$python" "$here/service_inputs.py" $sanitized || exit 1
