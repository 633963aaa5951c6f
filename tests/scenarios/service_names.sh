#!/bin/sh
# Names that would turn or break a line, or are no text: the log and the status page show them in one spelling.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_names.py" || exit 1
