#!/bin/sh
# On a terminal a landslide shows its steps, what part of them that is, and how long the rest takes.
. "$(dirname "$0")/lib.sh"
"$python" "$here/progress.py" "$LEAT" || exit 1
