#!/bin/sh
# Workers obey the options of their service: see service_options.py.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_options.py" || exit 1
