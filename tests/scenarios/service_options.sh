#!/bin/sh
# What a service is told of how to work, its workers do: see service_options.py.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_options.py" || exit 1
