# Shared by the scenarios: a scratch folder that goes away, and how to say what failed.
# ctest: none
set -u
# By what the times are multiplied that something may take: more than 1 where a sanitizer watches.
patience=${LEAT_TEST_PATIENCE:-1}
# Where one watches the folder lies in memory, if programs may be run there and there is room: a disk has been looked at
# in the other builds. So does that of a scenario which has set in_memory, of thousands of files and kills.
if { [ "$patience" -gt 1 ] || [ -n "${in_memory:-}" ]; } && [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] &&
    [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 4000000 ] &&
    ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts; then
    export TMPDIR=/dev/shm
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/leat-scenario-XXXXXX")
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-/usr/bin/python3}
cd "$scratch" || exit 1
# For what must come at some time, on any machine; as in tests/support/patience.py.
wait_s=600

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

skip() {
    echo "SKIPPED: $*"
    exit 77
}

# expect STATUS COMMAND...: runs it, keeps stdout and stderr in files of those names.
expect() {
    wanted=$1
    shift
    "$@" >stdout 2>stderr </dev/null
    got=$?
    if [ "$got" -ne "$wanted" ]; then
        cat stdout stderr >&2
        fail "exit status $got instead of $wanted: $*"
    fi
}

# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
    what=$1
    shift
    give_up=$(($(date +%s) + wait_s))
    until "$@"; do
        [ "$(date +%s)" -lt $give_up ] || fail "never: $what"
        sleep 0.02
    done
}

# Lines of stderr that match an extended regular expression.
says() {
    grep -Eq -- "$1" stderr || { cat stderr >&2; fail "no message like: $1"; }
}

# small_disk SIZE: mounts a disk of that size as ./small until the scenario ends.
small_disk() {
    mkdir small
    mount -t tmpfs -o "size=$1,mode=700" leat small 2>/dev/null || skip "a small disk cannot be mounted here"
    trap 'umount -l "$scratch/small"; rm -rf "$scratch"' EXIT
}

# A run for the device shows nothing where there is none.
if [ "${LEAT_TEST_BACKEND:-cpu}" = cuda ] && ! "$LEAT" doctor -b cuda >/dev/null 2>&1; then
    skip "no CUDA device can be used here"
fi
