#!/bin/sh
# All that run says of small inputs: every warning, word by word and no other, or the refusal, and numbers of the summary.
. "$(dirname "$0")/lib.sh"
exec "$python" "$here/said.py" "$LEAT"
