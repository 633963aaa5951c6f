#!/bin/sh
# peers.sh BENCH: a case keeps its own times where its peer is missing or fails, with none of the peer's, and says so; only
# a peer that fails makes the bench fail.
set -u
bench=$1
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
export PYTHON="$folder/python"

# check SCRIPT STATUS SAID: with a peer that does so.
check() {
    printf '#!/bin/sh\n%s\n' "$1" >"$PYTHON"
    chmod +x "$PYTHON"
    "$bench" interpolate_50 >"$folder/said" 2>&1
    status=$?
    if [ $status -ne "$2" ] || ! grep -Eq "^interpolate_50 +[0-9.]+ ms .*$3" "$folder/said"; then
        echo "FAILED: with '$1' it ends with status $status, and prints:"
        cat "$folder/said"
        exit 1
    fi
}

check 'exit 77' 0 'no SciPy/CuPy: .*lacks something'
check "[ ! -e '$folder/ran' ] && touch '$folder/ran' && echo 0.5 || echo now" 1 'no SciPy/CuPy: .*printed no seconds'
