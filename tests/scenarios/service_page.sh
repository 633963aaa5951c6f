#!/bin/sh
# The page and the metrics of the service: what they show, to whom, and that nobody harms the service there.
. "$(dirname "$0")/lib.sh"
"$python" "$here/service_page.py" || exit 1
