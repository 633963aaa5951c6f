#!/bin/sh
# Do the manuals satisfy mandoc's lint and man's warnings, and is there every page of ours that they name? Which pages of others
# a machine has does not matter, nor how long lines are; examples come first, which is not the conventional order.
set -u
cd "$(dirname "$0")/../../pipeline/manual" || exit 2
command -v mandoc >/dev/null && command -v man >/dev/null || { echo "mandoc or man is not installed"; exit 77; }
said=$(
    mandoc -T lint -W style ./*.[1-9] 2>/dev/null | grep -v -e 'referenced manual not found' -e 'line longer than 80' \
        -e 'sections out of conventional order'
    for page in *.[1-9]; do
        MANWIDTH=80 man -l --warnings "$page" 2>&1 >/dev/null | sed "s/^/$page: /"
    done
    awk '/^\.Bd/ { shown = 1 } /^\.Ed/ { shown = 0 } (/^\.Dl/ && length > 71 || shown && length > 68) && !/^on_failed/ {
        print FILENAME ": an example does not fit 80 columns: " $0 }' ./*.[1-9]
    sed 's/Xr \(leat[^ ]*\) \([1-9]\)/\1(\2)/g' ./*.[1-9] | grep -o 'leat[a-z.-]*([1-9])' | tr '(' . | tr -d ')' | sort -u | while read -r page; do
        [ -f "$page" ] || echo "no $page"
    done
)
[ -z "$said" ] || { echo "$said"; exit 1; }
