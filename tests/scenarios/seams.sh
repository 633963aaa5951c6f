#!/bin/sh
# What a pipeline may ask of the engine, with the two that tests have (tests/seams): parts of unknown length, results
# that leave while input streams, several passes over a part, columns by part, text from the user; in bounded memory,
# and nothing left where a job fails on the way.
. "$(dirname "$0")/lib.sh"
[ -x "${LEAT_FAULTY:-}" ] || skip "there is no program with these pipelines in this build"
"$python" "$here/seams.py" || exit 1
