#!/bin/sh
# The watched folder's promise: files are dropped while the service dies at every change it makes on disk, at
# random instants, or with the power; nothing may be lost, doubled, torn or left over. And the proof that this
# would be seen: without the commit step results are doubled, without fsync a power cut loses files.
# SPOOL_ROUNDS (300) sets the number of rounds.
. "$(dirname "$0")/lib.sh"
harness=${SPOOL_HARNESS:-}
[ -x "$harness" ] || skip "no harness (SPOOL_HARNESS names it)"
rounds=${SPOOL_ROUNDS:-300}
[ -n "${TMPDIR:-}" ] || { [ -w /dev/shm ] && export TMPDIR=/dev/shm; }

# keeps ARGUMENTS: the harness finds nothing. breaks WORD ARGUMENTS: it finds this, with a step left out.
keeps() {
    "$harness" "$@" >stdout 2>stderr </dev/null || { cat stdout stderr >&2; fail "harness $*"; }
    tail -n 1 stdout
}
breaks() {
    word=$1
    shift
    "$harness" "$@" >stdout 2>stderr </dev/null && fail "harness $*: nothing was found"
    tail -n 1 stdout | grep -Eq "$word [1-9]" || { tail -n 1 stdout >&2; fail "harness $*: none $word"; }
}

keeps sweep
grep -E '  died' stdout
keeps random "$rounds"
keeps power "$rounds"
# What the harness sees is the same in all builds, and takes thousands of lives to show.
[ "$patience" -eq 1 ] || exit 0
breaks doubled sweep commit.record/rename
breaks torn power 600 archive.deleted/fsync
breaks "left over" power 300 publish.marks/syncfs
breaks lost power 60 /fsync
breaks lost power 60 /syncfs
for step in claim.job claim.work durable.file durable.out publish.out; do
    breaks lost power 200 $step/fsync
done
for step in commit.folder archive.done; do
    breaks doubled power 300 $step/fsync
done
