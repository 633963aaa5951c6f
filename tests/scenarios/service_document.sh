#!/bin/sh
# The status document as a whole: see service_document.py.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_document.py"
