#!/bin/sh
# bundle = yes: what the service leaves of a job is one zip, as leat run --bundle makes it.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_bundle.py" || exit 1
