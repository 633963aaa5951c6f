#!/bin/sh
# Do the manuals satisfy mandoc's lint? Which pages of others a machine has does not matter, nor how long lines are.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
said=$(mandoc -T lint -W style pipeline/manual/*.[1-9] 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' -e 'line longer than 80')
[ -z "$said" ] || { echo "$said"; exit 1; }
