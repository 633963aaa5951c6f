#!/bin/sh
# The watched folder under what the world does to it: kills at random instants, files that are written slowly, come in
# pairs, twice or broken, a full disk, workers that fail, requests at any time; nothing is lost, doubled, torn or left over.
# What mostly waits runs side by side; tests/soak_service.py does it at the sizes of a release. LEAT_SERVICE_SEED repeats
# what a run has dropped and killed.
# ctest: long slots=1 slots_watched=2 tsan=no
in_memory=yes
. "$(dirname "$0")/lib.sh"
"$LEAT" watch --help >/dev/null 2>&1 || skip "this leat has no watch"
export LEAT_SERVICE_SEED="${LEAT_SERVICE_SEED:-$(date +%s)}"

# harness SCENARIO...: keeps what it says in a file, and that it failed, or could not play all of them, in another.
harness() {
    "$python" "$here/../support/service_harness.py" "$LEAT" "$scratch/$1" "$@" >"$1.said" 2>&1
    case $? in 0) ;; 77) : >"$1.skipped" ;; *) : >"$1.failed" ;; esac
}
set -- ${SCENARIOS:-kills requests full workers "kinds marker manners soak control"}
for group; do
    # shellcheck disable=SC2086 # a group is several words
    harness $group &
done
wait
echo "seed $LEAT_SERVICE_SEED"
for group; do
    grep -v '^seed' "${group%% *}.said"
done
! ls ./*.failed >/dev/null 2>&1 || exit 1
! ls ./*.skipped >/dev/null 2>&1 || skip "a part of it; the rest is well"
