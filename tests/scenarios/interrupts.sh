#!/bin/sh
# A run that SIGINT or SIGTERM stops leaves nothing half made, dies of that signal, and is completed by --resume.
. "$(dirname "$0")/lib.sh"
"$python" "$here/interrupts.py" "$LEAT" || exit 1
