#!/bin/sh
# The watched folder's promise: files are dropped while the service dies at every change it makes on disk, at
# random instants, or with the power; nothing may be lost, doubled, torn or left over. And the proof that this
# would be seen: without the commit step results are doubled, and whichever fsync or syncfs is left out, power cuts
# find something.
# SPOOL_ROUNDS (50) sets the number of rounds, of some three deaths each; SPOOL_STRIDE: at every so many
# changes, and without every so manyth sync, 1: at and without each; without it, as spool_harness.c says, and without
# every fifth.
# ctest: long tsan=no
. "$(dirname "$0")/lib.sh"
harness=${SPOOL_HARNESS:-}
[ -x "$harness" ] || skip "no harness (SPOOL_HARNESS names it)"
rounds=${SPOOL_ROUNDS:-50}
[ -n "${TMPDIR:-}" ] || { [ -w /dev/shm ] && export TMPDIR=/dev/shm; }
# The address sanitizer keeps memory that was given back, up to 256 MiB, which each of the thousands of forks takes over. A
# service of the harness gives back less than this.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16"

# keeps ARGUMENTS: the harness finds nothing. breaks ARGUMENTS: it finds something, with a step left out.
keeps() {
    "$harness" "$@" >stdout 2>stderr </dev/null || { cat stdout stderr >&2; fail "harness $*"; }
    sed -n 's|^\([a-z._]*/[a-z]*sync[fs]*\) .*|\1|p' stdout >>syncs
    tail -n 1 stdout
}
breaks() {
    "$harness" "$@" >stdout 2>stderr </dev/null && fail "harness $*: nothing was found"
    tail -n 1 stdout | grep -Eq '(lost|doubled|torn|left over|uncharged) [1-9]' || {
        cat stdout stderr >&2
        fail "harness $*: it did not get to find anything"
    }
}

keeps sweep
grep -E '  died' stdout
keeps random "$rounds"
keeps power "$rounds"
# What the harness sees is the same in all builds, and takes many lives to show.
[ "$patience" -eq 1 ] || exit 0
breaks sweep commit.record/rename doubled
# Each ends with the first that is found; most in the first few dozen rounds. Not so the one syncfs for many claims:
# an archive puts each job's inputs on disk again, and cuts between there and the commit hardly ever meet such a job. Nor
# the fsync of a job's state: its checksum tells a torn one, so no result depends on it.
sort -u syncs | grep -Ev '^(claim.taken/syncfs|state/fsync)$' >all
awk -v stride="${SPOOL_STRIDE:-5}" 'NR % stride == 0' all >steps
while read -r step <&3; do
    breaks power 3000 "$step"
    echo "$step: $(sed -n '$s/,.*//p' stdout)"
done 3<steps
[ "$(wc -l <all)" -ge 25 ] || fail "no more steps that sync than these: $(tr '\n' ' ' <all)"
