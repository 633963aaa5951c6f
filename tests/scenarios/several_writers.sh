#!/bin/sh
# Runs and services that work into one output folder at the same time.
. "$(dirname "$0")/lib.sh"
"$python" "$here/several_writers.py" || exit 1
